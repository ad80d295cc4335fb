/*
 * Energy of devices between two moments, from their counters (backend_energy), or from their power,
 * read every few milliseconds, if a device reports only power. A slow counter is tracked from
 * update to update. Two updates lie partly in the window: the one before the first update in it and
 * the one after the last. Of the U joules of such an update, with `in` seconds in the window, `out`
 * seconds outside, and P the greatest mean power of any update seen, the part in the window is
 *
 *	max(0, U - out * P) <= part <= min(U, in * P)
 *
 * because power is never negative and, as far as updates show, never above P. Each time is
 * uncertain by half the polling interval, in the direction that widens the bound. The reported
 * energy is the middle of both sums, its error half their distance. At steady power U is (in + out)
 * P, and only the times are uncertain. If power rises or falls within an update, U is smaller and
 * the error covers what this may hide. Oscillation above P within an update is not detected. The
 * update before the window is assumed as long as the longest (struct energy). The error also
 * includes the time of one poll, and by how much the longest update exceeds that, at P each; it is
 * at least 3.5 % for a window below two seconds.
 */
#ifndef GPUPROOF_MEASURE_TELEMETRY_ENERGY_METER_H
#define GPUPROOF_MEASURE_TELEMETRY_ENERGY_METER_H

#include "device/backend.h"

struct world;

struct energy_meter;

struct energy_window {
	double joules, watts; /* sum over all devices; NAN: not measured */
	double seconds;       /* time from the first reading to the last */
	double began;         /* s since 1970 (UTC) */
	/*
	 * as `began`, for updates of the first device's counter within the window; NAN: not tracked
	 */
	double first_update, last_update;
	/* relative: uncertainty of the updates and, for power, NVML's accuracy; NAN */
	double error;
	bool counted;    /* measured by counters only, not by power */
	char source[96]; /* "NVML's energy counter, 2 devices" */
	char why[256];   /* why it was not measured; "" */
};

/* Starts at once. The devices must stay open until energy_meter_end(). */
struct energy_meter *energy_meter_begin(struct device *const *devices, size_t count);
/*
 * Reads the counters: the window ends at the latest reading. A CPU counter wraps around every 15
 * minutes or more, so a longer window needs several readings.
 */
void energy_meter_read(struct energy_meter *meter);
/*
 * How long the same work must continue after the reading, until the next update, to narrow the
 * interval; 0: not needed.
 */
double energy_meter_after_seconds(const struct energy_meter *meter);
/*
 * Waits for the next update, computes the window up to the latest reading over all ranks, and
 * releases the meter. Collective. Counters shared by ranks or devices count once. Not measured if
 * any device was not, or nothing was read since the start.
 */
void energy_meter_end(struct energy_meter *meter, struct world *world, struct energy_window *out);

#endif
