/*
 * Sampling against a scripted device: its events read a clock that only the workload moves, so
 * every time, batch and stop decision is known in advance.
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
#include "measure/processes/world.h"
#include "measure/sampling/sampling.h"
#include "measure/sampling/session.h"
#include "result/statistics.h"

/* The scripted device: one clock, one gate. */
static double now;
static int gates_closed, gates_opened, events_alive;

struct fake_event {
	struct event event;
	double at;
};

static enum status event_create(struct device *device, struct event **out, struct error *err)
{
	struct fake_event *e = xcalloc(1, sizeof(*e));

	(void)err;
	e->event.device = device;
	*out = &e->event;
	events_alive++;
	return STATUS_OK;
}

static void event_destroy(struct event *event)
{
	events_alive--;
	free(event);
}

/* Streams in addition to the first one, whose time is `now`; and when each of them is idle. */
static struct stream side_streams[2];
static double side_idle[2];

static double *idle_at(const struct stream *stream)
{
	for (size_t i = 0; i < ARRAY_SIZE(side_streams); i++)
		if (stream == &side_streams[i])
			return &side_idle[i];
	return &now;
}

static enum status event_record(struct event *event, struct stream *stream, struct error *err)
{
	(void)err;
	((struct fake_event *)event)->at = *idle_at(stream);
	return STATUS_OK;
}

static enum status event_synchronize(struct event *event, struct error *err)
{
	(void)event;
	(void)err;
	return STATUS_OK;
}

static enum status event_elapsed(struct event *start, struct event *end, double *seconds,
				 struct error *err)
{
	(void)err;
	*seconds = ((struct fake_event *)end)->at - ((struct fake_event *)start)->at;
	return STATUS_OK;
}

static enum status stream_wait(struct stream *stream, struct event *event, struct error *err)
{
	double *idle = idle_at(stream);

	(void)err;
	*idle = fmax(*idle, ((struct fake_event *)event)->at);
	return STATUS_OK;
}

static enum status gate_close(struct stream *stream, double timeout, struct error *err)
{
	(void)stream;
	(void)timeout;
	(void)err;
	gates_closed++;
	return STATUS_OK;
}

static enum status gate_open(struct stream *stream, struct error *err)
{
	(void)stream;
	(void)err;
	gates_opened++;
	return STATUS_OK;
}

static const struct backend scripted = {
	.abi = BACKEND_ABI,
	.name = "scripted",
	.module = "test",
	.event_create = event_create,
	.event_destroy = event_destroy,
	.event_record = event_record,
	.event_synchronize = event_synchronize,
	.event_elapsed = event_elapsed,
	.stream_wait = stream_wait,
	.gate_close = gate_close,
	.gate_open = gate_open,
};

static struct device device = { .backend = &scripted };
static struct stream stream = { .device = &device };
static struct stream *streams[] = { &stream };

/* The scripted workload. */
struct script {
	double seconds; /* of one operation */
	double spread;  /* relative, uniform */
	double step;    /* relative, every other launch: two modes */
	double walk;    /* relative drift per launch: correlated samples that never settle */
	double cold;    /* launches in which the level comes down from twice as much */
	uint64_t launches;
	unsigned last_batch;
	unsigned sized_for; /* the batch that resize() was last told */
	int prepared, finished, aligned;
	bool first_was_gated;
	int fail_at; /* launch number; 0: never */
	volatile sig_atomic_t *stop;
	uint64_t stop_at;
	const double *level; /* that several scripts follow; NULL: none */
	char name;           /* what it adds to `order`, unless 0 */
};

/* Names of the scripts that were launched, in order. */
static char order[4096];
static size_t ordered;

static enum status launch(void *state, unsigned batch, struct error *err)
{
	struct script *s = state;

