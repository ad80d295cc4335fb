#include "judge/judge.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/stats.h"
#include "base/units.h"
#include "judge/estimate/kind.h"
#include "judge/judging.h"
#include "plan/limits/spec_keys.h"
#include "plan/metrics.h"
#include "reference/spec.h"

/*
 * Refuses values that were never verified, and impossible ones: a case with an impossible metric is
 * not used at all, not even to compare others with.
 */
static void judge_refuse_unsound(const struct subject *s, struct observation *o)
{
	for (size_t i = 0; i < s->count; i++) {
		char *words = o->impossible ? NULL : impossible_figure(s->device, s->cases[i]);

		if (s->cases[i]->status == CASE_OK && !result_outcome_case_is_verified(s->cases[i]))
			observation_refuse(o, VERDICT_ERROR, "the result was never verified");
		o->impossible = o->impossible || words;
		if (words)
			observation_refuse(o, VERDICT_ERROR, words);
		free(words);
	}
}

/*
 * Fills subjects and observations of `limit`; identical devices share the variation of their
 * launches.
 */
static void judge_judging_select(struct judging *j)
{
	j->subjects = xcalloc(j->all->count + 1, sizeof(*j->subjects));
	j->observations = xcalloc(j->all->count + 1, sizeof(*j->observations));
	for (size_t i = 0; i < j->all->count; i++) {
		const struct subject *s = &j->all->items[i];

		if (!judge_limits_selects(j->limit, s->first, s->device ? s->device->name : ""))
			continue;
		j->subjects[j->count] = s;
		j->observations[j->count] =
			observation_make(s, j->limit->metric->name, j->limit->metric->unit,
					 j->limit->launch_spread);
		judge_refuse_unsound(s, &j->observations[j->count++]);
	}
}

static void judge_judging_set_task(struct verdict_check *check, const struct limit *limit,
				   const struct subject *s)
{
	const struct aspect_row *row =
		aspect_row_of(limit->suite->aspects, limit->metric->name, s->first);
	const char *status;
	double links;

	run_findings_take(&check->task,
			  aspect_fill(row && row->task ? row->task : limit->metric->name,
				      s->first));
	if (!row)
		return;
	check->aspect = row->aspect;
	check->link = row->link;
	/* Copies between GPUs take NVLink where the GPU has it. */
	if (row->link == LINK_PEER)
		check->link = s->device && (s->device->nvlink_count > 0 ||
					    (spec_of_name(s->device->name, "nvlink_links", &links,
							  &status) &&
					     links > 0))
				      ? LINK_NVLINK
				      : LINK_PCIE;
	run_findings_take(&check->task_group, aspect_fill(row->group, s->first));
	run_findings_take(&check->variant, aspect_fill(row->variant, s->first));
}

struct verdict_check *judge_judging_add(const struct judging *j, size_t i,
					enum check_kind comparison)
{
	const struct subject *s = j->subjects[i];
	const struct observation *o = &j->observations[i];
	const struct metric_value *m = case_metric(s->first, j->limit->metric->name);
	struct verdict_check *check = verdicts_add(j->verdicts);

	run_findings_set(&check->limit, j->limit->name);
	verdict_check_set_case(check, s->first);
	run_findings_take(&check->devices, case_devices(s->first));
	for (size_t k = 0; k < s->count && !*check->failed_device; k++)
		run_findings_set(&check->failed_device, s->cases[k]->failed_device);
	run_findings_set(&check->model, s->device ? s->device->name : "");
	run_findings_set(&check->uuid, s->device ? s->device->uuid : "");
	run_findings_set(&check->metric, j->limit->metric->name);
	run_findings_set(&check->unit, m ? case_metric_unit(s->first, m) : j->limit->metric->unit);
	run_findings_set(&check->place, j->limit->place);
	run_findings_set(&check->bound_origin, j->limit->origin);
	judge_judging_set_task(check, j->limit, s);
	check->comparison = comparison;
	check->cause = o->impossible ? CAUSE_IMPOSSIBLE : CAUSE_NONE;
	check->launches = o->estimate.launches;
	check->samples = o->samples;
	check->final = o->exact;
	if (o->verdict == VERDICT_ERROR && s->first->status == CASE_ERROR)
		check->cause = CAUSE_CASE_ERROR;
	check->value = o->estimate.value;
	check->low = o->estimate.value * exp(-o->estimate.half);
	check->high = o->estimate.value * exp(o->estimate.half);
	return check;
}

