/*
 * A device against good cards of its model (reference/population.h): finds what all devices of a node have in common.
 *
 * It is held against the nearest kind of them (kinds.h). It fails when it is worse than the centre of the lowest kind by
 * more than the limit's margin and by more than `sigmas` robust standard deviations of that kind, beyond the uncertainty of
 * both; between two kinds, out of reach of either, it is a warning. Fewer than 8 cards do not say what good cards are
 * like: then the worst is a warning. The cards of the node itself do not count. Where none is known, the limit says once that the node was not compared with others.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/units.h"
#include "judge/judging.h"
#include "judge/kinds.h"
#include "judge/population_key.h"
#include "reference/population.h"

#define FEWEST_TO_FAIL 8
#define MEDIAN_TO_MEAN 1.2533 /* standard error of a median over that of a mean, normal data */

/* One device's value among good cards. */
struct standing {
	struct population_sample sample;
	struct kinds kinds;
	size_t kind;   /* the nearest */
	double behind; /* so much worse than its centre, logarithm */
	double half;   /* of the interval of `behind` */
	double allowed;
};

static const struct population *population_of(const struct judging *j)
{
	return j->input->population ? j->input->population : population_shipped();
}

static size_t nearest(const struct kinds *kinds, double value)
{
	size_t best = 0;

	for (size_t i = 1; i < kinds->count; i++)
		if (fabs(kinds->items[i].center - value) < fabs(kinds->items[best].center - value))
			best = i;
	return best;
}

static void compare(const struct judging *j, size_t i, struct standing *s)
{
	double value = log(j->observations[i].estimate.value);
	double *logs = xmalloc(s->sample.count * sizeof(*logs));
	const struct kind *kind;
	double spread;

	for (size_t k = 0; k < s->sample.count; k++)
		logs[k] = log(s->sample.values[k]);
	s->kinds = kinds_of(logs, s->sample.count);
	s->kind = nearest(&s->kinds, value);
	kind = &s->kinds.items[s->kind];
	/* Cards differ at least as launches do. */
	spread = fmax(kind->deviation, j->limit->launch_spread);
	s->behind = kind->center - value;
	s->half = hypot(j->observations[i].estimate.half,
			1.645 * MEDIAN_TO_MEAN * spread / sqrt((double)kind->count));
	s->allowed = fmax(-log(1 - j->limit->population), j->limit->sigmas * kind->deviation);
	free(logs);
}

/* Above the nearest kind, and out of its reach, but not above all. */
static bool is_between(const struct standing *s)
{
	return s->kind + 1 < s->kinds.count && -s->behind - s->half > s->allowed;
}

static enum verdict verdict_of(const struct standing *s)
{
	if (is_between(s))
		return VERDICT_WARN;
	if (s->behind - s->half > s->allowed)
		return s->sample.cards >= FEWEST_TO_FAIL && s->kind == 0 ? VERDICT_FAIL
									 : VERDICT_WARN;
	return s->behind + s->half > s->allowed ? VERDICT_INCONCLUSIVE : VERDICT_PASS;
}

/* "good cards", "the 1st of 2 kinds of good cards (36 of 52, 4.482 TB/s)" */
static void add_kind(struct text *out, const struct standing *s, const char *unit)
{
	const struct kind *kind = &s->kinds.items[s->kind];
	char center[48];

	units_format(exp(kind->center), unit, center, sizeof(center));
	if (s->kinds.count == 1)
		text_addf(out, "the median of %zu good card%s, %s", s->sample.cards,
			  s->sample.cards == 1 ? "" : "s", center);
	else
		text_addf(out, "kind %zu of the %zu that good cards are of (%zu of %zu values, %s)",
			  s->kind + 1, s->kinds.count, kind->count, s->sample.count, center);
}

static char *words_of(const struct judging *j, const struct standing *s, enum verdict verdict)
{
	struct text out = TEXT_EMPTY;

	text_addf(&out, "%.2f %% %s than ", fabs(100 * (1 - exp(-s->behind))),
		  s->behind < 0 ? "better" : "worse");
	add_kind(&out, s, j->limit->metric->unit);
	if (is_between(s))
		text_add(&out, ", and below the next kind");
	if (s->sample.cards < FEWEST_TO_FAIL && verdict != VERDICT_PASS)
		text_addf(&out, "; fewer than %d cards do not reject", FEWEST_TO_FAIL);
	return text_detach(&out);
}