	if (s->launches++ == 0)
		s->first_was_gated = gates_closed > gates_opened;
	s->last_batch = batch;
	if (s->sized_for)
		assert_int_equal(batch, s->sized_for);
	if (s->fail_at && s->launches == (uint64_t)s->fail_at)
		return error_set(err, STATUS_DEVICE, "scripted failure");
	if (s->stop && s->launches == s->stop_at)
		*s->stop = 1;
	if (s->name && ordered + 1 < sizeof(order))
		order[ordered++] = s->name;
	now += s->seconds * batch * (s->level ? 1 + 0.3 * sin(now / *s->level) : 1) *
	       (1 + s->spread * (double)generator_uniform(42, s->launches) +
		s->step * (double)(s->launches % 2) + s->walk * (double)s->launches +
		fmax(0, s->cold - (double)s->launches) / fmax(1, s->cold));
	return STATUS_OK;
}

static enum status prepare(void *state, struct error *err)
{
	(void)err;
	((struct script *)state)->prepared++;
	return STATUS_OK;
}

static enum status resize(void *state, unsigned batch, struct error *err)
{
	struct script *s = state;

	(void)err;
	assert_int_not_equal(batch, s->sized_for);
	assert_int_equal(s->prepared, s->finished);
	s->sized_for = batch;
	return STATUS_OK;
}

/* As if another rank came a millisecond later. */
static enum status align(void *state, struct error *err)
{
	struct script *s = state;

	(void)err;
	s->aligned++;
	now += 1e-3;
	return STATUS_OK;
}

static enum status finish(void *state, struct error *err)
{
	(void)err;
	((struct script *)state)->finished++;
	return STATUS_OK;
}

static const struct sampling rules = {
	.min_samples = 10,
	.max_samples = 400,
	.target = 0.005,
	.max_seconds = 5,
	.sample_seconds = 1e-3,
	.warmup = 2,
};

static enum status run_by(const struct sampling *by, struct script *script, struct workload w,
			  struct series *series, struct error *err)
{
	struct sampler sampler = { .rules = by, .device = &device, .stop = script->stop };

	w.state = script;
	w.launch = launch;
	w.prepare = prepare;
	w.finish = finish;
	w.streams = streams;
	w.stream_count = 1;
	memset(series, 0, sizeof(*series));
	gates_closed = gates_opened = 0;
	return sample(&sampler, &w, series, err);
}

static enum status run(struct script *script, struct workload w, struct series *series,
		       struct error *err)
{
	return run_by(&rules, script, w, series, err);
}

static void a_steady_workload_stops_at_the_minimum(void **state)
{
	struct script script = { .seconds = 10e-6, .spread = 1e-3 };
	struct error err = ERROR_NONE;
	struct series series;

	(void)state;
	assert_int_equal(run(&script, (struct workload){ 0 }, &series, &err), STATUS_OK);
	assert_int_equal(series.count, 10);
	assert_int_equal(series.stop, STOP_CONVERGED);
	assert_true(fabs(series.statistics.median / 10e-6 - 1) < 2e-3);
	/* A sample lasts a millisecond: a hundred operations of ten microseconds. */
	assert_in_range(series.batch, 99, 101);
	assert_int_equal(script.prepared, (int)script.launches);
	assert_int_equal(script.finished, (int)script.launches);
	assert_int_equal(gates_closed, gates_opened);
	/* All but the first: it may load the kernel, which waits for the device. */
	assert_int_equal(gates_closed, (int)script.launches - 1);
	assert_false(script.first_was_gated);
	assert_int_equal(events_alive, 0);
	free(series.samples);
}

/* Work of 50 ms in batches of a millisecond, none of it a sample. */
static void preheating_is_work_that_does_not_count(void **state)
{
	struct script cold = { .seconds = 10e-6, .spread = 1e-3 }, hot = cold;
	struct sampling preheated = rules;
	struct error err = ERROR_NONE;
	struct series series;

	(void)state;
	preheated.preheat_seconds = 0.05;
	assert_int_equal(run(&cold, (struct workload){ 0 }, &series, &err), STATUS_OK);
	free(series.samples);
	assert_int_equal(run_by(&preheated, &hot, (struct workload){ 0 }, &series, &err),
			 STATUS_OK);
	assert_int_equal(series.count, 10);
	assert_in_range(hot.launches, cold.launches + 49, cold.launches + 51);
	free(series.samples);
}

