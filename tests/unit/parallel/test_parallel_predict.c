/*
 * Predictions: curves from a result, and every mode's schedule with fixed rates against the closed
 * forms that are known for it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "suites/models/image_model.h"
#include "suites/parallel/modes/modes.h"
#include "suites/parallel/predict/predict.h"
#include "suites/parallel/predict/predict_reductions.h"
#include "suites/parallel/predict/predict_work.h"
#include "suites/parallel/ranks/grid.h"

/* Steps, of which the last one is none. */
#define LONG_SAMPLE 1000000

/* Products take all the time. */
static const struct rates compute_only = { .flops = 1e12, .memory = 1e30, .bus = 1e30 };
static const struct result nothing;

/*
 * `stages` layers of 1024 x 1024, and one before them that costs nothing, whose input needs no
 * gradient.
 */
static struct setup uniform(const char *mode, int ranks, uint64_t micro)
{
	struct setup s = { .mode = mode_find(mode),
			   .ranks = ranks,
			   .layers = (size_t)ranks + 1,
			   .batch = 4096,
			   .microbatches = micro,
			   .bucket_bytes = 1,
			   .precision = PRECISION_FP32,
			   .loss_scale = 1 };

	s.widths[0] = 1;
	for (size_t l = 1; l <= s.layers; l++)
		s.widths[l] = 1024;
	return s;
}

static double predicted(const struct setup *s, const struct rates *rates)
{
	struct curves curves;

	curves_open(&curves, &nothing, "cuda:0", "fp32");
	curves.rates = *rates;
	return predict_step(s, LONG_SAMPLE, &curves);
}

static void assert_near(double value, double expected, double tolerance)
{
	if (!(fabs(value - expected) <= tolerance * expected))
		fail_msg("%.9g instead of %.9g", value, expected);
}

static void curves_interpolate_and_extend(void **state)
{
	struct curve c = { 0 };

	(void)state;
	assert_true(isnan(curve_at(&c, 1)));
	curve_add(&c, 100, 1);
	curve_add(&c, 1, 0.01);
	curve_add(&c, 100, 2); /* the slower of two readings */
	curve_add(&c, -1, 1);
	curve_add(&c, 1000, NAN);
	assert_int_equal(c.count, 2);
	assert_near(curve_at(&c, 10), 0.1, 1e-12);
	assert_near(curve_at(&c, 0.001), 0.00001, 1e-12);
	assert_near(curve_at(&c, 1000), 10, 1e-12);
	/* A latency and so much a byte; the same at the ends and beyond. */
	assert_near(curve_between(&c, 10), 0.01 + 0.99 * 9 / 99, 1e-12);
	assert_near(curve_between(&c, 0.001), 0.00001, 1e-12);
	assert_near(curve_between(&c, 100), 1, 1e-12);
	assert_near(curve_between(&c, 1000), 10, 1e-12);
	/*
	 * At the highest rate 10 would take 0.001: what the smallest takes beyond that, every size
	 * takes.
	 */
	c = (struct curve){ 0 };
	curve_add(&c, 10, 0.5);
	curve_add(&c, 10000, 1);
	assert_near(curve_at(&c, 5), 0.4995, 1e-12);
	assert_near(curve_at(&c, 0), 0.499, 1e-12);
	assert_near(curve_between(&c, 0), 0.499, 1e-12);
}

static void one_device_does_all_products(void **state)
{
	struct setup s = uniform("single", 1, 1);
	double all;

	(void)state;
	s.layers = 4;
	s.widths[0] = s.widths[2] = s.widths[3] = s.widths[4] = 1024;
	all = setup_flops(&s) / compute_only.flops;
	assert_near(predicted(&s, &compute_only), all, 1e-9);
	s.accumulate = 4;
	assert_near(predicted(&s, &compute_only), all, 1e-9);
}

/*
 * In products, when transfers cost nothing: m + p - 1 forwards and as many whole backwards,
 * whatever their order; where gradients of inputs go first, the stages before wait for them alone.
 */
