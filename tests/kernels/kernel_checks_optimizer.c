/* The optimizers, and that reductions repeat bit for bit. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "kernel_checks.h"
#include "kernels/training/training.h"

static const size_t counts[] = { 1, 7, 1025, 40001 };

static enum precision master(enum precision precision)
{
	return precision == PRECISION_FP64 ? PRECISION_FP64 : PRECISION_FP32;
}

/* The copy is the new weight, rounded once. */
static void check_copy(struct bench *b, const struct tensor *w, struct tensor *copy,
		       const char *what)
{
	double expected;

	tensor_fetch(b, copy, what);
	for (size_t i = 0; i < w->count && bench_ok(b); i++) {
		element_set(&expected, copy->precision, 0, tensor_now(w, i));
		compare(b->err, "the stored copy of the weights", copy->precision, i,
			tensor_now(copy, i), element_get(&expected, copy->precision, 0), 0);
	}
}

static void check_close(struct bench *b, const char *what, const struct tensor *t, size_t i,
			double expected, double magnitude)
{
	compare(b->err, what, t->precision, i, tensor_now(t, i), expected,
		8 * arithmetic_rounding(t->precision) * magnitude +
			element_rounding(t->precision, expected));
}

static void check_sgd(struct bench *b, enum precision precision, size_t count, double momentum)
{
	struct optimizer_sgd_arguments a = { .precision = precision,
					     .count = count,
					     .rate = 0.1,
					     .momentum = momentum,
					     .gradient_scale = 0.25,
					     .blocks = momentum != 0 ? 2 : 0 };
	struct tensor w, velocity, gradient, copy;

	tensor_make(b, &w, master(precision), count, 1, 1);
	tensor_make(b, &velocity, master(precision), count, 2, 1);
	tensor_make(b, &gradient, precision, count, 3, 1);
	tensor_make(b, &copy, precision, count, 4, 1);
	a.weights = w.device;
	a.velocity = momentum != 0 ? velocity.device : NULL;
	a.gradient = gradient.device;
	a.copy = momentum != 0 ? copy.device : NULL;
	bench_launch(b, "optimizer_sgd", &a);
	tensor_fetch(b, &w, "optimizer_sgd");
	tensor_fetch(b, &velocity, "optimizer_sgd");
	for (size_t i = 0; i < count && bench_ok(b); i++) {
		double g = tensor_was(&gradient, i) * a.gradient_scale,
		       v = momentum * tensor_was(&velocity, i) + g;
		double magnitude =
			fabs(g) + fabs(tensor_was(&velocity, i)) + fabs(tensor_was(&w, i));

		if (momentum != 0)
			check_close(b, "optimizer_sgd's velocity", &velocity, i, v, magnitude);
		check_close(b, "optimizer_sgd", &w, i,
			    tensor_was(&w, i) - a.rate * (momentum != 0 ? v : g), magnitude);
	}
	if (a.copy)
		check_copy(b, &w, &copy, "optimizer_sgd");
	tensor_free(&w);
	tensor_free(&velocity);
	tensor_free(&gradient);
	tensor_free(&copy);
}

static void make_positive(struct bench *b, struct tensor *t)
{
	for (size_t i = 0; i < t->count; i++)
		element_set(t->was, t->precision, i, fabs(tensor_was(t, i)));
	if (bench_ok(b) &&
	    backend_copy(b->stream, t->device, t->was, t->count * precision_bytes(t->precision),
			 b->err) == STATUS_OK)
		backend_stream_synchronize(b->stream, b->err);
}

