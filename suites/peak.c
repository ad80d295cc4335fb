/*
 * Peak arithmetic rate of a device, with pure arithmetic kernels, and the roofline between it and
 * memory: an increasing number of operations on each number that is read. Every result is known to
 * the last bit.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "kernels/generator.h"
#include "measure/run.h"
#include "plan/suite.h"
#include "suites/peak/expected.h"
#include "suites/shared/buffers.h"
#include "suites/shared/estimate.h"
#include "suites/shared/energy.h"
#include "suites/shared/sustained.h"
#include "suites/shared/words.h"

enum unit { FMA, TENSOR, ROOFLINE };

static const char *const units[] = { "fma", "tensor", "roofline", NULL };
static const char *const precisions[] = { "fp64", "fp32",     "fp16", "tf32", "bf16",
					  "fp8",  "fp8_e5m2", "int8", NULL };

static const struct key keys[] = {
	{ .name = "units",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "fma, tensor, roofline",
	  .choices = units,
	  .parameter = "unit",
	  .help = "fma: multiply-adds in registers (fp64, fp32, packed fp16); tensor: tensor cores "
		  "(tf32, fp16, bf16, fp8, fp8_e5m2, int8); roofline: multiply-adds on data from "
		  "memory (fp64, fp32)" },
	{ .name = "precisions",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "fp64, fp32, fp16, tf32, bf16, fp8, int8",
	  .choices = precisions,
	  .parameter = "precision",
	  .help = "precisions to measure; a unit skips those that it does not support" },
	{ .name = "steps",
	  .type = KEY_INTEGER,
	  .list = true,
	  .fallback = "1..512 *2",
	  .min = 1,
	  .max = 65536,
	  .help = "roofline: number of multiply-adds per element read and written" },
	{ .name = "size",
	  .type = KEY_SIZE,
	  .fallback = "512MiB",
	  .min = 4096,
	  .max = 0x1p36,
	  .help = "roofline: number of bytes to read, and the same number to write; a multiple of "
		  "512" },
	SUSTAINED_KEY,
	{ 0 },
};

static const char *const axes[] = { "units", "precisions", "steps", NULL };

static const struct metric metrics[] = {
	{ "peak.throughput", "FLOP/s", BETTER_HIGHER, 1,
	  "multiplications and additions per second (int8: integer operations); the sustained rate "
	  "if it was measured",
	  METRIC_PEAK },
	{ "peak.time", "s", BETTER_LOWER, 0, "time of one launch at peak.throughput", METRIC_PEAK },
	SUSTAINED_METRICS("peak", METRIC_PEAK),
	{ "peak.intensity", "FLOP/B", BETTER_NONE, 0,
	  "roofline: operations / (bytes read + bytes written)" },
	{ "peak.bandwidth", "B/s", BETTER_HIGHER, 0,
	  "roofline: (bytes read + bytes written) / time" },
	ENERGY_METRICS("peak", "one launch", "flops_per_joule", "FLOP/J",
		       "operations of a launch / its energy"),
	{ 0 },
};

static const struct table_row tables[] = {
	SUSTAINED_TABLE("peak"),
	ENERGY_TABLE("peak", "throughput", "flops_per_joule"),
	{ 0 },
};

static const struct word_row words[] = {
	PRECISION_WORDS,
	{ "precision", "fp8_e5m2", "FP8, E5M2" },
	{ "unit", "fma", "multiply-add units" },
	{ "unit", "tensor", "tensor cores" },
	{ "unit", "roofline", "data from memory" },
	{ 0 },
};

/* Precisions in the order of the words of `precisions`; fp16 in registers is FP16 throughout. */
static const enum precision precision_of[] = { PRECISION_FP64, PRECISION_FP32, PRECISION_FP16_ACC16,
					       PRECISION_TF32, PRECISION_BF16, PRECISION_FP8,
					       PRECISION_E5M2, PRECISION_INT8 };

/*
 * Lanes per multiprocessor and per core, and operations per chain, for some tenths of a
 * millisecond.
 */
#define GPU_LANES 2048
#define CPU_LANES 256
#define FMA_STEPS 8192
#define TENSOR_STEPS 2048
/* Numbers of a roofline case that are checked, and operations that the CPU repeats for them. */
#define LOOKED_AT UINT64_C(65536)
#define REPEATED (UINT64_C(1) << 25)

