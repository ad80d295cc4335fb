/*
 * Device memory bandwidth: the operations of the STREAM benchmark, and those that bound them. Bytes
 * are counted as in BabelStream: each array that an operation reads or writes, once.
 *
 * Kernels have variants (accesses in flight, block size, caching). The best one depends on device
 * and size, so each case tries them briefly and samples the fastest.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/units.h"
#include "kernels/generator.h"
#include "kernels/memory/stream.h"
#include "measure/run.h"
#include "plan/suite.h"
#include "result/statistics.h"
#include "suites/shared/buffers.h"
#include "suites/shared/energy.h"
#include "suites/shared/estimate.h"
#include "suites/shared/words.h"
#include "suites/stream/reference.h"

/* Operands of an operation. Sums read x and, if they have one, y. */
struct stream_shape {
	bool numbers; /* numbers of a precision; else words */
	bool x, y, out;
};
/*
 * Random access reads a share of the words: it is slow, and the share is large enough to exceed any
 * cache.
 */
#define RANDOM_SHARE 8

struct stream_case {
	struct run *run;
	struct device *device;
	struct stream *stream;
	struct buffer x, y, out, sum;
	uint64_t seeds[3]; /* of x, y, and of the operation's random numbers */
	struct stream_arguments arguments;
};

/* By enum stream_operation. */
static const struct stream_shape stream_shapes[] = {
	[STREAM_COPY] = { true, true, false, true },
	[STREAM_MUL] = { true, true, false, true },
	[STREAM_ADD] = { true, true, true, true },
	[STREAM_TRIAD] = { true, true, true, true },
	[STREAM_DOT] = { true, true, true, false },
	[STREAM_READ] = { false, true, false, false },
	[STREAM_WRITE] = { false, false, false, true },
	[STREAM_STRIDED] = { false, true, false, false },
	[STREAM_RANDOM] = { false, true, false, false },
};

static bool stream_is_fp32(const struct stream_case *c)
{
	return c->arguments.precision == PRECISION_FP32;
}

static uint64_t stream_elements(const struct stream_case *c)
{
	return c->arguments.bytes / (stream_is_fp32(c) ? 4 : 8);
}

/* Initialises the case from its parameters without allocating. */
static void stream_case_init(struct stream_case *c, struct run *run)
{
	const struct plan_case *p = run->c;
	enum stream_operation operation = (enum stream_operation)case_integer(p, "operations");
	uint64_t bytes = (uint64_t)case_integer(p, "sizes");

	*c = (struct stream_case){ .run = run, .device = run->devices[0] };
	for (size_t i = 0; i < ARRAY_SIZE(c->seeds); i++)
		c->seeds[i] = generator_bits(run->seed, i);
	c->arguments = (struct stream_arguments){ .operation = operation,
						  .precision = PRECISION_FP64,
						  .bytes = bytes,
						  .accesses = bytes / RANDOM_SHARE / 8,
						  .stride = 8,
						  .seed = c->seeds[2] };
	if (stream_shapes[operation].numbers)
		precision_from_name(case_text(p, "precisions"), &c->arguments.precision);
	if (operation == STREAM_STRIDED)
		c->arguments.stride = (uint64_t)case_integer(p, "strides");
}

static enum status stream_fill_array(struct stream_case *c, struct buffer *buffer, uint64_t seed,
				     struct error *err)
{
	struct fill_arguments a = { .memory = buffer->memory, .seed = seed, .scale = 1 };

	if (!stream_shapes[c->arguments.operation].numbers)
		return buffer_fill(buffer, c->stream, seed, err);
	a.kind = stream_is_fp32(c) ? FILL_FP32 : FILL_FP64;
	a.count = stream_elements(c);
	return backend_launch(c->stream, "fill", &a, err);
}

/* Allocates and fills. Close a case even after a failure. */
static enum status stream_case_open(struct stream_case *c, struct error *err)
{
	const struct stream_shape *shape = &stream_shapes[c->arguments.operation];
	struct buffer *buffers[] = { &c->x, &c->y, &c->out };
	const bool used[] = { shape->x, shape->y, shape->out };

