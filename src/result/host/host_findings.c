#include "result/host/host_findings.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "result/host/host_files.h"

/*
 * Ranks on one node communicate through /dev/shm: NCCL needs about 10 MB per pair. Containers get
 * 64 MB by default.
 */
#define ENOUGH_SHARED_MEMORY 1e9
/* A result with raw samples has a few MB; the rest is for the journal and the report. */
#define ENOUGH_DISK 1e8
#define ENOUGH_MEMORY 1e9

struct checks {
	const char *root, *directory;
	finding_fn *add;
	void *context;
	const char *device; /* device of the checks; NULL: the host */
};

static void host_finding_add(const struct checks *checks, enum severity severity, const char *topic,
			     const char *format, ...) __attribute__((format(printf, 4, 5)));

static void host_finding_add(const struct checks *checks, enum severity severity, const char *topic,
			     const char *format, ...)
{
	struct finding finding = { .severity = severity };
	va_list ap;

	if (checks->device)
		finding_set_device(&finding, topic, checks->device);
	else
		finding_set_subject(&finding, topic, "");
	va_start(ap, format);
	vsnprintf(finding.text, sizeof(finding.text), format, ap);
	va_end(ap);
	checks->add(checks->context, &finding);
}

/* Matches vendor 10de (NVIDIA), class 03xxxx (display or 3D controller). */
static void host_findings_visit_pci(void *state, const char *path)
{
	size_t *gpus = state;
	char vendor[16], class[16];

	if (host_files_first_line(path, "/vendor", vendor, sizeof(vendor)) &&
	    strcmp(vendor, "0x10de") == 0 &&
	    host_files_first_line(path, "/class", class, sizeof(class)) &&
	    strncmp(class, "0x03", 4) == 0)
		++*gpus;
}

static void host_findings_visit_node(void *state, const char *path)
{
	const struct checks *checks = state;

	if (access(path, R_OK | W_OK) != 0)
		host_finding_add(checks, SEVERITY_ERROR, "permissions",
				 "%s: %s: this user cannot use the GPU; add the user to the group "
				 "of the device node (video or render)",
				 path, strerror(errno));
}

static void host_findings_check_driver(const struct checks *checks)
{
	char version[256];
	size_t gpus = 0, nodes;
	bool loaded;

	host_files_matches(checks->root, "/sys/bus/pci/devices/*", host_findings_visit_pci, &gpus);
	loaded = host_files_first_line(checks->root, "/proc/driver/nvidia/version", version,
				       sizeof(version));
	if (loaded)
		host_finding_add(checks, SEVERITY_OK, "driver", "%s", version);
	else if (gpus)
		host_finding_add(checks, SEVERITY_ERROR, "driver",
				 "%zu NVIDIA GPU%s on the PCI bus, but the kernel module nvidia is "
				 "not loaded: install the driver, or run modprobe nvidia",
				 gpus, gpus == 1 ? " is" : "s are");
	else
		host_finding_add(checks, SEVERITY_NOTE, "driver",
				 "no NVIDIA driver and no NVIDIA GPU on the PCI bus: gpuproof can "
				 "measure only the CPU");
	nodes = host_files_matches(checks->root, "/dev/nvidia[0-9]*", host_findings_visit_node,
				   (void *)checks);
	if (!nodes && loaded)
		host_finding_add(checks, SEVERITY_ERROR, "device nodes",
				 "the driver is loaded but there is no /dev/nvidia0: in a "
				 "container, start it with --gpus all; otherwise run "
				 "nvidia-modprobe");
	else if (nodes)
		host_finding_add(checks, SEVERITY_OK, "device nodes", "%zu GPU%s in /dev", nodes,
				 text_plural(nodes));
}

static void host_findings_check_space(const struct checks *checks, const char *subject,
				      const char *path, double enough, const char *advice)
{
	struct statvfs fs;
	double bytes = statvfs(path, &fs) == 0 ? (double)fs.f_bavail * (double)fs.f_frsize : -1;
	char size[32];

	if (bytes < 0)
		host_finding_add(checks, SEVERITY_WARNING, subject, "%s: %s", path,
				 strerror(errno));
	else if (bytes < enough)
		host_finding_add(checks, SEVERITY_WARNING, subject, "only %s free in %s: %s",
				 units_format(bytes, "B", size, sizeof(size)), path, advice);
	else
		host_finding_add(checks, SEVERITY_OK, subject, "%s free in %s",
				 units_format(bytes, "B", size, sizeof(size)), path);
}

static void host_findings_check_available_memory(const struct checks *checks)
{
	char value[64], size[32];
	double bytes;

	host_files_value(checks->root, "/proc/meminfo", "MemAvailable", ':', value, sizeof(value));
	if (!value[0])
		return;
	bytes = strtod(value, NULL) * 1024;
	units_format(bytes, "B", size, sizeof(size));
	if (bytes < ENOUGH_MEMORY)
		host_finding_add(checks, SEVERITY_WARNING, "memory",
				 "only %s available: large cases will be skipped", size);
	else
		host_finding_add(checks, SEVERITY_OK, "memory", "%s available", size);
}

