/*
 * Several devices at the same time, each at its own pace: scripted devices, whose time moves when
 * the host waits for one or looks at it in vain, and which know how long they had nothing to do.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/memory.h"
#include "kernels/generator.h"
#include "measure/activity.h"
#include "measure/sampling/sampling.h"

#define LOOK 10e-6 /* by which time moves when the host looks in vain */
#define DEVICES 2

static double now;

struct machine {
	struct device device;
	struct stream stream, *streams[1];
	double seconds; /* of one operation */
	double spread;  /* relative */
	double busy_until, rested, worked;
	uint64_t launches, fail_at, stop_at; /* launch number; 0: never */
	volatile sig_atomic_t *stop;
	struct activity activity;
};

struct moment {
	struct event event;
	double at;
};

static struct machine *machine_of(struct device *device)
{
	return (struct machine *)((char *)device - offsetof(struct machine, device));
}

static enum status event_create(struct device *device, struct event **out, struct error *err)
{
	struct moment *m = xcalloc(1, sizeof(*m));

	(void)err;
	m->event.device = device;
	*out = &m->event;
	return STATUS_OK;
}

static void event_destroy(struct event *event)
{
	free(event);
}

static enum status event_record(struct event *event, struct stream *stream, struct error *err)
{
	(void)err;
	((struct moment *)event)->at = fmax(now, machine_of(stream->device)->busy_until);
	return STATUS_OK;
}

static enum status event_synchronize(struct event *event, struct error *err)
{
	(void)err;
	now = fmax(now, ((struct moment *)event)->at);
	return STATUS_OK;
}

static enum status event_reached(struct event *event, bool *out, struct error *err)
{
	(void)err;
	*out = now >= ((struct moment *)event)->at;
	now += *out ? 0 : LOOK;
	return STATUS_OK;
}

static enum status event_elapsed(struct event *start, struct event *end, double *seconds,
				 struct error *err)
{
	(void)err;
	*seconds = ((struct moment *)end)->at - ((struct moment *)start)->at;
	return STATUS_OK;
}

static const struct backend scripted = { .abi = BACKEND_ABI,
					 .name = "scripted",
					 .module = "test",
					 .event_create = event_create,
					 .event_destroy = event_destroy,
					 .event_record = event_record,
					 .event_synchronize = event_synchronize,
					 .event_reached = event_reached,
					 .event_elapsed = event_elapsed };

static enum status launch(void *state, unsigned batch, struct error *err)
{
	struct machine *m = state;
	double begin = fmax(now, m->busy_until);
	double seconds =
		m->seconds * batch * (1 + m->spread * (double)generator_uniform(42, m->launches));

	m->launches++;
	if (m->launches == m->fail_at)
		return error_set(err, STATUS_DEVICE, "scripted failure");
	if (m->stop && m->launches == m->stop_at)
		*m->stop = 1;
	m->rested += begin - m->busy_until;
	m->worked += seconds;
	m->busy_until = begin + seconds;
	return STATUS_OK;
}

static const struct sampling rules = { .min_samples = 10,
				       .max_samples = 400,
				       .target = 0.005,
				       .max_seconds = 5,
				       .sample_seconds = 1e-3,
				       .warmup = 2 };

struct outcome {
	enum status status;
	struct series series[DEVICES];
	struct error errs[DEVICES];
};

static void machines_init(struct machine *machines)
{
	now = 0;
	for (int i = 0; i < DEVICES; i++) {
		struct machine *m = &machines[i];

		*m = (struct machine){ .seconds = 2e-3, .spread = 1e-3 };
		m->device.backend = &scripted;
		m->stream.device = &m->device;
		m->streams[0] = &m->stream;
	}
}

static struct outcome run(struct machine *machines, const struct sampling *by, enum pace pace)
{
	struct outcome o = { 0 };
	struct series *series[DEVICES];
	struct sampler samplers[DEVICES];
	struct workload workloads[DEVICES];

	for (int i = 0; i < DEVICES; i++) {
		struct machine *m = &machines[i];

		series[i] = &o.series[i];
		samplers[i] = (struct sampler){
			.rules = by, .device = &m->device, .activity = &m->activity, .stop = m->stop
		};
		workloads[i] = (struct workload){
			.state = m, .launch = launch, .streams = m->streams, .stream_count = 1
		};
	}
	o.status = sample_together(samplers, workloads, pace, series, DEVICES, o.errs);
	return o;
}

