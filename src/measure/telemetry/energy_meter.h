/*
 * The energy that devices take between two moments: of their counters (backend_energy), or of their
 * power, read every few milliseconds, where a device reports power alone. A counter of few updates
 * is watched from update to update. Of the joules of the updates that lie partly in the window,
 * before the first update in it and after the last, a part belongs to it: with U joules of such an
 * update, `in` s of it in the window and `out` s outside, and P, the greatest mean power of any
 * update seen,
 *
 *	max(0, U - out * P) <= part <= min(U, in * P)
 *
 * since power outside is neither negative nor, as the updates tell it, above P; the same inside.
 * Times are open by half of the time between two looks, to the side that widens it. The figure is
 * the middle of both sums, its error half of their distance. At steady power U is (in + out) P, and
 * the times alone are left open; where power rises or falls within an update, U is less, and the
 * error has what that may hide. Power that swings within an update higher than P is not seen. The
 * update before the window is as long as the longest (struct energy). The error also has one look's
 * time, and by how much the longest update seen is above that, at P each; it is 3.5 % or more of a
 * window below two seconds.
 */
#ifndef GPUPROOF_MEASURE_TELEMETRY_ENERGY_METER_H
#define GPUPROOF_MEASURE_TELEMETRY_ENERGY_METER_H

#include "device/backend.h"

struct world;

struct energy_meter;

struct energy_window {
	double joules, watts; /* of all devices together; NAN: not measured */
	double seconds;       /* from the first reading to the last */
	double began;         /* s since 1970 (UTC) */
	/* the same, of the first device's counter within; NAN: its updates are not watched */
	double first_update, last_update;
	/* relative: what the updates and, of power, NVML's accuracy leave open; NAN */
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
 * For so long after the reading the same work narrows the interval, until the next update; 0: it
 * need not.
 */
double energy_meter_after_seconds(const struct energy_meter *meter);
/*
 * Waits for the next update. The window up to the latest reading, of all ranks together; releases
 * the meter. Collective.
 * Counters that several ranks or devices share count once. Not measured if one device was not, or
 * if nothing was read since the beginning.
 */
void energy_meter_end(struct energy_meter *meter, struct world *world, struct energy_window *out);

#endif
