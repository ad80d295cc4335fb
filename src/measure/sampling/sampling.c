/* One workload: preheating, the samples until the stop rule ends them, and its energy. */
#include "measure/sampling/sampling.h"

#include <math.h>

#include "base/clock.h"
#include "measure/activity.h"
#include "measure/processes/world.h"
#include "measure/sampling/session.h"

/* Ranks look at the stop flag only where they agree about it, a single process here. */
static enum status preheat(struct session *s, struct error *err)
{
	const struct sampler *sampler = s->sampler;
	double count = session_preheats(s);
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

static enum status take_all(struct session *s, struct error *err)
{
	double seconds;

	session_begin_counting(s);
	do {
		enum status status = timer_take(&s->timer, s->series->batch, &seconds, err);

		if (status != STATUS_OK)
			return status;
		session_count(s, seconds);
	} while (!session_has_enough(s));
	return s->series->stop == STOP_INTERRUPTED ? session_interrupted(s, err) : STATUS_OK;
}

/* A sample of this length has no share of gaps that counts. */
#define ENERGY_SAMPLE_SECONDS 0.05

static enum status add_work(struct session *s, unsigned batch, struct work_energy *energy,
			    struct error *err)
{
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
	double largest = session_largest_batch(s), wanted, seconds;

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
static enum status work_for(struct session *s, unsigned batch, double seconds,
			    struct work_energy *energy, struct error *err)
{
	const struct sampler *sampler = s->sampler;
	double began = clock_seconds();
	bool enough;

	do {
		if (add_work(s, batch, energy, err) != STATUS_OK)
			break;
		enough = clock_seconds() - began >= seconds || (sampler->stop && *sampler->stop);
		world_broadcast(sampler->world, 0, &enough, sizeof(enough));
	} while (!enough);
	return err->status;
}

/* A failure of one rank ends the case before the others wait for its reading. */
static enum status measure_energy(struct session *s, struct error *err)
{
	const struct sampler *sampler = s->sampler;
	struct work_energy *energy = sampler->energy, uncounted = { .operations = 0 };
	struct energy_meter *meter;
	enum status status;
	unsigned batch;
	double after;

	if (!energy || !s->w->has_energy || !(sampler->rules->energy_seconds > 0))
		return STATUS_OK;
	*energy = (struct work_energy){ .operations = 0 };
	if (choose_energy_batch(s, &batch, err) != STATUS_OK)
		return err->status;
	if (sampler->energy_begins)
		sampler->energy_begins(sampler->energy_context);
	meter = energy_meter_begin(sampler->energy_devices, sampler->energy_device_count);
	status = work_for(s, batch, sampler->rules->energy_seconds, energy, err);
	energy_meter_read(meter);
	status = world_agree(sampler->world, status, err);
	after = status == STATUS_OK ? world_max(sampler->world, energy_meter_after_seconds(meter))
				    : 0;
	/* The counter's update at the end of the window is then of the same work. */
	if (after > 0) {
		status = work_for(s, batch, after, &uncounted, err);
		status = world_agree(sampler->world, status, err);
	}
	energy_meter_end(meter, status == STATUS_OK ? sampler->world : NULL, &energy->window);
	return status;
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
		status = session_warm_up(&s, err);
	if (status == STATUS_OK)
		status = preheat(&s, err);
	if (status == STATUS_OK)
		status = take_all(&s, err);
	if (status == STATUS_OK)
		status = measure_energy(&s, err);
	session_close(&s);
	return status;
}
