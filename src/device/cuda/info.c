/*
 * Device properties that need no context: nothing here may call cudaSetDevice or query free memory
 * through the runtime, or listing devices would use hundreds of MiB on each.
 */
#include "device/cuda/cuda_backend.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "device/architecture.h"
#include "device/cuda/dnn/cudnn.h"
#include "device/cuda/nvml.h"
#include "device/cuda/ranks/nccl.h"

/* The attribute, or `otherwise` if the toolkit or driver returns an error. */
static int cuda_info_device_attribute_or(int index, enum cudaDeviceAttr which, int otherwise)
{
	int value = otherwise;

	if (cudaDeviceGetAttribute(&value, which, index) != cudaSuccess) {
		cudaGetLastError();
		return otherwise;
	}
	return value;
}

static void cuda_info_format_uuid(const cudaUUID_t *uuid, char *out, size_t size)
{
	const unsigned char *b = (const unsigned char *)uuid->bytes;

	snprintf(out, size,
		 "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0],
		 b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
		 b[14], b[15]);
}

static int cuda_info_pci_numa_node(const char *pci)
{
	char path[128];
	int node = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/numa_node", pci);
	f = fopen(path, "re");
	if (!f)
		return -1;
	if (fscanf(f, "%d", &node) != 1)
		node = -1;
	fclose(f);
	return node;
}

static unsigned cuda_info_capabilities(const struct device_info *info)
{
	int capability = architecture_capability_number(info);
	unsigned mask = architecture_capabilities(capability) | device_implied_capabilities(info);

	if (cuda_info_device_attribute_or(info->index, cudaDevAttrIntegrated, 0))
		mask |= DEVICE_SHARES_HOST_MEMORY;
	/* An emulated device before Pascal has none, so that the code without pools is tested. */
	if (cuda_info_device_attribute_or(info->index, cudaDevAttrMemoryPoolsSupported, 0) &&
	    !(cuda_device_emulated_capability() && capability < 60))
		mask |= DEVICE_HAS_POOLS;
	/* Without NCCL, collectives copy through host memory. */
	if (nccl_serves(capability, NULL) == STATUS_OK ||
	    cuda_info_device_attribute_or(info->index, cudaDevAttrHostRegisterSupported, 0))
		mask |= DEVICE_HAS_COLLECTIVES;
	if (cudnn_serves(capability, NULL) == STATUS_OK)
		mask |= DEVICE_HAS_CONVOLUTIONS;
	if (CUDA_HAS_WGMMA && capability == 90)
		mask |= DEVICE_HAS_WGMMA;
	return mask;
}

/*
 * Sets the code paths of another capability; the code itself is what the module has for the device.
 */
static void cuda_info_emulate_capability(struct device_info *info, int capability)
{
	snprintf(info->emulated_on, sizeof(info->emulated_on), "%d.%d", info->capability_major,
		 info->capability_minor);
	info->capability_major = capability / 10;
	info->capability_minor = capability % 10;
	/* Marked in the name, so that no table attributes its values to the real model. */
	snprintf(info->name + strlen(info->name), sizeof(info->name) - strlen(info->name),
		 " (code of %d.%d)", info->capability_major, info->capability_minor);
}

static void cuda_info_ask_nvml(struct device_info *info)
{
	nvmlDevice_t device = nvml_device(info->pci);
	struct nvml_memory memory;
	unsigned value, links;
	int mode, pending;

	if (!device)
		return;
	if (NVML_OK(nvmlDeviceGetMemoryInfo, device, &memory))
		info->memory_free_bytes = memory.free;
	if (NVML_OK(nvmlDeviceGetCurrPcieLinkGeneration, device, &value))
		info->pcie_generation = (int)value;
	if (NVML_OK(nvmlDeviceGetCurrPcieLinkWidth, device, &value))
		info->pcie_width = (int)value;
	if (NVML_OK(nvmlDeviceGetMaxPcieLinkGeneration, device, &value))
		info->pcie_generation_max = (int)value;
	if (NVML_OK(nvmlDeviceGetMaxPcieLinkWidth, device, &value))
		info->pcie_width_max = (int)value;
	info->ecc = NVML_OK(nvmlDeviceGetEccMode, device, &mode, &pending)
			    ? mode == NVML_FEATURE_ENABLED
			    : -1;
	nvml_links(device, &links);
	info->nvlink_count = (int)links;
	if (!NVML_OK(nvmlDeviceGetSerial, device, info->serial, sizeof(info->serial)))
		info->serial[0] = '\0';
	if (!NVML_OK(nvmlDeviceGetVbiosVersion, device, info->vbios, sizeof(info->vbios)))
		info->vbios[0] = '\0';
}

static void cuda_info_ask_runtime(struct device_info *info, const struct cudaDeviceProp *p)
{
	int index = info->index;

	snprintf(info->name, sizeof(info->name), "%.127s", p->name);
	cuda_info_format_uuid(&p->uuid, info->uuid, sizeof(info->uuid));
	if (cudaDeviceGetPCIBusId(info->pci, sizeof(info->pci), info->index) != cudaSuccess) {
		cudaGetLastError();
		info->pci[0] = '\0';
	}
	for (char *c = info->pci; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	info->capability_major = p->major;
	info->capability_minor = p->minor;
	if (cuda_device_emulated_capability())
		cuda_info_emulate_capability(info, cuda_device_emulated_capability());
	info->multiprocessors = p->multiProcessorCount;
	info->memory_bytes = p->totalGlobalMem;
	info->l2_bytes = (uint64_t)cuda_info_device_attribute_or(index, cudaDevAttrL2CacheSize, 0);
	info->clock_hz = 1e3 * cuda_info_device_attribute_or(index, cudaDevAttrClockRate, 0);
	info->memory_clock_hz =
		1e3 * cuda_info_device_attribute_or(index, cudaDevAttrMemoryClockRate, 0);
	info->memory_bus_bits =
		cuda_info_device_attribute_or(index, cudaDevAttrGlobalMemoryBusWidth, 0);
	info->ecc = cuda_info_device_attribute_or(index, cudaDevAttrEccEnabled, -1);
	info->numa_node = cuda_info_pci_numa_node(info->pci);
	info->capabilities = cuda_info_capabilities(info);
	for (int peer = 0; peer < cuda_device_count(); peer++) {
		int can = 0;

		if (peer == index)
			continue;
		if (cudaDeviceCanAccessPeer(&can, index, peer) != cudaSuccess)
			cudaGetLastError();
		else if (can)
			device_bits_add(&info->peers, peer);
	}
}

enum status cuda_device_info(int index, struct device_info *out, struct error *err)
{
	struct cudaDeviceProp properties;
	enum status status;

	memset(out, 0, sizeof(*out));
	if (index < 0 || index >= cuda_device_count())
		return error_set(err, STATUS_USAGE, "no device cuda:%d; there are %d", index,
				 cuda_device_count());
	status = CUDA_CALL(err, cudaGetDeviceProperties, &properties, index);
	if (status != STATUS_OK)
		return status;
	snprintf(out->id, sizeof(out->id), "cuda:%d", index);
	snprintf(out->backend, sizeof(out->backend), "cuda");
	snprintf(out->module, sizeof(out->module), "%s", GPUPROOF_CUDA_MODULE);
	out->index = index;
	cuda_info_ask_runtime(out, &properties);
	cuda_info_ask_nvml(out);
	return STATUS_OK;
}
