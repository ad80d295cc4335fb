/*
 * The host backend compared with its peers, in one run and in turns, so that what else runs on the
 * machine disturbs both alike:
 *
 *	triad	the stream kernel against the plain OpenMP loop that BabelStream's is; goal 0.98
 *	gemm	FP32 products against OpenBLAS called directly on as many threads; goal 0.99
 *
 * BABELSTREAM=.../babelstream-omp in the environment adds that program itself. Each figure is the
 * best of its rounds, as BabelStream's is; the ratio's interval is the middle half of the ratios of
 * neighbouring rounds.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/stats.h"
#include "device/backend.h"
#include "kernels/memory/stream.h"

#define ROUNDS 25
#define TRIAD_BYTES ((size_t)256 << 20)
#define GEMM_N 2048

static struct device *device;
static struct stream *stream;

static void need(enum status status, const struct error *err)
{
	if (status == STATUS_OK)
		return;
	fprintf(stderr, "bench_peers: %s\n", err->message);
	exit(EXIT_FAILURE);
}

struct contest {
	double ours[ROUNDS], theirs[ROUNDS]; /* seconds */
};

static double best(const double *seconds)
{
	double least = INFINITY;

	for (int i = 0; i < ROUNDS; i++)
		least = fmin(least, seconds[i]);
	return least;
}

static void print(const char *what, const struct contest *c, double amount, const char *unit)
{
	double ratios[ROUNDS];

	for (int i = 0; i < ROUNDS; i++)
		ratios[i] = c->theirs[i] / c->ours[i];
	qsort(ratios, ROUNDS, sizeof(ratios[0]), compare_doubles);
	printf("%-34s %8.2f %8.2f %s %7.3f   %.3f to %.3f\n", what, amount / best(c->ours) / 1e9,
	       amount / best(c->theirs) / 1e9, unit, best(c->theirs) / best(c->ours),
	       quantile(ratios, ROUNDS, 0.25), quantile(ratios, ROUNDS, 0.75));
}

static void *memory(size_t bytes)
{
	struct error err = ERROR_NONE;
	void *out;

	need(backend_memory_alloc(device, ALLOCATOR_DEVICE, bytes, NULL, &out, &err), &err);
	return out;
}

static double timed_triad(const struct stream_arguments *a)
{
	struct error err = ERROR_NONE;
	double start = clock_seconds();

	need(backend_launch(stream, "stream", a, &err), &err);
	need(backend_stream_synchronize(stream, &err), &err);
	return clock_seconds() - start;
}

/* The plain loop; pages are touched by the threads that use them. */
static double plain_triad(double *restrict out, const double *restrict x, const double *restrict y,
			  long count)
{
	double start = clock_seconds();

#pragma omp parallel for simd schedule(static)
	for (long i = 0; i < count; i++)
		out[i] = x[i] + STREAM_SCALAR * y[i];
	return clock_seconds() - start;
}

static void fill(double *x, long count, double value)
{
#pragma omp parallel for schedule(static)
	for (long i = 0; i < count; i++)
		x[i] = value;
}

/* The backend's arrays are filled by its own threads, as a suite's are. */
static void fill_ours(void *x, uint64_t seed)
{
	struct fill_arguments fill_it = {
		.memory = x, .kind = FILL_FP64, .count = TRIAD_BYTES / 8, .seed = seed, .scale = 1
	};
	struct error err = ERROR_NONE;

	need(backend_launch(stream, "fill", &fill_it, &err), &err);
	need(backend_stream_synchronize(stream, &err), &err);
}

static void triad(void)
{
	long count = (long)(TRIAD_BYTES / sizeof(double));
	double *out = malloc(TRIAD_BYTES), *x = malloc(TRIAD_BYTES), *y = malloc(TRIAD_BYTES);
	struct stream_arguments a = { .operation = STREAM_TRIAD,
				      .precision = PRECISION_FP64,
				      .out = memory(TRIAD_BYTES),
				      .x = memory(TRIAD_BYTES),
				      .y = memory(TRIAD_BYTES),
				      .bytes = TRIAD_BYTES };
	struct contest c;

	if (!out || !x || !y)
		exit(EXIT_FAILURE);
	fill(out, count, 0);
	fill(x, count, 0.1);
	fill(y, count, 0.2);
	fill_ours(a.out, 1);
	fill_ours((void *)(uintptr_t)a.x, 2);
	fill_ours((void *)(uintptr_t)a.y, 3);
	for (int i = -1; i < ROUNDS;
	     i++) { /* the suite takes the better of its variants; -1 warms up */
		double kinds[2];

		for (unsigned short streaming = 0; streaming < 2; streaming++) {
			a.variant.streaming = streaming;
			kinds[streaming] = timed_triad(&a);
		}
		c.ours[i < 0 ? 0 : i] = fmin(kinds[0], kinds[1]);
		c.theirs[i < 0 ? 0 : i] = plain_triad(out, x, y, count);
	}
	print("triad, fp64 (plain OpenMP loop)", &c, 3.0 * TRIAD_BYTES, "GB/s ");
	free(out);
	free(x);
	free(y);
}

