/* Damage that a worker does to itself costs the case in flight and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "conduct_asserts.h"

/* Cases 1 to 5, of which 3 does something bad. */
static void with_bad_third(enum deed deed, enum case_status status, const char *reason)
{
	struct rig rig;

	deeds[3] = deed;
	rig_begin(&rig, RIG_STEPS "1..5\n");
	assert_int_equal(rig_conduct(&rig, false), STATUS_OK);
	assert_string_equal(rig.result.state, "complete");
	assert_int_equal(rig.result.case_count, 5);
	assert_int_equal(rig.result.planned, 5);
	for (int i = 1; i <= 5; i++)
		assert_status(&rig, i, i == 3 ? status : CASE_OK);
	assert_reason(&rig, 3, reason);
	/* The plan's order, whatever happened. */
	for (size_t i = 0; i < 5; i++)
		assert_string_equal(rig.result.cases[i].id, rig.plan.cases[i].id);
	rig_end(&rig);
}

static void a_worker_that_dies_costs_one_case(void **state)
{
	(void)state;
	with_bad_third(DO_SEGFAULT, CASE_ERROR, "worker killed by signal 11 (Segmentation fault)");
	with_bad_third(DO_ABORT, CASE_ERROR, "worker killed by signal 6 (Aborted)");
	with_bad_third(DO_KILL, CASE_ERROR, "worker killed by signal 9 (Killed)");
	with_bad_third(DO_EXIT, CASE_ERROR, "worker exited with code 3");
	with_bad_third(DO_EXIT_ZERO, CASE_ERROR, "worker exited with code 0");
	with_bad_third(DO_LAST_WORDS, CASE_ERROR,
		       "(Aborted); last output: library: assertion failed");
}

static void a_worker_that_hangs_is_killed(void **state)
{
	double start = clock_seconds();

	(void)state;
	with_bad_third(DO_HANG, CASE_ERROR, "hung: no result within 1.000 s (killed)");
	assert_true(clock_seconds() - start < 10);
}

static void lines_that_make_no_sense_cost_one_case(void **state)
{
	(void)state;
	with_bad_third(DO_GARBAGE, CASE_ERROR, "worker sent a malformed line: ? what is this?");
	with_bad_third(DO_TORN_LINE, CASE_ERROR, "worker exited with code 0");
	with_bad_third(DO_OTHER_CASE, CASE_ERROR, "worker sent a malformed line: {\"start\":0}");
}

/* No reader would take a result with such a case: all others would be lost. */
static void a_case_that_makes_no_sense_costs_itself(void **state)
{
	(void)state;
	with_bad_third(DO_NONSENSE, CASE_ERROR,
		       "invalid result from the worker: metrics.steps.process.high: ");
}

static void statuses_become_case_statuses(void **state)
{
	(void)state;
	with_bad_third(DO_MISMATCH, CASE_FAILED, "wrong result at 5: expected 1, got 2");
	with_bad_third(DO_UNSUPPORTED, CASE_SKIPPED, "no such precision");
	with_bad_third(DO_DEVICE_ERROR, CASE_ERROR, "cudaFoo: cudaErrorIllegalAddress");
}

static void what_does_not_fit_is_skipped_with_figures(void **state)
{
	(void)state;
	with_bad_third(DO_WANT_MEMORY, CASE_SKIPPED,
		       "needs 1153 PB of memory on host:0, which has ");
}

static void a_device_error_means_a_fresh_process(void **state)
{
	struct rig rig;

	(void)state;
	deeds[3] = DO_DEVICE_ERROR;
	rig_begin(&rig, RIG_STEPS "1..5\n");
	assert_int_equal(rig_conduct(&rig, false), STATUS_OK);
	assert_true(rig_value(&rig, 1, "steps.process") == rig_value(&rig, 2, "steps.process"));
	assert_true(rig_value(&rig, 2, "steps.process") != rig_value(&rig, 4, "steps.process"));
	assert_true(rig_value(&rig, 4, "steps.process") == rig_value(&rig, 5, "steps.process"));
	/* None of them was the conductor. */
	assert_true(rig_value(&rig, 1, "steps.process") != (double)getpid());
	rig_end(&rig);
}