	if (backend_stream_create(c->device, false, &c->stream, err) != STATUS_OK ||
	    buffer_alloc(&c->sum, c->device, ALLOCATOR_DEVICE, sizeof(struct stream_sum), err) !=
		    STATUS_OK)
		return err->status;
	for (size_t i = 0; i < ARRAY_SIZE(buffers); i++)
		if (used[i] && (buffer_alloc(buffers[i], c->device, ALLOCATOR_DEVICE,
					     c->arguments.bytes, err) != STATUS_OK ||
				(buffers[i] != &c->out &&
				 stream_fill_array(c, buffers[i], c->seeds[i], err) != STATUS_OK)))
			return err->status;
	c->arguments.x = c->x.memory;
	c->arguments.y = c->y.memory;
	c->arguments.out = c->out.memory;
	c->arguments.sum = c->sum.memory;
	return backend_stream_synchronize(c->stream, err);
}

/* Poisons the output and zeroes dot's sum, so that results of an earlier pass cannot verify. */
static enum status stream_forget(struct stream_case *c, struct error *err)
{
	if (backend_memory_set(c->stream, c->sum.memory, 0, c->sum.bytes, err) != STATUS_OK)
		return err->status;
	if (c->out.memory)
		return buffer_poison(&c->out, c->stream, err);
	return backend_stream_synchronize(c->stream, err);
}

/* For a workload whose state is the case. */
static enum status stream_launch(void *state, unsigned batch, struct error *err)
{
	struct stream_case *c = state;
	enum status status = STATUS_OK;

	for (unsigned i = 0; i < batch && status == STATUS_OK; i++)
		status = backend_launch(c->stream, "stream", &c->arguments, err);
	return status;
}

/*
 * Checks every element in place; the findings pass through the memory of the sum, which is not in
 * use.
 */
static enum status stream_verify_elements(struct stream_case *c, struct error *err)
{
	struct fill_mismatch found = { 0, UINT64_MAX, 0, 0 };
	struct check_stream_arguments a = { .operation = c->arguments.operation,
					    .precision = c->arguments.precision,
					    .out = c->out.memory,
					    .bytes = c->arguments.bytes,
					    .seeds = { c->seeds[0], c->seeds[1] },
					    .found = c->sum.memory };
	int digits = stream_is_fp32(c) ? 8 : 16;

	if (a.operation == STREAM_WRITE)
		a.seeds[0] = c->arguments.seed;
	if (buffer_launch_check(c->stream, "check_stream", &a, c->sum.memory, &found, sizeof(found),
				err) != STATUS_OK)
		return err->status;
	if (found.count == 0)
		return STATUS_OK;
	return error_set(err, STATUS_MISMATCH,
			 "wrong result at byte %" PRIu64 ": expected 0x%0*" PRIx64
			 ", got 0x%0*" PRIx64 " (%" PRIu64 " of %" PRIu64 " elements wrong)",
			 found.index, digits, found.expected, digits, found.got, found.count,
			 stream_elements(c));
}

/* Verifies the result of the passes so far. `error`: of dot; NaN for an exact comparison. */
static enum status stream_verify(struct stream_case *c, double *error, struct error *err)
{
	uint64_t words = c->arguments.bytes / 8, expected;
	struct stream_sum sum;

	*error = NAN;
	if (c->out.memory)
		return stream_verify_elements(c, err);
	if (backend_copy(c->stream, &sum, c->sum.memory, offsetof(struct stream_sum, parts), err) !=
		    STATUS_OK ||
	    backend_stream_synchronize(c->stream, err) != STATUS_OK) {
		backend_stream_synchronize(c->stream, NULL);
		return err->status;
	}
	if (c->arguments.operation == STREAM_DOT) {
		double dot = stream_dot_reference(c->seeds, stream_elements(c));

		*error = fabs(sum.sum.number - dot);
		if (*error <= stream_reference_dot_tolerance(stream_elements(c)))
			return STATUS_OK;
		return error_set(err, STATUS_MISMATCH, "wrong sum: expected %.17g, got %.17g", dot,
				 sum.sum.number);
	}
	expected = c->arguments.operation == STREAM_RANDOM
			   ? stream_random_reference(c->seeds[0], c->arguments.seed, words,
						     c->arguments.accesses)
			   : stream_words_reference(c->seeds[0], words);
	if (sum.sum.words == expected)
		return STATUS_OK;
	return error_set(err, STATUS_MISMATCH,
			 "wrong sum: expected 0x%016" PRIx64 ", got 0x%016" PRIx64, expected,
			 sum.sum.words);
}

