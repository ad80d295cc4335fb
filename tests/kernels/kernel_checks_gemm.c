/* Matrix products: every transposition and precision, odd shapes, padded columns. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "kernel_checks.h"

struct product {
	enum precision precision;
	int m, n, k, padding;
	bool transpose_a, transpose_b;
	double alpha, beta;
	const char *kernel; /* our own; NULL: the library */
	enum epilogue epilogue;
};

/* op(M) of `rows` x `columns`, as double, one row (by_row) or one column after the other. */
static double *decode(const void *matrix, enum precision precision, int rows, int columns,
		      bool transpose, int ld, bool by_row)
{
	double *out = xcalloc((size_t)rows * (size_t)columns + 1, sizeof(*out));

	for (int j = 0; j < columns; j++) {
		for (int i = 0; i < rows; i++) {
			size_t to = by_row ? (size_t)i * (size_t)columns + (size_t)j
					   : (size_t)j * (size_t)rows + (size_t)i;
			size_t from = transpose ? (size_t)j + (size_t)i * (size_t)ld
						: (size_t)i + (size_t)j * (size_t)ld;

			out[to] = element_get(matrix, precision, from);
		}
	}
	return out;
}

/* Error of one product's multiplication and accumulation, relative to the sum of magnitudes. */
static double unit_error(const struct product *p)
{
	if (p->precision == PRECISION_FP64)
		return (p->k + 3) * 0x1p-53;
	return (p->k + 3) * 0x1p-24 + (p->precision == PRECISION_TF32 ? 0x1p-9 : 0);
}

struct matrices {
	void *a, *b, *c, *got, *bias;
	double *rows_of_a, *columns_of_b; /* of op(A) and op(B) */
	int lda, ldb, ldc;
	size_t a_count, b_count, c_count;
};

static bool check_element(const struct product *p, const struct matrices *x, int i, int j,
			  struct error *err)
{
	size_t at = (size_t)i + (size_t)j * (size_t)x->ldc;
	double sum = 0, magnitude = 0,
	       old = p->beta != 0 ? p->beta * element_get(x->c, p->precision, at) : 0;
	const double *row = x->rows_of_a + (size_t)i * (size_t)p->k;
	const double *column = x->columns_of_b + (size_t)j * (size_t)p->k;
	double expected, tolerance;

	for (int l = 0; l < p->k; l++) {
		double product = row[l] * column[l];

		sum += product;
		magnitude += fabs(product);
	}
	expected = p->alpha * sum + old;
	if (p->epilogue != EPILOGUE_NONE) {
		double bias = element_get(x->bias, p->precision, (size_t)i);

		expected += bias;
		magnitude += fabs(bias) / fabs(p->alpha);
	}
	tolerance = unit_error(p) * (fabs(p->alpha) * magnitude + fabs(old)) +
		    1.01 * element_rounding(p->precision, expected);
	/* Near zero either answer is within the error of the sum. */
	if (p->epilogue == EPILOGUE_BIAS_RELU && expected < 0)
		expected = 0;
	/* cuBLAS stores the product before it adds the old C: seen on an H200 with FP16. */
	if (p->beta != 0)
		tolerance += element_rounding(p->precision, p->alpha * sum);
	return compare(err, "gemm", p->precision, at, element_get(x->got, p->precision, at),
		       expected, tolerance);
}

static bool check_result(const struct product *p, const struct matrices *x, struct error *err)
{
	size_t bytes = precision_bytes(p->precision);

	for (int j = 0; j < p->n; j++) {
		size_t padding = (size_t)p->m + (size_t)j * (size_t)x->ldc;

		for (int i = 0; i < p->m; i++)
			if (!check_element(p, x, i, j, err))
				return false;
		if (memcmp((char *)x->got + padding * bytes, (char *)x->c + padding * bytes,
			   (size_t)p->padding * bytes) != 0) {
			error_set(err, STATUS_MISMATCH, "gemm, %s: wrote between the columns of C",
				  precision_name(p->precision));
			return false;
		}
	}
	return true;
}

