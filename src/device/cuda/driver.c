#include "device/cuda/driver.h"

#include "base/memory.h"
#include "base/units.h"
#include "device/cuda/cuda_kernel.h"

struct driver_functions driver;

static const struct library_symbol symbols[] = {
#define DRIVER(name) { #name, offsetof(struct driver_functions, name), true },
#include "device/cuda/driver.def"
#undef DRIVER
	{ "cuStreamWaitValue32_v2", offsetof(struct driver_functions, cuStreamWaitValue32_v2),
	  false },
	{ "cuStreamWriteValue32_v2", offsetof(struct driver_functions, cuStreamWriteValue32_v2),
	  false },
	{ "cuTensorMapEncodeTiled", offsetof(struct driver_functions, tensor_map_encode), false },
};

struct library driver_library = {
	.name = "CUDA driver",
	.soname = "libcuda.so.1",
	.cost = "the allocator vmm is not available",
	.symbols = symbols,
	.symbol_count = ARRAY_SIZE(symbols),
	.functions = &driver,
};

void *cuda_driver_tensor_map_encoder(void)
{
	struct error ignored = ERROR_NONE;

	return library_open(&driver_library, &ignored) == STATUS_OK ? driver.tensor_map_encode
								    : NULL;
}

enum status driver_check(CUresult code, const char *call, size_t bytes, struct error *err)
{
	const char *name = "unknown error";
	enum status status = STATUS_DEVICE;
	char size[32];

	if (code == CUDA_SUCCESS)
		return STATUS_OK;
	if (code == CUDA_ERROR_OUT_OF_MEMORY)
		status = STATUS_NO_MEMORY;
	else if (code == CUDA_ERROR_NOT_SUPPORTED || code == CUDA_ERROR_NOT_PERMITTED)
		status = STATUS_UNSUPPORTED;
	driver.cuGetErrorName(code, &name);
	return error_set(err, status, "%s(%s): %s", call, units_size(bytes, size, sizeof(size)),
			 name);
}
