/*
 * Compares devices with reference GPUs of their model: finds faults that all devices of a node
 * share.
 *
 * Each device is judged by itself, and the identical devices of a node together by their median,
 * which detects smaller differences. GPUs of this node do not count as references. Limits without a
 * reference GPU are named once.
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/stats.h"
#include "base/units.h"
#include "judge/judging.h"
#include "judge/population/population_key.h"
#include "plan/limits/limit.h"
#include "reference/population.h"
#include "result/verdict.h"

#define FEWEST_TO_FAIL 8 /* fewer reference GPUs do not show how healthy ones vary */

/*
 * Position of a value in the distribution of reference GPUs (reference/population.h).
 *
 * A value is compared with the median of the references. It may be worse by the limit's margin or,
 * if larger, by as much as one more healthy GPU would be: `sigmas` standard deviations, converted
 * to Student's t for a prediction interval (with 8 references, 4.8 deviations where a normal
 * distribution needs 3).
 */
struct standing {
	struct population_sample
		sample;   /* count 0: no reference is known, and the other members are unset */
	double center;    /* median of the references, logarithm */
	double deviation; /* standard deviation of the references, logarithm; 0: a single one */
	double deficit;   /* distance to the center, logarithm */
	double half;      /* half-width of the value's one-sided 95 % interval, logarithm */
	double allowed;
};

/* With fewer references their variation is unknown, and only the margin counts. */
#define FEWEST_TO_SPREAD 4
#define MEDIAN_VARIANCE 1.5708 /* variance of a median over that of a mean, normal data: pi / 2 */

/*
 * Student's t with the same tail probability as the normal deviate `x`. Abramowitz & Stegun 26.7.5,
 * four terms: within 1 % from 6 degrees of freedom on for x up to 3. With fewer, nothing is
 * rejected.
 */
static double population_standing_deviate(double x, double dof)
{
	double x2 = x * x;
	double g1 = x * (x2 + 1) / 4;
	double g2 = x * ((5 * x2 + 16) * x2 + 3) / 96;
	double g3 = x * (((3 * x2 + 19) * x2 + 17) * x2 - 15) / 384;
	double g4 = x * ((((79 * x2 + 776) * x2 + 1482) * x2 - 1920) * x2 - 945) / 92160;

	return x + (g1 + (g2 + (g3 + g4 / dof) / dof) / dof) / dof;
}

/* `variance`: of the predicted value, in units of the variance of one GPU. */
static double population_standing_allowed(const struct standing *s, double variance,
					  const struct limit *limit)
{
	double margin = -log(1 - limit->population), n = (double)s->sample.count;

	if (s->sample.cards < FEWEST_TO_SPREAD || s->sample.count < 2)
		return margin;
	return fmax(margin, population_standing_deviate(limit->sigmas, n - 1) * s->deviation *
				    sqrt(variance + 1 / n));
}

/* Fills all members except `sample`, which is set. `value` is a logarithm. */
static void population_standing_find(struct standing *s, double value, double half,
				     const struct limit *limit)
{
	size_t n = s->sample.count;
	double mean = 0, squares = 0;

	s->center = (log(s->sample.values[(n - 1) / 2]) + log(s->sample.values[n / 2])) / 2;
	for (size_t k = 0; k < n; k++)
		mean += log(s->sample.values[k]) / (double)n;
	for (size_t k = 0; k < n; k++)
		squares += pow(log(s->sample.values[k]) - mean, 2);
	s->deviation = n > 1 ? sqrt(squares / (double)(n - 1)) : 0;
	s->deficit = s->center - value;
	s->half = half;
	s->allowed = population_standing_allowed(s, 1, limit);
}

/* FAIL: worse than allowed. WARN: the same, with too few references. */
static enum verdict population_standing_verdict(const struct standing *s)
{
	if (s->deficit - s->half > s->allowed)
		return s->sample.cards >= FEWEST_TO_FAIL ? VERDICT_FAIL : VERDICT_WARN;
	return s->deficit + s->half > s->allowed ? VERDICT_INCONCLUSIVE : VERDICT_PASS;
}

/* "5.14 % worse than the median of 52 reference GPUs, 4.388 TB/s" */
static char *population_standing_words(const struct standing *s, const char *unit)
{
	struct text out = TEXT_EMPTY;
	char center[48];

	units_format(exp(s->center), unit, center, sizeof(center));
	text_addf(&out, "%.2f %% %s than the median of %zu reference GPU%s, %s",
		  fabs(100 * (1 - exp(-s->deficit))), s->deficit < 0 ? "better" : "worse",
		  s->sample.cards, s->sample.cards == 1 ? "" : "s", center);
	if (s->sample.cards < FEWEST_TO_FAIL && population_standing_verdict(s) != VERDICT_PASS)
		text_addf(&out,
			  "; this limit only warns, because rejection needs %d reference GPUs",
			  FEWEST_TO_FAIL);
	return text_detach(&out);
}

