/*
 * Verdicts: what is accepted, what is not, and that nothing missing or broken ever counts as
 * passed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "judge/estimate/kind.h"
#include "judge/estimate/pool.h"
#include "judge_fixture.h"
#include "reference/spec.h"

#define BANDWIDTH "metric = transfer.bandwidth\n"

static void put_reason(struct case_result *c, const char *reason)
{
	free(c->reason);
	c->reason = xstrdup(reason);
}

/* Judges results by one limit. */
static void judge_by(const char *body, const struct result *results, size_t count,
		     const struct result *baseline, struct verdicts *v)
{
	struct limits limits;
	struct judge_input input = { .results = results,
				     .count = count,
				     .baseline = baseline,
				     .baseline_count = baseline ? 1 : 0,
				     .limits = &limits };

	memset(v, 0, sizeof(*v));
	limits_from(&limits, body);
	assert_int_equal(limits.count, 1);
	judge_machine_results(&input, v);
	verdicts_finish(v);
	judge_limits_release(&limits);
}

struct row {
	const char *limit;
	double value, half;
	enum verdict verdict;
	int exit_code;
};

static void bounds_decide(void **state)
{
	/* One launch: half width 1.86 x 0.5 % = 0.93 % on either side. */
	static const struct row rows[] = {
		{ "min = 47 GB/s", 55e9, 0.001, VERDICT_PASS, 0 },
		{ "min = 54.4 GB/s", 55e9, 0.001, VERDICT_PASS, 0 },
		{ "min = 54.6 GB/s", 55e9, 0.001, VERDICT_INCONCLUSIVE, 4 },
		{ "min = 55.4 GB/s", 55e9, 0.001, VERDICT_INCONCLUSIVE, 4 },
		{ "min = 55.6 GB/s", 55e9, 0.001, VERDICT_FAIL, 1 },
		{ "max = 54.4 GB/s", 55e9, 0.001, VERDICT_FAIL, 1 },
		{ "max = 55.4 GB/s", 55e9, 0.001, VERDICT_INCONCLUSIVE, 4 },
		{ "max = 55.6 GB/s", 55e9, 0.001, VERDICT_PASS, 0 },
		/* Samples that scatter widen it. */
		{ "min = 54.4 GB/s", 55e9, 0.02, VERDICT_INCONCLUSIVE, 4 },
		{ "min = 56 GB/s", 55e9, 0.05, VERDICT_INCONCLUSIVE, 4 },
		{ "min = 54.6 GB/s\nlaunch_spread = 0.1 %", 55e9, 0.001, VERDICT_PASS, 0 },
		{ "min = 60 GB/s\nseverity = warn", 55e9, 0.001, VERDICT_WARN, 0 },
		/* No more than a warning is at stake. */
		{ "min = 55.4 GB/s\nseverity = warn", 55e9, 0.001, VERDICT_INCONCLUSIVE, 0 },
		{ "min = 0.85 * spec.pcie_bandwidth", 55e9, 0.001, VERDICT_PASS, 0 },
		{ "min = 0.95 * spec.pcie_bandwidth", 55e9, 0.001, VERDICT_FAIL, 1 },
		{ "min = 0.9 * baseline", 55e9, 0.001, VERDICT_ERROR, 4 },
		{ "min = 1 GB/s", NAN, 0.001, VERDICT_ERROR, 4 },
		{ "min = 1 GB/s", INFINITY, 0.001, VERDICT_ERROR, 4 },
		{ "min = 1 GB/s", 0, 0.001, VERDICT_ERROR, 4 },
		{ "max = 1 GB/s", 0, 0.001, VERDICT_ERROR, 4 },
		{ "min = 1 GB/s", -5, 0.001, VERDICT_ERROR, 4 },
		{ "min = 1 GB/s\nwhere = direction:d2h", 55e9, 0.001, VERDICT_ERROR, 4 },
		{ "min = 1 GB/s\nwhere = direction:d2h|h2d, size:>=512MiB, device:cuda:0", 55e9,
		  0.001, VERDICT_PASS, 0 },
		{ "min = 1 GB/s\nwhere = size:<=256MiB", 55e9, 0.001, VERDICT_ERROR, 4 },
		{ "min = 1 GB/s\nwhere = model:H100", 55e9, 0.001, VERDICT_ERROR, 4 },
		{ "min = 1 GB/s\nwhere = model:H200", 55e9, 0.001, VERDICT_PASS, 0 },
		{ "min = 1 GB/s\nwhere = model:H100\nallow_skipped = yes", 55e9, 0.001,
		  VERDICT_SKIP, 4 },
		{ "outlier_margin = 5 %", 55e9, 0.001, VERDICT_SKIP, 4 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *body = xasprintf(BANDWIDTH "%s\n", rows[i].limit);
		struct verdicts v;
		struct result r;

		node_init(&r, 1, "NVIDIA H200");
		node_add(&r, 0, rows[i].value, rows[i].half);
		judge_by(body, &r, 1, NULL, &v);
		if (v.count != 1 || v.checks[0].verdict != rows[i].verdict ||
		    verdicts_exit_code(&v) != rows[i].exit_code)
			fail_msg("row %zu: %s: %s, exit code %d: %s", i, rows[i].limit,
				 v.count ? verdict_fields_name(v.checks[0].verdict) : "nothing",
				 verdicts_exit_code(&v), v.count ? v.checks[0].reason : "");
		verdicts_release(&v);
		result_release(&r);
		free(body);
	}
}

static void broken_cases_are_never_passed(void **state)
{
	static const struct {
		enum case_status status;
		const char *allow;
		enum verdict verdict;
		int exit_code;
	} rows[] = {
		/* Allowed or not: nothing at all was judged. */
		{ CASE_SKIPPED, "no", VERDICT_SKIP, 1 },
		{ CASE_SKIPPED, "yes", VERDICT_SKIP, 1 },
		{ CASE_ERROR, "yes", VERDICT_ERROR, 4 },
		{ CASE_FAILED, "yes", VERDICT_FAIL, 5 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *body =
			xasprintf(BANDWIDTH "min = 1 GB/s\nallow_skipped = %s\n", rows[i].allow);
		struct verdicts v;
		struct result r;

		node_init(&r, 1, "NVIDIA H200");
		node_add(&r, 0, 55e9, 0.001)->status = rows[i].status;
		judge_by(body, &r, 1, NULL, &v);
		assert_int_equal(v.checks[v.count - 1].verdict, rows[i].verdict);
		assert_int_equal(verdicts_exit_code(&v), rows[i].exit_code);
		verdicts_release(&v);
		result_release(&r);
		free(body);
	}
}

static void a_skip_of_what_an_identical_device_does_fails(void **state)
{
	struct verdicts v;
	struct result r;

	(void)state;
	node_init(&r, 2, "NVIDIA H200");
	node_add(&r, 0, 55e9, 0.001);
	node_add(&r, 1, 55e9, 0.001)->status = CASE_SKIPPED;
	judge_by(BANDWIDTH "min = 1 GB/s\nallow_skipped = yes\n", &r, 1, NULL, &v);
	assert_int_equal(verdicts_exit_code(&v), 1);
	assert_int_equal(v.counts[VERDICT_PASS], 1);
	assert_int_equal(v.counts[VERDICT_FAIL], 1);
	verdicts_release(&v);
	result_release(&r);
}

/* The other device is of a model whose link is not known. */
static void an_allowed_skip_with_a_pass_is_accepted_unless_strict(void **state)
{
	struct verdicts v;
	struct result r;

	(void)state;
	node_init(&r, 2, "NVIDIA H200");
	snprintf(r.devices[1].name, sizeof(r.devices[1].name), "Foo");
	r.devices[1].pcie_generation_max = r.devices[1].pcie_width_max = 0;
	node_add(&r, 0, 55e9, 0.001);
	node_add(&r, 1, 55e9, 0.001)->status = CASE_SKIPPED;
	judge_by(BANDWIDTH "min = 1 GB/s\nallow_skipped = yes\n", &r, 1, NULL, &v);
	assert_int_equal(verdicts_exit_code(&v), 0);
	assert_int_equal(v.counts[VERDICT_PASS], 1);
	v.strict = true;
	verdicts_finish(&v);
	assert_int_equal(verdicts_exit_code(&v), 4);
	verdicts_release(&v);
	result_release(&r);
}

static void a_warning_fails_when_strict(void **state)
{
	struct verdicts v;
	struct result r;

	(void)state;
	node_init(&r, 1, "NVIDIA H200");
	node_add(&r, 0, 55e9, 0.001);
	judge_by(BANDWIDTH "min = 60 GB/s\nseverity = warn\n", &r, 1, NULL, &v);
	assert_int_equal(v.overall, VERDICT_WARN);
	v.strict = true;
	verdicts_finish(&v);
	assert_int_equal(verdicts_exit_code(&v), 1);
	verdicts_release(&v);
	result_release(&r);
}

/*
 * All figures are there and good: a process that was lost on the way is said, and nothing is
 * signed.
 */
static void a_lost_worker_is_not_accepted(void **state)
{
	struct lost_worker lost = { .reason = xstrdup("rank 1 (cuda:1) killed by signal 11"),
				    .devices = xcalloc(1, sizeof(char *)),
				    .device_count = 1 };
	struct verdicts v;
	struct result r, more;

	(void)state;
	lost.devices[0] = xstrdup("cuda:1");
	node_init(&r, 2, "NVIDIA H200");
	node_add(&r, 0, 55e9, 0.001);
	node_add(&r, 1, 55e9, 0.001);
	node_init(&more, 2, "NVIDIA H200");
	node_add(&more, 1, 55e9, 0.001);
	case_result_lose(node_add(&more, 0, 55e9, 0.001), &lost);
	assert_null(lost.reason);
	judge_by(BANDWIDTH "min = 1 GB/s\n", &r, 1, NULL, &v);
	assert_int_equal(verdicts_exit_code(&v), 0);
	verdicts_release(&v);
	/* In any of the launches. */
	estimate_pool_launches(&r, 1, &more, 1);
	judge_by(BANDWIDTH "min = 1 GB/s\n", &r, 1, NULL, &v);
	assert_int_equal(verdicts_exit_code(&v), 4);
	assert_int_equal(v.counts[VERDICT_ERROR], 1);
	assert_string_equal(v.checks[0].devices, "cuda:1");
	assert_string_equal(v.checks[0].uuid, "GPU-1");
	assert_string_equal(v.checks[0].reason, "a worker process died, but no case was lost: rank "
						"1 (cuda:1) killed by signal 11");
	verdicts_release(&v);
	result_release(&r);
	result_release(&more);
}

/* Each text about a failed case of two devices names the one where it failed. */
static void the_device_at_fault_is_named(void **state)
{
	static const char *const wheres[] = { "", "where = size:1KiB\nallow_skipped = yes\n" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wheres); i++) {
		char *body = xasprintf(BANDWIDTH "min = 1 GB/s\n%s", wheres[i]);
		const struct verdict_reason *worst;
		struct case_result *c;
		struct verdicts v;
		struct result r;

		node_init(&r, 2, "NVIDIA H200");
		strcpy(r.devices[1].serial, "1650");
		c = node_add(&r, 0, 55e9, 0.001);
		c->devices = xrealloc(c->devices, 2, sizeof(*c->devices));
		c->devices[c->device_count++] = xstrdup("cuda:1");
		c->status = CASE_ERROR;
		c->end = CASE_END_DEVICE;
		free(c->reason);
		c->reason = xstrdup("rank 1: ncclAllReduce: unhandled cuda error");
		case_result_set_fault(c, 1);
		judge_by(body, &r, 1, NULL, &v);
		worst = &v.reasons[0];
		assert_string_equal(v.checks[v.count - 1].failed_device, "cuda:1");
		assert_string_equal(worst->devices, "cuda:1");
		assert_non_null(strstr(worst->headline, "GPU cuda:1"));
		assert_null(strstr(worst->headline, "cuda:0"));
		assert_non_null(strstr(v.sentence, "GPU cuda:1"));
		assert_int_equal(verdicts_exit_code(&v), 4);
		verdicts_release(&v);
		result_release(&r);
		free(body);
	}
}

/* A crash is told once, whether a limit is about its case or not. */
static void an_error_without_a_limit_is_not_accepted(void **state)
{
	static const char *const wheres[] = { "", "where = size:1KiB\nallow_skipped = yes\n" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wheres); i++) {
		char *body = xasprintf(BANDWIDTH "min = 1 GB/s\n%s", wheres[i]);
		struct case_result *c;
		struct verdicts v;
		struct result r;

		node_init(&r, 1, "NVIDIA H200");
		c = node_add(&r, 0, 55e9, 0.001);
		c->status = CASE_ERROR;
		free(c->reason);
		c->reason = xstrdup("worker killed by signal 11");
		judge_by(body, &r, 1, NULL, &v);
		assert_int_equal(verdicts_exit_code(&v), 4);
		assert_int_equal(v.counts[VERDICT_ERROR], 1);
		assert_non_null(strstr(v.checks[v.count - 1].reason, "worker killed by signal 11"));
		assert_string_equal(v.checks[v.count - 1].case_id, c->id);
		verdicts_release(&v);
		result_release(&r);
		free(body);
	}
}

