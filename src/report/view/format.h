/*
 * Numbers and words as a page shows them. They are returned by value: format_quantity(...).text is
 * good until the end of the full expression.
 */
#ifndef GPUPROOF_REPORT_VIEW_FORMAT_H
#define GPUPROOF_REPORT_VIEW_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "result/result.h"

#define FORMAT_SIZE 96             /* enough for every function here; longer texts are cut */
#define FORMAT_LONGEST 2000        /* characters of a text from outside that a page shows */
#define FORMAT_LONGEST_FILE 100000 /* of a file: the effective INI */

struct formatted {
	char text[FORMAT_SIZE];
};

/* As printf does. */
struct formatted format_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Appends words to a list, after ", " where it has some. */
void format_list(struct text *list, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * "55.45 GB/s", "1.170 µs", "1.83×", "12,353,568 samples" for whole numbers, "–" for NaN.
 * Uses the typographic minus sign, as do all functions of this header.
 */
struct formatted format_quantity(double value, const char *unit);
/* As a source states it, without trailing zeros: "547.7 GB/s", "5 GB/s". */
struct formatted format_stated(double value, const char *unit);
/*
 * A metric's value in `unit`: counts in whole numbers, a part of one in percent, all else as a
 * quantity. NULL: "–".
 */
struct formatted format_value(const struct metric_value *m, const char *unit, bool percent);
/*
 * The same with three digits, for derived values without an interval: "2.76 GB". `unit` must take
 * prefixes.
 */
struct formatted format_rounded(double value, const char *unit);
/* `value` in units of `factor` with four significant digits and no unit: a column of numbers. */
struct formatted format_scaled(double value, double factor);
/* A round number of a tick, with the fewest digits. */
struct formatted format_short(double value, double factor);
/* The same as a power of ten: "10⁻⁴", "2×10⁻⁴". */
struct formatted format_power_of_ten(double value);
/* "1.9×10¹⁵": two digits and a power of ten. */
struct formatted format_scientific(double value);
/* The prefix and unit that suit `value` ("GB/s"), and their factor. */
struct formatted format_unit(double value, const char *unit, double *factor);
/* "12,353,568" of a whole number, "1024" of one with four digits. */
struct formatted format_count(double value);
/* "[55.40, 55.49]" in the prefix that its value has with `unit`; "" when there is no interval. */
struct formatted format_interval(const struct metric_value *m, const char *unit);
/* "±0.12 %": the wider half of the interval; "" if there is none. */
struct formatted format_spread(double value, double low, double high);
/* "0.12 %" */
struct formatted format_percent(double ratio);
/* "+0.1 %", "−7.9 %": relative difference from a reference. */
struct formatted format_margin(double ratio);
/* "1.83×" */
struct formatted format_ratio(double ratio);
/* "20 Nov 2026 15:57 UTC" of "2026-11-20T15:57:19Z"; other text unchanged. */
struct formatted format_date(const char *stamp);
/* "13.2 s", "2 min 5 s", "3 h 12 min" */
struct formatted format_seconds(double seconds);
/* "64 MiB" of "64MiB": a number and the word after it separated; other text unchanged. */
struct formatted format_spaced(const char *text);
/*
 * A parameter's value without words from its suite (view/presented.h): "64 MiB", "layer split" for
 * "layer_split", "64×32×64" for "64x32x64", "4 devices"; "" for a parameter that does not apply
 * ("-").
 */
struct formatted format_parameter(const struct case_parameter *parameter);
/* The same of a name: "step time" of "parallel.step_time". */
struct formatted format_metric(const char *name);

/* Appends "23 regressed" to a list; nothing for 0. */
void format_count_of(struct text *list, size_t count, const char *words);
/* "case", "cases" */
const char *format_cases(size_t count);

/* Makes the first letter, if it is ASCII, a capital. */
void format_capital(char *s);

const char *format_better(enum better better); /* "higher is better", ... */
const char *
format_status_word(enum case_status status); /* "OK", "wrong result", "error", "not run" */
const char *format_status_symbol(enum case_status status); /* "✓", "✗", "!", "○" */

/*
 * At most `longest` characters of `text`, malloc'ed, with "… (N bytes)" when it is cut; never
 * within a character.
 */
char *format_cut(const char *text, size_t longest);
/* The same for a label in a chart: only "…" shows that it is cut. */
char *format_label(const char *text, size_t longest);
/*
 * The same for one of many names, which mostly differ at their ends: "DDP, 2 devices, …, over
 * NCCL".
 */
char *format_name(const char *text, size_t longest);

#endif