/* Variants of a kernel of kernels/memory/stream.h to try on a device. */
/* { packs in flight, threads, blocks per multiprocessor, streaming } */
static const struct stream_variant arrays[] = {
	{ 4, 256, 0, 0 }, { 1, 1024, 0, 0 }, { 2, 512, 0, 0 },  { 4, 512, 0, 0 }, { 4, 1024, 0, 0 },
	{ 4, 256, 8, 0 }, { 4, 512, 2, 0 },  { 1, 1024, 0, 1 }, { 4, 256, 0, 1 }, { 4, 512, 0, 1 },
	{ 2, 512, 2, 1 }, { 4, 512, 2, 1 },  { 4, 256, 1, 1 },
};
static const struct stream_variant sums[] = {
	{ 4, 512, 4, 0 },  { 4, 256, 8, 0 },  { 8, 256, 4, 0 },
	{ 8, 512, 2, 0 },  { 8, 512, 4, 0 },  { 4, 1024, 2, 0 },
	{ 8, 1024, 1, 0 }, { 2, 1024, 2, 0 }, { 8, 256, 16, 0 },
};
static const struct stream_variant scattered[] = {
	{ 8, 256, 8, 0 }, { 8, 512, 4, 0 }, { 8, 1024, 2, 0 }, { 8, 256, 16, 0 }, { 8, 128, 16, 0 },
};
/* On a CPU, threads are cores; non-temporal stores are the only choice. */
static const struct stream_variant on_host[] = { { 1, 32, 0, 0 }, { 1, 32, 0, 1 } };

/* Never empty; the first is the default. On a CPU, only stores have a choice. */
static const struct stream_variant *stream_variants(const struct device_info *info,
						    enum stream_operation operation, size_t *count)
{
	bool scatters = operation == STREAM_STRIDED || operation == STREAM_RANDOM,
	     adds = operation == STREAM_DOT || operation == STREAM_READ;

	if (device_is_host(info)) {
		*count = scatters || adds ? 1 : ARRAY_SIZE(on_host);
		return on_host;
	}
	*count = scatters ? ARRAY_SIZE(scattered) : adds ? ARRAY_SIZE(sums) : ARRAY_SIZE(arrays);
	return scatters ? scattered : adds ? sums : arrays;
}

/* Text for messages: "4 packs in flight, 512 threads". Returns `out`. */
static char *stream_variant_text(const struct stream_variant *v, const struct device_info *info,
				 char *out, size_t size)
{
	char blocks[48] = "";

	if (v->blocks)
		snprintf(blocks, sizeof(blocks), ", at most %u blocks per multiprocessor",
			 v->blocks);
	if (device_is_host(info))
		snprintf(out, size, "%s", v->streaming ? "streaming stores" : "ordinary stores");
	else
		snprintf(out, size,
			 "%u 16-byte accesses in flight per thread and array, blocks of %u "
			 "threads%s%s",
			 v->unroll, v->threads, blocks, v->streaming ? ", streaming" : "");
	return out;
}

/* In the order of enum stream_operation. */
static const char *const operations[] = { "copy", "mul",   "add",     "triad",  "dot",
					  "read", "write", "strided", "random", NULL };
static const char *const precisions[] = { "fp64", "fp32", NULL };
static const char *const choices[] = { "best", "first", NULL };

static const struct key keys[] = {
	{ .name = "operations",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "copy, mul, add, triad, dot, read, write, strided, random",
	  .choices = operations,
	  .parameter = "operation",
	  .help = "copy: c = a; mul: b = s c; add: c = a + b; triad: a = b + s c; dot: sum of a b; "
		  "read; write; strided, random: 8-byte reads" },
	{ .name = "precisions",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "fp64, fp32",
	  .choices = precisions,
	  .parameter = "precision",
	  .help = "element type of copy, mul, add, triad and dot" },
	{ .name = "strides",
	  .type = KEY_SIZE,
	  .list = true,
	  .fallback = "64B",
	  .min = 16,
	  .max = 0x1p20,
	  .parameter = "stride",
	  .help = "strided: bytes from one read to the next; a multiple of 8 that divides the "
		  "size" },
	{ .name = "sizes",
	  .type = KEY_SIZE,
	  .list = true,
	  .fallback = "1MiB..1GiB *4, 2GiB",
	  .min = 16,
	  .max = 0x1p34,
	  .parameter = "size",
	  .help = "size of one array, a multiple of 16" },
	{ .name = "variant",
	  .type = KEY_CHOICE,
	  .fallback = "best",
	  .choices = choices,
	  .help = "best: time all kernel variants and use the fastest; first: use the first "
		  "variant" },
	{ 0 },
};

static const char *const axes[] = { "operations", "precisions", "strides", "sizes", NULL };

