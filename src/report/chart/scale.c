#include "report/chart/scale.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

#define TICKS_WANTED 5
#define TICK_LABEL_WIDTH 56.0 /* px: "256 MiB" with a gap */

/*
 * Beyond, the arithmetic of scales would leave what a double can hold. No measurement is out there.
 */
#define LARGEST 1e250
#define SMALLEST 1e-250

void scale_extent_add(struct extent *extent, double value)
{
	if (!isfinite(value) || fabs(value) > LARGEST)
		return;
	if (fabs(value) < SMALLEST)
		value = 0;
	if (isnan(extent->min) || value < extent->min)
		extent->min = value;
	if (isnan(extent->max) || value > extent->max)
		extent->max = value;
}

/*
 * The round step (1, 2, 2.5 or 5 times a power of ten) of `base` that cuts `range` in about
 * TICKS_WANTED parts.
 */
static double scale_nice_step(double range, double base)
{
	static const double steps[] = { 1, 2, 2.5, 5, 10 };
	double rough = range / base / TICKS_WANTED;
	double power = pow(10, floor(log10(rough)));

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if (steps[i] * power >= rough * 0.999)
			return steps[i] * power * base;
	return 10 * power * base;
}

static void scale_init_log10(struct scale *scale, struct extent extent)
{
	double low = floor(log10(extent.min) + 1e-9), high = ceil(log10(extent.max) - 1e-9);

	/* Within a decade, whole decades would waste the axis: go to the next 1, 2 or 5. */
	if (extent.max / extent.min < 30) {
		double below = pow(10, low), above = pow(10, high - 1);

		scale->low = extent.min >= 5 * below   ? 5 * below
			     : extent.min >= 2 * below ? 2 * below
						       : below;
		scale->high = extent.max <= 2 * above   ? 2 * above
			      : extent.max <= 5 * above ? 5 * above
							: 10 * above;
	} else {
		scale->low = pow(10, low);
		scale->high = pow(10, high);
	}
	if (scale->low >= scale->high) {
		scale->low /= 2;
		scale->high *= 2;
	}
}

void scale_init(struct scale *scale, enum scale_kind kind, struct extent extent, const char *unit,
		double from, double to)
{
	struct extent all = extent;
	bool binary = strcmp(unit, UNITS_BINARY) == 0;
	const char *prefix;

	extent = (struct extent)EXTENT_EMPTY;
	scale_extent_add(&extent, all.min);
	scale_extent_add(&extent, all.max);
	if (binary && kind == SCALE_LOG10)
		kind = SCALE_LOG2;
	*scale = (struct scale){ .kind = kind, .from = from, .to = to, .base = 1 };
	if (binary)
		scale->base = units_prefix(fmax(fabs(extent.min), fabs(extent.max)), unit, &prefix);
	if (kind != SCALE_LINEAR && (isnan(extent.min) || extent.min <= 0))
		extent = (struct extent){ extent.max > 0 ? extent.max / 10 : 1,
					  extent.max > 0 ? extent.max : 10 };
	if (kind == SCALE_LINEAR) {
		double low = fmin(extent.min, 0), high = fmax(extent.max, 0);
		double step;

		if (isnan(extent.min) || low == high) {
			low = 0;
			high = 1;
		}
		step = scale_nice_step(high - low, scale->base);
		scale->low = floor(low / step + 1e-9) * step;
		scale->high = ceil(high / step - 1e-9) * step;
	} else if (kind == SCALE_LOG10)
		scale_init_log10(scale, extent);
	else {
		scale->low = extent.min;
		scale->high = extent.max;
		if (scale->low >= scale->high) {
			scale->low /= 2;
			scale->high *= 2;
		}
	}
}

void scale_fit(struct scale *scale, struct extent extent)
{
	double step;

	if (!(extent.max > extent.min))
		return;
	step = scale_nice_step(extent.max - extent.min, scale->base);
	scale->low = floor(extent.min / step) * step;
	scale->high = ceil(extent.max / step) * step;
}