static void every_case_may_crash(void **state)
{
	struct rig rig;

	(void)state;
	for (int i = 1; i <= 12; i++)
		deeds[i] = i % 2 ? DO_SEGFAULT : DO_EXIT;
	rig_begin(&rig, RIG_STEPS "1..13\n");
	assert_int_equal(rig_conduct(&rig, false), STATUS_OK);
	assert_int_equal(rig.result.case_count, 13);
	for (int i = 1; i <= 12; i++)
		assert_status(&rig, i, CASE_ERROR);
	assert_status(&rig, 13, CASE_OK);
	rig_end(&rig);
}

static void a_rank_that_dies_takes_its_case_along(void **state)
{
	static const struct {
		enum deed deed;
		const char *reason;
	} rows[] = {
		{ DO_SEGFAULT, "rank 1 (host:1) killed by signal 11" },
		{ DO_EXIT, "rank 1 (host:1) exited with code 3" },
		{ DO_HANG, "hung: no result within" },
		{ DO_DEVICE_ERROR, "rank 1: cudaFoo" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct rig rig;

		deeds[2] = rows[i].deed;
		rig_begin(&rig, RIG_RANKS "1..3\n");
		assert_int_equal(rig_conduct(&rig, false), STATUS_OK);
		assert_status(&rig, 1, CASE_OK);
		assert_status(&rig, 2, CASE_ERROR);
		assert_reason(&rig, 2, rows[i].reason);
		assert_status(&rig, 3, CASE_OK);
		assert_true(rig_value(&rig, 3, "steps.process") == 2); /* both ranks took part */
		rig_end(&rig);
	}
}

/*
 * One rank fails where the other waits for it in a collective: the case says why, long before its
 * time is over.
 */
static void a_rank_that_fails_frees_those_who_wait_for_it(void **state)
{
	struct rig rig;
	double start = clock_seconds();

	(void)state;
	deeds[2] = DO_STRAND;
	rig_begin(&rig, "[run]\nbackend = host\nhost_devices = 2\ncase_limit = 500s\n"
			"[suite ranks]\ncases = 1..3\n");
	assert_int_equal(rig_conduct(&rig, false), STATUS_OK);
	assert_status(&rig, 2, CASE_ERROR);
	assert_string_equal(rig_case(&rig, 2)->reason, "rank 1: cudaFoo: cudaErrorIllegalAddress");
	assert_status(&rig, 3, CASE_OK);
	assert_true(clock_seconds() - start < 200);
	rig_end(&rig);
}

/* A run must not wait for hundreds of cases that each hang for their whole limit. */
static void a_group_that_only_hangs_is_given_up(void **state)
{
	struct rig rig;

	(void)state;
	for (int i = 1; i <= 10; i++)
		deeds[i] = DO_HANG;
	rig_begin(&rig, "[run]\nbackend = host\ncase_limit = 50ms\n[suite steps]\ncases = 1..10\n");
	assert_int_equal(rig_conduct(&rig, false), STATUS_OK);
	assert_int_equal(rig.result.case_count, 10);
	assert_reason(&rig, 8, "hung: no result within 50.00 ms");
	assert_reason(&rig, 9, "not attempted, because workers of this suite keep dying: hung");
	assert_status(&rig, 10, CASE_ERROR);
	rig_end(&rig);
}

#define RIG_FAKE "[run]\nbackend = fake\n[suite steps]\ncases = 1..3\n"

static void a_worker_that_never_gets_to_a_case(void **state)
{
	struct rig rig;

	(void)state;
	setenv("GPUPROOF_BACKENDS", BUILD_DIR "/tests/backends", 1);
	rig_begin(&rig, RIG_FAKE);
	setenv("GPUPROOF_FAKE", "abort@open", 1);
	assert_int_equal(rig_conduct(&rig, false), STATUS_OK);
	for (int i = 1; i <= 3; i++) {
		assert_status(&rig, i, CASE_ERROR);
		assert_reason(&rig, i,
			      "not attempted, because workers of this suite keep dying: worker "
			      "killed by "
			      "signal 6");
	}
	rig_end(&rig);
	unsetenv("GPUPROOF_FAKE");
}

static void a_device_that_never_opens(void **state)
{
	struct rig rig;

	(void)state;
	rig_begin(&rig, RIG_FAKE);
	rig.start_seconds = 0.3;
	setenv("GPUPROOF_FAKE", "hang@device_open", 1);
	assert_int_equal(rig_conduct(&rig, false), STATUS_OK);
	for (int i = 1; i <= 3; i++)
		assert_reason(&rig, i,
			      "hung: the devices were not opened within 300.0 ms (killed)");
	rig_end(&rig);
	unsetenv("GPUPROOF_FAKE");
}

/*
 * The probe: a driver that crashes, hangs or lies there is an error with a name, not the end of the
 * program.
 */
static void probes_that_fail_say_why(void **state)
{
	static const struct {
		const char *script, *message;
	} rows[] = {
		{ "segfault@open", "the probe process killed by signal 11 (Segmentation fault)" },
		{ "exit@device_info", "the probe process exited with code 3" },
	};
	static const char text[] = RIG_FAKE;
	struct text errors = TEXT_EMPTY;
	struct config config;

	(void)state;
	assert_int_equal(config_parse_with(&config, &rig_schema, "rig.ini", text, strlen(text),
					   NULL, 0, &errors),
			 STATUS_OK);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct error err = ERROR_NONE;
		struct probe probe;

		setenv("GPUPROOF_FAKE", rows[i].script, 1);
		assert_int_equal(probe_devices(&probe, &config, &err), STATUS_DEVICE);
		assert_non_null(strstr(err.message, rows[i].message));
		assert_int_equal(probe.device_count, 0);
	}
	/* A backend that says no is not there; one whose device cannot be read says so. */
	setenv("GPUPROOF_FAKE", "error@device_info", 1);
	{
		struct error err = ERROR_NONE;
		struct probe probe;
		bool told = false;

		assert_int_equal(probe_devices(&probe, &config, &err), STATUS_OK);
		assert_int_equal(probe.device_count, 0);
		for (size_t i = 0; i < probe.finding_count; i++)
			told = told || strstr(probe.findings[i].text, "FAKE_ERROR_STICKY");
		assert_true(told);
		probe_release(&probe);
	}
	unsetenv("GPUPROOF_FAKE");
	config_release(&config);
}

