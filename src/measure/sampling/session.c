/* Warm-up, batch choice, and what one sample adds; a single sample is timer.c's business. */
#include "measure/sampling/session.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/stats.h"
#include "measure/activity.h"
#include "measure/processes/world.h"
#include "result/statistics.h"

#define LARGEST_BATCH 65536
/* Progress is for eyes. */
#define REPORT_SECONDS 0.1

unsigned session_largest_batch(const struct session *s)
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

double session_preheats(const struct session *s)
{
	return s->warm_seconds > 0 ? ceil(s->sampler->rules->preheat_seconds / s->warm_seconds) : 0;
}

/*
 * The first guess of the batch comes from a batch of one, which a launch dominates when the
 * operation is short: so guess again from larger batches.
 */
enum status session_warm_up(struct session *s, struct error *err)
{
	const struct sampling *rules = s->sampler->rules;
	unsigned largest = session_largest_batch(s), batch = 1;
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

void series_add(struct series *series, double value)
{
	ARRAY_GROW(series->samples, series->count, series->capacity);
	series->samples[series->count++] = ten_digits(value);
}

void series_drop_first(struct series *series, size_t count)
{
	series->count -= count;
	series->warmup += count;
	memmove(series->samples, series->samples + count, series->count * sizeof(double));
}

/* Rank 0 decides whether to continue: clocks differ, and all ranks must stop at the same sample. */
bool session_has_enough(struct session *s)
{
	struct series *series = s->series;
	struct stop_decision decision = stop_rule_decide(&s->rule, series->samples, series->count,
							 clock_seconds() - s->began);

	if (s->sampler->stop && *s->sampler->stop)
		decision = (struct stop_decision){ .end = true, .reason = STOP_INTERRUPTED };
	world_broadcast(s->sampler->world, 0, &decision, sizeof(decision));
	series_drop_first(series, decision.drop);
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

void session_begin_counting(struct session *s)
{
	stop_rule_begin(&s->rule, s->sampler->rules, (size_t)s->w->min_samples);
	s->began = clock_seconds();
	s->next_report = s->began + REPORT_SECONDS;
}

void session_count(struct session *s, double seconds)
{
	activity_sampled(s->sampler->activity, 1);
	series_add(s->series, seconds / s->series->batch);
	report_progress(s);
}

enum status session_interrupted(const struct session *s, struct error *err)
{
	return error_set(err, STATUS_INTERRUPTED, "interrupted after %zu samples",
			 s->series->count);
}

enum status session_open(struct session *s, const struct sampler *sampler,
			 const struct workload *workload, struct series *series, struct error *err)
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

void series_finish(struct series *series, double tick)
{
	statistics_compute(series->samples, series->count, series->batch, tick / series->batch,
			   NULL, &series->statistics);
	if (series->unsettled)
		note_unsettled(&series->statistics);
}

void session_close(struct session *s)
{
	timer_close(&s->timer);
	series_finish(s->series, timer_tick(&s->timer));
}
