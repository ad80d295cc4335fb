/*
 * Findings of doctor, and of an acceptance run before and after, about the GPUs themselves:
 * permissions, persistence mode, compute mode, other processes, memory errors and what was done
 * about them, power cap, clocks, NVLink, fabric, MIG, what the driver asks for.
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
				"off: the first call after idling starts the device, which "
				"takes a second or more; nvidia-smi -pm 1 (root) keeps it "
				"running");
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
				"%u other %s compute on it (pid %s) and will slow down "
				"measurements",
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

/* Since the driver was loaded (volatile), and over the life of the board (aggregate). */
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
		/* queries the count: "no room" with a count above 0 is an answer, too */
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
				"%.0f W, below the board's %.0f W, which slows it down; "
				"nvidia-smi -pl (root)",
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
	if (!links && info->capability_major >= 7 && info->capability_minor == 0)
		gpu_finding_add(list, SEVERITY_NOTE, FINDING_NVLINK, info->id,
				"the driver shows no link, as for a GPU alone in a virtual "
				"machine: "
				"NVLink is not checked");
	if (!links)
		return;
	/*
	 * No active link is normal for a board without a bridge; some active links indicate a
	 * broken one.
	 */
	gpu_finding_add(list,
			active == links ? SEVERITY_OK
			: active        ? SEVERITY_WARNING
					: SEVERITY_NOTE,
			"nvlink", info->id, "%u of %u links are active", active, links);
}

/* Reads one field; `link`: of which link, where it is of links. */
static bool gpu_read_field(nvmlDevice_t device, unsigned id, unsigned link,
			   unsigned long long *value)
{
	struct nvml_field field = { .id = id, .scope = link };

	if (!NVML_OK(nvmlDeviceGetFieldValues, device, 1, &field) || field.result != NVML_SUCCESS)
		return false;
	*value = field.type == NVML_VALUE_UNSIGNED ? field.value.number : field.value.largest;
	return true;
}

/* Counters of a link by what they count. NVLink 5 has other ones than its predecessors. */
static const struct link_counter {
	const char *topic, *what;
	int counters[2]; /* nvmlNvLinkErrorCounter_t, added up */
	unsigned field;  /* since NVLink 5; 0: there is none */
} link_counters[] = {
	{ FINDING_NVLINK_CRC,
	  "CRC errors",
	  { NVML_NVLINK_ERROR_DL_CRC_FLIT, NVML_NVLINK_ERROR_DL_CRC_DATA },
	  NVML_FIELD_NVLINK_RECEIVE_ERRORS },
	{ FINDING_NVLINK_REPLAYS, "replays", { NVML_NVLINK_ERROR_DL_REPLAY, -1 }, 0 },
	{ FINDING_NVLINK_RECOVERIES,
	  "recoveries",
	  { NVML_NVLINK_ERROR_DL_RECOVERY, -1 },
	  NVML_FIELD_NVLINK_RECOVERIES },
};

static int64_t gpu_link_errors(nvmlDevice_t device, unsigned link, const struct link_counter *c)
{
	unsigned long long count;
	int64_t sum = -1;

	for (size_t i = 0; i < ARRAY_SIZE(c->counters); i++)
		if (c->counters[i] >= 0 &&
		    NVML_OK(nvmlDeviceGetNvLinkErrorCounter, device, link, c->counters[i], &count))
			sum = (sum < 0 ? 0 : sum) + (int64_t)count;
	if (sum < 0 && c->field && gpu_read_field(device, c->field, link, &count))
		sum = (int64_t)count;
	return sum;
}

/* The counters of all active links, for the judge; no count of them alone is a fault. */
static void gpu_check_link_errors(struct gpu_findings *list, const struct device_info *info,
				  nvmlDevice_t device)
{
	for (size_t k = 0; k < ARRAY_SIZE(link_counters); k++) {
		struct finding *f = &list->out[list->count];
		int64_t sum = 0, most = -1;
		unsigned link = 0, worst = 0;
		int64_t counts[FINDING_COUNTS];
		int active = 0;

		while (link < FINDING_COUNTS &&
		       NVML_OK(nvmlDeviceGetNvLinkState, device, link, &active)) {
			counts[link] = active == NVML_FEATURE_ENABLED
					       ? gpu_link_errors(device, link, &link_counters[k])
					       : -1;
			sum += counts[link] > 0 ? counts[link] : 0;
			worst = counts[link] > most ? link : worst;
			most = counts[link] > most ? counts[link] : most;
			link++;
		}
		if (most < 0 || list->count == list->capacity)
			continue;
		gpu_finding_add(list, SEVERITY_OK, link_counters[k].topic, info->id,
				"%lld %s on all links since the driver was loaded, most on link "
				"%u: %lld",
				(long long)sum, link_counters[k].what, worst, (long long)most);
		f->count = link;
		memcpy(f->counts, counts, link * sizeof(*counts));
	}
}