/* "52 good cards of this model, measured 2026-11-20 to 2026-11-21, driver 580.159.04, 2 of them here" */
static char *origin_of(const struct population_sample *s, const char *more)
{
	struct text out = TEXT_EMPTY;

	text_addf(&out, "%zu good card%s of this model, measured %s", s->cards,
		  s->cards == 1 ? "" : "s", s->first);
	if (strcmp(s->first, s->last) != 0)
		text_addf(&out, " to %s", s->last);
	if (*s->driver)
		text_addf(&out, ", driver %s", s->driver);
	if (s->own)
		text_addf(&out, ", %zu of them added here", s->own);
	if (*more)
		text_addf(&out, "; %s", more);
	return text_detach(&out);
}

static struct check *add_check(const struct judging *j, size_t i)
{
	struct check *check = judging_add(j, i, LIKE_POPULATION);
	char *text = xasprintf("population = %s", j->limit->population_text);

	judging_set(&check->bound_text, text);
	judging_set(&check->place, j->limit->population_place);
	free(text);
	return check;
}

static void judge_case(const struct judging *j, size_t i, const struct standing *s)
{
	enum verdict verdict = verdict_of(s);
	struct check *check = add_check(j, i);
	char *reason = words_of(j, s, verdict), *origin = origin_of(&s->sample, j->limit->origin);

	check->bound = exp(s->kinds.items[s->kind].center - s->allowed);
	check->margin = check->value / check->bound - 1;
	judging_set(&check->bound_origin, origin);
	check_decide(check, j->limit, verdict, reason);
	/* No more than a warning is at stake. */
	if (verdict == VERDICT_INCONCLUSIVE && s->sample.cards < FEWEST_TO_FAIL)
		check->accepted = true;
	free(origin);
	free(reason);
}

/* The cards of the node, which must not be their own yardstick; the caller frees the array. */
static const char **cards_of_node(const struct result *result)
{
	const char **ids = xcalloc(result->device_count + 1, sizeof(*ids));

	for (size_t i = 0; i < result->device_count; i++)
		ids[i] = result->devices[i].uuid;
	return ids;
}

/* False: no good card is known to compare the case with. */
static bool judge_one(const struct judging *j, size_t i)
{
	struct standing s = { 0 };
	struct population_key key;
	const char **node;
	bool known;

	if (!population_key_of(&j->input->results[0], j->subjects[i]->first, &key))
		return false;
	node = cards_of_node(&j->input->results[0]);
	s.sample = population_sample(population_of(j), key.model, key.point, key.preheat,
				     j->limit->metric->name, node);
	free(node);
	population_key_release(&key);
	known = s.sample.count > 0;
	if (known) {
		compare(j, i, &s);
		judge_case(j, i, &s);
	}
	population_sample_release(&s.sample);
	return known;
}

/* Said once a limit, for none of its cases has anything to be compared with. */
static void say_unknown(const struct judging *j, size_t i)
{
	struct check *check = add_check(j, i);

	check->value = check->low = check->high = NAN;
	judging_set(&check->case_id, "");
	judging_set(&check->devices, "");
	judging_set(&check->uuid, "");
	check_decide(check, j->limit, VERDICT_SKIP,
		     "no good card is known that measured this: a whole node that is slow is told "
		     "by the other limits alone (gpuproof help population)");
	check->accepted = true;
}

void judge_population(const struct judging *j)
{
	bool known = false;
	size_t first = j->count;

	for (size_t i = 0; i < j->count; i++) {
		const struct observation *o = &j->observations[i];

		/* What has no value was said to have none by the bounds, or the run's own findings. */
		if (o->verdict != VERDICT_PASS || !(o->estimate.value > 0))
			continue;
		known = judge_one(j, i) || known;
		first = first < i ? first : i;
	}
	if (!known && first < j->count)
		say_unknown(j, first);
}
