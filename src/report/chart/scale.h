/*
 * Scales and ticks: from numbers to places on an axis. A scale is legal whatever it is made of: no
 * data, one value, all equal, NaN. Values outside a scale are drawn at its end.
 */
#ifndef GPUPROOF_REPORT_CHART_SCALE_H
#define GPUPROOF_REPORT_CHART_SCALE_H

#include "report/view/format.h"

enum scale_kind { SCALE_LINEAR, SCALE_LOG10, SCALE_LOG2 };

struct extent {
	double min, max; /* NaN while empty */
};
#define EXTENT_EMPTY     \
	{                \
		NAN, NAN \
	}
void scale_extent_add(struct extent *extent, double value); /* NaN and infinities are left out */

struct scale {
	enum scale_kind kind;
	double low, high; /* values at the ends; low < high; logarithmic: > 0 */
	double from, to;  /* places of low and high, in pixels */
	double base;      /* steps of a linear scale are round in this: 1, or 1 MiB */
};

/*
 * Ends on round numbers of `unit` around `extent`. Linear scales include zero unless the extent is
 * on both sides of it; UNITS_BINARY has a binary scale for a decimal one.
 */
void scale_init(struct scale *scale, enum scale_kind kind, struct extent extent, const char *unit,
		double from, double to);
/* The place of `value`; NaN for NaN. */
/* Makes a linear scale span only the values, without zero: for values that are nearly equal. */
void scale_fit(struct scale *scale, struct extent extent);
double scale_at(const struct scale *scale, double value);

#define SCALE_TICKS 16
struct tick {
	double value;
	struct formatted label;
};

/*
 * Ticks inside the scale, at most SCALE_TICKS: round numbers, decades (with 2 and 5 when there are
 * few) or powers of two. Sizes (unit "B" or UNITS_BINARY) on a binary scale read "64 MiB". Linear
 * labels are numbers in `factor` (units_prefix of the highest value), others carry their own
 * prefix.
 */
size_t scale_ticks(const struct scale *scale, const char *unit, double factor, struct tick *out);

#endif