static void no_check_is_a_failure(void **state)
{
	struct verdicts v = { 0 };

	(void)state;
	verdicts_finish(&v);
	assert_int_equal(v.overall, VERDICT_FAIL);
	assert_int_equal(verdicts_exit_code(&v), 1);
	assert_string_equal(v.sentence, "REJECTED: no check could be evaluated.");
	verdicts_release(&v);
}

static void missing_metric_and_wrong_unit_are_errors(void **state)
{
	struct verdicts v;
	struct result r;

	(void)state;
	node_init(&r, 2, "NVIDIA H200");
	strcpy(node_add(&r, 0, 55e9, 0.001)->metrics[0].unit, "s");
	r.cases[0].metrics[0].unit[1] = '\0';
	node_add(&r, 1, 55e9, 0.001)->metrics[0].name[0] = 'x';
	judge_by(BANDWIDTH "min = 1 GB/s\n", &r, 1, NULL, &v);
	assert_int_equal(v.count, 2);
	assert_int_equal(v.counts[VERDICT_ERROR], 2);
	assert_string_equal(v.checks[0].reason, "the unit is 's', not B/s");
	assert_string_equal(v.checks[1].reason, "the case has no such metric");
	verdicts_release(&v);
	/* A suite notes why it has no figure, such as an energy that was not measured. */
	case_result_note(&r.cases[1], "No energy was recorded: no counter.");
	judge_by(BANDWIDTH "min = 1 GB/s\n", &r, 1, NULL, &v);
	assert_int_equal(v.checks[1].verdict, VERDICT_ERROR);
	assert_string_equal(v.checks[1].reason, "the case has no such metric; its notes: "
						"No energy was recorded: no counter.");
	verdicts_release(&v);
	result_release(&r);
}

static void too_few_samples_pass_nothing(void **state)
{
	struct metric_value *m;
	struct verdicts v;
	struct result r;

	(void)state;
	node_init(&r, 1, "NVIDIA H200");
	m = node_add(&r, 0, 55e9, NAN)->metrics;
	m->n = 4;
	judge_by(BANDWIDTH "min = 1 GB/s\n", &r, 1, NULL, &v);
	assert_int_equal(v.checks[0].verdict, VERDICT_INCONCLUSIVE);
	verdicts_release(&v);
	judge_by(BANDWIDTH "min = 99 GB/s\n", &r, 1, NULL, &v);
	assert_int_equal(v.checks[0].verdict, VERDICT_FAIL);
	verdicts_release(&v);
	result_release(&r);
}

static void unsettle(struct result *r)
{
	struct series *series = case_result_add_times(&r->cases[0], "transfer.time");

	series->unsettled = true;
}

/*
 * The end of a series whose level drifts may be on either side of a bound, and it is above or below
 * by chance.
 */
static void what_has_not_settled_neither_passes_nor_fails(void **state)
{
	static const char *const limits[] = { BANDWIDTH "min = 1 GB/s\n",
					      BANDWIDTH "min = 99 GB/s\n" };
	struct result r[3];
	struct verdicts v;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		node_init(&r[i], 1, "NVIDIA H200");
		node_add(&r[i], 0, 55e9, 0.001);
	}
	unsettle(&r[0]);
	for (size_t i = 0; i < 2; i++) {
		judge_by(limits[i], r, 1, NULL, &v);
		assert_int_equal(v.checks[0].verdict, VERDICT_INCONCLUSIVE);
		assert_non_null(strstr(v.checks[0].reason, "not settled"));
		assert_float_equal(v.checks[0].value, 55e9, 1);
		assert_int_equal(verdicts_exit_code(&v), 4);
		verdicts_release(&v);
	}
	/* One of three launches is outvoted, two of three are not. */
	judge_by(limits[0], r, 3, NULL, &v);
	assert_int_equal(v.checks[0].verdict, VERDICT_PASS);
	verdicts_release(&v);
	unsettle(&r[1]);
	judge_by(limits[0], r, 3, NULL, &v);
	assert_int_equal(v.checks[0].verdict, VERDICT_INCONCLUSIVE);
	verdicts_release(&v);
	for (size_t i = 0; i < 3; i++)
		result_release(&r[i]);
}

static void launches_vote_on_what_has_settled(void **state)
{
	struct result r[4];

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		node_init(&r[i], 1, "NVIDIA H200");
		node_add(&r[i], 0, 55e9, 0.001);
		if (i != 0)
			case_result_add_times(&r[i].cases[0], "transfer.time");
	}
	unsettle(&r[0]);
	r[0].cases[0].metrics[0].headline = false;
	estimate_pool_launches(&r[0], 1, &r[1], 2);
	assert_false(r[0].cases[0].series[0].unsettled);
	assert_true(r[0].cases[0].metrics[0].headline);
	/* The other way round. */
	for (size_t i = 1; i < 3; i++)
		r[i].cases[0].series[0].unsettled = true;
	estimate_pool_launches(&r[3], 1, &r[1], 2);
	assert_true(r[3].cases[0].series[0].unsettled);
	assert_false(r[3].cases[0].metrics[0].headline);
	for (size_t i = 0; i < 4; i++)
		result_release(&r[i]);
}

