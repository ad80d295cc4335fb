/*
 * Device memory: how fast a device reads and writes it, in the operations of the STREAM benchmark and in those that
 * bound them. Bytes are counted as BabelStream does: each array that an operation reads or writes, once.
 *
 * Kernels have variants (accesses in flight, block size, caching); which one is best differs between devices and
 * sizes, so each case tries them shortly and takes the fastest for its samples.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/units.h"
#include "measure/run.h"
#include "measure/statistics.h"
#include "suites/buffers.h"
#include "suites/cache.h"
#include "suites/stream/reference.h"
#include "suites/stream/variants.h"
#include "suites/suite.h"

/* In the order of enum stream_operation. */
static const char *const operations[] = { "copy", "mul",   "add",     "triad",  "dot",
					  "read", "write", "strided", "random", NULL };
static const char *const precisions[] = { "fp64", "fp32", NULL };
static const char *const caches[] = { "warm", "cold", NULL };
static const char *const choices[] = { "best", "first", NULL };

static const struct key keys[] = {
	{ .name = "operations",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "copy, mul, add, triad, dot, read, write, strided, random",
	  .choices = operations,
	  .parameter = "operation",
	  .help = "copy c=a, mul b=sc, add c=a+b, triad a=b+sc, dot; read, write; strided, random: "
		  "8-byte reads" },
	{ .name = "precisions",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "fp64, fp32",
	  .choices = precisions,
	  .parameter = "precision",
	  .help = "numbers of copy, mul, add, triad and dot" },
	{ .name = "strides",
	  .type = KEY_SIZE,
	  .list = true,
	  .fallback = "64B",
	  .min = 16,
	  .max = 0x1p20,
	  .parameter = "stride",
	  .help = "bytes from one read of `strided` to the next: a multiple of 8 that divides the "
		  "size" },
	{ .name = "sizes",
	  .type = KEY_SIZE,
	  .list = true,
	  .fallback = "1MiB..1GiB *4, 2GiB",
	  .min = 16,
	  .max = 0x1p34,
	  .parameter = "size",
	  .help = "bytes of one array, a multiple of 16" },
	{ .name = "cache",
	  .type = KEY_CHOICE,
	  .fallback = "warm",
	  .choices = caches,
	  .help = "warm: repeated as it is; cold: other data fill the last-level cache before each "
		  "sample" },
	{ .name = "variant",
	  .type = KEY_CHOICE,
	  .fallback = "best",
	  .choices = choices,
	  .help = "of the kernel: the best by trying all, or the first without trying" },
	{ 0 },
};

static const char *const axes[] = { "operations", "precisions", "strides", "sizes", NULL };

static const struct metric metrics[] = {
	{ "stream.bandwidth", "B/s", BETTER_HIGHER, 1,
	  "bytes of every array read or written, each once (BabelStream's count); strided, random: "
	  "of the words used" },
	{ "stream.time", "s", BETTER_LOWER, 0, "one pass" },
	{ "stream.peak_share", "1", BETTER_HIGHER, 0,
	  "bandwidth over that of the device's memory clock and bus width, two transfers a clock" },
	{ 0 },
};

