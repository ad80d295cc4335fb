/*
 * Compares the identical devices of one node with each other, without reference values.
 *
 * A device is compared with the median of the others. It fails if it is worse by more than the
 * limit's margin, beyond the uncertainty of both sides and, among three or more, by more than
 * `sigmas` robust standard deviations of all of them. It passes only within the margin; devices
 * that vary by more are INCONCLUSIVE. Of two devices the slower one fails, unless reference GPUs
 * show that the other one reads too high.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/stats.h"
#include "judge/judging.h"
#include "judge/population/population_key.h"

#define MOST_IDENTICAL 1024
#define FEWEST_REFERENCES 4 /* reference GPUs that outweigh one identical device */
#define MAD_TO_SIGMA 1.4826
#define MEDIAN_TO_MEAN 1.2533 /* ratio of the standard errors of median and mean, normal data */

bool outliers_subjects_alike(const struct subject *a, const struct subject *b)
{
	return a->device && b->device && a->first->device_count == b->first->device_count &&
	       cases_share_point(a->first, b->first) &&
	       strcmp(a->device->name, b->device->name) == 0 &&
	       strcmp(a->device->backend, b->device->backend) == 0;
}

bool outliers_subjects_on_one_node(const struct subject *a, const struct subject *b)
{
	const char *node = a->first->node ? a->first->node : "";

	return strcmp(node, b->first->node ? b->first->node : "") == 0;
}

struct outlier_group {
	const struct judging *j;
	size_t members[MOST_IDENTICAL]; /* indices into j->subjects of devices with a value */
	double logs[MOST_IDENTICAL];    /* negated if lower is better */
	double halves[MOST_IDENTICAL];  /* half-widths of their intervals */
	/* like logs; observation_fastest_launch(), NaN: unknown */
	double fastest[MOST_IDENTICAL];
	bool by_fastest; /* all are known */
	size_t count;
	double deviation; /* robust standard deviation of all members */
};

/*
 * Collects the devices identical to that of subjects[first], including itself; `seen` also marks
 * devices without a value.
 */
static void outliers_collect_group(struct outlier_group *g, size_t first, bool *seen)
{
	const struct judging *j = g->j;
	bool lower = j->limit->metric->better == BETTER_LOWER;

	g->count = 0;
	g->by_fastest = true;
	for (size_t i = first; i < j->count; i++) {
		const struct observation *o;

		/* Cases are sorted by node. */
		if (!outliers_subjects_on_one_node(j->subjects[first], j->subjects[i]))
			break;
		if (seen[i] || !outliers_subjects_alike(j->subjects[first], j->subjects[i]))
			continue;
		seen[i] = true;
		o = &j->observations[i];
		if (o->verdict != VERDICT_PASS || !(o->estimate.value > 0) ||
		    g->count == MOST_IDENTICAL)
			continue;
		g->members[g->count] = i;
		g->halves[g->count] = o->estimate.half;
		g->logs[g->count] = (lower ? -1 : 1) * log(o->estimate.value);
		g->fastest[g->count] = (lower ? -1 : 1) * log(observation_fastest_launch(o));
		g->by_fastest = g->by_fastest && !isnan(g->fastest[g->count]);
		g->count++;
	}
}

static double outlier_median_of_others(const struct outlier_group *g, const double *values,
				       size_t member)
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

static struct verdict_check *outlier_add_check(const struct judging *j, size_t i)
{
	struct verdict_check *check = judge_judging_add(j, i, LIKE_IDENTICAL);

	run_findings_take(&check->bound_text,
			  xasprintf("outlier_margin = %s", j->limit->outlier_text));
	run_findings_set(&check->place, j->limit->outlier_place);
	return check;
}

void outliers_check_compare_peers(struct verdict_check *check, const struct judging *j,
				  const struct peer_standing *s)
{
	bool lower = j->limit->metric->better == BETTER_LOWER;

	check->bound = exp(lower ? -(s->others - s->allowed) : s->others - s->allowed);
	check->margin = (lower ? -1 : 1) * (check->value / check->bound - 1);
	judge_check_compare(check, s->half, exp(lower ? -s->others : s->others), s->count);
}

static struct peer_standing outlier_standing(const struct outlier_group *g, size_t member)
{
	double others = outlier_median_of_others(g, g->logs, member);
	/* Median of the others' half-widths: one noisy device must not widen it. */
	double half = outlier_median_of_others(g, g->halves, member);

	if (g->count > 2)
		half *= MEDIAN_TO_MEAN / sqrt((double)g->count - 1);
	return (struct peer_standing){ .others = others,
				       .deficit = others - g->logs[member],
				       .half = root_sum_square(g->halves[member], half),
				       .count = g->count - 1 };
}

