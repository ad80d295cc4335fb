/*
 * Start and end of each operation of one step, on every rank: events before and after it on its
 * stream. Recorded in a separate step, because events cost time. A mode marks the operations that
 * it enqueues, at no cost unless a step is recorded:
 *
 *	timeline_begin(t, STREAM_COMPUTE, SPAN_FORWARD, micro);
 *	... enqueue ...
 *	timeline_end(t, STREAM_COMPUTE);
 *
 * Spans of one stream may be nested, not interleaved. The span of an operation that receives
 * includes its wait for the sender.
 */
#ifndef GPUPROOF_SUITES_TRAINING_PARALLEL_TRAINER_TIMELINE_H
#define GPUPROOF_SUITES_TRAINING_PARALLEL_TRAINER_TIMELINE_H

#include "measure/run.h"
#include "suites/training/parallel/trainer/trainer.h"

/* X(symbol, name in results, whether it computes) */
#define SPAN_KINDS(X)                              \
	X(FORWARD, "forward", true)                \
	X(BACKWARD, "backward", true)              \
	X(WEIGHTS, "weight_gradients", true)       \
	X(LOSS, "loss", true)                      \
	X(OPTIMIZER, "optimizer", true)            \
	X(ALL_REDUCE, "all_reduce", false)         \
	X(REDUCE_SCATTER, "reduce_scatter", false) \
	X(ALL_GATHER, "all_gather", false)         \
	X(BROADCAST, "broadcast", false)           \
	X(REDUCE, "reduce", false)                 \
	X(EXCHANGE, "exchange", false)             \
	X(SEND, "send", false)                     \
	X(RECEIVE, "receive", false)

enum span_kind {
#define X(symbol, name, computes) SPAN_##symbol,
	SPAN_KINDS(X)
#undef X
		SPAN_KIND_COUNT
};

/*
 * `index`: of the micro-batch, the bucket, or the layer. Errors are stored until timeline_record().
 */
void timeline_begin(struct trainer *trainer, enum team_stream stream, enum span_kind kind,
		    uint64_t index);
void timeline_end(struct trainer *trainer, enum team_stream stream);

/* A collective of elements in the setup's storage precision, on one of the team's streams. */
struct step_collective {
	enum span_kind kind; /* SPAN_ALL_REDUCE, SPAN_ALL_GATHER or SPAN_REDUCE_SCATTER */
	enum team_stream stream;
	uint64_t index; /* of the span */
	struct communicator *communicator;
	void *to;
	const void *from;
	uint64_t count; /* of each rank's part, if parts differ */
	enum reduction reduction;
	/* The stream waits for the compute stream's work so far, and `done` follows; NULL: not. */
	struct event *ready, *done;
};
/* Enqueues it with its span; nothing after an error. */
enum status timeline_collective(struct trainer *trainer, const struct step_collective *collective,
				struct error *err);

/* Summary of the spans of a step, in seconds. */
struct timeline_totals {
	double step; /* from the first start to the last end, over all ranks */
	/*
	 * computation time of each rank's compute stream; the caller provides the array for all
	 * ranks
	 */
	double *computing;
};

/*
 * Runs one step with events, and stores the spans of all ranks in run->result (only rank 0's result
 * is used). Collective.
 */
enum status timeline_record(struct run *run, struct trainer *trainer,
			    struct timeline_totals *totals, struct error *err);

#endif
