/* The loss scale on the device: what it finds, what it decides, and that kernels obey. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "kernel_checks.h"
#include "kernels/training/training.h"

static const size_t counts[] = { 1, 7, 1025, 40001 };

static struct loss_scale now(struct bench *b, const struct loss_scale *device)
{
	struct loss_scale s = { 0 };

	bench_download(b, &s, device, sizeof(s));
	return s;
}

static void expect(struct bench *b, bool right, const char *what)
{
	if (bench_ok(b) && !right)
		error_set(b->err, STATUS_MISMATCH, "loss scale: %s", what);
}

/* The largest that is finite, in the order of the enum. */
static const double largest[PRECISION_COUNT] = { DBL_MAX, FLT_MAX, FLT_MAX, 65504, 0x1.FEp127 };

static float found_with(struct bench *b, struct tensor *gradient, size_t at, double value)
{
	struct loss_scale start = { .scale = 8 };
	struct loss_scale *state = bench_upload(b, &start, sizeof(start));
	struct loss_scale_check_arguments a = { .gradient = gradient->device,
						.precision = gradient->precision,
						.count = gradient->count,
						.state = state };

	element_set(gradient->was, gradient->precision, at, value);
	if (bench_ok(b))
		backend_copy(b->stream, gradient->device, gradient->was,
			     gradient->count * precision_bytes(gradient->precision), b->err);
	bench_launch(b, "loss_scale_check", &a);
	return now(b, state).found;
}

/* A value that is not finite is found in this place, and the largest finite one is not. */
static enum status check_find(struct device *device, enum precision precision, size_t count,
			      size_t at, struct error *err)
{
	static const double bad[] = { INFINITY, -INFINITY, NAN };
	struct tensor gradient;
	struct bench b;

	bench_open(&b, device, err);
	tensor_make(&b, &gradient, precision, count, 1, 1);
	for (int sign = -1; sign <= 1; sign += 2)
		expect(&b, found_with(&b, &gradient, at, sign * largest[precision]) == 0,
		       "found an overflow in finite gradients");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		expect(&b, found_with(&b, &gradient, at, bad[i]) == 1, "missed an overflow");
	tensor_free(&gradient);
	return bench_close(&b);
}

/* In the last element, and in each of some neighbours, which devices look at together. */
enum status check_loss_scale_check(struct device *device, struct error *err)
{
	for (size_t i = 0; i < PRECISION_COUNT * ARRAY_SIZE(counts); i++) {
		enum precision precision = (enum precision)(i / ARRAY_SIZE(counts));
		size_t count = counts[i % ARRAY_SIZE(counts)];

		if (check_find(device, precision, count, count - 1, err) != STATUS_OK)
			return err->status;
		for (size_t at = 512; count == 1025 && at < 512 + 8; at++)
			if (check_find(device, precision, count, at, err) != STATUS_OK)
				return err->status;
	}
	return STATUS_OK;
}

static void decide(struct bench *b, struct loss_scale *state, uint64_t interval)
{
	struct loss_scale_decide_arguments a = { state, 0.9, 0.999, interval };

	bench_launch(b, "loss_scale_decide", &a);
}

/* Three good steps with an interval of two, an overflow, and the ends of the range. */
enum status check_loss_scale_decide(struct device *device, struct error *err)
{
	struct loss_scale start = { .scale = 8 }, s, *state;
	struct bench b;

	bench_open(&b, device, err);
	state = bench_upload(&b, &start, sizeof(start));
	decide(&b, state, 2);
	s = now(&b, state);
	expect(&b, s.inverse == 0.125f && s.scale == 8 && s.applied == 1 && s.good == 1,
	       "the first good step");
	expect(&b, fabs(s.correction1 - 0.1) < 1e-7 && fabs(s.correction2 - 0.001) < 1e-9,
	       "Adam's corrections of the first step");
	decide(&b, state, 2);
	s = now(&b, state);
	expect(&b, s.inverse == 0.125f && s.scale == 16 && s.good == 0, "no growth after two");
	start = s;
	start.found = 1;
	state = bench_upload(&b, &start, sizeof(start));
	decide(&b, state, 2);
	s = now(&b, state);
	expect(&b,
	       s.inverse == 0 && s.scale == 8 && s.applied == 2 && s.skipped == 1 && s.found == 0,
	       "an overflow is not skipped");
	start = (struct loss_scale){ .scale = (float)LOSS_SCALE_MOST, .good = 1 };
	state = bench_upload(&b, &start, sizeof(start));
	decide(&b, state, 2);
	expect(&b, now(&b, state).scale == (float)LOSS_SCALE_MOST, "growth without end");
	decide(&b, state, 0);
	decide(&b, state, 0);
	expect(&b, now(&b, state).good == 2, "an interval of 0 is not never");
	start = (struct loss_scale){ .scale = (float)LOSS_SCALE_LEAST, .found = 1 };
	state = bench_upload(&b, &start, sizeof(start));
	decide(&b, state, 2);
	expect(&b, now(&b, state).scale == (float)LOSS_SCALE_LEAST, "less than the least scale");
	return bench_close(&b);
}

