/*
 * CPU counterpart of gemm_simt: C = alpha A B + beta C in FP32 with plain loops. A panel of A stays
 * in the L1 cache while the loop passes over a range of columns of C.
 */
#include "kernels/gemm/gemm.h"

#include "device/host/host_kernel.h"

#define ROWS 64
#define DEPTH 64
#define COLUMNS 4

/*
 * Multiplies `rows` of COLUMNS columns of C += A B, `depth` deep; the compiler vectorises along the
 * rows.
 */
HOST_VECTORISED
static void gemm_host_multiply_panel(const struct gemm *g, const float *a, const float *b, float *c,
				     int64_t rows, int64_t columns, int64_t depth)
{
	for (int64_t j = 0; j < columns; j++) {
		float *to = c + j * g->ldc;

		for (int64_t l = 0; l < depth; l++) {
			const float *from = a + l * g->lda;
			float factor = (float)g->alpha * b[l + j * g->ldb];

			for (int64_t i = 0; i < rows; i++)
				to[i] += from[i] * factor;
		}
	}
}

static int64_t gemm_host_min(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Columns begin to end - 1 of one GEMM. */
static void gemm_host_multiply_columns(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct gemm *g = context;
	int64_t first = (int64_t)begin, columns = (int64_t)(end - begin);
	const float *a = g->a, *b = (const float *)g->b + first * g->ldb;
	float *c = (float *)g->c + first * g->ldc;

	(void)part;
	/* With beta = 0 the old C is not read. */
	for (int64_t j = 0; j < columns; j++)
		for (int64_t i = 0; i < g->m; i++)
			c[i + j * g->ldc] = g->beta != 0 ? (float)g->beta * c[i + j * g->ldc] : 0;
	for (int64_t i = 0; i < g->m; i += ROWS)
		for (int64_t l = 0; l < g->k; l += DEPTH)
			for (int64_t j = 0; j < columns; j += COLUMNS)
				gemm_host_multiply_panel(g, a + i + l * g->lda, b + l + j * g->ldb,
							 c + i + j * g->ldc,
							 gemm_host_min(ROWS, g->m - i),
							 gemm_host_min(COLUMNS, columns - j),
							 gemm_host_min(DEPTH, g->k - l));
}

static enum status gemm_simt_run(struct stream *stream, const void *arguments, struct error *err)
{
	const struct gemm *all = arguments;

	(void)err;
	for (int64_t i = 0; i < (all->batch > 0 ? all->batch : 1); i++) {
		struct gemm one = *all;

		one.a = (const float *)all->a + i * all->stride_a;
		one.b = (const float *)all->b + i * all->stride_b;
		one.c = (float *)all->c + i * all->stride_c;
		host_stream_parallel(stream, (uint64_t)all->n, 16, gemm_host_multiply_columns,
				     &one);
	}
	return STATUS_OK;
}

enum status kernel_host_gemm_simt(struct stream *stream, const void *arguments, struct error *err)
{
	const struct gemm *gemm = arguments;

	if (gemm_kernel_check("gemm_simt", gemm, 1u << PRECISION_FP32, err) != STATUS_OK ||
	    gemm->n == 0)
		return err->status;
	return host_stream_enqueue(stream, gemm_simt_run, gemm, sizeof(*gemm), err);
}
