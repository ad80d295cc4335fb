/* Host clocks. */
#ifndef GPUPROOF_BASE_CLOCK_H
#define GPUPROOF_BASE_CLOCK_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Seconds on CLOCK_MONOTONIC, for durations and timeouts: not affected by jumps of the wall clock.
 */
double clock_seconds(void);

/* Sleeps at least `seconds`, even if signals interrupt it. */
void clock_sleep(double seconds);

/* Seconds since 1970 (UTC) on the wall clock. */
double clock_unix_seconds(void);

/* Writes the wall clock as "2026-11-20T14:03:59Z" to `out` (at least 21 bytes). */
void clock_iso8601(char *out, size_t size);

/* Parses "2026-11-20T14:03:59Z" to seconds since 1970; NaN: invalid. */
double clock_parse_iso8601(const char *text);

#ifdef __cplusplus
}
#endif

#endif
