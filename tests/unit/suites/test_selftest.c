/*
 * Promises of the suite `selftest`: it passes on a device that is what it says, and fails on one
 * that is not. Time is scripted here, so that a busy machine changes nothing.
 */
#include "suite_fixture.h"

#include <stdatomic.h>

#include "base/clock.h"
#include "kernels/memory/fill.h"
#include "kernels/timing.h"
#include "measure/telemetry/telemetry_window.h"
#include "suites/selftest/selftest.h"

#define SELFTEST "[defaults]\nmin_samples = 5\nmax_samples = 5\n[suite selftest]\n"

/*
 * Spinning takes no time; the events say what it would have taken, `scale` times, and some noise.
 */
static struct {
	double seconds, scale, noise, empty;
	uint64_t readings;
} script;

static enum status scripted_spin(struct stream *stream, const void *arguments, struct error *err)
{
	(void)stream;
	(void)err;
	script.seconds = ((const struct spin_arguments *)arguments)->seconds;
	return STATUS_OK;
}

/*
 * A clock that stands still but for launches, of 1 ms each, and for one reading in each time of
 * watching, which takes `reading_nanoseconds` of the launching thread's time. The linker puts both
 * functions in the place of the real ones.
 */
static struct {
	bool on;
	atomic_int_fast64_t nanoseconds;
	int_fast64_t reading_nanoseconds;
	atomic_bool read; /* since watching began */
} costs;

static bool finds_nothing;

static enum status idle_check(struct stream *stream, const void *arguments, struct error *err)
{
	return finds_nothing ? STATUS_OK : spy.real->kernel("check_fill")(stream, arguments, err);
}

static kernel_fn *scripted_kernel(const char *name)
{
	if (strcmp(name, "spin") == 0)
		return scripted_spin;
	return strcmp(name, "check_fill") == 0 ? idle_check : spy.real->kernel(name);
}

static enum status scripted_elapsed(struct event *start, struct event *end, double *seconds,
				    struct error *err)
{
	(void)start;
	(void)end;
	(void)err;
	*seconds = script.empty +
		   script.seconds * script.scale *
			   (1 + script.noise * (double)generator_uniform(5, script.readings++));
	return STATUS_OK;
}

static enum status run_check(struct fixture *f, const char *settings, struct case_result *result,
			     struct error *err)
{
	char ini[400];

	snprintf(ini, sizeof(ini), SELFTEST "%s", settings);
	spy_reset();
	spy.table.kernel = scripted_kernel;
	spy.table.event_elapsed = scripted_elapsed;
	script.seconds = 0;
	return run_only_case(f, ini, result, err);
}

static void expect_failure(struct fixture *f, const char *settings, const char *message)
{
	struct case_result result;
	struct error err;

	assert_int_equal(run_check(f, settings, &result, &err), STATUS_MISMATCH);
	if (!strstr(err.message, message))
		fail_msg("%s", err.message);
	assert_false(result.verification.done);
	assert_nothing_open(settings);
	case_result_release(&result);
}

static double expect_success(struct fixture *f, const char *settings, const char *metric)
{
	struct case_result result;
	struct error err;
	double value;

	if (run_check(f, settings, &result, &err) != STATUS_OK)
		fail_msg("%s", err.message);
	assert_true(result.verification.done);
	assert_nothing_open(settings);
	value = case_metric(&result, metric)->value;
	case_result_release(&result);
	return value;
}

static int reset(void **state)
{
	script.scale = 1;
	script.noise = script.empty = 0;
	script.readings = 0;
	finds_nothing = costs.on = false;
	return fixture_reset(state);
}

/* Events that are 2 % off are too much for a tolerance of 1 %, not for one of 3 %. */
static void test_a_wrong_clock_fails(void **state)
{
	script.scale = 1.02;
	expect_failure(*state, "checks = clock\n",
		       "on the clock of the device: 2 % off, tolerance 1 %");
	script.scale = 0.98;
	expect_failure(*state, "checks = clock\n", "2 % off");
	/* The host cannot see a kernel of 1 ms end at once. */
	script.scale = 1;
	expect_failure(*state, "checks = clock\n", "on the clock of the host");
}

/*
 * The real clocks: generous, and the fastest of many, since the machine may be busy, but a factor
 * would be found.
 */
static void test_the_real_clock_passes(void **state)
{
	struct case_result result;
	struct error err;

	spy_reset();
	if (run_only_case(*state,
			  "[defaults]\nmin_samples = 100\nmax_samples = 100\n"
			  "[suite selftest]\nchecks = clock\nclock_tolerance = 90 %\n",
			  &result, &err) != STATUS_OK)
		fail_msg("%s", err.message);
	assert_true(case_metric(&result, "selftest.clock_error")->value < 0.9);
	assert_true(case_metric(&result, "selftest.host_overhead")->value > -1e-5);
	assert_nothing_open("clock");
	case_result_release(&result);
}

