/* Table of the CUDA backend; the operations are in the other files. */
#include "device/cuda/cuda_backend.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "device/cuda/blas/cublas.h"
#include "device/cuda/dnn/cudnn.h"
#include "device/cuda/nvml.h"
#include "device/cuda/ranks/nccl.h"

/* Software that the backend found, for reports (facts) and for doctor (components). */
typedef bool version_fn(char *out, size_t size);

/* CUDA's version numbers: 13000 is 13.0. */
static bool cuda_backend_number(int version, char *out, size_t size)
{
	if (version <= 0)
		return false;
	snprintf(out, size, "%d.%d", version / 1000, version % 1000 / 10);
	return true;
}

/* NVML reports the driver version; without NVML only the newest supported CUDA version is known. */
static bool cuda_backend_nvml_driver_version(char *out, size_t size)
{
	return nvml_open(NULL) == STATUS_OK &&
	       nvml.nvmlSystemGetDriverVersion(out, (unsigned)size) == NVML_SUCCESS;
}

static bool cuda_backend_driver_api_version(char *out, size_t size)
{
	int version = 0;

	if (cudaDriverGetVersion(&version) != cudaSuccess)
		cudaGetLastError();
	return cuda_backend_number(version, out, size);
}

/*
 * The runtime is linked statically, so its version is the toolkit's; before 12 it reports none
 * without a driver.
 */
static bool cuda_backend_runtime_version(char *out, size_t size)
{
	return cuda_backend_number(CUDART_VERSION, out, size);
}

static bool cuda_backend_components_found_cudnn(char *out, size_t size)
{
	if (library_open(&cudnn_library, NULL) != STATUS_OK)
		return false;
	cudnn_version(out, size);
	return true;
}

static bool cuda_backend_components_found_nvml(char *out, size_t size)
{
	if (nvml_open(NULL) != STATUS_OK)
		return false;
	if (!NVML_OK(nvmlSystemGetNVMLVersion, out, (unsigned)size))
		out[0] = '\0';
	return true;
}

/* One row per software component. `fact`: its name in results; NULL: not in results. */
static const struct {
	const char *name, *fact;
	version_fn *version;
	const struct library *library; /* NULL: not a separate library */
	const char *detail;            /* of those */
} pieces[] = {
	{ "NVIDIA driver", "driver", cuda_backend_nvml_driver_version, NULL,
	  "kernel driver, from NVML" },
	{ "CUDA driver API", "cuda_driver", cuda_backend_driver_api_version, NULL,
	  "newest CUDA version that the driver supports" },
	{ "CUDA runtime", "cuda_runtime", cuda_backend_runtime_version, NULL,
	  "linked into module " GPUPROOF_CUDA_MODULE },
	{ "cuBLAS", "cublas", cublas_version, &cublas_library, NULL },
	{ "cuBLASLt", NULL, cublaslt_version, &cublaslt_library, NULL },
	{ "cuDNN", "cudnn", cuda_backend_components_found_cudnn, &cudnn_library, NULL },
	{ "NCCL", "nccl", nccl_version, &nccl_library, NULL },
	{ "NVML", NULL, cuda_backend_components_found_nvml, &nvml_library, NULL },
};

void cuda_facts(fact_fn *add, void *context)
{
	char version[80];

	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++)
		if (pieces[i].fact && pieces[i].version(version, sizeof(version)))
			add(context, pieces[i].fact, version);
}

size_t cuda_components(struct component *out, size_t capacity)
{
	size_t count = ARRAY_SIZE(pieces) < capacity ? ARRAY_SIZE(pieces) : capacity;

	for (size_t i = 0; i < count; i++) {
		const struct library *library = pieces[i].library;
		struct component *c = &out[i];

		memset(c, 0, sizeof(*c));
		snprintf(c->name, sizeof(c->name), "%s", pieces[i].name);
		c->present = pieces[i].version(c->version, sizeof(c->version));
		if (!c->present)
			c->version[0] = '\0';
		if (library && !c->present)
			snprintf(c->detail, sizeof(c->detail), "%.150s; %.100s", library->reason,
				 library->cost);
		else
			snprintf(c->detail, sizeof(c->detail), "%s",
				 !c->present ? "version cannot be read"
				 : library   ? library->path
					     : pieces[i].detail);
	}
	return count;
}

/*
 * Records code paths at each launch; the worker reads them after each case, and so does
 * gpuproof-gpu-check.
 */
static struct code_path taken[128];
static size_t taken_count;

void cuda_backend_path(const char *kernel, const char *path)
{
	/* Texts are literals, so the pointers are usually equal. */
	for (size_t i = 0; i < taken_count; i++)
		if (taken[i].kernel == kernel && taken[i].path == path)
			return;
	for (size_t i = 0; i < taken_count; i++)
		if (strcmp(taken[i].kernel, kernel) == 0 && strcmp(taken[i].path, path) == 0)
			return;
	if (taken_count < ARRAY_SIZE(taken))
		taken[taken_count++] = (struct code_path){ kernel, path };
}

size_t cuda_paths(struct code_path *out, size_t capacity)
{
	size_t count = taken_count < capacity ? taken_count : capacity;

	memcpy(out, taken, count * sizeof(*out));
	taken_count = 0;
	return count;
}

#define KERNEL_HOST(name)
#define KERNEL_CUDA(name) KERNEL(name)

#define KERNEL(name) kernel_fn kernel_cuda_##name;
#include "kernels/kernels.def"
#undef KERNEL

static const struct {
	const char *name;
	kernel_fn *launch;
} kernels[] = {
#define KERNEL(name) { #name, kernel_cuda_##name },
#include "kernels/kernels.def"
#undef KERNEL
};

kernel_fn *cuda_kernel(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(kernels); i++)
		if (strcmp(kernels[i].name, name) == 0)
			return kernels[i].launch;
	return NULL;
}

enum status cuda_open(const struct backend_options *options, struct error *err)
{
	return cuda_devices_find(options ? options->emulate_capability : 0, err);
}

/* The context lives as long as its process, a short-lived worker. */
void cuda_close(void)
{
}

extern const struct backend gpuproof_backend;
__attribute__((visibility("default"))) const struct backend gpuproof_backend = {
	.abi = BACKEND_ABI,
	.name = "cuda",
	.module = GPUPROOF_CUDA_MODULE,
#define FUNCTION(result, name, parameters) .name = cuda_##name,
#include "device/backend.def"
};
