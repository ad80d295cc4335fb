/*
 * OpenBLAS, opened on first use: the program starts on a machine that lacks it, and only GEMM cases
 * are missing. OpenBLAS runs on one thread for each call; the host backend divides the work itself
 * (gemm.c), so that the threads are those of the device's partition, two streams do not wait for
 * each other inside the library, and a forked worker inherits no thread pool.
 */
#ifndef GPUPROOF_HOST_BLAS_H
#define GPUPROOF_HOST_BLAS_H

#include <cblas.h>
#include <stdbool.h>

#include "base/error.h"

/* BLAS_SYMBOLS(X): X(result type, name, parameters) */
#define BLAS_SYMBOLS(X)                                                                         \
	X(void, cblas_sgemm,                                                                    \
	  (enum CBLAS_ORDER, enum CBLAS_TRANSPOSE, enum CBLAS_TRANSPOSE, blasint, blasint,      \
	   blasint, float, const float *, blasint, const float *, blasint, float, float *,      \
	   blasint))                                                                            \
	X(void, cblas_dgemm,                                                                    \
	  (enum CBLAS_ORDER, enum CBLAS_TRANSPOSE, enum CBLAS_TRANSPOSE, blasint, blasint,      \
	   blasint, double, const double *, blasint, const double *, blasint, double, double *, \
	   blasint))                                                                            \
	X(void, openblas_set_num_threads, (int))                                                \
	X(char *, openblas_get_config, (void))                                                  \
	X(char *, openblas_get_corename, (void))

struct blas {
#define X(result, name, parameters) result(*name) parameters;
	BLAS_SYMBOLS(X)
#undef X
};

/* NULL and STATUS_UNSUPPORTED in `err` where there is no OpenBLAS. Any thread. */
const struct blas *blas_open(struct error *err);

/*
 * Before and after `calls` products that run at the same time. OpenBLAS takes a buffer of 128 MiB
 * for each and never gives it back; where it gets none it asks again for ever. So where memory is
 * refused to processes (ulimit -v, ulimit -d, overcommit_memory = 2) it is asked for first:
 * STATUS_NO_MEMORY, and no blas_leave(), when it is not there. `large`: they took buffers for
 * certain, of which OpenBLAS has one at least from now on.
 */
enum status blas_enter(unsigned calls, struct error *err);
void blas_leave(unsigned calls, bool large);

#endif