/* What an operation works on. Sums read x and, if they have one, y. */
static const struct shape {
	bool numbers; /* of a precision; else words */
	bool x, y, out;
} shapes[] = {
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

/* Random access reads a share of the words: it is slow, and the share is large enough to leave any cache. */
#define RANDOM_SHARE 8

static size_t arrays_of(enum stream_operation operation)
{
	const struct shape *s = &shapes[operation];

	return (size_t)s->x + s->y + s->out;
}

/* Bytes that one pass counts. */
static double counted_bytes(enum stream_operation operation, uint64_t bytes)
{
	if (operation == STREAM_RANDOM)
		return (double)(bytes / RANDOM_SHARE / 8 * 8);
	return (double)arrays_of(operation) * (double)bytes;
}

/* CPUs move some 5 GB/s and core count; GPUs a hundred times that, but references are the CPU's. */
static double setup_seconds(const struct device_info *info, enum stream_operation operation,
			    uint64_t bytes)
{
	double passes = operation == STREAM_RANDOM || operation == STREAM_STRIDED ? 30 : 15;
	bool host = strcmp(info->backend, "host") == 0;
	double reference = shapes[operation].out ? 0 : (double)bytes / 8e9;

	return 0.02 + reference + passes * counted_bytes(operation, bytes) / (host ? 5e9 : 100e9);
}

static enum status stream_expand(struct plan *plan, struct plan_case *point, struct error *err)
{
	enum stream_operation operation = (enum stream_operation)case_integer(point, "operations");
	uint64_t bytes = (uint64_t)case_integer(point, "sizes");
	uint64_t stride = (uint64_t)case_integer(point, "strides");
	bool cold = strcmp(section_text(point->section, "cache"), "cold") == 0;
	const char *wrong = bytes % 16 ? "the size is no multiple of 16" : NULL;

	if (!shapes[operation].numbers && !plan_drop_axis(point, "precisions"))
		return STATUS_OK;
	if (operation != STREAM_STRIDED && !plan_drop_axis(point, "strides"))
		return STATUS_OK;
	if (operation == STREAM_STRIDED && (stride % 8 || bytes % stride))
		wrong = "the stride is no multiple of 8 bytes that divides the size";
	if (operation == STREAM_RANDOM && bytes < 8 * RANDOM_SHARE)
		wrong = "too small for random access";
	for (size_t i = 0; i < plan->device_count; i++) {
		const struct device_info *info = &plan->devices[i];

		point->device_bytes = arrays_of(operation) * bytes + sizeof(struct stream_sum) +
				      BUFFER_CHECK_BYTES + (cold ? cache_flush_bytes(info) : 0);
		point->setup_seconds = setup_seconds(info, operation, bytes);
		if ((wrong ? plan_add_skipped(plan, point, &i, 1, wrong, err)
			   : plan_add(plan, point, &i, 1, err)) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

struct stream_case {
	struct run *run;
	struct device *device;
	struct stream *stream;
	struct buffer x, y, out, sum;
	struct cache_flush flush;
	bool cold;
	uint64_t seeds[3]; /* of x, y, and of what the operation itself draws */
	struct stream_arguments arguments;
};

static bool is_fp32(const struct stream_case *c)
{
	return c->arguments.precision == PRECISION_FP32;
}

static uint64_t elements(const struct stream_case *c)
{
	return c->arguments.bytes / (is_fp32(c) ? 4 : 8);
}

static void case_init(struct stream_case *c, struct run *run)
{
	const struct plan_case *p = run->c;
	enum stream_operation operation = (enum stream_operation)case_integer(p, "operations");
	uint64_t bytes = (uint64_t)case_integer(p, "sizes");

	*c = (struct stream_case){ .run = run,
				   .device = run->devices[0],
				   .cold = strcmp(section_text(p->section, "cache"), "cold") == 0 };
	for (size_t i = 0; i < ARRAY_SIZE(c->seeds); i++)
		c->seeds[i] = generator_bits(run->seed, i);
	c->arguments = (struct stream_arguments){ .operation = operation,
						  .precision = PRECISION_FP64,
						  .bytes = bytes,
						  .accesses = bytes / RANDOM_SHARE / 8,
						  .stride = 8,
						  .seed = c->seeds[2] };
	if (shapes[operation].numbers)
		precision_from_name(case_text(p, "precisions"), &c->arguments.precision);
	if (operation == STREAM_STRIDED)
		c->arguments.stride = (uint64_t)case_integer(p, "strides");
}

static enum status fill(struct stream_case *c, struct buffer *buffer, uint64_t seed,
			struct error *err)
{
	struct fill_arguments a = { .memory = buffer->memory, .seed = seed, .scale = 1 };

	if (!shapes[c->arguments.operation].numbers)
		return buffer_fill(buffer, c->stream, seed, err);
	a.kind = is_fp32(c) ? FILL_FP32 : FILL_FP64;
	a.count = elements(c);
	return backend_launch(c->stream, "fill", &a, err);
}

static enum status case_open(struct stream_case *c, struct error *err)
{
	const struct shape *shape = &shapes[c->arguments.operation];
	size_t bytes = c->arguments.bytes;

	if (backend_stream_create(c->device, false, &c->stream, err) != STATUS_OK ||
	    (shape->x &&
	     buffer_alloc(&c->x, c->device, ALLOCATOR_DEVICE, bytes, err) != STATUS_OK) ||
	    (shape->y &&
	     buffer_alloc(&c->y, c->device, ALLOCATOR_DEVICE, bytes, err) != STATUS_OK) ||
	    (shape->out &&
	     buffer_alloc(&c->out, c->device, ALLOCATOR_DEVICE, bytes, err) != STATUS_OK) ||
	    buffer_alloc(&c->sum, c->device, ALLOCATOR_DEVICE, sizeof(struct stream_sum), err) !=
		    STATUS_OK ||
	    (shape->x && fill(c, &c->x, c->seeds[0], err) != STATUS_OK) ||
	    (shape->y && fill(c, &c->y, c->seeds[1], err) != STATUS_OK) ||
	    (c->cold && cache_flush_open(&c->flush, c->stream, err) != STATUS_OK))
		return err->status;
	c->arguments.x = c->x.memory;
	c->arguments.y = c->y.memory;
	c->arguments.out = c->out.memory;
	c->arguments.sum = c->sum.memory;
	return backend_stream_synchronize(c->stream, err);
}

static void case_close(struct stream_case *c)
{
	if (c->stream)
		backend_stream_synchronize(c->stream, NULL);
	cache_flush_close(&c->flush);
	buffer_free(&c->sum);
	buffer_free(&c->out);
	buffer_free(&c->y);
	buffer_free(&c->x);
	backend_stream_destroy(c->stream);
}

/* No result of an earlier pass is left; a sum starts from zero. */
static enum status forget(struct stream_case *c, struct error *err)
{
	if (backend_memory_set(c->stream, c->sum.memory, 0, c->sum.bytes, err) != STATUS_OK)
		return err->status;
	if (c->out.memory)
		return buffer_poison(&c->out, c->stream, err);
	return backend_stream_synchronize(c->stream, err);
}

static enum status launch(void *state, unsigned batch, struct error *err)
{
	struct stream_case *c = state;
	enum status status = STATUS_OK;

	for (unsigned i = 0; i < batch && status == STATUS_OK; i++)
		status = backend_launch(c->stream, "stream", &c->arguments, err);
	return status;
}

static enum status flush_before(void *state, struct error *err)
{
	return cache_flush(&((struct stream_case *)state)->flush, err);
}

/* Every element, in place: what was found travels through the memory of the sum, which is not in use. */
static enum status check_elements(struct stream_case *c, struct error *err)
{
	struct fill_mismatch found = { 0, UINT64_MAX, 0, 0 };
	struct check_stream_arguments a = { .operation = c->arguments.operation,
					    .precision = c->arguments.precision,
					    .out = c->out.memory,
					    .bytes = c->arguments.bytes,
					    .seeds = { c->seeds[0], c->seeds[1] },
					    .found = c->sum.memory };
	int digits = is_fp32(c) ? 8 : 16;

	if (a.operation == STREAM_WRITE)
		a.seeds[0] = c->arguments.seed;
	if (backend_copy(c->stream, c->sum.memory, &found, sizeof(found), err) != STATUS_OK ||
	    backend_launch(c->stream, "check_stream", &a, err) != STATUS_OK ||
	    backend_copy(c->stream, &found, c->sum.memory, sizeof(found), err) != STATUS_OK ||
	    backend_stream_synchronize(c->stream, err) != STATUS_OK) {
		backend_stream_synchronize(c->stream,
					   NULL); /* what was enqueued still uses `found` */
		return err->status;
	}
	if (found.count == 0)
		return STATUS_OK;
	return error_set(err, STATUS_MISMATCH,
			 "wrong result at byte %" PRIu64 ": expected 0x%0*" PRIx64
			 ", got 0x%0*" PRIx64 " (%" PRIu64 " of %" PRIu64 " elements wrong)",
			 found.index, digits, found.expected, digits, found.got, found.count,
			 elements(c));
}

static enum status check_dot(const struct stream_case *c, double got, double *error,
			     struct error *err)
{
	double expected = stream_dot_reference(c->seeds, elements(c));

	*error = fabs(got - expected);
	if (*error <= stream_dot_tolerance(elements(c)))
		return STATUS_OK;
	return error_set(err, STATUS_MISMATCH, "wrong sum: expected %.17g, got %.17g", expected,
			 got);
}

static enum status check_words(const struct stream_case *c, uint64_t got, struct error *err)
{
	uint64_t words = c->arguments.bytes / 8;
	uint64_t expected = c->arguments.operation == STREAM_RANDOM
				    ? stream_random_reference(c->seeds[0], c->arguments.seed, words,
							      c->arguments.accesses)
				    : stream_words_reference(c->seeds[0], words);

	if (got == expected)
		return STATUS_OK;
	return error_set(err, STATUS_MISMATCH,
			 "wrong sum: expected 0x%016" PRIx64 ", got 0x%016" PRIx64, expected, got);
}

/* What the passes so far left behind. `error`: of dot; NaN where comparison is exact. */
static enum status check(struct stream_case *c, double *error, struct error *err)
{
	struct stream_sum sum;

	*error = NAN;
	if (c->out.memory)
		return check_elements(c, err);
	if (backend_copy(c->stream, &sum, c->sum.memory, offsetof(struct stream_sum, parts), err) !=
		    STATUS_OK ||
	    backend_stream_synchronize(c->stream, err) != STATUS_OK) {
		backend_stream_synchronize(c->stream, NULL);
		return err->status;
	}
	if (c->arguments.operation == STREAM_DOT)
		return check_dot(c, sum.sum.number, error, err);
	return check_words(c, sum.sum.words, err);
}

static struct workload workload_of(struct stream_case *c)
{
	return (struct workload){ .state = c,
				  .prepare = c->cold ? flush_before : NULL,
				  .launch = launch,
				  .clock = CLOCK_DEVICE,
				  .streams = &c->stream,
				  .stream_count = 1,
				  .max_batch = c->cold ? 1 : 0 };
}

/* The median time of a few passes. */
static enum status try_variant(struct stream_case *c, double *seconds, struct error *err)
{
	static const struct sampling rules = { .min_samples = 3,
					       .max_samples = 3,
					       .target = 1e-3,
					       .max_seconds = 1,
					       .sample_seconds = 100e-6,
					       .warmup = 1 };
	struct sampler sampler = c->run->sampler;
	struct workload w = workload_of(c);
	struct series series = { 0 };
	enum status status;

	sampler.rules = &rules;
	sampler.progress = NULL;
	status = sample(&sampler, &w, &series, err);
	*seconds = series.statistics.median;
	free(series.samples);
	return status;
}

static enum status choose_variant(struct stream_case *c, struct error *err)
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
		if (try_variant(c, &seconds, err) != STATUS_OK)
			return err->status;
		if (seconds < fastest) {
			fastest = seconds;
			best = i;
		}
	}
	c->arguments.variant = variants[best];
	if (count > 1)
		run_note(c->run, "The fastest of %zu variants: %s.", count,
			 stream_variant_text(&variants[best], info, text, sizeof(text)));
	return STATUS_OK;
}

static void note_cache(const struct stream_case *c)
{
	uint64_t all = arrays_of(c->arguments.operation) * c->arguments.bytes,
		 cache = c->device->info.l2_bytes;
	char size[32];

	if (c->cold)
		run_note(c->run, "The last-level cache holds other data when a sample begins.");
	else if (all < cache)
		run_note(c->run, "The arrays fit in the device's cache (%s).",
			 units_size(cache, size, sizeof(size)));
}

static void derive(struct stream_case *c, const struct series *time)
{
	const struct device_info *info = &c->device->info;
	double bytes = counted_bytes(c->arguments.operation, c->arguments.bytes);
	double peak = 2 * info->memory_clock_hz * info->memory_bus_bits / 8;

	run_rate(c->run, "stream.bandwidth", bytes, time);
	run_duration(c->run, "stream.time", time);
	if (peak > 0)
		run_rate(c->run, "stream.peak_share", bytes / peak, time);
}

static enum status measure(struct stream_case *c, struct error *err)
{
	struct workload w = workload_of(c);
	const struct series *time;
	double error;

	if (choose_variant(c, err) != STATUS_OK || forget(c, err) != STATUS_OK ||
	    launch(c, 1, err) != STATUS_OK)
		return err->status;
	if (check(c, &error, err) != STATUS_OK)
		return error_prefix(err, "before timing");
	if (forget(c, err) != STATUS_OK ||
	    run_sample(c->run, &w, "stream.time", &time, err) != STATUS_OK)
		return err->status;
	derive(c, time);
	if (check(c, &error, err) != STATUS_OK)
		return error_prefix(err, "after timing");
	if (c->arguments.operation == STREAM_DOT)
		run_verified(c->run, "against the exact sum, before and after timing", error,
			     stream_dot_tolerance(elements(c)));
	else
		run_verified(
			c->run,
			c->out.memory
				? "every element against the generator, before and after timing"
				: "against the generator's sum, before and after timing",
			NAN, NAN);
	return STATUS_OK;
}

static enum status stream_run(struct run *run, struct error *err)
{
	struct stream_case c;

	case_init(&c, run);
	if (case_open(&c, err) == STATUS_OK && forget(&c, err) == STATUS_OK &&
	    measure(&c, err) == STATUS_OK)
		note_cache(&c);
	case_close(&c);
	return err->status;
}

const struct suite suite_stream = {
	.name = "stream",
	.summary = "reading and writing device memory: copy, mul, add, triad, dot and more",
	.keys = keys,
	.axes = axes,
	.metrics = metrics,
	.processes = SUITE_ONE_PROCESS,
	.expand = stream_expand,
	.run = stream_run,
};