static void pipelines_have_their_bubble(void **state)
{
	static const char *const names[] = { "gpipe", "1f1b", "1f1b_eager", "layer_split" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		for (int p = 2; p <= 8; p *= 2)
			for (uint64_t m = 1; m <= 32; m *= 4) {
				struct setup s = uniform(names[i], p, m);
				double product = 2.0 * (double)s.batch / (double)m * 1024 * 1024 /
						 compute_only.flops;
				double products = 3.0 * (double)m + (i < 3 ? 2 : 3) * (p - 1.0);

				assert_near(predicted(&s, &compute_only), product * products,
					    0.005);
				assert_near(s.mode->bubble(&s), 1 - 3.0 * (double)m / products,
					    1e-9);
			}
}

/*
 * With transfers every order pays 2 (p - 1) c, once: also plain 1F1B, where a product of weights'
 * gradients is between sending and what is waited for, and hides both directions as long as they
 * take no longer.
 */
static void transfers_cost_what_the_order_lets_them(void **state)
{
	static const char *const names[] = { "gpipe", "1f1b_eager", "layer_split", "1f1b" };
	const double p = 4, m = 32, c = 8e-5;
	struct rates rates = { .flops = 1e12, .memory = 1e30, .bus = 1e30, .latency = c };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct setup s = uniform(names[i], (int)p, (uint64_t)m);
		double without = predicted(&s, &compute_only);

		assert_near(predicted(&s, &rates) - without, 2 * (p - 1) * c, 0.02);
	}
	/* Slower ones are exposed in every turn of plain 1F1B, and nowhere else. */
	rates.latency = 2e-4;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct setup s = uniform(names[i], (int)p, (uint64_t)m);
		double paid = predicted(&s, &rates) - predicted(&s, &compute_only);

		if (i < 3)
			assert_near(paid, 2 * (p - 1) * rates.latency, 0.02);
		else
			assert_true(paid > 3 * (p - 1) * rates.latency);
	}
}

/* Nothing is exposed when the bus is fast; all but what backward hides when it is slow. */
static void data_parallel_hides_what_it_can(void **state)
{
	static const char *const names[] = { "ddp", "zero1", "zero2", "zero3" };
	const double wires[] = { 2, 2, 2, 3 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct setup s = uniform(names[i], 4, 1);
		struct rates slow = compute_only;
		struct model model;
		double compute, bytes;

		s.shards = 4;
		model_init(&model, &s);
		compute = setup_flops(&s) / 4 / compute_only.flops;
		assert_near(predicted(&s, &compute_only), compute, 1e-6);
		bytes = wires[i] * 3 / 4 * (double)model.elements * 4;
		slow.bus = bytes / (100 * compute);
		/* The gathers of two layers of ZeRO-3 are saved going back. */
		assert_near(predicted(&s, &slow), 100 * compute, i == 3 ? 0.2 : 0.02);
		assert_true(predicted(&s, &slow) > 70 * compute);
	}
}

/*
 * Each slows the other down while both run, and only then; the second reduction waits for the
 * first.
 */
static void reductions_and_products_share_a_device(void **state)
{
	struct reductions r = { 0 };

	(void)state;
	assert_near(reductions_compute(&r, 3, 0.5), 3, 1e-12);
	reductions_add(&r, 1);
	reductions_add(&r, 2);
	/* 4 s: the first takes 2 of them, and the second half of the other 2. */
	assert_near(reductions_compute(&r, 4 * COMPUTE_DURING_REDUCTION, 0.5), 7, 1e-12);
	assert_near(reductions_wait(&r, 0), 7, 1e-12);
	assert_near(reductions_wait(&r, 1), 8, 1e-12);
	assert_near(reductions_compute(&r, 1, 0.5), 9, 1e-12);
	/* One that ends before the product: the rest of that runs alone. */
	reductions_add(&r, 1);
	assert_near(reductions_compute(&r, 10, 1), 10 + 10 - COMPUTE_DURING_REDUCTION, 1e-12);
}

/* Results that depend on those factors say so; without overlap none does. */
static void what_factors_add_is_known(void **state)
{
	struct setup ddp = uniform("ddp", 4, 1), naive = uniform("dp_naive", 4, 1);
	struct rates rates = compute_only;
	struct reductions r = { .no_contention = true };
	struct curves curves;
	double all, share;

	(void)state;
	reductions_add(&r, 2);
	assert_near(reductions_compute(&r, 3, 0.5), 3, 1e-12);
	rates.latency = setup_flops(&ddp) / 4 / rates.flops / 100;
	curves_open(&curves, &nothing, "cuda:0", "fp32");
	curves.rates = rates;
	all = predict_step(&ddp, 1, &curves);
	share = predict_contention_share(&ddp, 1, &curves);
	if (!(share > 0.005 && share < 0.05))
		fail_msg("a share of %g", share);
	/* Asking changes nothing. */
	assert_true(predict_step(&ddp, 1, &curves) == all);
	assert_true(predict_contention_share(&naive, 1, &curves) == 0);
}