static void devices_are_counted(void **state)
{
	struct verdicts v;
	struct result r;

	(void)state;
	node_init(&r, 7, "NVIDIA H200");
	for (size_t i = 0; i < 7; i++)
		node_add(&r, i, 55e9, 0.001);
	judge_by("metric = node.devices\nmin = 8\nmax = 8\n", &r, 1, NULL, &v);
	assert_int_equal(v.counts[VERDICT_FAIL], 1);
	assert_int_equal(v.counts[VERDICT_PASS], 1);
	verdicts_release(&v);
	judge_by("metric = node.devices\nmin = 7\nwhere = model:H100\n", &r, 1, NULL, &v);
	assert_int_equal(v.counts[VERDICT_FAIL], 1);
	verdicts_release(&v);
	/* A GH200 is no H200. */
	strcpy(r.devices[0].name, "NVIDIA GH200 480GB");
	judge_by("metric = node.devices\nmin = 7\nwhere = model:H200\n", &r, 1, NULL, &v);
	assert_int_equal(v.counts[VERDICT_FAIL], 1);
	assert_true(v.checks[0].value == 6);
	verdicts_release(&v);
	judge_by(BANDWIDTH "min = 1 GB/s\nwhere = model:H200|GH200\n", &r, 1, NULL, &v);
	assert_int_equal(v.counts[VERDICT_PASS], 7);
	verdicts_release(&v);
	judge_by(BANDWIDTH "min = 1 GB/s\nwhere = model:H200\n", &r, 1, NULL, &v);
	assert_int_equal(v.counts[VERDICT_PASS], 6);
	verdicts_release(&v);
	strcpy(r.devices[0].name, "NVIDIA H200");
	judge_by(BANDWIDTH "min = 1 GB/s\ndevices = 8\n", &r, 1, NULL, &v);
	assert_int_equal(v.counts[VERDICT_PASS], 7);
	assert_int_equal(v.counts[VERDICT_FAIL], 1);
	assert_string_equal(v.checks[0].reason, "measured on 7 devices; expected: 8");
	verdicts_release(&v);
	r.planned = 8;
	judge_by(BANDWIDTH "min = 1 GB/s\n", &r, 1, NULL, &v);
	assert_int_equal(verdicts_exit_code(&v), 4);
	verdicts_release(&v);

	/* Interrupted in its last case: all were begun, yet it is not accepted. */
	r.planned = r.case_count;
	judge_by(BANDWIDTH "min = 1 GB/s\n", &r, 1, NULL, &v);
	assert_int_equal(verdicts_exit_code(&v), 0);
	verdicts_release(&v);
	free(r.state);
	r.state = xstrdup("interrupted");
	judge_by(BANDWIDTH "min = 1 GB/s\n", &r, 1, NULL, &v);
	assert_int_equal(verdicts_exit_code(&v), 4);
	verdicts_release(&v);
	result_release(&r);
}

static void launches_are_pooled_and_narrow_the_bounds(void **state)
{
	static const double values[] = { 55.0e9, 55.1e9, 54.9e9, 55.05e9, 54.95e9 };
	struct result r[5];
	struct verdicts v;

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		node_init(&r[i], 1, "NVIDIA H200");
		node_add(&r[i], 0, values[i], 0.001);
	}
	judge_by(BANDWIDTH "min = 54.6 GB/s\n", r, 1, NULL, &v);
	assert_int_equal(v.checks[0].verdict, VERDICT_INCONCLUSIVE);
	verdicts_release(&v);
	judge_by(BANDWIDTH "min = 54.6 GB/s\n", r, 5, NULL, &v);
	assert_int_equal(v.checks[0].verdict, VERDICT_PASS);
	assert_int_equal(v.checks[0].launches, 5);
	assert_float_equal(v.checks[0].value, 55e9, 0.02e9);
	verdicts_release(&v);
	/* A wrong result in one launch is not outvoted. */
	r[3].cases[0].status = CASE_FAILED;
	judge_by(BANDWIDTH "min = 54.6 GB/s\n", r, 5, NULL, &v);
	assert_int_equal(verdicts_exit_code(&v), 5);
	verdicts_release(&v);
	for (size_t i = 0; i < 5; i++)
		result_release(&r[i]);
}

static void a_baseline_bounds_case_by_case(void **state)
{
	struct result r, before;
	struct verdicts v;

	(void)state;
	node_init(&r, 2, "NVIDIA H200");
	node_init(&before, 2, "NVIDIA H200");
	node_add(&r, 0, 55e9, 0.001);
	node_add(&r, 1, 50e9, 0.001);
	node_add(&before, 0, 55e9, 0.001);
	node_add(&before, 1, 55e9, 0.001);
	judge_by(BANDWIDTH "min = 0.95 * baseline\n", &r, 1, &before, &v);
	assert_int_equal(v.checks[0].verdict, VERDICT_PASS);
	assert_int_equal(v.checks[1].verdict, VERDICT_FAIL);
	assert_float_equal(v.checks[1].bound, 0.95 * 55e9, 1);
	assert_string_equal(v.checks[1].bound_origin, "baseline = 55.00 GB/s");
	verdicts_release(&v);
	/* Both sides' uncertainty counts. */
	judge_by(BANDWIDTH "min = 0.9 * baseline\n", &r, 1, &before, &v);
	assert_int_equal(v.checks[1].verdict, VERDICT_INCONCLUSIVE);
	verdicts_release(&v);
	result_release(&r);
	result_release(&before);
}

static void setting(struct result *r, const char *section, const char *key, const char *value)
{
	r->settings = xrealloc(r->settings, r->setting_count + 1, sizeof(*r->settings));
	r->settings[r->setting_count++] = (struct result_setting){ xstrdup(section), xstrdup(key),
								   xstrdup(value), xstrdup("") };
}