static void make_matrices(const struct product *p, struct matrices *x)
{
	x->lda = (p->transpose_a ? p->k : p->m) + p->padding;
	x->ldb = (p->transpose_b ? p->n : p->k) + p->padding;
	x->ldc = p->m + p->padding;
	x->lda += x->lda == 0;
	x->ldb += x->ldb == 0;
	x->a_count = (size_t)x->lda * (size_t)(p->transpose_a ? p->m : p->k);
	x->b_count = (size_t)x->ldb * (size_t)(p->transpose_b ? p->k : p->n);
	x->c_count = (size_t)x->ldc * (size_t)p->n;
	x->a = random_tensor(p->precision, x->a_count, 1, 1);
	x->b = random_tensor(p->precision, x->b_count, 2, 1);
	x->c = random_tensor(p->precision, x->c_count, 3, 1);
	x->got = xcalloc(x->c_count, precision_bytes(p->precision));
	x->bias = random_tensor(p->precision, (size_t)p->m, 4, 1);
	x->rows_of_a = decode(x->a, p->precision, p->m, p->k, p->transpose_a, x->lda, true);
	x->columns_of_b = decode(x->b, p->precision, p->k, p->n, p->transpose_b, x->ldb, false);
	/* With beta = 0 the old C must not be read. */
	for (size_t i = 0; p->beta == 0 && i < x->c_count; i++)
		element_set(x->c, p->precision, i, NAN);
}

static enum status check_product(struct device *device, const struct product *p, struct error *err)
{
	size_t bytes = precision_bytes(p->precision);
	struct matrices x;
	struct gemm gemm;
	struct bench b;
	void *c;

	bench_open(&b, device, err);
	make_matrices(p, &x);
	c = bench_upload(&b, x.c, x.c_count * bytes);
	gemm = (struct gemm){ .precision = p->precision,
			      .transpose_a = p->transpose_a,
			      .transpose_b = p->transpose_b,
			      .m = p->m,
			      .n = p->n,
			      .k = p->k,
			      .lda = x.lda,
			      .ldb = x.ldb,
			      .ldc = x.ldc,
			      .a = bench_upload(&b, x.a, (x.a_count ? x.a_count : 1) * bytes),
			      .b = bench_upload(&b, x.b, (x.b_count ? x.b_count : 1) * bytes),
			      .c = c,
			      .alpha = p->alpha,
			      .beta = p->beta,
			      .epilogue = p->epilogue };
	if (p->epilogue != EPILOGUE_NONE)
		gemm.bias = bench_upload(&b, x.bias, (size_t)p->m * bytes);
	if (p->kernel)
		bench_launch(&b, p->kernel, &gemm);
	else
		bench_gemm(&b, &gemm);
	bench_download(&b, x.got, c, x.c_count * bytes);
	if (bench_ok(&b))
		check_result(p, &x, err);
	free(x.a);
	free(x.b);
	free(x.c);
	free(x.got);
	free(x.bias);
	free(x.rows_of_a);
	free(x.columns_of_b);
	if (err->status != STATUS_OK && err->status != STATUS_UNSUPPORTED)
		error_prefix(err, "%d x %d x %d, %c%c, alpha %g, beta %g", p->m, p->n, p->k,
			     p->transpose_a ? 'T' : 'N', p->transpose_b ? 'T' : 'N', p->alpha,
			     p->beta);
	return bench_close(&b);
}

/*
 * Every precision and transposition of a shape; a precision the device lacks is passed over, but
 * not all: then it is the library that is missing.
 */
static enum status check_shape(struct device *device, struct product p, struct error *err)
{
	struct error lacking = ERROR_NONE;
	int done = 0;

	for (int precision = 0; precision < PRECISION_COUNT; precision++) {
		for (int transposed = 0; transposed < (p.kernel ? 1 : 4); transposed++) {
			p.precision = (enum precision)precision;
			p.transpose_a = transposed & 1;
			p.transpose_b = transposed & 2;
			if (check_product(device, &p, err) == STATUS_UNSUPPORTED) {
				lacking = *err;
				error_clear(err);
			} else if (err->status != STATUS_OK) {
				return err->status;
			} else {
				done++;
			}
		}
	}
	return done ? STATUS_OK : error_set(err, lacking.status, "%s", lacking.message);
}

