#include "suites/matmul/operands.h"

#include <math.h>
#include <string.h>

/* Sets that are rotated at most. */
#define MOST_SETS 64
/* Operands start where every kernel may use its widest loads. */
#define ALIGNMENT 256

static const enum fill_kind fills[PRECISION_COUNT] = {
	[PRECISION_FP64] = FILL_FP64, [PRECISION_FP32] = FILL_FP32, [PRECISION_TF32] = FILL_FP32,
	[PRECISION_FP16] = FILL_FP16, [PRECISION_BF16] = FILL_BF16,
};

void operands_counts(const int64_t shape[3], uint64_t counts[OPERANDS])
{
	uint64_t m = (uint64_t)shape[0], n = (uint64_t)shape[1], k = (uint64_t)shape[2];

	counts[OPERAND_A] = m * k;
	counts[OPERAND_B] = k * n;
	counts[OPERAND_C] = m * n;
}

static uint64_t stride_of(uint64_t count, enum precision precision)
{
	return (count * precision_bytes(precision) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

uint64_t operands_set_bytes(const int64_t shape[3], enum precision precision)
{
	uint64_t counts[OPERANDS], bytes = 0;

	operands_counts(shape, counts);
	for (int i = 0; i < OPERANDS; i++)
		bytes += stride_of(counts[i], precision);
	return bytes;
}

size_t operands_set_count(const int64_t shape[3], enum precision precision,
			  const struct device_info *info)
{
	return buffer_rotation(operands_set_bytes(shape, precision), info->l2_bytes, MOST_SETS);
}

static void *matrix(const struct operands *o, int which, size_t set)
{
	return (char *)o->matrices[which].memory + set * o->strides[which];
}

static enum status fill_operands(struct operands *o, struct error *err)
{
	for (size_t set = 0; set < o->sets; set++) {
		for (int which = OPERAND_A; which <= OPERAND_B; which++) {
			struct fill_arguments fill = { .memory = matrix(o, which, set),
						       .kind = fills[o->precision],
						       .count = o->counts[which],
						       .seed = o->seed + (uint64_t)which,
						       .scale = 1 };

			if (backend_launch(o->stream, "fill", &fill, err) != STATUS_OK)
				return err->status;
		}
	}
	return backend_stream_synchronize(o->stream, err);
}

static enum status poison_results(struct operands *o, struct error *err)
{
	o->products = 0;
	return buffer_poison(&o->matrices[OPERAND_C], o->stream, err);
}

enum status operands_open(struct operands *o, struct device *device, enum precision precision,
			  const int64_t shape[3], uint64_t seed, struct error *err)
{
	memset(o, 0, sizeof(*o));
	o->precision = precision;
	o->seed = seed;
	memcpy(o->shape, shape, sizeof(o->shape));
	o->sets = operands_set_count(shape, precision, &device->info);
	operands_counts(shape, o->counts);
	for (int i = 0; i < OPERANDS; i++)
		o->strides[i] = stride_of(o->counts[i], precision);
	if (backend_stream_create(device, false, &o->stream, err) != STATUS_OK ||
	    buffer_alloc(&o->copy, device, ALLOCATOR_PAGEABLE, o->strides[OPERAND_C], err) !=
		    STATUS_OK)
		return err->status;
	for (int i = 0; i < OPERANDS; i++)
		if (buffer_alloc(&o->matrices[i], device, ALLOCATOR_DEVICE, o->sets * o->strides[i],
				 err) != STATUS_OK)
			return err->status;
	return fill_operands(o, err) != STATUS_OK ? err->status : poison_results(o, err);
}

void operands_close(struct operands *o)
{
	if (o->stream)
		backend_stream_synchronize(o->stream, NULL);
	matmul_reference_release(&o->reference);
	buffer_free(&o->copy);
	for (int i = 0; i < OPERANDS; i++)
		buffer_free(&o->matrices[i]);
	backend_stream_destroy(o->stream);
	memset(o, 0, sizeof(*o));
}

static enum status multiply(struct operands *o, size_t set, struct error *err)
{
	const int64_t *shape = o->shape;
	struct gemm gemm = { .precision = o->precision,
			     .m = shape[0],
			     .n = shape[1],
			     .k = shape[2],
			     .lda = shape[0],
			     .ldb = shape[2],
			     .ldc = shape[0],
			     .a = matrix(o, OPERAND_A, set),
			     .b = matrix(o, OPERAND_B, set),
			     .c = matrix(o, OPERAND_C, set),
			     .alpha = 1,
			     .beta = 0 };

	return backend_gemm(o->stream, &gemm, err);
}

enum status operands_multiply(struct operands *o, uint64_t count, struct error *err)
{
	enum status status = STATUS_OK;

	for (uint64_t i = 0; i < count && status == STATUS_OK; i++)
		status = multiply(o, o->products++ % o->sets, err);
	return status;
}

enum status operands_check(struct operands *o, struct error *err)
{
	size_t bytes = o->counts[OPERAND_C] * precision_bytes(o->precision);
	size_t done = o->products < o->sets ? o->products : o->sets;

	for (size_t set = 0; set < done; set++) {
		struct matmul_error error;

		if (backend_copy(o->stream, o->copy.memory, matrix(o, OPERAND_C, set), bytes,
				 err) != STATUS_OK ||
		    backend_stream_synchronize(o->stream, err) != STATUS_OK)
			return err->status;
		if (matmul_reference_check(&o->reference, o->copy.memory, &error, err) != STATUS_OK)
			return error_prefix(err, "operand set %zu", set);
		o->error.stored = fmax(o->error.stored, error.stored);
		o->error.total = fmax(o->error.total, error.total);
	}
	return STATUS_OK;
}

enum status operands_verify(struct operands *o, struct error *err)
{
	if (operands_multiply(o, o->sets, err) != STATUS_OK)
		return err->status;
	/* The device computes while the reference does. */
	matmul_reference_init(&o->reference, o->precision, o->shape, o->seed + OPERAND_A,
			      o->seed + OPERAND_B);
	return operands_check(o, err) != STATUS_OK ? err->status : poison_results(o, err);
}
