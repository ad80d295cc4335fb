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
	struct device_info info; /* of the device that is looked at */
	nvmlDevice_t device;
	const char *subject; /* a file instead of the device; NULL: none */
};

static void cuda_findings_add(struct gpu_findings *g, enum severity severity, const char *topic,
			      const char *format, ...) __attribute__((format(printf, 4, 5)));

static void cuda_findings_add(struct gpu_findings *g, enum severity severity, const char *topic,
			      const char *format, ...)
{
	struct finding *f = &g->out[g->count];
	va_list ap;

	if (g->count == g->capacity)
		return;
	g->count++;
	f->severity = severity;
	if (g->subject)
		finding_set_subject(f, topic, g->subject);
	else
		finding_set_device(f, topic, g->info.id);
	va_start(ap, format);
	vsnprintf(f->text, sizeof(f->text), format, ap);
	va_end(ap);
}

static void cuda_findings_check_permissions(struct gpu_findings *g)
{
	static const char *const nodes[] = { "/dev/nvidiactl", "/dev/nvidia-uvm" };

	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		g->subject = nodes[i];
		if (access(nodes[i], R_OK | W_OK) == 0)
			cuda_findings_add(g, SEVERITY_OK, "permissions", "readable and writable");
		else
			cuda_findings_add(g, SEVERITY_WARNING, "permissions",
					  "%s: device calls may fail", strerror(errno));
	}
	g->subject = NULL;
}

static void cuda_findings_check_persistence(struct gpu_findings *g)
{
	int mode = NVML_FEATURE_DISABLED;

	if (!NVML_OK(nvmlDeviceGetPersistenceMode, g->device, &mode))
		cuda_findings_add(g, SEVERITY_NOTE, "persistence",
				  "NVML does not report the persistence mode of this device");
	else if (mode == NVML_FEATURE_ENABLED)
		cuda_findings_add(g, SEVERITY_OK, "persistence", "on");
	else
		cuda_findings_add(
			g, SEVERITY_NOTE, "persistence",
			"off: the driver unloads when the GPU is idle, so that a first call "
			"takes a second or more; to keep it loaded: nvidia-smi -pm 1 (root)");
}

static void cuda_findings_check_compute_mode(struct gpu_findings *g)
{
	int mode = cudaComputeModeDefault;

	if (cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, g->info.index) != cudaSuccess) {
		cudaGetLastError();
		return;
	}
	if (mode == cudaComputeModeProhibited)
		cuda_findings_add(g, SEVERITY_ERROR, "compute mode",
				  "prohibited: no process may use this GPU; to allow it: "
				  "nvidia-smi -c DEFAULT (root)");
	else if (mode != cudaComputeModeDefault)
		cuda_findings_add(g, SEVERITY_NOTE, "compute mode",
				  "exclusive: only one process at a time may use this GPU");
}

static void cuda_findings_check_processes(struct gpu_findings *g)
{
	struct nvml_process processes[64];
	unsigned count = ARRAY_SIZE(processes), others = 0;
	bool known = NVML_OK(nvmlDeviceGetComputeRunningProcesses_v3, g->device, &count, processes);
	struct text pids = TEXT_EMPTY;

	if (!known) {
		count = ARRAY_SIZE(processes);
		known = NVML_OK(nvmlDeviceGetComputeRunningProcesses_v2, g->device, &count,
				processes);
	}
	if (!known) {
		cuda_findings_add(g, SEVERITY_NOTE, "processes",
				  "NVML does not report which processes use the device");
		return;
	}
	for (unsigned i = 0; i < count; i++) {
		if (processes[i].pid == (unsigned)getpid())
			continue;
		text_addf(&pids, "%s%u", others++ ? ", " : "", processes[i].pid);
	}
	if (others)
		cuda_findings_add(g, SEVERITY_WARNING, "processes",
				  "%u other %s use this GPU (pid %s) and will slow down "
				  "measurements",
				  others, others == 1 ? "process may" : "processes may", pids.data);
	else
		cuda_findings_add(g, SEVERITY_OK, "processes", "no other process uses this GPU");
	text_release(&pids);
}

static void cuda_findings_check_memory(struct gpu_findings *g)
{
	char used[32], total[32];

	if (!g->info.memory_free_bytes ||
	    g->info.memory_free_bytes >= g->info.memory_bytes / 10 * 9)
		return;
	cuda_findings_add(g, SEVERITY_NOTE, "memory", "%s of %s are in use already",
			  units_format((double)(g->info.memory_bytes - g->info.memory_free_bytes),
				       "B", used, sizeof(used)),
			  units_format((double)g->info.memory_bytes, "B", total, sizeof(total)));
}

