/*
 * GEMM of the host backend. C is divided into one tile per core; OpenBLAS multiplies each tile on
 * one thread. FP16 and BF16 operands are converted to FP32 panel by panel within the operation,
 * accumulated in FP32 and rounded once.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>

#include "device/host/blas.h"
#include "kernels/launch/elements.h"
#include "device/host/host_kernel.h"

/*
 * With fewer operations per thread, fewer threads are faster. OpenBLAS has kernels without a buffer
 * for GEMMs half this size.
 */
#define THREAD_FLOP 4e6

/*
 * Size of a tile of C and depth of a panel that a thread converts at once: 512 operations per
 * converted element.
 */
#define TILE 1024
#define PANEL 512
#define WORKSPACE_FLOATS ((size_t)TILE * TILE + 2 * (size_t)TILE * PANEL)

struct multiply {
	const struct blas *blas;
	struct gemm g;
	unsigned rows, columns; /* shape of the grid of tiles */
	float *workspace;       /* WORKSPACE_FLOATS per part */
};

/* A rectangle of rows and columns of C. */
struct tile {
	int64_t row, column, rows, columns;
};

static enum CBLAS_TRANSPOSE host_gemm_transpose(bool yes)
{
	return yes ? CblasTrans : CblasNoTrans;
}

/* Element offsets in A and B of the operands of a tile: `row` or column, and `depth`. */
static int64_t host_gemm_offset_a(const struct gemm *g, int64_t row, int64_t depth)
{
	return g->transpose_a ? depth + row * g->lda : row + depth * g->lda;
}

static int64_t host_gemm_offset_b(const struct gemm *g, int64_t depth, int64_t column)
{
	return g->transpose_b ? column + depth * g->ldb : depth + column * g->ldb;
}

#define REAL float
#define LOOP(name) name##_float
#define BLAS_GEMM cblas_sgemm
#include "device/host/gemm_loops.inc"

#define REAL double
#define LOOP(name) name##_double
#define BLAS_GEMM cblas_dgemm
#include "device/host/gemm_loops.inc"

/* Converts a rectangle with leading dimension `ld` to a dense one in FP32. */
static void host_gemm_panel_widen_to_fp32(float *to, const uint16_t *from, int64_t rows,
					  int64_t columns, int64_t ld, enum precision precision)
{
	for (int64_t j = 0; j < columns; j++)
		elements_from_16(to + j * rows, from + j * ld, (uint64_t)rows, precision);
}

/* Adds the GEMM over one panel's depth to the FP32 tile `c`. */
static void host_gemm_panel(const struct multiply *x, const struct tile *t, int64_t depth,
			    int64_t count, float beta, float *c)
{
	const struct gemm *g = &x->g;
	float *a = c + (size_t)TILE * TILE, *b = a + (size_t)TILE * PANEL;
	int64_t a_rows = g->transpose_a ? count : t->rows,
		b_rows = g->transpose_b ? t->columns : count;

	host_gemm_panel_widen_to_fp32(a,
				      (const uint16_t *)g->a + host_gemm_offset_a(g, t->row, depth),
				      a_rows, g->transpose_a ? t->rows : count, g->lda,
				      g->precision);
	host_gemm_panel_widen_to_fp32(b,
				      (const uint16_t *)g->b +
					      host_gemm_offset_b(g, depth, t->column),
				      b_rows, g->transpose_b ? count : t->columns, g->ldb,
				      g->precision);
	x->blas->cblas_sgemm(CblasColMajor, host_gemm_transpose(g->transpose_a),
			     host_gemm_transpose(g->transpose_b), (blasint)t->rows,
			     (blasint)t->columns, (blasint)count, (float)g->alpha, a,
			     (blasint)(a_rows > 0 ? a_rows : 1), b,
			     (blasint)(b_rows > 0 ? b_rows : 1), beta, c, (blasint)t->rows);
}

