/*
 * RAPL: energy counters of CPU packages and their memory, as Linux exposes them for Intel and AMD
 * in /sys/class/powercap. Counted are zones "intel-rapl:N" named "package-...", and their subzones
 * named "dram"; "psys" includes the packages, and "core" is a part of one. Since Linux 5.10 only
 * root may read them.
 *
 * Source: Linux Documentation/power/powercap/powercap.rst.
 */
#ifndef GPUPROOF_HOST_RAPL_H
#define GPUPROOF_HOST_RAPL_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "device/telemetry.h"

#define RAPL_FOLDER "/sys/class/powercap"
#define RAPL_ZONES 64

struct rapl_zone {
	char path[160];       /* of energy_uj */
	uint64_t last, range; /* uJ; the counter wraps around beyond `range` (0: never) */
	double joules;        /* sum since rapl_open() */
};

struct rapl {
	struct rapl_zone zones[RAPL_ZONES];
	size_t count, packages;
};

/* STATUS_UNSUPPORTED if there is no package or one cannot be read, with the file's name. */
enum status rapl_open(struct rapl *rapl, const char *folder, struct error *err);
/*
 * Sum over all zones since rapl_open(). A counter covers about 15 minutes of full load before it
 * wraps around: the difference of two calls further apart is too small.
 */
enum status rapl_read(struct rapl *rapl, struct energy *out, struct error *err);

#endif
