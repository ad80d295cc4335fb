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
	nvmlDevice_t device;

	return nvml_open(NULL) == STATUS_OK &&
			       NVML_OK(nvmlDeviceGetHandleByPciBusId_v2, pci, &device)
		       ? device
		       : NULL;
}

unsigned nvml_links(nvmlDevice_t device, unsigned *active)
{
	unsigned links = 0;
	int state;

	*active = 0;
	while (links < NVML_LINKS_AT_MOST &&
	       NVML_OK(nvmlDeviceGetNvLinkState, device, links, &state)) {
		*active += state == NVML_FEATURE_ENABLED;
		links++;
	}
	return links;
}
