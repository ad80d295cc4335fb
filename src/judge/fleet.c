/*
 * Compares each device with all others of its model on all nodes of the run: `fleet = 3 %`.
 *
 * A device is compared with the median of the others. It fails if it is worse by more than the
 * margin, beyond the uncertainty of both sides, and by more than healthy devices vary. The
 * threshold in standard deviations is chosen so that a healthy device fails in fewer than
 * FALSE_SUSPECTS of all runs, over all comparisons of the limit. The deviation combines the
 * variation between devices (from the median absolute deviation, less the part of the launches)
 * with that of the device's own launches, so that few launches fail a device less readily than
 * many. A device passes only within the margin. Suspects with a single launch are measured again
 * (judge_wants_more). Slow nodes do not move the median while they are the minority.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/stats.h"
#include "judge/judging.h"

#define FALSE_SUSPECTS 0.01 /* probability per limit and run that a healthy device fails */
#define FEWEST_DEVICES 3
#define MAD_TO_SIGMA 1.4826
#define MEDIAN_TO_MEAN 1.2533 /* ratio of the standard errors of median and mean, normal data */
#define Z_95 1.6448536269514722

struct fleet_comparison {
	const struct judging *j;
	size_t *members; /* indices into j->subjects of devices with a value */
	double *logs;    /* of the members, negated if lower is better */
	double *sorted;  /* logs in ascending order */
	size_t count, nodes;
	double between;     /* standard deviation between devices */
	double center_half; /* one-sided 95 % half-width of the median */
	double z;           /* threshold in standard deviations */
};

/*
 * Quantile of the standard normal distribution for an upper tail of `tail` < 0.5: Abramowitz &
 * Stegun 26.2.23, absolute error below 4.5e-4.
 */