static void host_findings_governor_visit_slow(void *state, const char *path)
{
	char *slow = state;
	char word[64];

	/*
	 * With intel_pstate and amd_pstate, powersave is the normal governor; it still wakes up
	 * slowly.
	 */
	if (!slow[0] && host_files_first_line("", path, word, sizeof(word)) &&
	    strcmp(word, "performance") != 0)
		memcpy(slow, word, sizeof(word));
}

static void host_findings_check_cpus(const struct checks *checks)
{
	char slow[64] = "", balancing[8] = "0";
	size_t governors =
		host_files_matches(checks->root,
				   "/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor",
				   host_findings_governor_visit_slow, slow);
	size_t nodes =
		host_files_matches(checks->root, "/sys/devices/system/node/node[0-9]*", NULL, NULL);

	if (!governors)
		host_finding_add(checks, SEVERITY_OK, "cpu governor",
				 "this system has no CPU governor");
	else if (slow[0])
		host_finding_add(checks, SEVERITY_WARNING, "cpu governor",
				 "%s: latencies and pageable copies vary with the CPU's clock; to "
				 "fix the clock: cpupower frequency-set -g performance (root)",
				 slow);
	else
		host_finding_add(checks, SEVERITY_OK, "cpu governor", "performance");
	host_files_first_line(checks->root, "/proc/sys/kernel/numa_balancing", balancing,
			      sizeof(balancing));
	if (nodes > 1 && balancing[0] != '0')
		host_finding_add(checks, SEVERITY_NOTE, "numa",
				 "%zu nodes, and the kernel moves pages between them: host memory "
				 "cases may be noisy; to stop it: sysctl kernel.numa_balancing=0 "
				 "(root)",
				 nodes);
	else if (nodes)
		host_finding_add(checks, SEVERITY_OK, "numa", "%zu node%s", nodes,
				 text_plural(nodes));
}

static void host_finding_check_load(const struct checks *checks)
{
	char line[128];
	cpu_set_t set;
	double load;
	int cpus;

	if (!host_files_first_line(checks->root, "/proc/loadavg", line, sizeof(line)) ||
	    sched_getaffinity(0, sizeof(set), &set) != 0)
		return;
	load = strtod(line, NULL);
	cpus = CPU_COUNT(&set);
	if (load > 0.5 * cpus)
		host_finding_add(checks, SEVERITY_WARNING, "load",
				 "%.1f on %d usable CPUs: other processes slow down host-timed "
				 "cases; stop them before you measure",
				 load, cpus);
	else
		host_finding_add(checks, SEVERITY_OK, "load", "%.1f on %d usable CPUs", load, cpus);
}

void host_findings(const char *root, const char *directory, finding_fn *add, void *context)
{
	const struct checks checks = { root, directory, add, context };
	struct rlimit limit;
	char size[32];

	host_findings_check_driver(&checks);
	host_findings_check_available_memory(&checks);
	if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0) {
		if (limit.rlim_cur == RLIM_INFINITY)
			host_finding_add(&checks, SEVERITY_OK, "locked memory", "unlimited");
		else
			host_finding_add(&checks, SEVERITY_NOTE, "locked memory",
					 "limited to %s; CUDA's pinned memory is not affected, but "
					 "NCCL over InfiniBand needs ulimit -l unlimited",
					 units_size((uint64_t)limit.rlim_cur, size, sizeof(size)));
	}
	host_findings_check_space(&checks, "shared memory", "/dev/shm", ENOUGH_SHARED_MEMORY,
				  "NCCL and cases on several devices need it; in a container: "
				  "docker run "
				  "--shm-size=1g");
	host_findings_check_space(&checks, "disk space", directory, ENOUGH_DISK,
				  "results may not fit");
	host_findings_check_cpus(&checks);
	host_finding_check_load(&checks);
	nic_findings(root, add, context);
}

static void host_finding_check_link(const struct checks *checks, const struct device_info *d)
{
	if (!d->pcie_generation || !d->pcie_width)
		return;
	if (d->pcie_width < d->pcie_width_max)
		host_finding_add(checks, SEVERITY_WARNING, FINDING_PCIE,
				 "x%d of x%d lanes: the GPU is badly seated or the slot is narrow; "
				 "copies are slower",
				 d->pcie_width, d->pcie_width_max);
	else if (d->pcie_generation < d->pcie_generation_max)
		host_finding_add(checks, SEVERITY_NOTE, FINDING_PCIE,
				 "generation %d of %d: an idle link lowers its generation; a run "
				 "records the generation under load",
				 d->pcie_generation, d->pcie_generation_max);
	else
		host_finding_add(checks, SEVERITY_OK, FINDING_PCIE, "generation %d, x%d",
				 d->pcie_generation, d->pcie_width);
}

void host_findings_of_device(const struct device_info *device, finding_fn *add, void *context)
{
	const struct checks checks = { "", "", add, context, device->id };

	host_finding_check_link(&checks, device);
	if (device->ecc == 0)
		host_finding_add(&checks, SEVERITY_NOTE, FINDING_ECC,
				 "off: the GPU does not detect memory errors; to turn ECC on: "
				 "nvidia-smi -e 1 (root), then reboot");
	else if (device->ecc == 1)
		host_finding_add(&checks, SEVERITY_OK, FINDING_ECC, "on");
	if (device->numa_node >= 0)
		host_finding_add(&checks, SEVERITY_OK, "numa", "near node %d", device->numa_node);
	nic_distance_finding("", device, add, context);
}
