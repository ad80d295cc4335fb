/*
 * Shared libraries opened on first use, so that a missing one affects only its users. Each has a
 * list of symbols (<library>.def) and a struct of function pointers generated from it.
 *
 * Search order: the folders of $GPUPROOF_LIBRARY_PATH (colon-separated; for pip,
 * .../site-packages/nvidia/cublas/lib), the loader's own search, $CUDA_HOME, and the toolkits in
 * /usr/local.
 */
#ifndef GPUPROOF_DEVICE_CUDA_LIBRARY_H
#define GPUPROOF_DEVICE_CUDA_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct library_symbol {
	const char *name;
	size_t offset; /* of the pointer in the struct of function pointers */
	/* without it the library counts as missing; otherwise the pointer stays NULL */
	bool required;
};

struct library {
	const char *name;   /* "cuBLAS" */
	const char *soname; /* "libcublas.so.13" */
	const char *cost;   /* what cannot run without it: "matrix products" */
	const struct library_symbol *symbols;
	size_t symbol_count;
	void *functions; /* the struct of function pointers */
	/* Set by library_open(). */
	bool tried;
	void *handle;
	char path[256];   /* path of the opened file */
	char reason[512]; /* why it is missing */
};

/*
 * Opens the library once per process; later calls return the first result. If missing:
 * STATUS_UNSUPPORTED with name, soname and reason.
 */
enum status library_open(struct library *library, struct error *err);

/* Marks an opened library as missing if it does not work ("nvmlInit_v2: Driver Not Loaded"). */
void library_refuse(struct library *library, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
