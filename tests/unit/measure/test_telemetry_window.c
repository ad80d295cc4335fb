/*
 * Telemetry while samples are taken: what is read when, what it comes to, and that a noisy series
 * says why.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/clock.h"
#include "measure/run.h"
#include "measure/telemetry/telemetry_window.h"

/*
 * A device whose readings are scripted: reading n has n MHz, and is throttled from `throttled_from`
 * on.
 */
static struct {
	atomic_int readings;
	int throttled_from;
	int64_t reason;
	bool fails;
	_Atomic double spent; /* seconds that one reading takes */
} script;

static enum status scripted(struct device *device, struct telemetry *out, struct error *err)
{
	int n = atomic_fetch_add(&script.readings, 1);

	(void)device;
	clock_sleep(atomic_load(&script.spent));
	if (script.fails)
		return error_set(err, STATUS_DEVICE, "told to fail");
	telemetry_unknown(out);
	out->sm_clock_hz = 1e6 * (n + 1);
	out->power_watts = n == 0 ? (double)NAN : 100;
	out->throttle_reasons = n >= script.throttled_from ? script.reason : 0;
	return STATUS_OK;
}

static const struct backend backend = { .name = "scripted", .telemetry_quick = scripted };
static struct device device = { .backend = &backend };

static int reset(void **state)
{
	(void)state;
	atomic_store(&script.readings, 0);
	atomic_store(&script.spent, 0);
	script.throttled_from = 1000000;
	script.reason = 0x4;
	script.fails = false;
	return 0;
}

static void wait_for_readings(int n)
{
	double until = clock_seconds() + 20;

	while (atomic_load(&script.readings) < n) {
		if (clock_seconds() > until)
			fail_msg("%d readings after 20 s", atomic_load(&script.readings));
		clock_sleep(1e-3);
	}
}

/* Nothing is read but between begin and end. */
static void reads_only_while_samples_are_taken(void **state)
{
	struct telemetry_window *w = telemetry_window_open(&device, 1e-3);
	struct telemetry_during during;
	size_t readings, throttled, first;

	(void)state;
	clock_sleep(20e-3);
	assert_int_equal(atomic_load(&script.readings), 0);
	telemetry_window_begin(w);
	wait_for_readings(5);
	telemetry_window_end(w, &first, &throttled);
	assert_true(first >= 4); /* the last one may have come too late to count */
	assert_int_equal(throttled, 0);
	clock_sleep(5e-3);
	readings = (size_t)atomic_load(&script.readings);
	clock_sleep(20e-3);
	assert_int_equal(atomic_load(&script.readings), readings);

	telemetry_window_begin(w);
	wait_for_readings((int)readings + 3);
	telemetry_window_end(w, &readings, &throttled);
	assert_true(readings >= 2);
	telemetry_window_summary(w, &during);
	assert_int_equal(during.readings, first + readings);
	telemetry_window_close(w);
}

static void summary_has_spans_of_what_is_known(void **state)
{
	struct telemetry_window *w = telemetry_window_open(&device, 1e-3);
	struct telemetry_during during;
	size_t readings, throttled;

	(void)state;
	script.throttled_from = 3;
	telemetry_window_begin(w);
	wait_for_readings(8);
	telemetry_window_end(w, &readings, &throttled);
	telemetry_window_summary(w, &during);
	telemetry_window_close(w);
	assert_int_equal(during.readings, readings);
	assert_float_equal(during.sm_clock_hz.min, 1e6, 1);
	assert_float_equal(during.sm_clock_hz.max, 1e6 * (double)readings, 1);
	assert_float_equal(during.sm_clock_hz.median, 0.5e6 * (double)(readings + 1), 1);
	assert_float_equal(during.power_watts.min, 100, 0);
	assert_true(isnan(during.memory_clock_hz.median) && isnan(during.temperature_celsius.max));
	assert_int_equal(during.throttle_reasons, 0x4);
	assert_int_equal(during.throttled, readings - 3);
	assert_int_equal(throttled, readings - 3);
	assert_float_equal(during.interval, 1e-3, 1e-12);
}

