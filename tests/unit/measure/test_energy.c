/*
 * Energy of a workload against scripted counters or readings of power and a scripted clock: what an
 * operation takes, how certain that is, and when there is no figure.
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
#include "measure/run.h"
#include "measure/telemetry/poller.h"
#include "plan/suite.h"

/* Time passes by work and by rest alone; `gap` before each launch, without work. */
static double now, gap;
static double busy_watts, idle_watts, joules, update;
static bool has_counter, shared;
/* The counter shows what it was at its latest update; else at once. */
static bool stepwise;
static double shown;
/* A reading of power, by the device's `scale`; NAN: it reports none. */
static double scale, mean_over;
/* Pollers of the meter and of power over time work at the same time. */
#define POLLERS_MOST 6
/* Between two readings. */
#define LOOK_SECONDS 0.005
static struct test_poller {
	struct telemetry_poller_options options;
	bool open, polling;
} pollers[POLLERS_MOST];

double __wrap_clock_seconds(void);
void __wrap_clock_sleep(double seconds);

double __wrap_clock_seconds(void)
{
	return now;
}

/* Updates come `jitter` earlier or later, and a share of looks up to LATE_SECONDS late. */
static double jitter, late_share, next_look;
#define LATE_SECONDS 0.06

static double random_share(void)
{
	static uint64_t state = 1;

	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (double)(state >> 11) / 9007199254740992.0;
}

/* When update n comes: a hash of n gives its jitter. */
static double update_time(size_t n)
{
	uint64_t hash = (n + 1) * UINT64_C(0x9e3779b97f4a7c15);

	return (double)n * update + jitter * (2 * (double)(hash >> 11) / 9007199254740992.0 - 1);
}

static size_t updates_until(double time)
{
	size_t n = (size_t)floor(time / update);

	return n + (time >= update_time(n)) + (time >= update_time(n + 1));
}

static void pass_moment(double seconds, double watts)
{
	struct telemetry reading;
	size_t updates = updates_until(now);

	telemetry_unknown(&reading);
	reading.power_watts = scale * watts;
	reading.power_window_seconds = mean_over;
	now += seconds;
	joules += seconds * watts;
	if (!stepwise || updates_until(now) > updates)
		shown = joules;
	if (late_share > 0 && now >= next_look && random_share() < late_share)
		next_look = now + LATE_SECONDS * random_share();
	for (size_t i = 0; i < POLLERS_MOST && seconds > 0 && now >= next_look; i++)
		if (pollers[i].polling && pollers[i].options.look)
			pollers[i].options.look(pollers[i].options.context);
		else if (pollers[i].polling)
			pollers[i].options.add(pollers[i].options.context, &reading);
}

static void pass(double seconds, double watts)
{
	for (; seconds > LOOK_SECONDS; seconds -= LOOK_SECONDS)
		pass_moment(LOOK_SECONDS, watts);
	pass_moment(seconds, watts);
}

/* Readings come as time passes, on this thread. */
struct telemetry_poller *
__wrap_telemetry_poller_open(struct device *device, const struct telemetry_poller_options *options);
void __wrap_telemetry_poller_switch(struct telemetry_poller *poller, bool on);
void __wrap_telemetry_poller_lock(struct telemetry_poller *unused);
void __wrap_telemetry_poller_unlock(struct telemetry_poller *unused);
void __wrap_telemetry_poller_close(struct telemetry_poller *poller);

struct telemetry_poller *
__wrap_telemetry_poller_open(struct device *device, const struct telemetry_poller_options *options)
{
	size_t i = 0;

	(void)device;
	while (pollers[i].open)
		i++;
	assert_true(i < POLLERS_MOST);
	pollers[i] = (struct test_poller){ .options = *options, .open = true };
	return (struct telemetry_poller *)&pollers[i];
}

void __wrap_telemetry_poller_switch(struct telemetry_poller *poller, bool on)
{
	((struct test_poller *)poller)->polling = on;
}

void __wrap_telemetry_poller_lock(struct telemetry_poller *unused)
{
	(void)unused;
}

void __wrap_telemetry_poller_unlock(struct telemetry_poller *unused)
{
	(void)unused;
}

