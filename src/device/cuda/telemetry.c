/* State of a device at one moment, from NVML. */
#include "device/cuda/cuda_backend.h"

#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "device/cuda/nvml.h"
#include "device/xid.h"

static double cuda_telemetry_clock_hz(nvmlDevice_t device, int type)
{
	unsigned mhz;

	return NVML_OK(nvmlDeviceGetClockInfo, device, type, &mhz) ? 1e6 * mhz : (double)NAN;
}

static int64_t cuda_telemetry_ecc_errors(nvmlDevice_t device, int type)
{
	unsigned long long count;

	return NVML_OK(nvmlDeviceGetTotalEccErrors, device, type, NVML_VOLATILE_ECC, &count)
		       ? (int64_t)count
		       : -1;
}

/*
 * Replays, recoveries and CRC errors of every active link. Newer generations count some of them
 * elsewhere: a counter that the driver does not know adds nothing; -1 if it knows none.
 */
static int64_t cuda_telemetry_nvlink_errors(nvmlDevice_t device)
{
	static const int counters[] = { NVML_NVLINK_ERROR_DL_REPLAY, NVML_NVLINK_ERROR_DL_RECOVERY,
					NVML_NVLINK_ERROR_DL_CRC_FLIT,
					NVML_NVLINK_ERROR_DL_CRC_DATA };
	int64_t sum = -1;

	for (unsigned link = 0; link < NVML_LINKS_AT_MOST; link++) {
		int active = 0;

		if (!NVML_OK(nvmlDeviceGetNvLinkState, device, link, &active))
			break;
		for (size_t i = 0; active && i < sizeof(counters) / sizeof(counters[0]); i++) {
			unsigned long long count;

			if (NVML_OK(nvmlDeviceGetNvLinkErrorCounter, device, link, counters[i],
				    &count))
				sum = (sum < 0 ? 0 : sum) + (int64_t)count;
		}
	}
	return sum;
}

/*
 * NVML has no counter of Xid errors, only events from registration on: they are counted from the
 * first call for a device. If the driver sends no events (some containers, virtual GPUs), the count
 * stays unknown.
 */
static void cuda_telemetry_ask_xid_errors(int index, nvmlDevice_t device, struct telemetry *out)
{
	static struct {
		nvmlEventSet_t set;
		int64_t count; /* -1: no events */
		int64_t worst;
		bool asked;
	} xids[64];
	struct nvml_event event;

	if (index < 0 || index >= (int)ARRAY_SIZE(xids))
		return;
	if (!xids[index].asked) {
		bool there = NVML_OK(nvmlEventSetCreate, &xids[index].set) &&
			     NVML_OK(nvmlDeviceRegisterEvents, device,
				     NVML_EVENT_XID_CRITICAL_ERROR, xids[index].set);

		xids[index].asked = true;
		xids[index].count = xids[index].worst = there ? 0 : -1;
	}
	while (xids[index].count >= 0 && NVML_OK(nvmlEventSetWait_v2, xids[index].set, &event, 0)) {
		if (event.type != NVML_EVENT_XID_CRITICAL_ERROR)
			continue;
		xids[index].count++;
		xids[index].worst = xid_worse(xids[index].worst, (int64_t)event.data);
	}
	out->xid_errors = xids[index].count;
	out->xid = (int)xids[index].worst;
}

static enum status cuda_telemetry_find_device(struct device *device, nvmlDevice_t *handle,
					      struct error *err)
{
	if (nvml_open(err) != STATUS_OK)
		return STATUS_UNSUPPORTED;
	*handle = nvml_device(device->info.pci);
	if (*handle)
		return STATUS_OK;
	return error_set(err, STATUS_UNSUPPORTED, "NVML does not find the device at PCI address %s",
			 device->info.pci);
}

/*
 * NVML's older power function returns a mean over 1 s from Ampere on, except GA100
 * (nvmlDeviceGetPowerUsage); the field returns the sensor's value.
 */
#define POWER_MEAN_SECONDS 1.0
#define POWER_UPDATE_SECONDS 0.1

static void cuda_telemetry_ask_power(nvmlDevice_t handle, const struct device_info *info,
				     struct telemetry *out)
{
	struct nvml_field field = { .id = NVML_FIELD_POWER_INSTANT };
	bool mean = info->capability_major > 8 ||
		    (info->capability_major == 8 && info->capability_minor > 0);
	unsigned milliwatts;

