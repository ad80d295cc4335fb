/*
 * What doctor says about the GPUs themselves: permissions, persistence mode, compute mode, other
 * processes.
 */
#include "device/cuda/cuda_backend.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "device/cuda/nvml.h"

struct findings {
	struct finding *out;
	size_t count, capacity;
};

static void add(struct findings *list, enum severity severity, const char *topic, const char *about,
		const char *format, ...) __attribute__((format(printf, 5, 6)));

static void add(struct findings *list, enum severity severity, const char *topic, const char *about,
		const char *format, ...)
{
	struct finding *f = &list->out[list->count];
	va_list ap;

	if (list->count == list->capacity)
		return;
	list->count++;
	f->severity = severity;
	snprintf(f->subject, sizeof(f->subject), "%s %s", topic, about);
	va_start(ap, format);
	vsnprintf(f->text, sizeof(f->text), format, ap);
	va_end(ap);
}

static void check_permissions(struct findings *list)
{
	static const char *const nodes[] = { "/dev/nvidiactl", "/dev/nvidia-uvm" };

	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		if (access(nodes[i], R_OK | W_OK) == 0)
			add(list, SEVERITY_OK, "permissions", nodes[i], "may be read and written");
		else
			add(list, SEVERITY_WARNING, "permissions", nodes[i],
			    "%s: device calls may fail", strerror(errno));
	}
}

static void check_persistence(struct findings *list, const struct device_info *info,
			      nvmlDevice_t device)
{
	int mode = NVML_FEATURE_DISABLED;

	if (!NVML_OK(nvmlDeviceGetPersistenceMode, device, &mode))
		add(list, SEVERITY_NOTE, "persistence", info->id,
		    "NVML does not tell for this device");
	else if (mode == NVML_FEATURE_ENABLED)
		add(list, SEVERITY_OK, "persistence", info->id, "on");
	else
		add(list, SEVERITY_NOTE, "persistence", info->id,
		    "off: the first call after idling starts the device, which takes a second or "
		    "more; "
		    "nvidia-smi -pm 1 (root) keeps it up");
}

static void check_compute_mode(struct findings *list, const struct device_info *info)
{
	int mode = cudaComputeModeDefault;

	if (cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, info->index) != cudaSuccess) {
		cudaGetLastError();
		return;
	}
	if (mode == cudaComputeModeProhibited)
		add(list, SEVERITY_ERROR, "compute mode", info->id,
		    "prohibited: no process may use it; nvidia-smi -c DEFAULT (root) allows it");
	else if (mode != cudaComputeModeDefault)
		add(list, SEVERITY_NOTE, "compute mode", info->id,
		    "exclusive: one process at a time");
}

static bool running_processes(nvmlDevice_t device, unsigned *count, struct nvml_process *processes)
{
	unsigned capacity = *count;

	if (NVML_OK(nvmlDeviceGetComputeRunningProcesses_v3, device, count, processes))
		return true;
	*count = capacity;
	return NVML_OK(nvmlDeviceGetComputeRunningProcesses_v2, device, count, processes);
}

static void check_processes(struct findings *list, const struct device_info *info,
			    nvmlDevice_t device)
{
	struct nvml_process processes[64];
	unsigned count = ARRAY_SIZE(processes), others = 0;
	struct text pids = TEXT_EMPTY;

	if (!running_processes(device, &count, processes)) {
		add(list, SEVERITY_NOTE, "processes", info->id,
		    "NVML does not tell who uses the device");
		return;
	}
	for (unsigned i = 0; i < count; i++) {
		if (processes[i].pid == (unsigned)getpid())
			continue;
		text_addf(&pids, "%s%u", others++ ? ", " : "", processes[i].pid);
	}
	if (others)
		add(list, SEVERITY_WARNING, "processes", info->id,
		    "%u other %s compute on it (pid %s): measurements will be disturbed", others,
		    others == 1 ? "process may" : "processes may", pids.data);
	else
		add(list, SEVERITY_OK, "processes", info->id, "no other process computes on it");
	text_release(&pids);
}

static void check_memory(struct findings *list, const struct device_info *info)
{
	char used[32], total[32];

	if (!info->memory_free_bytes || info->memory_free_bytes >= info->memory_bytes / 10 * 9)
		return;
	add(list, SEVERITY_NOTE, "memory", info->id, "%s of %s are in use already",
	    units_format((double)(info->memory_bytes - info->memory_free_bytes), "B", used,
			 sizeof(used)),
	    units_format((double)info->memory_bytes, "B", total, sizeof(total)));
}

size_t cuda_findings(struct finding *out, size_t capacity)
{
	struct findings list = { out, 0, capacity };

	check_permissions(&list);
	for (int i = 0; i < cuda_device_count(); i++) {
		struct device_info info;
		nvmlDevice_t device;

		if (cuda_device_info(i, &info, NULL) != STATUS_OK)
			continue;
		check_compute_mode(&list, &info);
		check_memory(&list, &info);
		device = nvml_device(info.pci);
		if (!device)
			continue;
		check_persistence(&list, &info, device);
		check_processes(&list, &info, device);
	}
	return list.count;
}