/* C is stored in 16 bits or, with `wide`, in FP32; `c` is its tile in FP32, and scratch. */
static void host_gemm_multiply_tile_16(const struct multiply *x, const struct tile *t, float *c)
{
	const struct gemm *g = &x->g;
	float beta = (float)g->beta, *bias = c + (size_t)TILE * TILE;
	int64_t depth = 0, first = t->row + t->column * g->ldc;

	if (g->beta != 0 && !g->wide)
		host_gemm_panel_widen_to_fp32(c, (const uint16_t *)g->c + first, t->rows,
					      t->columns, g->ldc, g->precision);
	for (int64_t j = 0; g->beta != 0 && g->wide && j < t->columns; j++)
		memcpy(c + j * t->rows, (const float *)g->c + first + j * g->ldc,
		       (size_t)t->rows * sizeof(float));
	do {
		int64_t count = g->k - depth < PANEL ? g->k - depth : PANEL;

		host_gemm_panel(x, t, depth, count, beta, c);
		beta = 1;
		depth += count;
	} while (depth < g->k);
	/* The epilogue is applied before rounding. */
	if (g->epilogue != EPILOGUE_NONE)
		elements_from_16(bias, (const uint16_t *)g->bias + t->row, (uint64_t)t->rows,
				 g->precision);
	for (int64_t j = 0; g->epilogue != EPILOGUE_NONE && j < t->columns; j++)
		gemm_finish_float(c + j * t->rows, bias, t->rows,
				  g->epilogue == EPILOGUE_BIAS_RELU);
	for (int64_t j = 0; !g->wide && j < t->columns; j++)
		elements_to_16((uint16_t *)g->c + first + j * g->ldc, c + j * t->rows,
			       (uint64_t)t->rows, g->precision);
	for (int64_t j = 0; g->wide && j < t->columns; j++)
		memcpy((float *)g->c + first + j * g->ldc, c + j * t->rows,
		       (size_t)t->rows * sizeof(float));
}