static void check_adam(struct bench *b, enum precision precision, size_t count, int step)
{
	struct optimizer_adam_arguments a = { .precision = precision,
					      .count = count,
					      .rate = 0.01,
					      .beta1 = 0.9,
					      .beta2 = 0.999,
					      .epsilon = 1e-8,
					      .gradient_scale = 0.5,
					      .blocks = step > 1 ? 3 : 0 };
	struct tensor w, m, v, gradient, copy;

	tensor_make(b, &w, master(precision), count, 1, 1);
	tensor_make(b, &m, master(precision), count, 2, 0.1);
	tensor_make(b, &v, master(precision), count, 3, 0.1);
	tensor_make(b, &gradient, precision, count, 4, 1);
	tensor_make(b, &copy, precision, count, 5, 1);
	make_positive(b, &v);
	a.weights = w.device;
	a.m = m.device;
	a.v = v.device;
	a.gradient = gradient.device;
	a.copy = step > 1 ? copy.device : NULL;
	a.correction1 = 1 - pow(a.beta1, step);
	a.correction2 = 1 - pow(a.beta2, step);
	bench_launch(b, "optimizer_adam", &a);
	tensor_fetch(b, &w, "optimizer_adam");
	tensor_fetch(b, &m, "optimizer_adam");
	tensor_fetch(b, &v, "optimizer_adam");
	for (size_t i = 0; i < count && bench_ok(b); i++) {
		double g = tensor_was(&gradient, i) * a.gradient_scale;
		double first = a.beta1 * tensor_was(&m, i) + (1 - a.beta1) * g;
		double second = a.beta2 * tensor_was(&v, i) + (1 - a.beta2) * g * g;
		double scale = a.rate / a.correction1 / (sqrt(second / a.correction2) + a.epsilon);

		/*
		 * 1 - beta2 in FP32 has lost digits of beta2: 2^-24 / (1 - 0.999) would be too
		 * strict.
		 */
		check_close(b, "optimizer_adam's m", &m, i, first,
			    fabs(first) + fabs(g) + fabs(tensor_was(&m, i)));
		check_close(b, "optimizer_adam's v", &v, i, second, second + g * g);
		check_close(b, "optimizer_adam", &w, i, tensor_was(&w, i) - scale * first,
			    fabs(tensor_was(&w, i)) +
				    4 * scale * (fabs(g) + fabs(tensor_was(&m, i))));
	}
	if (a.copy)
		check_copy(b, &w, &copy, "optimizer_adam");
	tensor_free(&w);
	tensor_free(&m);
	tensor_free(&v);
	tensor_free(&gradient);
	tensor_free(&copy);
}

/* Adam by a clock gives the bits of Adam by arguments; after the last pair it stays. */
static void check_clock(struct bench *b, enum precision precision, size_t count)
{
	enum { PAIRS = 3, TICKS = 5 };
	struct optimizer_adam_arguments by_clock = { .precision = precision,
						     .count = count,
						     .rate = 0.01,
						     .beta1 = 0.9,
						     .beta2 = 0.999,
						     .epsilon = 1e-8,
						     .gradient_scale = 1 },
					by_arguments = by_clock;
	struct optimizer_tick_arguments tick = { .count = PAIRS };
	struct optimizer_clock clock;
	struct tensor clocks, pairs, w[2], m[2], v[2], gradient;

	/* All bits 0, once the signs are gone. */
	tensor_make(b, &clocks, PRECISION_FP64, sizeof(clock) / sizeof(double), 1, 0);
	make_positive(b, &clocks);
	tensor_make(b, &pairs, PRECISION_FP64, (size_t)2 * PAIRS, 2, 1);
	make_positive(b, &pairs);
	tensor_make(b, &gradient, precision, count, 4, 1);
	for (int i = 0; i < 2; i++) {
		tensor_make(b, &w[i], master(precision), count, 5, 1);
		tensor_make(b, &m[i], master(precision), count, 6, 0.1);
		tensor_make(b, &v[i], master(precision), count, 7, 0.1);
		make_positive(b, &v[i]);
	}
	tick.clock = clocks.device;
	tick.corrections = pairs.device;
	by_clock.gradient = by_arguments.gradient = gradient.device;
	by_clock.clock = clocks.device;
	by_clock.weights = w[0].device;
	by_clock.m = m[0].device;
	by_clock.v = v[0].device;
	by_arguments.weights = w[1].device;
	by_arguments.m = m[1].device;
	by_arguments.v = v[1].device;
	for (size_t i = 0; i < TICKS; i++) {
		size_t pair = i < PAIRS ? i : PAIRS - 1;

		by_arguments.correction1 = tensor_was(&pairs, 2 * pair);
		by_arguments.correction2 = tensor_was(&pairs, 2 * pair + 1);
		bench_launch(b, "optimizer_tick", &tick);
		bench_launch(b, "optimizer_adam", &by_clock);
		bench_launch(b, "optimizer_adam", &by_arguments);
	}
	tensor_fetch(b, &clocks, "optimizer_tick");
	tensor_fetch(b, &w[0], "optimizer_adam by a clock");
	tensor_fetch(b, &w[1], "optimizer_adam by arguments");
	if (bench_ok(b)) {
		memcpy(&clock, clocks.now, sizeof(clock));
		if (clock.updates != TICKS)
			error_set(b->err, STATUS_MISMATCH, "optimizer_tick counted %llu of %d",
				  (unsigned long long)clock.updates, TICKS);
	}
	for (size_t i = 0; i < count && bench_ok(b); i++)
		if (tensor_now(&w[0], i) != tensor_now(&w[1], i))
			error_set(b->err, STATUS_MISMATCH,
				  "optimizer_adam by a clock: weight %zu is %g, by arguments %g", i,
				  tensor_now(&w[0], i), tensor_now(&w[1], i));
	tensor_free(&clocks);
	tensor_free(&pairs);
	tensor_free(&gradient);
	for (int i = 0; i < 2; i++) {
		tensor_free(&w[i]);
		tensor_free(&m[i]);
		tensor_free(&v[i]);
	}
}