double scale_at(const struct scale *scale, double value)
{
	double position;

	if (isnan(value))
		return NAN;
	value = fmin(fmax(value, scale->low), scale->high);
	if (scale->kind == SCALE_LINEAR)
		position = (value - scale->low) / (scale->high - scale->low);
	else
		position = log(value / scale->low) / log(scale->high / scale->low);
	return scale->from + position * (scale->to - scale->from);
}

static size_t scale_ticks_linear(const struct scale *scale, double factor, struct tick *out)
{
	double step = scale_nice_step(scale->high - scale->low, scale->base);
	size_t n = 0;

	for (double i = ceil(scale->low / step - 1e-6); i * step <= scale->high + step * 1e-6;
	     i++) {
		if (n == SCALE_TICKS)
			break;
		out[n].value = i * step;
		/* Rounding leaves 1e-17 where zero is meant. */
		out[n++].label = format_short(fabs(i) < 0.5 ? 0 : i * step, factor);
	}
	return n;
}

/* "10 µs", "1 GB/s": round numbers need no four digits. */
static struct formatted scale_label_round(double value, const char *unit)
{
	double factor;
	const struct formatted name = format_unit(value, unit, &factor);

	/* "10⁻⁴" as its neighbours, which need the power */
	if (!*name.text && value > 0 && value < 0.01)
		return format_power_of_ten(value);
	return format_text("%s%s%s", format_short(value, factor).text,
			   *name.text && strcmp(name.text, "×") != 0 ? "\u00a0" : "", name.text);
}

static size_t scale_ticks_log10(const struct scale *scale, const char *unit, struct tick *out)
{
	static const double few[] = { 1, 2, 5 };
	int first = (int)floor(log10(scale->low) + 1e-9),
	    last = (int)ceil(log10(scale->high) - 1e-9);
	size_t steps = last - first <= 2 ? 3 : 1;
	int every = last - first <= 7 ? 1 : (last - first + 6) / 7;
	size_t n = 0;

	for (int decade = first; decade <= last; decade += every) {
		for (size_t s = 0; s < steps; s++) {
			double value = few[s] * pow(10, decade);

			if (n == SCALE_TICKS || value < scale->low * 0.999 ||
			    value > scale->high * 1.001)
				continue;
			out[n++] = (struct tick){ value, scale_label_round(value, unit) };
		}
	}
	return n;
}

static size_t scale_ticks_log2(const struct scale *scale, const char *unit, struct tick *out)
{
	int first = (int)ceil(log2(scale->low) - 1e-9), last = (int)floor(log2(scale->high) + 1e-9);
	int most = (int)(fabs(scale->to - scale->from) / TICK_LABEL_WIDTH);
	int every = most < 1              ? last - first + 1
		    : last - first < most ? 1
					  : (last - first + most - 1) / most;
	size_t n = 0;

	/* For close ratios, whose powers of two would give a single tick. */
	if (strcmp(unit, "×") == 0 && last - first < 2) {
		n = scale_ticks_linear(scale, 1, out);
		for (size_t i = 0; i < n; i++)
			out[i].label = scale_label_round(out[i].value, unit);
		return n;
	}
	for (int power = first; power <= last && n < SCALE_TICKS; power += every) {
		char size[32];

		out[n].value = ldexp(1, power);
		if ((strcmp(unit, "B") == 0 || strcmp(unit, UNITS_BINARY) == 0) && power >= 0 &&
		    power < 63)
			out[n].label =
				format_spaced(units_size((uint64_t)1 << power, size, sizeof(size)));
		else
			out[n].label = scale_label_round(out[n].value, unit);
		n++;
	}
	return n;
}

size_t scale_ticks(const struct scale *scale, const char *unit, double factor, struct tick *out)
{
	switch (scale->kind) {
	case SCALE_LINEAR:
		return scale_ticks_linear(scale, factor, out);
	case SCALE_LOG10:
		return scale_ticks_log10(scale, unit, out);
	case SCALE_LOG2:
		return scale_ticks_log2(scale, unit, out);
	}
	return 0;
}
