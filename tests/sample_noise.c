#include "sample_noise.h"

#include <math.h>
#include <string.h>

#include "kernels/generator.h"
#include "result/statistics.h"
#include "measure/stop_rule.h"

#define MOST 4096

static double uniform(struct noise *s)
{
	return ((double)(generator_bits(s->seed, s->at++) >> 11) + 0.5) * 0x1p-53;
}

double noise_normal(struct noise *s)
{
	double u = uniform(s), v = uniform(s);

	return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

/* Skew 3.7. */
static double lognormal(struct noise *s)
{
	return (exp(0.8 * noise_normal(s)) - 1) / 0.8;
}

/* One of four is slow by four deviations; the median of all is 2/3 of the fast ones'. */
static double bimodal(struct noise *s)
{
	double slow = uniform(s) < 0.25 ? 4 : 0;

	return slow + 0.5 * noise_normal(s) - 0.5 * 0.430727;
}

static double student(struct noise *s)
{
	double z = noise_normal(s), a = noise_normal(s), b = noise_normal(s), c = noise_normal(s);

	return z / sqrt((a * a + b * b + c * c) / 3);
}

static double flat(struct noise *s)
{
	return 3 * (uniform(s) - 0.5);
}

static double remember(struct noise *s, double rho)
{
	if (s->memory == 0)
		s->memory = noise_normal(s);
	s->memory = rho * s->memory + sqrt(1 - rho * rho) * noise_normal(s);
	return s->memory;
}

static double ar3(struct noise *s)
{
	return remember(s, 0.3);
}

static double ar5(struct noise *s)
{
	return remember(s, 0.5);
}

static double ar8(struct noise *s)
{
	return remember(s, 0.8);
}

/* Each has the median 0 and about the scale 1. */
const struct noise_shape noise_shapes[8] = {
	{ "normal", noise_normal }, { "lognormal", lognormal }, { "bimodal", bimodal },
	{ "uniform", flat },        { "Student t3", student },  { "AR(1) 0.3", ar3 },
	{ "AR(1) 0.5", ar5 },       { "AR(1) 0.8", ar8 },
};

void noise_take_series(const struct sampling *rules, const struct noise_shape *shape, double scale,
		       uint64_t seed, struct noise_tally *tally)
{
	double samples[MOST];
	struct noise noise = { .seed = seed };
	struct stop_decision decision = { 0 };
	struct stop_rule rule;
	struct statistics s;
	size_t n = 0, taken = 0;

	stop_rule_begin(&rule, rules, 0);
	while (!decision.end && n < MOST) {
		samples[n++] = 1 + scale * shape->draw(&noise);
		taken++;
		decision = stop_rule_decide(&rule, samples, n, 1e-3 * (double)taken);
		n -= decision.drop;
		memmove(samples, samples + decision.drop, n * sizeof(double));
	}
	statistics_compute(samples, n, 1, 0, NULL, &s);
	tally->series++;
	tally->samples += (double)taken;
	tally->dropped += taken > n;
	tally->unsettled += decision.unsettled;
	if (!isnan(s.low)) {
		tally->intervals++;
		tally->covered += s.low <= 1 && s.high >= 1;
	}
}