void judge_check_compare(struct verdict_check *check, double half, double reference, size_t count)
{
	check->deciding_low = check->value * exp(-half);
	check->deciding_high = check->value * exp(half);
	check->reference = reference;
	check->reference_count = count;
}

void judge_check_decide(struct verdict_check *check, const struct limit *limit,
			enum verdict verdict, const char *format, ...)
{
	va_list ap;

	check->warns_only = check->warns_only || limit->severity == LIMIT_WARNS;
	if (verdict == VERDICT_FAIL && limit->severity == LIMIT_WARNS && !check->wrong)
		verdict = VERDICT_WARN;
	check->verdict = verdict;
	check->accepted = verdict == VERDICT_PASS || verdict == VERDICT_WARN ||
			  (verdict == VERDICT_SKIP && limit->allow_skipped) ||
			  (verdict == VERDICT_INCONCLUSIVE && limit->severity == LIMIT_WARNS);
	if (!format)
		return;
	va_start(ap, format);
	run_findings_format(&check->reason, format, ap);
	va_end(ap);
}

void judge_check_decide_missing(struct verdict_check *check, const struct limit *limit,
				const struct observation *o)
{
	check->wrong = o->verdict == VERDICT_FAIL;
	judge_check_decide(check, limit, o->verdict, "%s", o->reason);
}

/*
 * Verdict of the value against check->bound, which has the half-width `bound_half` on the log
 * scale.
 */
static enum verdict judge_bound(const struct verdict_check *check, const struct observation *o,
				double bound_half)
{
	double half = root_sum_square(o->estimate.half, bound_half);
	double low = check->value * exp(-half), high = check->value * exp(half);
	bool at_least = check->comparison == AT_LEAST;
	double worse = at_least ? low : high, better = at_least ? high : low;

	if (at_least ? better < check->bound : better > check->bound)
		return VERDICT_FAIL;
	if (at_least ? worse >= check->bound : worse <= check->bound)
		return o->no_interval ? VERDICT_INCONCLUSIVE : VERDICT_PASS;
	return VERDICT_INCONCLUSIVE;
}

/* Puts facts about a value before the limit's own text on its origin. */
static void judge_add_origin(struct verdict_check *check, char *origin)
{
	run_findings_take(&check->bound_origin,
			  xasprintf("%s%s%s", origin, *check->bound_origin ? "; " : "",
				    check->bound_origin));
	free(origin);
}

/*
 * The value that `spec` names for the case; NULL: unknown. `most`: the highest value that the
 * metric may reach by it.
 */
static const char *judge_spec_figure(const char *spec, const struct subject *s, const char *metric,
				     double *figure, double *most)
{
	const char *status;
	struct spec_peak peak;

	if (!s->device)
		return NULL;
	if (strcmp(spec, SPEC_PEAK) == 0) {
		if (!spec_peak(schema_metric_sheet(metric), s->first, metric, s->device, &peak))
			return NULL;
		*figure = peak.figure;
		*most = peak.most;
		return peak.key;
	}
	if (!spec_lookup(s->device, spec, figure, &status))
		return NULL;
	*most = *figure;
	return spec;
}

/* False: the value is unknown, and `reason`, which the caller frees, says why. */
static bool judge_resolve_spec(const struct bound *bound, const struct subject *s,
			       struct verdict_check *check, char **reason)
{
	char text[48], *words;
	double figure, most;
	const char *key = judge_spec_figure(bound->spec, s, check->metric, &figure, &most);