/*
 * "52 reference GPUs of this model, measured 2026-11-20 to 2026-11-21, driver 580.159.04, 2 of them
 * added here; more"
 */
static char *population_standing_origin(const struct standing *s, const char *more)
{
	const struct population_sample *sample = &s->sample;
	struct text out = TEXT_EMPTY;

	text_addf(&out, "%zu reference GPU%s of this model, measured %s", sample->cards,
		  sample->cards == 1 ? "" : "s", sample->first);
	if (strcmp(sample->first, sample->last) != 0)
		text_addf(&out, " to %s", sample->last);
	if (*sample->driver)
		text_addf(&out, ", driver %s", sample->driver);
	if (sample->own)
		text_addf(&out, "; %zu of them were added on this machine", sample->own);
	if (*more)
		text_addf(&out, "; %s", more);
	return text_detach(&out);
}

/* Standing of each case, indexed by its subject. */
struct comparison_case {
	bool known;
	bool counted; /* is part of its node's median */
	struct standing standing;
};

struct population_comparing {
	const struct judging *j;
	const char **node; /* ids of the node's GPUs, which must not be their own references */
	struct comparison_case *cases;
	double *values; /* scratch, one element per case */
};

/*
 * Fills a check except for its case; `subject`: the device's, or NULL for a node. `of_what`
 * describes the value: "the median of the node's devices is "; "": the device's.
 */
static void population_standing_decide(const struct judging *j, struct verdict_check *check,
				       const struct standing *s, const struct subject *subject,
				       const char *of_what)
{
	char *words = population_standing_words(s, check->unit);
	enum verdict found = population_standing_verdict(s);
	enum verdict verdict =
		subject ? outliers_downgrade_if_throttled(j->input, subject, found) : found;

	run_findings_take(&check->bound_text,
			  xasprintf("population = %s", j->limit->population_text));
	run_findings_set(&check->place, j->limit->population_place);
	run_findings_take(&check->bound_origin, population_standing_origin(s, j->limit->origin));
	check->bound = exp(s->center - s->allowed);
	check->margin = check->value / check->bound - 1;
	check->warns_only = s->sample.cards < FEWEST_TO_FAIL || found == VERDICT_WARN;
	judge_check_compare(check, s->half, exp(s->center), s->sample.cards);
	judge_check_decide(check, j->limit, verdict, "%s%s%s", of_what, words,
			   verdict != found ? DOUBT_WORDS : "");
	/*
	 * With fewer than 8 reference GPUs the check can only warn, so no launches are added
	 * to decide it.
	 */
	if (s->sample.cards < FEWEST_TO_FAIL) {
		check->accepted = check->accepted || verdict == VERDICT_INCONCLUSIVE;
		check->final = true;
	}
	free(words);
}

static void population_standing_judge_case(struct population_comparing *c, size_t i)
{
	const struct judging *j = c->j;
	const struct observation *o = &j->observations[i];
	struct comparison_case *found = &c->cases[i];
	const struct population *population =
		j->input->population ? j->input->population : population_shipped();
	double fastest = observation_fastest_launch(o);
	struct population_key key;
	struct verdict_check *check;
	bool by_fastest;

	/* Missing values have a check of the bounds or of the run already. */
	if (o->verdict != VERDICT_PASS || !(o->estimate.value > 0) ||
	    !population_key_of(&j->input->results[0], j->subjects[i]->first, &key))
		return;
	found->standing.sample = population_sample(population, key.model, key.point, key.preheat,
						   j->limit->metric->name, c->node);
	population_key_release(&key);
	found->known = found->standing.sample.count > 0;
	if (!found->known)
		return;
	population_standing_find(&found->standing, log(o->estimate.value), o->estimate.half,
				 j->limit);
	check = judge_judging_add(j, i, LIKE_POPULATION);
	by_fastest = population_standing_verdict(&found->standing) == VERDICT_INCONCLUSIVE &&
		     found->standing.center - log(fastest) <= found->standing.allowed;
	if (by_fastest) {
		population_standing_find(&found->standing, log(fastest), 0, j->limit);
		check->value = check->low = check->high = fastest;
	}
	population_standing_decide(j, check, &found->standing, j->subjects[i],
				   by_fastest ? FASTEST_LAUNCH_WORDS : "");
}

