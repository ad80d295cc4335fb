/*
 * Quantities with units. Everywhere inside the program and in its files a
 * quantity is in its SI base unit: s, B, B/s, FLOP/s, Hz, W, degC. Units are
 * only read here (from INI text) and only written here (for people).
 * GB = 1e9 B, GiB = 2^30 B.
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
 * "MB/s" -> "B/s" and 1e6, "ms" -> "s" and 1e-3, "%" -> "1" and 0.01: one of units_all(), static,
 * after an SI prefix, of bytes also a binary one ("GiB/s").
 */
enum status units_parse_unit(const char *s, const char **unit, double *factor, struct error *err);

/* Plain numbers; the whole of `s` must be the number and be finite. */
enum status units_parse_integer(const char *s, int64_t *value, struct error *err);
enum status units_parse_real(const char *s, double *value, struct error *err);

/*
 * For people. `out` is always terminated; returns `out`.
 * units_size: exact where it can be: "64MiB", "1000B", "1GB" (the form ids and the INI use).
 * units_duration, units_percent: exact too, the shortest that units_parse_...() reads as the same
 * double: "1.5ms", "0.1%".
 * units_about: a time that is no measurement, rounded up: "4 s", "3 min", "1.5 h".
 * units_format: 4 significant digits and an SI prefix that suits `value`:
 * (5.545e10, "B/s") -> "55.45 GB/s"; (1.17e-6, "s") -> "1.170 us"; unknown units are appended
 * as they are; ratio "1" has no unit; NaN -> "-". Sizes as people ask for them, up to 15
 * times a power of two, keep their unit: (67108864, "B") -> "64 MiB".
 * units_si: the same with SI prefixes alone: for values on axes that have those, and sizes that a
 * sentence compares.
 * units_brief: as units_si with 3 significant digits, for prose.
 */
/*
 * The unit of bytes for people who asked for sizes in powers of two (case_asks_binary()): these two
 * and units_prefix() give them KiB, MiB and GiB, and whole numbers no digits after the point. No
 * file has this unit.
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
 * The units that results have: of metrics, samples, parameters and quantities over time. A suite
 * with another one adds it in units.c. units_all: all of them, ", " between, for messages; returns
 * `out`.
 */
bool units_known(const char *unit);
char *units_all(char *out, size_t size);

/*
 * The prefix units_format() would choose for `value`: its name ("G") and factor (1e9), so
 * that an axis or a table column can use one unit for all its numbers.
 */
double units_prefix(double value, const char *unit, const char **prefix);
/* The unit as it follows a prefix with that factor: "B" of bytes without one, else `unit`. */
const char *units_after_prefix(const char *unit, double factor);

#ifdef __cplusplus
}
#endif

#endif
