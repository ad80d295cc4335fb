/*
 * Samples several workloads: of different devices at the same time, or two of one device
 * alternately; and values that an operation reports itself.
 */
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "measure/activity.h"
#include "measure/processes/world.h"
#include "measure/sampling/session.h"

/* A sample is not expected to end before this fraction of its time. */
#define EARLIEST 0.9
/* A sleep may take this much longer, and a device would rest in the meantime. */
#define OVERSLEPT_SECONDS 100e-6

static bool sampling_several_session_is_stopped(const struct session *s)
{
	return s->sampler->stop && *s->sampler->stop;
}

/* Takes one sample of each: all gates open when the last batch is enqueued. */
static enum status several_take_each(struct session *all, size_t n, bool counts, struct error *errs)
{
	enum status first = STATUS_OK;
	double seconds;

	for (size_t i = 0; i < n; i++)
		sampling_timer_begin(&all[i].timer, all[i].series->batch, &errs[i]);
	for (size_t i = 0; i < n; i++)
		sampling_timer_release(&all[i].timer, &errs[i]);
	for (size_t i = 0; i < n; i++) {
		enum status status = sampling_timer_end(&all[i].timer, &seconds, &errs[i]);

		if (status != STATUS_OK)
			first = first == STATUS_OK ? status : first;
		else if (counts)
			sampling_session_count(&all[i], seconds);
		else
			activity_sampled(all[i].sampler->activity, 0);
	}
	return first;
}

/* All continue until the last one has enough samples; its stop reason is that of the group. */
static bool sampling_several_all_have_enough(struct session *all, size_t n)
{
	bool every = true;

	for (size_t i = 0; i < n; i++) {
		struct session *s = &all[i];

		if (s->enough && !sampling_several_session_is_stopped(s))
			continue;
		s->enough = sampling_session_has_enough(s);
		every = every && s->enough;
	}
	return every;
}

/* An interrupted session ends the group. */
static enum status several_end_of_all(const struct session *all, size_t n, struct error *errs)
{
	for (size_t i = 0; i < n; i++)
		if (all[i].series->stop == STOP_INTERRUPTED)
			return sampling_session_interrupted(&all[i], &errs[i]);
	return STATUS_OK;
}

static enum status sampling_several_take_all_together(struct session *all, size_t n,
						      struct error *errs)
{
	enum status status = STATUS_OK;
	double rounds = 0;

	/* Preheats at the same time: a device that waits for the others would cool down again. */
	for (size_t i = 0; i < n; i++)
		rounds = fmax(rounds, sampling_session_preheats(&all[i]));
	for (double i = 0;
	     i < rounds && status == STATUS_OK && !sampling_several_session_is_stopped(&all[0]);
	     i++)
		status = several_take_each(all, n, false, errs);
	if (status != STATUS_OK)
		return status;
	for (size_t i = 0; i < n; i++)
		sampling_session_begin_counting(&all[i]);
	do {
		status = several_take_each(all, n, true, errs);
		if (status != STATUS_OK)
			return status;
	} while (!sampling_several_all_have_enough(all, n));
	return several_end_of_all(all, n, errs);
}

static void several_begin_next(struct session *s, struct error *err)
{
	sampling_timer_begin(&s->timer, s->series->batch, err);
	sampling_timer_release(&s->timer, err);
	s->expected = clock_seconds() + EARLIEST * s->warm_seconds;
}

/*
 * Handles a finished sample: preheat, a counted one, or, if its session has enough, none. The last
 * kind is not reported as activity, so that the watchdog notices if another session hangs.
 */
static enum status sampling_several_end_sample(struct session *s, struct error *err)
{
	double seconds;

	if (sampling_timer_end(&s->timer, &seconds, err) != STATUS_OK)
		return err->status;
	if (s->preheats > 0) {
		activity_sampled(s->sampler->activity, 0);
		s->preheats = sampling_several_session_is_stopped(s) ? 0 : s->preheats - 1;
		if (s->preheats <= 0)
			sampling_session_begin_counting(s);
		return STATUS_OK;
	}
	if (!s->enough)
		sampling_session_count(s, seconds);
	if (!s->enough || sampling_several_session_is_stopped(s))
		s->enough = sampling_session_has_enough(s);
	return STATUS_OK;
}

/* Handles all finished samples, and starts the next sample of each session. */
static enum status several_look_round(struct session *all, size_t n, struct error *errs)
{
	bool waits = true;