/* The driver asks for an action after errors that it cannot mend itself. */
static void gpu_check_recovery(struct gpu_findings *list, const struct device_info *info,
			       nvmlDevice_t device)
{
	static const char *const asks[NVML_RECOVERY_ACTIONS] = {
		[NVML_RECOVERY_RESET] = "a reset of the GPU: nvidia-smi --gpu-reset (root)",
		[NVML_RECOVERY_REBOOT] = "a restart of the node",
		[NVML_RECOVERY_DRAIN] = "that no process uses peer access: end all processes that "
					"do",
		[NVML_RECOVERY_DRAIN_AND_RESET] =
			"that all processes are ended, and the GPU reset: "
			"nvidia-smi --gpu-reset (root)",
		[NVML_RECOVERY_IMEX] = "a recovery of the IMEX domain"
	};
	unsigned long long action;

	if (!gpu_read_field(device, NVML_FIELD_RECOVERY_ACTION, 0, &action))
		return;
	if (action == NVML_RECOVERY_NONE)
		gpu_finding_add(list, SEVERITY_OK, FINDING_RECOVERY, info->id,
				"the driver asks for no action");
	else
		gpu_finding_add(list, SEVERITY_ERROR, FINDING_RECOVERY, info->id,
				"the driver asks for %s",
				action < NVML_RECOVERY_ACTIONS ? asks[action]
							       : "an action unknown here: see "
								 "nvidia-smi -q");
}

/* Limits are of whole GPUs. */
static void gpu_check_mig(struct gpu_findings *list, const struct device_info *info,
			  nvmlDevice_t device)
{
	unsigned now, pending;

	if (!NVML_OK(nvmlDeviceGetMigMode, device, &now, &pending))
		return;
	if (now == NVML_FEATURE_ENABLED)
		gpu_finding_add(list, SEVERITY_WARNING, FINDING_MIG, info->id,
				"on: only a part of the GPU can be measured; nvidia-smi -mig 0 "
				"(root) turns it off");
	else if (pending != now)
		gpu_finding_add(list, SEVERITY_WARNING, FINDING_MIG, info->id,
				"off, but on after the next reset of the GPU");
	else
		gpu_finding_add(list, SEVERITY_OK, FINDING_MIG, info->id, "off");
}

/* Why a GPU that is registered is not whole in the fabric; NULL: it is. */
static const char *fabric_trouble(unsigned health)
{
	static const char *const configurations[16] = { [2] = "wrong system GUID",
							[3] = "wrong serial number of the chassis",
							[4] = "no partition",
							[5] = "too few NVLink links",
							[6] = "incompatible firmware",
							[7] = "invalid location",
							[8] = "invalid state of the GPU" };
	unsigned configuration = health >> NVML_FABRIC_CONFIGURATION & 0xf;

	if ((health >> NVML_FABRIC_UNHEALTHY & 3) == 1)
		return "a route is unhealthy";
	if ((health >> NVML_FABRIC_DEGRADED & 3) == 1)
		return "its bandwidth is degraded";
	return configurations[configuration];
}

/*
 * Registration with the fabric of NVSwitch systems. A GPU alone, as in a virtual machine, need not
 * be registered.
 */
static void gpu_check_fabric(struct gpu_findings *list, const struct device_info *info,
			     nvmlDevice_t device)
{
	struct nvml_fabric_v2 now = { .version = sizeof(now) | 2u << 24 };
	struct nvml_fabric old;
	enum severity bad = cuda_device_count() > 1 ? SEVERITY_WARNING : SEVERITY_NOTE;
	const char *trouble;

	if (!NVML_OK(nvmlDeviceGetGpuFabricInfoV, device, &now)) {
		if (!NVML_OK(nvmlDeviceGetGpuFabricInfo, device, &old))
			return;
		now.state = old.state;
		now.status = old.status;
		now.health = 0;
	}
	trouble = fabric_trouble(now.health);
	if (now.state == NVML_FABRIC_NONE)
		return;
	if (now.state != NVML_FABRIC_COMPLETED)
		gpu_finding_add(list, bad, FINDING_FABRIC, info->id,
				"registration %s: check the fabric manager (systemctl status "
				"nvidia-fabricmanager)",
				now.state == NVML_FABRIC_NOT_STARTED ? "has not started"
								     : "is in progress");
	else if (now.status != NVML_SUCCESS)
		gpu_finding_add(list, bad, FINDING_FABRIC, info->id,
				"registration failed (%s): check the log of the fabric manager",
				nvml.nvmlErrorString(now.status));
	else if (trouble)
		gpu_finding_add(list, bad, FINDING_FABRIC, info->id,
				"registered, but %s: check the log of the fabric manager", trouble);
	else
		gpu_finding_add(list, SEVERITY_OK, FINDING_FABRIC, info->id, "registered");
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
		gpu_check_link_errors(&list, &info, device);
		gpu_check_fabric(&list, &info, device);
		gpu_check_recovery(&list, &info, device);
		gpu_check_mig(&list, &info, device);
	}
	return list.count;
}
