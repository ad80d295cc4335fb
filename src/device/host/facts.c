/* Facts about the environment of the host backend. */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "device/host/blas.h"
#include "device/host/host_device.h"
#include "device/limits.h"

/*
 * The first two words of OpenBLAS's configuration are its name and version; the rest are build
 * options.
 */
static void blas_version(const struct blas *blas, char *out, size_t size)
{
	const char *config = blas->openblas_get_config();
	const char *version = strchr(config, ' ');

	version = version ? version + 1 : config;
	snprintf(out, size, "%.*s", (int)strcspn(version, " "), version);
}

static void hwloc_version(char *out, size_t size)
{
	unsigned version = hwloc_get_api_version();

	snprintf(out, size, "%u.%u.%u", version >> 16, version >> 8 & 0xff, version & 0xff);
}

void host_facts(fact_fn *add, void *context)
{
	const struct blas *blas = blas_open(NULL);
	char value[64];

	/*
	 * After affinity, cpusets and quotas; result/host/environment.c has the machine's own
	 * numbers.
	 */
	snprintf(value, sizeof(value), "%d", cpu_partitions_cores());
	add(context, "usable cores", value);
	add(context, "usable memory",
	    units_si((double)limits_memory_total(), "B", value, sizeof(value)));
	if (blas) {
		add(context, "openblas", blas->openblas_get_config());
		add(context, "openblas kernels", blas->openblas_get_corename());
	}
	hwloc_version(value, sizeof(value));
	add(context, "hwloc", value);
}

size_t host_components(struct component *out, size_t capacity)
{
	struct component parts[2] = { { .name = "OpenBLAS" },
				      { .name = "hwloc", .present = true } };
	struct error err = ERROR_NONE;
	const struct blas *blas = blas_open(&err);
	size_t count = capacity < 2 ? capacity : 2;

	parts[0].present = blas != NULL;
	if (blas) {
		blas_version(blas, parts[0].version, sizeof(parts[0].version));
		snprintf(parts[0].detail, sizeof(parts[0].detail), "%s",
			 blas->openblas_get_config());
	} else {
		snprintf(parts[0].detail, sizeof(parts[0].detail),
			 "%.160s; GEMMs on the CPU are skipped", err.message);
	}
	hwloc_version(parts[1].version, sizeof(parts[1].version));
	snprintf(parts[1].detail, sizeof(parts[1].detail), "%d cores for gpuproof",
		 cpu_partitions_cores());
	memcpy(out, parts, count * sizeof(*out));
	return count;
}
