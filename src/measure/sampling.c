/*
 * Warm-up, batch choice, the samples; when a series ends is stop_rule.c's business, a single sample
 * timer.c's.
 */
#include "measure/sampling.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/stats.h"
#include "measure/activity.h"
#include "measure/processes/world.h"
#include "measure/stop_rule.h"
#include "measure/timer.h"
#include "result/statistics.h"

#define LARGEST_BATCH 65536
/* Progress is for eyes. */
#define REPORT_SECONDS 0.1

struct session {
	struct timer timer;
	const struct sampler *sampler;
	const struct workload *w;
	struct series *series;
	struct stop_rule rule;
	double began;        /* host clock at the first counted sample */
	double next_report;  /* host clock */
	double warm_seconds; /* of the last sample of warm-up, in all ranks the slowest one's */
	bool enough;
};

static unsigned largest_batch(const struct session *s)
{
	unsigned commands = s->w->commands ? s->w->commands : 1;
	unsigned largest = s->w->max_batch ? s->w->max_batch : LARGEST_BATCH;

	if (s->timer.gated && largest > GATED_COMMANDS / commands)
		largest = GATED_COMMANDS / commands;
	return largest;
}

/*
 * The first operation ever. Never after the gate: a kernel is loaded when it is first launched, and
 * loading waits for the device, which the closed gate holds.
 */
static enum status take_first(struct session *s, double *seconds, struct error *err)
{
	bool gated = s->timer.gated;
	enum status status;

	s->timer.gated = false;
	status = timer_take(&s->timer, 1, seconds, err);
	s->timer.gated = gated;
	activity_sampled(s->sampler->activity, 0);
	s->series->first = status == STATUS_OK ? *seconds : NAN;
	return status;
}

/* Samples of preheating: all ranks take the same number. */
static double preheat_count(const struct session *s)
{
	return s->warm_seconds > 0 ? ceil(s->sampler->rules->preheat_seconds / s->warm_seconds) : 0;
}

/* Ranks look at the stop flag only where they agree about it, a single process here. */
static enum status preheat(struct session *s, struct error *err)
{
	const struct sampler *sampler = s->sampler;
	double count = preheat_count(s);
	bool alone = !sampler->world || sampler->world->size == 1;
	double taken;

	for (double i = 0; i < count; i++) {
		if (alone && sampler->stop && *sampler->stop)
			break;
		if (timer_take(&s->timer, s->series->batch, &taken, err) != STATUS_OK)
			break;
		activity_sampled(sampler->activity, 0);
	}
	return err->status;
}

/*
 * The cold first operation, warm-up, and the batch for which a sample lasts sample_seconds. The
 * first guess comes from a batch of one, which a launch dominates when the operation is short: so
 * guess again from larger batches.
 */
static enum status warm_up(struct session *s, struct error *err)
{
	const struct sampling *rules = s->sampler->rules;
	unsigned largest = largest_batch(s), batch = 1;
	double seconds;
	enum status status = take_first(s, &seconds, err);

	/* One at least: what the first took says nothing about the batch. */
	for (int64_t i = 0; i < (rules->warmup ? rules->warmup : 1) && status == STATUS_OK; i++)
		status = timer_take(&s->timer, 1, &seconds, err);
	if (s->w->min_batch > 1 && largest > 1 && status == STATUS_OK) {
		batch = s->w->min_batch < largest ? s->w->min_batch : largest;
		status = timer_take(&s->timer, batch, &seconds, err);
	}
	for (int guess = 0; guess < 4 && status == STATUS_OK && batch < largest; guess++) {
		double wanted = seconds > 0 ? rules->sample_seconds / seconds * batch : largest;

		if (seconds >= 0.9 * rules->sample_seconds)
			break;
		batch = wanted >= largest ? largest : (unsigned)ceil(wanted);
		status = timer_take(&s->timer, batch, &seconds, err);
		activity_sampled(s->sampler->activity, 0);
	}
	s->series->batch = batch;
	s->warm_seconds = seconds;
	return status;
}

/*
 * Ten digits are beyond any clock; a double's seventeen only say how it was divided, and make
 * result files twice as large and as slow to read. Powers of ten up to 22 are exact, so the
 * quotient is the double nearest to the decimal.
 */
static double ten_digits(double seconds)
{
	int places = seconds > 0 && isfinite(seconds) ? 9 - (int)floor(log10(seconds)) : -1;
	double scale;

	if (places < 0 || places > 22)
		return seconds;
	scale = pow(10, places);
	return rint(seconds * scale) / scale;
}

static void add_sample(struct series *series, double value)
{
	ARRAY_GROW(series->samples, series->count, series->capacity);
	series->samples[series->count++] = ten_digits(value);
}

