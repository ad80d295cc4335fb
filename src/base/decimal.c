#include "base/decimal.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/*
 * Positions of the decimal point, relative to the first digit, for which numbers are written
 * without exponent.
 */
#define LEAST_PLAIN (-5)
#define MOST_PLAIN 17

const char *decimal_scan(const char *s)
{
	const char *p = s;
	char *end;

	while (isdigit((unsigned char)*p) || *p == '.')
		p++;
	if (p == s || (p == s + 1 && *s == '.') || (p == s + 1 && *s == '0' && (*p | 0x20) == 'x'))
		return NULL;
	/* "1e" in "1e9B" is an exponent, "1E" with no known unit is not: strtod decides. */
	strtod(s, &end);
	return end < p ? NULL : end;
}

double decimal_value(const char *s, const char *end, int shift)
{
	const char *mark = s + strcspn(s, "eE");
	int length = (int)((mark < end ? mark : end) - s);
	long exponent = mark < end ? strtol(mark + 1, NULL, 10) : 0;
	char *text;
	double value;

	/* Beyond these limits a double is 0 or infinite, whatever its digits. */
	exponent = exponent > 100000 ? 100000 : exponent < -100000 ? -100000 : exponent;
	text = xasprintf("%.*se%ld", length, s, exponent + shift);
	value = strtod(text, NULL);
	free(text);
	return value;
}

/* Writes 0.`digits` times 10^`point`, without exponent if possible. */
static void decimal_write_digits(const char *sign, const char *digits, int point, char *out,
				 size_t size)
{
	int count = (int)strlen(digits);

	if (point > LEAST_PLAIN && point <= 0)
		snprintf(out, size, "%s0.%.*d%s", sign, -point, 0, digits);
	else if (point >= count && point <= MOST_PLAIN)
		snprintf(out, size, "%s%s%.*d", sign, digits, point - count, 0);
	else if (point > 0 && point < count)
		snprintf(out, size, "%s%.*s.%s", sign, point, digits, digits + point);
	else
		snprintf(out, size, "%s%c%s%se%+03d", sign, digits[0], count > 1 ? "." : "",
			 digits + 1, point - 1);
}

char *decimal_text(double value, int shift, char *out, size_t size)
{
	char shortest[40], digits[20];
	double magnitude = fabs(value);
	int count = 0;

	if (!isfinite(value)) {
		snprintf(out, size, "%s",
			 isnan(value) ? "-"
			 : value < 0  ? "-infinite"
				      : "infinite");
		return out;
	}
	/* A double represents every decimal of 15 digits; a shorter one is padded with zeros. */
	for (int places = 14; places <= 16; places++) {
		snprintf(shortest, sizeof(shortest), "%.*e", places, magnitude);
		if (strtod(shortest, NULL) == magnitude)
			break;
	}
	for (const char *p = shortest; *p != 'e'; p++)
		if (isdigit((unsigned char)*p))
			digits[count++] = *p;
	while (count > 1 && digits[count - 1] == '0')
		count--;
	digits[count] = '\0';
	if (magnitude == 0)
		snprintf(out, size, "0");
	else
		decimal_write_digits(value < 0 ? "-" : "", digits,
				     atoi(strchr(shortest, 'e') + 1) - shift + 1, out, size);
	return out;
}