	for (size_t i = 0; i < n; i++) {
		if (!sampling_timer_ended(&all[i].timer, &errs[i]))
			continue;
		waits = false;
		if (sampling_several_end_sample(&all[i], &errs[i]) != STATUS_OK)
			return errs[i].status;
		several_begin_next(&all[i], &errs[i]);
	}
	if (waits) {
		double next = all[0].expected, left;

		/* Sleeps while no sample is about to end, then polls without pause. */
		for (size_t i = 1; i < n; i++)
			next = fmin(next, all[i].expected);
		left = next - clock_seconds() - OVERSLEPT_SECONDS;
		if (left > 0)
			clock_sleep(left);
	}
	return STATUS_OK;
}

static enum status sampling_several_take_all_at_own_pace(struct session *all, size_t n,
							 struct error *errs)
{
	enum status status = STATUS_OK;
	struct error late = ERROR_NONE;
	size_t enough = 0;
	double unused;

	for (size_t i = 0; i < n; i++) {
		all[i].preheats = sampling_session_preheats(&all[i]);
		if (!(all[i].preheats > 0))
			sampling_session_begin_counting(&all[i]);
		several_begin_next(&all[i], &errs[i]);
	}
	while (status == STATUS_OK && enough < n) {
		status = several_look_round(all, n, errs);
		enough = 0;
		for (size_t i = 0; i < n; i++)
			enough += all[i].enough;
	}
	for (size_t i = 0; i < n; i++, error_clear(&late))
		sampling_timer_end(&all[i].timer, &unused, &late);
	return status == STATUS_OK ? several_end_of_all(all, n, errs) : status;
}

enum status sample_together(const struct sampler *samplers, const struct workload *workloads,
			    enum pace pace, struct series *const *series, size_t n,
			    struct error *errs)
{
	struct world alone = { .size = 1 };
	struct sampler *own = xcalloc(n, sizeof(*own));
	struct session *all = xcalloc(n, sizeof(*all));
	enum status status = STATUS_OK;
	size_t opened = 0;

	for (; opened < n && status == STATUS_OK; opened++) {
		own[opened] = samplers[opened];
		own[opened].world = &alone;
		status = sampling_session_open(&all[opened], &own[opened], &workloads[opened],
					       series[opened], &errs[opened]);
		if (status == STATUS_OK)
			status = sampling_session_warm_up(&all[opened], &errs[opened]);
	}
	if (status == STATUS_OK && pace == PACE_FREE_RUNNING)
		status = sampling_several_take_all_at_own_pace(all, n, errs);
	else if (status == STATUS_OK)
		status = sampling_several_take_all_together(all, n, errs);
	while (opened-- > 0)
		sampling_session_close(&all[opened]);
	free(own);
	free(all);
	return status;
}

/* Two interleaved workloads, and the series of their ratios, pair by pair. */
struct turns {
	struct session pair[2];
	struct stop_rule rule; /* stop rule of the ratio */
	struct series *ratio;
	bool ratio_enough;
};

/*
 * Takes one sample of each, in every other round the second one first, so that the order is
 * balanced.
 */
static enum status sampling_several_sample_both_once(struct turns *t, size_t round, bool counts,
						     struct error *err)
{
	double seconds[2];

	for (size_t i = 0; i < 2; i++) {
		size_t turn = (round + i) % 2;
		struct session *s = &t->pair[turn];

		if (sampling_timer_take(&s->timer, s->series->batch, &seconds[turn], err) !=
		    STATUS_OK)
			return err->status;
		if (!counts)
			activity_sampled(s->sampler->activity, 0);
	}
	for (size_t i = 0; i < 2 && counts; i++)
		sampling_session_count(&t->pair[i], seconds[i]);
	if (counts)
		sampling_series_add(t->ratio, seconds[0] / t->pair[0].series->batch /
						      (seconds[1] / t->pair[1].series->batch));
	return STATUS_OK;
}

static bool sampling_several_turns_have_enough(struct turns *t)
{
	bool each = sampling_several_all_have_enough(t->pair, 2);
	struct series *ratio = t->ratio;

	if (!t->ratio_enough) {
		struct stop_decision decision =
			stop_rule_decide(&t->rule, ratio->samples, ratio->count,
					 clock_seconds() - t->pair[0].began);

		sampling_series_drop_first(ratio, decision.drop);
		ratio->stop = decision.reason;
		ratio->unsettled = decision.unsettled;
		t->ratio_enough = decision.end;
	}
	return (each && t->ratio_enough) || t->pair[0].series->stop == STOP_INTERRUPTED ||
	       t->pair[1].series->stop == STOP_INTERRUPTED;
}

