/*
 * Findings of doctor, and of an acceptance run before and after, about the GPUs themselves:
 * permissions, persistence mode, compute mode, other processes, memory errors and what was done
 * about them, power cap, clocks, NVLink.
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

struct gpu_findings {
	struct finding *out;
	size_t count, capacity;
};

static void gpu_finding_add(struct gpu_findings *list, enum severity severity, const char *topic,
			    const char *about, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

static void gpu_finding_add(struct gpu_findings *list, enum severity severity, const char *topic,
			    const char *about, const char *format, ...)
{
	struct finding *f = &list->out[list->count];
	va_list ap;

	if (list->count == list->capacity)
		return;
	list->count++;
	f->severity = severity;
	if (*about == '/')
		finding_set_subject(f, topic, about);
	else
		finding_set_device(f, topic, about);
	va_start(ap, format);
	vsnprintf(f->text, sizeof(f->text), format, ap);
	va_end(ap);
}

static void check_permissions(struct gpu_findings *list)
{
	static const char *const nodes[] = { "/dev/nvidiactl", "/dev/nvidia-uvm" };

	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		if (access(nodes[i], R_OK | W_OK) == 0)
			gpu_finding_add(list, SEVERITY_OK, "permissions", nodes[i],
					"may be read and written");
		else
			gpu_finding_add(list, SEVERITY_WARNING, "permissions", nodes[i],
					"%s: device calls may fail", strerror(errno));
	}
}

static void check_persistence(struct gpu_findings *list, const struct device_info *info,
			      nvmlDevice_t device)
{
	int mode = NVML_FEATURE_DISABLED;

	if (!NVML_OK(nvmlDeviceGetPersistenceMode, device, &mode))
		gpu_finding_add(list, SEVERITY_NOTE, "persistence", info->id,
				"NVML does not report it for this device");
	else if (mode == NVML_FEATURE_ENABLED)
		gpu_finding_add(list, SEVERITY_OK, "persistence", info->id, "on");
	else
		gpu_finding_add(list, SEVERITY_NOTE, "persistence", info->id,
				"off: the first call after idling starts the device, which takes a "
				"second or "
				"more; nvidia-smi -pm 1 (root) keeps it up");
}

static void gpu_check_compute_mode(struct gpu_findings *list, const struct device_info *info)
{
	int mode = cudaComputeModeDefault;

	if (cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, info->index) != cudaSuccess) {
		cudaGetLastError();
		return;
	}
	if (mode == cudaComputeModeProhibited)
		gpu_finding_add(list, SEVERITY_ERROR, "compute mode", info->id,
				"prohibited: no process may use it; nvidia-smi -c DEFAULT (root) "
				"allows it");
	else if (mode != cudaComputeModeDefault)
		gpu_finding_add(list, SEVERITY_NOTE, "compute mode", info->id,
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

static void check_processes(struct gpu_findings *list, const struct device_info *info,
			    nvmlDevice_t device)
{
	struct nvml_process processes[64];
	unsigned count = ARRAY_SIZE(processes), others = 0;
	struct text pids = TEXT_EMPTY;

	if (!running_processes(device, &count, processes)) {
		gpu_finding_add(list, SEVERITY_NOTE, "processes", info->id,
				"NVML does not report which processes use the device");
		return;
	}
	for (unsigned i = 0; i < count; i++) {
		if (processes[i].pid == (unsigned)getpid())
			continue;
		text_addf(&pids, "%s%u", others++ ? ", " : "", processes[i].pid);
	}
	if (others)
		gpu_finding_add(list, SEVERITY_WARNING, "processes", info->id,
				"%u other %s compute on it (pid %s): measurements will be "
				"disturbed",
				others, others == 1 ? "process may" : "processes may", pids.data);
	else
		gpu_finding_add(list, SEVERITY_OK, "processes", info->id,
				"no other process computes on it");
	text_release(&pids);
}

static void gpu_check_memory(struct gpu_findings *list, const struct device_info *info)
{
	char used[32], total[32];

	if (!info->memory_free_bytes || info->memory_free_bytes >= info->memory_bytes / 10 * 9)
		return;
	gpu_finding_add(list, SEVERITY_NOTE, "memory", info->id, "%s of %s are in use already",
			units_format((double)(info->memory_bytes - info->memory_free_bytes), "B",
				     used, sizeof(used)),
			units_format((double)info->memory_bytes, "B", total, sizeof(total)));
}

static bool gpu_ecc_count(nvmlDevice_t device, int type, int counter, unsigned long long *count)
{
	return NVML_OK(nvmlDeviceGetTotalEccErrors, device, type, counter, count);
}

/* Since the driver was loaded (volatile), and in the life of the board (aggregate). */
static void gpu_check_ecc_errors(struct gpu_findings *list, const struct device_info *info,
				 nvmlDevice_t device)
{
	unsigned long long now = 0, ever = 0, corrected = 0, ever_corrected = 0;

	if (!gpu_ecc_count(device, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC, &now) ||
	    !gpu_ecc_count(device, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_AGGREGATE_ECC, &ever) ||
	    !gpu_ecc_count(device, NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_VOLATILE_ECC,
			   &corrected) ||
	    !gpu_ecc_count(device, NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_AGGREGATE_ECC,
			   &ever_corrected))
		return;
	gpu_finding_add(list,
			now              ? SEVERITY_ERROR
			: ever           ? SEVERITY_WARNING
			: ever_corrected ? SEVERITY_NOTE
					 : SEVERITY_OK,
			"ecc errors", info->id,
			"uncorrected %llu since the driver was loaded, %llu ever; corrected %llu, "
			"%llu ever",
			now, ever, corrected, ever_corrected);
}

