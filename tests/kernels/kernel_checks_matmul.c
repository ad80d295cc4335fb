/*
 * Products as the matmul suite makes them: narrow formats, batches and searched algorithms, by its
 * own reference.
 */
#include "base/memory.h"
#include "kernel_checks.h"
#include "suites/matmul/matmul.h"

struct variant {
	enum precision precision;
	enum implementation implementation;
	int64_t m, n, k, batch;
	int transposed; /* bit 0: A, bit 1: B */
	struct gemm_fp8 fp8;
	double scale; /* 0: 1 */
};

static enum status check_variant(struct device *device, const struct variant *v, struct error *err)
{
	struct matmul_problem problem = { .precision = v->precision,
					  .m = v->m,
					  .n = v->n,
					  .k = v->k,
					  .transpose_a = v->transposed & 1,
					  .transpose_b = v->transposed & 2,
					  .scale = v->scale == 0 ? 1 : v->scale,
					  .fp8 = v->fp8,
					  .seed_a = 1,
					  .seed_b = 2 };
	struct gemm_choice choice;
	struct operands o;

	if (matmul_operands_open(&o, device, &problem, v->batch, v->implementation, err) ==
		    STATUS_OK &&
	    (v->implementation != IMPLEMENTATION_LT ||
	     matmul_operands_search(&o, 0.01, &choice, err) == STATUS_OK))
		matmul_operands_verify(&o, err);
	matmul_operands_close(&o);
	if (err->status != STATUS_OK && err->status != STATUS_UNSUPPORTED)
		error_prefix(err, "%s, %d x %d x %d, transposed %d, batch %d",
			     precision_name(v->precision), (int)v->m, (int)v->n, (int)v->k,
			     v->transposed, (int)v->batch);
	return err->status;
}

/*
 * In every precision of [first, end) and transposition; what the device lacks is passed over, but
 * not all.
 */
static enum status check_all(struct device *device, struct variant v, int first, int end,
			     struct error *err)
{
	struct error lacking = ERROR_NONE;
	int done = 0;

	for (int i = 4 * first; i < 4 * end; i++) {
		v.precision = (enum precision)(i / 4);
		v.transposed = i % 4;
		if (check_variant(device, &v, err) == STATUS_UNSUPPORTED) {
			lacking = *err;
			error_clear(err);
		} else if (err->status != STATUS_OK) {
			return err->status;
		} else {
			done++;
		}
	}
	return done ? STATUS_OK : error_set(err, lacking.status, "%s", lacking.message);
}

enum status check_gemm_batch(struct device *device, struct error *err)
{
	const struct variant v = {
		.implementation = IMPLEMENTATION_BLAS, .m = 33, .n = 20, .k = 50, .batch = 3
	};

	return check_all(device, v, 0, PRECISION_COUNT, err);
}

enum status check_gemm_narrow(struct device *device, struct error *err)
{
	const struct variant v = {
		.implementation = IMPLEMENTATION_BLAS, .m = 128, .n = 64, .k = 256, .batch = 1
	};

	return check_all(device, v, PRECISION_COUNT, PRECISION_GEMM_COUNT, err);
}

enum status check_gemm_search(struct device *device, struct error *err)
{
	const struct variant v = {
		.implementation = IMPLEMENTATION_LT, .m = 256, .n = 128, .k = 512, .batch = 2
	};

	if (!device->backend->gemm_search)
		return error_set(err, STATUS_UNSUPPORTED, "nothing to choose from");
	return check_all(device, v, 0, PRECISION_GEMM_COUNT, err);
}

/*
 * Both formats of FP8, with both kinds of sums and with a scale per tensor; then scales per row and
 * block, at sizes that end within blocks and within four groups.
 */
enum status check_gemm_fp8(struct device *device, struct error *err)
{
	static const struct gemm_fp8 kinds[] = {
		{ 0 },
		{ .e5m2_a = true },
		{ .e5m2_b = true },
		{ .fast = true },
		{ .e5m2_a = true, .fast = true },
		{ .e5m2_b = true, .fast = true },
		{ .scaling_a = FP8_SCALE_OUTER, .scaling_b = FP8_SCALE_OUTER },
		{ .scaling_a = FP8_SCALE_GROUPS, .scaling_b = FP8_SCALE_GROUPS },
		{ .scaling_a = FP8_SCALE_GROUPS, .scaling_b = FP8_SCALE_BLOCKS },
		{ .scaling_a = FP8_SCALE_BLOCKS, .scaling_b = FP8_SCALE_GROUPS },
	};

	if (!device->backend->gemm_search)
		return error_set(err, STATUS_UNSUPPORTED, "nothing to choose from");
	for (size_t i = 0; i < 2 * ARRAY_SIZE(kinds); i++) {
		bool scaled = kinds[i / 2].scaling_a;
		struct variant v = { .precision = PRECISION_FP8,
				     .implementation = IMPLEMENTATION_LT,
				     .m = scaled ? 400 : 256,
				     .n = scaled ? 208 : 128,
				     .k = scaled ? 720 : 512,
				     .batch = 1,
				     .transposed = 1,
				     .fp8 = kinds[i / 2],
				     .scale = i & 1 ? 5 : 1 };

		if (scaled && (device->info.capability_major != 9))
			continue;
		if (check_variant(device, &v, err) != STATUS_OK)
			return error_prefix(err, "kind %zu, scale %g", i / 2, v.scale);
	}
	return STATUS_OK;
}

/*
 * Our own kernels where they are fast, in batches and at the edges of their tiles. The large ones,
 * with more tiles than a GPU has multiprocessors, are for GPUs: a CPU has one code for all sizes.
 */
enum status check_gemm_own(struct device *device, struct error *err)
{
	static const struct variant variants[] = {
		{ PRECISION_FP32, IMPLEMENTATION_SIMT, 260, 132, 96, 3, 0 },
		{ PRECISION_FP16, IMPLEMENTATION_TENSOR, 512, 256, 96, 3, 0 },
		{ PRECISION_FP16, IMPLEMENTATION_TENSOR, 65, 66, 67, 2, 0 },
		{ PRECISION_FP32, IMPLEMENTATION_SIMT, 4228, 2052, 100, 1, 0 },
		{ PRECISION_BF16, IMPLEMENTATION_TENSOR, 1032, 1032, 264, 1, 0 },
		{ PRECISION_FP16, IMPLEMENTATION_TENSOR, 4104, 2056, 1000, 1, 0 },
	};
	size_t count = device->info.capability_major > 0 ? ARRAY_SIZE(variants) : 3;

	for (size_t i = 0; i < count; i++) {
		if (check_variant(device, &variants[i], err) == STATUS_UNSUPPORTED)
			error_clear(err);
		else if (err->status != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

enum status check_gemm_half2(struct device *device, struct error *err)
{
	static const int64_t shapes[][4] = {
		{ 1, 1, 1, 1 }, { 256, 128, 64, 1 }, { 264, 136, 72, 3 }, { 259, 130, 67, 2 }
	};

	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		const struct variant v = { PRECISION_FP16_ACC16,
					   IMPLEMENTATION_HALF2,
					   shapes[i][0],
					   shapes[i][1],
					   shapes[i][2],
					   shapes[i][3],
					   0 };

		if (check_variant(device, &v, err) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}
