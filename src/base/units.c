#include "base/units.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/decimal.h"
#include "base/memory.h"
#include "base/text.h"

struct known_unit {
	const char *name;
	double factor; /* 1 for a power of ten, which is exact only as a shift (decimal.h) */
	int shift;
};

static const struct known_unit size_units[] = {
	{ "B", 1, 0 },        { "KiB", 0x1p10, 0 }, { "MiB", 0x1p20, 0 }, { "GiB", 0x1p30, 0 },
	{ "TiB", 0x1p40, 0 }, { "kB", 1, 3 },       { "KB", 1, 3 },       { "MB", 1, 6 },
	{ "GB", 1, 9 },       { "TB", 1, 12 },
};

static const struct known_unit duration_units[] = {
	{ "ns", 1, -9 }, { "us", 1, -6 },  { "ms", 1, -3 },
	{ "s", 1, 0 },   { "min", 60, 0 }, { "h", 3600, 0 },
};

static const struct known_unit percent_units[] = { { "%", 1, -2 } };

static const struct known_unit si_prefixes[] = {
	{ "n", 1e-9, -9 }, { "u", 1e-6, -6 }, { "m", 1e-3, -3 }, { "", 1, 0 },      { "k", 1e3, 3 },
	{ "M", 1e6, 6 },   { "G", 1e9, 9 },   { "T", 1e12, 12 }, { "P", 1e15, 15 },
};

static const char *const result_units[] = {
	"1",    "s",       "B",         "B/s",    "FLOP/s",  "FLOP/B",    "FLOP",
	"Hz",   "W",       "J",         "FLOP/J", "B/J",     "samples/J", "°C",
	"degC", "samples", "samples/s", "ops/s",  "items/s", "images/s",  "cycles",
};

static void unit_names(const struct known_unit *units, size_t count, char *out, size_t size)
{
	size_t at = 0;

	for (size_t i = 0; i < count && at < size; i++)
		at += (size_t)snprintf(out + at, size - at, "%s%s", i ? ", " : "", units[i].name);
}

static enum status parse_with_units(const char *s, const char *what, const struct known_unit *units,
				    size_t count, double *value, struct error *err)
{
	char allowed[160];
	const char *end, *rest;
	bool zero;

	unit_names(units, count, allowed, sizeof(allowed));
	if (*s == '-' || *s == '+')
		return error_set(err, STATUS_USAGE,
				 "'%.60s' has a sign; write a %s as a number without sign and a "
				 "unit (%s)",
				 s, what, allowed);
	rest = end = decimal_scan(s);
	if (!rest)
		return error_set(err, STATUS_USAGE,
				 "'%.60s' is not a %s; write a number and a unit (%s)", s, what,
				 allowed);
	if (!isfinite(decimal_value(s, end, 0)))
		return error_set(err, STATUS_USAGE, "'%.60s' is too large", s);
	zero = decimal_value(s, end, 0) == 0;
	while (*rest == ' ' || *rest == '\t')
		rest++;
	if (!*rest && zero) {
		*value = 0;
		return STATUS_OK;
	}
	if (!*rest)
		return error_set(err, STATUS_USAGE, "'%.60s' lacks a unit; allowed units: %s", s,
				 allowed);
	for (size_t i = 0; i < count; i++) {
		if (strcmp(rest, units[i].name) == 0) {
			*value = decimal_value(s, end, units[i].shift) * units[i].factor;
			return isfinite(*value)
				       ? STATUS_OK
				       : error_set(err, STATUS_USAGE, "'%.60s' is too large", s);
		}
	}
	return error_set(err, STATUS_USAGE,
			 "'%.60s' has the unknown unit '%.30s'; allowed units: %s", s, rest,
			 allowed);
}

enum status units_parse_size(const char *s, uint64_t *bytes, struct error *err)
{
	double value;
	enum status status =
		parse_with_units(s, "size", size_units, ARRAY_SIZE(size_units), &value, err);