struct peak_work {
	enum unit unit;
	enum precision precision;
	struct stream *stream;
	struct buffer in, out;
	size_t out_bytes;
	uint64_t steps, count; /* count: lanes, groups or numbers */
	struct peak_tensor_shape shape;
};

static enum precision peak_chosen_precision(const struct plan_case *c, enum unit unit)
{
	enum precision precision = precision_of[case_integer(c, "precisions")];

	return unit == TENSOR && precision == PRECISION_FP16_ACC16 ? PRECISION_FP16 : precision;
}

static bool peak_makes_sense(enum unit unit, enum precision precision)
{
	bool wide = precision == PRECISION_FP64 || precision == PRECISION_FP32;

	if (unit == TENSOR)
		return !wide;
	return wide || (unit == FMA && precision == PRECISION_FP16_ACC16);
}

/* `name`: of the precision */
static const char *peak_obstacle(enum unit unit, enum precision precision, const char *name,
				 const struct device_info *info, char *reason, size_t size)
{
	bool tensor_cores = (info->capabilities & DEVICE_HAS_TENSOR_CORES) &&
			    kernel_peak_tensor_shape(info, precision).m > 0;

	if (unit == TENSOR && !tensor_cores && kernel_peak_lacks_wgmma(info))
		snprintf(reason, size,
			 "module %s was built without WGMMA code, which the tensor cores of %.31s "
			 "need",
			 info->module, info->id);
	else if (unit == TENSOR && !tensor_cores)
		snprintf(reason, size, "%s has no tensor cores for %s", info->id, name);
	else if (unit != TENSOR && !(info->capabilities & precision_capability(precision)))
		snprintf(reason, size, "%s does not support %s", info->id, name);
	else
		return NULL;
	return reason;
}

/*
 * The minimum of a case's launches, and twice the CPU's time for all numbers, so that many steps do
 * not look like a hang.
 */
static double peak_roofline_seconds(const struct plan_case *c, enum precision precision,
				    const struct device_info *info)
{
	double size = (double)section_integer(c->section, "size");
	double launches = (double)section_integer(c->section, "min_samples") +
			  (double)section_integer(c->section, "warmup") + 4;
	double work =
		2 * (double)case_integer(c, "steps") * size / (double)precision_bytes(precision);

	return launches * (work / shared_estimate_flops(info, precision) +
			   2 * size / shared_estimate_memory_rate(info)) +
	       2 * size / PACE_HOST_COPY;
}

static enum status peak_expand(struct plan *plan, struct plan_case *point, struct error *err)
{
	enum unit unit = (enum unit)case_integer(point, "units");
	enum precision precision = peak_chosen_precision(point, unit);
	uint64_t size = (uint64_t)section_integer(point->section, "size");

