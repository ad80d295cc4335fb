#include "judge/population/standing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/units.h"

/* Fewer cards do not tell how cards differ: the margin alone counts. */
#define FEWEST_TO_SPREAD 4
#define MEDIAN_VARIANCE 1.5708 /* of a median over that of a mean, normal data: pi / 2 */

/*
 * Student's t that is exceeded as often as a normal deviate of `x`. Abramowitz & Stegun 26.7.5,
 * four terms: within 1 % from 6 degrees of freedom on for x up to 3. Where there are fewer nothing
 * is rejected.
 */
static double student_deviate(double x, double dof)
{
	double x2 = x * x;
	double g1 = x * (x2 + 1) / 4;
	double g2 = x * ((5 * x2 + 16) * x2 + 3) / 96;
	double g3 = x * (((3 * x2 + 19) * x2 + 17) * x2 - 15) / 384;
	double g4 = x * ((((79 * x2 + 776) * x2 + 1482) * x2 - 1920) * x2 - 945) / 92160;

	return x + (g1 + (g2 + (g3 + g4 / dof) / dof) / dof) / dof;
}

/*
 * `variance`: of what is predicted, in those of a card.
 */
static double allowed(const struct kinds *kinds, size_t kind, size_t cards, double variance,
		      const struct limit *limit)
{
	double margin = -log(1 - limit->population);

	if (cards < FEWEST_TO_SPREAD || !(kinds->dof > 0))
		return margin;
	variance += 1 / (double)kinds->items[kind].count;
	return fmax(margin,
		    student_deviate(limit->sigmas, kinds->dof) * kinds->deviation * sqrt(variance));
}

static size_t nearest(const struct kinds *kinds, double value)
{
	size_t best = 0;

	for (size_t i = 1; i < kinds->count; i++)
		if (fabs(kinds->items[i].center - value) < fabs(kinds->items[best].center - value))
			best = i;
	return best;
}

void standing_find(struct standing *s, double value, double half, const struct limit *limit)
{
	double *logs = xmalloc(s->sample.count * sizeof(*logs));

	for (size_t k = 0; k < s->sample.count; k++)
		logs[k] = log(s->sample.values[k]);
	s->kinds = kinds_of(logs, s->sample.count);
	free(logs);
	s->kind = nearest(&s->kinds, value);
	s->deficit = s->kinds.items[s->kind].center - value;
	s->half = half;
	s->allowed = allowed(&s->kinds, s->kind, s->sample.cards, 1, limit);
}

struct standing standing_of_node(const struct standing *one, size_t devices, double deficit,
				 double half, const struct limit *limit)
{
	struct standing node = *one;

	node.deficit = deficit;
	node.half = half;
	node.allowed = allowed(&one->kinds, one->kind, one->sample.cards,
			       MEDIAN_VARIANCE / (double)devices, limit);
	return node;
}

void standing_release(struct standing *s)
{
	population_sample_release(&s->sample);
}

bool standing_is_between(const struct standing *s)
{
	return s->kind + 1 < s->kinds.count && -s->deficit - s->half > s->allowed;
}

enum verdict standing_verdict(const struct standing *s)
{
	if (standing_is_between(s))
		return VERDICT_WARN;
	if (s->deficit - s->half > s->allowed)
		return s->sample.cards >= FEWEST_TO_FAIL && s->kind == 0 ? VERDICT_FAIL
									 : VERDICT_WARN;
	return s->deficit + s->half > s->allowed ? VERDICT_INCONCLUSIVE : VERDICT_PASS;
}

static void add_kind(struct text *out, const struct standing *s, const char *unit)
{
	const struct kind *kind = &s->kinds.items[s->kind];
	char center[48];

	units_format(exp(kind->center), unit, center, sizeof(center));
	if (s->kinds.count == 1)
		text_addf(out, "the median of %zu good card%s, %s", s->sample.cards,
			  s->sample.cards == 1 ? "" : "s", center);
	else
		text_addf(out, "kind %zu of the %zu that good cards are of (%zu of %zu, %s)",
			  s->kind + 1, s->kinds.count, kind->count, s->sample.count, center);
}

char *standing_words(const struct standing *s, const char *unit)
{
	struct text out = TEXT_EMPTY;

	text_addf(&out, "%.2f %% %s than ", fabs(100 * (1 - exp(-s->deficit))),
		  s->deficit < 0 ? "better" : "worse");
	add_kind(&out, s, unit);
	if (standing_is_between(s))
		text_add(&out, ", and below the next kind");
	if (s->sample.cards < FEWEST_TO_FAIL && standing_verdict(s) != VERDICT_PASS)
		text_addf(&out, "; fewer than %d cards do not reject", FEWEST_TO_FAIL);
	return text_detach(&out);
}

char *standing_origin(const struct standing *s, const char *more)
{
	const struct population_sample *sample = &s->sample;
	struct text out = TEXT_EMPTY;

	text_addf(&out, "%zu good card%s of this model, measured %s", sample->cards,
		  sample->cards == 1 ? "" : "s", sample->first);
	if (strcmp(sample->first, sample->last) != 0)
		text_addf(&out, " to %s", sample->last);
	if (*sample->driver)
		text_addf(&out, ", driver %s", sample->driver);
	if (sample->own)
		text_addf(&out, ", %zu of them added here", sample->own);
	if (*more)
		text_addf(&out, "; %s", more);
	return text_detach(&out);
}