	if (status != STATUS_OK)
		return status;
	if (value >= 0x1p62)
		return error_set(err, STATUS_USAGE,
				 "'%.60s' is too large; the largest size is 4 EiB", s);
	if (value != floor(value))
		return error_set(err, STATUS_USAGE, "'%.60s' is not a whole number of bytes", s);
	*bytes = (uint64_t)value;
	return STATUS_OK;
}

enum status units_parse_duration(const char *s, double *seconds, struct error *err)
{
	return parse_with_units(s, "duration", duration_units, ARRAY_SIZE(duration_units), seconds,
				err);
}

enum status units_parse_percent(const char *s, double *ratio, struct error *err)
{
	return parse_with_units(s, "percentage", percent_units, 1, ratio, err);
}

enum status units_parse_quantity(const char *s, const char *unit, double *value, struct error *err)
{
	const char *digits = *s == '-' ? s + 1 : s, *end = decimal_scan(digits), *rest = end;

	if (!end || !isfinite(decimal_value(digits, end, 0)))
		return error_set(err, STATUS_USAGE, "'%.60s' is not a number with the unit %s", s,
				 unit);
	while (*rest == ' ')
		rest++;
	for (size_t i = 0; i < ARRAY_SIZE(si_prefixes); i++) {
		size_t n = strlen(si_prefixes[i].name);

		if (strncmp(rest, si_prefixes[i].name, n) == 0 && strcmp(rest + n, unit) == 0) {
			*value = decimal_value(digits, end, si_prefixes[i].shift);
			*value = *s == '-' ? -*value : *value;
			return STATUS_OK;
		}
	}
	return error_set(err, STATUS_USAGE,
			 "'%.60s' needs the unit %s, optionally with an SI prefix", s, unit);
}

/* Factor of the prefix in front of exactly `unit`; 0: not that unit. */
static double units_prefix_before(const char *s, const char *unit)
{
	static const struct known_unit binary[] = { { "Ki", 0x1p10, 0 },
						    { "Mi", 0x1p20, 0 },
						    { "Gi", 0x1p30, 0 },
						    { "Ti", 0x1p40, 0 },
						    { "K", 1e3, 0 } };
	size_t length = strlen(s), end = strlen(unit);
	const struct known_unit *found = NULL;

	if (length < end || strcmp(s + length - end, unit) != 0)
		return 0;
	length -= end;
	for (size_t i = 0; i < ARRAY_SIZE(si_prefixes); i++)
		if (strlen(si_prefixes[i].name) == length &&
		    strncmp(si_prefixes[i].name, s, length) == 0)
			found = &si_prefixes[i];
	for (size_t i = 0; *unit == 'B' && i < ARRAY_SIZE(binary); i++)
		if (strlen(binary[i].name) == length && strncmp(binary[i].name, s, length) == 0)
			found = &binary[i];
	return found ? found->factor : 0;
}

enum status units_parse_unit(const char *s, const char **unit, double *factor, struct error *err)
{
	char allowed[256];

	if (strcmp(s, "%") == 0) {
		*unit = result_units[0];
		*factor = 0.01;
		return STATUS_OK;
	}
	for (size_t i = 0; i < ARRAY_SIZE(result_units); i++) {
		/* A ratio has no prefix: "k1" is not a unit. */
		*factor = i ? units_prefix_before(s, result_units[i])
			    : strcmp(s, result_units[i]) == 0;
		*unit = result_units[i];
		if (*factor > 0)
			return STATUS_OK;
	}
	return error_set(err, STATUS_USAGE,
			 "unknown unit '%.60s'; allowed: %% and, optionally with a prefix (ms, "
			 "MB/s, GiB/s), %s",
			 s, units_all(allowed, sizeof(allowed)));
}

enum status units_parse_integer(const char *s, int64_t *value, struct error *err)
{
	long long number;
	char *end;

