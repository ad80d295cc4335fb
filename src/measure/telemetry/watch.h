/*
 * State of a device during a long case: a thread reads it (backend_telemetry_quick) at a short
 * interval and keeps the lowest, mean and highest reading of each longer interval. The thread that
 * drives the device hands over what only it may read (error counters, the PCIe link under load).
 *
 * Adding a quantity over time: add a row in watch.c and one in src/report/page/view_watches.c.
 */
#ifndef GPUPROOF_MEASURE_TELEMETRY_WATCH_H
#define GPUPROOF_MEASURE_TELEMETRY_WATCH_H

#include "device/backend.h"
#include "result/result.h"

struct world;

struct watch_recorder;

/*
 * Starts at once. With `reading_seconds` 0, or a backend without quick telemetry, only handed-over
 * values are kept. The device must stay open until telemetry_watch_end().
 */
struct watch_recorder *telemetry_watch_begin(struct device *device, double reading_seconds,
					     double interval_seconds);
/* Hands over `now`, the latest backend_telemetry(). */
void telemetry_watch_hand_over(struct watch_recorder *recorder, const struct telemetry *now);
/*
 * Fills `out` (device, interval, readings, known quantities) and releases the recorder; does
 * nothing for NULL.
 */
void telemetry_watch_end(struct watch_recorder *recorder, struct watch *out);

/* Keeps only power and SM clock, for results with many short cases. */
void telemetry_watch_release_other_than_power(struct watch *watch);
bool telemetry_watch_has_power(const struct watch *watch);

/*
 * Moves every rank's watch to rank 0, which adds them to `result` in rank order; releases `mine`.
 */
void telemetry_watch_gather(struct world *world, struct watch *mine, struct case_result *result);

#endif
