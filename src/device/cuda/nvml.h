/* NVML: telemetry, and device properties that the CUDA runtime lacks. */
#ifndef GPUPROOF_DEVICE_CUDA_NVML_H
#define GPUPROOF_DEVICE_CUDA_NVML_H

#include "device/cuda/library.h"

/*
 * The part of NVML's C interface used here, so that the build does not need nvml.h. Values as in
 * NVML's API reference.
 */
typedef struct nvmlDevice_st *nvmlDevice_t;

/* nvmlReturn_t */
enum { NVML_SUCCESS = 0, NVML_ERROR_NOT_SUPPORTED = 3, NVML_ERROR_INSUFFICIENT_SIZE = 7 };
/* nvmlClockType_t */
enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2 };
/* nvmlTemperatureSensors_t */
enum { NVML_TEMPERATURE_GPU = 0 };
/* nvmlMemoryErrorType_t, nvmlEccCounterType_t */
enum { NVML_MEMORY_ERROR_TYPE_CORRECTED = 0, NVML_MEMORY_ERROR_TYPE_UNCORRECTED = 1 };
enum { NVML_VOLATILE_ECC = 0, NVML_AGGREGATE_ECC = 1 };
/* nvmlPageRetirementCause_t */
enum { NVML_RETIRED_MULTIPLE_SINGLE_BIT = 0, NVML_RETIRED_DOUBLE_BIT = 1, NVML_RETIRED_CAUSES = 2 };
/* nvmlEnableState_t */
enum { NVML_FEATURE_DISABLED = 0, NVML_FEATURE_ENABLED = 1 };
/* NVML_NVLINK_MAX_LINKS of the largest GPUs; NVML rejects higher numbers, which ends the count. */
enum { NVML_LINKS_AT_MOST = 64 };

/* nvmlNvLinkErrorCounter_t */
enum {
	NVML_NVLINK_ERROR_DL_REPLAY = 0,
	NVML_NVLINK_ERROR_DL_RECOVERY = 1,
	NVML_NVLINK_ERROR_DL_CRC_FLIT = 2,
	NVML_NVLINK_ERROR_DL_CRC_DATA = 3
};

/* nvmlEventTypeXidCriticalError */
#define NVML_EVENT_XID_CRITICAL_ERROR 0x8ULL

typedef struct nvmlEventSet_st *nvmlEventSet_t;

/* nvmlEventData_t; for an Xid event, `data` is its number. */
struct nvml_event {
	nvmlDevice_t device;
	unsigned long long type, data;
	unsigned gpu_instance, compute_instance;
};

/* NVML_FI_DEV_POWER_INSTANT: mW, since driver 530. */
#define NVML_FIELD_POWER_INSTANT 186
/* Counters of a link since NVLink 5, which lacks the older ones; `scope` is the link. */
#define NVML_FIELD_NVLINK_RECEIVE_ERRORS 208
#define NVML_FIELD_NVLINK_RECOVERIES 215
/* NVML_FI_DEV_GET_GPU_RECOVERY_ACTION, nvmlDeviceGpuRecoveryAction_t */
#define NVML_FIELD_RECOVERY_ACTION 230
enum {
	NVML_RECOVERY_NONE,
	NVML_RECOVERY_RESET,
	NVML_RECOVERY_REBOOT,
	NVML_RECOVERY_DRAIN,
	NVML_RECOVERY_DRAIN_AND_RESET,
	NVML_RECOVERY_IMEX,
	NVML_RECOVERY_ACTIONS
};
/* nvmlValueType_t */
enum { NVML_VALUE_UNSIGNED = 1, NVML_VALUE_UNSIGNED_LONG = 2, NVML_VALUE_UNSIGNED_LONG_LONG = 3 };

/* nvmlFieldValue_t, with the largest member and NVML_VALUE_TYPE_UNSIGNED_INT. */
struct nvml_field {
	unsigned id, scope;
	long long timestamp, latency_microseconds;
	int type, result;
	union {
		unsigned number;
		unsigned long long largest;
	} value;
};

/* NVML_GPU_FABRIC_STATE_* */
enum { NVML_FABRIC_NONE, NVML_FABRIC_NOT_STARTED, NVML_FABRIC_IN_PROGRESS, NVML_FABRIC_COMPLETED };
/* Parts of the health mask: shift, bits, and the value that is bad. */
enum { NVML_FABRIC_DEGRADED = 0, NVML_FABRIC_UNHEALTHY = 4, NVML_FABRIC_CONFIGURATION = 8 };

/* nvmlGpuFabricInfo_t */
struct nvml_fabric {
	unsigned char cluster[16];
	int status;
	unsigned clique;
	unsigned char state;
};

/* nvmlGpuFabricInfo_v2_t; `version` has the size of the struct in its low bits. */
struct nvml_fabric_v2 {
	unsigned version;
	unsigned char cluster[16];
	int status;
	unsigned clique;
	unsigned char state;
	unsigned health;
};

struct nvml_memory {
	unsigned long long total, free, used;
};

/* nvmlProcessInfo_t of nvmlDeviceGet*RunningProcesses_v2 and _v3 */
struct nvml_process {
	unsigned pid;
	unsigned long long used_bytes;
	unsigned gpu_instance, compute_instance;
};

struct nvml_functions {
#define NVML(required, name, parameters) int(*name) parameters;
#include "device/cuda/nvml.def"
#undef NVML
	const char *(*nvmlErrorString)(int result);
};

extern struct library nvml_library;
extern struct nvml_functions nvml;

/* Opens and initialises NVML once; STATUS_UNSUPPORTED with the reason if it is missing. */
enum status nvml_open(struct error *err);

/*
 * NVML's handle of the device at the PCI address, not of the same index, because
 * CUDA_VISIBLE_DEVICES renumbers CUDA's devices. NULL: unknown.
 */
nvmlDevice_t nvml_device(const char *pci);

/* Number of NVLink links that the device has, and how many of them are active. */
unsigned nvml_links(nvmlDevice_t device, unsigned *active);

/* True if the driver's NVML has the function and it succeeds for this device. */
#define NVML_OK(function, ...) (nvml.function && nvml.function(__VA_ARGS__) == NVML_SUCCESS)

#endif