/* The first samples turned out to be warm-up. */
static void drop_samples(struct series *series, size_t count)
{
	series->count -= count;
	series->warmup += count;
	memmove(series->samples, series->samples + count, series->count * sizeof(double));
}

/* Rank 0 decides whether to continue: clocks differ, and all ranks must stop at the same sample. */
static bool agreed_stop(struct session *s)
{
	struct series *series = s->series;
	struct stop_decision decision = stop_rule_decide(&s->rule, series->samples, series->count,
							 clock_seconds() - s->began);

	if (s->sampler->stop && *s->sampler->stop)
		decision = (struct stop_decision){ .end = true, .reason = STOP_INTERRUPTED };
	world_broadcast(s->sampler->world, 0, &decision, sizeof(decision));
	drop_samples(series, decision.drop);
	series->stop = decision.reason;
	series->unsettled = decision.unsettled;
	return decision.end;
}

/* The median of n samples costs more than many a sample: never after each of them. */
static void report_progress(struct session *s)
{
	const struct sampler *sampler = s->sampler;
	double now;

	if (!sampler->progress)
		return;
	now = clock_seconds();
	if (now < s->next_report)
		return;
	s->next_report = now + REPORT_SECONDS;
	sampler->progress(sampler->progress_context, s->series->count,
			  median_of(s->series->samples, s->series->count), s->rule.half_width);
}

static void begin_counting(struct session *s)
{
	stop_rule_begin(&s->rule, s->sampler->rules, (size_t)s->w->min_samples);
	s->began = clock_seconds();
	s->next_report = s->began + REPORT_SECONDS;
}

static void count(struct session *s, double seconds)
{
	activity_sampled(s->sampler->activity, 1);
	add_sample(s->series, seconds / s->series->batch);
	report_progress(s);
}

static enum status interrupted(const struct session *s, struct error *err)
{
	return error_set(err, STATUS_INTERRUPTED, "interrupted after %zu samples",
			 s->series->count);
}

static enum status take_all(struct session *s, struct error *err)
{
	double seconds;

	begin_counting(s);
	do {
		enum status status = timer_take(&s->timer, s->series->batch, &seconds, err);

		if (status != STATUS_OK)
			return status;
		count(s, seconds);
	} while (!agreed_stop(s));
	return s->series->stop == STOP_INTERRUPTED ? interrupted(s, err) : STATUS_OK;
}

/* A sample of this length has no share of gaps that counts. */
#define ENERGY_SAMPLE_SECONDS 0.05

static enum status add_work(struct session *s, unsigned batch, struct error *err)
{
	struct work_energy *energy = s->sampler->energy;
	double seconds;

	if (timer_take(&s->timer, batch, &seconds, err) != STATUS_OK)
		return err->status;
	activity_sampled(s->sampler->activity, 0);
	energy->busy_seconds += seconds;
	energy->operations += batch;
	return STATUS_OK;
}

/* Before the window: a batch as long as ENERGY_SAMPLE_SECONDS, the same in all ranks. */
static enum status choose_energy_batch(struct session *s, unsigned *batch, struct error *err)
{
	double largest = largest_batch(s), wanted, seconds;

	*batch = s->series->batch;
	if (timer_take(&s->timer, *batch, &seconds, err) != STATUS_OK || !(seconds > 0))
		return err->status;
	wanted = fmin(ceil(ENERGY_SAMPLE_SECONDS / seconds) * *batch, largest);
	if (wanted <= *batch)
		return STATUS_OK;
	/* Untimed: what is made for one batch (a graph) is made for this one. */
	*batch = (unsigned)wanted;
	return timer_take(&s->timer, *batch, &seconds, err);
}

/* Rank 0's clock decides when it is enough. */
static enum status work_for_energy(struct session *s, unsigned batch, struct error *err)
{
	const struct sampler *sampler = s->sampler;
	double began = clock_seconds();
	bool enough;

	do {
		if (add_work(s, batch, err) != STATUS_OK)
			break;
		enough = clock_seconds() - began >= sampler->rules->energy_seconds ||
			 (sampler->stop && *sampler->stop);
		world_broadcast(sampler->world, 0, &enough, sizeof(enough));
	} while (!enough);
	return err->status;
}

/* A failure of one rank ends the case before the others wait for its reading. */
static enum status measure_energy(struct session *s, struct error *err)
{
	const struct sampler *sampler = s->sampler;
	struct work_energy *energy = sampler->energy;
	struct energy_meter *meter;
	enum status status;
	unsigned batch;