/* The same step through a scale of 4 and by hand, and a step that is skipped. */
static void check_sgd(struct bench *b, enum precision precision, float inverse)
{
	struct loss_scale scale = { .inverse = inverse };
	struct optimizer_sgd_arguments a = {
		.precision = precision, .count = 1025, .rate = 0.5, .gradient_scale = 1
	};
	struct tensor weights, gradient;

	/* No masters: the weights are where the copy would be. */
	tensor_make(b, &weights, precision, a.count, 1, 1);
	tensor_make(b, &gradient, precision, a.count, 2, 1);
	a.copy = weights.device;
	a.gradient = gradient.device;
	a.loss_scale = bench_upload(b, &scale, sizeof(scale));
	bench_launch(b, "optimizer_sgd", &a);
	tensor_fetch(b, &weights, "optimizer_sgd");
	for (size_t i = 0; i < a.count && bench_ok(b); i++) {
		double expected = tensor_was(&weights, i) -
				  a.rate * (double)inverse * tensor_was(&gradient, i);

		compare(b->err, "optimizer_sgd without masters", precision, i,
			tensor_now(&weights, i), expected,
			inverse == 0 ? 0
				     : element_rounding(precision, expected) +
					       4 * arithmetic_rounding(precision));
	}
	tensor_free(&weights);
	tensor_free(&gradient);
}

static void check_adam(struct bench *b, enum precision precision, float inverse)
{
	struct loss_scale scale = { .inverse = inverse, .correction1 = 0.5f, .correction2 = 0.25f };
	struct optimizer_adam_arguments a = { .precision = precision,
					      .count = 1025,
					      .rate = 0.5,
					      .beta1 = 0.5,
					      .beta2 = 0.75,
					      .epsilon = 1e-3,
					      .correction1 = 1,
					      .correction2 = 1,
					      .gradient_scale = 1 };
	struct tensor weights, gradient;
	float *zeros = xcalloc(a.count, sizeof(*zeros));

	tensor_make(b, &weights, precision, a.count, 1, 1);
	tensor_make(b, &gradient, precision, a.count, 2, 1);
	a.copy = weights.device;
	a.gradient = gradient.device;
	a.m = bench_upload(b, zeros, a.count * sizeof(*zeros));
	a.v = bench_upload(b, zeros, a.count * sizeof(*zeros));
	a.loss_scale = bench_upload(b, &scale, sizeof(scale));
	bench_launch(b, "optimizer_adam", &a);
	tensor_fetch(b, &weights, "optimizer_adam");
	for (size_t i = 0; i < a.count && bench_ok(b); i++) {
		double g = (double)inverse * tensor_was(&gradient, i);
		/* m / c1 = 0.5 g / 0.5, v / c2 = 0.25 g^2 / 0.25 */
		double expected = tensor_was(&weights, i) - a.rate * g / (fabs(g) + a.epsilon);

		compare(b->err, "optimizer_adam without masters", precision, i,
			tensor_now(&weights, i), inverse == 0 ? tensor_was(&weights, i) : expected,
			inverse == 0 ? 0 : element_rounding(precision, expected) + 1e-5);
	}
	free(zeros);
	tensor_free(&weights);
	tensor_free(&gradient);
}

/* The loss' gradients are multiplied by the scale, which is a power of two: to the last bit. */
static void check_softmax(struct bench *b)
{
	enum { ROWS = 33, COLUMNS = 10 };
	struct loss_scale scale = { .scale = 1024 };
	int32_t labels[ROWS] = { 3 };
	struct softmax_cross_entropy_arguments a = {
		.labels = bench_upload(b, labels, sizeof(labels)),
		.row_loss = bench_upload(b, NULL, ROWS * sizeof(double)),
		.precision = PRECISION_FP32,
		.rows = ROWS,
		.columns = COLUMNS,
		.gradient_scale = 1
	};
	struct tensor plain, scaled;

	tensor_make(b, &plain, PRECISION_FP32, ROWS * COLUMNS, 1, 1);
	tensor_make(b, &scaled, PRECISION_FP32, ROWS * COLUMNS, 1, 1);
	a.logits = plain.device;
	bench_launch(b, "softmax_cross_entropy", &a);
	a.logits = scaled.device;
	a.loss_scale = bench_upload(b, &scale, sizeof(scale));
	bench_launch(b, "softmax_cross_entropy", &a);
	tensor_fetch(b, &plain, "softmax_cross_entropy");
	tensor_fetch(b, &scaled, "softmax_cross_entropy");
	for (size_t i = 0; i < plain.count && bench_ok(b); i++)
		compare(b->err, "softmax_cross_entropy with a loss scale", PRECISION_FP32, i,
			tensor_now(&scaled, i), 1024 * tensor_now(&plain, i), 0);
	tensor_free(&plain);
	tensor_free(&scaled);
}

enum status check_loss_scale_obeyed(struct device *device, struct error *err)
{
	static const enum precision precisions[] = { PRECISION_FP32, PRECISION_FP16,
						     PRECISION_BF16 };
	static const float inverses[] = { 0.25f, 0 };

	for (size_t i = 0; i < ARRAY_SIZE(precisions) * ARRAY_SIZE(inverses); i++) {
		enum precision precision = precisions[i / ARRAY_SIZE(inverses)];
		struct bench b;

		bench_open(&b, device, err);
		check_sgd(&b, precision, inverses[i % ARRAY_SIZE(inverses)]);
		check_adam(&b, precision, inverses[i % ARRAY_SIZE(inverses)]);
		check_softmax(&b);
		if (bench_close(&b) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}
