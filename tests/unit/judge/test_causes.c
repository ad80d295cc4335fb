/* Each check that did not pass has one cause, which the result keeps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "judge_fixture.h"

static void judge_by(const char *body, const struct result *r, struct verdicts *v)
{
	struct limits limits;
	struct judge_input input = { .results = r, .count = 1, .limits = &limits };

	memset(v, 0, sizeof(*v));
	limits_from(&limits, body);
	judge_machine_results(&input, v);
	verdicts_finish(v);
	judge_limits_release(&limits);
}

/* The cause of the only check with that verdict. */
static const char *cause_of_only(const struct verdicts *v, enum verdict verdict)
{
	const char *name = NULL;

	for (size_t i = 0; i < v->count; i++)
		if (v->checks[i].verdict == verdict) {
			assert_null(name);
			name = cause_name(v->checks[i].cause);
		}
	return name ? name : "no such check";
}

#define BANDWIDTH "metric = transfer.bandwidth\n"

static void limits_have_the_cause_of_what_they_are_about(void **state)
{
	static const struct {
		const char *limit;
		enum verdict verdict;
		const char *cause;
	} rows[] = {
		{ BANDWIDTH "min = 30 GB/s\n", VERDICT_FAIL, "pcie-degraded" },
		{ BANDWIDTH "min = 30 GB/s\nseverity = warn\n", VERDICT_WARN, "pcie-degraded" },
		{ BANDWIDTH "min = 25 GB/s\n", VERDICT_INCONCLUSIVE, "undecided" },
		{ BANDWIDTH "min = 20 GB/s\n", VERDICT_PASS, "" },
		{ BANDWIDTH "min = 20 GB/s\ndevices = 2\n", VERDICT_FAIL, "gpu-missing" },
		{ "metric = node.devices\nmin = 8\n", VERDICT_FAIL, "gpu-missing" },
		{ "metric = node.pcie_width\nmin = 16\n", VERDICT_FAIL, "pcie-degraded" },
		{ "metric = node.ecc\nmin = 1\n", VERDICT_FAIL, "node-setting" },
		{ "metric = node.nic_rate\nmin = 60 GB/s\n", VERDICT_FAIL, "node-network" },
		{ "metric = stream.bandwidth\nmin = 1 GB/s\n", VERDICT_ERROR, "not-judged" },
		{ "metric = stream.bandwidth\nmin = 1 GB/s\nallow_skipped = yes\n", VERDICT_SKIP,
		  "not-measured" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct verdicts v;
		struct result r;

		node_init(&r, 1, "GPU");
		r.devices[0].nic_bandwidth = 50e9;
		r.devices[0].pcie_width = r.devices[0].pcie_width_max = 8;
		r.devices[0].pcie_generation = r.devices[0].pcie_generation_max = 5;
		node_add(&r, 0, 25e9, 0.01);
		judge_by(rows[i].limit, &r, &v);
		assert_string_equal(cause_of_only(&v, rows[i].verdict), rows[i].cause);
		verdicts_release(&v);
		result_release(&r);
	}
}

static void findings_without_a_limit_have_one(void **state)
{
	struct verdicts v;
	struct result r;
	struct case_result *c;

	(void)state;
	node_init(&r, 1, "GPU");
	c = node_add(&r, 0, 50e9, 0.01);
	c->status = CASE_FAILED;
	judge_by(BANDWIDTH "min = 40 GB/s\nseverity = warn\n", &r, &v);
	for (size_t i = 0; i < v.count; i++)
		if (v.checks[i].wrong)
			assert_string_equal(cause_name(v.checks[i].cause), "gpu-wrong-result");
	assert_true(v.wrong);
	verdicts_release(&v);
	result_release(&r);

	node_init(&r, 1, "GPU");
	c = node_add(&r, 0, 50e9, 0.01);
	c->before.xid_errors = c->before.ecc_uncorrected = c->before.ecc_corrected = 0;
	c->after = c->before;
	c->after.xid_errors = 1;
	judge_by(BANDWIDTH "min = 40 GB/s\n", &r, &v);
	assert_string_equal(cause_of_only(&v, VERDICT_FAIL), "gpu-critical-error");
	assert_int_equal(verdicts_exit_code(&v), 1);
	assert_false(v.wrong);
	verdicts_release(&v);
	c->after.xid_errors = 0;
	c->after.ecc_corrected = 3;
	judge_by(BANDWIDTH "min = 40 GB/s\n", &r, &v);
	assert_string_equal(cause_of_only(&v, VERDICT_WARN), "gpu-memory-error");
	verdicts_release(&v);
	c->after = c->before;
	r.planned = 2;
	judge_by(BANDWIDTH "min = 40 GB/s\n", &r, &v);
	assert_string_equal(cause_of_only(&v, VERDICT_ERROR), "run-incomplete");
	verdicts_release(&v);
	result_release(&r);
}

/* Names are labels of Prometheus and words of OCP, and each says what to do. */
/* Verdict, exit code and remedy of an Xid are those of its number. */
static void xids_are_judged_by_their_number(void **state)
{
	static const struct {
		int xid;
		enum verdict verdict;
		int code;
		const char *cause, *reason, *remedy;
	} rows[] = {
		{ 79, VERDICT_FAIL, 1, "gpu-critical-error",
		  "Xid 79 during the case: the GPU has fallen off the bus", "restart the node" },
		{ 95, VERDICT_FAIL, 5, "gpu-uncorrected-error",
		  "Xid 95 during the case: an uncorrected memory error that may affect all "
		  "applications",
		  "reset the GPU" },
		{ 13, VERDICT_INCONCLUSIVE, 4, "gpu-critical-error",
		  "Xid 13 during the case: exception in the compute or graphics engine",
		  "Restart the application" },
		{ 63, VERDICT_WARN, 0, "gpu-critical-error",
		  "Xid 63 during the case: a memory row was marked for remapping, or a page for "
		  "retirement",
		  "Look at the Xid errors before and after it" },
		{ 4711, VERDICT_FAIL, 1, "gpu-critical-error", "Xid 4711 during the case",
		  "NVIDIA's Xid catalogue" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct verdicts v;
		struct result r;
		struct case_result *c;

		node_init(&r, 1, "GPU");
		c = node_add(&r, 0, 50e9, 0.01);
		c->before.xid_errors = c->before.xid = 0;
		c->after.xid_errors = 1;
		c->after.xid = rows[i].xid;
		judge_by(BANDWIDTH "min = 40 GB/s\n", &r, &v);
		assert_string_equal(cause_of_only(&v, rows[i].verdict), rows[i].cause);
		assert_int_equal(verdicts_exit_code(&v), rows[i].code);
		assert_string_equal(v.reasons[0].headline + strlen("GPU cuda:0: "), rows[i].reason);
		assert_non_null(strstr(v.reasons[0].remedy, rows[i].remedy));
		verdicts_release(&v);
		result_release(&r);
	}
}

static void names_are_words_and_unique(void **state)
{
	(void)state;
	for (int i = CAUSE_NONE + 1; i < CAUSE_COUNT; i++) {
		const char *name = cause_name((enum cause)i);

		assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz-"), strlen(name));
		assert_true(strlen(name) > 3 && *cause_meaning((enum cause)i));
		assert_true(*cause_action((enum cause)i));
		for (int k = CAUSE_NONE; k < i; k++)
			assert_string_not_equal(name, cause_name((enum cause)k));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_have_the_cause_of_what_they_are_about),
		cmocka_unit_test(findings_without_a_limit_have_one),
		cmocka_unit_test(xids_are_judged_by_their_number),
		cmocka_unit_test(names_are_words_and_unique),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