	if (!key) {
		*reason =
			xasprintf("neither the data sheet nor the driver has a value for %s of a "
				  "'%.60s'",
				  bound->spec,
				  s->device ? s->device->name : "the device is not in the result");
		return false;
	}
	check->bound = bound->factor * most;
	units_format(figure, check->unit, text, sizeof(text));
	words = spec_words(s->device, key);
	judge_add_origin(check, xasprintf("%s = %s, %s", key, text, words));
	free(words);
	return true;
}

/*
 * Describes the first setting of the case's suite that differs between both results. A setting that
 * only one of them has does not count.
 */
static char *judge_baseline_setting(const struct result *now, const struct result *before,
				    const struct case_result *c)
{
	/*
	 * Sampling keys change how certain a value is, not the value. Lists are compared as case
	 * parameters.
	 */
	static const char *const keys[] = { "preheat", "warmup", "sustained_time" };
	char *section = xasprintf("suite %s%s%s", c->suite, *c->label ? " " : "", c->label);
	char *found = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(keys) && !found; i++) {
		const struct result_setting *s = result_setting(now, section, keys[i]);
		const struct result_setting *there = result_setting(before, section, keys[i]);

		if (s && there && s->value && strcmp(there->value, s->value) != 0)
			found = xasprintf("the baseline was measured with [%s] %s = %s, but this "
					  "run with %s",
					  section, s->key, there->value, s->value);
	}
	free(section);
	return found;
}

static char *judge_baseline_parameter(const struct case_result *now,
				      const struct case_result *before)
{
	for (size_t i = 0; i < now->parameter_count; i++) {
		const struct case_parameter *p = &now->parameters[i];
		const struct case_parameter *there = case_parameter(before, p->name);

		if (there && strcmp(there->text, p->text) != 0)
			return xasprintf("the baseline was measured with %s = %s, but this run "
					 "with %s",
					 p->name, there->text, p->text);
	}
	return NULL;
}

/*
 * Why the baseline's case cannot be compared with this one; NULL: it can. The caller frees the
 * string.
 */
static char *judge_baseline_misfit(const struct judge_input *input, const struct subject *now,
				   const struct subject *before)
{
	char *reason = NULL;

	for (size_t i = 0; i < input->count * input->baseline_count && !reason; i++) {
		const char *a = input->results[i / input->baseline_count].run_id,
			   *b = input->baseline[i % input->baseline_count].run_id;

		if (a && b && *a && strcmp(a, b) == 0)
			reason = xasprintf("the baseline is the run itself (%s), so the check "
					   "could never fail",
					   a);
	}
	if (!reason && now->device && before->device &&
	    strcmp(now->device->name, before->device->name) != 0)
		reason = xasprintf("the baseline was measured on '%.60s', but this run on '%.60s'",
				   before->device->name, now->device->name);
	if (!reason)
		reason = judge_baseline_parameter(now->first, before->first);
	for (size_t k = 0; k < input->baseline_count && input->count && !reason; k++)
		reason =
			judge_baseline_setting(&input->results[0], &input->baseline[k], now->first);
	return reason;
}

static bool judge_resolve_baseline(const struct judging *j, const struct bound *bound,
				   const struct subject *s, struct verdict_check *check,
				   double *half, char **reason)
{
	const struct subject *before =
		j->baseline->count ? observation_subjects_find(j->baseline, s->first->id) : NULL;
	struct observation o;
	char text[48];

	if (!before) {
		*reason = xstrdup(j->baseline->count ? "the baseline does not have this case"
						     : "the limit needs a baseline; add "
						       "--baseline RESULT");
		return false;
	}
	*reason = judge_baseline_misfit(j->input, s, before);
	if (*reason)
		return false;
	o = observation_make(before, check->metric, j->limit->metric->unit,
			     j->limit->launch_spread);
	if (o.verdict == VERDICT_PASS) {
		check->bound = bound->factor * o.estimate.value;
		*half = o.estimate.half;
		judge_add_origin(check, xasprintf("baseline = %s",
						  units_format(o.estimate.value, check->unit, text,
							       sizeof(text))));
	} else {
		*reason = xasprintf("the baseline has no value: %s", o.reason);
	}
	observation_release(&o);
	return !*reason;
}

