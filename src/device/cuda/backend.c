/* Table of the CUDA backend; the operations are in the other files. */
#include "device/cuda/cuda_backend.h"

#include <string.h>

#include "base/memory.h"

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