/* Best of its own rounds, of arrays as large; 0: none. */
static double babelstream(void)
{
	const char *program = getenv("BABELSTREAM");
	double rate = 0, value;
	char command[1024], line[512];
	FILE *f;

	if (!program)
		return 0;
	snprintf(command, sizeof(command), "'%s' --csv -s %zu -n %d", program, TRIAD_BYTES / 8,
		 ROUNDS);
	f = popen(command, "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Triad,%*d,%*d,%*d,%lf", &value) == 1)
			rate = value * 1e6;
	if (!f || pclose(f) != 0 || rate == 0)
		fprintf(stderr, "bench_peers: %s gave no triad\n", command);
	return rate;
}

/*
 * In turns with ours as well: two runs of it, with as many rounds of ours before, between and
 * after.
 */
static void triad_against_babelstream(void)
{
	struct stream_arguments a = { .operation = STREAM_TRIAD,
				      .precision = PRECISION_FP64,
				      .out = memory(TRIAD_BYTES),
				      .x = memory(TRIAD_BYTES),
				      .y = memory(TRIAD_BYTES),
				      .bytes = TRIAD_BYTES };
	double ours = INFINITY, theirs = 0;

	if (!getenv("BABELSTREAM"))
		return;
	fill_ours(a.out, 1);
	fill_ours((void *)(uintptr_t)a.x, 2);
	fill_ours((void *)(uintptr_t)a.y, 3);
	for (int turn = 0; turn < 3; turn++) {
		for (int i = 0; i < ROUNDS; i++) {
			a.variant.streaming = (unsigned short)(i & 1);
			ours = fmin(ours, timed_triad(&a));
		}
		theirs = turn < 2 ? fmax(theirs, babelstream()) : theirs;
	}
	printf("%-34s %8.2f %8.2f GB/s  %7.3f\n", "triad, fp64 (BabelStream, OpenMP)",
	       3.0 * TRIAD_BYTES / ours / 1e9, theirs / 1e9, 3.0 * TRIAD_BYTES / ours / theirs);
}

typedef void sgemm_fn(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
		      const float *a, int lda, const float *b, int ldb, float beta, float *c,
		      int ldc);

static void gemm(void)
{
	void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
	sgemm_fn *sgemm = library ? (sgemm_fn *)dlsym(library, "cblas_sgemm") : NULL;
	void (*set_threads)(int) =
		library ? (void (*)(int))dlsym(library, "openblas_set_num_threads") : NULL;
	size_t bytes = sizeof(float) * GEMM_N * GEMM_N;
	float *a = memory(bytes), *b = memory(bytes), *ours = memory(bytes),
	      *theirs = memory(bytes);
	struct gemm g = { .precision = PRECISION_FP32,
			  .m = GEMM_N,
			  .n = GEMM_N,
			  .k = GEMM_N,
			  .lda = GEMM_N,
			  .ldb = GEMM_N,
			  .ldc = GEMM_N,
			  .a = a,
			  .b = b,
			  .c = ours,
			  .alpha = 1 };
	struct error err = ERROR_NONE;
	struct contest c;

	if (!sgemm || !set_threads) {
		printf("gemm: no OpenBLAS: %s\n", dlerror());
		return;
	}
	for (size_t i = 0; i < (size_t)GEMM_N * GEMM_N; i++) {
		a[i] = generator_uniform(1, i);
		b[i] = generator_uniform(2, i);
	}
	for (int i = -1; i < ROUNDS; i++) { /* -1 warms up */
		double start;

		/* The backend divides the work itself and wants one thread a call. */
		set_threads(1);
		start = clock_seconds();
		need(backend_gemm(stream, &g, &err), &err);
		need(backend_stream_synchronize(stream, &err), &err);
		c.ours[i < 0 ? 0 : i] = clock_seconds() - start;
		set_threads(device->info.multiprocessors);
		start = clock_seconds();
		sgemm(102, 111, 111, GEMM_N, GEMM_N, GEMM_N, 1, a, GEMM_N, b, GEMM_N, 0, theirs,
		      GEMM_N);
		c.theirs[i < 0 ? 0 : i] = clock_seconds() - start;
	}
	for (size_t i = 0; i < (size_t)GEMM_N * GEMM_N; i++)
		if (fabsf(ours[i] - theirs[i]) > 1e-3f) {
			fprintf(stderr, "bench_peers: products differ at %zu: %g, %g\n", i,
				(double)ours[i], (double)theirs[i]);
			exit(EXIT_FAILURE);
		}
	print("gemm, fp32 2048 (OpenBLAS)", &c, 2.0 * GEMM_N * GEMM_N * GEMM_N, "GF/s ");
}

int main(void)
{
	struct backend_list list;
	struct error err = ERROR_NONE;

	backends_open(&list, "host", &(struct backend_options){ .host_devices = 1 });
	if (list.count == 0)
		return EXIT_FAILURE;
	need(list.backends[0]->device_open(0, &device, &err), &err);
	need(backend_stream_create(device, false, &stream, &err), &err);
	printf("%-34s %8s %8s %5s %7s   %s\n", "best of each", "ours", "peer", "", "ratio",
	       "middle half of the rounds'");
	triad();
	triad_against_babelstream();
	gemm();
	backend_stream_destroy(stream);
	return EXIT_SUCCESS;
}