/* Facts that qualify a violation: noise, throttling. */
static char *judge_circumstances(const struct subject *s, const char *metric)
{
	const struct metric_value *m = case_metric(s->first, metric);
	const struct series *series = m && m->series ? case_series(s->first, m->series) : NULL;
	struct text out = TEXT_EMPTY;
	char *throttled = result_throttle_words(case_throttle_reasons(s->first));

	if (series && series->statistics.noisy)
		text_addf(&out, "noisy: %s", series->statistics.noise);
	if (*throttled)
		text_addf(&out, "%sthrottled: %s", out.length ? "; " : "", throttled);
	free(throttled);
	return text_detach(&out);
}

/*
 * A device that skips a case that an identical one measures is at fault. If every device of the run
 * skips it, the skip may be allowed only if the model is not known to support the case.
 */
static void judge_skipped(const struct judging *j, size_t i, struct verdict_check *check)
{
	const struct subject *s = j->subjects[i], *other = NULL;
	const char *why = j->observations[i].reason;
	struct spec_peak peak;

	/* An identical device on which the same case was measured. */
	for (size_t k = 0; k < j->count && !other; k++)
		if (k != i && j->observations[k].verdict == VERDICT_PASS &&
		    outliers_subjects_alike(s, j->subjects[k]))
			other = j->subjects[k];
	if (other) {
		judge_check_decide(check, j->limit, VERDICT_FAIL,
				   "skipped on this device, but measured on %s: %s",
				   other->first->device, why);
		check->cause = CAUSE_NOT_MEASURED;
	} else if (j->limit->allow_skipped && s->device &&
		   spec_peak(schema_metric_sheet(check->metric), s->first, check->metric, s->device,
			     &peak)) {
		judge_check_decide(check, j->limit, VERDICT_SKIP,
				   "not measured, although the data sheet of a %s has %s: %s",
				   s->device->name, peak.key, why);
		check->accepted = false;
	} else {
		judge_check_decide(check, j->limit, VERDICT_SKIP, "%s", why);
	}
}

/* Judges a value by check->bound, which has the half-width `bound_half` on the log scale. */
static void judge_value(const struct judging *j, size_t i, struct verdict_check *check,
			const struct bound *bound, double bound_half)
{
	const struct observation *o = &j->observations[i];
	const struct device_info *device = j->subjects[i]->device;
	bool at_least = check->comparison == AT_LEAST;
	char *reason = NULL;
	enum verdict verdict;

	/* The worst launch decides an exact metric. */
	if (o->exact)
		check->value = check->low = check->high =
			figure_kind_worst_value(o->values, o->count,
						at_least ? BETTER_HIGHER : BETTER_LOWER);
	check->margin = check->bound > 0 ? check->value / check->bound - 1 : NAN;
	check->margin *= at_least ? 1 : -1;
	verdict = judge_bound(check, o, bound_half);
	if (bound_half > 0)
		judge_check_compare(check, root_sum_square(o->estimate.half, bound_half), NAN, 0);
	if (o->no_interval)
		reason = xasprintf("%zu samples are too few for an interval", o->samples);
	else if (verdict != VERDICT_PASS)
		reason = judge_circumstances(j->subjects[i], check->metric);
	judge_check_decide(check, j->limit, verdict, reason ? "%s" : NULL, reason);
	free(reason);
	/* Without a data sheet, a bound on a GPU rests on what the driver reports. */
	if (verdict != VERDICT_PASS || bound->kind != BOUND_SPEC || j->limit->accept_derived ||
	    !device || spec_file(device->name))
		return;
	judge_check_decide(check, j->limit, VERDICT_INCONCLUSIVE,
			   "no data sheet for '%s', so limits are derived from the driver's report",
			   device->name);
	check->cause = CAUSE_NO_DATA_SHEET;
	check->final = true; /* more samples do not help */
}