static void test_an_empty_sample_must_be_short(void **state)
{
	script.empty = 20e-6;
	assert_float_equal(expect_success(*state, "checks = empty\n", "selftest.empty_sample"),
			   20e-6, 1e-12);
	script.empty = 60e-6;
	expect_failure(*state, "checks = empty\n", "takes 60.00 us; limit 50.00 us");
	script.empty = -1e-6;
	expect_failure(*state, "checks = empty\n", "takes");
}

/* One per cent is found under 0.3 % of noise and not under 5 %. */
static void test_an_injected_slowdown_must_be_found(void **state)
{
	script.noise = 0.003;
	assert_true(expect_success(*state, "checks = slowdown\ntrials = 100\n",
				   "selftest.detected") >= 0.99);
	assert_float_equal(expect_success(*state, "checks = slowdown\ntrials = 100\n",
					  "selftest.slowdown"),
			   0.01, 0.001);
	assert_true(expect_success(*state, "checks = slowdown\ntrials = 200\n",
				   "selftest.false_alarms") < 0.08);
	script.noise = 0.05;
	expect_failure(*state, "checks = slowdown\ntrials = 50\n", "required 99 %");
	assert_true(expect_success(*state, "checks = slowdown\ntrials = 50\nslowdown = 20 %\n",
				   "selftest.detected") == 1);
}

/*
 * A clock that drifts so that the second of two equal kernels always seems slower would be an alarm
 * each time.
 */
static enum status biased_elapsed(struct event *start, struct event *end, double *seconds,
				  struct error *err)
{
	enum status status = scripted_elapsed(start, end, seconds, err);
	/* Five readings a series; series come in the order A B B A A B B A A B. */
	uint64_t series = (script.readings - 1) / 5 % 10;

	*seconds *= series % 4 == 1 || series % 4 == 2 ? 1.02 : 1;
	return status;
}

static void test_false_alarms_fail(void **state)
{
	struct case_result result;
	struct error err;

	spy_reset();
	spy.table.kernel = scripted_kernel;
	spy.table.event_elapsed = biased_elapsed;
	script.noise = 0.001;
	assert_int_equal(run_only_case(*state, SELFTEST "checks = slowdown\n", &result, &err),
			 STATUS_MISMATCH);
	assert_non_null(
		strstr(err.message, "20 of 20 trials reported a slowdown of identical kernels"));
	case_result_release(&result);
}

static void test_an_injected_bit_must_be_found(void **state)
{
	assert_true(expect_success(*state, "checks = corruption\ntrials = 12\n",
				   "selftest.found") == 1);
	finds_nothing = true;
	expect_failure(*state, "checks = corruption\ntrials = 3\n",
		       "3 of 3 injected wrong bits were not detected");
}

static enum status nothing_to_tell(struct device *device, struct telemetry *out, struct error *err)
{
	(void)device;
	(void)err;
	telemetry_unknown(out);
	return STATUS_OK;
}

double __real_clock_seconds(void);
double __wrap_clock_seconds(void);
double __wrap_clock_seconds(void)
{
	return costs.on ? 1e-9 * (double)atomic_load(&costs.nanoseconds) : __real_clock_seconds();
}

void __real_telemetry_window_begin(struct telemetry_window *window);
void __wrap_telemetry_window_begin(struct telemetry_window *window);
void __wrap_telemetry_window_begin(struct telemetry_window *window)
{
	struct telemetry_during before, now;

	telemetry_window_summary(window, &before);
	atomic_store(&costs.read, false);
	__real_telemetry_window_begin(window);
	do {
		clock_sleep(1e-4);
		telemetry_window_summary(window, &now);
	} while (costs.on && now.readings == before.readings);
}

static enum status reading_that_costs(struct device *device, struct telemetry *out,
				      struct error *err)
{
	if (!atomic_load(&costs.read))
		atomic_fetch_add(&costs.nanoseconds, costs.reading_nanoseconds);
	atomic_store(&costs.read, true);
	return nothing_to_tell(device, out, err);
}

static enum status launch_that_costs(struct stream *stream, const void *arguments,
				     struct error *err)
{
	atomic_fetch_add(&costs.nanoseconds, 1000000);
	return spy.real->kernel("empty")(stream, arguments, err);
}

static kernel_fn *costly_kernel(const char *name)
{
	return strcmp(name, "empty") == 0 ? launch_that_costs : spy.real->kernel(name);
}