static void tensor_parallel_divides_products_and_adds_sums(void **state)
{
	struct setup s = uniform("tensor", 4, 1);
	struct rates rates = compute_only;
	double divided;

	(void)state;
	s.layers = 4;
	s.widths[0] = 1024;
	s.chunks = 1;
	divided = setup_flops(&s) / 4 / compute_only.flops;
	assert_near(predicted(&s, &compute_only), divided, 1e-6);
	/*
	 * Two sums forward, which nothing hides; the one going back is hidden, and slows the
	 * concurrent products.
	 */
	rates.latency = divided / 100;
	assert_near(predicted(&s, &rates),
		    divided *
			    (1.02 + 0.01 * (1 - COMPUTE_DURING_REDUCTION) / REDUCTION_DURING_GEMM),
		    1e-6);
	/* Six sums of chunks: only the last one going forward has no concurrent products. */
	s.chunks = 2;
	assert_near(predicted(&s, &rates),
		    divided *
			    (1.01 + 0.05 * (1 - COMPUTE_DURING_REDUCTION) / REDUCTION_DURING_GEMM),
		    1e-6);
}

/* Nothing is hidden, and nothing slowed: computing and adding up in turn. */
static void without_overlap_times_add_up(void **state)
{
	struct setup ddp = uniform("ddp", 4, 1), tensor = uniform("tensor", 4, 1);
	struct rates rates = compute_only;
	double divided = setup_flops(&ddp) / 4 / compute_only.flops;

	(void)state;
	rates.latency = divided / 100;
	ddp.no_overlap = tensor.no_overlap = true;
	ddp.bucket_bytes = 1;
	assert_near(predicted(&ddp, &rates), divided * (1 + 0.01 * (double)ddp.layers), 1e-6);
	tensor.layers = 4;
	tensor.widths[0] = 1024;
	tensor.chunks = 1;
	divided = setup_flops(&tensor) / 4 / compute_only.flops;
	rates.latency = divided / 100;
	assert_near(predicted(&tensor, &rates), divided * 1.03, 1e-6);
}

static void grids_are_products_of_their_parts(void **state)
{
	struct setup s = uniform("hybrid", 2, 8), pipeline = uniform("1f1b", 2, 8);

	(void)state;
	s.grid = (struct grid){ 1, 1, 2 };
	assert_near(predicted(&s, &compute_only), predicted(&pipeline, &compute_only), 1e-9);
	s.grid = (struct grid){ 2, 2, 2 };
	s.ranks = 8;
	/* Half the rows; the pair of layers (0, 1) is cut, the last layer has no partner. */
	s.layers = 2;
	pipeline.layers = 2;
	assert_near(predicted(&s, &compute_only), predicted(&pipeline, &compute_only) / 4, 0.02);
}

/* Four parts: three of them read the gradients that are there. Nothing else takes time. */
static void parts_add_to_what_is_there(void **state)
{
	static const struct rates memory_only = { .flops = 1e30, .memory = 1e9, .bus = 1e30 };
	struct setup once = uniform("single", 1, 1), parts;
	double read = 0;

	(void)state;
	parts = once;
	parts.accumulate = 4;
	for (size_t l = 0; l < once.layers; l++)
		read += 4 * (double)(once.widths[l] * once.widths[l + 1]) / 1e9;
	assert_near(predicted(&parts, &memory_only) - predicted(&once, &memory_only), 3 * read,
		    1e-9);
	/* A bias that the product adds itself is no pass over its result; elsewhere it is. */
	parts = once;
	parts.fusion = FUSION_OFF;
	assert_near(predicted(&parts, &memory_only) - predicted(&once, &memory_only),
		    2 * 4 * 4096.0 * 1024 * (double)once.layers / 1e9, 1e-9);
}