static void outcome_release(struct outcome *o)
{
	for (int i = 0; i < DEVICES; i++) {
		free(o->series[i].samples);
		error_clear(&o->errs[i]);
	}
}

/* Part of its time in which a device had nothing to do, from its first work to the end. */
static double rest(const struct machine *m)
{
	return m->rested / (m->rested + m->worked);
}

/* A device that rests between samples is faster under a power limit than one that does not. */
static void no_device_rests_at_its_own_pace(void **state)
{
	struct machine machines[DEVICES];
	struct outcome o;

	(void)state;
	machines_init(machines);
	machines[0].seconds = 1e-3;
	o = run(machines, &rules, PACE_COMMON);
	assert_int_equal(o.status, STATUS_OK);
	assert_true(rest(&machines[0]) > 0.4);
	outcome_release(&o);

	machines_init(machines);
	machines[0].seconds = 1e-3;
	o = run(machines, &rules, PACE_FREE_RUNNING);
	assert_int_equal(o.status, STATUS_OK);
	for (int i = 0; i < DEVICES; i++) {
		/* While the others warm up, and then until the host looks. */
		assert_true(machines[i].rested < 0.02 + 2 * LOOK * (double)machines[i].launches);
		assert_true(fabs(o.series[i].statistics.median / machines[i].seconds - 1) < 5e-3);
	}
	outcome_release(&o);
}

/* One that has enough works on, untimed, so that the other is measured as it began. */
static void who_has_enough_works_on_uncounted(void **state)
{
	struct machine machines[DEVICES];
	struct outcome o;
	size_t counted;

	(void)state;
	machines_init(machines);
	machines[1].spread = 0.2;
	o = run(machines, &rules, PACE_FREE_RUNNING);
	assert_int_equal(o.status, STATUS_OK);
	counted = o.series[0].count + o.series[0].warmup;
	assert_true(counted < o.series[1].count / 2);
	assert_true(fabs((double)machines[0].launches / (double)machines[1].launches - 1) < 0.2);
	assert_int_equal(machines[0].activity.samples, counted);
	/* Its work without samples is no activity: if the other hangs, the watchdog notices. */
	assert_true(machines[0].activity.steps < counted + 20);
	outcome_release(&o);
}

static void each_preheats_as_long_as_it_takes(void **state)
{
	struct sampling hot = rules;
	struct machine machines[DEVICES];
	struct outcome o;

	(void)state;
	hot.preheat_seconds = 0.1;
	machines_init(machines);
	machines[0].seconds = 1e-3;
	o = run(machines, &hot, PACE_FREE_RUNNING);
	assert_int_equal(o.status, STATUS_OK);
	for (int i = 0; i < DEVICES; i++)
		assert_true(machines[i].activity.steps - machines[i].activity.samples >=
			    (uint64_t)(0.09 / machines[i].seconds));
	outcome_release(&o);
}

static void a_failure_of_one_ends_all(void **state)
{
	struct machine machines[DEVICES];
	struct outcome o;

	(void)state;
	machines_init(machines);
	machines[1].spread = 0.2;
	machines[1].fail_at = 30;
	o = run(machines, &rules, PACE_FREE_RUNNING);
	assert_int_equal(o.status, STATUS_DEVICE);
	assert_int_equal(o.errs[0].status, STATUS_OK);
	assert_string_equal(o.errs[1].message, "scripted failure");
	assert_true(o.series[0].count > 0 && o.series[1].count > 0);
	outcome_release(&o);
}

/* Also one that had enough before. */
static void an_interruption_ends_all(void **state)
{
	volatile sig_atomic_t stop = 0;
	struct machine machines[DEVICES];
	struct outcome o;

	(void)state;
	machines_init(machines);
	machines[1].spread = 0.2;
	machines[1].stop_at = 100;
	machines[0].stop = machines[1].stop = &stop;
	o = run(machines, &rules, PACE_FREE_RUNNING);
	assert_int_equal(o.status, STATUS_INTERRUPTED);
	assert_int_equal(o.series[1].stop, STOP_INTERRUPTED);
	assert_true(machines[1].launches < 105);
	outcome_release(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_device_rests_at_its_own_pace),
		cmocka_unit_test(who_has_enough_works_on_uncounted),
		cmocka_unit_test(each_preheats_as_long_as_it_takes),
		cmocka_unit_test(a_failure_of_one_ends_all),
		cmocka_unit_test(an_interruption_ends_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