	errno = 0;
	number = strtoll(s, &end, 10);
	if (end == s || *end || isspace((unsigned char)*s))
		return error_set(err, STATUS_USAGE, "'%.60s' is not a whole number", s);
	if (errno == ERANGE)
		return error_set(err, STATUS_USAGE, "'%.60s' is too large", s);
	*value = number;
	return STATUS_OK;
}

enum status units_parse_real(const char *s, double *value, struct error *err)
{
	const char *digits = *s == '-' ? s + 1 : s;
	const char *end = decimal_scan(digits);
	double number;

	if (!end || *end)
		return error_set(err, STATUS_USAGE, "'%.60s' is not a number", s);
	number = decimal_value(digits, end, 0);
	if (!isfinite(number))
		return error_set(err, STATUS_USAGE, "'%.60s' is too large", s);
	*value = *s == '-' ? -number : number;
	return STATUS_OK;
}

char *units_size(uint64_t bytes, char *out, size_t size)
{
	/* Largest unit that divides exactly; binary ones first. */
	static const struct known_unit order[] = {
		{ "TiB", 0x1p40, 0 }, { "GiB", 0x1p30, 0 }, { "MiB", 0x1p20, 0 },
		{ "KiB", 0x1p10, 0 }, { "TB", 1e12, 0 },    { "GB", 1e9, 0 },
		{ "MB", 1e6, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		uint64_t factor = (uint64_t)order[i].factor;

		if (bytes && bytes % factor == 0) {
			snprintf(out, size, "%" PRIu64 "%s", bytes / factor, order[i].name);
			return out;
		}
	}
	snprintf(out, size, "%" PRIu64 "B", bytes);
	return out;
}

char *units_duration(double seconds, char *out, size_t size)
{
	static const struct known_unit order[] = {
		{ "s", 1, 0 }, { "ms", 1e-3, -3 }, { "us", 1e-6, -6 }, { "ns", 1e-9, -9 }
	};
	size_t i = 0;

	while (i + 1 < ARRAY_SIZE(order) && seconds != 0 && seconds < order[i].factor)
		i++;
	decimal_text(seconds, order[i].shift, out, size);
	snprintf(out + strlen(out), size - strlen(out), "%s",
		 isfinite(seconds) ? order[i].name : "");
	return out;
}

char *units_percent(double ratio, char *out, size_t size)
{
	decimal_text(ratio, -2, out, size);
	snprintf(out + strlen(out), size - strlen(out), "%s", isfinite(ratio) ? "%" : "");
	return out;
}

char *units_about(double seconds, char *out, size_t size)
{
	if (seconds <= 99)
		snprintf(out, size, "%.0f s", ceil(seconds));
	else if (seconds <= 99 * 60)
		snprintf(out, size, "%.0f min", ceil(seconds / 60));
	else
		snprintf(out, size, "%.1f h", seconds / 3600);
	return out;
}

bool units_known(const char *unit)
{
	for (size_t i = 0; i < ARRAY_SIZE(result_units); i++)
		if (strcmp(unit, result_units[i]) == 0)
			return true;
	return false;
}

char *units_all(char *out, size_t size)
{
	size_t at = 0;

	*out = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(result_units) && at < size; i++)
		at += (size_t)snprintf(out + at, size - at, "%s%s", i ? ", " : "", result_units[i]);
	return out;
}

/* Units that are usually written with an SI prefix. */
static bool units_takes_prefix(const char *unit)
{
	static const char *const names[] = { "s",   "B",         "B/s",   "FLOP/s", "FLOP",
					     "Hz",  "samples/s", "ops/s", "J",      "FLOP/J",
					     "B/J", "samples/J", "ops/J" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(unit, names[i]) == 0)
			return true;
	return false;
}

const char *units_after_prefix(const char *unit, double factor)
{
	return factor == 1 && strcmp(unit, UNITS_BINARY) == 0 ? "B" : unit;
}