/* Data made for one batch are made anew, between samples, before the first one with another. */
static void a_workload_is_told_of_another_batch(void **state)
{
	struct script script = { .seconds = 10e-6 };
	struct error err = ERROR_NONE;
	struct series series;

	(void)state;
	assert_int_equal(run(&script, (struct workload){ .resize = resize }, &series, &err),
			 STATUS_OK);
	assert_int_equal(script.sized_for, series.batch);
	assert_int_equal(script.last_batch, series.batch);
	free(series.samples);
}

/* Before every sample, and never in one. */
static void waiting_for_other_ranks_is_not_timed(void **state)
{
	struct script script = { .seconds = 10e-6 };
	struct error err = ERROR_NONE;
	struct series series;

	(void)state;
	assert_int_equal(run(&script, (struct workload){ .align = align }, &series, &err),
			 STATUS_OK);
	assert_int_equal(script.aligned, (int)script.launches);
	assert_true(fabs(series.statistics.median / 10e-6 - 1) < 1e-6);
	free(series.samples);
}

/* Batches of 20 ms each, where one would be long enough; the queue's limit comes first. */
static void operations_that_run_on_are_sampled_together(void **state)
{
	struct script script = { .seconds = 20e-3 };
	struct error err = ERROR_NONE;
	struct series series;

	(void)state;
	assert_int_equal(run(&script, (struct workload){ .min_batch = 4 }, &series, &err),
			 STATUS_OK);
	assert_int_equal(series.batch, 4);
	assert_true(fabs(series.statistics.median - 20e-3) < 1e-9);
	free(series.samples);
	assert_int_equal(run(&script, (struct workload){ .min_batch = 4, .commands = 200 }, &series,
			     &err),
			 STATUS_OK);
	assert_int_equal(series.batch, 2);
	free(series.samples);
	script.seconds = 1e-5;
	assert_int_equal(run(&script, (struct workload){ .min_batch = 4 }, &series, &err),
			 STATUS_OK);
	assert_in_range(series.batch, 99, 101);
	free(series.samples);
}

static void a_gated_batch_fits_the_queue(void **state)
{
	struct script script = { .seconds = 50e-9 };
	struct error err = ERROR_NONE;
	struct series series;

	(void)state;
	assert_int_equal(run(&script, (struct workload){ .commands = 4 }, &series, &err),
			 STATUS_OK);
	assert_int_equal(series.batch, 128);
	free(series.samples);
	assert_int_equal(run(&script, (struct workload){ .no_gate = true }, &series, &err),
			 STATUS_OK);
	assert_in_range(series.batch, 19000, 21000);
	assert_int_equal(gates_closed, 0);
	free(series.samples);
	assert_int_equal(run(&script, (struct workload){ .commands = 5000 }, &series, &err),
			 STATUS_OK);
	assert_int_equal(gates_closed, 0);
	free(series.samples);
}

static void latency_keeps_single_operations_and_its_minimum(void **state)
{
	struct script script = { .seconds = 2e-6, .spread = 1e-4 };
	struct error err = ERROR_NONE;
	struct series series;

	(void)state;
	assert_int_equal(run(&script, (struct workload){ .max_batch = 1, .min_samples = 100 },
			     &series, &err),
			 STATUS_OK);
	assert_int_equal(series.batch, 1);
	assert_int_equal(series.count, 100);
	assert_false(isnan(series.statistics.p99));
	free(series.samples);
}

