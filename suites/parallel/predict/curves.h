/*
 * Measurements of this run's other suites on the same devices, as curves: products (suite
 * matmul), memory (stream), attention and collectives, and what events cost the device (launch).
 * Times between measured sizes are interpolated on logarithmic axes, those of collectives, which
 * are a latency and so much a byte, on linear ones. Above the largest size they grow with the
 * size. Below the smallest they shrink as the highest rate says, so that what the smallest took
 * beyond that remains: products of milliseconds become shorter, those of microseconds hardly.
 *
 * A step lasts: where a GPU meets its power limit, products that were measured for some
 * milliseconds ran at a higher clock than those of a step. Products measured with `preheat` are
 * as slow as those of a step.
 */
#ifndef GPUPROOF_SUITES_PARALLEL_PREDICT_CURVES_H
#define GPUPROOF_SUITES_PARALLEL_PREDICT_CURVES_H

#include "plan/config.h"
#include "result/result.h"

#define CURVE_POINTS 64

struct curve {
	size_t count;
	double x[CURVE_POINTS], seconds[CURVE_POINTS]; /* x ascends */
};

void curve_add(struct curve *curve, double x, double seconds);
/* NaN for an empty curve. */
double curve_at(const struct curve *curve, double x);
/* The same on linear axes. */
double curve_between(const struct curve *curve, double x);

/* Rates to assume in place of what was measured, for closed forms; 0: none. */
struct rates {
	double flops, memory, bus, latency;
};

struct curves {
	const struct result *result;
	const char *device;    /* id of the first device; borrowed */
	const char *precision; /* as suite matmul names it */
	const char *transport; /* of the collectives; borrowed, "auto" by curves_open() */
	const char *messages;  /* of messages between stages, the same */
	struct rates rates;    /* none by curves_open() */
	bool no_contention;    /* ignore contention between GEMMs and collectives */
	/* what was asked for and is not there, each thing once: "a; b"; "": nothing */
	char missing[256];
};

/* `precision`: "fp16". Both texts are borrowed. */
void curves_open(struct curves *curves, const struct result *result, const char *device,
		 const char *precision);

/*
 * A GEMM C = A B: of this shape if it was measured, else of as many operations, plus the time that
 * its operands take in memory beyond these. `transposes` is "nn", "tn" or "nt"; falls back to "nn"
 * if not measured.
 */
double curves_product(struct curves *curves, const char *transposes, double m, double n, double k);
/* A kernel that moves `bytes` bytes. */
double curves_memory(struct curves *curves, double bytes);
/*
 * `operations` of fused causal attention: at the rate of the measured head size and sequence
 * nearest to these.
 */
double curves_attention(struct curves *curves, bool forward, double head_size, double sequence,
			double operations);
/*
 * A pass of a convolution, as its suite names it, of `operations` operations, by what other ones
 * of its kind took.
 */
double curves_convolution(struct curves *curves, const char *pass, bool depthwise,
			  double operations);
/*
 * A collective, by its name in the suite collective, on `ranks` ranks with a tensor of `bytes`
 * bytes.
 */
double curves_collective(struct curves *curves, const char *operation, int ranks, double bytes);
/* Latency of a collective, however small; 0 with fixed rates, which have their own. */
double curves_latency(struct curves *curves, const char *operation, int ranks);
/*
 * Cost of recording an event between two kernels of a stream; and latency of a cross-stream wait,
 * in addition to that between kernels of one stream (suite launch: record and handover minus
 * back_to_back). Not measured, or fixed rates: 0 and NaN.
 */
double curves_event_record(struct curves *curves);
double curves_stream_wait(struct curves *curves);
/*
 * A message of `bytes` bytes; falls back to the collectives' transport if its own was not measured.
 */
double curves_message(struct curves *curves, double bytes);

/* The highest rates: of products, FLOP/s; of the bus in an all-reduce, B/s. NaN: unknown. */
double curves_flops(struct curves *curves);
double curves_bus(struct curves *curves, int ranks);

#endif