static const struct metric metrics[] = {
	{ "stream.bandwidth", "B/s", BETTER_HIGHER, 1,
	  "bytes read and written per second, counted as in BabelStream; strided, random: only the "
	  "bytes of the words that are used" },
	{ "stream.time", "s", BETTER_LOWER, 0, "time of one pass over the arrays" },
	{ "stream.peak_share", "1", BETTER_HIGHER, 0,
	  "stream.bandwidth / theoretical bandwidth from memory clock and bus width (two transfers "
	  "per clock)",
	  .percent = true },
	ENERGY_METRICS("stream", "time of one pass over the arrays", "bytes_per_joule", "B/J",
		       "bytes of one pass / its energy"),
	{ 0 },
};

static const struct table_row tables[] = {
	ENERGY_TABLE("stream", "bandwidth", "bytes_per_joule"),
	{ 0 },
};

static const struct word_row words[] = { PRECISION_WORDS, { 0 } };

static size_t stream_arrays_of(enum stream_operation operation)
{
	const struct stream_shape *s = &stream_shapes[operation];

	return (size_t)s->x + s->y + s->out;
}

/* Bytes counted for one pass. */
static double stream_counted_bytes(enum stream_operation operation, uint64_t bytes)
{
	if (operation == STREAM_RANDOM)
		return (double)(bytes / RANDOM_SHARE / 8 * 8);
	return (double)stream_arrays_of(operation) * (double)bytes;
}

static enum status stream_expand(struct plan *plan, struct plan_case *point, struct error *err)
{
	enum stream_operation operation = (enum stream_operation)case_integer(point, "operations");
	uint64_t bytes = (uint64_t)case_integer(point, "sizes");
	uint64_t stride = (uint64_t)case_integer(point, "strides");
	const char *wrong = bytes % 16 ? "the size is not a multiple of 16" : NULL;