static enum status several_take_all_in_turns(struct turns *t, struct error *err)
{
	const struct workload *w = t->pair[0].w;
	size_t round = 0;

	sampling_session_begin_counting(&t->pair[0]);
	sampling_session_begin_counting(&t->pair[1]);
	stop_rule_begin(&t->rule, t->pair[0].sampler->rules, (size_t)w->min_samples);
	do {
		if (sampling_several_sample_both_once(t, round++, true, err) != STATUS_OK)
			return err->status;
	} while (!sampling_several_turns_have_enough(t));
	for (size_t i = 0; i < 2; i++)
		if (t->pair[i].series->stop == STOP_INTERRUPTED)
			return sampling_session_interrupted(&t->pair[i], err);
	return STATUS_OK;
}

enum status sample_interleaved(const struct sampler *sampler, const struct workload workloads[2],
			       struct series *const series[3], struct error *err)
{
	struct world alone = { .size = 1 };
	struct sampler own = *sampler;
	struct turns t = { .ratio = series[2] };
	enum status status = STATUS_OK;
	size_t opened = 0;
	double each;

	own.world = &alone;
	t.ratio->batch = 1;
	for (; opened < 2 && status == STATUS_OK; opened++) {
		status = sampling_session_open(&t.pair[opened], &own, &workloads[opened],
					       series[opened], err);
		if (status == STATUS_OK)
			status = sampling_session_warm_up(&t.pair[opened], err);
	}
	t.ratio->first = series[0]->first / series[1]->first;
	each = t.pair[0].warm_seconds + t.pair[1].warm_seconds;
	for (double i = 0;
	     status == STATUS_OK && each > 0 && !sampling_several_session_is_stopped(&t.pair[0]) &&
	     i < ceil(sampler->rules->preheat_seconds / each);
	     i++)
		status = sampling_several_sample_both_once(&t, (size_t)i, false, err);
	if (status == STATUS_OK)
		status = several_take_all_in_turns(&t, err);
	while (opened-- > 0)
		sampling_session_close(&t.pair[opened]);
	sampling_series_finish(t.ratio, 0);
	return status;
}

void reported_add(struct reported *reported, double value)
{
	ARRAY_GROW(reported->values, reported->count, reported->capacity);
	reported->values[reported->count++] = value;
}

/* Stores the first value separately: its call may load and compile what later ones reuse. */
static enum status sampling_several_reported_warm_up(struct session *s,
						     const struct reporter *reporter,
						     struct reported *reported, struct error *err)
{
	for (int64_t i = 0; i < s->sampler->rules->warmup; i++) {
		reported->count = 0;
		if (reporter->report(reporter->state, reported, err) != STATUS_OK)
			return err->status;
		activity_sampled(s->sampler->activity, 0);
		if (i == 0 && reported->count)
			s->series->first = reported->values[0];
		if (s->sampler->stop && *s->sampler->stop)
			return sampling_session_interrupted(s, err);
	}
	return STATUS_OK;
}

enum status sample_reports(const struct sampler *sampler, const struct reporter *reporter,
			   struct series *series, struct error *err)
{
	const struct workload untimed = { .clock = CLOCK_HOST };
	struct reported reported = { 0 };
	struct sampler own = *sampler;
	struct world alone = { .size = 1 };
	struct session s = { .sampler = &own, .w = &untimed, .series = series };
	enum status status;

	own.world = &alone;
	series->batch = 1;
	series->first = NAN;
	status = sampling_several_reported_warm_up(&s, reporter, &reported, err);
	sampling_session_begin_counting(&s);
	while (status == STATUS_OK) {
		reported.count = 0;
		status = reporter->report(reporter->state, &reported, err);
		if (status != STATUS_OK)
			break;
		for (size_t i = 0; i < reported.count; i++)
			sampling_session_count(&s, reported.values[i]);
		if (sampling_session_has_enough(&s))
			break;
	}
	if (status == STATUS_OK && series->stop == STOP_INTERRUPTED)
		status = sampling_session_interrupted(&s, err);
	/* The resolution of the reported values is unknown. */
	sampling_series_finish(series, 0);
	free(reported.values);
	return status;
}