static void judge_value_by_bound(const struct judging *j, size_t i, const struct bound *bound,
				 enum check_kind comparison)
{
	struct verdict_check *check = judge_judging_add(j, i, comparison);
	const struct observation *o = &j->observations[i];
	char *reason = NULL;
	double half = 0;
	bool known = o->verdict == VERDICT_PASS;

	if (known && bound->kind == BOUND_SPEC)
		known = judge_resolve_spec(bound, j->subjects[i], check, &reason);
	else if (known && bound->kind == BOUND_BASELINE)
		known = judge_resolve_baseline(j, bound, j->subjects[i], check, &half, &reason);
	else if (known)
		check->bound = bound->factor;
	run_findings_set(&check->bound_text, bound->text);
	run_findings_set(&check->place, bound->place);
	if (o->verdict == VERDICT_SKIP) {
		judge_skipped(j, i, check);
	} else if (o->verdict != VERDICT_PASS) {
		judge_check_decide_missing(check, j->limit, o);
	} else if (!known) {
		judge_check_decide(check, j->limit, VERDICT_ERROR, "%s", reason);
	} else {
		judge_value(j, i, check, bound, half);
	}
	free(reason);
}

/* All bounds of the limit, as written: "47 GB/s; outlier_margin = 2 %". */
static char *judge_limit_bounds_text(const struct limit *limit)
{
	const struct {
		const char *key, *text;
	} bounds[] = { { "", limit->min.text },
		       { "", limit->max.text },
		       { "outlier_margin = ", limit->outlier_text },
		       { "fleet = ", limit->fleet_text },
		       { "population = ", limit->population_text } };
	struct text out = TEXT_EMPTY;

	for (size_t i = 0; i < ARRAY_SIZE(bounds); i++)
		if (bounds[i].text)
			text_addf(&out, "%s%s%s", out.length ? "; " : "", bounds[i].key,
				  bounds[i].text);
	return text_detach(&out);
}

/* Adds a check of the limit as a whole. */
static struct verdict_check *judge_add_plain(const struct limit *limit, struct verdicts *verdicts)
{
	struct verdict_check *check = verdicts_add(verdicts);

	run_findings_take(&check->bound_text, judge_limit_bounds_text(limit));
	run_findings_set(&check->limit, limit->name);
	run_findings_set(&check->metric, limit->metric->name);
	run_findings_set(&check->unit, limit->metric->unit);
	run_findings_set(&check->place, limit->place);
	run_findings_set(&check->bound_origin, limit->origin);
	return check;
}

static int judge_by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static size_t judge_different_devices(const struct judging *j)
{
	const char **ids = NULL;
	size_t count = 0, capacity = 0, different = 0;

	for (size_t i = 0; i < j->count; i++)
		for (size_t d = 0; d < j->subjects[i]->first->device_count; d++) {
			if (j->observations[i].verdict != VERDICT_PASS)
				break;
			ARRAY_GROW(ids, count, capacity);
			ids[count++] = j->subjects[i]->first->devices[d];
		}
	if (count)
		qsort(ids, count, sizeof(*ids), judge_by_text);
	for (size_t i = 0; i < count; i++)
		different += i == 0 || strcmp(ids[i], ids[i - 1]) != 0;
	free(ids);
	return different;
}