/* 0 for two devices, whose deviation would be half their distance. */
static double outlier_scatter(const struct outlier_group *g)
{
	return g->count > 2 ? g->j->limit->sigmas * g->deviation : 0;
}

static enum verdict outlier_verdict(const struct outlier_group *g, const struct peer_standing *s)
{
	double margin = -log(1 - g->j->limit->outlier_margin),
	       warn = -log(1 - g->j->limit->outlier_margin_warn);

	if (s->deficit - s->half > fmax(margin, outlier_scatter(g)))
		return VERDICT_FAIL;
	if (s->deficit + s->half > margin)
		return VERDICT_INCONCLUSIVE;
	/* NaN if outlier_margin_warn is not set. */
	return s->deficit - s->half > fmax(warn, outlier_scatter(g)) && !isnan(warn) ? VERDICT_WARN
										     : VERDICT_PASS;
}

/* True if the fastest launch of a device is within the margin of the fastest of the others. */
static bool outlier_fastest_agree(const struct outlier_group *g, size_t member)
{
	return g->by_fastest &&
	       outlier_median_of_others(g, g->fastest, member) - g->fastest[member] <=
		       -log(1 - g->j->limit->outlier_margin);
}

/*
 * The check of the slower of two devices that contradicts the faster one: it passes against
 * reference GPUs, whose median is nearer to it and would fail the comparison with the faster one as
 * well. NULL: none.
 */
static const struct verdict_check *outlier_check_of_references(const struct outlier_group *g,
							       size_t slower)
{
	const struct judging *j = g->j;
	const struct subject *subject = j->subjects[g->members[slower]];
	struct peer_standing s = outlier_standing(g, slower);
	bool lower = j->limit->metric->better == BETTER_LOWER;

	if (g->count != 2 || !(s.deficit > 0) || outlier_verdict(g, &s) == VERDICT_PASS)
		return NULL;
	/* Then the fastest launches decide. */
	if (outlier_verdict(g, &s) == VERDICT_INCONCLUSIVE && outlier_fastest_agree(g, slower))
		return NULL;
	for (size_t i = j->verdicts->count; i-- > 0;) {
		const struct verdict_check *c = &j->verdicts->checks[i];
		double center = (lower ? -1 : 1) * log(c->reference);

		if (c->comparison == LIKE_POPULATION && c->verdict == VERDICT_PASS &&
		    c->reference_count >= FEWEST_REFERENCES &&
		    strcmp(c->case_id, subject->first->id) == 0 &&
		    strcmp(c->metric, j->limit->metric->name) == 0 &&
		    s.others - center > -log(1 - j->limit->outlier_margin) &&
		    s.others - center > center - g->logs[slower])
			return c;
	}
	return NULL;
}

/* Judges two devices if reference GPUs clear the slower one. The faster one is then in doubt. */
static void outlier_judge_contradicted_pair(const struct outlier_group *g, size_t slower,
					    const struct verdict_check *of_references)
{
	const struct judging *j = g->j;
	size_t a = g->members[slower], b = g->members[1 - slower];
	const char *slow = j->subjects[a]->first->device, *fast = j->subjects[b]->first->device;
	struct peer_standing s = outlier_standing(g, slower);
	char *words =
		xasprintf("%.2f %% better than the median of %zu reference GPUs",
			  100 * fabs(j->observations[b].estimate.value / of_references->reference -
				     1),
			  of_references->reference_count);
	struct verdict_check *check = outlier_add_check(j, a);

	judge_check_decide(check, j->limit, VERDICT_SKIP,
			   "not compared with %s, which is %s; %s agrees with them", fast, words,
			   slow);
	check->accepted = true;
	check = outlier_add_check(j, b);
	check->cause = CAUSE_READS_HIGH;
	judge_check_decide(check, j->limit, VERDICT_INCONCLUSIVE,
			   "%.2f %% better than %s and %s, with which %s agrees",
			   100 * (exp(s.deficit) - 1), slow, words, slow);
	free(words);
}

/* Decides an INCONCLUSIVE comparison by the fastest launch of each device. False: undecided. */
static bool outlier_judge_by_fastest(const struct outlier_group *g, size_t member,
				     struct verdict_check *check, struct peer_standing *s)
{
	const struct judging *j = g->j;
	bool lower = j->limit->metric->better == BETTER_LOWER;
	double others = outlier_median_of_others(g, g->fastest, member);