/* "%.10g" says it all: what a result file holds is short, and nothing a clock can tell is lost. */
static void samples_have_ten_digits(void **state)
{
	struct script script = { .seconds = 1e-3 / 3, .spread = 1e-4 };
	struct error err = ERROR_NONE;
	struct series series;
	char digits[32];

	(void)state;
	assert_int_equal(run(&script, (struct workload){ 0 }, &series, &err), STATUS_OK);
	for (size_t i = 0; i < series.count; i++) {
		snprintf(digits, sizeof(digits), "%.10g", series.samples[i]);
		assert_true(strtod(digits, NULL) == series.samples[i]);
		assert_true(fabs(series.samples[i] / script.seconds - 1) < 2e-4);
	}
	free(series.samples);
}

static void a_series_that_cannot_narrow_stops_early_and_says_so(void **state)
{
	struct script script = { .seconds = 1e-3, .step = 0.05 };
	struct error err = ERROR_NONE;
	struct series series;

	(void)state;
	assert_int_equal(run(&script, (struct workload){ 0 }, &series, &err), STATUS_OK);
	assert_int_equal(series.stop, STOP_STABLE);
	assert_true(series.count < 100);
	free(series.samples);
}

/* The first 40 launches are up to twice as slow. */
static void warm_up_ends_when_the_level_has_settled(void **state)
{
	struct script script = { .seconds = 1e-3, .spread = 1e-3, .cold = 40 };
	struct error err = ERROR_NONE;
	struct series series;

	(void)state;
	assert_int_equal(run(&script, (struct workload){ 0 }, &series, &err), STATUS_OK);
	assert_true(series.warmup > 0);
	assert_false(series.unsettled);
	assert_true(series.count >= 10);
	assert_true(fabs(series.statistics.median / 1e-3 - 1) < 5e-3);
	/* The cold one and two of warm-up came first. */
	assert_int_equal(series.count + series.warmup + 3, (int)script.launches);
	free(series.samples);
}

static void what_drifts_at_the_end_of_its_time_has_not_settled(void **state)
{
	struct script script = { .seconds = 1e-3, .spread = 1e-4, .walk = 0.01 };
	struct sampling hurried = rules;
	struct error err = ERROR_NONE;
	struct series series;

	(void)state;
	hurried.max_seconds = 1e-6;
	assert_int_equal(run_by(&hurried, &script, (struct workload){ 0 }, &series, &err),
			 STATUS_OK);
	assert_int_equal(series.stop, STOP_MAX_TIME);
	assert_int_equal(series.count, 10);
	assert_int_equal(series.warmup, 0);
	assert_true(series.unsettled);
	assert_true(series.statistics.low <= series.samples[0] * 1.0002);
	assert_true(series.statistics.high >= series.samples[series.count - 1] / 1.0002);
	assert_true(series.statistics.noisy);
	assert_int_equal(strncmp(series.statistics.noise, "not settled", 11), 0);
	free(series.samples);
}

/*
 * Only one of two at the same time has to warm up: it alone drops samples, and both continue until
 * it has enough.
 */
static void each_of_several_settles_by_itself(void **state)
{
	struct script scripts[] = { { .seconds = 1e-3, .spread = 1e-3, .cold = 40 },
				    { .seconds = 2e-3, .spread = 1e-3 } };
	struct sampler sampler = { .rules = &rules, .device = &device };
	struct sampler samplers[] = { sampler, sampler };
	struct series series[2] = { 0 }, *both[] = { &series[0], &series[1] };
	struct error errs[2] = { ERROR_NONE, ERROR_NONE };
	struct workload workloads[2];

	(void)state;
	for (int i = 0; i < 2; i++)
		workloads[i] = (struct workload){ .state = &scripts[i],
						  .launch = launch,
						  .streams = streams,
						  .stream_count = 1 };
	assert_int_equal(sample_together(samplers, workloads, PACE_COMMON, both, 2, errs),
			 STATUS_OK);
	assert_true(series[0].warmup > 0);
	assert_int_equal(series[1].warmup, 0);
	assert_int_equal(series[0].count + series[0].warmup, series[1].count);
	for (int i = 0; i < 2; i++) {
		assert_false(series[i].unsettled);
		assert_true(fabs(series[i].statistics.median / scripts[i].seconds - 1) < 5e-3);
		free(series[i].samples);
	}
}