/* True if another limit of this metric, which can reject, selects the case. */
static bool judge_other_limit_selects(const struct judging *j, const struct subject *s)
{
	for (size_t i = 0; i < j->input->limits->count; i++) {
		const struct limit *other = &j->input->limits->items[i];

		if (other->metric == j->limit->metric && other->severity == LIMIT_FAILS &&
		    judge_limits_selects(other, s->first, s->device ? s->device->name : ""))
			return true;
	}
	return false;
}

/*
 * Reports cases that only escape the limit because they chose another path than it covers, such as
 * collectives that fell back from NCCL: not judged is not passed. Returns their number.
 */
static size_t judge_missed_paths(const struct judging *j)
{
	size_t count = 0;

	for (size_t i = 0; i < j->all->count; i++) {
		const struct subject *s = &j->all->items[i];
		const char *path = judge_limits_missed_path(j->limit, s->first,
							    s->device ? s->device->name : "");
		struct verdict_check *check;

		if (!path || judge_other_limit_selects(j, s))
			continue;
		count++;
		check = judge_add_plain(j->limit, j->verdicts);
		verdict_check_set_case(check, s->first);
		run_findings_take(&check->devices, case_devices(s->first));
		judge_judging_set_task(check, j->limit, s);
		check->cause = CAUSE_NOT_JUDGED;
		check->final = true;
		judge_check_decide(check, j->limit, VERDICT_INCONCLUSIVE,
				   "it used %s, which [limit %s] does not cover", path,
				   j->limit->name);
	}
	return count;
}

void judge_limit(struct judging *j)
{
	size_t found;

	judge_judging_select(j);
	found = judge_different_devices(j);
	if (!judge_missed_paths(j) && !j->count)
		judge_check_decide(judge_add_plain(j->limit, j->verdicts), j->limit,
				   j->limit->allow_skipped ? VERDICT_SKIP : VERDICT_ERROR,
				   "no case in this run matches this limit");
	if (j->limit->devices && found != j->limit->devices)
		judge_check_decide(judge_add_plain(j->limit, j->verdicts), j->limit, VERDICT_FAIL,
				   "measured on %zu device%s; expected: %zu", found,
				   text_plural(found), j->limit->devices);
	for (size_t i = 0; i < j->count; i++) {
		if (j->limit->min.kind)
			judge_value_by_bound(j, i, &j->limit->min, AT_LEAST);
		if (j->limit->max.kind)
			judge_value_by_bound(j, i, &j->limit->max, AT_MOST);
	}
	/*
	 * Runs before the comparison of identical devices, because it may decide which one of two
	 * is slow.
	 */
	if (!isnan(j->limit->population))
		population_standing_judge(j);
	if (!isnan(j->limit->outlier_margin))
		outliers_identical(j);
	if (!isnan(j->limit->fleet))
		judge_fleet(j);
	for (size_t i = 0; i < j->count; i++)
		observation_release(&j->observations[i]);
	free(j->observations);
	free(j->subjects);
}

bool judge_check_wants_more(const struct verdict_check *check)
{
	if (check->wrong || check->final || check->comparison == NO_COMPARISON)
		return false;
	if (check->verdict == VERDICT_INCONCLUSIVE)
		return true;
	/* A launch at another clock level makes a device look slow, too. */
	return (check->verdict == VERDICT_FAIL ||
		(check->verdict == VERDICT_WARN && check->comparison == LIKE_IDENTICAL)) &&
	       check->launches < LAUNCHES_THAT_DECIDE;
}

bool judge_wants_more(const struct verdicts *verdicts, const char *case_id, const char *point)
{
	for (size_t i = 0; i < verdicts->count; i++) {
		const struct verdict_check *check = &verdicts->checks[i];

		if (!judge_check_wants_more(check))
			continue;
		if (strcmp(check->case_id, case_id) == 0)
			return true;
		if ((check->comparison == LIKE_IDENTICAL || verdict_check_is_of_node(check)) &&
		    strcmp(check->point, point) == 0)
			return true;
	}
	return false;
}