	out->power_window_seconds = POWER_UPDATE_SECONDS;
	if (NVML_OK(nvmlDeviceGetFieldValues, handle, 1, &field) && field.result == NVML_SUCCESS &&
	    field.type == NVML_VALUE_UNSIGNED && field.value.number > 0) {
		out->power_watts = 1e-3 * field.value.number;
	} else if (NVML_OK(nvmlDeviceGetPowerUsage, handle, &milliwatts)) {
		out->power_watts = 1e-3 * milliwatts;
		out->power_window_seconds = mean ? POWER_MEAN_SECONDS : POWER_UPDATE_SECONDS;
	}
}

static void cuda_telemetry_ask_quick(nvmlDevice_t handle, const struct device_info *info,
				     struct telemetry *out)
{
	unsigned long long mask;
	unsigned value;

	telemetry_unknown(out);
	out->sm_clock_hz = cuda_telemetry_clock_hz(handle, NVML_CLOCK_SM);
	out->memory_clock_hz = cuda_telemetry_clock_hz(handle, NVML_CLOCK_MEM);
	cuda_telemetry_ask_power(handle, info, out);
	out->temperature_celsius =
		NVML_OK(nvmlDeviceGetTemperature, handle, NVML_TEMPERATURE_GPU, &value)
			? value
			: (double)NAN;
	/* Newer drivers call throttle reasons "event reasons"; the bits are the same. */
	out->throttle_reasons =
		NVML_OK(nvmlDeviceGetCurrentClocksEventReasons, handle, &mask) ||
				NVML_OK(nvmlDeviceGetCurrentClocksThrottleReasons, handle, &mask)
			? (int64_t)mask
			: -1;
}

enum status cuda_telemetry_quick(struct device *device, struct telemetry *out, struct error *err)
{
	nvmlDevice_t handle;
	enum status status = cuda_telemetry_find_device(device, &handle, err);

	if (status == STATUS_OK)
		cuda_telemetry_ask_quick(handle, &device->info, out);
	return status;
}

enum status cuda_telemetry(struct device *device, struct telemetry *out, struct error *err)
{
	nvmlDevice_t handle;
	unsigned value;
	enum status status = cuda_telemetry_find_device(device, &handle, err);

	if (status != STATUS_OK)
		return status;
	cuda_telemetry_ask_quick(handle, &device->info, out);
	out->ecc_corrected = cuda_telemetry_ecc_errors(handle, NVML_MEMORY_ERROR_TYPE_CORRECTED);
	out->ecc_uncorrected =
		cuda_telemetry_ecc_errors(handle, NVML_MEMORY_ERROR_TYPE_UNCORRECTED);
	cuda_telemetry_ask_xid_errors(device->info.index, handle, out);
	out->pcie_generation =
		NVML_OK(nvmlDeviceGetCurrPcieLinkGeneration, handle, &value) ? (int64_t)value : -1;
	out->pcie_width =
		NVML_OK(nvmlDeviceGetCurrPcieLinkWidth, handle, &value) ? (int64_t)value : -1;
	out->pcie_replays =
		NVML_OK(nvmlDeviceGetPcieReplayCounter, handle, &value) ? (int64_t)value : -1;
	return STATUS_OK;
}

enum status cuda_link_errors(struct device *device, int64_t *out, struct error *err)
{
	nvmlDevice_t handle;
	enum status status = cuda_telemetry_find_device(device, &handle, err);

	if (status == STATUS_OK)
		*out = cuda_telemetry_nvlink_errors(handle);
	return status;
}

/*
 * NVML counts in mJ, but updates the counter only every 20 ms (Volta) to 100 ms (Hopper), at
 * unknown times.
 */
#define COUNTER_UPDATE_SECONDS 0.1

enum status cuda_energy(struct device *device, struct energy *out, struct error *err)
{
	nvmlDevice_t handle;
	unsigned long long millijoules;

	if (cuda_telemetry_find_device(device, &handle, err) != STATUS_OK)
		return err->status;
	if (!NVML_OK(nvmlDeviceGetTotalEnergyConsumption, handle, &millijoules))
		return error_set(err, STATUS_UNSUPPORTED,
				 "%s has no energy counter (NVML has one for Volta and newer)",
				 device->info.id);
	*out = (struct energy){ .joules = 1e-3 * (double)millijoules,
				.update_seconds = COUNTER_UPDATE_SECONDS };
	snprintf(out->domain, sizeof(out->domain), "%s",
		 device->info.uuid[0] ? device->info.uuid : device->info.pci);
	snprintf(out->source, sizeof(out->source), "NVML's energy counter");
	return STATUS_OK;
}
