/*
 * Cases that share a worker, and the cost when one of them dies: see run/conductor.h and
 * src/plan/suite.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/mman.h>

#include "conduct_asserts.h"

/* Contexts and communicators take longer than many a case: processes that can keep them do. */
static void suites_share_teams(void **state)
{
	static const char text[] =
		"[run]\nbackend = host\nhost_devices = 2\ncase_limit = 1s\n[suite steps]\ncases = "
		"1, 2\n[suite ranks]\ncases = 11, 12\n[suite others]\ncases = 21..23\n[suite "
		"more_ranks]\ncases = 31\n";
	struct rig rig;

	(void)state;
	rig_begin(&rig, text);
	assert_int_equal(rig_conduct(&rig, false), STATUS_OK);
	assert_int_equal(rig.result.case_count, 8);
	assert_true(rig_value(&rig, 1, "steps.process") == rig_value(&rig, 23, "steps.process"));
	assert_true(rig_value(&rig, 11, "steps.first_rank") ==
		    rig_value(&rig, 31, "steps.first_rank"));
	assert_true(rig_value(&rig, 1, "steps.process") != rig_value(&rig, 11, "steps.first_rank"));
	assert_true(rig_value(&rig, 31, "steps.process") == 2);
	/* State that a suite keeps is gone before the next one begins, and only then. */
	assert_true(rig_value(&rig, 2, "steps.releases") == 0);
	assert_true(rig_value(&rig, 21, "steps.releases") == 1);
	assert_true(rig_value(&rig, 23, "steps.releases") == 1);
	/* The result has the plan's order, whichever came first. */
	assert_string_equal(rig.result.cases[2].suite, "ranks");
	assert_string_equal(rig.result.cases[7].suite, "more_ranks");
	rig_end(&rig);
}

/*
 * Starting three processes takes as long as starting two: who needs fewer takes the first ones of
 * them.
 */
static void fewer_ranks_are_the_first_of_more(void **state)
{
	static const char text[] =
		"[run]\nbackend = host\nhost_devices = 3\ncase_limit = 1s\n[suite ranks]\ncases = "
		"11, 12\n[suite wide]\ncases = 41, 42\n[suite more_ranks]\ncases = 31, 32\n";
	static const int numbers[] = { 11, 12, 41, 42, 31, 32 };
	struct rig rig;

	(void)state;
	rig_begin(&rig, text);
	assert_int_equal(rig_conduct(&rig, false), STATUS_OK);
	assert_int_equal(rig.result.case_count, ARRAY_SIZE(numbers));
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		assert_status(&rig, numbers[i], CASE_OK);
		assert_true(rig_value(&rig, numbers[i], "steps.process") == (i / 2 == 1 ? 3 : 2));
		assert_true(rig_value(&rig, numbers[i], "steps.first_rank") ==
			    rig_value(&rig, 11, "steps.first_rank"));
	}
	rig_end(&rig);
}

/*
 * A rank that dies, hangs or strands another costs its case alone, with ranks that wait and
 * without.
 */
static void ranks_fail_while_others_wait(void **state)
{
	static const char text[] =
		"[run]\nbackend = host\nhost_devices = 3\ncase_limit = 5s\n[suite ranks]\ncases = "
		"11..15\n[suite wide]\ncases = 41, 42\n[suite more_ranks]\ncases = 31\n";
	static const struct {
		int number;
		enum case_end end;
	} failed[] = { { 11, CASE_END_CRASHED },
		       { 12, CASE_END_DEVICE },
		       { 14, CASE_END_DEVICE },
		       { 41, CASE_END_CRASHED } };
	struct rig rig;

	(void)state;
	deeds[11] = DO_SEGFAULT;
	deeds[12] = DO_DEVICE_ERROR;
	deeds[14] = DO_STRAND;
	deeds[41] = DO_ABORT;
	rig_begin(&rig, text);
	assert_int_equal(rig_conduct(&rig, false), STATUS_OK);
	assert_int_equal(rig.result.case_count, 8);
	for (size_t i = 0; i < ARRAY_SIZE(failed); i++) {
		const struct case_result *c = rig_case(&rig, failed[i].number);

		assert_int_equal(c->end, failed[i].end);
		assert_int_equal(c->failed_rank, 1);
		assert_string_equal(c->failed_device, "host:1");
		assert_string_equal(c->failed_node, "");
	}
	assert_int_equal(rig_case(&rig, 13)->failed_rank, -1);
	assert_string_equal(rig_case(&rig, 13)->failed_device, "");
	assert_reason(&rig, 11, "rank 1 (host:1) killed by signal 11 (Segmentation fault)");
	assert_reason(&rig, 12, "rank 1: cudaFoo: cudaErrorIllegalAddress");
	assert_status(&rig, 13, CASE_OK);
	assert_reason(&rig, 14, "rank 1: cudaFoo: cudaErrorIllegalAddress");
	assert_status(&rig, 15, CASE_OK);
	assert_reason(&rig, 41, "rank 1 (host:1) killed by signal 6 (Aborted)");
	assert_status(&rig, 42, CASE_OK);
	assert_status(&rig, 31, CASE_OK);
	rig_end(&rig);
}

