/*
 * Decimal numbers as text, exactly: text becomes the double nearest to what it says, also in a unit
 * that is a power of ten (multiplying by 1e-6, which no double is, would be one bit off: 10 us
 * would be less than 1e-5 s), and a double becomes the shortest text that reads back as itself.
 */
#ifndef GPUPROOF_BASE_DECIMAL_H
#define GPUPROOF_BASE_DECIMAL_H

#include <stddef.h>

/*
 * The number at the start of `s` ("12", "0.5", "1e9"; no sign, no hexadecimal, no inf or nan).
 * Returns its end; NULL: there is none. decimal_value() is that text times 10^shift; infinite when
 * it is too large.
 */
const char *decimal_scan(const char *s);
double decimal_value(const char *s, const char *end, int shift);

/*
 * The shortest text that decimal_value() reads with `shift` as exactly `value`, and "-", "infinite"
 * for what is not finite; returns `out`.
 */
char *decimal_text(double value, int shift, char *out, size_t size);

#endif
