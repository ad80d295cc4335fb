/* Samples values that an operation reports itself. */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "measure/activity.h"
#include "measure/processes/world.h"
#include "measure/sampling/session.h"

void reported_add(struct reported *reported, double value)
{
	ARRAY_GROW(reported->values, reported->count, reported->capacity);
	reported->values[reported->count++] = value;
}

/* Stores the first value separately: its call may load and compile what later ones reuse. */
static enum status reported_warm_up(struct session *s, const struct reporter *reporter,
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
			return session_interrupted(s, err);
	}
	return STATUS_OK;
}

static enum status reported_sample_all(struct session *s, const struct reporter *reporter,
				       struct reported *reported, struct error *err)
{
	session_begin_counting(s);
	do {
		reported->count = 0;
		if (reporter->report(reporter->state, reported, err) != STATUS_OK)
			return err->status;
		for (size_t i = 0; i < reported->count; i++)
			session_count(s, reported->values[i]);
	} while (!session_has_enough(s));
	return s->series->stop == STOP_INTERRUPTED ? session_interrupted(s, err) : STATUS_OK;
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
	status = reported_warm_up(&s, reporter, &reported, err);
	if (status == STATUS_OK)
		status = reported_sample_all(&s, reporter, &reported, err);
	/* The resolution of the reported values is unknown. */
	series_finish(series, 0);
	free(reported.values);
	return status;
}