static unsigned releases_after(enum deed deed)
{
	static const char text[] =
		"[run]\nbackend = host\nhost_devices = 3\ncase_limit = 5s\n[suite wide]\n"
		"cases = 41\n[suite ranks]\ncases = 11, 12\n";
	struct rig rig;
	unsigned count;

	ranks_releases = mmap(NULL, sizeof(*ranks_releases), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	deeds[12] = deed;
	rig_begin(&rig, text);
	assert_int_equal(rig_conduct(&rig, false), STATUS_OK);
	assert_status(&rig, 12, deed == DO_WORK ? CASE_OK : CASE_ERROR);
	rig_end(&rig);
	count = *ranks_releases;
	munmap(ranks_releases, sizeof(*ranks_releases));
	ranks_releases = NULL;
	deeds[12] = DO_WORK;
	return count;
}

/*
 * Resources that ranks keep together are closed by all of them together, also those that had no
 * part in the last case; or none does.
 */
static void ranks_let_go_together(void **state)
{
	(void)state;
	assert_int_equal(releases_after(DO_WORK), 3);
	assert_int_equal(releases_after(DO_DEVICE_ERROR), 0);
}

static void a_shared_worker_that_dies_costs_one_case(void **state)
{
	struct rig rig;

	(void)state;
	deeds[2] = DO_SEGFAULT;
	deeds[21] = DO_HANG;
	rig_begin(&rig, "[run]\nbackend = host\ncase_limit = 500ms\n[suite steps]\ncases = 1, 2\n"
			"[suite others]\ncases = 21..23\n");
	assert_int_equal(rig_conduct(&rig, false), STATUS_OK);
	assert_status(&rig, 1, CASE_OK);
	assert_status(&rig, 2, CASE_ERROR);
	assert_reason(&rig, 2, "worker killed by signal 11 (Segmentation fault)");
	assert_reason(&rig, 21, "hung: no result within 500.0 ms (killed)");
	assert_status(&rig, 22, CASE_OK);
	assert_status(&rig, 23, CASE_OK);
	rig_end(&rig);
}

/* One suite that only hangs says nothing about the next one. */
static void a_suite_is_given_up_by_itself(void **state)
{
	struct rig rig;

	(void)state;
	for (int i = 1; i <= 10; i++)
		deeds[i] = DO_HANG;
	rig_begin(&rig, "[run]\nbackend = host\ncase_limit = 500ms\n[suite steps]\ncases = 1..10\n"
			"[suite others]\ncases = 21..23\n");
	assert_int_equal(rig_conduct(&rig, false), STATUS_OK);
	assert_reason(&rig, 10, "not attempted, because workers of this suite keep dying: hung");
	for (int i = 21; i <= 23; i++)
		assert_status(&rig, i, CASE_OK);
	rig_end(&rig);
}

#define RIG_PAIRS \
	"[run]\nbackend = host\nhost_devices = 3\ncase_limit = 2s\n[suite pairs]\ncases = "

/* As many as follow each other on devices of their own, and none that does not want to. */
static void neighbours_on_other_devices_are_a_group(void **state)
{
	struct rig rig;

	(void)state;
	rig_begin(&rig, RIG_PAIRS "1..5, 50..52\n");
	assert_int_equal(rig_conduct(&rig, false), STATUS_OK);
	assert_int_equal(rig.result.case_count, 8);
	/* 1, 2, 3 are on devices 1, 2, 0; 4 is on device 1 again, 5 on 2; 50 wants to be alone. */
	assert_true(rig_value(&rig, 1, "steps.group_size") == 3);
	assert_true(rig_value(&rig, 3, "steps.group_size") == 3);
	assert_true(rig_value(&rig, 4, "steps.group_size") == 2);
	assert_true(rig_value(&rig, 5, "steps.group_size") == 2);
	/* The first of its group asks others in; 52 is the third. */
	assert_true(rig_value(&rig, 50, "steps.group_size") == 3);
	rig_end(&rig);
}

/* The case at fault is unknown: all are repeated alone, and only that case has no result. */
static void a_group_that_dies_costs_only_the_case_at_fault(void **state)
{
	static const struct {
		enum deed deed;
		enum case_status status;
		const char *reason;
		double group_size; /* of the others */
	} rows[] = {
		{ DO_SEGFAULT, CASE_ERROR, "worker killed by signal 11", 1 },
		{ DO_EXIT_ZERO, CASE_ERROR, "worker exited with code 0", 1 },
		{ DO_HANG, CASE_ERROR, "hung: no result within", 1 },
		{ DO_DEVICE_ERROR, CASE_ERROR, "cudaFoo: cudaErrorIllegalAddress", 1 },
		{ DO_MISMATCH, CASE_FAILED, "wrong result at 5: expected 1, got 2", 3 },
		{ DO_UNSUPPORTED, CASE_SKIPPED, "no such precision", 3 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct rig rig;

		deeds[2] = rows[i].deed;
		rig_begin(&rig, RIG_PAIRS "1..3\n");
		assert_int_equal(rig_conduct(&rig, false), STATUS_OK);
		assert_int_equal(rig.result.case_count, 3);
		assert_status(&rig, 1, CASE_OK);
		assert_status(&rig, 2, rows[i].status);
		assert_reason(&rig, 2, rows[i].reason);
		assert_status(&rig, 3, CASE_OK);
		assert_true(rig_value(&rig, 1, "steps.group_size") == rows[i].group_size);
		assert_true(rig_value(&rig, 3, "steps.group_size") == rows[i].group_size);
		rig_end(&rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(suites_share_teams),
		cmocka_unit_test(fewer_ranks_are_the_first_of_more),
		cmocka_unit_test(ranks_fail_while_others_wait),
		cmocka_unit_test(ranks_let_go_together),
		cmocka_unit_test(a_shared_worker_that_dies_costs_one_case),
		cmocka_unit_test(a_suite_is_given_up_by_itself),
		cmocka_unit_test(neighbours_on_other_devices_are_a_group),
		cmocka_unit_test(a_group_that_dies_costs_only_the_case_at_fault),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
