/*
 * Compares the identical devices of one node with each other; needs no golden number.
 *
 * A device is compared with the median of the others. It fails when it is worse by more than the
 * limit's margin and, of three or more, by more than `sigmas` robust standard deviations of all of
 * them, beyond the uncertainty of both sides. It passes only within the margin: devices that
 * scatter by more than that are left undecided, however alike. Of two the slower one fails; only a
 * limit or a population can decide if it is too slow or the other one too fast.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/stats.h"
#include "judge/judging.h"

#define MOST_IDENTICAL 1024
#define MAD_TO_SIGMA 1.4826
#define MEDIAN_TO_MEAN 1.2533 /* standard error of a median over that of a mean, normal data */

bool subjects_alike(const struct subject *a, const struct subject *b)
{
	return a->device && b->device && a->first->device_count == b->first->device_count &&
	       cases_share_point(a->first, b->first) &&
	       strcmp(a->device->name, b->device->name) == 0 &&
	       strcmp(a->device->backend, b->device->backend) == 0;
}

bool subjects_on_one_node(const struct subject *a, const struct subject *b)
{
	const char *node = a->first->node ? a->first->node : "";

	return strcmp(node, b->first->node ? b->first->node : "") == 0;
}

struct group {
	const struct judging *j;
	size_t members[MOST_IDENTICAL]; /* indices into j->subjects that have a value */
	double logs[MOST_IDENTICAL];    /* negated where lower is better */
	double halves[MOST_IDENTICAL];  /* of their intervals */
	size_t count;
	double deviation; /* robust, of all members */
};

static double turned_log(const struct judging *j, size_t i)
{
	double value = log(j->observations[i].estimate.value);

	return j->limit->metric->better == BETTER_LOWER ? -value : value;
}

/*
 * The devices identical to that of subjects[first], itself included; `seen` marks all of them, also
 * those without a value.
 */
static void collect_group(struct group *g, size_t first, bool *seen)
{
	const struct judging *j = g->j;

	g->count = 0;
	for (size_t i = first; i < j->count; i++) {
		/* Cases come node by node. */
		if (!subjects_on_one_node(j->subjects[first], j->subjects[i]))
			break;
		if (seen[i] || !subjects_alike(j->subjects[first], j->subjects[i]))
			continue;
		seen[i] = true;
		if (j->observations[i].verdict != VERDICT_PASS ||
		    !(j->observations[i].estimate.value > 0) || g->count == MOST_IDENTICAL)
			continue;
		g->members[g->count] = i;
		g->halves[g->count] = j->observations[i].estimate.half;
		g->logs[g->count++] = turned_log(j, i);
	}
}

static double deviation_of(const struct group *g)
{
	double center = median_of(g->logs, g->count);
	double *distances = xmalloc(g->count * sizeof(*distances)), deviation;

	for (size_t i = 0; i < g->count; i++)
		distances[i] = fabs(g->logs[i] - center);
	deviation = MAD_TO_SIGMA * median_of(distances, g->count);
	free(distances);
	return deviation;
}

static double median_of_others(const struct group *g, const double *values, size_t member)
{
	double *others = xmalloc(g->count * sizeof(*others)), median;
	size_t n = 0;

	for (size_t i = 0; i < g->count; i++)
		if (i != member)
			others[n++] = values[i];
	median = median_of(others, n);
	free(others);
	return median;
}

static struct verdict_check *add_check(const struct judging *j, size_t i)
{
	struct verdict_check *check = judging_add(j, i, LIKE_IDENTICAL);

	free(check->bound_text);
	free(check->place);
	check->bound_text = xasprintf("outlier_margin = %s", j->limit->outlier_text);
	check->place = xstrdup(j->limit->outlier_place);
	return check;
}

struct standing {
	double others;  /* their median, logarithm */
	double deficit; /* how much worse than that, logarithm */
	double half;    /* of the interval of `deficit` */
};

static struct standing standing_of(const struct group *g, size_t member)
{
	double others = median_of_others(g, g->logs, member);
	/* A device that scatters widely is no reason to trust the others less. */
	double half = median_of_others(g, g->halves, member);

	if (g->count > 2)
		half *= MEDIAN_TO_MEAN / sqrt((double)g->count - 1);
	return (struct standing){ others, others - g->logs[member],
				  root_sum_square(g->halves[member], half) };
}

/* 0 for two devices: their deviation would be half their distance. */
static double scatter(const struct group *g)
{
	return g->count > 2 ? g->j->limit->sigmas * g->deviation : 0;
}

static enum verdict verdict_of(const struct group *g, const struct standing *s)
{
	double margin = -log(1 - g->j->limit->outlier_margin),
	       warn = -log(1 - g->j->limit->outlier_margin_warn);

