/*
 * Matrix products C = A B in each precision. All matrices are column-major and not transposed; A is m x k, B k x n.
 * Operands are uniform in [-1, 1) (never zeros: some GPUs clock higher on them).
 *
 * What a product costs in memory is told three ways: the operands, the library's workspace, and what the device has
 * less than before.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "measure/run.h"
#include "suites/buffers.h"
#include "suites/matmul_check.h"
#include "suites/suite.h"

/* Sets of operands that are rotated at most; what fits the cache beyond that is noted. */
#define MOST_SETS 64
/* Operands start where every kernel may use its widest loads. */
#define ALIGNMENT 256
/* Room for the library's workspace in the plan. */
#define LIBRARY_BYTES (UINT64_C(64) << 20)
/* FLOP/s of one multiprocessor or core that even a slow one reaches: for time limits only. */
#define SLOW_UNIT_RATE 10e9

static const char *const precisions[] = { "fp64", "fp32", "tf32", "fp16", "bf16", NULL };

static const struct key keys[] = {
	{ .name = "precisions", .type = KEY_CHOICE, .list = true, .fallback = "fp32, fp16, tf32, bf16",
	  .choices = precisions, .parameter = "precision",
	  .help = "how operands and result are stored; tf32: FP32 storage; fp16, bf16: FP32 accumulation" },
	{ .name = "sizes", .type = KEY_SHAPE, .list = true, .fallback = "256, 1024, 4096, 4096x256x1024", .min = 1,
	  .max = 1 << 20, .parameter = "size", .help = "N for N x N x N, or MxNxK: C is M x N, K is summed over" },
	{ 0 }
};

static const char *const axes[] = { "precisions", "sizes", NULL };

static const struct metric metrics[] = {
	{ "matmul.throughput", "FLOP/s", BETTER_HIGHER, 1, "2 m n k operations over the time of one product" },
	{ "matmul.time", "s", BETTER_LOWER, 0, "one product" },
	{ "matmul.memory", "B", BETTER_LOWER, 0, "A, B and C as stored" },
	{ "matmul.workspace", "B", BETTER_LOWER, 0, "scratch memory that the library works in" },
	{ "matmul.device_memory", "B", BETTER_LOWER, 0,
	  "what the device has less than before: all sets of operands, workspace, kernels loaded for this product" },
	{ "matmul.error", "1", BETTER_LOWER, 0,
	  "relative Frobenius norm of the error against a double-precision product of the operands as stored" },
	{ "matmul.error_total", "1", BETTER_LOWER, 0,
	  "the same against the operands before they were rounded from FP32: what a lower precision costs in all" },
	{ 0 }
};

static const struct {
	unsigned capability;
	enum fill_kind fill;
} traits[PRECISION_COUNT] = {
	[PRECISION_FP64] = { DEVICE_HAS_FP64, FILL_FP64 }, [PRECISION_FP32] = { DEVICE_HAS_FP32, FILL_FP32 },
	[PRECISION_TF32] = { DEVICE_HAS_TF32, FILL_FP32 }, [PRECISION_FP16] = { DEVICE_HAS_FP16, FILL_FP16 },
	[PRECISION_BF16] = { DEVICE_HAS_BF16, FILL_BF16 },
};

/* The three matrices of one product. */
enum { A, B, C, MATRICES };

static void element_counts(const int64_t shape[3], uint64_t counts[MATRICES])
{
	uint64_t m = (uint64_t)shape[0], n = (uint64_t)shape[1], k = (uint64_t)shape[2];

	counts[A] = m * k;
	counts[B] = k * n;
	counts[C] = m * n;
}