	if (!peak_makes_sense(unit, precision) ||
	    (unit != ROOFLINE && !plan_drop_axis(point, "steps")))
		return STATUS_OK;
	point->device_bytes = unit == ROOFLINE ? 2 * size : UINT64_C(16) << 20;
	point->host_bytes = unit == ROOFLINE ? size : UINT64_C(16) << 20;
	for (size_t i = 0; i < plan->device_count; i++) {
		const struct device_info *info = &plan->devices[i];
		char text[128];
		const char *reason = peak_obstacle(unit, precision, case_text(point, "precisions"),
						   info, text, sizeof(text));

		point->setup_seconds =
			0.05 + sustained_seconds(point->section, info) +
			(unit == ROOFLINE ? peak_roofline_seconds(point, precision, info) : 0);
		if (plan_add(plan, point, &i, 1, reason, err) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

static enum status peak_launch_one(const struct peak_work *w, struct error *err)
{
	struct peak_fma_arguments fma = { w->precision, w->count, w->steps, w->out.memory };
	struct peak_tensor_arguments tensor = { w->precision, w->count, w->steps, w->out.memory };
	struct peak_stream_arguments stream = { w->precision, w->in.memory, w->out.memory, w->count,
						w->steps };

	switch (w->unit) {
	case FMA:
		return backend_launch(w->stream, "peak_fma", &fma, err);
	case TENSOR:
		return backend_launch(w->stream, "peak_tensor", &tensor, err);
	default:
		return backend_launch(w->stream, "peak_stream", &stream, err);
	}
}

static enum status peak_launch_batch(void *state, unsigned batch, struct error *err)
{
	enum status status = STATUS_OK;

	for (unsigned i = 0; i < batch && status == STATUS_OK; i++)
		status = peak_launch_one(state, err);
	return status;
}

static double peak_operations(const struct peak_work *w)
{
	const struct peak_tensor_shape *s = &w->shape;
	double chains = PEAK_CHAINS * (w->precision == PRECISION_FP16_ACC16 ? 2 : 1);

	if (w->unit == TENSOR)
		return 2.0 * s->m * s->n * s->k * s->lefts * s->rights * (double)w->steps *
		       (double)w->count;
	return 2.0 * (double)w->steps * (double)w->count * (w->unit == FMA ? chains : 1);
}

static void peak_choose_work(struct peak_work *w, const struct run *run)
{
	const struct device_info *info = &run->devices[0]->info;
	uint64_t multiprocessors = info->multiprocessors > 0 ? (uint64_t)info->multiprocessors : 1;
	uint64_t size = (uint64_t)section_integer(run->c->section, "size") / 512 * 512;

	w->unit = (enum unit)case_integer(run->c, "units");
	w->precision = peak_chosen_precision(run->c, w->unit);
	if (w->unit == TENSOR) {
		w->shape = kernel_peak_tensor_shape(info, w->precision);
		w->count = multiprocessors * (uint64_t)w->shape.groups_per_multiprocessor;
		w->steps = w->shape.most_steps < TENSOR_STEPS ? w->shape.most_steps : TENSOR_STEPS;
	} else if (w->unit == FMA) {
		w->count = multiprocessors * (device_is_host(info) ? CPU_LANES : GPU_LANES);
		w->steps = FMA_STEPS;
	} else {
		w->count = size / precision_bytes(w->precision);
		w->steps = (uint64_t)case_integer(run->c, "steps");
	}
	w->out_bytes = w->unit == ROOFLINE ? size : w->count * sizeof(uint64_t);
}

static enum status peak_work_open(struct peak_work *w, struct run *run, struct error *err)
{
	struct fill_arguments fill = { .kind = w->precision == PRECISION_FP64 ? FILL_FP64
									      : FILL_FP32,
				       .count = w->count,
				       .seed = run->seed,
				       .scale = 1 };

	if (backend_stream_create(run->devices[0], false, &w->stream, err) != STATUS_OK ||
	    buffer_alloc(&w->out, run->devices[0], ALLOCATOR_DEVICE, w->out_bytes, err) !=
		    STATUS_OK)
		return err->status;
	if (w->unit != ROOFLINE)
		return STATUS_OK;
	if (buffer_alloc(&w->in, run->devices[0], ALLOCATOR_DEVICE, w->out_bytes, err) != STATUS_OK)
		return err->status;
	fill.memory = w->in.memory;
	return backend_launch(w->stream, "fill", &fill, err);
}

static enum status peak_check_words(const struct peak_work *w, const uint64_t *got,
				    struct error *err)
{
	uint64_t expected[PEAK_PERIOD];
	int64_t sum = w->unit == TENSOR ? peak_expect_tensor(&w->shape, w->steps) : 0;

	if (w->unit == FMA)
		peak_expect_fma(w->precision, w->steps, expected);
	for (uint64_t i = 0; i < w->count; i++) {
		uint64_t want = w->unit == FMA ? expected[i % PEAK_PERIOD] : (uint64_t)sum;

		if (got[i] != want)
			return error_set(err, STATUS_MISMATCH,
					 "wrong result: %s %" PRIu64 " should be %#" PRIx64
					 ", is %#" PRIx64,
					 w->unit == FMA ? "lane" : "group", i, want, got[i]);
	}
	return STATUS_OK;
}

/* Checking all would take the CPU as long as all samples take the device. */
static uint64_t peak_looked_at(const struct peak_work *w)
{
	uint64_t most = REPEATED / w->steps;

	most = most < LOOKED_AT ? most : LOOKED_AT;
	return w->count < most ? w->count : most;
}

static enum status peak_check_sampled(const struct peak_work *w, const void *got, uint64_t seed,
				      struct error *err)
{
	uint64_t looked = peak_looked_at(w);

	for (uint64_t i = 0; i < looked; i++) {
		uint64_t at =
			looked == w->count ? i : generator_bits(seed ^ PEAK_SEED, i) % w->count;
		double want = peak_expect_stream(w->precision, w->steps,
						 (double)generator_uniform(seed, at));
		double is = w->precision == PRECISION_FP64 ? ((const double *)got)[at]
							   : (double)((const float *)got)[at];

		if (is != want)
			return error_set(err, STATUS_MISMATCH,
					 "wrong result: number %" PRIu64
					 " should be %.17g, is %.17g",
					 at, want, is);
	}
	return STATUS_OK;
}

static enum status peak_check_output(const struct peak_work *w, uint64_t seed, const char *when,
				     struct error *err)
{
	struct buffer copy = { .memory = NULL };
	enum status status =
		buffer_alloc(&copy, w->out.device, ALLOCATOR_PAGEABLE, w->out_bytes, err);

	if (status == STATUS_OK)
		status = backend_copy(w->stream, copy.memory, w->out.memory, w->out_bytes, err);
	if (status == STATUS_OK)
		status = backend_stream_synchronize(w->stream, err);
	if (status == STATUS_OK)
		status = w->unit == ROOFLINE ? peak_check_sampled(w, copy.memory, seed, err)
					     : peak_check_words(w, copy.memory, err);
	if (status == STATUS_MISMATCH)
		error_prefix(err, "%s", when);
	buffer_free(&copy);
	return status;
}

static enum status peak_run(struct run *run, struct error *err)
{
	struct peak_work w = { .stream = NULL };
	struct sustained_work work = { .run = run,
				       .workload = { .state = &w,
						     .launch = peak_launch_batch,
						     .clock = CLOCK_DEVICE,
						     .streams = &w.stream,
						     .stream_count = 1,
						     .has_energy = true } };
	char method[128];
	double bytes;

	peak_choose_work(&w, run);
	bytes = 2 * (double)w.out_bytes;
	work.operations = peak_operations(&w);
	if (peak_work_open(&w, run, err) != STATUS_OK ||
	    buffer_poison(&w.out, w.stream, err) != STATUS_OK ||
	    peak_launch_one(&w, err) != STATUS_OK ||
	    peak_check_output(&w, run->seed, "before timing", err) != STATUS_OK ||
	    buffer_poison(&w.out, w.stream, err) != STATUS_OK ||
	    sustained_sample(&work, err) != STATUS_OK ||
	    peak_check_output(&w, run->seed, "after timing", err) != STATUS_OK)
		goto out;
	sustained_record(&work);
	if (w.unit == ROOFLINE) {
		run_value(run, "peak.intensity", work.operations / bytes);
		run_rate(run, "peak.bandwidth", bytes, sustained_series(&work));
	}
	run_energy(run, "flops_per_joule", work.operations);
	snprintf(method, sizeof(method),
		 "%" PRIu64 " of %" PRIu64
		 " results against the CPU's, to the last bit, before and after timing",
		 w.unit == ROOFLINE ? peak_looked_at(&w) : w.count, w.count);
	run_verified(run, method, NAN, NAN);
out:
	if (w.stream)
		backend_stream_synchronize(w.stream, NULL);
	buffer_free(&w.in);
	buffer_free(&w.out);
	backend_stream_destroy(w.stream);
	return err->status;
}

static const struct role_row roles[] = {
	{ "peak.throughput", ROLE_RATE },
	{ "peak.intensity", ROLE_INTENSITY },
	{ "precision", ROLE_PRECISION },
	{ 0 },
};

static const struct aspect_row aspects[] = {
	{ "peak.throughput", NULL, NULL, ASPECT_GEMM, .task = "{PRECISION} arithmetic" },
	{ "peak.bandwidth", NULL, NULL, ASPECT_MEMORY, .task = "memory reads" },
	{ 0 },
};

const struct suite suite_peak = {
	.name = "peak",
	.summary = "peak arithmetic rate per precision, and a memory roofline",
	.keys = keys,
	.axes = axes,
	.metrics = metrics,
	.tables = tables,
	.words = words,
	.roles = roles,
	.aspects = aspects,
	.processes = SUITE_ONE_PROCESS,
	.expand = peak_expand,
	.run = peak_run,
};
