/*
 * Devices against good cards of their model: finds what all devices of a node have in common.
 *
 * Each is judged by itself (standing.h), and the identical devices of a node together by their
 * median, which finds less. The cards of the node do not count. Limits for which no card is known
 * are named once.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/stats.h"
#include "judge/judging.h"
#include "judge/population/population_key.h"
#include "judge/population/standing.h"

/* Standing of each case, by the index of its subject. */
struct comparison_case {
	bool known;
	bool counted; /* in its node's median */
	struct standing standing;
};

struct comparing {
	const struct judging *j;
	const char **node; /* its cards' ids, which must not be their own yardstick */
	struct comparison_case *cases;
	double *values; /* room for one per case */
};

static const char **cards_of_node(const struct result *result)
{
	const char **ids = xcalloc(result->device_count + 1, sizeof(*ids));

	for (size_t i = 0; i < result->device_count; i++)
		ids[i] = population_id(&result->devices[i]);
	return ids;
}

/* Fills a check but for the case that it is about; `subject`: of a device, else NULL. */
static void decide(const struct judging *j, struct verdict_check *check, const struct standing *s,
		   const struct subject *subject)
{
	char *bound_text = xasprintf("population = %s", j->limit->population_text);
	char *origin = standing_origin(s, j->limit->origin);
	char *words = standing_words(s, j->limit->metric->unit);
	char *reason;
	enum verdict found = standing_verdict(s);
	enum verdict verdict = subject ? judge_doubt(j->input, subject, found) : found;

	judging_set(&check->bound_text, bound_text);
	judging_set(&check->place, j->limit->population_place);
	judging_set(&check->bound_origin, origin);
	check->bound = exp(s->kinds.items[s->kind].center - s->allowed);
	check->margin = check->value / check->bound - 1;
	reason = xasprintf("%s%s%s", subject ? "" : "the median of the node's devices is ", words,
			   verdict != found ? DOUBT_WORDS : "");
	check_decide(check, j->limit, verdict, reason);
	/* No more than a warning is at stake: that is worth no further launches. */
	if (s->sample.cards < FEWEST_TO_FAIL) {
		check->accepted = check->accepted || verdict == VERDICT_INCONCLUSIVE;
		check->final = true;
	}
	free(bound_text);
	free(origin);
	free(words);
	free(reason);
}

static void judge_case(struct comparing *c, size_t i)
{
	const struct judging *j = c->j;
	const struct observation *o = &j->observations[i];
	struct comparison_case *found = &c->cases[i];
	const struct population *population =
		j->input->population ? j->input->population : population_shipped();
	struct population_key key;

	/* Missing values were reported by the bounds or by the findings about the run. */
	if (o->verdict != VERDICT_PASS || !(o->estimate.value > 0) ||
	    !population_key_of(&j->input->results[0], j->subjects[i]->first, &key))
		return;
	found->standing.sample = population_sample(population, key.model, key.point, key.preheat,
						   j->limit->metric->name, c->node);
	population_key_release(&key);
	found->known = found->standing.sample.count > 0;
	if (!found->known)
		return;
	standing_find(&found->standing, log(o->estimate.value), o->estimate.half, j->limit);
	decide(j, judging_add(j, i, LIKE_POPULATION), &found->standing, j->subjects[i]);
}

/* The lower median: one slow device of two does not make a slow node. */
static double median(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), compare_doubles);
	return values[(n - 1) / 2];
}

/* The same case on another device of that model; a case of two devices is about a link. */
static bool belongs(const struct comparing *c, size_t first, size_t i)
{
	const struct subject *a = c->j->subjects[first], *b = c->j->subjects[i];

	return c->cases[i].known && b->first->device_count == 1 &&
	       cases_share_point(a->first, b->first) &&
	       strcmp(a->device->name, b->device->name) == 0;
}

/* The members' devices: "cuda:0,cuda:1"; fills `values` with the deficit of each. */
static char *members_of(const struct comparing *c, size_t first, size_t *count, double *half)
{
	struct text devices = TEXT_EMPTY;

	*count = 0;
	*half = 0;
	for (size_t i = first; i < c->j->count; i++) {
		/* Cases come node by node. */
		if (!subjects_on_one_node(c->j->subjects[first], c->j->subjects[i]))
			break;
		if (!belongs(c, first, i))
			continue;
		c->cases[i].counted = true;
		text_addf(&devices, "%s%s", *count ? "," : "", c->j->subjects[i]->first->device);
		*half += pow(c->j->observations[i].estimate.half, 2);
		c->values[(*count)++] = c->cases[i].standing.deficit;
	}
	return text_detach(&devices);
}

/* The identical devices of the node together: they scatter less than single cards do. */
static void judge_node_of(struct comparing *c, size_t first)
{
	const struct judging *j = c->j;
	double half, deficit;
	struct standing node;
	struct verdict_check *check;
	size_t count;
	char *devices = members_of(c, first, &count, &half);

	if (count < 2) {
		free(devices);
		return;
	}
	deficit = median(c->values, count);
	half = sqrt(half) / (double)count;
	node = standing_of_node(&c->cases[first].standing, count, deficit, half, j->limit);
	check = judging_add(j, first, LIKE_POPULATION);
	judging_set(&check->case_id, check->point);
	judging_set(&check->devices, devices);
	judging_set(&check->uuid, "");
	check->value = exp(node.kinds.items[node.kind].center - deficit);
	check->low = check->value * exp(-half);
	check->high = check->value * exp(half);
	decide(j, check, &node, NULL);
	free(devices);
}

void judge_population(const struct judging *j)
{
	struct comparing c = { .j = j,
			       .node = cards_of_node(&j->input->results[0]),
			       .cases = xcalloc(j->count + 1, sizeof(*c.cases)),
			       .values = xcalloc(j->count + 1, sizeof(*c.values)) };
	bool known = false;

	for (size_t i = 0; i < j->count; i++) {
		judge_case(&c, i);
		known = known || c.cases[i].known;
	}
	for (size_t i = 0; i < j->count; i++)
		if (c.cases[i].known && !c.cases[i].counted && belongs(&c, i, i))
			judge_node_of(&c, i);
	if (!known && j->count)
		text_addf(j->without_population, "%s%s", j->without_population->length ? ", " : "",
			  j->limit->name);
	for (size_t i = 0; i < j->count; i++)
		standing_release(&c.cases[i].standing);
	free(c.values);
	free(c.cases);
	free(c.node);
}

void judge_population_unknown(const char *limits, struct verdicts *verdicts)
{
	struct verdict_check *check;

	if (!*limits)
		return;
	check = verdicts_add(verdicts);
	judging_set(&check->limit, "population");
	check->comparison = LIKE_POPULATION;
	check->verdict = VERDICT_SKIP;
	check->accepted = true;
	free(check->reason);
	check->reason = xasprintf("no good card is known that measured what these limits are "
				  "about: %s (gpuproof help good-cards)",
				  limits);
}
