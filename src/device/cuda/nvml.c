#include "device/cuda/nvml.h"

#include "base/memory.h"

struct nvml_functions nvml;

static const struct library_symbol symbols[] = {
#define NVML(required, name, parameters) { #name, offsetof(struct nvml_functions, name), required },
#include "device/cuda/nvml.def"
#undef NVML
	{ "nvmlErrorString", offsetof(struct nvml_functions, nvmlErrorString), true },
};

struct library nvml_library = {
	.name = "NVML",
	.soname = "libnvidia-ml.so.1",
	.cost = "telemetry (clocks, power, temperature, throttling, ECC) and the state of PCIe and "
		"NVLink are not available",
	.symbols = symbols,
	.symbol_count = ARRAY_SIZE(symbols),
	.functions = &nvml,
};

enum status nvml_open(struct error *err)
{
	static bool initialised;

	if (!initialised && library_open(&nvml_library, NULL) == STATUS_OK) {
		int result = nvml.nvmlInit_v2();

		initialised = true;
		if (result != NVML_SUCCESS)
			library_refuse(&nvml_library, "nvmlInit_v2: %s",
				       nvml.nvmlErrorString(result));
	}
	return library_open(&nvml_library, err);
}

nvmlDevice_t nvml_device(const char *pci)
{
	nvmlDevice_t device = NULL;

	if (nvml_open(NULL) != STATUS_OK ||
	    nvml.nvmlDeviceGetHandleByPciBusId_v2(pci, &device) != NVML_SUCCESS)
		return NULL;
	return device;
}