/* One that waited for the other's preheating would be cold again. */
static void several_preheat_at_the_same_time(void **state)
{
	struct script scripts[] = { { .seconds = 1e-3, .spread = 1e-3 },
				    { .seconds = 2e-3, .spread = 1e-3 } };
	struct sampling hot = rules, cold = rules;
	struct sampler sampler = { .rules = &hot, .device = &device };
	struct sampler samplers[] = { sampler, sampler };
	struct error errs[2] = { ERROR_NONE, ERROR_NONE };
	struct workload workloads[2];
	uint64_t launched[2][2];

	(void)state;
	hot.preheat_seconds = 0.1;
	for (int with = 0; with < 2; with++) {
		struct series series[2] = { 0 }, *both[] = { &series[0], &series[1] };

		for (int i = 0; i < 2; i++) {
			scripts[i] = (struct script){ .seconds = (i + 1) * 1e-3, .spread = 1e-3 };
			samplers[i].rules = with ? &hot : &cold;
			workloads[i] = (struct workload){ .state = &scripts[i],
							  .launch = launch,
							  .streams = streams,
							  .stream_count = 1 };
		}
		assert_int_equal(sample_together(samplers, workloads, PACE_COMMON, both, 2, errs),
				 STATUS_OK);
		for (int i = 0; i < 2; i++) {
			launched[with][i] =
				scripts[i].launches - series[i].count - series[i].warmup;
			free(series[i].samples);
		}
	}
	/* As many as the shorter one needs, of both. */
	for (int i = 0; i < 2; i++)
		assert_true(launched[1][i] - launched[0][i] >= 90 &&
			    launched[1][i] - launched[0][i] <= 110);
}

static enum status run_in_turns(const struct sampling *by, struct script scripts[2],
				struct series series[3], struct error *err)
{
	struct sampler sampler = { .rules = by, .device = &device, .stop = scripts[1].stop };
	struct series *out[] = { &series[0], &series[1], &series[2] };
	struct workload workloads[2];

	ordered = 0;
	memset(series, 0, 3 * sizeof(*series));
	for (int i = 0; i < 2; i++)
		workloads[i] = (struct workload){ .state = &scripts[i],
						  .launch = launch,
						  .streams = streams,
						  .stream_count = 1 };
	return sample_interleaved(&sampler, workloads, out, err);
}

static void release_three(struct series series[3])
{
	for (int i = 0; i < 3; i++)
		free(series[i].samples);
}

/*
 * The clock of both wanders by 30 % in periods of many samples, as under a power limit; their
 * ratio does not.
 */
static void a_level_that_both_follow_is_not_in_the_ratio_of_turns(void **state)
{
	double period = 0.05;
	struct script scripts[] = {
		{ .seconds = 1.2e-3, .spread = 1e-3, .level = &period, .name = 'a' },
		{ .seconds = 1.0e-3, .spread = 1e-3, .level = &period, .name = 'b' },
	};
	struct error err = ERROR_NONE;
	struct series series[3];
	const struct statistics *ratio = &series[2].statistics;

	(void)state;
	assert_int_equal(run_in_turns(&rules, scripts, series, &err), STATUS_OK);
	assert_true(series[0].statistics.q3 / series[0].statistics.q1 > 1.2);
	assert_true(ratio->low <= 1.2 && 1.2 <= ratio->high);
	assert_true(ratio->high / ratio->low < 1.03);
	assert_true(fabs(ratio->median / 1.2 - 1) < 0.01);
	assert_int_equal(series[2].batch, 1);
	release_three(series);
}