static double judge_fleet_normal_quantile(double tail)
{
	double t = sqrt(-2 * log(tail));

	return t - (2.515517 + t * (0.802853 + t * 0.010328)) /
			   (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
}

/*
 * Collects the devices like subjects[first] on all nodes; `seen` also marks devices without a
 * value.
 */
static void judge_fleet_collect_devices(struct fleet_comparison *f, size_t first, bool *seen)
{
	const struct judging *j = f->j;
	const struct subject *latest = NULL;

	f->count = f->nodes = 0;
	for (size_t i = first; i < j->count; i++) {
		const struct observation *o = &j->observations[i];
		double value;

		if (seen[i] || !outliers_subjects_alike(j->subjects[first], j->subjects[i]))
			continue;
		seen[i] = true;
		if (o->verdict != VERDICT_PASS || !(o->estimate.value > 0))
			continue;
		/* Cases are sorted by node. */
		f->nodes += !latest || !outliers_subjects_on_one_node(latest, j->subjects[i]);
		latest = j->subjects[i];
		value = log(o->estimate.value);
		f->members[f->count] = i;
		f->logs[f->count++] = j->limit->metric->better == BETTER_LOWER ? -value : value;
	}
	memcpy(f->sorted, f->logs, f->count * sizeof(*f->logs));
	qsort(f->sorted, f->count, sizeof(*f->sorted), compare_doubles);
}

static double judge_fleet_limit_half_of(const struct fleet_comparison *f, size_t member)
{
	return f->j->observations[f->members[member]].estimate.half;
}

static void judge_fleet_learn_scatter(struct fleet_comparison *f)
{
	double *room = xmalloc((f->count + 1) * sizeof(*room));
	double center = median_of_sorted(f->sorted, f->count), deviation, half;

	for (size_t i = 0; i < f->count; i++)
		room[i] = fabs(f->logs[i] - center);
	deviation = MAD_TO_SIGMA * median_of(room, f->count);
	for (size_t i = 0; i < f->count; i++)
		room[i] = judge_fleet_limit_half_of(f, i);
	half = median_of(room, f->count);
	f->between = sqrt(fmax(0, pow(deviation, 2) - pow(half / Z_95, 2)));
	/* The variation between devices also limits how precisely their median is known. */
	f->center_half = Z_95 * MEDIAN_TO_MEAN * deviation / sqrt((double)f->count - 1);
	f->z = fmax(f->j->limit->sigmas,
		    judge_fleet_normal_quantile(FALSE_SUSPECTS / (double)f->j->count));
	free(room);
}

/* Median of all values except `own`, which is one of them. */
static double judge_fleet_median_of_others(const struct fleet_comparison *f, double own)
{
	size_t n = f->count - 1, low = (n - 1) / 2, high = n / 2;
	/* Any position among equal values will do. */
	const double *at = bsearch(&own, f->sorted, f->count, sizeof(*f->sorted), compare_doubles);
	size_t skipped = (size_t)(at - f->sorted);

	return (f->sorted[low + (low >= skipped)] + f->sorted[high + (high >= skipped)]) / 2;
}

static struct peer_standing judge_fleet_standing_of(const struct fleet_comparison *f, size_t member)
{
	double others = judge_fleet_median_of_others(f, f->logs[member]),
	       half = judge_fleet_limit_half_of(f, member);

	return (struct peer_standing){
		.others = others,
		.deficit = others - f->logs[member],
		.half = root_sum_square(half, f->center_half),
		.allowed = fmax(-log(1 - f->j->limit->fleet),
				f->z * root_sum_square(f->between, half / Z_95)),
		.count = f->count - 1,
	};
}

static struct verdict_check *judge_fleet_add_check(const struct judging *j, size_t i)
{
	struct verdict_check *check = judge_judging_add(j, i, LIKE_FLEET);

	run_findings_take(&check->bound_text, xasprintf("fleet = %s", j->limit->fleet_text));
	run_findings_set(&check->place, j->limit->fleet_place);
	return check;
}

static void fleet_judge_member(const struct fleet_comparison *f, size_t member)
{
	const struct judging *j = f->j;
	struct peer_standing s = judge_fleet_standing_of(f, member);
	double margin = -log(1 - j->limit->fleet);
	enum verdict found = s.deficit - s.half > margin && s.deficit > s.allowed ? VERDICT_FAIL
			     : s.deficit + s.half > margin ? VERDICT_INCONCLUSIVE
							   : VERDICT_PASS;
	enum verdict verdict =
		outliers_downgrade_if_throttled(j->input, j->subjects[f->members[member]], found);
	struct verdict_check *check = judge_fleet_add_check(j, f->members[member]);

	outliers_check_compare_peers(check, j, &s);
	judge_check_decide(check, j->limit, verdict,
			   "%.2f %% %s than the median of %zu devices of the same model on %zu "
			   "nodes%s",
			   fabs(100 * (1 - exp(-s.deficit))), s.deficit < 0 ? "better" : "worse",
			   s.count, f->nodes, verdict != found ? DOUBT_WORDS : "");
}

/*
 * True if there are too few devices for a fleet. Other bounds of the limit, if any, have judged
 * them.
 */
static bool judge_fleet_is_too_small(const struct fleet_comparison *f)
{
	const struct limit *limit = f->j->limit;

	if (f->nodes > 1 && f->count >= FEWEST_DEVICES)
		return false;
	if (limit->min.kind || limit->max.kind || !isnan(limit->outlier_margin))
		return true;
	for (size_t i = 0; i < f->count; i++)
		judge_check_decide(judge_fleet_add_check(f->j, f->members[i]), limit, VERDICT_SKIP,
				   "%zu identical device%s on %zu node%s; a fleet limit needs at "
				   "least "
				   "%d devices on two nodes",
				   f->count, text_plural(f->count), f->nodes, text_plural(f->nodes),
				   FEWEST_DEVICES);
	return true;
}

void judge_fleet(const struct judging *j)
{
	bool *seen = xcalloc(j->count + 1, sizeof(*seen));
	struct fleet_comparison f = { .j = j,
				      .members = xcalloc(j->count + 1, sizeof(*f.members)),
				      .logs = xcalloc(j->count + 1, sizeof(*f.logs)),
				      .sorted = xcalloc(j->count + 1, sizeof(*f.sorted)) };

	/* The other bounds of the limit have reported cases without a value. */
	for (size_t i = 0; i < j->count && isnan(j->limit->outlier_margin); i++)
		if (j->observations[i].verdict != VERDICT_PASS)
			judge_check_decide_missing(judge_fleet_add_check(j, i), j->limit,
						   &j->observations[i]);
	for (size_t i = 0; i < j->count; i++) {
		if (seen[i])
			continue;
		judge_fleet_collect_devices(&f, i, seen);
		if (!f.count || judge_fleet_is_too_small(&f))
			continue;
		judge_fleet_learn_scatter(&f);
		for (size_t m = 0; m < f.count; m++)
			fleet_judge_member(&f, m);
	}
	free(f.members);
	free(f.logs);
	free(f.sorted);
	free(seen);
}
