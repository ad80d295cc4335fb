/* Opening cuBLAS. */
#include "device/cuda/blas/cublas.h"

#include <stdio.h>

#include "base/memory.h"

#define STRING(x) #x
#define EXPANDED(x) STRING(x)

struct cublas_functions cublas;

struct cublaslt_functions cublaslt;

static const struct library_symbol symbols[] = {
#define CUBLAS(required, name) { #name, offsetof(struct cublas_functions, name), required },
#include "device/cuda/blas/cublas.def"
#undef CUBLAS
};

static const struct library_symbol lt_symbols[] = {
#define CUBLASLT(required, name) { #name, offsetof(struct cublaslt_functions, name), required },
#include "device/cuda/cublaslt.def"
#undef CUBLASLT
};

/* The soname has the major version of the headers; other versions have other ABIs. */
struct library cublas_library = {
	.name = "cuBLAS",
	.soname = "libcublas.so." EXPANDED(CUBLAS_VER_MAJOR),
	.cost = "GEMMs, the suite matmul and training steps are skipped",
	.symbols = symbols,
	.symbol_count = ARRAY_SIZE(symbols),
	.functions = &cublas,
};

struct library cublaslt_library = {
	.name = "cuBLASLt",
	.soname = "libcublasLt.so." EXPANDED(CUBLAS_VER_MAJOR),
	.cost = "cuBLAS needs this library, so GEMMs are skipped",
	.symbols = lt_symbols,
	.symbol_count = ARRAY_SIZE(lt_symbols),
	.functions = &cublaslt,
};

/*
 * cuBLAS depends on cuBLASLt; opening the latter first, from any folder, lets the loader resolve
 * it.
 */
enum status cublas_open(struct error *err)
{
	library_open(&cublaslt_library, NULL);
	return library_open(&cublas_library, err);
}

enum status cublaslt_open(struct error *err)
{
	enum status status = library_open(&cublaslt_library, err);

	return status == STATUS_OK ? library_open(&cublas_library, err) : status;
}

void cublas_version(char *out, size_t size)
{
	int major = 0, minor = 0, patch = 0;

	cublas.cublasGetProperty(MAJOR_VERSION, &major);
	cublas.cublasGetProperty(MINOR_VERSION, &minor);
	cublas.cublasGetProperty(PATCH_LEVEL, &patch);
	snprintf(out, size, "%d.%d.%d", major, minor, patch);
}

/* The version number is major * 10000 + minor * 100 + patch (six digits). */
void cublaslt_version(char *out, size_t size)
{
	size_t version = cublaslt.cublasLtGetVersion();

	snprintf(out, size, "%zu.%zu.%zu", version / 10000, version / 100 % 100, version % 100);
}