/* A batch of its own for each, and no side that always follows the other. */
static void turns_change_sides(void **state)
{
	struct script scripts[] = { { .seconds = 1e-4, .spread = 1e-3, .name = 'a' },
				    { .seconds = 2e-3, .spread = 1e-3, .name = 'b' } };
	struct error err = ERROR_NONE;
	struct series series[3];

	(void)state;
	assert_int_equal(run_in_turns(&rules, scripts, series, &err), STATUS_OK);
	assert_in_range(series[0].batch, 9, 11);
	assert_int_equal(series[1].batch, 1);
	assert_true(fabs(series[2].statistics.median / 0.05 - 1) < 5e-3);
	assert_int_equal(series[2].count, series[0].count);
	/* Both have a first sample, and the ratio the ratio of these. */
	assert_true(fabs(series[0].first / 1e-4 - 1) < 0.01 &&
		    fabs(series[1].first / 2e-3 - 1) < 0.01);
	assert_true(series[2].first == series[0].first / series[1].first);
	order[ordered] = '\0';
	assert_non_null(strstr(order, "abbaabba"));
	assert_null(strstr(order + ordered - 2 * series[0].count, "aaa"));
	assert_null(strstr(order + ordered - 2 * series[0].count, "bbb"));
	release_three(series);
}

static void turns_preheat_both_and_stop_when_told(void **state)
{
	struct script scripts[] = { { .seconds = 1e-3, .spread = 1e-3 },
				    { .seconds = 1e-3, .spread = 1e-3 } };
	struct sampling hot = rules;
	struct error err = ERROR_NONE;
	volatile sig_atomic_t stop = 0;
	struct series series[3];

	(void)state;
	hot.preheat_seconds = 0.1;
	assert_int_equal(run_in_turns(&hot, scripts, series, &err), STATUS_OK);
	for (int i = 0; i < 2; i++)
		assert_true(scripts[i].launches - series[i].count - series[i].warmup >= 50);
	release_three(series);
	for (int side = 0; side < 2; side++) {
		/* A failure of either side after warm-up ends both, and is told. */
		scripts[side].fail_at = (int)scripts[side].launches + 9;
		assert_int_equal(run_in_turns(&rules, scripts, series, &err), STATUS_DEVICE);
		assert_string_equal(err.message, "scripted failure");
		scripts[side].fail_at = 0;
		error_clear(&err);
		release_three(series);
	}
	scripts[1].stop = &stop;
	scripts[1].stop_at = scripts[1].launches + 8;
	assert_int_equal(run_in_turns(&rules, scripts, series, &err), STATUS_INTERRUPTED);
	release_three(series);
	error_clear(&err);
	stop = 0;
	scripts[1].stop_at = 0;
	scripts[1].fail_at = (int)scripts[1].launches + 6;
	assert_int_equal(run_in_turns(&rules, scripts, series, &err), STATUS_DEVICE);
	assert_int_equal(events_alive, 0);
	release_three(series);
}

/* 0.3 % in all: within the target from one end to the other. */
static void a_drift_within_the_target_is_no_reason_to_go_on(void **state)
{
	struct script script = { .seconds = 1e-3, .spread = 1e-5, .walk = 1e-4 };
	struct error err = ERROR_NONE;
	struct series series;

	(void)state;
	assert_int_equal(run(&script, (struct workload){ 0 }, &series, &err), STATUS_OK);
	assert_int_equal(series.stop, STOP_CONVERGED);
	assert_true(series.count < 40);
	assert_true(series.statistics.low <= series.samples[0] * (1 + 1e-4));
	assert_true(series.statistics.high >= series.samples[series.count - 1] * (1 - 1e-4));
	free(series.samples);
}

static void a_wide_spread_takes_more_samples(void **state)
{
	struct script script = { .seconds = 1e-3, .spread = 0.03 };
	struct error err = ERROR_NONE;
	struct series series;

	(void)state;
	assert_int_equal(run(&script, (struct workload){ 0 }, &series, &err), STATUS_OK);
	assert_true(series.count > 20);
	assert_true(series.statistics.low < 1e-3 && series.statistics.high > 1e-3);
	free(series.samples);
}