	if (!energy || !s->w->has_energy || !(sampler->rules->energy_seconds > 0))
		return STATUS_OK;
	*energy = (struct work_energy){ .operations = 0 };
	if (choose_energy_batch(s, &batch, err) != STATUS_OK)
		return err->status;
	if (sampler->energy_begins)
		sampler->energy_begins(sampler->energy_context);
	meter = energy_meter_begin(sampler->energy_devices, sampler->energy_device_count);
	status = work_for_energy(s, batch, err);
	energy_meter_read(meter);
	if (sampler->world->size > 1)
		status = world_agree(sampler->world, status, err);
	energy_meter_end(meter, status == STATUS_OK ? sampler->world : NULL, &energy->window);
	return status;
}

static enum status session_open(struct session *s, const struct sampler *sampler,
				const struct workload *workload, struct series *series,
				struct error *err)
{
	*s = (struct session){ .sampler = sampler, .w = workload, .series = series };
	series->batch = 1;
	series->first = NAN;
	return timer_open(&s->timer, sampler, workload, err);
}

/* In front of what else is said about the noise. */
static void note_unsettled(struct statistics *s)
{
	char noise[sizeof(s->noise)];

	snprintf(noise, sizeof(noise), "not settled%s%.80s", s->noisy ? ", " : "", s->noise);
	memcpy(s->noise, noise, sizeof(noise));
	s->noisy = true;
}

static void session_close(struct session *s)
{
	struct series *series = s->series;

	timer_close(&s->timer);
	statistics_compute(series->samples, series->count, series->batch,
			   timer_tick(&s->timer) / series->batch, NULL, &series->statistics);
	if (series->unsettled)
		note_unsettled(&series->statistics);
}

enum status sample(const struct sampler *sampler, const struct workload *workload,
		   struct series *series, struct error *err)
{
	struct world alone = { .size = 1 };
	struct sampler own = *sampler;
	struct workload agreed = *workload;
	struct session s;
	enum status status;

	if (!own.world)
		own.world = &alone;
	/*
	 * Ranks may have different parts of one operation; they need the same gate and the same
	 * batch.
	 */
	agreed.commands = (unsigned)world_max(own.world, workload->commands);
	status = session_open(&s, &own, &agreed, series, err);
	if (status == STATUS_OK)
		status = warm_up(&s, err);
	if (status == STATUS_OK)
		status = preheat(&s, err);
	if (status == STATUS_OK)
		status = take_all(&s, err);
	if (status == STATUS_OK)
		status = measure_energy(&s, err);
	session_close(&s);
	return status;
}

/* One sample of each: all gates open when the last batch is enqueued. */
static enum status take_each(struct session *all, size_t n, bool counts, struct error *errs)
{
	enum status first = STATUS_OK;
	double seconds;

	for (size_t i = 0; i < n; i++)
		timer_begin(&all[i].timer, all[i].series->batch, &errs[i]);
	for (size_t i = 0; i < n; i++)
		timer_release(&all[i].timer, &errs[i]);
	for (size_t i = 0; i < n; i++) {
		enum status status = timer_end(&all[i].timer, &seconds, &errs[i]);

		if (status != STATUS_OK)
			first = first == STATUS_OK ? status : first;
		else if (counts)
			count(&all[i], seconds);
		else
			activity_sampled(all[i].sampler->activity, 0);
	}
	return first;
}

/* At the same time: one that waits for the others would cool down again. */
static enum status preheat_together(struct session *all, size_t n, struct error *errs)
{
	enum status status = STATUS_OK;
	double rounds = 0;

	for (size_t i = 0; i < n; i++)
		rounds = fmax(rounds, preheat_count(&all[i]));
	for (double i = 0; i < rounds && status == STATUS_OK; i++) {
		if (all[0].sampler->stop && *all[0].sampler->stop)
			break;
		status = take_each(all, n, false, errs);
	}
	return status;
}

/* All ranks continue until the last one has enough samples; its stop reason is the group's. */
static bool all_have_enough(struct session *all, size_t n)
{
	bool every = true;

	for (size_t i = 0; i < n; i++) {
		struct session *s = &all[i];

		if (s->enough && !(s->sampler->stop && *s->sampler->stop))
			continue;
		s->enough = agreed_stop(s);
		every = every && s->enough;
	}
	return every;
}

static enum status take_all_together(struct session *all, size_t n, struct error *errs)
{
	for (size_t i = 0; i < n; i++)
		begin_counting(&all[i]);
	do {
		enum status status = take_each(all, n, true, errs);

		if (status != STATUS_OK)
			return status;
	} while (!all_have_enough(all, n));
	for (size_t i = 0; i < n; i++)
		if (all[i].series->stop == STOP_INTERRUPTED)
			return interrupted(&all[i], &errs[i]);
	return STATUS_OK;
}

enum status sample_together(const struct sampler *samplers, const struct workload *workloads,
			    struct series *const *series, size_t n, struct error *errs)
{
	struct world alone = { .size = 1 };
	struct sampler *own = xcalloc(n, sizeof(*own));
	struct session *all = xcalloc(n, sizeof(*all));
	enum status status = STATUS_OK;
	size_t opened = 0;

