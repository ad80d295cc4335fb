/*
 * A device's condition over the minutes of a case that lasts: a thread reads it (backend_telemetry_quick) at one
 * interval and keeps the lowest, the mean and the highest reading of each longer one. What only the thread that drives
 * the device may ask for (counters of errors, the PCIe link under load) it hands over itself.
 */
#ifndef GPUPROOF_MEASURE_TIMELINE_H
#define GPUPROOF_MEASURE_TIMELINE_H

#include "measure/world.h"
#include "result/result.h"

struct timeline_recorder;

/*
 * Begins at once. `reading_seconds` 0, or a backend that cannot tell: nothing is read, and what is handed over is kept
 * all the same. The device must stay open until timeline_end().
 */
struct timeline_recorder *timeline_begin(struct device *device, double reading_seconds,
					 double interval_seconds);
/* What backend_telemetry() said just now. */
void timeline_hand_over(struct timeline_recorder *recorder, const struct telemetry *now);
/* Fills `out` (device, interval, readings, quantities: those that are known) and releases the recorder; NULL: nothing. */
void timeline_end(struct timeline_recorder *recorder, struct timeline *out);

/* Moves every rank's timeline to rank 0, which adds them to `result` in the order of ranks; `mine` is released. */
void timeline_gather(struct world *world, struct timeline *mine, struct case_result *result);

#endif