static void interruption_and_failure_keep_what_was_sampled(void **state)
{
	volatile sig_atomic_t stop = 0;
	struct script interrupted = {
		.seconds = 1e-3, .spread = 0.03, .stop = &stop, .stop_at = 8
	};
	struct script failing = { .seconds = 1e-3, .spread = 0.03, .fail_at = 9 };
	struct error err = ERROR_NONE;
	struct series series;

	(void)state;
	assert_int_equal(run(&interrupted, (struct workload){ 0 }, &series, &err),
			 STATUS_INTERRUPTED);
	/* One cold and two warm-up launches came first. */
	assert_int_equal(series.count, 5);
	assert_int_equal(series.stop, STOP_INTERRUPTED);
	assert_false(isnan(series.statistics.median));
	free(series.samples);

	error_clear(&err);
	assert_int_equal(run(&failing, (struct workload){ 0 }, &series, &err), STATUS_DEVICE);
	assert_string_equal(err.message, "scripted failure");
	assert_int_equal(series.count, 5);
	assert_int_equal(gates_closed, gates_opened);
	assert_int_equal(failing.finished, (int)failing.launches);
	assert_int_equal(events_alive, 0);
	free(series.samples);
}

/* Work of 1, 2 and 3 ms on three streams. The third was idle for a long time before. */
static enum status launch_on_three(void *state, unsigned batch, struct error *err)
{
	(void)err;
	++*(int *)state;
	now += 1e-3 * batch;
	side_idle[0] += 3e-3 * batch;
	side_idle[1] += 2e-3 * batch;
	return STATUS_OK;
}

/* A sample begins on all streams at once, and ends with the last of them. */
static void a_sample_of_several_streams_ends_with_the_last(void **state)
{
	struct stream *three[] = { &stream, &side_streams[0], &side_streams[1] };
	struct sampler sampler = { .rules = &rules, .device = &device };
	int launches = 0;
	struct workload w = { .state = &launches, .launch = launch_on_three, .streams = three };
	struct error err = ERROR_NONE;
	struct series series;

	(void)state;
	for (w.stream_count = 1; w.stream_count <= 3; w.stream_count++) {
		memset(&series, 0, sizeof(series));
		side_streams[0].device = side_streams[1].device = &device;
		side_idle[0] = side_idle[1] = -1000;
		assert_int_equal(sample(&sampler, &w, &series, &err), STATUS_OK);
		assert_true(series.count >= 10);
		for (size_t i = 0; i < series.count; i++)
			assert_true(fabs(series.samples[i] - (w.stream_count == 1 ? 1e-3 : 3e-3)) <
				    1e-9);
		assert_int_equal(events_alive, 0);
		free(series.samples);
	}
	assert_true(launches > 30);
}

struct reports {
	int calls, fail_at, stop_at;
	volatile sig_atomic_t *stop;
};

/* Three values a call: 10, 10.001, 10.002 s, 100 s more in the first one. */
static enum status report_three(void *state, struct reported *reported, struct error *err)
{
	struct reports *r = state;

	if (++r->calls == r->fail_at)
		return error_set(err, STATUS_DEVICE, "no report");
	if (r->calls == r->stop_at)
		*r->stop = 1;
	for (int i = 0; i < 3; i++)
		reported_add(reported, (r->calls == 1 ? 110 : 10) + 1e-3 * i);
	return STATUS_OK;
}