	for (; opened < n && status == STATUS_OK; opened++) {
		own[opened] = samplers[opened];
		own[opened].world = &alone;
		status = session_open(&all[opened], &own[opened], &workloads[opened],
				      series[opened], &errs[opened]);
		if (status == STATUS_OK)
			status = warm_up(&all[opened], &errs[opened]);
	}
	if (status == STATUS_OK)
		status = preheat_together(all, n, errs);
	if (status == STATUS_OK)
		status = take_all_together(all, n, errs);
	while (opened-- > 0)
		session_close(&all[opened]);
	free(own);
	free(all);
	return status;
}

/* Two workloads in turns, and the series of their ratios, pair by pair. */
struct turns {
	struct session pair[2];
	struct stop_rule rule; /* of the ratio */
	struct series *ratio;
	bool ratio_enough;
};

/* One sample of each, in every other round the second one first: no side always follows. */
static enum status take_turn(struct turns *t, size_t round, bool counts, struct error *err)
{
	double seconds[2];

	for (size_t i = 0; i < 2; i++) {
		size_t turn = (round + i) % 2;
		struct session *s = &t->pair[turn];

		if (timer_take(&s->timer, s->series->batch, &seconds[turn], err) != STATUS_OK)
			return err->status;
		if (!counts)
			activity_sampled(s->sampler->activity, 0);
	}
	for (size_t i = 0; i < 2 && counts; i++)
		count(&t->pair[i], seconds[i]);
	if (counts)
		add_sample(t->ratio, seconds[0] / t->pair[0].series->batch /
					     (seconds[1] / t->pair[1].series->batch));
	return STATUS_OK;
}

static enum status preheat_in_turns(struct turns *t, struct error *err)
{
	const struct sampler *sampler = t->pair[0].sampler;
	double each = t->pair[0].warm_seconds + t->pair[1].warm_seconds;
	double rounds = each > 0 ? ceil(sampler->rules->preheat_seconds / each) : 0;

	for (double i = 0; i < rounds && !(sampler->stop && *sampler->stop); i++)
		if (take_turn(t, (size_t)i, false, err) != STATUS_OK)
			break;
	return err->status;
}

static bool turns_have_enough(struct turns *t)
{
	bool each = all_have_enough(t->pair, 2);
	struct series *ratio = t->ratio;

	if (!t->ratio_enough) {
		struct stop_decision decision =
			stop_rule_decide(&t->rule, ratio->samples, ratio->count,
					 clock_seconds() - t->pair[0].began);

		drop_samples(ratio, decision.drop);
		ratio->stop = decision.reason;
		ratio->unsettled = decision.unsettled;
		t->ratio_enough = decision.end;
	}
	return (each && t->ratio_enough) || t->pair[0].series->stop == STOP_INTERRUPTED ||
	       t->pair[1].series->stop == STOP_INTERRUPTED;
}

static enum status take_all_in_turns(struct turns *t, struct error *err)
{
	const struct workload *w = t->pair[0].w;
	size_t round = 0;

	begin_counting(&t->pair[0]);
	begin_counting(&t->pair[1]);
	stop_rule_begin(&t->rule, t->pair[0].sampler->rules, (size_t)w->min_samples);
	do {
		if (take_turn(t, round++, true, err) != STATUS_OK)
			return err->status;
	} while (!turns_have_enough(t));
	for (size_t i = 0; i < 2; i++)
		if (t->pair[i].series->stop == STOP_INTERRUPTED)
			return interrupted(&t->pair[i], err);
	return STATUS_OK;
}

enum status sample_in_turns(const struct sampler *sampler, const struct workload workloads[2],
			    struct series *const series[3], struct error *err)
{
	struct world alone = { .size = 1 };
	struct sampler own = *sampler;
	struct turns t = { .ratio = series[2] };
	enum status status = STATUS_OK;
	size_t opened = 0;

	own.world = &alone;
	t.ratio->batch = 1;
	for (; opened < 2 && status == STATUS_OK; opened++) {
		status = session_open(&t.pair[opened], &own, &workloads[opened], series[opened],
				      err);
		if (status == STATUS_OK)
			status = warm_up(&t.pair[opened], err);
	}
	t.ratio->first = series[0]->first / series[1]->first;
	if (status == STATUS_OK)
		status = preheat_in_turns(&t, err);
	if (status == STATUS_OK)
		status = take_all_in_turns(&t, err);
	while (opened-- > 0)
		session_close(&t.pair[opened]);
	statistics_compute(t.ratio->samples, t.ratio->count, 1, 0, NULL, &t.ratio->statistics);
	if (t.ratio->unsettled)
		note_unsettled(&t.ratio->statistics);
	return status;
}
