/*
 * RAPL: energy counters of CPU packages and their memory, as Linux shows them for Intel and AMD in
 * /sys/class/powercap. Zones "intel-rapl:N" whose name is "package-..." count, and below them those
 * named "dram"; "psys" includes the packages, and "core" is a part of one. Since Linux 5.10 root
 * alone may read them.
 *
 * Source: Linux Documentation/power/powercap/powercap.rst.
 */
#ifndef GPUPROOF_HOST_RAPL_H
#define GPUPROOF_HOST_RAPL_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "device/energy.h"

#define RAPL_FOLDER "/sys/class/powercap"
#define RAPL_ZONES 64

struct rapl_zone {
	char path[160];       /* of energy_uj */
	uint64_t last, range; /* uJ; the counter begins anew beyond `range` (0: never) */
	double joules;        /* counted since rapl_open() */
};

struct rapl {
	struct rapl_zone zones[RAPL_ZONES];
	size_t count, packages;
};

/* STATUS_UNSUPPORTED where there is no package, or one that cannot be read: names the file. */
enum status rapl_open(struct rapl *rapl, const char *folder, struct error *err);
/*
 * All zones together, since rapl_open(). A counter's range is some 15 minutes of full load: of two
 * calls further apart the difference is too small.
 */
enum status rapl_read(struct rapl *rapl, struct energy *out, struct error *err);

#endif
