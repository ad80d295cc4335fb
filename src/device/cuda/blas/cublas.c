#include "device/cuda/blas/cublas.h"

#include <stdio.h>

#include "base/memory.h"
#include "kernels/half.h"

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

bool cublas_version(char *out, size_t size)
{
	int major = 0, minor = 0, patch = 0;

	if (cublas_open(NULL) != STATUS_OK)
		return false;
	cublas.cublasGetProperty(MAJOR_VERSION, &major);
	cublas.cublasGetProperty(MINOR_VERSION, &minor);
	cublas.cublasGetProperty(PATCH_LEVEL, &patch);
	snprintf(out, size, "%d.%d.%d", major, minor, patch);
	return true;
}

/* The version number is major * 10000 + minor * 100 + patch (six digits). */
bool cublaslt_version(char *out, size_t size)
{
	size_t version;

	if (library_open(&cublaslt_library, NULL) != STATUS_OK)
		return false;
	version = cublaslt.cublasLtGetVersion();
	snprintf(out, size, "%zu.%zu.%zu", version / 10000, version / 100 % 100, version % 100);
	return true;
}

static const struct gemm_types types[PRECISION_GEMM_COUNT] = {
	[PRECISION_FP64] = { CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F },
	[PRECISION_FP32] = { CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F },
	[PRECISION_TF32] = { CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32 },
	[PRECISION_FP16] = { CUDA_R_16F, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F },
	[PRECISION_BF16] = { CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F },
	[PRECISION_FP16_ACC16] = { CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_16F },
	[PRECISION_FP8] = { CUDA_R_8F_E4M3, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F },
	[PRECISION_INT8] = { CUDA_R_8I, CUDA_R_32I, CUDA_R_32I, CUBLAS_COMPUTE_32I },
};

const struct gemm_types *cublas_types(enum precision precision)
{
	return &types[precision];
}

cudaDataType_t cublas_result_type(const struct gemm *gemm)
{
	return gemm->wide ? CUDA_R_32F : types[gemm->precision].result;
}

void cublas_scalars_of(const struct gemm *gemm, struct gemm_scalars *out)
{
	switch (types[gemm->precision].scale) {
	case CUDA_R_64F:
		out->alpha.fp64 = gemm->alpha;
		out->beta.fp64 = gemm->beta;
		break;
	case CUDA_R_16F:
		out->alpha.fp16 = half_from_double(gemm->alpha);
		out->beta.fp16 = half_from_double(gemm->beta);
		break;
	case CUDA_R_32I:
		out->alpha.int32 = (int32_t)gemm->alpha;
		out->beta.int32 = (int32_t)gemm->beta;
		break;
	default:
		out->alpha.fp32 = (float)gemm->alpha;
		out->beta.fp32 = (float)gemm->beta;
	}
}

enum status cublas_check_device(const struct device *device, const struct gemm *gemm,
				struct error *err)
{
	if (gemm->wide && gemm->precision != PRECISION_FP16 && gemm->precision != PRECISION_BF16 &&
	    gemm->precision != PRECISION_FP8)
		return error_set(err, STATUS_INTERNAL,
				 "only FP16, BF16 and FP8 GEMMs can have wide results");
	if (device->info.capabilities & precision_capability(gemm->precision))
		return STATUS_OK;
	return error_set(err, STATUS_UNSUPPORTED,
			 "%s (%s, compute capability %d.%d) has no %s GEMM", device->info.id,
			 device->info.name, device->info.capability_major,
			 device->info.capability_minor, precision_name(gemm->precision));
}

enum status cublas_check(cublasStatus_t result, const char *call, struct error *err)
{
	enum status status = STATUS_DEVICE;

	if (result == CUBLAS_STATUS_SUCCESS)
		return STATUS_OK;
	if (result == CUBLAS_STATUS_ALLOC_FAILED)
		status = STATUS_NO_MEMORY;
	else if (result == CUBLAS_STATUS_NOT_SUPPORTED || result == CUBLAS_STATUS_ARCH_MISMATCH)
		status = STATUS_UNSUPPORTED;
	cudaGetLastError();
	return error_set(err, status, "%s: %s: %s", call, cublas.cublasGetStatusName(result),
			 cublas.cublasGetStatusString(result));
}
