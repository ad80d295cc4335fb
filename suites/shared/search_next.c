#include "suites/shared/search_next.h"

#include <math.h>

/*
 * Moves away from the known size in growing steps, because the error of the prediction is unknown.
 */
static uint64_t search_next_away_from(uint64_t known, uint64_t predicted, int sign, uint64_t step,
				      double tolerance)
{
	double distance = fabs((double)known - (double)predicted);
	/*
	 * Upwards, the first failing step ends the search; downwards, a fitting size should be
	 * found soon.
	 */
	double first = (sign > 0 ? 1 : 3) * tolerance * (double)known;
	double next = (double)known + sign * fmax(4 * distance, first);
	uint64_t value = next > 0 ? ((uint64_t)(next / (double)step) * step) : 0;

	if (sign > 0)
		return value > known ? value : known + step;
	return value < known ? value : known - step;
}

uint64_t search_next(uint64_t fits, uint64_t fails, uint64_t predicted, uint64_t step,
		     uint64_t most, double tolerance)
{
	uint64_t next;

	predicted = predicted > step ? predicted / step * step : step;
	if (!fits && !fails)
		return predicted;
	if (fits >= most / step * step || (!fits && fails <= step))
		return 0;
	if (fits && fails) {
		uint64_t gap = fails - fits;

		if (gap <= step || (double)gap <= tolerance * (double)fits)
			return 0;
		next = fits + gap / 2 / step * step;
		return next > fits ? next : fits + step;
	}
	next = fits ? search_next_away_from(fits, predicted, 1, step, tolerance)
		    : search_next_away_from(fails, predicted, -1, step, tolerance);
	if (next > most)
		next = most / step * step;
	return next ? next : step;
}

uint64_t search_next_largest_fit(bool (*fits)(const void *context, uint64_t size),
				 const void *context, uint64_t step, uint64_t most)
{
	uint64_t low = 0, high = most / step + 1;

	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;

		*(fits(context, middle * step) ? &low : &high) = middle;
	}
	return low * step;
}
