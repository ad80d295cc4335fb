/*
 * State of a device during sampling: a thread reads it (backend_telemetry_quick) at an interval. It
 * sleeps outside run_sample(), so that its readings cover only the samples and disturb nothing
 * else.
 */
#ifndef GPUPROOF_MEASURE_TELEMETRY_TELEMETRY_WINDOW_H
#define GPUPROOF_MEASURE_TELEMETRY_TELEMETRY_WINDOW_H

#include <stdbool.h>

#include "device/backend.h"
#include "result/result.h"

struct telemetry_window;

/*
 * Opens a window for one case on `device`. NULL, which every function below accepts, if the
 * interval is 0 or the backend has no quick telemetry. The device must stay open until
 * telemetry_window_close().
 */
struct telemetry_window *telemetry_window_open(struct device *device, double interval_seconds);
/* Joins the thread; no reading is in progress after the return. */
void telemetry_window_close(struct telemetry_window *window);

/* Call before the samples of one series. */
void telemetry_window_begin(struct telemetry_window *window);
/*
 * Call after the samples: number of readings since begin, and of those with throttling
 * (THROTTLE_SLOWS).
 */
void telemetry_window_end(struct telemetry_window *window, size_t *readings, size_t *throttled);

/* Summary of all readings so far. Leaves the counter differences unknown. */
void telemetry_window_summary(struct telemetry_window *window, struct telemetry_during *out);

#endif
