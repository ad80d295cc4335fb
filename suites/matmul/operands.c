#include "suites/matmul/matmul.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "device/autotune.h"
#include "suites/shared/buffers.h"

/* Maximum number of rotated sets. */
#define MOST_SETS 64
/* Operands start where every kernel may use its widest loads. */
#define ALIGNMENT 256
/* Units of B begin at a multiple of this: cuBLASLt refuses addresses that are not aligned. */
#define UNIT_STRIDE (ALIGNMENT / sizeof(float))
/* Host memory for results to check, if it has room for more than one. */
#define COPY_BYTES ((size_t)4 << 20)

static const enum fill_kind fills[] = {
	[PRECISION_FP64] = FILL_FP64, [PRECISION_FP32] = FILL_FP32,
	[PRECISION_TF32] = FILL_FP32, [PRECISION_FP16] = FILL_FP16,
	[PRECISION_BF16] = FILL_BF16, [PRECISION_FP16_ACC16] = FILL_FP16,
	[PRECISION_FP8] = FILL_FP8,   [PRECISION_INT8] = FILL_FIXED8,
	[PRECISION_E5M2] = FILL_E5M2,
};

void matmul_operands_counts(const int64_t shape[3], uint64_t counts[OPERANDS])
{
	uint64_t m = (uint64_t)shape[0], n = (uint64_t)shape[1], k = (uint64_t)shape[2];

	counts[OPERAND_A] = m * k;
	counts[OPERAND_B] = k * n;
	counts[OPERAND_C] = m * n;
}

size_t matmul_operands_bytes(enum precision precision, int which)
{
	return which == OPERAND_C ? precision_result_bytes(precision) : precision_bytes(precision);
}

