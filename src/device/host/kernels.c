/* The host backend's kernels by name. */
#include <string.h>

#include "base/memory.h"
#include "device/host/host_kernel.h"

static const struct {
	const char *name;
	kernel_fn *launch;
} kernels[] = {
#define KERNEL(op) { #op, kernel_host_##op },
#include "kernels/kernels.def"
#undef KERNEL
};

kernel_fn *host_kernel(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(kernels); i++)
		if (strcmp(name, kernels[i].name) == 0)
			return kernels[i].launch;
	return NULL;
}