void __wrap_telemetry_poller_close(struct telemetry_poller *poller)
{
	if (poller)
		*(struct test_poller *)poller = (struct test_poller){ .open = false };
}

static enum status read_power(struct device *device, struct telemetry *out, struct error *err)
{
	(void)device;
	(void)err;
	telemetry_unknown(out);
	out->power_watts = scale * idle_watts;
	return STATUS_OK;
}

void __wrap_clock_sleep(double seconds)
{
	pass(seconds, idle_watts);
}

static enum status read_energy(struct device *device, struct energy *out, struct error *err)
{
	if (!has_counter)
		return error_set(err, STATUS_UNSUPPORTED, "%s has no counter", device->info.id);
	*out = (struct energy){ .joules = shown, .update_seconds = update };
	snprintf(out->domain, sizeof(out->domain), "%.50s", shared ? "socket" : device->info.id);
	snprintf(out->source, sizeof(out->source), "scripted counter");
	return STATUS_OK;
}

static const struct backend scripted = { .abi = BACKEND_ABI,
					 .name = "scripted",
					 .module = "test",
					 .energy = read_energy,
					 .telemetry_quick = read_power };
static struct device devices[2] = { { .backend = &scripted, .info = { .id = "one" } },
				    { .backend = &scripted, .info = { .id = "two" } } };

static enum status work(void *state, unsigned batch, struct error *err)
{
	(void)err;
	pass(*(const double *)state * batch, busy_watts);
	return STATUS_OK;
}

static enum status wait_before(void *state, struct error *err)
{
	(void)state;
	(void)err;
	pass(gap, idle_watts);
	return STATUS_OK;
}

static const struct suite suite = {
	.name = "test",
	.metrics = (const struct metric[]){ { "test.energy", "J", BETTER_LOWER, 0, "" },
					    { "test.gain", "FLOP/J", BETTER_HIGHER, 0, "" },
					    { "test.power", "W", BETTER_NONE, 0, "" },
					    { "test.idle_power", "W", BETTER_LOWER, 0, "" },
					    { 0 } },
};

/* The case's result after a workload of 10 ms operations. */
static struct case_result measure(double energy_seconds, size_t device_count)
{
	static double operation = 0.01;
	static const struct plan_case c = { .suite = &suite };
	const struct sampling rules = { .min_samples = 3,
					.max_samples = 3,
					.target = 0.1,
					.max_seconds = 1,
					.sample_seconds = 1e-3,
					.warmup = 1,
					.energy_seconds = energy_seconds };
	struct device *opened[] = { &devices[0], &devices[1] };
	struct workload w = { .state = &operation,
			      .prepare = wait_before,
			      .launch = work,
			      .clock = CLOCK_HOST,
			      .has_energy = true };
	struct case_result result;
	struct error err = ERROR_NONE;
	const struct series *series;
	struct run run = { .c = &c,
			   .devices = opened,
			   .device_count = device_count,
			   .sampler = { .rules = &rules, .device = &devices[0] },
			   .result = &result };

	case_result_init(&result);
	assert_int_equal(run_sample(&run, &w, "test.time", &series, &err), STATUS_OK);
	assert_int_equal(series->count, 3);
	run_energy(&run, "gain", 5e9);
	return result;
}

static int reset(void **state)
{
	(void)state;
	next_look = 0;
	now = 1000;
	gap = 0;
	joules = 1e6;
	busy_watts = 400;
	idle_watts = 70;
	shown = joules;
	stepwise = true;
	update = 0.1;
	has_counter = true;
	shared = false;
	memset(pollers, 0, sizeof(pollers));
	scale = (double)NAN;
	mean_over = 0.1;
	return 0;
}

static void assert_near(const struct case_result *r, const char *name, double want, double part)
{
	const struct metric_value *m = case_metric(r, name);

	if (!m)
		fail_msg("%s: no %s", r->notes, name);
	assert_float_equal(m->value, want, part * want);
	assert_true(m->low < m->value && m->value < m->high);
}

static void assert_none(const struct case_result *r, const char *reason)
{
	assert_null(case_metric(r, "test.energy"));
	assert_null(case_metric(r, "test.gain"));
	assert_null(case_metric(r, "test.power"));
	assert_non_null(r->notes);
	if (!strstr(r->notes, reason))
		fail_msg("%s", r->notes);
}