/* Boards before Ampere retire pages, later ones remap rows. */
static void gpu_check_pages(struct gpu_findings *list, const struct device_info *info,
			    nvmlDevice_t device)
{
	unsigned count, total = 0;
	bool known = false;

	for (int cause = 0; cause < NVML_RETIRED_CAUSES; cause++) {
		/* asks how many there are: too many for no room at all is an answer, too */
		count = 0;
		if (!nvml.nvmlDeviceGetRetiredPages)
			return;
		switch (nvml.nvmlDeviceGetRetiredPages(device, cause, &count, NULL)) {
		case NVML_SUCCESS:
		case NVML_ERROR_INSUFFICIENT_SIZE:
			known = true;
			total += count;
			break;
		default:
			break;
		}
	}
	if (known)
		gpu_finding_add(list, total ? SEVERITY_WARNING : SEVERITY_OK, "retired pages",
				info->id, "%u%s", total, total ? ": memory cells have failed" : "");
}

static void gpu_check_rows(struct gpu_findings *list, const struct device_info *info,
			   nvmlDevice_t device)
{
	unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;

	if (!NVML_OK(nvmlDeviceGetRemappedRows, device, &corrected, &uncorrected, &pending,
		     &failed))
		return;
	gpu_finding_add(list,
			failed || pending          ? SEVERITY_ERROR
			: corrected || uncorrected ? SEVERITY_WARNING
						   : SEVERITY_OK,
			"remapped rows", info->id,
			"%u after uncorrected errors, %u after corrected ones%s%s", uncorrected,
			corrected, pending ? "; another is pending: reset the GPU" : "",
			failed ? "; a remapping has failed: replace the board" : "");
}

static void gpu_check_power(struct gpu_findings *list, const struct device_info *info,
			    nvmlDevice_t device)
{
	unsigned limit, usual;

	if (!NVML_OK(nvmlDeviceGetPowerManagementLimit, device, &limit))
		return;
	if (NVML_OK(nvmlDeviceGetPowerManagementDefaultLimit, device, &usual) && limit < usual)
		gpu_finding_add(list, SEVERITY_WARNING, "power cap", info->id,
				"%.0f W, below the board's %.0f W: it will be slower; nvidia-smi "
				"-pl (root)",
				1e-3 * limit, 1e-3 * usual);
	else
		gpu_finding_add(list, SEVERITY_OK, "power cap", info->id, "%.0f W", 1e-3 * limit);
}

static void gpu_check_clocks(struct gpu_findings *list, const struct device_info *info,
			     nvmlDevice_t device)
{
	unsigned sm, memory;

	if (NVML_OK(nvmlDeviceGetMaxClockInfo, device, NVML_CLOCK_SM, &sm) &&
	    NVML_OK(nvmlDeviceGetMaxClockInfo, device, NVML_CLOCK_MEM, &memory))
		gpu_finding_add(list, SEVERITY_OK, "clocks", info->id,
				"at most %u MHz, memory %u MHz", sm, memory);
}

static void gpu_check_nvlink(struct gpu_findings *list, const struct device_info *info,
			     nvmlDevice_t device)
{
	unsigned links = 0, active = 0;
	int state;

	while (links < NVML_LINKS_AT_MOST &&
	       NVML_OK(nvmlDeviceGetNvLinkState, device, links, &state)) {
		active += state == NVML_FEATURE_ENABLED;
		links++;
	}
	if (!links)
		return;
	/* None is how a board without a bridge looks; some is how a broken link does. */
	gpu_finding_add(list,
			active == links ? SEVERITY_OK
			: active        ? SEVERITY_WARNING
					: SEVERITY_NOTE,
			"nvlink", info->id, "%u of %u links are active", active, links);
}

/* Direct access to the memory of the others, as far as they are the same model. */
static void gpu_check_peers(struct gpu_findings *list, const struct device_info *info)
{
	unsigned others = 0, reached = 0;

	for (int i = 0; i < cuda_device_count(); i++) {
		struct device_info other;

		if (i == info->index || cuda_device_info(i, &other, NULL) != STATUS_OK ||
		    strcmp(other.name, info->name) != 0)
			continue;
		others++;
		reached += device_bits_has(&info->peers, i);
	}
	if (others)
		gpu_finding_add(list, reached == others ? SEVERITY_OK : SEVERITY_NOTE, "peers",
				info->id, "direct access to %u of %u GPUs of the same model",
				reached, others);
}

size_t cuda_findings(struct finding *out, size_t capacity)
{
	struct gpu_findings list = { out, 0, capacity };

	check_permissions(&list);
	for (int i = 0; i < cuda_device_count(); i++) {
		struct device_info info;
		nvmlDevice_t device;

		if (cuda_device_info(i, &info, NULL) != STATUS_OK)
			continue;
		gpu_check_compute_mode(&list, &info);
		gpu_check_memory(&list, &info);
		gpu_check_peers(&list, &info);
		device = nvml_device(info.pci);
		if (!device)
			continue;
		check_persistence(&list, &info, device);
		check_processes(&list, &info, device);
		gpu_check_ecc_errors(&list, &info, device);
		gpu_check_pages(&list, &info, device);
		gpu_check_rows(&list, &info, device);
		gpu_check_power(&list, &info, device);
		gpu_check_clocks(&list, &info, device);
		gpu_check_nvlink(&list, &info, device);
	}
	return list.count;
}