double units_prefix(double value, const char *unit, const char **prefix)
{
	double magnitude = fabs(value);
	bool small = strcmp(unit, "s") == 0 || strcmp(unit, "J") == 0;
	size_t first = small ? 0 : 3; /* only times and energies use prefixes below 1 */
	size_t last = strcmp(unit, "s") == 0 ? 3 : ARRAY_SIZE(si_prefixes) - 1;
	size_t best = 3;

	*prefix = "";
	if (strcmp(unit, UNITS_BINARY) == 0 && isfinite(value)) {
		static const char *const names[] = { "", "K", "M", "G", "T", "P" };
		double factor = 1;

		for (best = 0; best + 1 < ARRAY_SIZE(names) && magnitude >= 1023.95 * factor;
		     best++)
			factor *= 1024;
		*prefix = names[best];
		return factor;
	}
	if (!units_takes_prefix(unit) || !isfinite(value) || magnitude == 0)
		return 1;
	for (best = last; best > first; best--)
		if (magnitude >= si_prefixes[best].factor * 0.99995)
			break;
	*prefix = si_prefixes[best].name;
	return si_prefixes[best].factor;
}

static char *units_format_digits(double value, const char *unit, int significant, char *out,
				 size_t size)
{
	const char *prefix;
	double factor = units_prefix(value, unit, &prefix);
	double shown = value / factor;
	bool bare = !*unit || strcmp(unit, "1") == 0, binary = strcmp(unit, UNITS_BINARY) == 0;
	bool prefixed = binary || units_takes_prefix(unit);
	char rounded[32];
	const char *exponent;
	int leading, digits = 0;

	/* Digits after the decimal point for `significant` digits in total, after rounding. */
	if (shown != 0 && !(binary && shown == floor(shown))) {
		snprintf(rounded, sizeof(rounded), "%.*e", significant - 1, shown);
		exponent = strchr(rounded, 'e');
		leading = exponent ? atoi(exponent + 1) : 0;
		digits = leading >= significant ? 0 : significant - 1 - leading;
	}
	unit = units_after_prefix(unit, factor);
	if (isnan(value)) {
		snprintf(out, size, "-");
		return out;
	}
	if (isinf(value))
		snprintf(out, size, "%sinfinite", value < 0 ? "-" : "");
	/* Beyond all prefixes an exponent is shorter than zeros. */
	else if (shown != 0 &&
		 (fabs(shown) < (prefixed ? 1e-6 : 1e-3) || fabs(shown) >= (prefixed ? 1e9 : 1e7)))
		snprintf(out, size, "%.3e%s%s%s", shown, bare ? "" : " ", prefix, bare ? "" : unit);
	else
		snprintf(out, size, "%.*f%s%s%s", digits, shown, bare ? "" : " ", prefix,
			 bare ? "" : unit);
	text_mend(out); /* a unit from a file may be too long */
	return out;
}

char *units_si(double value, const char *unit, char *out, size_t size)
{
	return units_format_digits(value, unit, 4, out, size);
}

char *units_brief(double value, const char *unit, char *out, size_t size)
{
	return units_format_digits(value, unit, 3, out, size);
}

/*
 * "64 MiB", "192 KiB": sizes given in powers of two are shown in the same way. False: not such a
 * size.
 */
static bool units_binary_size(double value, const char *unit, char *out, size_t size)
{
	static const char *const names[] = { "KiB", "MiB", "GiB", "TiB" };
	uint64_t count = value >= 1024 && value < 0x1p63 ? (uint64_t)value : 0, odd;
	int power = -1;

	if (strcmp(unit, "B") != 0 || (double)count != value)
		return false;
	while (power + 1 < (int)(sizeof(names) / sizeof(names[0])) && count && count % 1024 == 0) {
		count /= 1024;
		power++;
	}
	for (odd = count; odd % 2 == 0 && odd > 0;)
		odd /= 2;
	if (power < 0 || count >= 1024 || odd >= 16)
		return false;
	snprintf(out, size, "%u %s", (unsigned)count, names[power]);
	return true;
}

char *units_format(double value, const char *unit, char *out, size_t size)
{
	return units_binary_size(value, unit, out, size) ? out : units_si(value, unit, out, size);
}