static uint64_t matrix_stride(uint64_t count, enum precision precision)
{
	return (count * precision_bytes(precision) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static uint64_t set_bytes(const int64_t shape[3], enum precision precision)
{
	uint64_t counts[MATRICES], bytes = 0;

	element_counts(shape, counts);
	for (int i = 0; i < MATRICES; i++)
		bytes += matrix_stride(counts[i], precision);
	return bytes;
}

static size_t set_count(const int64_t shape[3], enum precision precision, const struct device_info *info)
{
	return buffer_rotation(set_bytes(shape, precision), info->l2_bytes, MOST_SETS);
}

static double operations(const int64_t shape[3])
{
	return 2.0 * (double)shape[0] * (double)shape[1] * (double)shape[2];
}

/* The reference reads each element of the three matrices a few times on one core. */
static void estimate(struct plan_case *point, enum precision precision, const struct device_info *info)
{
	const int64_t *shape = case_value(point, "sizes")->shape;
	size_t sets = set_count(shape, precision, info);
	uint64_t counts[MATRICES];
	double units = info->multiprocessors > 0 ? info->multiprocessors : 1;
	double products = (double)section_integer(point->section, "min_samples") +
			  (double)section_integer(point->section, "warmup") + 2 * (double)sets + 4;

	element_counts(shape, counts);
	point->device_bytes = sets * set_bytes(shape, precision) + LIBRARY_BYTES;
	point->host_bytes = matrix_stride(counts[C], precision);
	point->setup_seconds = 0.1 + products * operations(shape) / (units * SLOW_UNIT_RATE) +
			       20e-9 * (double)(counts[A] + counts[B] + 2 * sets * counts[C]);
}

static enum status matmul_expand(struct plan *plan, struct plan_case *point, struct error *err)
{
	enum precision precision = PRECISION_FP32;
	char reason[128];

	precision_from_name(case_text(point, "precisions"), &precision);
	for (size_t i = 0; i < plan->device_count; i++) {
		const struct device_info *info = &plan->devices[i];
		enum status status;

		estimate(point, precision, info);
		snprintf(reason, sizeof(reason), "%s has no %s matrix multiplication", info->id,
			 precision_name(precision));
		status = info->capabilities & traits[precision].capability ?
			 plan_add(plan, point, &i, 1, err) : plan_add_skipped(plan, point, &i, 1, reason, err);
		if (status != STATUS_OK)
			return status;
	}
	return STATUS_OK;
}

struct matmul {
	struct run *run;
	struct device *device;
	struct stream *stream;
	enum precision precision;
	int64_t shape[3];
	uint64_t counts[MATRICES], strides[MATRICES];
	size_t sets;
	struct buffer matrices[MATRICES]; /* `sets` of each, one behind the other */
	struct buffer copy;     /* one C in host memory */
	uint64_t products;      /* since C was last poisoned; product n uses set n modulo `sets` */
	struct matmul_reference reference;
	struct matmul_error error; /* the largest of all checks */
};

static void *matrix(const struct matmul *x, int which, size_t set)
{
	return (char *)x->matrices[which].memory + set * x->strides[which];
}

static enum status multiply(struct matmul *x, struct error *err)
{
	size_t set = x->products++ % x->sets;
	struct gemm gemm = { .precision = x->precision, .m = x->shape[0], .n = x->shape[1], .k = x->shape[2],
			     .lda = x->shape[0], .ldb = x->shape[2], .ldc = x->shape[0],
			     .a = matrix(x, A, set), .b = matrix(x, B, set), .c = matrix(x, C, set),
			     .alpha = 1, .beta = 0 };

	return backend_gemm(x->stream, &gemm, err);
}

static enum status launch_multiply(void *state, unsigned batch, struct error *err)
{
	enum status status = STATUS_OK;

	for (unsigned i = 0; i < batch && status == STATUS_OK; i++)
		status = multiply(state, err);
	return status;
}

static enum status poison_result(struct matmul *x, struct error *err)
{
	x->products = 0;
	return buffer_poison(&x->matrices[C], x->stream, err);
}

/* Every set holds the same operands, so one reference serves all. */
static enum status fill_operands(struct matmul *x, struct error *err)
{
	for (size_t set = 0; set < x->sets; set++) {
		for (int which = A; which <= B; which++) {
			struct fill_arguments fill = { .memory = matrix(x, which, set),
						       .kind = traits[x->precision].fill,
						       .count = x->counts[which],
						       .seed = x->run->seed + (uint64_t)which, .scale = 1 };

			if (backend_launch(x->stream, "fill", &fill, err) != STATUS_OK)
				return err->status;
		}
	}
	return backend_stream_synchronize(x->stream, err);
}

static enum status open_operands(struct matmul *x, struct error *err)
{
	if (backend_stream_create(x->device, false, &x->stream, err) != STATUS_OK)
		return err->status;
	for (int i = 0; i < MATRICES; i++)
		if (buffer_alloc(&x->matrices[i], x->device, ALLOCATOR_DEVICE, x->sets * x->strides[i], err) !=
		    STATUS_OK)
			return err->status;
	if (buffer_alloc(&x->copy, x->device, ALLOCATOR_PAGEABLE, x->strides[C], err) != STATUS_OK ||
	    fill_operands(x, err) != STATUS_OK)
		return err->status;
	return poison_result(x, err);
}

/* Every result computed since C was poisoned. */
static enum status check_results(struct matmul *x, const char *when, struct error *err)
{
	size_t done = x->products < x->sets ? x->products : x->sets;

	for (size_t set = 0; set < done; set++) {
		struct matmul_error error;

		if (backend_copy(x->stream, x->copy.memory, matrix(x, C, set),
				 x->counts[C] * precision_bytes(x->precision), err) != STATUS_OK ||
		    backend_stream_synchronize(x->stream, err) != STATUS_OK)
			return err->status;
		if (matmul_reference_check(&x->reference, x->copy.memory, &error, err) != STATUS_OK)
			return error_prefix(err, "%s timing, operand set %zu", when, set);
		x->error.stored = fmax(x->error.stored, error.stored);
		x->error.total = fmax(x->error.total, error.total);
	}
	return STATUS_OK;
}

static enum status verify_once(struct matmul *x, struct error *err)
{
	for (size_t set = 0; set < x->sets; set++)
		if (multiply(x, err) != STATUS_OK)
			return err->status;
	matmul_reference_init(&x->reference, x->precision, x->shape, x->run->seed, x->run->seed + B);
	if (check_results(x, "before", err) != STATUS_OK)
		return err->status;
	return poison_result(x, err);
}

static void record_memory(struct matmul *x, uint64_t free_before)
{
	const struct backend *backend = x->device->backend;
	struct error unknown = ERROR_NONE;
	uint64_t free_after, total, bytes = 0;

	for (int i = 0; i < MATRICES; i++)
		bytes += x->counts[i] * precision_bytes(x->precision);
	run_value(x->run, "matmul.memory", (double)bytes);
	run_value(x->run, "matmul.workspace",
		  backend->gemm_workspace ? (double)backend->gemm_workspace(x->device) : 0);
	if (free_before > 0 && backend_device_memory(x->device, &free_after, &total, &unknown) == STATUS_OK)
		run_value(x->run, "matmul.device_memory", (double)free_before - (double)free_after);
}

static enum status measure(struct matmul *x, struct error *err)
{
	struct workload w = { .state = x, .launch = launch_multiply, .clock = CLOCK_DEVICE, .streams = &x->stream,
			      .stream_count = 1, .commands = 2 }; /* the product and the sum of its parts */
	const struct series *time;

	if (run_sample(x->run, &w, "matmul.time", &time, err) != STATUS_OK)
		return err->status;
	run_rate(x->run, "matmul.throughput", operations(x->shape), time);
	run_duration(x->run, "matmul.time", time);
	return check_results(x, "after", err);
}

static void record_error(struct matmul *x)
{
	run_value(x->run, "matmul.error", x->error.stored);
	run_value(x->run, "matmul.error_total", x->error.total);
	run_verified(x->run, x->reference.width == 1 ?
		     "every element against a double-precision product, before and after timing" :
		     "eight signed sums of every row against a double-precision product, before and after timing",
		     x->error.stored, x->reference.tolerance);
}

static void note_cache(struct matmul *x)
{
	uint64_t cache = x->device->info.l2_bytes;
	char size[32];

	if (x->sets > 1)
		run_note(x->run, "Rotates over %zu sets of operands, because one would stay in the %s cache.", x->sets,
			 units_size(cache, size, sizeof(size)));
	if (x->sets * set_bytes(x->shape, x->precision) < cache)
		run_note(x->run, "All sets together still fit in it.");
}

static void matmul_init(struct matmul *x, struct run *run)
{
	*x = (struct matmul){ .run = run, .device = run->devices[0] };
	precision_from_name(case_text(run->c, "precisions"), &x->precision);
	memcpy(x->shape, case_value(run->c, "sizes")->shape, sizeof(x->shape));
	element_counts(x->shape, x->counts);
	for (int i = 0; i < MATRICES; i++)
		x->strides[i] = matrix_stride(x->counts[i], x->precision);
	x->sets = set_count(x->shape, x->precision, &x->device->info);
}

static void matmul_close(struct matmul *x)
{
	if (x->stream)
		backend_stream_synchronize(x->stream, NULL);
	matmul_reference_release(&x->reference);
	buffer_free(&x->copy);
	for (int i = 0; i < MATRICES; i++)
		buffer_free(&x->matrices[i]);
	backend_stream_destroy(x->stream);
}

/*
 * A first product in a stream of its own, so that what the library keeps for good is not counted to the case that
 * happens to be the first.
 */
static enum status load_library(struct matmul *x, struct error *err)
{
	const int64_t n = 16;
	struct stream *stream = NULL;
	struct buffer all = { .memory = NULL };
	size_t bytes = (size_t)(n * n) * precision_bytes(x->precision);
	struct gemm gemm = { .precision = x->precision, .m = n, .n = n, .k = n, .lda = n, .ldb = n, .ldc = n,
			     .alpha = 1 };
	enum status status = backend_stream_create(x->device, false, &stream, err);

	if (status == STATUS_OK)
		status = buffer_alloc(&all, x->device, ALLOCATOR_DEVICE, MATRICES * bytes, err);
	if (status == STATUS_OK)
		status = buffer_fill(&all, stream, x->run->seed, err);
	if (status == STATUS_OK) {
		gemm.a = all.memory;
		gemm.b = (char *)all.memory + bytes;
		gemm.c = (char *)all.memory + 2 * bytes;
		status = backend_gemm(stream, &gemm, err);
	}
	if (status == STATUS_OK)
		status = backend_stream_synchronize(stream, err);
	if (status != STATUS_OK && stream)
		backend_stream_synchronize(stream, NULL);
	buffer_free(&all);
	backend_stream_destroy(stream);
	return status;
}

static enum status matmul_run(struct run *run, struct error *err)
{
	struct error unknown = ERROR_NONE;
	uint64_t free_before = 0, total;
	struct matmul x;

	matmul_init(&x, run);
	if (load_library(&x, err) != STATUS_OK)
		goto out;
	backend_device_memory(x.device, &free_before, &total, &unknown);
	if (open_operands(&x, err) != STATUS_OK || verify_once(&x, err) != STATUS_OK)
		goto out;
	note_cache(&x);
	record_memory(&x, free_before);
	if (measure(&x, err) == STATUS_OK)
		record_error(&x);
out:
	matmul_close(&x);
	return err->status;
}

const struct suite suite_matmul = {
	.name = "matmul",
	.summary = "matrix products: throughput, memory and error of each precision",
	.keys = keys,
	.axes = axes,
	.metrics = metrics,
	.processes = SUITE_ONE_PROCESS,
	.expand = matmul_expand,
	.run = matmul_run,
};
