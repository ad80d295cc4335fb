#include "sample_nights.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "judge/trend.h"

#define MOST_NIGHTS 256

/* splitmix64 (Steele, Lea & Flood 2014) */
static double uniform(uint64_t *state)
{
	uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return ((double)((z ^ z >> 31) >> 11) + 0.5) * 0x1p-53;
}

double sample_normal(uint64_t *state)
{
	double radius = sqrt(-2 * log(uniform(state)));

	return radius * cos(2 * M_PI * uniform(state));
}

struct seen {
	bool change, warning;
};

/* What is said after `nights` nights. */
struct said {
	size_t at[MOST_NIGHTS], count; /* changes */
	bool warning;
};

static void look(struct history_series *s, size_t nights, struct said *said)
{
	struct trend *trends;
	size_t count;

	s->count = nights;
	count = trend_of_series(s, NULL, &trends);
	said->count = trends[0].change_count;
	for (size_t i = 0; i < said->count; i++)
		said->at[i] = trends[0].changes[i].at;
	said->warning = trends[0].warning;
	trends_release(trends, count);
}

/* A change that was not there, give or take two nights, the night before. */
static bool raised(const struct said *now, const struct said *before)
{
	for (size_t i = 0; i < now->count; i++) {
		bool known = false;

		for (size_t j = 0; j < before->count; j++)
			known = known || labs((long)now->at[i] - (long)before->at[j]) <= 2;
		if (!known)
			return true;
	}
	return false;
}

/* `memory`: correlation of a night's noise with that of the night before. */
static void fill(struct history_point *points, size_t n, double noise, double memory, double size,
		 size_t past, uint64_t *state)
{
	double wander = sample_normal(state);

	for (size_t i = 0; i < n; i++) {
		points[i] = (struct history_point){ .night = (int64_t)i + 1,
						    .day = (int64_t)i,
						    .epoch = 1,
						    .value = 5e10 * (i < past ? 1 : 1 - size) *
							     exp(noise * wander) };
		wander = memory * wander + sqrt(1 - memory * memory) * sample_normal(state);
	}
}

struct quiet_outcome simulate_quiet(size_t series, double noise, size_t past, size_t nights,
				    uint64_t seed)
{
	return simulate_wandering(series, noise, 0, past, nights, seed);
}

struct quiet_outcome simulate_wandering(size_t series, double noise, double memory, size_t past,
					size_t nights, uint64_t seed)
{
	struct history_point points[MOST_NIGHTS];
	struct history_series s = { .points = points, .better = BETTER_HIGHER };
	size_t changes = 0, warnings = 0;

	for (size_t i = 0; i < series; i++) {
		bool changed = false, warned = false;
		struct said before, now;

		fill(points, past + nights, noise, memory, 0, past, &seed);
		look(&s, past, &before);
		for (size_t n = past + 1; n <= past + nights; n++) {
			look(&s, n, &now);
			changed = changed || raised(&now, &before);
			warned = warned || now.warning;
			before = now;
		}
		changes += changed;
		warnings += warned;
	}
	return (struct quiet_outcome){ (double)changes / (double)series,
				       (double)warnings / (double)series };
}

struct step_outcome simulate_step(size_t series, double noise, double size, size_t past,
				  uint64_t seed)
{
	struct history_point points[MOST_NIGHTS];
	struct history_series s = { .points = points, .better = BETTER_HIGHER };
	size_t within_6 = 0, within_10 = 0, dated = 0, warned = 0, sum = 0;

	for (size_t i = 0; i < series; i++) {
		bool found = false, near = false, warning = false;

		fill(points, past + 10, noise, 0, size, past, &seed);
		for (size_t n = 1; n <= 10; n++) {
			bool late = found;
			struct said now;
			size_t at;

			look(&s, past + n, &now);
			warning = warning || (n <= 3 && now.warning);
			at = now.count ? now.at[now.count - 1] : 0;
			found = found || at + ACKNOWLEDGED_WITHIN >= past;
			near = near || (n <= 6 && at + 2 >= past);
			within_6 += found && !late && n <= 6;
			within_10 += found && !late;
			sum += found && !late ? n : 0;
		}
		dated += near;
		warned += warning;
	}
	return (struct step_outcome){ .within_6 = (double)within_6 / (double)series,
				      .within_10 = (double)within_10 / (double)series,
				      .dated = (double)dated / (double)series,
				      .warned = (double)warned / (double)series,
				      .mean = within_10 ? (double)sum / (double)within_10 : NAN };
}