/* Idle clocks are a reason, but none that takes speed away. */
static void idle_is_not_throttled(void **state)
{
	struct telemetry_window *w = telemetry_window_open(&device, 1e-3);
	struct telemetry_during during;
	size_t readings, throttled;

	(void)state;
	script.throttled_from = 0;
	script.reason = 0x1;
	telemetry_window_begin(w);
	wait_for_readings(3);
	telemetry_window_end(w, &readings, &throttled);
	telemetry_window_summary(w, &during);
	telemetry_window_close(w);
	assert_int_equal(throttled, 0);
	assert_int_equal(during.throttle_reasons, 0x1);
}

/*
 * A reading that is still under way when a series ends belongs to no series, and only close waits
 * for it.
 */
static void a_slow_reading_holds_up_no_sampling(void **state)
{
	struct telemetry_window *w = telemetry_window_open(&device, 1e-3);
	struct telemetry_during during;
	size_t readings, throttled;
	double start;

	(void)state;
	atomic_store(&script.spent, 0.3);
	telemetry_window_begin(w);
	wait_for_readings(1);
	start = clock_seconds();
	telemetry_window_end(w, &readings, &throttled);
	telemetry_window_summary(w, &during);
	assert_true(clock_seconds() - start < 0.2);
	assert_int_equal(readings, 0);
	assert_int_equal(during.readings, 0);
	assert_true(isnan(during.sm_clock_hz.median));
	assert_int_equal(during.throttle_reasons, -1);
	telemetry_window_close(w);
}

static void failures_and_absence_are_no_readings(void **state)
{
	static const struct backend silent = { .name = "silent" };
	struct device other = { .backend = &silent };
	struct telemetry_window *w;
	struct telemetry_during during;
	size_t readings, throttled;

	(void)state;
	assert_null(telemetry_window_open(&other, 1e-3));
	assert_null(telemetry_window_open(&device, 0));
	assert_null(telemetry_window_open(NULL, 1e-3));
	telemetry_window_begin(NULL);
	telemetry_window_end(NULL, &readings, &throttled);
	assert_int_equal(readings + throttled, 0);
	telemetry_window_summary(NULL, &during);
	assert_int_equal(during.throttle_reasons, -1);
	telemetry_window_close(NULL);

	script.fails = true;
	w = telemetry_window_open(&device, 1e-3);
	telemetry_window_begin(w);
	wait_for_readings(3);
	telemetry_window_end(w, &readings, &throttled);
	telemetry_window_summary(w, &during);
	assert_int_equal(during.readings, 0);
	telemetry_window_close(w);
}

static enum status sleep_a_little(void *state, unsigned batch, struct error *err)
{
	(void)state;
	(void)batch;
	(void)err;
	clock_sleep(5e-3);
	return STATUS_OK;
}

/* A throttled series is kept and flagged; one taken before is not. */
static void throttled_series_are_noisy(void **state)
{
	static const struct sampling rules = {
		.min_samples = 6, .max_samples = 6, .max_seconds = 10, .sample_seconds = 1e-3
	};
	struct workload workload = { .launch = sleep_a_little,
				     .clock = CLOCK_HOST,
				     .max_batch = 1 };
	struct case_result result;
	struct run run = { .result = &result, .sampler = { .rules = &rules, .device = &device } };
	struct error err = ERROR_NONE;
	const struct series *series;

	(void)state;
	case_result_init(&result);
	run.telemetry = telemetry_window_open(&device, 1e-3);
	assert_int_equal(run_sample(&run, &workload, "calm", &series, &err), STATUS_OK);
	assert_null(strstr(series->statistics.noise, "throttled"));
	script.throttled_from = 0;
	assert_int_equal(run_sample(&run, &workload, "hot", &series, &err), STATUS_OK);
	assert_int_equal(series->count, 6);
	assert_true(series->statistics.noisy);
	assert_non_null(strstr(series->statistics.noise, "throttled in "));
	telemetry_window_summary(run.telemetry, &result.during);
	assert_int_equal(case_throttle_reasons(&result), 0x4);
	telemetry_window_close(run.telemetry);
	case_result_release(&result);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, reset)
	const struct CMUnitTest tests[] = {
		TEST(reads_only_while_samples_are_taken),
		TEST(summary_has_spans_of_what_is_known),
		TEST(idle_is_not_throttled),
		TEST(a_slow_reading_holds_up_no_sampling),
		TEST(failures_and_absence_are_no_readings),
		TEST(throttled_series_are_noisy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