/* Another model, another way to measure, the judged run itself: such a baseline bounds nothing. */
static void a_baseline_that_does_not_fit_is_an_error(void **state)
{
	static const struct {
		const char *model, *run_id, *preheat, *samples, *reason;
	} rows[] = {
		{ "NVIDIA H200", "2", "1s", "20", "" },
		/* More samples of the same are the same. */
		{ "NVIDIA H200", "2", "1s", "200", "" },
		{ "Tesla K80", "2", "1s", "20",
		  "the baseline was measured on 'Tesla K80', but this run on 'NVIDIA H200'" },
		{ "NVIDIA H200", "1", "1s", "20",
		  "the baseline is the run itself (1), so the check could never fail" },
		{ "NVIDIA H200", "2", "0s", "20",
		  "the baseline was measured with [suite transfer] preheat = 0s, but this run with "
		  "1s" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct result r, before;
		struct verdicts v;

		node_init(&r, 1, "NVIDIA H200");
		node_init(&before, 1, rows[i].model);
		node_add(&r, 0, 55e9, 0.001);
		node_add(&before, 0, 55e9, 0.001);
		r.run_id = xstrdup("1");
		before.run_id = xstrdup(rows[i].run_id);
		setting(&r, "suite transfer", "preheat", "1s");
		setting(&r, "suite transfer", "max_samples", "20");
		setting(&before, "suite transfer", "preheat", rows[i].preheat);
		setting(&before, "suite transfer", "max_samples", rows[i].samples);
		judge_by(BANDWIDTH "min = 0.9 * baseline\n", &r, 1, &before, &v);
		assert_int_equal(v.checks[0].verdict,
				 *rows[i].reason ? VERDICT_ERROR : VERDICT_PASS);
		assert_int_equal(verdicts_exit_code(&v), *rows[i].reason ? 4 : 0);
		assert_string_equal(v.checks[0].reason, rows[i].reason);
		verdicts_release(&v);
		result_release(&r);
		result_release(&before);
	}
}

static void memory_errors_outrank_everything(void **state)
{
	struct case_result *c;
	struct verdicts v;
	struct result r;

	(void)state;
	node_init(&r, 1, "NVIDIA H200");
	c = node_add(&r, 0, 55e9, 0.001);
	c->before.ecc_uncorrected = 2;
	c->after.ecc_uncorrected = 3;
	judge_by(BANDWIDTH "min = 99 GB/s\n", &r, 1, NULL, &v);
	assert_int_equal(verdicts_exit_code(&v), 5);
	assert_string_equal(v.checks[0].reason,
			    "1 uncorrected memory error (ECC) during the case; 0 are allowed");
	/* No result was wrong, and no output may say so. */
	assert_false(v.wrong);
	assert_string_equal(v.reasons[0].headline,
			    "GPU cuda:0: 1 uncorrected memory error (ECC) during the case; 0 are "
			    "allowed");
	assert_null(strstr(v.sentence, "WRONG"));
	assert_non_null(strstr(v.sentence, "REJECTED: "));
	assert_non_null(strstr(v.reasons[0].remedy, "reset the GPU"));
	verdicts_release(&v);
	/* An error that the hardware corrected is a warning. */
	c->after.ecc_uncorrected = 2;
	c->before.ecc_corrected = 0;
	c->after.ecc_corrected = 7;
	judge_by(BANDWIDTH "min = 1 GB/s\n", &r, 1, NULL, &v);
	assert_int_equal(v.overall, VERDICT_WARN);
	assert_string_equal(v.checks[0].reason, "7 corrected memory errors (ECC) during the case");
	verdicts_release(&v);
	result_release(&r);
}

static void among_identical(double slow, size_t devices, const char *limit, struct verdicts *v)
{
	struct result r;

	node_init(&r, devices, "NVIDIA H200");
	for (size_t i = 0; i < devices; i++)
		node_add(&r, i, (i == 1 ? slow : 1) * 55e9 * (1 + 1e-4 * (double)(i % 3)), 0.001);
	judge_by(limit, &r, 1, NULL, v);
	result_release(&r);
}

static void the_slow_device_is_named(void **state)
{
	struct verdicts v;

	(void)state;
	among_identical(0.94, 8, BANDWIDTH "outlier_margin = 2 %\n", &v);
	assert_int_equal(v.counts[VERDICT_FAIL], 1);
	assert_int_equal(v.counts[VERDICT_PASS], 7);
	assert_int_equal(v.checks[1].verdict, VERDICT_FAIL);
	assert_string_equal(v.checks[1].devices, "cuda:1");
	assert_string_equal(v.checks[1].uuid, "GPU-1");
	verdicts_release(&v);
	/* A faster one is no reason to complain. */
	among_identical(1.06, 8, BANDWIDTH "outlier_margin = 2 %\n", &v);
	assert_int_equal(v.counts[VERDICT_PASS], 8);
	verdicts_release(&v);
	among_identical(0.94, 3, BANDWIDTH "outlier_margin = 2 %\nseverity = warn\n", &v);
	assert_int_equal(v.checks[1].verdict, VERDICT_WARN);
	verdicts_release(&v);
	among_identical(0.98, 8, BANDWIDTH "outlier_margin = 2 %\n", &v);
	assert_int_equal(v.checks[1].verdict, VERDICT_INCONCLUSIVE);
	verdicts_release(&v);
}

/*
 * The node has a wrong device: the slower of the two fails, and the reason says that it takes a
 * limit to be sure.
 */
static void of_two_the_slower_one_fails(void **state)
{
	struct verdicts v;

	(void)state;
	among_identical(0.94, 2, BANDWIDTH "outlier_margin = 2 %\n", &v);
	assert_int_equal(verdicts_exit_code(&v), 1);
	assert_int_equal(v.counts[VERDICT_FAIL], 1);
	assert_int_equal(v.counts[VERDICT_PASS], 1);
	assert_string_equal(v.checks[1].devices, "cuda:1");
	assert_int_equal(v.checks[1].verdict, VERDICT_FAIL);
	assert_string_equal(v.checks[1].reason, "5.99 % worse than the other device");
	assert_string_equal(v.checks[1].reference_device, "cuda:0");
	assert_non_null(strstr(v.reasons[0].text, "cannot prove which one is at fault"));
	verdicts_release(&v);
	/* A limit of its own tells which. */
	among_identical(0.5, 2, BANDWIDTH "min = 40 GB/s\noutlier_margin = 2 %\n", &v);
	assert_int_equal(v.counts[VERDICT_FAIL], 2);
	assert_string_equal(v.reasons[0].text,
			    "GPU cuda:1 is 50 % slower than cuda:0 in copies from the host (27.5 "
			    "GB/s against 55.0 GB/s; limit 2 %). It is also 31 % below the fixed "
			    "limit of 40.0 GB/s.");
	verdicts_release(&v);
	among_identical(0.999, 2, BANDWIDTH "outlier_margin = 2 %\n", &v);
	assert_int_equal(v.counts[VERDICT_PASS], 2);
	verdicts_release(&v);
}

/* Among identical devices each one that has no value gets a check that says so, wherever it is. */
static void a_device_without_a_value_is_no_peer(void **state)
{
	static const struct {
		enum case_status status;
		enum verdict verdict;
		int exit_code;
	} rows[] = { { CASE_SKIPPED, VERDICT_SKIP, 4 },
		     { CASE_ERROR, VERDICT_ERROR, 4 },
		     { CASE_FAILED, VERDICT_FAIL, 5 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (size_t at = 0; at < 3; at++) {
			struct case_result *c;
			size_t checked = 0;
			struct verdicts v;
			struct result r;
			bool missing;

			node_init(&r, 3, "NVIDIA H200");
			for (size_t d = 0; d < 3; d++)
				node_add(&r, d, 55e9, 0.001);
			c = &r.cases[at];
			c->status = rows[i].status;
			c->verification.done = false;
			free(c->reason);
			c->reason = xstrdup("no memory");
			judge_by(BANDWIDTH "outlier_margin = 2 %\n", &r, 1, NULL, &v);
			assert_int_equal(verdicts_exit_code(&v), rows[i].exit_code);
			assert_int_equal(v.wrong, rows[i].status == CASE_FAILED);
			for (size_t k = 0; k < v.count; k++) {
				const struct verdict_check *check = &v.checks[k];

				if (strcmp(check->limit, "a") != 0)
					continue;
				checked++;
				missing = strcmp(check->devices, c->device) == 0;
				assert_int_equal(check->verdict,
						 missing ? rows[i].verdict : VERDICT_PASS);
				assert_true(!missing || strstr(check->reason, "no memory"));
			}
			assert_int_equal(checked, 3);
			verdicts_release(&v);
			result_release(&r);
		}
}

/* Warn at a small margin, reject at a larger one; what lies about the larger one is not decided. */
static void a_limit_may_warn_before_it_rejects(void **state)
{
	static const struct {
		double slow;
		size_t devices;
		enum verdict verdict;
		int exit_code;
	} rows[] = {
		{ 0.99, 8, VERDICT_PASS, 0 }, { 0.95, 8, VERDICT_WARN, 0 },
		{ 0.5, 8, VERDICT_FAIL, 1 },  { 0.9, 8, VERDICT_INCONCLUSIVE, 4 },
		{ 0.95, 2, VERDICT_WARN, 0 }, { 0.5, 2, VERDICT_FAIL, 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct verdicts v;

		among_identical(rows[i].slow, rows[i].devices,
				BANDWIDTH "outlier_margin = 10 %\noutlier_margin_warn = 3 %\n", &v);
		if (v.checks[1].verdict != rows[i].verdict ||
		    verdicts_exit_code(&v) != rows[i].exit_code)
			fail_msg("row %zu: %s, exit code %d: %s", i,
				 verdict_fields_name(v.checks[1].verdict), verdicts_exit_code(&v),
				 v.checks[1].reason);
		verdicts_release(&v);
	}
}

/* Half of the devices slow: their scatter is no excuse. */
static void devices_that_scatter_widely_are_not_accepted(void **state)
{
	struct verdicts v;
	struct result r;

	(void)state;
	node_init(&r, 4, "NVIDIA H200");
	for (size_t i = 0; i < 4; i++)
		node_add(&r, i, (i % 2 ? 0.5 : 1) * 55e9, 0.001);
	judge_by(BANDWIDTH "outlier_margin = 10 %\n", &r, 1, NULL, &v);
	assert_int_equal(v.checks[1].verdict, VERDICT_INCONCLUSIVE);
	assert_int_equal(verdicts_exit_code(&v), 4);
	verdicts_release(&v);
	result_release(&r);
}

/* Whichever of the two it is: a wide interval leaves open whether they differ. */
static void a_noisy_identical_device_leaves_it_open(void **state)
{
	(void)state;
	for (size_t noisy = 0; noisy < 2; noisy++) {
		struct verdicts v;
		struct result r;

		node_init(&r, 2, "NVIDIA H200");
		for (size_t i = 0; i < 2; i++)
			node_add(&r, i, (i == 1 ? 0.94 : 1) * 55e9, i == noisy ? 0.2 : 0.001);
		judge_by(BANDWIDTH "outlier_margin = 2 %\n", &r, 1, NULL, &v);
		assert_int_equal(v.counts[VERDICT_INCONCLUSIVE], 2);
		verdicts_release(&v);
		result_release(&r);
	}
}

/* Sense: a limit that would never fire, and one that cannot be met. */
static void limits_without_sense_are_refused(void **state)
{
	static const struct {
		const char *limit, *message;
	} rows[] = {
		{ "min = 47 GB/s", "" },
		{ "min = 500 MB/s",
		  "test.ini:3: [limit a] min = 500 MB/s: only 0.79 % of the peak of a NVIDIA "
		  "H200 (pcie_bandwidth 63.02 GB/s), so it could never fail. Check the unit\n" },
		{ "min = 500 GB/s", "test.ini:3: [limit a] min = 500 GB/s: 7.93 times the peak "
				    "of a NVIDIA H200 (pcie_bandwidth 63.02 GB/s), so it would "
				    "always fail. Check the unit\n" },
		{ "max = 500 GB/s", "" },
		{ "min = 0.001 * spec.pcie_bandwidth", "" },
	};
	struct result r;

	(void)state;
	node_init(&r, 1, "NVIDIA H200");
	node_add(&r, 0, 55e9, 0.001);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *body = xasprintf(BANDWIDTH "%s\n", rows[i].limit);
		struct text errors = TEXT_EMPTY;
		struct limits limits;

		limits_from(&limits, body);
		assert_int_equal(judge_limits_make_sense(&limits, &r, &errors), !*rows[i].message);
		assert_string_equal(errors.data ? errors.data : "", rows[i].message);
		judge_limits_release(&limits);
		text_release(&errors);
		free(body);
	}
	result_release(&r);
}

static void data_sheets_are_found_by_name(void **state)
{
	const char *status = "";
	double value = 0;
	struct device_info unknown = { .name = "Unheard-of GPU",
				       .pcie_generation_max = 4,
				       .pcie_width_max = 16,
				       .pcie_generation = 1,
				       .pcie_width = 8 };

	(void)state;
	assert_true(spec_of_name("NVIDIA H200", "memory_bandwidth", &value, &status));
	assert_float_equal(value, 4.8e12, 1);
	assert_string_equal(status, "read");
	assert_false(spec_of_name("NVIDIA H2000", "memory_bandwidth", &value, &status));
	/* From the widest link that it can have, not from how it is just now. */
	assert_true(spec_lookup(&unknown, "pcie_bandwidth", &value, &status));
	assert_float_equal(value, 16e9 * 16 * 128 / 130 / 8, 1);
	assert_string_equal(status, "device");
	assert_false(spec_lookup(&unknown, "fp32", &value, &status));
}

/* Every file of configs/limits loads; those of a model are found by its name. */
static void shipped_limits_are_valid(void **state)
{
	struct text errors = TEXT_EMPTY;
	struct limits limits;
	size_t files = 0;

	(void)state;
	for (const struct embedded_file *file = embedded_limits; file->name; file++, files++) {
		char *name = xstrndup(file->name, strlen(file->name) - 4);

		if (judge_limits_load(&limits, name, &errors) != STATUS_OK)
			fail_msg("%s", errors.data);
		assert_true(limits.count > 0);
		for (size_t i = 0; i < limits.count; i++)
			if (!*limits.items[i].origin)
				fail_msg("%s: [limit %s] does not say where it comes from",
					 file->name, limits.items[i].name);
		judge_limits_release(&limits);
		free(name);
	}
	assert_true(files >= 2);
	assert_int_equal(judge_limits_of_model(&limits, "NVIDIA H200", &errors), STATUS_OK);
	assert_string_equal(limits.source, "limits/h200.ini");
	judge_limits_release(&limits);
	assert_int_equal(judge_limits_of_model(&limits, "Unheard-of GPU", &errors), STATUS_OK);
	assert_string_equal(limits.source, "limits/generic.ini");
	judge_limits_release(&limits);
}

/* Reads of 1 GiB on four H200s as they were measured, but for the first. */
static void read_of(struct result *r, double first)
{
	const double values[] = { first, 4.574e12, 4.577e12, 4.577e12 };

	node_init(r, 4, "NVIDIA H200");
	for (size_t i = 0; i < 4; i++) {
		struct case_result *c = node_add(r, i, values[i], 0.001);

		free(c->suite);
		free(c->metrics[0].name);
		free(c->parameters[0].name);
		free(c->parameters[0].text);
		c->suite = xstrdup("stream");
		c->metrics[0].name = xstrdup("stream.bandwidth");
		c->parameters[0].name = xstrdup("operation");
		c->parameters[0].text = xstrdup("read");
	}
}

/* The verdict of the first of several identical devices, by the limits of its model. */
static enum verdict read_among_identical(double first)
{
	struct text errors = TEXT_EMPTY;
	struct verdicts v = { 0 };
	struct limits limits;
	struct result r;
	struct judge_input input = { .results = &r, .count = 1, .limits = &limits };
	enum verdict found = VERDICT_COUNT;

	assert_int_equal(judge_limits_of_model(&limits, "NVIDIA H200", &errors), STATUS_OK);
	read_of(&r, first);
	judge_machine_results(&input, &v);
	for (size_t i = v.count; i-- > 0;)
		if (v.checks[i].comparison == LIKE_IDENTICAL &&
		    strcmp(v.checks[i].devices, "cuda:0") == 0)
			found = v.checks[i].verdict;
	verdicts_release(&v);
	result_release(&r);
	judge_limits_release(&limits);
	return found;
}

/* Two H200s without preheating: the power limit set in on one, while it was measured. */
static void a_power_limit_that_sets_in_by_chance_accuses_no_device(void **state)
{
	static const struct {
		size_t throttled;
		int64_t reasons;
		const char *preheat;
		enum verdict verdict;
	} rows[] = {
		{ 4, THROTTLE_POWER_LIMIT, "0s", VERDICT_INCONCLUSIVE },
		/* In the state that lasts, or hot: that is what the device is like. */
		{ 11, THROTTLE_POWER_LIMIT, "0s", VERDICT_FAIL },
		{ 4, THROTTLE_POWER_LIMIT, "1s", VERDICT_FAIL },
		{ 4, THROTTLE_POWER_LIMIT | 0x40, "0s", VERDICT_FAIL },
		{ 0, 0, "0s", VERDICT_FAIL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct result_setting preheat = { .section = (char *)"suite transfer",
						  .key = (char *)"preheat",
						  .value = (char *)rows[i].preheat,
						  .origin = (char *)"" };
		struct verdicts v;
		struct result r;

		node_init(&r, 2, "NVIDIA H200");
		node_add(&r, 0, 41.2e9, 0.001);
		node_add(&r, 1, 35.9e9, 0.001);
		r.cases[1].during.readings = 11;
		r.cases[1].during.throttled = rows[i].throttled;
		r.cases[1].during.throttle_reasons = rows[i].reasons;
		r.settings = &preheat;
		r.setting_count = 1;
		judge_by(BANDWIDTH "outlier_margin = 10 %\n", &r, 1, NULL, &v);
		for (size_t k = 0; k < v.count; k++)
			if (v.checks[k].comparison == LIKE_IDENTICAL)
				assert_int_equal(v.checks[k].verdict,
						 strcmp(v.checks[k].devices, "cuda:0") == 0
							 ? VERDICT_PASS
							 : rows[i].verdict);
		verdicts_release(&v);
		r.settings = NULL;
		r.setting_count = 0;
		result_release(&r);
	}
}

static void good_h200s_of_two_kinds_pass_in_one_node(void **state)
{
	(void)state;
	assert_int_equal(read_among_identical(4.482e12), VERDICT_PASS);
	assert_int_equal(read_among_identical(4.3e12), VERDICT_FAIL);
}

static void launches_become_one_result(void **state)
{
	static const double values[] = { 50e9, 55e9, 54e9 };
	const struct metric_value *m;
	struct result r[3];

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		node_init(&r[i], 1, "NVIDIA H200");
		node_add(&r[i], 0, values[i], 0.001)->seconds = 1;
		r[i].seconds = 2;
	}
	estimate_pool_launches(&r[0], 1, &r[1], 2);
	m = &r[0].cases[0].metrics[0];
	assert_int_equal(m->launch_count, 3);
	assert_float_equal(m->launches[2], 54e9, 1);
	/*
	 * Walsh averages 50, 52, 52.5, 54, 54.5, 55: on logs a little less than the median's 53.25.
	 */
	assert_float_equal(m->value, 53.2e9, 0.1e9);
	assert_true(m->low < m->value && m->value < m->high);
	assert_true(r[0].seconds == 6 && r[0].cases[0].seconds == 3);
	assert_non_null(strstr(r[0].cases[0].notes, "3 launches of transfer.bandwidth vary by 5."));
	/* Pooled once more: the values before are kept. */
	estimate_pool_launches(&r[0], 3, &r[1], 1);
	assert_int_equal(r[0].cases[0].metrics[0].launch_count, 4);
	for (size_t i = 0; i < 3; i++)
		result_release(&r[i]);
}

/* Entries of the same device become one: counts add up, the worst verdict and margin remain. */
static void entries_of_one_device_are_merged(void **state)
{
	static const enum verdict order[] = { VERDICT_SKIP,         VERDICT_PASS,  VERDICT_WARN,
					      VERDICT_INCONCLUSIVE, VERDICT_ERROR, VERDICT_FAIL };

	(void)state;
	for (size_t from = 0; from < 3; from++)
		for (size_t count = 1; count < 4; count++)
			for (size_t times = 1; times < 7; times++) {
				struct verdicts v = { 0 };

				for (size_t i = 0; i < from + count * times; i++) {
					/* The worst one comes in the middle. */
					size_t time = i < from ? 0 : (i - from) / count;
					size_t grave = time == times / 2  ? times - 1
						       : time > times / 2 ? time - 1
									  : time;
					struct device_judgement *d = verdicts_add_device(&v);
					struct aspect_judgement *a =
						verdict_device_judgement_add(d, ASPECT_LINK);

					a->verdict = order[grave];
					a->checks = a->judged = 2;
					a->passed = 1;
					a->promised = a->measured = time == times - 1;
					a->margin = 1.0 - 0.1 * (double)grave;
					free(a->reason);
					a->reason = xasprintf("reason %zu", grave);
					if (time == times - 1)
						verdict_device_judgement_add(d, ASPECT_GEMM)
							->checks = 1;
				}
				judge_aspects_merge_devices(&v, from, count);
				assert_int_equal(v.device_count, from + count);
				for (size_t i = 0; i < v.device_count; i++) {
					size_t all = i < from ? 1 : times;
					const struct aspect_judgement *a =
						verdict_device_aspect(&v.devices[i], ASPECT_LINK);
					char reason[24];

					snprintf(reason, sizeof(reason), "reason %zu", times - 1);
					assert_int_equal(a->checks, 2 * all);
					assert_int_equal(a->judged, 2 * all);
					assert_int_equal(a->passed, all);
					if (i < from)
						continue;
					assert_int_equal(a->verdict, order[times - 1]);
					assert_string_equal(a->reason, reason);
					assert_true(a->promised && a->measured);
					assert_float_equal(a->margin,
							   1.0 - 0.1 * (double)(times - 1), 1e-12);
					assert_int_equal(verdict_device_aspect(&v.devices[i],
									       ASPECT_GEMM)
								 ->checks,
							 1);
					assert_int_equal(v.devices[i].aspect_count, 2);
				}
				verdicts_release(&v);
			}
}

/* The command that measures again is known only for a run of a config. */
static void a_run_of_a_config_can_be_repeated(void **state)
{
	static const struct {
		const char *config, *command, *repeat;
	} rows[] = {
		{ "quick", "gpuproof run quick", "gpuproof run quick --check" },
		{ "my limits.ini", "gpuproof run x", "gpuproof run 'my limits.ini' --check" },
		{ "quick", "gpuproof import nccl", "" },
		{ "quick", NULL, "" },
		{ "", "gpuproof run quick", "" },
		{ NULL, "gpuproof run quick", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct verdicts v;
		struct result r;

		node_init(&r, 1, "NVIDIA H200");
		node_add(&r, 0, 55e9, 0.001);
		free(r.config_name);
		r.config_name = rows[i].config ? xstrdup(rows[i].config) : NULL;
		r.command = rows[i].command ? xstrdup(rows[i].command) : NULL;
		judge_by(BANDWIDTH "min = 1 GB/s\n", &r, 1, NULL, &v);
		assert_string_equal(v.repeat, rows[i].repeat);
		verdicts_release(&v);
		result_release(&r);
	}
}

/* The pooled run ended when the last of its launches did, in whatever order they are given. */
static void launches_end_with_the_last_one(void **state)
{
	static const char *const rows[][4] = {
		{ "2026-01-01T00:10:00Z", "2026-01-01T00:20:00Z", NULL, "2026-01-01T00:20:00Z" },
		{ "2026-01-01T00:30:00Z", "2026-01-01T00:20:00Z", NULL, "2026-01-01T00:30:00Z" },
		{ NULL, "2026-01-01T00:40:00Z", "2026-01-01T00:20:00Z", "2026-01-01T00:40:00Z" },
		{ NULL, NULL, "2026-01-01T00:20:00Z", "2026-01-01T00:20:00Z" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct result r[3];

		for (size_t k = 0; k < 3; k++) {
			node_init(&r[k], 1, "NVIDIA H200");
			node_add(&r[k], 0, 55e9, 0.001);
			r[k].finished = rows[i][k] ? xstrdup(rows[i][k]) : NULL;
		}
		estimate_pool_launches(&r[0], 1, &r[1], 2);
		assert_string_equal(r[0].finished, rows[i][3]);
		for (size_t k = 0; k < 3; k++)
			result_release(&r[k]);
	}
}

/* A failure in one launch is a failure. */
static void launches_hide_no_failure(void **state)
{
	static const struct {
		enum case_status second, pooled;
		const char *reason;
	} rows[] = {
		{ CASE_FAILED, CASE_FAILED, "launch 2: broken" },
		{ CASE_ERROR, CASE_ERROR, "launch 2: broken" },
		{ CASE_SKIPPED, CASE_ERROR, "launch 2: skipped: broken" },
		{ CASE_OK, CASE_OK, "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct result r[2];
		struct case_result *c;

		for (size_t k = 0; k < 2; k++) {
			node_init(&r[k], 1, "NVIDIA H200");
			node_add(&r[k], 0, 55e9, 0.001);
		}
		c = &r[1].cases[0];
		c->status = rows[i].second;
		if (c->status != CASE_OK) {
			free(c->reason);
			c->reason = xstrdup("broken");
		}
		estimate_pool_launches(&r[0], 1, &r[1], 1);
		assert_int_equal(r[0].cases[0].status, rows[i].pooled);
		assert_string_equal(r[0].cases[0].reason, rows[i].reason);
		result_release(&r[0]);
		result_release(&r[1]);
	}
}

static void a_metric_that_a_launch_lacks_cannot_be_judged(void **state)
{
	struct verdicts v;
	struct result r[2];

	(void)state;
	for (size_t k = 0; k < 2; k++) {
		node_init(&r[k], 1, "NVIDIA H200");
		node_add(&r[k], 0, 55e9, 0.001);
	}
	r[1].cases[0].metrics[0].name[0] = 'x';
	estimate_pool_launches(&r[0], 1, &r[1], 1);
	judge_by(BANDWIDTH "min = 1 GB/s\n", r, 1, NULL, &v);
	assert_int_equal(v.checks[0].verdict, VERDICT_ERROR);
	assert_string_equal(v.checks[0].reason, "the metric is missing in some of its 2 launches");
	verdicts_release(&v);
	result_release(&r[0]);
	result_release(&r[1]);
}

/* Only a device on which at least two cases failed by a fault, and no other ran, is unusable. */
static void a_device_on_which_everything_fails_is_unusable(void **state)
{
	static const struct {
		enum case_status status[3];
		enum case_end end[3];
		size_t cases;
		bool unusable;
	} rows[] = {
		{ { CASE_ERROR }, { CASE_END_DEVICE }, 1, false },
		{ { CASE_ERROR, CASE_ERROR }, { CASE_END_DEVICE, CASE_END_HUNG }, 2, true },
		{ { CASE_ERROR, CASE_ERROR }, { CASE_END_CRASHED, CASE_END_HUNG }, 2, true },
		{ { CASE_ERROR, CASE_ERROR }, { CASE_END_DEVICE, CASE_END_FAILED }, 2, false },
		{ { CASE_ERROR, CASE_ERROR }, { CASE_END_LOST, CASE_END_REFUSED }, 2, false },
		{ { CASE_ERROR, CASE_OK }, { CASE_END_DEVICE, CASE_END_DONE }, 2, false },
		{ { CASE_ERROR, CASE_ERROR, CASE_SKIPPED },
		  { CASE_END_DEVICE, CASE_END_DEVICE, CASE_END_UNSUPPORTED },
		  3,
		  true },
		{ { CASE_ERROR, CASE_ERROR, CASE_FAILED },
		  { CASE_END_DEVICE, CASE_END_DEVICE, CASE_END_DONE },
		  3,
		  false },
		{ { CASE_ERROR, CASE_OK, CASE_ERROR },
		  { CASE_END_DEVICE, CASE_END_DEVICE, CASE_END_DEVICE },
		  3,
		  false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (size_t device = 0; device < 3; device++) {
			size_t found = 0;
			struct verdicts v;
			struct result r;

			node_init(&r, 3, "NVIDIA H200");
			for (size_t d = 0; d < 3; d++)
				for (size_t k = 0; k < 3; k++) {
					struct case_result *c = node_add(&r, d, 55e9, 0.001);
					bool own = d == device && k < rows[i].cases;

					c->status = own ? rows[i].status[k] : CASE_OK;
					c->end = own ? rows[i].end[k] : CASE_END_DONE;
					if (d == device && k >= rows[i].cases)
						c->status = CASE_SKIPPED;
					put_reason(c, c->status == CASE_OK ? "" : "it broke");
				}
			judge_by(BANDWIDTH "min = 1 GB/s\nallow_skipped = yes\n", &r, 1, NULL, &v);
			for (size_t k = 0; k < v.count; k++)
				if (v.checks[k].cause == CAUSE_GPU_UNUSABLE) {
					assert_string_equal(v.checks[k].devices,
							    r.devices[device].id);
					assert_int_equal(v.checks[k].verdict, VERDICT_FAIL);
					assert_non_null(strstr(v.checks[k].reason,
							       "all 2 cases on this device failed; "
							       "first error: it broke"));
					found++;
				}
			assert_int_equal(found, rows[i].unusable);
			verdicts_release(&v);
			result_release(&r);
		}
}

static void heat_is_a_finding(void **state)
{
	struct case_result *c;
	struct verdicts v;
	struct result r;

	(void)state;
	node_init(&r, 1, "NVIDIA H200");
	c = node_add(&r, 0, 55e9, 0.001);
	/* Power cap: ordinary under load. */
	c->after.throttle_reasons = 0x4;
	judge_by(BANDWIDTH "min = 1 GB/s\n", &r, 1, NULL, &v);
	assert_int_equal(v.overall, VERDICT_PASS);
	verdicts_release(&v);
	judge_by(BANDWIDTH "min = 99 GB/s\n", &r, 1, NULL, &v);
	assert_string_equal(v.checks[0].reason, "throttled: software power cap");
	verdicts_release(&v);
	c->after.throttle_reasons = 0x44;
	judge_by(BANDWIDTH "min = 1 GB/s\n", &r, 1, NULL, &v);
	assert_int_equal(v.overall, VERDICT_WARN);
	assert_string_equal(v.checks[0].reason,
			    "the device was throttled: software power cap, thermal (hardware)");
	verdicts_release(&v);
	c->during.readings = 8;
	c->during.throttled = 2;
	judge_by(BANDWIDTH "min = 1 GB/s\n", &r, 1, NULL, &v);
	assert_non_null(strstr(v.checks[0].reason, "throttled in 25 % of 8 readings: software"));
	verdicts_release(&v);
	c->during.readings = c->during.throttled = 0;
	/* A finding is no check: nothing was judged. */
	judge_by("metric = matmul.throughput\nmin = 1 TFLOP/s\nallow_skipped = yes\n", &r, 1, NULL,
		 &v);
	assert_int_equal(verdicts_exit_code(&v), 4);
	verdicts_release(&v);
	result_release(&r);
}

static void found_afterwards(struct result *r, const char *text)
{
	r->postflight = xcalloc(1, sizeof(*r->postflight));
	r->postflight_count = 1;
	r->postflight[0].severity = SEVERITY_ERROR;
	finding_set_device(&r->postflight[0], FINDING_ECC, "cuda:0");
	snprintf(r->postflight[0].text, sizeof(r->postflight[0].text), "%s", text);
}

/* Which of the launches comes first on the command line must decide nothing. */
static void what_was_found_at_any_launch_counts_and_is_told_once(void **state)
{
	struct result r[3];
	struct verdicts v;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		node_init(&r[i], 1, "NVIDIA H200");
		node_add(&r[i], 0, 55e9, 0.001);
	}
	found_afterwards(&r[1], "12 uncorrected errors");
	found_afterwards(&r[2], "12 uncorrected errors");
	judge_by("metric = transfer.bandwidth\nmin = 47 GB/s\n", r, 3, NULL, &v);
	assert_int_equal(v.overall, VERDICT_FAIL);
	assert_int_equal(v.counts[VERDICT_FAIL], 1);
	assert_string_equal(v.checks[0].devices, "cuda:0");
	verdicts_release(&v);
	for (size_t i = 0; i < 3; i++)
		result_release(&r[i]);
}

static void named(struct result *r, const char *host)
{
	r->environment = xcalloc(1, sizeof(*r->environment));
	r->environment_count = 1;
	r->environment[0] = (struct fact){ xstrdup("hostname"), xstrdup(host) };
}

/*
 * The samples of one launch that scatter to one side: what holds the limit is the bound on that
 * side.
 */
static void the_longer_side_of_an_interval_decides(void **state)
{
	static const struct {
		double low, high;
		const char *bound;
		enum verdict verdict;
	} rows[] = {
		{ 50e9, 55.1e9, "min = 51.5 GB/s\n", VERDICT_INCONCLUSIVE },
		{ 54.9e9, 55.1e9, "min = 51.5 GB/s\n", VERDICT_PASS },
		{ 50e9, 55.1e9, "max = 51.5 GB/s\n", VERDICT_INCONCLUSIVE },
		{ 54.9e9, 60e9, "min = 58.5 GB/s\n", VERDICT_INCONCLUSIVE },
		{ 54.9e9, 55.1e9, "min = 58.5 GB/s\n", VERDICT_FAIL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *limit = xasprintf("metric = transfer.bandwidth\n%s", rows[i].bound);
		struct verdicts v;
		struct result r;

		node_init(&r, 1, "NVIDIA H200");
		node_add(&r, 0, 55e9, 0.001);
		r.cases[0].metrics[0].low = rows[i].low;
		r.cases[0].metrics[0].high = rows[i].high;
		judge_by(limit, &r, 1, NULL, &v);
		if (v.checks[0].verdict != rows[i].verdict)
			fail_msg("row %zu: %s [%g, %g]", i,
				 verdict_fields_name(v.checks[0].verdict), v.checks[0].low,
				 v.checks[0].high);
		verdicts_release(&v);
		result_release(&r);
		free(limit);
	}
}

/* Two CPUs of one model are two machines; a GPU that has another host's name is the same one. */
static void devices_without_a_uuid_are_told_apart_by_their_host(void **state)
{
	struct result r[2];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		node_init(&r[i], 1, "AMD EPYC");
		named(&r[i], i ? "node2" : "node1");
	}
	assert_true(judge_same_machine(&r[0], &r[1]));
	r[0].devices[0].uuid[0] = r[1].devices[0].uuid[0] = '\0';
	assert_false(judge_same_machine(&r[0], &r[1]));
	assert_true(judge_same_machine(&r[0], &r[0]));
	for (size_t i = 0; i < 2; i++)
		result_release(&r[i]);
}

/* One launch whose case counts something, as no timed figure does. */
static void counted(struct result *r, const char *metric, const char *unit, enum better better,
		    double value)
{
	struct metric_value *m;

	node_init(r, 1, "NVIDIA H200");
	m = &node_add(r, 0, 1, NAN)->metrics[0];
	free(r->cases[0].suite);
	r->cases[0].suite = xstrndup(metric, strcspn(metric, "."));
	free(m->name);
	free(m->unit);
	m->name = xstrdup(metric);
	m->unit = xstrdup(unit);
	m->better = better;
	m->value = value;
	m->low = m->high = NAN;
	m->series[0] = '\0';
}

/*
 * A bound that no launch may exceed is not outvoted by four good ones; a zero gives no certainty.
 */
static void the_worst_launch_decides_what_was_counted(void **state)
{
	static const struct {
		const char *metric, *unit, *bound;
		enum better better;
		double launches[5];
		size_t count;
		enum verdict verdict;
		double value;
	} rows[] = {
		{ "alloc.lost",
		  "B",
		  "max = 0B",
		  BETTER_LOWER,
		  { 0, 0, 0, 0, 67108864 },
		  5,
		  VERDICT_FAIL,
		  67108864 },
		{ "alloc.lost",
		  "B",
		  "max = 0B",
		  BETTER_LOWER,
		  { 0, 0, 0, 0, 0 },
		  5,
		  VERDICT_PASS,
		  0 },
		{ "alloc.granted",
		  "B",
		  "min = 1GB",
		  BETTER_HIGHER,
		  { 2e9, 2e9, 5e8 },
		  3,
		  VERDICT_FAIL,
		  5e8 },
		/* The bound says which end is the bad one. */
		{ "alloc.granted",
		  "B",
		  "max = 1GB",
		  BETTER_HIGHER,
		  { 5e8, 5e8, 2e9 },
		  3,
		  VERDICT_FAIL,
		  2e9 },
		{ "matmul.error",
		  "1",
		  "max = 0.006",
		  BETTER_LOWER,
		  { 0, 0, 0, .011, .011 },
		  5,
		  VERDICT_FAIL,
		  .011 },
		{ "matmul.error",
		  "1",
		  "max = 0.006",
		  BETTER_LOWER,
		  { 0, .0059, .0059, .0059 },
		  4,
		  VERDICT_PASS,
		  .0059 },
		{ "burn.found",
		  "1",
		  "min = 1",
		  BETTER_HIGHER,
		  { 1, 1, 1, 1, 0.99 },
		  5,
		  VERDICT_FAIL,
		  0.99 },
		/* Timed by other figures: estimated, and a zero among them leaves it open. */
		{ "parallel.idle",
		  "1",
		  "max = 0.006",
		  BETTER_LOWER,
		  { 0, .0059, .0059, .0059 },
		  4,
		  VERDICT_INCONCLUSIVE,
		  NAN },
		{ "parallel.idle",
		  "1",
		  "max = 0.006",
		  BETTER_LOWER,
		  { 0, 0, 0, .011, .011 },
		  5,
		  VERDICT_INCONCLUSIVE,
		  NAN },
		{ "parallel.idle",
		  "1",
		  "max = 0.006",
		  BETTER_LOWER,
		  { 0, 0, 0, 0, 0 },
		  5,
		  VERDICT_PASS,
		  0 },
		{ "parallel.idle",
		  "1",
		  "max = 0.006",
		  BETTER_LOWER,
		  { .03, .03, .03, 0, .03 },
		  5,
		  VERDICT_FAIL,
		  NAN },
	};

	(void)state;
	/* As results of their own, and pooled by `run --launches`. */
	for (size_t k = 0; k < 2 * ARRAY_SIZE(rows); k++) {
		size_t i = k / 2;
		char *body = xasprintf("metric = %s\n%s\n", rows[i].metric, rows[i].bound);
		struct result r[5];
		struct verdicts v;

		for (size_t l = 0; l < rows[i].count; l++)
			counted(&r[l], rows[i].metric, rows[i].unit, rows[i].better,
				rows[i].launches[l]);
		if (k % 2)
			estimate_pool_launches(&r[0], 1, &r[1], rows[i].count - 1);
		judge_by(body, r, k % 2 ? 1 : rows[i].count, NULL, &v);
		if (v.checks[0].verdict != rows[i].verdict ||
		    (!isnan(rows[i].value) && v.checks[0].value != rows[i].value))
			fail_msg("row %zu: %s of %g", i, verdict_fields_name(v.checks[0].verdict),
				 v.checks[0].value);
		verdicts_release(&v);
		for (size_t l = 0; l < rows[i].count; l++)
			result_release(&r[l]);
		free(body);
	}
}

/* "Without that, no number counts." */
static void what_was_not_verified_is_not_accepted(void **state)
{
	static const struct {
		bool done;
		double error, tolerance;
		int exit_code;
		const char *reason;
	} rows[] = {
		{ true, NAN, NAN, 0, "" },
		{ true, 1e-4, 1e-3, 0, "" },
		{ true, 1, 1e-3, 5, "error 1 exceeds the tolerance 0.001" },
		/*
		 * All results beyond a format's range, as they are to be: looked at, without an
		 * error.
		 */
		{ true, NAN, 1e-3, 0, "" },
		{ false, NAN, NAN, 4, "the result of this case was never verified" },
	};

	(void)state;
	/*
	 * True if a limit is about the case, in one launch or in the second of two, pooled or not.
	 */
	for (size_t k = 0; k < 6 * ARRAY_SIZE(rows); k++) {
		size_t i = k / 6, launches = 1 + (k % 3 > 0);
		const char *where = k / 3 % 2 ? "where = device:cuda:1\n" : "";
		char *body = xasprintf(BANDWIDTH "min = 1 GB/s\n%s", where);
		struct verification *verification;
		struct result r[2];
		struct verdicts v;
		bool told = false;

		for (size_t l = 0; l < launches; l++) {
			node_init(&r[l], 2, "NVIDIA H200");
			node_add(&r[l], 0, 55e9, 0.001);
			node_add(&r[l], 1, 55e9, 0.001);
		}
		verification = &r[launches - 1].cases[0].verification;
		verification->done = rows[i].done;
		verification->error = rows[i].error;
		verification->tolerance = rows[i].tolerance;
		if (k % 3 == 2)
			estimate_pool_launches(&r[0], 1, &r[1], 1);
		judge_by(body, r, k % 3 == 1 ? 2 : 1, NULL, &v);
		if (verdicts_exit_code(&v) != rows[i].exit_code)
			fail_msg("row %zu, way %zu: exit code %d", i, k % 6,
				 verdicts_exit_code(&v));
		for (size_t c = 0; c < v.count; c++)
			told = told || strcmp(v.checks[c].reason, rows[i].reason) == 0 ||
			       strcmp(v.checks[c].reason, "the result was never verified") == 0;
		assert_true(told);
		verdicts_release(&v);
		for (size_t l = 0; l < launches; l++)
			result_release(&r[l]);
		free(body);
	}
}

/* Between the last reading of one case and the first of the next the device works, too. */
static void errors_between_two_cases_count(void **state)
{
	struct case_result *c;
	struct verdicts v;
	struct result r;

	(void)state;
	node_init(&r, 2, "NVIDIA H200");
	for (size_t i = 0; i < 2; i++) {
		/* In the result by plan, not by time. */
		c = node_add(&r, 0, 55e9, 0.001);
		c->started_seconds = i ? 1 : 9;
		c->before.ecc_uncorrected = c->after.ecc_uncorrected = i ? 0 : 7;
	}
	c = node_add(&r, 1, 55e9, 0.001);
	c->started_seconds = 5;
	c->before.ecc_uncorrected = c->after.ecc_uncorrected = 3;
	judge_by(BANDWIDTH "min = 1 GB/s\n", &r, 1, NULL, &v);
	assert_int_equal(verdicts_exit_code(&v), 5);
	assert_string_equal(v.checks[0].reason, "7 uncorrected memory errors (ECC) between the "
						"previous case and this one; 0 are allowed");
	assert_string_equal(v.checks[0].devices, "cuda:0");
	verdicts_release(&v);
	r.cases[0].before.ecc_uncorrected = r.cases[0].after.ecc_uncorrected = 0;
	judge_by(BANDWIDTH "min = 1 GB/s\n", &r, 1, NULL, &v);
	assert_int_equal(verdicts_exit_code(&v), 0);
	verdicts_release(&v);
	result_release(&r);
}

/*
 * One slow launch is enough for a first FAIL, and not for a second one; what was counted or is
 * wrong stays.
 */
static bool wants_more(const struct verdicts *v, const struct case_result *c)
{
	char *point = case_point(c);
	bool more = judge_wants_more(v, c->id, point);

	free(point);
	return more;
}

#define WARNING "outlier_margin = 10 %\noutlier_margin_warn = 3 %\n"

static void a_first_failure_is_measured_again(void **state)
{
	static const struct {
		const char *limit;
		double first;
		size_t launches;
		bool more[2]; /* of cuda:0, cuda:1 */
	} rows[] = {
		{ BANDWIDTH "min = 50 GB/s\n", 55e9, 1, { false, false } },
		{ BANDWIDTH "min = 50 GB/s\n", 40e9, 1, { true, false } },
		{ BANDWIDTH "min = 50 GB/s\n", 50e9, 1, { true, false } },
		{ BANDWIDTH "min = 50 GB/s\n", 40e9, 4, { false, false } },
		{ BANDWIDTH "min = 50 GB/s\n", 50e9, 4, { true, false } },
		/* The device that it is compared with as well. */
		{ BANDWIDTH "outlier_margin = 2 %\n", 50e9, 1, { true, true } },
		{ BANDWIDTH "outlier_margin = 2 %\n", 50e9, 4, { false, false } },
		/* A device at another level of clocks for one launch is no slow device. */
		{ BANDWIDTH WARNING, 52e9, 1, { true, true } },
		{ BANDWIDTH WARNING, 52e9, 4, { false, false } },
		{ BANDWIDTH "min = 50 GB/s\nseverity = warn\n", 40e9, 1, { false, false } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct result r[4];
		struct verdicts v;

		for (size_t l = 0; l < rows[i].launches; l++) {
			node_init(&r[l], 2, "NVIDIA H200");
			node_add(&r[l], 0, rows[i].first, 0.001);
			node_add(&r[l], 1, 55e9, 0.001);
		}
		judge_by(rows[i].limit, r, rows[i].launches, NULL, &v);
		for (size_t d = 0; d < 2; d++)
			if (wants_more(&v, &r[0].cases[d]) != rows[i].more[d])
				fail_msg("row %zu, device %zu", i, d);
		verdicts_release(&v);
		/* A wrong result needs no second look. */
		r[0].cases[0].status = CASE_FAILED;
		judge_by(BANDWIDTH "min = 50 GB/s\n", r, 1, NULL, &v);
		assert_false(wants_more(&v, &r[0].cases[0]));
		verdicts_release(&v);
		for (size_t l = 0; l < rows[i].launches; l++)
			result_release(&r[l]);
	}
}

static void bytes_that_are_lost_need_no_second_look(void **state)
{
	struct verdicts v;
	struct result r;

	(void)state;
	counted(&r, "alloc.lost", "B", BETTER_LOWER, 4096);
	judge_by("metric = alloc.lost\nmax = 0B\n", &r, 1, NULL, &v);
	assert_int_equal(v.checks[0].verdict, VERDICT_FAIL);
	assert_false(wants_more(&v, &r.cases[0]));
	verdicts_release(&v);
	result_release(&r);
}

/* Judges five launches of a copy from the host, `scatter` times these percentages apart. */
static struct verdict_check judge_scattered(double scatter, const char *limit, struct verdicts *v)
{
	static const double apart[5] = { -1.2, 0.9, 0.1, -0.6, 1.3 };
	struct result r[5];

	for (size_t l = 0; l < 5; l++) {
		node_init(&r[l], 1, "NVIDIA H200");
		node_add(&r[l], 0, 55e9 * (1 + scatter * apart[l] / 100), 0.001);
	}
	judge_by(limit, r, 5, NULL, v);
	for (size_t l = 0; l < 5; l++)
		result_release(&r[l]);
	return v->checks[0];
}

/* Launches moderate the typical spread of their kind: three against four degrees of freedom. */
static void launches_moderate_the_spread_of_their_kind(void **state)
{
	/* Standard deviation of the launches above, and Student's t of seven degrees of freedom. */
	static const double own = 0.010445, t = 1.894579;
	struct verdict_check quiet, wide, given;
	struct verdicts v[3];
	double typical = figure_kind_repeat(FIGURE_LINK).spread;

	(void)state;
	quiet = judge_scattered(0, BANDWIDTH "min = 54.3 GB/s\n", &v[0]);
	wide = judge_scattered(1, BANDWIDTH "min = 54.3 GB/s\n", &v[1]);
	given = judge_scattered(0, BANDWIDTH "min = 54.3 GB/s\nlaunch_spread = 2 %\n", &v[2]);
	assert_float_equal(log(quiet.high / quiet.value),
			   t * typical * sqrt(3 / 7.0) * sqrt(HODGES_LEHMANN_VARIANCE / 5), 1e-5);
	assert_float_equal(log(wide.high / wide.value),
			   t * sqrt((3 * typical * typical + 4 * own * own) / 7) *
				   sqrt(HODGES_LEHMANN_VARIANCE / 5),
			   1e-4);
	/* The limit may know it better. */
	assert_float_equal(log(given.high / given.value),
			   t * 0.02 * sqrt(3 / 7.0) * sqrt(HODGES_LEHMANN_VARIANCE / 5), 1e-5);
	for (size_t i = 0; i < 3; i++)
		verdicts_release(&v[i]);
}

/* The mean of a load levels the waves of the power limit; a burst may meet them or not. */
static void a_load_repeats_better_than_a_burst(void **state)
{
	char name[] = "matmul.sustained", metric[] = "matmul.throughput", unit[] = "FLOP/s";
	struct series series = { .name = name, .load = true };
	struct case_result c = { .series = &series, .series_count = 1 };
	struct metric_value m = { .name = metric, .unit = unit, .series = name };
	enum figure_kind load, burst;

	(void)state;
	c.during.readings = 10;
	c.during.throttled = 10;
	load = figure_kind_of(&m, &c, NULL);
	series.load = false;
	burst = figure_kind_of(&m, &c, NULL);
	assert_int_equal(load, FIGURE_LOAD);
	assert_int_not_equal(burst, FIGURE_LOAD);
	assert_true(figure_kind_repeat(load).spread < figure_kind_repeat(burst).spread);
}

/* Rates and times of which no suite says how they repeat: by unit, and copies by their time. */
static void figures_of_no_kind_follow_their_unit(void **state)
{
	static const struct {
		const char *unit;
		double seconds;
		enum figure_kind kind;
	} rows[] = { { "FLOP/s", 1e-3, FIGURE_PRODUCT },
		     { "B/s", 1e-3, FIGURE_BANDWIDTH },
		     { "B/s", 1e-6, FIGURE_SMALL_COPY },
		     { "s", 1e-3, FIGURE_STEP },
		     { "images/s", 1e-3, FIGURE_STEP } };
	char name[] = "own.time", metric[] = "own.figure";

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct series series = { .name = name, .unit = "s" };
		struct case_result c = { .series = &series, .series_count = 1 };
		char unit[16];
		struct metric_value m = {
			.name = metric, .unit = unit, .series = name, .kind = METRIC_TIMED
		};

		snprintf(unit, sizeof(unit), "%s", rows[i].unit);
		series.statistics.median = rows[i].seconds;
		assert_int_equal(figure_kind_of(&m, &c, NULL), rows[i].kind);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures_of_no_kind_follow_their_unit),
		cmocka_unit_test(bounds_decide),
		cmocka_unit_test(a_load_repeats_better_than_a_burst),
		cmocka_unit_test(broken_cases_are_never_passed),
		cmocka_unit_test(a_skip_of_what_an_identical_device_does_fails),
		cmocka_unit_test(an_allowed_skip_with_a_pass_is_accepted_unless_strict),
		cmocka_unit_test(a_warning_fails_when_strict),
		cmocka_unit_test(a_lost_worker_is_not_accepted),
		cmocka_unit_test(the_device_at_fault_is_named),
		cmocka_unit_test(an_error_without_a_limit_is_not_accepted),
		cmocka_unit_test(no_check_is_a_failure),
		cmocka_unit_test(missing_metric_and_wrong_unit_are_errors),
		cmocka_unit_test(too_few_samples_pass_nothing),
		cmocka_unit_test(what_has_not_settled_neither_passes_nor_fails),
		cmocka_unit_test(launches_vote_on_what_has_settled),
		cmocka_unit_test(devices_are_counted),
		cmocka_unit_test(launches_are_pooled_and_narrow_the_bounds),
		cmocka_unit_test(a_baseline_bounds_case_by_case),
		cmocka_unit_test(a_baseline_that_does_not_fit_is_an_error),
		cmocka_unit_test(memory_errors_outrank_everything),
		cmocka_unit_test(the_slow_device_is_named),
		cmocka_unit_test(of_two_the_slower_one_fails),
		cmocka_unit_test(a_device_without_a_value_is_no_peer),
		cmocka_unit_test(a_limit_may_warn_before_it_rejects),
		cmocka_unit_test(devices_that_scatter_widely_are_not_accepted),
		cmocka_unit_test(a_noisy_identical_device_leaves_it_open),
		cmocka_unit_test(limits_without_sense_are_refused),
		cmocka_unit_test(data_sheets_are_found_by_name),
		cmocka_unit_test(shipped_limits_are_valid),
		cmocka_unit_test(a_power_limit_that_sets_in_by_chance_accuses_no_device),
		cmocka_unit_test(good_h200s_of_two_kinds_pass_in_one_node),
		cmocka_unit_test(launches_become_one_result),
		cmocka_unit_test(entries_of_one_device_are_merged),
		cmocka_unit_test(a_run_of_a_config_can_be_repeated),
		cmocka_unit_test(launches_end_with_the_last_one),
		cmocka_unit_test(launches_hide_no_failure),
		cmocka_unit_test(a_metric_that_a_launch_lacks_cannot_be_judged),
		cmocka_unit_test(a_device_on_which_everything_fails_is_unusable),
		cmocka_unit_test(heat_is_a_finding),
		cmocka_unit_test(the_longer_side_of_an_interval_decides),
		cmocka_unit_test(devices_without_a_uuid_are_told_apart_by_their_host),
		cmocka_unit_test(what_was_found_at_any_launch_counts_and_is_told_once),
		cmocka_unit_test(the_worst_launch_decides_what_was_counted),
		cmocka_unit_test(what_was_not_verified_is_not_accepted),
		cmocka_unit_test(errors_between_two_cases_count),
		cmocka_unit_test(a_first_failure_is_measured_again),
		cmocka_unit_test(bytes_that_are_lost_need_no_second_look),
		cmocka_unit_test(launches_moderate_the_spread_of_their_kind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
