/*
 * OpenBLAS, opened on first use: the program starts without it, and only GEMM cases are missing.
 * OpenBLAS uses one thread per call. The host backend divides the work itself (gemm.c): the threads
 * are those of the device's partition, two streams do not wait for each other inside the library,
 * and a forked worker inherits no thread pool.
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

/* NULL and STATUS_UNSUPPORTED in `err` without OpenBLAS. Callable from any thread. */
const struct blas *blas_open(struct error *err);

/*
 * Call before and after `calls` concurrent GEMMs. OpenBLAS allocates a buffer of 128 MiB for each,
 * never frees it, and retries forever if it gets none. If the system may deny memory (ulimit -v,
 * ulimit -d, overcommit_memory = 2), this call checks first and returns STATUS_NO_MEMORY; do not
 * call blas_leave() then. `large`: they certainly used buffers, so OpenBLAS keeps at least one from
 * then on.
 */
enum status blas_enter(unsigned calls, struct error *err);
void blas_leave(unsigned calls, bool large);

#endif
