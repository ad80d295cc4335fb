/*
 * Exact decimal text of numbers. Parsing gives the double nearest to the text, even in a unit that
 * is a power of ten (multiplying by 1e-6, which no double represents, would make 10 us less than
 * 1e-5 s). Formatting gives the shortest text that reads back as the same double.
 */
#ifndef GPUPROOF_BASE_DECIMAL_H
#define GPUPROOF_BASE_DECIMAL_H

#include <stddef.h>

/*
 * Scans the number at the start of `s` ("12", "0.5", "1e9"; no sign, hexadecimal, inf or nan).
 * Returns its end; NULL: none. decimal_value() is that text times 10^shift; infinite if it is too
 * large.
 */
const char *decimal_scan(const char *s);
double decimal_value(const char *s, const char *end, int shift);

/*
 * Shortest text that decimal_value() reads with `shift` as exactly `value`; "-" for NaN and
 * "infinite". Returns `out`.
 */
char *decimal_text(double value, int shift, char *out, size_t size);

#endif
