#include "measure/host_memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool read_number(const char *path, const char *format, uint64_t *value)
{
	FILE *file = fopen(path, "re");
	char line[256];
	bool found = false;

	if (!file)
		return false;
	while (!found && fgets(line, sizeof(line), file))
		found = sscanf(line, format, value) == 1;
	fclose(file);
	return found;
}

/* cgroup v2, as a container sees its own. "max" is no number: no limit. */
static bool cgroup_left(uint64_t *bytes)
{
	uint64_t limit, used, cache = 0;

	if (!read_number("/sys/fs/cgroup/memory.max", "%" SCNu64, &limit) ||
	    !read_number("/sys/fs/cgroup/memory.current", "%" SCNu64, &used))
		return false;
	read_number("/sys/fs/cgroup/memory.stat", "inactive_file %" SCNu64, &cache);
	used -= cache < used ? cache : used;
	*bytes = limit > used ? limit - used : 0;
	return true;
}

bool host_memory_available(uint64_t *bytes)
{
	uint64_t kilobytes, left;
	bool known = read_number("/proc/meminfo", "MemAvailable: %" SCNu64, &kilobytes);

	if (known)
		*bytes = 1024 * kilobytes;
	if (cgroup_left(&left) && (!known || left < *bytes)) {
		*bytes = left;
		known = true;
	}
	return known;
}
