/*
 * A device's condition over the minutes of a case that lasts: a thread reads it
 * (backend_telemetry_quick) at one interval and keeps the lowest, the mean and the highest reading
 * of each longer one. What only the thread that drives the device may ask for (counters of errors,
 * the PCIe link under load) it hands over itself.
 *
 * Adding a quantity over time: a row in watch.c, and one in src/report/page/view_watches.c.
 */
#ifndef GPUPROOF_MEASURE_TELEMETRY_WATCH_H
#define GPUPROOF_MEASURE_TELEMETRY_WATCH_H

#include "device/backend.h"
#include "result/result.h"

struct world;

struct watch_recorder;

/*
 * Begins at once. `reading_seconds` 0, or a backend without quick telemetry: nothing is read, and
 * what is handed over is kept all the same. The device must stay open until watch_end().
 */
struct watch_recorder *watch_begin(struct device *device, double reading_seconds,
				   double interval_seconds);
/* `now`: the latest backend_telemetry(). */
void watch_hand_over(struct watch_recorder *recorder, const struct telemetry *now);
/*
 * Fills `out` (device, interval, readings, quantities: those that are known) and releases the
 * recorder; NULL: nothing.
 */
void watch_end(struct watch_recorder *recorder, struct watch *out);

/* For results that many short cases must not make large: power and SM clock alone are left. */
void watch_release_other_than_power(struct watch *watch);
bool watch_has_power(const struct watch *watch);

/*
 * Moves every rank's watch to rank 0, which adds them to `result` in the order of ranks; `mine` is
 * released.
 */
void watch_gather(struct world *world, struct watch *mine, struct case_result *result);

#endif