	if (!stream_shapes[operation].numbers && !plan_drop_axis(point, "precisions"))
		return STATUS_OK;
	if (operation != STREAM_STRIDED && !plan_drop_axis(point, "strides"))
		return STATUS_OK;
	if (operation == STREAM_STRIDED && (stride % 8 || bytes % stride))
		wrong = "the stride is not a multiple of 8 bytes that divides the size";
	if (operation == STREAM_RANDOM && bytes < 8 * RANDOM_SHARE)
		wrong = "the array is too small for random access";
	for (size_t i = 0; i < plan->device_count; i++) {
		const struct device_info *info = &plan->devices[i];
		double passes, reference;

		point->device_bytes = stream_arrays_of(operation) * bytes +
				      sizeof(struct stream_sum) + BUFFER_CHECK_BYTES;
		/* The CPU computes references. */
		passes = operation == STREAM_RANDOM || operation == STREAM_STRIDED ? 30 : 15;
		reference = stream_shapes[operation].out ? 0 : (double)bytes / 8e9;
		point->setup_seconds = 0.02 + reference +
				       passes * stream_counted_bytes(operation, bytes) /
					       shared_estimate_memory_rate(info);
		if (plan_add(plan, point, &i, 1, wrong, err) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

static struct workload stream_workload(struct stream_case *c)
{
	return (struct workload){ .state = c,
				  .launch = stream_launch,
				  .clock = CLOCK_DEVICE,
				  .streams = &c->stream,
				  .stream_count = 1,
				  .has_energy = true };
}

/* Median time of a few passes. */
static enum status stream_try_variant(struct stream_case *c, double *seconds, struct error *err)
{
	static const struct sampling rules = { .min_samples = 3,
					       .max_samples = 3,
					       .target = 1e-3,
					       .max_seconds = 1,
					       .sample_seconds = 100e-6,
					       .warmup = 1 };
	struct sampler sampler = c->run->sampler;
	struct workload w = stream_workload(c);
	struct series series = { 0 };
	enum status status;

	sampler.rules = &rules;
	sampler.progress = NULL;
	status = sample(&sampler, &w, &series, err);
	*seconds = series.statistics.median;
	free(series.samples);
	return status;
}

static enum status stream_choose_variant(struct stream_case *c, struct error *err)
{
	const struct device_info *info = &c->device->info;
	size_t count, best = 0;
	const struct stream_variant *variants =
		stream_variants(info, c->arguments.operation, &count);
	double fastest = INFINITY, seconds;
	char text[160];

	if (strcmp(section_text(c->run->c->section, "variant"), "first") == 0)
		count = 1;
	for (size_t i = 0; i < count && count > 1; i++) {
		c->arguments.variant = variants[i];
		if (stream_try_variant(c, &seconds, err) != STATUS_OK)
			return err->status;
		if (seconds < fastest) {
			fastest = seconds;
			best = i;
		}
	}
	c->arguments.variant = variants[best];
	if (count > 1)
		run_note(c->run, "The fastest of %zu kernel variants: %s.", count,
			 stream_variant_text(&variants[best], info, text, sizeof(text)));
	return STATUS_OK;
}

static enum status stream_measure(struct stream_case *c, struct error *err)
{
	struct workload w = stream_workload(c);
	const struct series *time;
	double error, bytes, peak;
	const struct device_info *info;

	if (stream_choose_variant(c, err) != STATUS_OK || stream_forget(c, err) != STATUS_OK ||
	    stream_launch(c, 1, err) != STATUS_OK)
		return err->status;
	if (stream_verify(c, &error, err) != STATUS_OK)
		return error_prefix(err, "before timing");
	if (stream_forget(c, err) != STATUS_OK ||
	    run_sample(c->run, &w, "stream.time", &time, err) != STATUS_OK)
		return err->status;
	info = &c->device->info;
	bytes = stream_counted_bytes(c->arguments.operation, c->arguments.bytes);
	peak = 2 * info->memory_clock_hz * info->memory_bus_bits / 8;
	run_rate(c->run, "stream.bandwidth", bytes, time);
	run_duration(c->run, "stream.time", time);
	if (peak > 0)
		run_rate(c->run, "stream.peak_share", bytes / peak, time);
	run_energy(c->run, "bytes_per_joule", bytes);
	if (stream_verify(c, &error, err) != STATUS_OK)
		return error_prefix(err, "after timing");
	if (c->arguments.operation == STREAM_DOT)
		run_verified(c->run, "against the exact sum, before and after timing", error,
			     stream_reference_dot_tolerance(stream_elements(c)));
	else
		run_verified(c->run,
			     c->out.memory ? "every element against the generated data, before and "
					     "after timing"
					   : "sum of all elements against the sum of the generated "
					     "data, before and after timing",
			     NAN, NAN);
	return STATUS_OK;
}

static enum status stream_run(struct run *run, struct error *err)
{
	struct stream_case c;

	stream_case_init(&c, run);
	if (stream_case_open(&c, err) == STATUS_OK && stream_forget(&c, err) == STATUS_OK &&
	    stream_measure(&c, err) == STATUS_OK) {
		uint64_t all = stream_arrays_of(c.arguments.operation) * c.arguments.bytes,
			 cache = c.device->info.l2_bytes;
		char size[32];

		if (all < cache)
			run_note(c.run, "The arrays fit in the device's cache (%s).",
				 units_size(cache, size, sizeof(size)));
	}
	if (c.stream)
		backend_stream_synchronize(c.stream, NULL);
	buffer_free(&c.sum);
	buffer_free(&c.out);
	buffer_free(&c.y);
	buffer_free(&c.x);
	backend_stream_destroy(c.stream);
	return err->status;
}

static const struct role_row roles[] = {
	{ "stream.bandwidth", ROLE_BANDWIDTH },
	{ 0 },
};

static const struct aspect_row aspects[] = {
	{ "stream.bandwidth", NULL, NULL, ASPECT_MEMORY, .task = "memory {operation}",
	  .group = "memory operations", .variant = "{operation}" },
	{ 0 },
};

static const struct sheet_row sheet[] = {
	{ "stream.bandwidth",
	  { "operation", "copy", "precision", "fp64" },
	  .quantity = "memory_copy" },
	{ "stream.bandwidth",
	  { "operation", "mul", "precision", "fp64" },
	  .quantity = "memory_scale" },
	{ "stream.bandwidth",
	  { "operation", "triad", "precision", "fp64" },
	  .quantity = "memory_triad" },
	{ "stream.bytes_per_joule", { "operation", "triad" }, .quantity = "efficiency_memory" },
	{ 0 },
};

const struct suite suite_stream = {
	.name = "stream",
	.summary = "bandwidth of device memory: copy, mul, add, triad, dot and more",
	.keys = keys,
	.axes = axes,
	.metrics = metrics,
	.tables = tables,
	.words = words,
	.roles = roles,
	.sheet = sheet,
	.aspects = aspects,
	.processes = SUITE_ONE_PROCESS,
	.expand = stream_expand,
	.run = stream_run,
};
