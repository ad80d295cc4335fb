/*
 * Shared libraries that are opened on first use, so that a missing one costs only what needs it.
 * Each has one list of symbols (<library>.def) and one struct of function pointers made from it.
 *
 * Searched: the folders of $GPUPROOF_LIBRARY_PATH (a colon list; for pip's, name
 * .../site-packages/nvidia/cublas/lib), what the loader finds by itself, $CUDA_HOME, and the
 * toolkits in /usr/local.
 */
#ifndef GPUPROOF_DEVICE_CUDA_LIBRARY_H
#define GPUPROOF_DEVICE_CUDA_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct library_symbol {
	const char *name;
	size_t offset; /* of the pointer in the struct of function pointers */
	bool required; /* without it the library counts as missing; else the pointer stays NULL */
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
	char path[256];   /* of the file that was opened */
	char reason[512]; /* why it is missing */
};

/*
 * Once per process; later calls repeat the first answer. Missing: STATUS_UNSUPPORTED with name,
 * soname and reason.
 */
enum status library_open(struct library *library, struct error *err);

/*
 * Marks an opened library as missing: it is there but refuses to work ("nvmlInit_v2: Driver Not
 * Loaded").
 */
void library_refuse(struct library *library, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