/* Since the driver was loaded (volatile), and over the life of the board (aggregate). */
static void cuda_findings_check_ecc_errors(struct gpu_findings *g)
{
	unsigned long long now = 0, ever = 0, corrected = 0, ever_corrected = 0;
	const struct {
		int type, counter;
		unsigned long long *count;
	} counters[] = {
		{ NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC, &now },
		{ NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_AGGREGATE_ECC, &ever },
		{ NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_VOLATILE_ECC, &corrected },
		{ NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_AGGREGATE_ECC, &ever_corrected },
	};

	for (size_t i = 0; i < ARRAY_SIZE(counters); i++)
		if (!NVML_OK(nvmlDeviceGetTotalEccErrors, g->device, counters[i].type,
			     counters[i].counter, counters[i].count))
			return;
	cuda_findings_add(g,
			  now              ? SEVERITY_ERROR
			  : ever           ? SEVERITY_WARNING
			  : ever_corrected ? SEVERITY_NOTE
					   : SEVERITY_OK,
			  "ecc errors",
			  "uncorrected: %llu since the driver was loaded, %llu in the GPU's "
			  "lifetime; corrected: %llu, %llu in its lifetime",
			  now, ever, corrected, ever_corrected);
}

/* Boards before Ampere retire pages, later ones remap rows. */
static void cuda_findings_check_pages(struct gpu_findings *g)
{
	unsigned total = 0;
	bool known = false;

	for (int cause = 0; nvml.nvmlDeviceGetRetiredPages && cause < NVML_RETIRED_CAUSES;
	     cause++) {
		/* queries the count: "no room" with a count above 0 is an answer, too */
		unsigned count = 0;
		int result = nvml.nvmlDeviceGetRetiredPages(g->device, cause, &count, NULL);

		if (result == NVML_SUCCESS || result == NVML_ERROR_INSUFFICIENT_SIZE) {
			known = true;
			total += count;
		}
	}
	if (known)
		cuda_findings_add(g, total ? SEVERITY_WARNING : SEVERITY_OK, "retired pages",
				  "%u%s", total, total ? ": memory cells have failed" : "");
}

static void cuda_findings_check_rows(struct gpu_findings *g)
{
	unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;

	if (!NVML_OK(nvmlDeviceGetRemappedRows, g->device, &corrected, &uncorrected, &pending,
		     &failed))
		return;
	cuda_findings_add(g,
			  failed || pending          ? SEVERITY_ERROR
			  : corrected || uncorrected ? SEVERITY_WARNING
						     : SEVERITY_OK,
			  "remapped rows",
			  "%u after uncorrected errors, %u after corrected errors%s%s", uncorrected,
			  corrected, pending ? "; another remapping is pending: reset the GPU" : "",
			  failed ? "; a remapping has failed: replace the board" : "");
}

static void cuda_findings_check_power(struct gpu_findings *g)
{
	unsigned limit, usual;

	if (!NVML_OK(nvmlDeviceGetPowerManagementLimit, g->device, &limit))
		return;
	if (NVML_OK(nvmlDeviceGetPowerManagementDefaultLimit, g->device, &usual) && limit < usual)
		cuda_findings_add(g, SEVERITY_WARNING, "power cap",
				  "%.0f W, below the board's default of %.0f W: the GPU is slower; "
				  "to change it: nvidia-smi -pl (root)",
				  1e-3 * limit, 1e-3 * usual);
	else
		cuda_findings_add(g, SEVERITY_OK, "power cap", "%.0f W", 1e-3 * limit);
}

static void cuda_findings_check_clocks(struct gpu_findings *g)
{
	unsigned sm, memory;

	if (NVML_OK(nvmlDeviceGetMaxClockInfo, g->device, NVML_CLOCK_SM, &sm) &&
	    NVML_OK(nvmlDeviceGetMaxClockInfo, g->device, NVML_CLOCK_MEM, &memory))
		cuda_findings_add(g, SEVERITY_OK, "clocks", "at most %u MHz, memory %u MHz", sm,
				  memory);
}

