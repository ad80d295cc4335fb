/*
 * Quantities with units. Inside the program and in its files, quantities are in SI base units: s,
 * B, B/s, FLOP/s, Hz, W, degC. Units are parsed here (from INI text) and formatted here (for
 * display). GB = 1e9 B, GiB = 2^30 B.
 */
#ifndef GPUPROOF_BASE_UNITS_H
#define GPUPROOF_BASE_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "64MiB", "1GB", "512 B" -> bytes. A unit is required, except for 0. No sign. */
enum status units_parse_size(const char *s, uint64_t *bytes, struct error *err);

/* "250us", "1.5 s", "2min", "1h" -> seconds. A unit is required, except for 0. No sign. */
enum status units_parse_duration(const char *s, double *seconds, struct error *err);

/* "0.5 %" -> 0.005. The % sign is required. No sign. */
enum status units_parse_percent(const char *s, double *ratio, struct error *err);

/* "47 GB/s" -> 47e9 for unit "B/s"; "1.2 TFLOP/s" for unit "FLOP/s": an SI prefix and the unit. */
enum status units_parse_quantity(const char *s, const char *unit, double *value, struct error *err);

/*
 * "MB/s" -> "B/s" and 1e6, "ms" -> "s" and 1e-3, "%" -> "1" and 0.01. The unit is one of
 * units_all(), static, after an SI prefix; for bytes also a binary one ("GiB/s").
 */
enum status units_parse_unit(const char *s, const char **unit, double *factor, struct error *err);

/* Plain numbers; all of `s` must be the number, and it must be finite. */
enum status units_parse_integer(const char *s, int64_t *value, struct error *err);
enum status units_parse_real(const char *s, double *value, struct error *err);

/*
 * Formatting for display. `out` is always NUL-terminated; returns `out`. units_size: exact if
 * possible: "64MiB", "1000B", "1GB" (as in ids and the INI). units_duration, units_percent: exact
 * as well, the shortest text that units_parse_...() reads as the same double: "1.5ms", "0.1%".
 * units_about: a rough time, rounded up: "4 s", "3 min", "1.5 h". units_format: 4 significant
 * digits and a suitable SI prefix: (5.545e10, "B/s") -> "55.45 GB/s"; (1.17e-6, "s") -> "1.170 us";
 * unknown units are appended unchanged; the ratio "1" has no unit; NaN -> "-". Binary sizes, up to
 * 15 times a power of two, keep their unit: (67108864, "B") -> "64 MiB". units_si: as units_format
 * with SI prefixes only, for axes with such prefixes and for sizes compared in a sentence.
 * units_brief: as units_si with 3 significant digits, for prose.
 */
/*
 * Unit of bytes for users who gave sizes in powers of two (case_asks_binary()): these two functions
 * and units_prefix() then use KiB, MiB and GiB, with no decimals for integers. Files never contain
 * this unit.
 */
#define UNITS_BINARY "iB"

char *units_size(uint64_t bytes, char *out, size_t size);
char *units_duration(double seconds, char *out, size_t size);
char *units_percent(double ratio, char *out, size_t size);
char *units_about(double seconds, char *out, size_t size);
char *units_format(double value, const char *unit, char *out, size_t size);
char *units_si(double value, const char *unit, char *out, size_t size);
char *units_brief(double value, const char *unit, char *out, size_t size);

/*
 * Units of results: of metrics, samples, parameters and quantities over time. A suite with a new
 * unit adds it to units.c. units_all: all of them, separated by ", ", for messages; returns `out`.
 */
bool units_known(const char *unit);
char *units_all(char *out, size_t size);

/*
 * The prefix that units_format() would choose for `value`: name ("G") and factor (1e9), so that an
 * axis or a table column can use one unit for all numbers.
 */
double units_prefix(double value, const char *unit, const char **prefix);
/* The unit after a prefix with that factor: "B" for bytes without a prefix, else `unit`. */
const char *units_after_prefix(const char *unit, double factor);

#ifdef __cplusplus
}
#endif

#endif
