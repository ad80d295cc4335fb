/*
 * The energy that devices take between two moments: of their counters (backend_energy), or of their
 * power, read every few milliseconds, where a device reports power alone. A counter of few updates
 * is watched: its mean power from update to update, times the window.
 */
#ifndef GPUPROOF_MEASURE_TELEMETRY_ENERGY_METER_H
#define GPUPROOF_MEASURE_TELEMETRY_ENERGY_METER_H

#include "device/backend.h"

struct world;

struct energy_meter;

struct energy_window {
	double joules, watts; /* of all devices together; NAN: not measured */
	double seconds;       /* from the first reading to the last */
	/* relative: what the times of updates and, of power, NVML's accuracy leave open; NAN */
	double error;
	bool counted;    /* all by counters, not by power */
	char source[96]; /* "NVML's energy counter, 2 devices" */
	char why[256];   /* why it was not measured; "" */
};

/* Not measured yet. */
void energy_window_unknown(struct energy_window *w, const char *why);

/* Begins at once. The devices must stay open until energy_meter_end(). */
struct energy_meter *energy_meter_begin(struct device *const *devices, size_t count);
/*
 * Reads the counters: the window ends at the latest reading. A counter of the CPU begins anew every
 * 15 minutes or more, so a longer window needs some readings.
 */
void energy_meter_read(struct energy_meter *meter);
/*
 * The window up to the latest reading, of all ranks together; releases the meter. Collective.
 * Counters that several ranks or devices share count once. Not measured if one device was not, or
 * if nothing was read since the beginning.
 */
void energy_meter_end(struct energy_meter *meter, struct world *world, struct energy_window *out);

#endif