static int64_t host_gemm_int64_min(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static void host_gemm_multiply_16(const struct multiply *x, const struct tile *whole, unsigned part)
{
	float *workspace = x->workspace + part * WORKSPACE_FLOATS;

	for (int64_t j = 0; j < whole->columns; j += TILE) {
		for (int64_t i = 0; i < whole->rows; i += TILE) {
			struct tile t = { whole->row + i, whole->column + j,
					  host_gemm_int64_min(TILE, whole->rows - i),
					  host_gemm_int64_min(TILE, whole->columns - j) };

			host_gemm_multiply_tile_16(x, &t, workspace);
		}
	}
}

/* Start of part `index` of `parts`: a multiple of 16, so that no tile splits a vector. */
static int64_t host_gemm_tile_start(int64_t length, unsigned index, unsigned parts)
{
	if (index == parts)
		return length;
	return (int64_t)((double)length * index / parts) / 16 * 16;
}

static void host_gemm_multiply_part(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct multiply *x = context;

	for (uint64_t i = begin; i < end; i++) {
		unsigned row = (unsigned)i % x->rows, column = (unsigned)i / x->rows;
		struct tile t = { host_gemm_tile_start(x->g.m, row, x->rows),
				  host_gemm_tile_start(x->g.n, column, x->columns), 0, 0 };

		t.rows = host_gemm_tile_start(x->g.m, row + 1, x->rows) - t.row;
		t.columns = host_gemm_tile_start(x->g.n, column + 1, x->columns) - t.column;
		if (t.rows == 0 || t.columns == 0)
			continue;
		if (x->g.precision == PRECISION_FP64)
			host_gemm_multiply_double(x, &t);
		else if (x->g.precision == PRECISION_FP32)
			host_gemm_multiply_float(x, &t);
		else
			host_gemm_multiply_16(x, &t, part);
	}
}

/* Kept by the stream; unused pages cost nothing. */
static enum status host_gemm_get_workspace(struct host_stream *s, struct multiply *x,
					   struct error *err)
{
	size_t bytes = host_stream_threads(&s->base) * WORKSPACE_FLOATS * sizeof(float);

	if (!s->workspace) {
		void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (memory == MAP_FAILED)
			return error_set(err, STATUS_NO_MEMORY,
					 "gemm: mmap of %zu bytes of workspace: %s", bytes,
					 strerror(errno));
		s->workspace = memory;
		s->workspace_bytes = bytes;
		atomic_fetch_add(&host_device(s->base.device)->workspace_bytes, bytes);
	}
	x->workspace = s->workspace;
	return STATUS_OK;
}

static enum status host_gemm_run(struct stream *stream, const void *arguments, struct error *err)
{
	struct multiply x = *(const struct multiply *)arguments;
	double flop = 2.0 * (double)x.g.m * (double)x.g.n * (double)x.g.k;
	unsigned threads = host_stream_threads(stream);
	double best;

	if (flop < THREAD_FLOP * threads)
		threads = flop < THREAD_FLOP ? 1 : (unsigned)(flop / THREAD_FLOP);
	/*
	 * Grid of `threads` tiles with the shortest edges, so that each thread reads the least of A
	 * and B.
	 */
	best = 0;
	for (unsigned rows = 1; rows <= threads; rows++) {
		double edges = (double)x.g.m / rows + (double)x.g.n / (threads / rows);

		if (threads % rows != 0 || (x.rows > 0 && edges >= best))
			continue;
		best = edges;
		x.rows = rows;
		x.columns = threads / rows;
	}
	if (precision_bytes(x.g.precision) == 2 &&
	    host_gemm_get_workspace(host_stream(stream), &x, err) != STATUS_OK)
		return STATUS_NO_MEMORY;
	if (blas_enter(threads, err) != STATUS_OK)
		return STATUS_NO_MEMORY;
	host_stream_parallel(stream, threads, 1, host_gemm_multiply_part, &x);
	blas_leave(threads, flop >= THREAD_FLOP);
	return STATUS_OK;
}

static enum status host_gemm_check(const struct gemm *g, struct error *err)
{
	const int64_t sizes[] = { g->m, g->n, g->k, g->lda, g->ldb, g->ldc };
	int64_t a_rows = g->transpose_a ? g->k : g->m, b_rows = g->transpose_b ? g->n : g->k;

	if (g->precision == PRECISION_TF32 || g->precision >= PRECISION_COUNT)
		return error_set(err, STATUS_UNSUPPORTED, "the CPU has no %s GEMM",
				 precision_name(g->precision));
	if (g->searched)
		return error_set(err, STATUS_UNSUPPORTED, "OpenBLAS has no choice of algorithms");
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		if (sizes[i] < 0)
			return error_set(err, STATUS_INTERNAL, "gemm: a dimension is negative");
		if (sizes[i] > INT_MAX)
			return error_set(err, STATUS_UNSUPPORTED,
					 "OpenBLAS accepts dimensions up to %d", INT_MAX);
	}
	if (g->lda < a_rows || g->ldb < b_rows || g->ldc < g->m || !g->lda || !g->ldb || !g->ldc)
		return error_set(err, STATUS_INTERNAL,
				 "gemm: a leading dimension is shorter than its column");
	return STATUS_OK;
}

enum status host_gemm(struct stream *stream, const struct gemm *gemm, struct error *err)
{
	struct multiply x = { .g = *gemm };
	enum status status = host_gemm_check(gemm, err);
	size_t bytes = precision_bytes(gemm->precision);

	if (status != STATUS_OK || gemm->m == 0 || gemm->n == 0)
		return status;
	x.blas = blas_open(err);
	if (!x.blas)
		return STATUS_UNSUPPORTED;
	for (int64_t i = 0; i < (gemm->batch > 0 ? gemm->batch : 1) && status == STATUS_OK; i++) {
		x.g.a = (const char *)gemm->a + (size_t)(i * gemm->stride_a) * bytes;
		x.g.b = (const char *)gemm->b + (size_t)(i * gemm->stride_b) * bytes;
		x.g.c = (char *)gemm->c + (size_t)(i * gemm->stride_c) * bytes;
		status = host_stream_enqueue(stream, host_gemm_run, &x, sizeof(x), err);
	}
	return status;
}

size_t host_gemm_workspace(struct device *device)
{
	return atomic_load(&host_device(device)->workspace_bytes);
}
