/*
 * A device's condition while samples are taken: a thread reads it (backend_telemetry_quick) at an
 * interval. It sleeps outside run_sample(), so that what it saw is what the samples saw, and
 * nothing else is disturbed.
 */
#ifndef GPUPROOF_MEASURE_TELEMETRY_TELEMETRY_WINDOW_H
#define GPUPROOF_MEASURE_TELEMETRY_TELEMETRY_WINDOW_H

#include <stdbool.h>

#include "device/backend.h"
#include "result/result.h"

struct telemetry_window;

/*
 * One case on `device`. NULL, which every call below takes and ignores, when the interval is 0 or
 * the backend has no quick telemetry. The device must stay open until telemetry_window_close().
 */
struct telemetry_window *telemetry_window_open(struct device *device, double interval_seconds);
/* Waits for the thread; no reading is in progress when it returns. */
void telemetry_window_close(struct telemetry_window *window);

/* Around the samples of one series. */
void telemetry_window_begin(struct telemetry_window *window);
/* Readings since begin, and how many of them found the device throttled (THROTTLE_SLOWS). */
void telemetry_window_end(struct telemetry_window *window, size_t *readings, size_t *throttled);

/* All readings so far. Leaves the counters' differences unknown. */
void telemetry_window_summary(struct telemetry_window *window, struct telemetry_during *out);

#endif
