/* Host clocks. */
#ifndef GPUPROOF_BASE_CLOCK_H
#define GPUPROOF_BASE_CLOCK_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Seconds on CLOCK_MONOTONIC: for durations and time-outs. Wall-clock jumps don't reach it. */
double clock_seconds(void);

/* Sleeps at least `seconds`, through interruptions by signals. */
void clock_sleep(double seconds);

/* Seconds since 1970 (UTC) on the wall clock. */
double clock_unix_seconds(void);

/* The wall clock as "2026-11-20T14:03:59Z" into `out` (at least 21 bytes). */
void clock_iso8601(char *out, size_t size);

/* Seconds since 1970 of "2026-11-20T14:03:59Z"; NaN: it is no such text. */
double clock_parse_iso8601(const char *text);

#ifdef __cplusplus
}
#endif

#endif
