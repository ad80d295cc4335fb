#include "device/host/sensors/rapl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "device/limits.h"

/* The counters are updated about every millisecond (Intel SDM, volume 3, 16.10.1). */
#define UPDATE_SECONDS 1e-3

static enum status rapl_read_count(const char *path, uint64_t *out, struct error *err)
{
	FILE *f = fopen(path, "re");
	bool read;

	if (!f)
		return error_set(err, STATUS_UNSUPPORTED, "%s: %s", path, strerror(errno));
	read = fscanf(f, "%" SCNu64, out) == 1;
	fclose(f);
	return read ? STATUS_OK : error_set(err, STATUS_UNSUPPORTED, "%s: not a number", path);
}

static enum status rapl_add_zone(struct rapl *rapl, const char *folder, struct error *err)
{
	struct rapl_zone zone = { .range = 0 };
	char path[192];

	if (rapl->count == RAPL_ZONES)
		return error_set(err, STATUS_UNSUPPORTED, "%s: more than %d zones", folder,
				 RAPL_ZONES);
	snprintf(zone.path, sizeof(zone.path), "%s/energy_uj", folder);
	snprintf(path, sizeof(path), "%s/max_energy_range_uj", folder);
	if (rapl_read_count(zone.path, &zone.last, err) != STATUS_OK ||
	    rapl_read_count(path, &zone.range, err) != STATUS_OK)
		return err->status;
	rapl->zones[rapl->count++] = zone;
	return STATUS_OK;
}

enum status rapl_open(struct rapl *rapl, const char *folder, struct error *err)
{
	*rapl = (struct rapl){ .count = 0 };
	for (int n = 0; n < RAPL_ZONES; n++) {
		char zone[140], name[64];

		snprintf(zone, sizeof(zone), "%.100s/intel-rapl:%d", folder, n);
		device_limits_read_line(name, sizeof(name), "%s/name", zone);
		if (strncmp(name, "package", strlen("package")) != 0)
			continue;
		rapl->packages++;
		if (rapl_add_zone(rapl, zone, err) != STATUS_OK)
			return err->status;
		for (int i = 0; i < 16; i++) {
			char memory[160];

			snprintf(memory, sizeof(memory), "%.120s/intel-rapl:%d:%d", zone, n, i);
			device_limits_read_line(name, sizeof(name), "%s/name", memory);
			if (strcmp(name, "dram") == 0 &&
			    rapl_add_zone(rapl, memory, err) != STATUS_OK)
				return err->status;
		}
	}
	if (rapl->packages)
		return STATUS_OK;
	return error_set(err, STATUS_UNSUPPORTED, "%s has no RAPL package", folder);
}

enum status rapl_read(struct rapl *rapl, struct energy *out, struct error *err)
{
	double joules = 0;
	char host[48] = "";

	for (size_t i = 0; i < rapl->count; i++) {
		struct rapl_zone *zone = &rapl->zones[i];
		uint64_t now;

		if (rapl_read_count(zone->path, &now, err) != STATUS_OK)
			return err->status;
		zone->joules += 1e-6 * (double)(now >= zone->last ? now - zone->last
								  : zone->range - zone->last + now);
		zone->last = now;
		joules += zone->joules;
	}
	*out = (struct energy){ .joules = joules, .update_seconds = UPDATE_SECONDS };
	gethostname(host, sizeof(host) - 1);
	snprintf(out->domain, sizeof(out->domain), "RAPL of %s", host);
	snprintf(out->source, sizeof(out->source), "RAPL, %zu package%s%s", rapl->packages,
		 rapl->packages == 1 ? "" : "s", rapl->count > rapl->packages ? " and memory" : "");
	return STATUS_OK;
}