/* The candidates of the step's search are in the curves, however slow the library's own choice. */
static void the_fastest_product_counts(void **state)
{
	struct result r = { 0 };
	struct curves curves;

	(void)state;
	for (int lt = 0; lt < 2; lt++) {
		struct case_result *c = result_add_case(&r);
		const char *const names[] = { "precision", "implementation", "transpose",
					      "batch",     "scale",          "size" };
		const char *const texts[] = { "tf32", lt ? "lt" : "blas", "nn", "1", "1", "1024" };

		c->suite = xstrdup("matmul");
		c->status = CASE_OK;
		c->device = xstrdup("cuda:0");
		c->parameters = xcalloc(6, sizeof(*c->parameters));
		c->parameter_count = 6;
		for (size_t i = 0; i < 6; i++)
			c->parameters[i] =
				(struct case_parameter){ xstrdup(names[i]), xstrdup(texts[i]), NAN,
							 xstrdup("1") };
		c->metrics = xcalloc(1, sizeof(*c->metrics));
		c->metric_count = c->metric_capacity = 1;
		c->metrics[0] = (struct metric_value){ .name = xstrdup("matmul.throughput"),
						       .unit = xstrdup("FLOP/s"),
						       .value = lt ? 4e14 : 3e14 };
	}
	curves_open(&curves, &r, "cuda:0", "tf32");
	assert_near(curves_product(&curves, "nn", 1024, 1024, 1024), 2 * 0x1p30 / 4e14, 1e-12);
	result_release(&r);
}

static void what_was_not_measured_is_named(void **state)
{
	struct setup s = uniform("ddp", 2, 1);
	struct curves curves;

	(void)state;
	curves_open(&curves, &nothing, "cuda:0", "fp32");
	assert_true(isnan(predict_step(&s, 1, &curves)));
	assert_non_null(strstr(curves.missing, "suite stream"));
	assert_true(isnan(predict_critical_batch(&s, &curves)));
}

static struct case_result *add_case(struct result *r, const char *suite, const char *metric,
				    double value, int devices)
{
	struct case_result *c = result_add_case(r);

	c->suite = xstrdup(suite);
	c->device = xstrdup("cuda:0");
	c->device_count = (size_t)devices;
	c->devices = xcalloc((size_t)devices, sizeof(*c->devices));
	c->metrics = xcalloc(1, sizeof(*c->metrics));
	c->metric_count = c->metric_capacity = 1;
	c->metrics[0].name = xstrdup(metric);
	c->metrics[0].value = value;
	return c;
}

static void add_parameter(struct case_result *c, const char *name, const char *text, double number)
{
	c->parameters = xrealloc(c->parameters, c->parameter_count + 1, sizeof(*c->parameters));
	c->parameters[c->parameter_count++] =
		(struct case_parameter){ xstrdup(name), xstrdup(text), number, xstrdup("") };
}

static void add_product(struct result *r, const char *size, const char *precision, double rate)
{
	struct case_result *c = add_case(r, "matmul", "matmul.throughput", rate, 1);

	add_parameter(c, "size", size, NAN);
	add_parameter(c, "precision", precision, NAN);
	add_parameter(c, "implementation", "blas", NAN);
	add_parameter(c, "transpose", "nn", NAN);
	add_parameter(c, "batch", "1", 1);
	add_parameter(c, "scale", "1", 1);
}

/*
 * b* = (n - 1) / n e F / (2 beta), d* = (n - 1) e F / (2 beta): 1000 and 2000 for 400 TFLOP/s and
 * 400 GB/s.
 */