/* Values that a program reports are samples from the first call after warm-up on. */
static void reported_values_are_samples(void **state)
{
	static const struct {
		int fail_at, stop_at;
		enum status status;
		size_t count;
	} rows[] = {
		{ 0, 0, STATUS_OK, 12 },         { 1, 0, STATUS_DEVICE, 0 },
		{ 2, 0, STATUS_DEVICE, 0 },      { 4, 0, STATUS_DEVICE, 3 },
		{ 0, 1, STATUS_INTERRUPTED, 0 }, { 0, 2, STATUS_INTERRUPTED, 0 },
		{ 0, 3, STATUS_INTERRUPTED, 3 }, { 0, 5, STATUS_INTERRUPTED, 9 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		volatile sig_atomic_t stop = 0;
		struct reports reports = { 0, rows[i].fail_at, rows[i].stop_at, &stop };
		struct reporter reporter = { .state = &reports, .report = report_three };
		struct sampler sampler = { .rules = &rules, .device = &device, .stop = &stop };
		struct error err = ERROR_NONE;
		struct series series = { 0 };

		assert_int_equal(sample_reports(&sampler, &reporter, &series, &err),
				 rows[i].status);
		assert_int_equal(series.count, rows[i].count);
		assert_int_equal(series.stop == STOP_INTERRUPTED,
				 rows[i].status == STATUS_INTERRUPTED && rows[i].count);
		if (rows[i].fail_at != 1)
			assert_true(series.first == 110);
		for (size_t k = 0; k < series.count; k++)
			assert_true(series.samples[k] == 10 + 1e-3 * (double)(k % 3));
		if (rows[i].status == STATUS_OK)
			assert_true(fabs(series.statistics.median - 10.001) < 1e-9);
		free(series.samples);
	}
}

static void a_clock_that_stands_still_ends_too(void **state)
{
	struct script script = { .seconds = 0 };
	struct error err = ERROR_NONE;
	struct series series;

	(void)state;
	assert_int_equal(run(&script, (struct workload){ .no_gate = true }, &series, &err),
			 STATUS_OK);
	assert_int_equal(series.count, 400);
	assert_true(series.statistics.median == 0);
	free(series.samples);
}

/* A mean that the waves of a limit leave unknown is noise, and by how much is said. */
static void a_load_says_how_well_its_mean_is_known(void **state)
{
	struct series series = { .load = true };
	double mean, low, high;
	char expected[64];

	(void)state;
	for (int i = 0; i < 40; i++)
		sampling_series_add(&series, i < 20 ? 1e-3 : 2e-3);
	sampling_series_finish(&series, 0);
	mean = stats_median_load_mean(series.samples, series.count, &low, &high);
	assert_true(high > 1.1 * mean);
	snprintf(expected, sizeof(expected), "mean only known to %.1f %%", 100 * (high / mean - 1));
	assert_true(series.statistics.noisy);
	assert_string_equal(series.statistics.noise, expected);
	free(series.samples);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_load_says_how_well_its_mean_is_known),
		cmocka_unit_test(a_steady_workload_stops_at_the_minimum),
		cmocka_unit_test(preheating_is_work_that_does_not_count),
		cmocka_unit_test(a_workload_is_told_of_another_batch),
		cmocka_unit_test(waiting_for_other_ranks_is_not_timed),
		cmocka_unit_test(operations_that_run_on_are_sampled_together),
		cmocka_unit_test(a_level_that_both_follow_is_not_in_the_ratio_of_turns),
		cmocka_unit_test(turns_change_sides),
		cmocka_unit_test(turns_preheat_both_and_stop_when_told),
		cmocka_unit_test(a_gated_batch_fits_the_queue),
		cmocka_unit_test(latency_keeps_single_operations_and_its_minimum),
		cmocka_unit_test(samples_have_ten_digits),
		cmocka_unit_test(a_series_that_cannot_narrow_stops_early_and_says_so),
		cmocka_unit_test(warm_up_ends_when_the_level_has_settled),
		cmocka_unit_test(what_drifts_at_the_end_of_its_time_has_not_settled),
		cmocka_unit_test(each_of_several_settles_by_itself),
		cmocka_unit_test(several_preheat_at_the_same_time),
		cmocka_unit_test(a_drift_within_the_target_is_no_reason_to_go_on),
		cmocka_unit_test(a_wide_spread_takes_more_samples),
		cmocka_unit_test(interruption_and_failure_keep_what_was_sampled),
		cmocka_unit_test(a_sample_of_several_streams_ends_with_the_last),
		cmocka_unit_test(reported_values_are_samples),
		cmocka_unit_test(a_clock_that_stands_still_ends_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