static void planned_skips_need_no_worker(void **state)
{
	struct rig rig;

	(void)state;
	rig_begin(&rig, RIG_STEPS "60\n");
	assert_int_equal(rig_conduct(&rig, false), STATUS_OK);
	assert_status(&rig, 60, CASE_SKIPPED);
	assert_reason(&rig, 60, "sixty is too many");
	rig_end(&rig);
}

static void a_finished_case_says_what_it_was(void **state)
{
	struct rig rig;
	const struct case_result *c;
	struct result read;
	struct error err = ERROR_NONE;
	char *path;

	(void)state;
	rig_begin(&rig, RIG_STEPS "7\n");
	assert_int_equal(rig_conduct(&rig, false), STATUS_OK);
	path = rig_path(&rig, "result.json");
	assert_int_equal(result_read(&read, path, &err), STATUS_OK);
	assert_int_equal(read.case_count, 1);
	c = &read.cases[0];
	assert_string_equal(c->suite, "steps");
	assert_string_equal(c->id, "steps/7@host:0");
	assert_string_equal(c->device, "host:0");
	assert_string_equal(case_parameter(c, "case")->text, "7");
	assert_string_equal(c->reason, "");
	assert_true(c->seconds > 0 && c->started_seconds >= 0);
	assert_string_equal(read.state, "complete");
	assert_string_equal(read.config_name, "rig.ini");
	assert_int_equal(read.device_count, 2);
	assert_true(read.environment_count > 0);
	assert_int_equal(strlen(read.run_id), 16);
	result_release(&read);
	free(path);
	rig_end(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_worker_that_dies_costs_one_case),
		cmocka_unit_test(a_worker_that_hangs_is_killed),
		cmocka_unit_test(lines_that_make_no_sense_cost_one_case),
		cmocka_unit_test(a_case_that_makes_no_sense_costs_itself),
		cmocka_unit_test(statuses_become_case_statuses),
		cmocka_unit_test(what_does_not_fit_is_skipped_with_figures),
		cmocka_unit_test(a_device_error_means_a_fresh_process),
		cmocka_unit_test(every_case_may_crash),
		cmocka_unit_test(a_rank_that_dies_takes_its_case_along),
		cmocka_unit_test(a_rank_that_fails_frees_those_who_wait_for_it),
		cmocka_unit_test(a_group_that_only_hangs_is_given_up),
		cmocka_unit_test(a_worker_that_never_gets_to_a_case),
		cmocka_unit_test(a_device_that_never_opens),
		cmocka_unit_test(probes_that_fail_say_why),
		cmocka_unit_test(planned_skips_need_no_worker),
		cmocka_unit_test(a_finished_case_says_what_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