static void cuda_findings_check_nvlink(struct gpu_findings *g)
{
	unsigned active, links = nvml_links(g->device, &active);

	if (!links && g->info.capability_major >= 7 && g->info.capability_minor == 0)
		cuda_findings_add(g, SEVERITY_NOTE, FINDING_NVLINK,
				  "the driver reports no NVLink, as in a virtual machine with a "
				  "single GPU: links are not checked");
	if (!links)
		return;
	/*
	 * No active link is normal for a board without a bridge; some active links indicate a
	 * broken one.
	 */
	cuda_findings_add(g,
			  active == links ? SEVERITY_OK
			  : active        ? SEVERITY_WARNING
					  : SEVERITY_NOTE,
			  "nvlink", "%u of %u links are active", active, links);
}

/* Reads one field; `link`: of which link, where it is of links. */
static bool cuda_findings_read_field(const struct gpu_findings *g, unsigned id, unsigned link,
				     unsigned long long *value)
{
	struct nvml_field field = { .id = id, .scope = link };

	if (!NVML_OK(nvmlDeviceGetFieldValues, g->device, 1, &field) ||
	    field.result != NVML_SUCCESS)
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

static int64_t cuda_findings_link_errors(const struct gpu_findings *g, unsigned link,
					 const struct link_counter *c)
{
	unsigned long long count;
	int64_t sum = -1;

	for (size_t i = 0; i < ARRAY_SIZE(c->counters); i++)
		if (c->counters[i] >= 0 && NVML_OK(nvmlDeviceGetNvLinkErrorCounter, g->device, link,
						   c->counters[i], &count))
			sum = (sum < 0 ? 0 : sum) + (int64_t)count;
	if (sum < 0 && c->field && cuda_findings_read_field(g, c->field, link, &count))
		sum = (int64_t)count;
	return sum;
}

/* The counters of all active links, for the judge; no count of them alone is a fault. */
static void cuda_findings_check_link_errors(struct gpu_findings *g)
{
	for (size_t k = 0; k < ARRAY_SIZE(link_counters); k++) {
		struct finding *f = &g->out[g->count];
		int64_t sum = 0, most = -1;
		unsigned link = 0, worst = 0;
		int64_t counts[FINDING_COUNTS];
		int active = 0;

		while (link < FINDING_COUNTS &&
		       NVML_OK(nvmlDeviceGetNvLinkState, g->device, link, &active)) {
			counts[link] =
				active == NVML_FEATURE_ENABLED
					? cuda_findings_link_errors(g, link, &link_counters[k])
					: -1;
			sum += counts[link] > 0 ? counts[link] : 0;
			worst = counts[link] > most ? link : worst;
			most = counts[link] > most ? counts[link] : most;
			link++;
		}
		if (most < 0 || g->count == g->capacity)
			continue;
		cuda_findings_add(g, SEVERITY_OK, link_counters[k].topic,
				  "%lld %s on all links since the driver was loaded; link %u has "
				  "most: %lld",
				  (long long)sum, link_counters[k].what, worst, (long long)most);
		f->count = link;
		memcpy(f->counts, counts, link * sizeof(*counts));
	}
}

/* The driver asks for an action after errors that it cannot mend itself. */
static void cuda_findings_check_recovery(struct gpu_findings *g)
{
	static const char *const asks[NVML_RECOVERY_ACTIONS] = {
		[NVML_RECOVERY_RESET] = "a reset of the GPU: nvidia-smi --gpu-reset (root)",
		[NVML_RECOVERY_REBOOT] = "a restart of the node",
		[NVML_RECOVERY_DRAIN] = "the end of all processes that use peer access",
		[NVML_RECOVERY_DRAIN_AND_RESET] = "the end of all processes, then a reset of the "
						  "GPU: nvidia-smi --gpu-reset (root)",
		[NVML_RECOVERY_IMEX] = "a recovery of the IMEX domain"
	};
	unsigned long long action;

	if (!cuda_findings_read_field(g, NVML_FIELD_RECOVERY_ACTION, 0, &action))
		return;
	if (action == NVML_RECOVERY_NONE)
		cuda_findings_add(g, SEVERITY_OK, FINDING_RECOVERY,
				  "the driver requests no action");
	else
		cuda_findings_add(g, SEVERITY_ERROR, FINDING_RECOVERY, "the driver requests %s",
				  action < NVML_RECOVERY_ACTIONS
					  ? asks[action]
					  : "an unknown action: see nvidia-smi -q");
}

/* Limits are of whole GPUs. */
static void cuda_findings_check_mig(struct gpu_findings *g)
{
	unsigned now, pending;

	if (!NVML_OK(nvmlDeviceGetMigMode, g->device, &now, &pending))
		return;
	if (now == NVML_FEATURE_ENABLED)
		cuda_findings_add(g, SEVERITY_WARNING, FINDING_MIG,
				  "on: gpuproof can measure only a part of the GPU; to turn MIG "
				  "off: nvidia-smi -mig 0 (root)");
	else if (pending != now)
		cuda_findings_add(g, SEVERITY_WARNING, FINDING_MIG,
				  "off, but on after the next reset of the GPU");
	else
		cuda_findings_add(g, SEVERITY_OK, FINDING_MIG, "off");
}

/* Why a GPU that is registered is not whole in the fabric; NULL: it is. */
static const char *cuda_findings_fabric_trouble(unsigned health)
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
		return "the bandwidth of the GPU is degraded";
	return configurations[configuration];
}