static void curves_come_from_this_run(void **state)
{
	struct result r = { 0 };
	struct setup s = uniform("ddp", 2, 1);
	struct curves curves;
	struct case_result *c;

	(void)state;
	add_product(&r, "4096", "tf32", 400e12);
	add_product(&r, "64x32x128", "tf32", 1e12);
	add_product(&r, "4096", "fp32", 1);
	add_product(&r, "8192x1024x8192", "tf32", 100e12);
	c = add_case(&r, "collective", "collective.time", 1e-3, 2);
	add_parameter(c, "operation", "all_reduce", NAN);
	add_parameter(c, "size", "400MB", 400e6);
	for (int copies = 0; copies < 2; copies++) {
		c = add_case(&r, "collective", "collective.time", copies ? 1e-4 : 2e-4, 2);
		add_parameter(c, "operation", "send_recv", NAN);
		add_parameter(c, "size", "4MB", 4e6);
		if (copies)
			add_parameter(c, "transport", "peer_copy", NAN);
	}
	c = add_case(&r, "stream", "stream.bandwidth", 1e12, 1);
	add_parameter(c, "operation", "triad", NAN);
	add_parameter(c, "precision", "fp32", NAN);
	add_parameter(c, "size", "1GB", 1e9);
	curves_open(&curves, &r, "cuda:0", "tf32");
	assert_near(curves_product(&curves, "tn", 4096, 4096, 4096), 2 * pow(4096, 3) / 400e12,
		    1e-9);
	/* As many operations, but it was measured itself. */
	assert_near(curves_product(&curves, "tn", 8192, 1024, 8192), 2 * pow(4096, 3) / 100e12,
		    1e-9);
	assert_near(curves_product(&curves, "tn", 1024, 8192, 8192), 2 * pow(4096, 3) / 400e12,
		    1e-9);
	assert_near(curves_product(&curves, "nn", 64, 32, 128), 2.0 * 64 * 32 * 128 / 1e12, 1e-9);
	assert_near(curves_collective(&curves, "all_reduce", 2, 800e6), 2e-3, 1e-9);
	/* Messages by their own transport; by the collectives' where that was not measured. */
	assert_near(curves_message(&curves, 4e6), 2e-4, 1e-9);
	curves.messages = "peer_copy";
	assert_near(curves_message(&curves, 4e6), 1e-4, 1e-9);
	curves.messages = "host_copy";
	assert_near(curves_message(&curves, 4e6), 2e-4, 1e-9);
	assert_near(curves_memory(&curves, 3e9), 3e-3, 1e-9);
	assert_near(predict_critical_batch(&s, &curves), 1000, 1e-9);
	assert_near(predict_critical_width(&s, &curves), 2000, 1e-9);
	assert_true(isfinite(predict_step(&s, 1, &curves)) && !curves.missing[0]);
	/* A smaller tensor that took longer was disturbed. */
	c = add_case(&r, "collective", "collective.time", 5e-2, 2);
	add_parameter(c, "operation", "all_reduce", NAN);
	add_parameter(c, "size", "1MB", 1e6);
	assert_near(curves_collective(&curves, "all_reduce", 2, 1e6), 1e-3, 1e-9);
	/* Nothing was measured on three devices. */
	assert_true(isnan(curves_collective(&curves, "all_reduce", 3, 800e6)));
	assert_non_null(strstr(curves.missing, "suite collective"));
	result_release(&r);
}

static void add_collective(struct result *r, const char *operation, int devices, double bytes,
			   double seconds)
{
	struct case_result *c = add_case(r, "collective", "collective.time", seconds, devices);

	add_parameter(c, "operation", operation, NAN);
	add_parameter(c, "size", "", bytes);
}

static void add_triad(struct result *r, double bytes, double rate)
{
	struct case_result *c = add_case(r, "stream", "stream.bandwidth", rate, 1);

	add_parameter(c, "operation", "triad", NAN);
	add_parameter(c, "precision", "fp32", NAN);
	add_parameter(c, "size", "", bytes);
}

static void add_launch(struct result *r, const char *operation, double seconds)
{
	add_parameter(add_case(r, "launch", "launch.time", seconds, 1), "operation", operation,
		      NAN);
}

/*
 * A product of milliseconds shrinks with its operations; one of microseconds does not, and its
 * operands take longer than they do.
 */
static void small_and_slim_products_follow_what_limits_them(void **state)
{
	const double latency = 10e-6 - 0x1p28 / 400e12;
	struct result r = { 0 };
	struct curves curves;

	(void)state;
	add_product(&r, "4096", "tf32", 400e12);
	curves_open(&curves, &r, "cuda:0", "tf32");
	assert_near(curves_product(&curves, "nn", 4096, 2048, 4096), pow(4096, 3) / 400e12, 1e-9);
	add_product(&r, "512", "tf32", 0x1p28 / 10e-6);
	assert_near(curves_product(&curves, "nn", 256, 512, 512), latency + 0x1p27 / 400e12, 1e-9);
	/*
	 * As many operations as 512 x 512 x 512, 17 MB of operands: those of 512 have no part in
	 * its time.
	 */
	add_triad(&r, 1e9, 1e12);
	assert_near(curves_product(&curves, "nn", 2048, 32, 2048),
		    latency + 4 * (2048.0 * 2048 + 2 * 32 * 2048) / 1e12, 1e-9);
	result_release(&r);
}