static enum status check_shapes(struct device *device, const struct product *shapes, size_t count,
				struct error *err)
{
	for (size_t i = 0; i < count; i++)
		if (check_shape(device, shapes[i], err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

enum status check_gemm_small(struct device *device, struct error *err)
{
	static const struct product shapes[] = {
		{ .m = 1, .n = 1, .k = 1, .alpha = 1, .beta = 0 },
		{ .m = 7, .n = 5, .k = 3, .padding = 3, .alpha = 1, .beta = 0 },
		{ .m = 33, .n = 17, .k = 65, .padding = 1, .alpha = -0.75, .beta = 0.5 },
		{ .m = 64, .n = 48, .k = 96, .alpha = 1, .beta = 1 },
	};

	return check_shapes(device, shapes, ARRAY_SIZE(shapes), err);
}

/* Large enough for several threads, tiles and panels of the host. */
enum status check_gemm_large(struct device *device, struct error *err)
{
	static const struct product shapes[] = {
		{ .m = 130, .n = 70, .k = 1030, .padding = 2, .alpha = 1, .beta = 0.25 },
		{ .m = 1100, .n = 19, .k = 33, .alpha = 2, .beta = 0 },
		{ .m = 19, .n = 2100, .k = 129, .padding = 5, .alpha = 1, .beta = 0 },
	};

	return check_shapes(device, shapes, ARRAY_SIZE(shapes), err);
}

/* An empty sum is zero: C = beta * C. */
enum status check_gemm_edges(struct device *device, struct error *err)
{
	static const struct product shapes[] = {
		{ .m = 6, .n = 4, .k = 0, .padding = 2, .alpha = 1, .beta = 0.5 },
		{ .m = 6, .n = 4, .k = 9, .padding = 1, .alpha = 0, .beta = 1 },
	};

	return check_shapes(device, shapes, ARRAY_SIZE(shapes), err);
}

/* Our own kernels: multiples of the vector width, and what they must do about everything else. */
static enum status check_own(struct device *device, const char *kernel, struct error *err)
{
	struct product shapes[] = {
		{ .m = 1, .n = 1, .k = 1, .alpha = 1, .beta = 0 },
		{ .m = 33, .n = 17, .k = 65, .padding = 1, .alpha = -0.75, .beta = 0.5 },
		{ .m = 264, .n = 136, .k = 72, .padding = 8, .alpha = 1, .beta = 0 },
		{ .m = 520, .n = 388, .k = 200, .alpha = 2, .beta = 1 },
		{ .m = 6, .n = 4, .k = 0, .padding = 2, .alpha = 1, .beta = 0.5 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++)
		shapes[i].kernel = kernel;
	return check_shapes(device, shapes, ARRAY_SIZE(shapes), err);
}

enum status check_gemm_simt(struct device *device, struct error *err)
{
	return check_own(device, "gemm_simt", err);
}

enum status check_gemm_tensor(struct device *device, struct error *err)
{
	return check_own(device, "gemm_tensor", err);
}

/* cuBLASLt wants operands aligned to 16 bytes for most of its algorithms: these shapes are. */
enum status check_gemm_epilogues(struct device *device, struct error *err)
{
	for (enum epilogue e = EPILOGUE_BIAS; e < EPILOGUE_COUNT; e++) {
		const struct product shapes[] = {
			{ .m = 64, .n = 48, .k = 96, .alpha = 1, .epilogue = e },
			{ .m = 136, .n = 40, .k = 1032, .padding = 8, .alpha = 1, .epilogue = e },
			{ .m = 1104, .n = 24, .k = 32, .alpha = -0.75, .epilogue = e },
		};

		if (check_shapes(device, shapes, ARRAY_SIZE(shapes), err) != STATUS_OK)
			return error_prefix(err, "epilogue %d", (int)e);
	}
	return STATUS_OK;
}