static enum status run_telemetry(struct fixture *f, const char *settings, bool watched,
				 struct case_result *result, struct error *err)
{
	struct sampling rules = { .min_samples = 3, .max_samples = 3 };
	struct run run = { .result = result,
			   .devices = f->devices,
			   .device_count = 1,
			   .sampler = { .rules = &rules, .device = f->devices[0] } };
	char ini[300];
	enum status status;

	*err = (struct error)ERROR_NONE;
	case_result_init(result);
	snprintf(ini, sizeof(ini), SELFTEST "checks = telemetry\n%s", settings);
	plan_from(f, ini, f->infos, 1);
	run.c = &f->plan.cases[0];
	run.telemetry = watched ? telemetry_window_open(f->devices[0], 10e-3) : NULL;
	status = run.c->suite->run(&run, err);
	telemetry_window_close(run.telemetry);
	assert_nothing_open("telemetry");
	plan_done(f);
	return status;
}

/* The real clock and the real thread: generous, since the machine may be busy. */
static void test_watching_is_measured(void **state)
{
	struct case_result result;
	struct error err;

	spy_reset();
	spy.table.telemetry_quick = nothing_to_tell;
	if (run_telemetry(*state, "disturbance = 900 %\n", true, &result, &err) != STATUS_OK)
		fail_msg("%s", err.message);
	assert_true(result.verification.done);
	case_result_release(&result);
	assert_int_equal(run_telemetry(*state, "", false, &result, &err), STATUS_UNSUPPORTED);
	case_result_release(&result);
}

/* Time of readings of 40 launches, by a scripted clock: 0.5 % is allowed, 2 % is not. */
static void test_watching_must_not_disturb(void **state)
{
	static const struct {
		int_fast64_t nanoseconds;
		double effect;
		enum status status;
	} readings[] = { { 0, 0, STATUS_OK },
			 { 200000, 0.005, STATUS_OK },
			 { 800000, 0.02, STATUS_MISMATCH } };

	spy_reset();
	spy.table.telemetry_quick = reading_that_costs;
	spy.table.kernel = costly_kernel;
	costs.on = true;
	for (size_t i = 0; i < ARRAY_SIZE(readings); i++) {
		struct case_result result;
		struct error err;
		enum status status;

		costs.reading_nanoseconds = readings[i].nanoseconds;
		status = run_telemetry(*state, "disturbance = 1 %\n", true, &result, &err);
		if (status != readings[i].status)
			fail_msg("reading %zu: %s", i, err.message);
		assert_float_equal(case_metric(&result, "selftest.telemetry_effect")->value,
				   readings[i].effect, 1e-3);
		/*
		 * A passed check's error is within its tolerance, or every verdict would call it
		 * wrong.
		 */
		if (status == STATUS_OK)
			assert_true(result.verification.error <= result.verification.tolerance);
		if (status != STATUS_OK)
			assert_non_null(strstr(err.message,
					       "telemetry slows down launches by at least "
					       "2 %, tolerance 1 %"));
		case_result_release(&result);
	}
}

/* The interval by ranks against one counted by hand. */
static enum status next_value(void *context, double *seconds, struct error *err)
{
	double **next = context;

	(void)err;
	*seconds = *(*next)++;
	return STATUS_OK;
}

static void test_ratio_of_a_trial(void **state)
{
	double a[] = { 1, 1, 1, 1, 2 }, b[] = { 3, 3, 3, 3, 12 };
	double *at_a = a, *at_b = b;
	struct contender first = { next_value, &at_a }, second = { next_value, &at_b };
	struct error err = ERROR_NONE;
	struct ratio ratio;

	(void)state;
	/* 16 times 3, 4 times 1.5, 4 times 12, once 6: sorted 1.5 x4, 3 x16, 6, 12 x4. */
	assert_int_equal(selftest_trial_run(&first, &second, &ratio, &err), STATUS_OK);
	assert_true(at_a == a + 5 && at_b == b + 5);
	assert_float_equal(ratio.value, 3, 1e-12);
	assert_float_equal(ratio.low, 1.5, 1e-12);
	assert_float_equal(ratio.high, 12, 1e-12);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, reset)
	const struct CMUnitTest tests[] = {
		TEST(test_a_wrong_clock_fails),
		TEST(test_the_real_clock_passes),
		TEST(test_an_empty_sample_must_be_short),
		TEST(test_an_injected_slowdown_must_be_found),
		TEST(test_false_alarms_fail),
		TEST(test_an_injected_bit_must_be_found),
		TEST(test_watching_is_measured),
		TEST(test_watching_must_not_disturb),
		TEST(test_ratio_of_a_trial),
	};

	return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