/*
 * Registration with the fabric of NVSwitch systems. A GPU alone, as in a virtual machine, need not
 * be registered.
 */
static void cuda_findings_check_fabric(struct gpu_findings *g)
{
	struct nvml_fabric_v2 now = { .version = sizeof(now) | 2u << 24 };
	struct nvml_fabric old;
	enum severity bad = cuda_device_count() > 1 ? SEVERITY_WARNING : SEVERITY_NOTE;
	const char *trouble;

	if (!NVML_OK(nvmlDeviceGetGpuFabricInfoV, g->device, &now)) {
		if (!NVML_OK(nvmlDeviceGetGpuFabricInfo, g->device, &old))
			return;
		now.state = old.state;
		now.status = old.status;
		now.health = 0;
	}
	trouble = cuda_findings_fabric_trouble(now.health);
	if (now.state == NVML_FABRIC_NONE)
		return;
	if (now.state != NVML_FABRIC_COMPLETED)
		cuda_findings_add(g, bad, FINDING_FABRIC,
				  "registration %s: check the fabric manager (systemctl status "
				  "nvidia-fabricmanager)",
				  now.state == NVML_FABRIC_NOT_STARTED ? "has not started"
								       : "is in progress");
	else if (now.status != NVML_SUCCESS)
		cuda_findings_add(g, bad, FINDING_FABRIC,
				  "registration failed (%s): check the log of the fabric manager",
				  nvml.nvmlErrorString(now.status));
	else if (trouble)
		cuda_findings_add(g, bad, FINDING_FABRIC,
				  "registered, but %s: check the log of the fabric manager",
				  trouble);
	else
		cuda_findings_add(g, SEVERITY_OK, FINDING_FABRIC, "registered");
}

/* Direct access to the memory of the others, as far as they are the same model. */
static void cuda_findings_check_peers(struct gpu_findings *g)
{
	unsigned others = 0, reached = 0;

	for (int i = 0; i < cuda_device_count(); i++) {
		struct device_info other;

		if (i == g->info.index || cuda_device_info(i, &other, NULL) != STATUS_OK ||
		    strcmp(other.name, g->info.name) != 0)
			continue;
		others++;
		reached += device_bits_has(&g->info.peers, i);
	}
	if (others)
		cuda_findings_add(g, reached == others ? SEVERITY_OK : SEVERITY_NOTE, "peers",
				  "direct access to %u of %u GPUs of the same model", reached,
				  others);
}

size_t cuda_findings(struct finding *out, size_t capacity)
{
	static void (*const of_nvml[])(struct gpu_findings *) = {
		cuda_findings_check_persistence, cuda_findings_check_processes,
		cuda_findings_check_ecc_errors,  cuda_findings_check_pages,
		cuda_findings_check_rows,        cuda_findings_check_power,
		cuda_findings_check_clocks,      cuda_findings_check_nvlink,
		cuda_findings_check_link_errors, cuda_findings_check_fabric,
		cuda_findings_check_recovery,    cuda_findings_check_mig,
	};
	struct gpu_findings g = { .out = out, .capacity = capacity };

	cuda_findings_check_permissions(&g);
	for (int i = 0; i < cuda_device_count(); i++) {
		if (cuda_device_info(i, &g.info, NULL) != STATUS_OK)
			continue;
		cuda_findings_check_compute_mode(&g);
		cuda_findings_check_memory(&g);
		cuda_findings_check_peers(&g);
		g.device = nvml_device(g.info.pci);
		for (size_t k = 0; g.device && k < ARRAY_SIZE(of_nvml); k++)
			of_nvml[k](&g);
	}
	return g.count;
}