	if (s->deficit - s->half > fmax(margin, scatter(g)))
		return VERDICT_FAIL;
	if (s->deficit + s->half > margin)
		return VERDICT_INCONCLUSIVE;
	/* Not a number where the limit has no such margin. */
	return s->deficit - s->half > fmax(warn, scatter(g)) && !isnan(warn) ? VERDICT_WARN
									     : VERDICT_PASS;
}

/* True if another check finds the case slow; some good cards warn as well. */
static bool is_slow_by(const struct verdict_check *check, const char *case_id)
{
	bool warns = check->comparison == LIKE_POPULATION && check->verdict == VERDICT_WARN;

	return (check->verdict == VERDICT_FAIL || warns) && check->comparison != LIKE_IDENTICAL &&
	       strcmp(check->case_id, case_id) == 0;
}

/* For two devices: the reason why this one is the slow one, if an earlier check decides it. */
static void add_which(struct text *out, const struct verdicts *v, const char *case_id)
{
	for (size_t i = 0; i < v->count; i++) {
		const struct verdict_check *check = &v->checks[i];

		if (!is_slow_by(check, case_id))
			continue;
		if (check->comparison == LIKE_POPULATION)
			text_add(out, ": this one is slow, as good cards of the model tell too");
		else
			text_addf(out, ": this one is slow, as [limit %s] says too", check->limit);
		return;
	}
	text_add(out, ": one of the two is wrong, most likely the slower one; compare each with "
		      "its limit or population");
}

static char *words_of(const struct group *g, const struct standing *s, enum verdict verdict,
		      bool doubted, const char *case_id)
{
	struct text out = TEXT_EMPTY;

	text_addf(&out, "%.2f %% %s than ", fabs(100 * (1 - exp(-s->deficit))),
		  s->deficit < 0 ? "better" : "worse");
	if (g->count > 2) {
		text_addf(&out, "the median of %zu identical devices", g->count - 1);
	} else {
		text_add(&out, "the other one of two");
		if (verdict == VERDICT_FAIL)
			add_which(&out, g->j->verdicts, case_id);
	}
	if (doubted)
		text_add(&out, DOUBT_WORDS);
	return text_detach(&out);
}

static void judge_member(const struct group *g, size_t member)
{
	const struct judging *j = g->j;
	bool lower = j->limit->metric->better == BETTER_LOWER;
	struct standing s = standing_of(g, member);
	enum verdict found = verdict_of(g, &s);
	enum verdict verdict = judge_doubt(j->input, j->subjects[g->members[member]], found);
	double margin =
		verdict == VERDICT_WARN ? j->limit->outlier_margin_warn : j->limit->outlier_margin;
	double allowed = fmax(-log(1 - margin), scatter(g));
	struct verdict_check *check = add_check(j, g->members[member]);
	char *reason = words_of(g, &s, verdict, verdict != found, check->case_id);

	if (verdict == VERDICT_WARN) {
		free(check->bound_text);
		check->bound_text =
			xasprintf("outlier_margin_warn = %s", j->limit->outlier_warn_text);
	}
	check->bound = exp(lower ? -(s.others - allowed) : s.others - allowed);
	check->margin = (lower ? -1 : 1) * (check->value / check->bound - 1);
	check_decide(check, j->limit, verdict, reason);
	judging_say_spread(check, &j->observations[g->members[member]], j->limit);
	free(reason);
}

static void judge_group(struct group *g)
{
	if (g->count == 1) {
		/* If the limit also bounds the value, the case was judged. */
		if (!g->j->limit->min.kind && !g->j->limit->max.kind)
			check_decide(add_check(g->j, g->members[0]), g->j->limit, VERDICT_SKIP,
				     "there is no identical device to compare with");
		return;
	}
	g->deviation = g->count ? deviation_of(g) : 0;
	for (size_t i = 0; i < g->count; i++)
		judge_member(g, i);
}

void judge_identical(const struct judging *j)
{
	bool *seen = xcalloc(j->count + 1, sizeof(*seen));
	struct group *g = xcalloc(1, sizeof(*g));

	g->j = j;
	for (size_t i = 0; i < j->count; i++) {
		const struct observation *o = &j->observations[i];

		if (o->verdict != VERDICT_PASS) {
			struct verdict_check *check = add_check(j, i);

			check->wrong = o->verdict == VERDICT_FAIL;
			check_decide(check, j->limit, o->verdict, o->reason);
		}
		if (seen[i])
			continue;
		collect_group(g, i, seen);
		judge_group(g);
	}
	free(seen);
	free(g);
}