/* 400 W for 10 ms are 4 J. */
static void an_operation_takes_power_times_time(void **state)
{
	struct case_result r = measure(4, 1);

	(void)state;
	assert_near(&r, "test.energy", 4, 2e-3);
	assert_near(&r, "test.gain", 5e9 / 4, 2e-3);
	assert_near(&r, "test.power", 400, 2e-3);
	assert_near(&r, "test.idle_power", 70, 2e-3);
	/* Two updates 3.9 s apart, each between two looks: half of 5 ms for each, and one look. */
	assert_float_equal(case_metric(&r, "test.energy")->high, 4 * 1.0025, 4 * 5e-4);
	assert_non_null(strstr(r.notes, "scripted counter"));
	case_result_release(&r);
}

/* Read at its ends alone, a window of 1.05 s counts 10 updates or 11: up to 5 % off. */
static void a_window_need_not_begin_with_an_update(void **state)
{
	(void)state;
	for (double begins = 0; begins < 0.1; begins += 0.013) {
		const struct metric_value *power;
		struct case_result r;

		reset(NULL);
		now += begins;
		r = measure(1.05, 1);
		power = case_metric(&r, "test.power");
		assert_non_null(power);
		assert_float_equal(power->value, 400, 400 * 0.006);
		assert_true(power->low <= 400 && 400 <= power->high);
		assert_true(power->high < 400 * 1.036);
		case_result_release(&r);
	}
}

/* W of a load, `t` seconds after its window of 3 s began. */
#define LOAD_SECONDS 3
static double steady(double t)
{
	(void)t;
	return 400;
}

static double work_in_the_window_alone(double t)
{
	return t < 0 || t >= LOAD_SECONDS ? 70 : 400;
}

static double slow_rise(double t)
{
	return t < 0 ? 70 : 400 - 330 * exp(-t / 0.05);
}

static double fast_rise_and_fall(double t)
{
	return t < 0              ? 70
	       : t < LOAD_SECONDS ? 400 - 330 * exp(-t / 0.015)
				  : 70 + 330 * exp((LOAD_SECONDS - t) / 0.04);
}

static double idle_at_the_end(double t)
{
	return t < LOAD_SECONDS - 0.05 ? 400 : 70;
}

static double capped(double t)
{
	return 400 + 60 * sin(20 * t);
}

static void pass_load(double (*load)(double), double from, double seconds)
{
	const double step = 1e-3;

	/* Power changes within a look, too. */
	for (double t = 0; t < seconds - step / 2; t += LOOK_SECONDS) {
		double watts = 0;

		for (double s = step / 2; s < LOOK_SECONDS; s += step)
			watts += load(from + t + s) * step / LOOK_SECONDS;
		pass_moment(LOOK_SECONDS, watts);
	}
}

/* Counts windows, begun at any part of an update, whose interval has the true joules. */
static size_t covered(double (*load)(double), size_t *windows, double *mean_error)
{
	size_t found = 0;

	*windows = 0;
	*mean_error = 0;
	for (double begins = 0; begins < 0.1; begins += 0.0023) {
		struct device *opened[] = { &devices[0] };
		struct energy_meter *meter;
		struct energy_window w;
		double truth;

		reset(NULL);
		now += begins;
		pass_load(load, -0.3, 0.3);
		meter = energy_meter_begin(opened, 1);
		truth = -joules;
		pass_load(load, 0, LOAD_SECONDS);
		truth += joules;
		energy_meter_read(meter);
		pass_load(load, LOAD_SECONDS, 0.15);
		energy_meter_end(meter, NULL, &w);
		assert_float_equal(w.seconds, LOAD_SECONDS, 1e-6);
		assert_true(w.began <= w.first_update &&
			    w.first_update <
				    w.began + 0.11 + jitter + (late_share > 0) * 2 * LATE_SECONDS);
		assert_true(w.last_update <= w.began + w.seconds + 1e-6);
		found += fabs(w.joules - truth) <= w.error * w.joules + 1e-6;
		*mean_error += w.error;
		++*windows;
	}
	*mean_error /= (double)*windows;
	return found;
}