/* Products, memory, and each collective on as many devices as the modes ask for. */
static void measure_all_but(struct result *r, const char *left_out, int ranks)
{
	static const char *const operations[] = { "all_reduce", "all_gather", "reduce_scatter",
						  "broadcast", "reduce" };

	*r = (struct result){ 0 };
	if (strcmp(left_out, "matmul") != 0)
		add_product(r, "4096", "fp32", 400e12);
	if (strcmp(left_out, "stream") != 0)
		add_triad(r, 1e9, 4e12);
	for (size_t i = 0; i < ARRAY_SIZE(operations); i++)
		if (strcmp(left_out, operations[i]) != 0)
			add_collective(r, operations[i], ranks, 1e6, 1e-5);
	if (strcmp(left_out, "send_recv") != 0)
		add_collective(r, "send_recv", 2, 1e6, 1e-5);
	/* Rings of more devices say nothing about a message. */
	add_collective(r, "send_recv", ranks, 1e6, 1e-5);
}

/* NaN, whatever the schedule does with it: the larger of it and a number is a number. */
static void nothing_is_predicted_from_what_is_missing(void **state)
{
	static const struct {
		const char *mode, *left_out, *named;
	} table[] = {
		{ "single", "matmul", "products in fp32 (suite matmul)" },
		{ "single", "stream", "memory (suite stream: triad in fp32)" },
		{ "ddp", "all_reduce", "all_reduce of 4 devices" },
		{ "ddp", "stream", "suite stream" },
		{ "zero1", "all_gather", "all_gather of 4 devices" },
		{ "zero2", "reduce_scatter", "reduce_scatter of 4 devices" },
		{ "zero3", "all_gather", "all_gather of 4 devices" },
		{ "tensor", "all_reduce", "all_reduce of 4 devices" },
		{ "tensor", "matmul", "suite matmul" },
		{ "dp_naive", "broadcast", "broadcast of 4 devices" },
		{ "1f1b", "send_recv", "send_recv of 2 devices" },
		{ "gpipe", "send_recv", "send_recv of 2 devices" },
		{ "1f1b_eager", "stream", "suite stream" },
		{ "layer_split", "send_recv", "send_recv of 2 devices" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct setup s = uniform(table[i].mode, strcmp(table[i].mode, "single") ? 4 : 1, 4);
		struct curves curves;
		struct result r;

		s.shards = 4;
		measure_all_but(&r, "", 4);
		curves_open(&curves, &r, "cuda:0", "fp32");
		assert_true(predict_step(&s, 1, &curves) > 0);
		assert_string_equal(curves.missing, "");
		result_release(&r);
		measure_all_but(&r, table[i].left_out, 4);
		curves_open(&curves, &r, "cuda:0", "fp32");
		if (!isnan(predict_step(&s, 1, &curves)) || !strstr(curves.missing, table[i].named))
			fail_msg("%s without %s: '%s' is missing", table[i].mode, table[i].left_out,
				 curves.missing);
		result_release(&r);
	}
}

/* All of it is named, each thing once. */
static void everything_missing_is_named(void **state)
{
	struct setup s = uniform("ddp", 2, 1);
	struct curves curves;

	(void)state;
	curves_open(&curves, &nothing, "cuda:0", "bf16");
	assert_true(isnan(predict_step(&s, 1, &curves)));
	assert_non_null(strstr(curves.missing, "products in bf16 (suite matmul)"));
	assert_non_null(strstr(curves.missing, "; "));
	assert_non_null(strstr(curves.missing, "memory (suite stream: triad in fp32)"));
	assert_non_null(strstr(curves.missing, "all_reduce of 2 devices (suite collective)"));
	assert_null(strstr(strstr(curves.missing, "suite matmul") + 1, "suite matmul"));
}

/* Only a step that follows another one has gathers to hide: a sample of one step has none. */
static void gathers_hide_in_the_next_step(void **state)
{
	struct setup s = uniform("zero1", 4, 1);
	struct rates rates = compute_only;
	struct curves curves;
	struct model model;
	double gathers, one, many;

	(void)state;
	s.shards = 4;
	model_init(&model, &s);
	rates.bus = 1e12;
	gathers = 0.75 * (double)model.elements * 4 / rates.bus;
	curves_open(&curves, &nothing, "cuda:0", "fp32");
	curves.rates = rates;
	one = predict_step(&s, 1, &curves);
	many = predict_step(&s, LONG_SAMPLE, &curves);
	/* All but the first layer's, which forward begins with; the others slow it down. */
	assert_true(one - many > 0.5 * gathers && one - many < gathers);
	assert_near(predict_step(&s, 2, &curves), (one + many) / 2, 1e-9);
}

/* Gradients with two buffers in turn make backward wait for a slow bus; all else is the same. */
static void buffers_in_turn_wait(void **state)
{
	struct setup own = uniform("zero1", 8, 1), turns = uniform("zero2", 8, 1);
	struct rates slow = compute_only;

	(void)state;
	own.shards = turns.shards = 8;
	assert_near(predicted(&turns, &compute_only), predicted(&own, &compute_only), 1e-9);
	slow.bus = 5e9;
	assert_true(predicted(&turns, &slow) >= predicted(&own, &slow));
}

/*
 * Recomputed are forwards: of all layers but the last of each segment, and none of the last
 * segment.
 */
static void recomputation_takes_its_forwards(void **state)
{
	static const char *const names[] = { "single", "ddp", "gpipe" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		int ranks = strcmp(names[i], "single") == 0 ? 1 : 2;
		struct setup s = uniform(names[i], ranks, 1);
		double product = 2.0 * (double)s.batch * 1024 * 1024 / compute_only.flops, kept,
		       again;

		s.layers = 8;
		for (size_t l = 0; l <= s.layers; l++)
			s.widths[l] = 1024;
		kept = predicted(&s, &compute_only);
		s.segments = 4;
		again = predicted(&s, &compute_only);
		/*
		 * Four segments of two layers, or two in each stage, which go back one after the
		 * other.
		 */
		assert_near(again - kept, i < 2 ? 3 * product / ranks : 2 * product, 1e-6);
	}
}

/* Events cost stream time, and work begins later after another stream than after its own. */
static void streams_hand_over(void **state)
{
	struct setup s = uniform("tensor", 4, 1);
	struct result r;
	struct curves curves;
	double without, with;

	(void)state;
	s.chunks = 1;
	s.layers = 4;
	s.widths[0] = 1024;
	measure_all_but(&r, "", 4);
	curves_open(&curves, &r, "cuda:0", "fp32");
	assert_true(isnan(curves_stream_wait(&curves)));
	add_launch(&r, "back_to_back", 1e-6);
	assert_true(isnan(curves_stream_wait(&curves)));
	assert_true(curves_event_record(&curves) == 0);
	add_launch(&r, "handover", 1e-6);
	add_launch(&r, "record", 1e-6);
	without = predict_step(&s, 1, &curves);
	r.cases[r.case_count - 2].metrics[0].value = 5e-6;
	r.cases[r.case_count - 1].metrics[0].value = 3e-6;
	assert_near(curves_stream_wait(&curves), 4e-6, 1e-9);
	assert_near(curves_event_record(&curves), 2e-6, 1e-9);
	with = predict_step(&s, 1, &curves);
	/* Two exposed sums forward; the one backward overlaps products. Three events. */
	assert_true(with - without > 4 * 4e-6 + 2 * 2e-6 && with - without < 6 * 4e-6 + 4 * 2e-6);
	curves.rates.bus = 1;
	assert_true(isnan(curves_stream_wait(&curves)) && curves_event_record(&curves) == 0);
	result_release(&r);
}

/* Two blocks; backward of attention computes its scores again: one product more than counted. */
static struct setup decoder(const char *mode, int ranks, double *operations)
{
	static const struct transformer_shape shape = {
		.hidden = 64, .heads = 4, .sequence = 32, .vocabulary = 1024
	};
	struct setup s = { .mode = mode_find(mode),
			   .ranks = ranks,
			   .batch = 8 * shape.sequence,
			   .microbatches = 1,
			   .bucket_bytes = 1,
			   .precision = PRECISION_FP32,
			   .loss_scale = 1 };

	setup_transformer(&s, 2, &shape);
	*operations = setup_flops(&s) + 2.0 * (double)s.batch * shape.sequence * shape.hidden;
	return s;
}

static void products_of_a_transformer_are_divided(void **state)
{
	static const struct {
		const char *mode;
		int ranks;
	} cases[] = { { "single", 1 },
		      { "ddp", 4 },
		      { "zero1", 2 },
		      { "tensor", 4 },
		      { "tensor_sequence", 2 } };
	double operations;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct setup s = decoder(cases[i].mode, cases[i].ranks, &operations);

		assert_near(predicted(&s, &compute_only), operations / 1e12 / cases[i].ranks, 1e-9);
	}
}