enum status check_optimizer_tick(struct device *device, struct error *err)
{
	for (int p = 0; p < PRECISION_COUNT; p++) {
		struct bench b;

		bench_open(&b, device, err);
		check_clock(&b, (enum precision)p, 1001);
		if (bench_close(&b) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

enum status check_optimizer_sgd(struct device *device, struct error *err)
{
	for (size_t i = 0; i < PRECISION_COUNT * ARRAY_SIZE(counts); i++) {
		enum precision precision = (enum precision)(i / ARRAY_SIZE(counts));
		struct bench b;

		bench_open(&b, device, err);
		check_sgd(&b, precision, counts[i % ARRAY_SIZE(counts)], 0);
		check_sgd(&b, precision, counts[i % ARRAY_SIZE(counts)], 0.9);
		if (bench_close(&b) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

enum status check_optimizer_adam(struct device *device, struct error *err)
{
	for (size_t i = 0; i < PRECISION_COUNT * ARRAY_SIZE(counts); i++) {
		enum precision precision = (enum precision)(i / ARRAY_SIZE(counts));
		struct bench b;

		bench_open(&b, device, err);
		check_adam(&b, precision, counts[i % ARRAY_SIZE(counts)], 1);
		check_adam(&b, precision, counts[i % ARRAY_SIZE(counts)], 1000);
		if (bench_close(&b) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

/*
 * output_gradient, softmax and a product, five times each on the same operands: not one bit
 * differs.
 */
static void repeat(struct bench *b, enum precision precision, void *results[5])
{
	enum { ROWS = 300, COLUMNS = 210 };
	size_t bytes = precision_bytes(precision);
	struct tensor x, logits, out, c;
	int32_t labels[ROWS] = { 0 };
	void *device_labels = bench_upload(b, labels, sizeof(labels)),
	     *loss = bench_upload(b, NULL, ROWS * sizeof(double));
	void *scratch = bench_upload(b, NULL, kernel_training_scratch_bytes(COLUMNS));

	tensor_make(b, &x, precision, ROWS * COLUMNS, 1, 1);
	tensor_make(b, &logits, precision, ROWS * COLUMNS, 1, 1);
	tensor_make(b, &out, precision, COLUMNS, 2, 1);
	tensor_make(b, &c, precision, COLUMNS * COLUMNS, 3, 1);
	for (int i = 0; i < 5 && bench_ok(b); i++) {
		unsigned char *result = results[i];

		backend_copy(b->stream, logits.device, logits.was, logits.count * bytes, b->err);
		bench_launch(b, "output_gradient",
			     &(struct output_gradient_arguments){ .dy = x.device,
								  .sum = out.device,
								  .scratch = scratch,
								  .precision = precision,
								  .rows = ROWS,
								  .columns = COLUMNS });
		bench_launch(b, "softmax_cross_entropy",
			     &(struct softmax_cross_entropy_arguments){
				     logits.device, device_labels, loss, precision, ROWS, COLUMNS,
				     1, NULL });
		bench_gemm(b, &(struct gemm){ .precision = precision,
					      .transpose_b = true,
					      .m = COLUMNS,
					      .n = COLUMNS,
					      .k = ROWS,
					      .lda = COLUMNS,
					      .ldb = COLUMNS,
					      .ldc = COLUMNS,
					      .a = x.device,
					      .b = x.device,
					      .c = c.device,
					      .alpha = 1 });
		bench_download(b, result, out.device, COLUMNS * bytes);
		bench_download(b, result + COLUMNS * bytes, logits.device, logits.count * bytes);
		bench_download(b, result + (COLUMNS + logits.count) * bytes, c.device,
			       c.count * bytes);
		if (bench_ok(b) &&
		    memcmp(result, results[0], (COLUMNS + logits.count + c.count) * bytes) != 0)
			error_set(b->err, STATUS_MISMATCH,
				  "%s: the same launch gave different bits",
				  precision_name(precision));
	}
	tensor_free(&x);
	tensor_free(&logits);
	tensor_free(&out);
	tensor_free(&c);
}

enum status check_repeatable(struct device *device, struct error *err)
{
	for (int precision = 0; precision < PRECISION_COUNT; precision++) {
		void *results[5];
		struct bench b;

		for (int i = 0; i < 5; i++)
			results[i] = xcalloc(200000, sizeof(double));
		bench_open(&b, device, err);
		repeat(&b, (enum precision)precision, results);
		for (int i = 0; i < 5; i++)
			free(results[i]);
		if (bench_close(&b) == STATUS_UNSUPPORTED)
			error_clear(err);
		if (err->status != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}