	if (!outlier_fastest_agree(g, member))
		return false;
	*s = (struct peer_standing){ .others = others,
				     .deficit = others - g->fastest[member],
				     .count = s->count };
	check->value = check->low = check->high = exp((lower ? -1 : 1) * g->fastest[member]);
	return true;
}

static void outlier_judge_member(const struct outlier_group *g, size_t member)
{
	const struct judging *j = g->j;
	struct peer_standing s = outlier_standing(g, member);
	enum verdict found = outlier_verdict(g, &s);
	enum verdict verdict =
		outliers_downgrade_if_throttled(j->input, j->subjects[g->members[member]], found);
	struct verdict_check *check = outlier_add_check(j, g->members[member]);
	char *others = g->count > 2 ? xasprintf("the median of %zu identical devices", s.count)
				    : xstrdup("the other device");
	bool fastest =
		found == VERDICT_INCONCLUSIVE && outlier_judge_by_fastest(g, member, check, &s);
	double margin;

	if (fastest)
		verdict = found = outlier_verdict(g, &s);
	margin = verdict == VERDICT_WARN ? j->limit->outlier_margin_warn : j->limit->outlier_margin;
	if (verdict == VERDICT_WARN)
		run_findings_take(&check->bound_text, xasprintf("outlier_margin_warn = %s",
								j->limit->outlier_warn_text));
	s.allowed = fmax(-log(1 - margin), outlier_scatter(g));
	check->warns_only = verdict == VERDICT_WARN;
	outliers_check_compare_peers(check, j, &s);
	if (g->count == 2)
		run_findings_set(&check->reference_device,
				 j->subjects[g->members[1 - member]]->first->device);
	judge_check_decide(check, j->limit, verdict, "%s%.2f %% %s than %s%s",
			   fastest ? FASTEST_LAUNCH_WORDS : "", fabs(100 * (1 - exp(-s.deficit))),
			   s.deficit < 0 ? "better" : "worse", others,
			   verdict != found ? DOUBT_WORDS : "");
	free(others);
}

static void outliers_group(struct outlier_group *g)
{
	double center, *distances;

	if (g->count == 1) {
		/* If the limit also bounds the value, that check has judged the case. */
		if (!g->j->limit->min.kind && !g->j->limit->max.kind)
			judge_check_decide(outlier_add_check(g->j, g->members[0]), g->j->limit,
					   VERDICT_SKIP, "no identical device to compare with");
		return;
	}
	if (!g->count)
		return;
	center = median_of(g->logs, g->count);
	distances = xmalloc(g->count * sizeof(*distances));
	for (size_t i = 0; i < g->count; i++)
		distances[i] = fabs(g->logs[i] - center);
	g->deviation = MAD_TO_SIGMA * median_of(distances, g->count);
	free(distances);
	for (size_t i = 0; i < g->count; i++) {
		const struct verdict_check *of_references = outlier_check_of_references(g, i);

		if (of_references) {
			outlier_judge_contradicted_pair(g, i, of_references);
			return;
		}
	}
	for (size_t i = 0; i < g->count; i++)
		outlier_judge_member(g, i);
}

void outliers_identical(const struct judging *j)
{
	bool *seen = xcalloc(j->count + 1, sizeof(*seen));
	struct outlier_group *g = xcalloc(1, sizeof(*g));

	g->j = j;
	for (size_t i = 0; i < j->count; i++) {
		const struct observation *o = &j->observations[i];

		if (o->verdict != VERDICT_PASS)
			judge_check_decide_missing(outlier_add_check(j, i), j->limit, o);
		if (seen[i])
			continue;
		outliers_collect_group(g, i, seen);
		outliers_group(g);
	}
	free(seen);
	free(g);
}

/*
 * Detects a power limit that set in during sampling. Long GEMMs soon meet the power limit, at a
 * random moment: of two healthy H200s that multiplied 8192 x 8192 matrices in TF32, one met it
 * halfway through its samples and the other not at all, 13 % apart. With [suite ...] preheat = 1s
 * both reach their steady state before the first sample.
 */
enum verdict outliers_downgrade_if_throttled(const struct judge_input *input,
					     const struct subject *subject, enum verdict verdict)
{
	const struct telemetry_during *during = &subject->first->during;
	bool mid_sampling = during->throttled > 0 && during->throttled < during->readings &&
			    case_throttle_reasons(subject->first) == THROTTLE_POWER_LIMIT &&
			    !population_key_case_is_preheated(&input->results[0], subject->first);

	return mid_sampling && (verdict == VERDICT_FAIL || verdict == VERDICT_WARN)
		       ? VERDICT_INCONCLUSIVE
		       : verdict;
}