/*
 * The same case on another device of that model. A case with two devices measures a link and is
 * left out.
 */
static bool population_standing_same_case(const struct population_comparing *c, size_t first,
					  size_t i)
{
	const struct subject *a = c->j->subjects[first], *b = c->j->subjects[i];

	return c->cases[i].known && b->first->device_count == 1 &&
	       cases_share_point(a->first, b->first) &&
	       strcmp(a->device->name, b->device->name) == 0;
}

/* Names of the members' devices, "cuda:0,cuda:1"; fills `values` with the deficit of each. */
static char *population_standing_members_of(const struct population_comparing *c, size_t first,
					    size_t *count, double *half)
{
	struct text devices = TEXT_EMPTY;

	*count = 0;
	*half = 0;
	for (size_t i = first; i < c->j->count; i++) {
		/* Cases come node by node. */
		if (!outliers_subjects_on_one_node(c->j->subjects[first], c->j->subjects[i]))
			break;
		if (!population_standing_same_case(c, first, i))
			continue;
		c->cases[i].counted = true;
		text_addf(&devices, "%s%s", *count ? "," : "", c->j->subjects[i]->first->device);
		*half += pow(c->cases[i].standing.half, 2);
		c->values[(*count)++] = c->cases[i].standing.deficit;
	}
	return text_detach(&devices);
}

/* Judges the identical devices of a node together: their median varies less than single GPUs do. */
static void population_standing_judge_node_of(struct population_comparing *c, size_t first)
{
	const struct judging *j = c->j;
	double half, deficit;
	struct standing node;
	struct verdict_check *check;
	size_t count;
	char *devices = population_standing_members_of(c, first, &count, &half);

	if (count < 2) {
		free(devices);
		return;
	}
	/* The better of two middle ones: one slow device of two does not make a slow node. */
	qsort(c->values, count, sizeof(*c->values), compare_doubles);
	deficit = c->values[(count - 1) / 2];
	half = sqrt(half) / (double)count;
	/* The median may be worse by less than one device, but at least by the margin. */
	node = c->cases[first].standing;
	node.deficit = deficit;
	node.half = half;
	node.allowed =
		population_standing_allowed(&node, MEDIAN_VARIANCE / (double)count, j->limit);
	check = judge_judging_add(j, first, LIKE_POPULATION);
	run_findings_set(&check->case_id, check->point);
	run_findings_set(&check->devices, devices);
	run_findings_set(&check->uuid, "");
	check->value = exp(node.center - deficit);
	check->low = check->value * exp(-half);
	check->high = check->value * exp(half);
	population_standing_decide(j, check, &node, NULL,
				   count == 2 ? "the better of the node's two devices is "
					      : "the median of the node's devices is ");
	free(devices);
}

void population_standing_judge(const struct judging *j)
{
	const struct result *result = &j->input->results[0];
	struct population_comparing c = { .j = j,
					  .node = xcalloc(result->device_count + 1,
							  sizeof(*c.node)),
					  .cases = xcalloc(j->count + 1, sizeof(*c.cases)),
					  .values = xcalloc(j->count + 1, sizeof(*c.values)) };
	bool known = false;

	for (size_t i = 0; i < result->device_count; i++)
		c.node[i] = population_key_id(&result->devices[i]);
	for (size_t i = 0; i < j->count; i++) {
		population_standing_judge_case(&c, i);
		known = known || c.cases[i].known;
	}
	for (size_t i = 0; i < j->count; i++)
		if (c.cases[i].known && !c.cases[i].counted &&
		    population_standing_same_case(&c, i, i))
			population_standing_judge_node_of(&c, i);
	if (!known && j->count)
		text_addf(j->without_population, "%s%s", j->without_population->length ? ", " : "",
			  j->limit->name);
	for (size_t i = 0; i < j->count; i++)
		population_sample_release(&c.cases[i].standing.sample);
	free(c.values);
	free(c.cases);
	free(c.node);
}

void population_standing_unknown(const char *limits, struct verdicts *verdicts)
{
	struct verdict_check *check;

	if (!*limits)
		return;
	check = verdicts_add(verdicts);
	run_findings_set(&check->limit, "population");
	check->comparison = LIKE_POPULATION;
	check->verdict = VERDICT_SKIP;
	check->accepted = true;
	run_findings_take(&check->reason, xasprintf("no reference GPU has values for these limits: "
						    "%s (gpuproof help "
						    "good-cards)",
						    limits));
}