static void convolutions_are_counted_as_the_model_counts_them(void **state)
{
	static const struct image_shape shapes[] = {
		{ .image = 32, .channels = 8, .blocks = 3, .classes = 10 },
		{ .image = 32, .channels = 8, .blocks = 3, .classes = 10, .depthwise = 1 },
		{ .image = 64, .channels = 8, .blocks = 18, .classes = 10 },
		{ .image = 64, .channels = 8, .blocks = 50, .classes = 10 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++)
		for (int ranks = 1; ranks <= 2; ranks++) {
			struct setup s = uniform(ranks == 1 ? "single" : "ddp", ranks, 1);

			setup_images(&s, i < 2 ? MODEL_CONVNET : MODEL_RESNET, &shapes[i]);
			s.batch = 64;
			assert_near(predicted(&s, &compute_only), setup_flops(&s) / 1e12 / ranks,
				    1e-9);
		}
}

/*
 * Forward the embedding and each block's two sums are waited for; those of backward are hidden by
 * products of weights' gradients that take longer.
 */
static void forward_sums_are_exposed(void **state)
{
	struct rates rates = { .flops = 1e9, .memory = 1e30, .bus = 1e12 };
	double operations, each;
	struct setup s = decoder("tensor", 2, &operations);
	struct curves curves;

	(void)state;
	each = (double)s.batch * 64 * 4 / 1e12;
	curves_open(&curves, &nothing, "cuda:0", "fp32");
	curves.rates = rates;
	curves.no_contention = true;
	assert_near(predict_step(&s, LONG_SAMPLE, &curves), operations / 2e9 + 5 * each, 1e-6);
}

/* Without a measurement of attention nothing is predicted, and that is said. */
static void attention_is_needed(void **state)
{
	struct setup s;
	struct curves curves;
	double operations;

	(void)state;
	s = decoder("single", 1, &operations);
	curves_open(&curves, &nothing, "cuda:0", "bf16");
	assert_true(isnan(predict_step(&s, 1, &curves)));
	assert_non_null(strstr(curves.missing, "attention in bf16 (suite attention)"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(curves_interpolate_and_extend),
		cmocka_unit_test(one_device_does_all_products),
		cmocka_unit_test(pipelines_have_their_bubble),
		cmocka_unit_test(transfers_cost_what_the_order_lets_them),
		cmocka_unit_test(data_parallel_hides_what_it_can),
		cmocka_unit_test(reductions_and_products_share_a_device),
		cmocka_unit_test(what_factors_add_is_known),
		cmocka_unit_test(without_overlap_times_add_up),
		cmocka_unit_test(tensor_parallel_divides_products_and_adds_sums),
		cmocka_unit_test(grids_are_products_of_their_parts),
		cmocka_unit_test(parts_add_to_what_is_there),
		cmocka_unit_test(the_fastest_product_counts),
		cmocka_unit_test(what_was_not_measured_is_named),
		cmocka_unit_test(curves_come_from_this_run),
		cmocka_unit_test(small_and_slim_products_follow_what_limits_them),
		cmocka_unit_test(nothing_is_predicted_from_what_is_missing),
		cmocka_unit_test(everything_missing_is_named),
		cmocka_unit_test(gathers_hide_in_the_next_step),
		cmocka_unit_test(buffers_in_turn_wait),
		cmocka_unit_test(recomputation_takes_its_forwards),
		cmocka_unit_test(streams_hand_over),
		cmocka_unit_test(products_of_a_transformer_are_divided),
		cmocka_unit_test(convolutions_are_counted_as_the_model_counts_them),
		cmocka_unit_test(forward_sums_are_exposed),
		cmocka_unit_test(attention_is_needed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