/* The parts of updates at the ends of a window are not of mean power. */
static void the_interval_knows_of_ramps(void **state)
{
	static const struct {
		const char *name;
		double (*load)(double);
		double error_most;
	} loads[] = {
		{ "steady", steady, 0.005 },
		{ "work in the window alone", work_in_the_window_alone, 0.022 },
		{ "slow rise", slow_rise, 0.022 },
		{ "fast rise and fall", fast_rise_and_fall, 0.022 },
		{ "idle at the end", idle_at_the_end, 0.022 },
		{ "capped", capped, 0.012 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(loads); i++) {
		double error;
		size_t windows, found = covered(loads[i].load, &windows, &error);

		if (found < 0.95 * (double)windows || error > loads[i].error_most)
			fail_msg("%s: %zu of %zu, interval %.2f %%", loads[i].name, found, windows,
				 100 * error);
	}
}

/* Updates of 0.07 to 0.13 s, and looks that come late, widen the interval. */
static void the_interval_knows_of_late_updates_and_looks(void **state)
{
	static const struct {
		double jitter, late_share;
	} rows[] = { { 0.015, 0 }, { 0, 0.02 }, { 0, 0.1 }, { 0.015, 0.02 } };
	static double (*const loads[])(double) = { steady, slow_rise, capped };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (size_t l = 0; l < ARRAY_SIZE(loads); l++) {
			double error;
			size_t windows, found;

			jitter = rows[i].jitter;
			late_share = rows[i].late_share;
			found = covered(loads[l], &windows, &error);
			jitter = late_share = next_look = 0;
			print_message("jitter %g s, %g %% late, load %zu: %zu of %zu, interval "
				      "%.2f %%\n",
				      rows[i].jitter, 100 * rows[i].late_share, l, found, windows,
				      100 * error);
			assert_true(found >= 0.95 * (double)windows && error < 0.06);
		}
}

/* A window below two seconds leaves 3.5 % open at least. */
static void a_short_window_claims_no_less_than_it_can(void **state)
{
	struct case_result r = measure(1.2, 1);
	const struct energy_record *e = r.energy;

	(void)state;
	assert_true(r.energy_count > 0);
	assert_true(e->high / e->joules - 1 >= 0.034);
	assert_true(fabs(e->high + e->low - 2 * e->joules) < 1e-9 * e->joules);
	case_result_release(&r);
}

static void a_window_too_short_for_the_counter_gives_no_figure(void **state)
{
	struct case_result r = measure(0.15, 1);

	(void)state;
	assert_none(&r, "more than 10 %; increase energy_time");
	assert_null(case_metric(&r, "test.idle_power"));
	case_result_release(&r);
}

static void a_device_that_waits_gives_no_figure(void **state)
{
	struct case_result r;

	(void)state;
	gap = 0.05; /* before 50 ms of work */
	r = measure(4, 1);
	assert_none(&r, "the devices worked only 5");
	assert_near(&r, "test.idle_power", 70, 2e-3);
	case_result_release(&r);
}

static void without_a_counter_the_reason_is_told(void **state)
{
	struct case_result r;

	(void)state;
	has_counter = false;
	r = measure(4, 1);
	assert_none(&r, "No energy was recorded: one has no counter");
	case_result_release(&r);
}

/* 400 W of 10 ms are 4 J; power leaves 0.1 s in 5 s and NVML's 5 % open. */
static void without_a_counter_power_is_integrated(void **state)
{
	struct case_result r;

	(void)state;
	has_counter = false;
	scale = 1;
	r = measure(5, 1);
	assert_near(&r, "test.energy", 4, 1e-6);
	assert_near(&r, "test.power", 400, 1e-6);
	assert_near(&r, "test.idle_power", 70, 1e-6);
	assert_float_equal(case_metric(&r, "test.energy")->high, 4 * 1.07, 4 * 1e-3);
	assert_non_null(strstr(r.notes, "power readings every 20 ms"));
	case_result_release(&r);
}

/* A mean over 1 s of 25 s leaves 4 % open, in addition to the 5 % of every power. */
static void a_mean_of_power_knows_its_time(void **state)
{
	struct case_result r;

	(void)state;
	has_counter = false;
	scale = 1;
	mean_over = 1;
	r = measure(25, 1);
	assert_float_equal(case_metric(&r, "test.energy")->high, 4 * 1.09, 4 * 1e-3);
	case_result_release(&r);
	/* The same of a device that does not say it. */
	mean_over = 0;
	r = measure(10, 1);
	assert_none(&r, "power readings every 20 ms has an uncertainty of 15 %, more than 10 %");
	case_result_release(&r);
}

/* 1 s would do for the counter, not for power. */
static void a_window_too_short_for_power_gives_no_figure(void **state)
{
	struct case_result r = measure(1.5, 1);

	(void)state;
	assert_non_null(case_metric(&r, "test.energy"));
	case_result_release(&r);
	has_counter = false;
	scale = 1;
	r = measure(1.5, 1);
	assert_none(&r, "power readings every 20 ms has an uncertainty of 11 %, more than 10 %");
	case_result_release(&r);
}

static void a_counter_that_stands_still_gives_no_figure(void **state)
{
	struct case_result r;

	(void)state;
	busy_watts = idle_watts = 0;
	r = measure(4, 1);
	assert_none(&r, "did not change");
	case_result_release(&r);
}

static void not_asked_for_nothing_is_read(void **state)
{
	double before = now;
	struct case_result r = measure(0, 1);

	(void)state;
	assert_int_equal(r.metric_count, 0);
	assert_true(!r.notes || !strstr(r.notes, "energy"));
	assert_true(now - before < 0.1);
	case_result_release(&r);
}

/* Both devices show the same scripted joules: two counters are twice as much, one is not. */
static void devices_that_share_a_counter_count_once(void **state)
{
	struct case_result two = measure(4, 2), one;

	(void)state;
	assert_near(&two, "test.power", 800, 2e-3);
	shared = true;
	one = measure(4, 2);
	assert_near(&one, "test.power", 400, 2e-3);
	case_result_release(&two);
	case_result_release(&one);
}

/* Ten intervals of 400 W, then ten of 70 W; of the latest workload alone, and nothing else. */
static void power_over_time_is_kept(void **state)
{
	struct case_result r;
	const struct watch *w;
	const struct time_quantity *q;
	size_t busy = 0, idle = 0;

	(void)state;
	scale = 1;
	r = measure(4, 2);
	assert_int_equal(r.watch_count, 2);
	w = &r.watches[1];
	assert_string_equal(w->device, "two");
	assert_float_equal(w->interval, 0.4, 1e-9);
	assert_int_equal(w->quantity_count, 1);
	q = &w->quantities[0];
	assert_string_equal(q->name, "power_watts");
	assert_in_range(q->mean_count, 20, 22);
	for (size_t i = 0; i < q->mean_count; i++) {
		busy += q->mean[i] > 390;
		idle += fabs(q->mean[i] - 70) < 1;
	}
	assert_in_range(busy, 10, 11);
	assert_true(idle >= 1);
	case_result_release(&r);
	/* A device that reports no power has no curve. */
	scale = (double)NAN;
	r = measure(4, 1);
	assert_int_equal(r.watch_count, 0);
	case_result_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(an_operation_takes_power_times_time, reset),
		cmocka_unit_test_setup(a_window_need_not_begin_with_an_update, reset),
		cmocka_unit_test_setup(the_interval_knows_of_late_updates_and_looks, reset),
		cmocka_unit_test_setup(a_short_window_claims_no_less_than_it_can, reset),
		cmocka_unit_test_setup(the_interval_knows_of_ramps, reset),
		cmocka_unit_test_setup(a_window_too_short_for_the_counter_gives_no_figure, reset),
		cmocka_unit_test_setup(a_device_that_waits_gives_no_figure, reset),
		cmocka_unit_test_setup(without_a_counter_the_reason_is_told, reset),
		cmocka_unit_test_setup(without_a_counter_power_is_integrated, reset),
		cmocka_unit_test_setup(a_mean_of_power_knows_its_time, reset),
		cmocka_unit_test_setup(a_window_too_short_for_power_gives_no_figure, reset),
		cmocka_unit_test_setup(a_counter_that_stands_still_gives_no_figure, reset),
		cmocka_unit_test_setup(not_asked_for_nothing_is_read, reset),
		cmocka_unit_test_setup(devices_that_share_a_counter_count_once, reset),
		cmocka_unit_test_setup(power_over_time_is_kept, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
