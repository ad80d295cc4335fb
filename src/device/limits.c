#include "device/limits.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CGROUP_ROOT "/sys/fs/cgroup"

bool device_limits_read_line(char *line, size_t size, const char *format, ...)
{
	char path[1400];
	va_list ap;
	FILE *f;

	va_start(ap, format);
	vsnprintf(path, sizeof(path), format, ap);
	va_end(ap);
	*line = '\0';
	f = fopen(path, "re");
	if (!f)
		return false;
	if (!fgets(line, (int)size, f))
		*line = '\0';
	fclose(f);
	line[strcspn(line, "\n")] = '\0';
	return *line != '\0';
}

/* Value in bytes of a row in a file like /proc/meminfo; 0 if it is missing. */
static uint64_t device_limits_meminfo_row_bytes(const char *path, const char *key)
{
	FILE *f = fopen(path, "re");
	size_t length = strlen(key);
	unsigned long long kib = 0;
	char line[128];

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, key, length) == 0 && line[length] == ':') {
			sscanf(line + length + 1, "%llu", &kib);
			break;
		}
	}
	fclose(f);
	return (uint64_t)kib * 1024;
}

/*
 * This process's folder for `controller` ("" for version 2) below the cgroup mount. A container may
 * see the folder as its own root: the caller then finds nothing there and goes up.
 */
static bool device_limits_cgroup_folder(const char *controller, char *folder, size_t size)
{
	FILE *f = fopen("/proc/self/cgroup", "re");
	char line[1024];
	bool found = false;

	if (!f)
		return false;
	while (!found && fgets(line, sizeof(line), f)) {
		char *names = strchr(line, ':'), *path;

		if (!names || !(path = strchr(++names, ':')))
			continue;
		*path++ = '\0';
		path[strcspn(path, "\n")] = '\0';
		if (controller[0] == '\0' ? names[0] == '\0' : strcmp(names, controller) == 0) {
			snprintf(folder, size, "%s/%s%s", CGROUP_ROOT, controller, path);
			found = true;
		}
	}
	fclose(f);
	return found;
}

/*
 * Calls `look` for the process's folder and every folder above it, because each level has its own
 * limit.
 */
static void device_limits_cgroup_each_level(const char *controller,
					    void (*look)(const char *folder, void *context),
					    void *context)
{
	char folder[1280];
	char *slash;

	if (!device_limits_cgroup_folder(controller, folder, sizeof(folder)))
		return;
	while (strlen(folder) >= sizeof(CGROUP_ROOT) - 1) {
		look(folder, context);
		slash = strrchr(folder, '/');
		if (!slash || slash == folder)
			return;
		*slash = '\0';
	}
}

static bool device_limits_cgroup_read_number(const char *folder, const char *file, double *value)
{
	char line[64];

	return device_limits_read_line(line, sizeof(line), "%s/%s", folder, file) &&
	       sscanf(line, "%lf", value) == 1;
}

struct cgroup_memory_limit {
	const char *limit_file, *usage_file, *reclaimable_key;
	double total, available;
};

/* Page cache that the kernel reclaims on demand, although it counts as used. */
static double device_limits_cgroup_reclaimable(const char *folder, const char *key)
{
	char path[1400], line[128], name[64];
	double value, found = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/memory.stat", folder);
	f = fopen(path, "re");
	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%63s %lf", name, &value) == 2 && strcmp(name, key) == 0)
			found = value;
	}
	fclose(f);
	return found;
}

static void device_limits_cgroup_look_memory(const char *folder, void *context)
{
	struct cgroup_memory_limit *limit = context;
	double total, used;

	if (!device_limits_cgroup_read_number(folder, limit->limit_file, &total))
		return; /* "max", or a level without this controller */
	limit->total = fmin(limit->total, total);
	if (device_limits_cgroup_read_number(folder, limit->usage_file, &used))
		limit->available = fmin(limit->available,
					fmax(0, total - used +
							device_limits_cgroup_reclaimable(
								folder, limit->reclaimable_key)));
}

static struct cgroup_memory_limit device_limits_of_memory(void)
{
	struct cgroup_memory_limit v2 = { "memory.max", "memory.current", "inactive_file", INFINITY,
					  INFINITY };
	struct cgroup_memory_limit v1 = { "memory.limit_in_bytes", "memory.usage_in_bytes",
					  "total_inactive_file", INFINITY, INFINITY };

	device_limits_cgroup_each_level("", device_limits_cgroup_look_memory, &v2);
	device_limits_cgroup_each_level("memory", device_limits_cgroup_look_memory, &v1);
	v2.total = fmin(v2.total, v1.total);
	v2.available = fmin(v2.available, v1.available);
	return v2;
}

uint64_t device_limits_memory_total(void)
{
	double total = (double)device_limits_meminfo_row_bytes("/proc/meminfo", "MemTotal"),
	       limit = device_limits_of_memory().total;

	return (uint64_t)fmin(total, limit);
}

uint64_t device_limits_memory_available(void)
{
	double available = (double)device_limits_meminfo_row_bytes("/proc/meminfo", "MemAvailable"),
	       limit = device_limits_of_memory().available;

	return (uint64_t)fmin(available, limit);
}

uint64_t device_limits_memory_resident(void)
{
	return device_limits_meminfo_row_bytes("/proc/self/smaps_rollup", "Rss");
}

static void device_limits_look_quota_v2(const char *folder, void *context)
{
	double quota, period, *cores = context;
	char line[64];

	if (device_limits_read_line(line, sizeof(line), "%s/cpu.max", folder) &&
	    sscanf(line, "%lf %lf", &quota, &period) == 2 && period > 0)
		*cores = fmin(*cores, quota / period);
}

static void device_limits_look_quota_v1(const char *folder, void *context)
{
	double quota, period, *cores = context;

	if (device_limits_cgroup_read_number(folder, "cpu.cfs_quota_us", &quota) && quota > 0 &&
	    device_limits_cgroup_read_number(folder, "cpu.cfs_period_us", &period) && period > 0)
		*cores = fmin(*cores, quota / period);
}

double device_limits_cpu_quota(void)
{
	double cores = INFINITY;

	device_limits_cgroup_each_level("", device_limits_look_quota_v2, &cores);
	device_limits_cgroup_each_level("cpu", device_limits_look_quota_v1, &cores);
	device_limits_cgroup_each_level("cpu,cpuacct", device_limits_look_quota_v1, &cores);
	return cores;
}