static uint64_t matmul_operands_stride(uint64_t count, size_t bytes)
{
	return (count * bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

uint64_t matmul_operands_set_bytes(const int64_t shape[3], enum precision precision, int64_t batch)
{
	uint64_t counts[OPERANDS], bytes = 0;

	matmul_operands_counts(shape, counts);
	for (int i = 0; i < OPERANDS; i++)
		bytes += matmul_operands_stride(counts[i], matmul_operands_bytes(precision, i));
	return bytes * (uint64_t)batch;
}

size_t matmul_operands_set_count(const int64_t shape[3], enum precision precision, int64_t batch,
				 const struct device_info *info)
{
	return buffer_rotation(matmul_operands_set_bytes(shape, precision, batch),
			       buffer_cache_bytes(info), MOST_SETS);
}

uint64_t matmul_operands_copy_bytes(const int64_t shape[3], enum precision precision)
{
	uint64_t counts[OPERANDS], one;

	matmul_operands_counts(shape, counts);
	one = matmul_operands_stride(counts[OPERAND_C],
				     matmul_operands_bytes(precision, OPERAND_C));
	return one > COPY_BYTES ? one : COPY_BYTES;
}

/* GEMMs of all sets. */
static size_t matmul_operands_products_of(const struct operands *o)
{
	return o->sets * (size_t)o->batch;
}

/* Results per copy: every wait for the device takes as long as checking a small one. */
static size_t matmul_operands_results_of_copy(const struct operands *o)
{
	size_t fit = COPY_BYTES / o->strides[OPERAND_C];

	return fit < 1                                ? 1
	       : fit < matmul_operands_products_of(o) ? fit
						      : matmul_operands_products_of(o);
}

static void *matmul_operands_matrix(const struct operands *o, int which, size_t product)
{
	return (char *)o->matrices[which].memory + product * o->strides[which];
}

/* Units of A and then of B, whose first one is aligned. */
static enum status matmul_operands_upload_units(struct operands *o, struct error *err)
{
	const struct matmul_problem *p = &o->problem;
	size_t count = gemm_reference_unit_count(p, p->seed_a);
	float *units;

	o->unit_b = (count + UNIT_STRIDE - 1) / UNIT_STRIDE * UNIT_STRIDE;
	count = o->unit_b + gemm_reference_unit_count(p, p->seed_b);
	units = xcalloc(count, sizeof(*units));
	gemm_reference_units(p, p->seed_a, units);
	gemm_reference_units(p, p->seed_b, units + o->unit_b);
	if (buffer_alloc(&o->units, o->stream->device, ALLOCATOR_DEVICE, count * sizeof(*units),
			 err) == STATUS_OK &&
	    backend_copy(o->stream, o->units.memory, units, count * sizeof(*units), err) ==
		    STATUS_OK)
		backend_stream_synchronize(o->stream, err);
	free(units);
	return err->status;
}

static enum status matmul_operands_fill(struct operands *o, struct error *err)
{
	const struct matmul_problem *p = &o->problem;

	for (int which = OPERAND_A; which <= OPERAND_B; which++) {
		uint64_t seed = which == OPERAND_A ? p->seed_a : p->seed_b;
		struct matmul_storage s = gemm_reference_storage_of(p, seed);

		for (size_t product = 0; product < matmul_operands_products_of(o); product++) {
			struct fill_arguments fill = { .memory = matmul_operands_matrix(o, which,
											product),
						       .kind = fills[s.format],
						       .count = o->counts[which],
						       .seed = seed,
						       .scale = s.fill };

			if (backend_launch(o->stream, "fill", &fill, err) != STATUS_OK)
				return err->status;
		}
	}
	if (gemm_reference_has_units(p) && matmul_operands_upload_units(o, err) != STATUS_OK)
		return err->status;
	return backend_stream_synchronize(o->stream, err);
}

static enum status matmul_operands_poison_results(struct operands *o, struct error *err)
{
	o->operations = 0;
	return buffer_poison(&o->matrices[OPERAND_C], o->stream, err);
}

enum status matmul_operands_open(struct operands *o, struct device *device,
				 const struct matmul_problem *problem, int64_t batch,
				 enum implementation implementation, struct error *err)
{
	const int64_t shape[3] = { problem->m, problem->n, problem->k };

	memset(o, 0, sizeof(*o));
	o->problem = *problem;
	o->implementation = implementation;
	o->batch = batch;
	o->sets = matmul_operands_set_count(shape, problem->precision, batch, &device->info);
	matmul_operands_counts(shape, o->counts);
	for (int i = 0; i < OPERANDS; i++)
		o->strides[i] =
			matmul_operands_stride(o->counts[i],
					       matmul_operands_bytes(problem->precision, i));
	if (backend_stream_create(device, false, &o->stream, err) != STATUS_OK ||
	    buffer_alloc(&o->copy, device, ALLOCATOR_PAGEABLE,
			 matmul_operands_results_of_copy(o) * o->strides[OPERAND_C],
			 err) != STATUS_OK)
		return err->status;
	for (int i = 0; i < OPERANDS; i++)
		if (buffer_alloc(&o->matrices[i], device, ALLOCATOR_DEVICE,
				 matmul_operands_products_of(o) * o->strides[i], err) != STATUS_OK)
			return err->status;
	return matmul_operands_fill(o, err) != STATUS_OK ? err->status
							 : matmul_operands_poison_results(o, err);
}

void matmul_operands_close(struct operands *o)
{
	if (o->stream)
		backend_stream_synchronize(o->stream, NULL);
	buffer_free(&o->copy);
	buffer_free(&o->units);
	for (int i = 0; i < OPERANDS; i++)
		buffer_free(&o->matrices[i]);
	backend_stream_destroy(o->stream);
	memset(o, 0, sizeof(*o));
}

static int64_t matmul_operands_stride_elements(const struct operands *o, int which)
{
	return (int64_t)(o->strides[which] / matmul_operands_bytes(o->problem.precision, which));
}

static struct gemm matmul_operands_gemm_of(const struct operands *o, size_t set)
{
	const struct matmul_problem *p = &o->problem;
	size_t first = set * (size_t)o->batch;
	const float *units = o->units.memory;

	return (struct gemm){ .precision = p->precision,
			      .fp8 = p->fp8,
			      .scale_a = units,
			      .scale_b = units ? units + o->unit_b : NULL,
			      .transpose_a = p->transpose_a,
			      .transpose_b = p->transpose_b,
			      .m = p->m,
			      .n = p->n,
			      .k = p->k,
			      .lda = p->transpose_a ? p->k : p->m,
			      .ldb = p->transpose_b ? p->n : p->k,
			      .ldc = p->m,
			      .a = matmul_operands_matrix(o, OPERAND_A, first),
			      .b = matmul_operands_matrix(o, OPERAND_B, first),
			      .c = matmul_operands_matrix(o, OPERAND_C, first),
			      .alpha = 1,
			      .beta = 0,
			      .batch = o->batch,
			      .stride_a = matmul_operands_stride_elements(o, OPERAND_A),
			      .stride_b = matmul_operands_stride_elements(o, OPERAND_B),
			      .stride_c = matmul_operands_stride_elements(o, OPERAND_C),
			      .searched = o->implementation == IMPLEMENTATION_LT };
}

enum status matmul_operands_search(struct operands *o, double seconds, struct gemm_choice *out,
				   struct error *err)
{
	const struct autotune_rules rules = { .seconds = seconds };
	struct gemm gemm = matmul_operands_gemm_of(o, 0);

	if (backend_gemm_search(o->stream, &gemm, &rules, out, err) != STATUS_OK)
		return err->status;
	return matmul_operands_poison_results(o, err);
}

enum status matmul_operands_multiply(void *operands, unsigned count, struct error *err)
{
	static const char *const kernels[] = {
		[IMPLEMENTATION_SIMT] = "gemm_simt",
		[IMPLEMENTATION_HALF2] = "gemm_half2",
		[IMPLEMENTATION_TENSOR] = "gemm_tensor",
	};
	struct operands *o = operands;
	enum status status = STATUS_OK;

	for (unsigned i = 0; i < count && status == STATUS_OK; i++) {
		struct gemm gemm = matmul_operands_gemm_of(o, o->operations++ % o->sets);

		status =
			o->implementation < IMPLEMENTATION_SIMT
				? backend_gemm(o->stream, &gemm, err)
				: backend_launch(o->stream, kernels[o->implementation], &gemm, err);
	}
	return status;
}

static enum status matmul_operands_check_products(struct operands *o, size_t first, size_t count,
						  struct error *err)
{
	const char *results = o->copy.memory;
	uint64_t stride = o->strides[OPERAND_C];
	size_t last = o->counts[OPERAND_C] * matmul_operands_bytes(o->problem.precision, OPERAND_C);

	if (backend_copy(o->stream, o->copy.memory, matmul_operands_matrix(o, OPERAND_C, first),
			 (count - 1) * stride + last, err) != STATUS_OK ||
	    backend_stream_synchronize(o->stream, err) != STATUS_OK)
		return err->status;
	for (size_t i = 0; i < count; i++) {
		size_t set = (first + i) / (size_t)o->batch,
		       product = (first + i) % (size_t)o->batch;
		struct matmul_error error;

		if (matmul_reference_check(o->reference, results + i * stride, &error, err) !=
		    STATUS_OK)
			return o->batch == 1 ? error_prefix(err, "operand set %zu", set)
					     : error_prefix(err, "operand set %zu, GEMM %zu", set,
							    product);
		o->error.stored = fmax(o->error.stored, error.stored);
		o->error.total = fmax(o->error.total, error.total);
		o->error.nonfinite = fmax(o->error.nonfinite, error.nonfinite);
	}
	return STATUS_OK;
}

enum status matmul_operands_check(struct operands *o, struct error *err)
{
	size_t done = (o->operations < o->sets ? o->operations : o->sets) * (size_t)o->batch;
	size_t at_once = matmul_operands_results_of_copy(o);

	for (size_t first = 0; first < done; first += at_once)
		if (matmul_operands_check_products(o, first,
						   done - first < at_once ? done - first : at_once,
						   err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

enum status matmul_operands_verify(struct operands *o, struct error *err)
{
	static struct matmul_reference latest;
	const struct matmul_problem *a = &latest.problem, *b = &o->problem;

	if (matmul_operands_multiply(o, (unsigned)o->sets, err) != STATUS_OK)
		return err->status;
	/* The device computes while the reference is computed. */
	if (!latest.sums || a->precision != b->precision ||
	    memcmp(&a->fp8, &b->fp8, sizeof(a->fp8)) != 0 || a->m != b->m || a->n != b->n ||
	    a->k != b->k || a->transpose_a != b->transpose_a || a->transpose_b != b->transpose_b ||
	    a->scale != b->scale || a->seed_a != b->seed_a || a->seed_b != b->seed_b) {
		gemm_reference_release(&latest);
		gemm_reference_init(&latest, b);
	}
	o->reference = &latest;
	return matmul_operands_check(o, err) != STATUS_OK ? err->status
							  : matmul_operands_poison_results(o, err);
}
