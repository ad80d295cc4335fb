/*
 * No acceptance without judgement: each promised aspect is judged on each device, or the verdict is
 * not accepted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "judge_fixture.h"

/* Judges by limits that are a user's own, or as if they were shipped. */
static void judge_as(const char *body, bool shipped, const struct result *r, struct verdicts *v)
{
	struct limits limits;
	struct judge_input input = { .results = r, .count = 1, .limits = &limits };

	memset(v, 0, sizeof(*v));
	limits_from(&limits, body);
	limits.shipped = shipped;
	judge_machine_results(&input, v);
	verdicts_finish(v);
	judge_limits_release(&limits);
}

static void promise(struct result *r, const char *aspects)
{
	r->settings = xcalloc(1, sizeof(*r->settings));
	r->setting_count = 1;
	r->settings[0] = (struct result_setting){ xstrdup("run"), xstrdup("promises"),
						  xstrdup(aspects), xstrdup("a.ini:2") };
}

/* The copy within the device, which is no link. */
static void add_local(struct result *r, size_t device, double value)
{
	struct case_result *c = node_add(r, device, value, 0.001);

	free(c->id);
	c->id = xasprintf("transfer/local/512MiB@cuda:%zu", device);
	free(c->parameters[0].text);
	c->parameters[0].text = xstrdup("local");
	case_derive_point(c);
}

static const struct aspect_judgement *aspect_at(const struct verdicts *v, size_t device,
						enum aspect aspect)
{
	assert_true(device < v->device_count);
	return verdict_device_aspect(&v->devices[device], aspect);
}

#define LINK "metric = transfer.bandwidth\nwhere = direction:h2d\nmin = 47 GB/s\n"
#define ANY "metric = transfer.bandwidth\nmin = 47 GB/s\n"

/* Adds a STREAM figure of the device, and judges memory and link. */
static void limits_judge_memory(struct result *r, size_t device, struct verdicts *v)
{
	struct case_result *c = node_add(r, device, 4e12, 0.001);

	free(c->suite);
	c->suite = xstrdup("stream");
	free(c->id);
	c->id = xasprintf("stream/triad/1GiB@cuda:%zu", device);
	free(c->metrics[0].name);
	c->metrics[0].name = xstrdup("stream.bandwidth");
	free(c->parameters[0].name);
	c->parameters[0].name = xstrdup("operation");
	free(c->parameters[0].text);
	c->parameters[0].text = xstrdup("triad");
	case_derive_point(c);
	judge_as(ANY "[limit stream]\nmetric = stream.bandwidth\nmin = 1 TB/s\n", false, r, v);
}

static void a_promised_aspect_without_a_judged_check_leaves_it_open(void **state)
{
	struct verdicts v;
	struct result r;

	(void)state;
	node_init(&r, 2, "NVIDIA H200");
	promise(&r, "memory, link");
	for (size_t i = 0; i < 2; i++)
		node_add(&r, i, 55e9, 0.001);
	judge_as(LINK, false, &r, &v);
	assert_int_equal(v.overall, VERDICT_INCONCLUSIVE);
	assert_int_equal(verdicts_exit_code(&v), 4);
	assert_string_equal(v.sentence, "INCONCLUSIVE: all 2 checks passed; not judged: memory of "
					"cuda:0, cuda:1. Worst: memory of GPUs cuda:0 and cuda:1 "
					"was not judged.");
	assert_true(verdict_aspect_is_missing(aspect_at(&v, 1, ASPECT_MEMORY)));
	assert_string_equal(aspect_at(&v, 1, ASPECT_MEMORY)->reason, "not measured");
	assert_int_equal(aspect_at(&v, 1, ASPECT_LINK)->judged, 1);
	verdicts_release(&v);
	/* Measured on one of them, and no limit looks at it. */
	add_local(&r, 0, 2e12);
	judge_as(LINK, false, &r, &v);
	assert_string_equal(aspect_at(&v, 0, ASPECT_MEMORY)->reason,
			    "measured, but no limit covers it");
	verdicts_release(&v);
	/* Copies within a device say too little of its memory; a STREAM figure decides. */
	add_local(&r, 1, 2e12);
	judge_as(ANY, false, &r, &v);
	assert_int_equal(verdicts_exit_code(&v), 4);
	assert_non_null(strstr(v.sentence, "not judged: memory of cuda:0, cuda:1."));
	verdicts_release(&v);
	limits_judge_memory(&r, 0, &v);
	assert_int_equal(verdicts_exit_code(&v), 4);
	assert_non_null(strstr(v.sentence, "not judged: memory of cuda:1."));
	verdicts_release(&v);
	limits_judge_memory(&r, 1, &v);
	assert_int_equal(verdicts_exit_code(&v), 0);
	verdicts_release(&v);
	result_release(&r);
}

static void what_failed_is_rejected_though_more_is_missing(void **state)
{
	struct verdicts v;
	struct result r;

	(void)state;
	node_init(&r, 1, "NVIDIA H200");
	promise(&r, "memory, link, gemm");
	node_add(&r, 0, 30e9, 0.001);
	judge_as(LINK, false, &r, &v);
	assert_int_equal(verdicts_exit_code(&v), 1);
	assert_string_equal(v.sentence, "REJECTED: 0 of 1 check passed; 1 failed; not judged: "
					"memory and gemm of cuda:0. Worst: GPU cuda:0 is 36 % "
					"below the limit in copies from the host.");
	verdicts_release(&v);
	result_release(&r);
}

/*
 * A user who limits the link asks for a verdict on links, of every device that the limit is about.
 */
static void limits_of_ones_own_promise_what_they_judge(void **state)
{
	struct verdicts v;
	struct result r;

	(void)state;
	node_init(&r, 2, "NVIDIA H200");
	node_add(&r, 0, 55e9, 0.001);
	judge_as(LINK, false, &r, &v);
	assert_int_equal(verdicts_exit_code(&v), 4);
	assert_non_null(strstr(v.sentence, "not judged: link of cuda:1."));
	assert_null(aspect_at(&v, 0, ASPECT_MEMORY));
	verdicts_release(&v);
	judge_as("metric = transfer.bandwidth\nwhere = device:cuda:0\nmin = 47 GB/s\n", false, &r,
		 &v);
	assert_int_equal(verdicts_exit_code(&v), 0);
	verdicts_release(&v);
	/* Limits that may be left out, and those that only warn, promise nothing. */
	judge_as(LINK "allow_skipped = yes\n", false, &r, &v);
	assert_int_equal(verdicts_exit_code(&v), 0);
	verdicts_release(&v);
	judge_as(LINK "severity = warn\n", false, &r, &v);
	assert_int_equal(verdicts_exit_code(&v), 0);
	verdicts_release(&v);
	result_release(&r);
}

/* By limits for GPUs a CPU is measured and not judged. */
static void shipped_limits_promise_what_was_measured(void **state)
{
	static const char limit[] =
		"metric = transfer.bandwidth\nwhere = backend:cuda, direction:h2d\n"
		"min = 47 GB/s\nallow_skipped = yes\n";
	struct verdicts v;
	struct result r;

	(void)state;
	node_init(&r, 1, "NVIDIA H200");
	node_add(&r, 0, 55e9, 0.001);
	judge_as(limit, true, &r, &v);
	assert_int_equal(verdicts_exit_code(&v), 0);
	verdicts_release(&v);
	add_local(&r, 0, 2e12);
	judge_as(limit, true, &r, &v);
	assert_int_equal(verdicts_exit_code(&v), 4);
	assert_non_null(strstr(v.sentence, "not judged: memory of cuda:0."));
	verdicts_release(&v);
	result_release(&r);

	node_init(&r, 1, "AMD EPYC");
	strcpy(r.devices[0].id, "host:0");
	strcpy(r.devices[0].backend, "host");
	r.devices[0].capabilities = DEVICE_IS_HOST;
	node_add(&r, 0, 55e9, 0.001);
	strcpy(r.cases[0].device, "host:0");
	strcpy(r.cases[0].devices[0], "host:0");
	judge_as(limit, true, &r, &v);
	assert_int_equal(verdicts_exit_code(&v), 4);
	assert_string_equal(v.sentence,
			    "INCONCLUSIVE: no check could be evaluated; 1 skipped; not judged: "
			    "link of host:0. Worst: link of CPU host:0 was not "
			    "judged.");
	verdicts_release(&v);
	result_release(&r);
}

/* Any one sensor that was read before or after a case of the device is a look at its condition. */
static void one_sensor_is_a_look_at_the_condition(void **state)
{
	(void)state;
	for (int row = 0; row < 8; row++) {
		struct telemetry *t;
		struct case_result *c;
		struct verdicts v;
		struct result r;

		node_init(&r, 2, "NVIDIA H200");
		promise(&r, "link, condition");
		c = node_add(&r, 0, 55e9, 0.001);
		r.cases[0].before.temperature_celsius = r.cases[0].after.temperature_celsius = NAN;
		assert_int_equal(c->before.throttle_reasons, -1);
		assert_int_equal(c->after.ecc_uncorrected, -1);
		node_add(&r, 1, 55e9, 0.001)->after.throttle_reasons = 0;
		c = &r.cases[0];
		t = row % 2 ? &c->before : &c->after;
		if (row / 2 == 0)
			t->throttle_reasons = 0;
		else if (row / 2 == 1)
			t->ecc_uncorrected = 0;
		else if (row / 2 == 2)
			t->temperature_celsius = 40;
		judge_as(LINK, false, &r, &v);
		assert_int_equal(verdict_aspect_is_missing(aspect_at(&v, 0, ASPECT_CONDITION)),
				 row / 2 == 3);
		assert_false(verdict_aspect_is_missing(aspect_at(&v, 1, ASPECT_CONDITION)));
		assert_int_equal(verdicts_exit_code(&v), row / 2 == 3 ? 4 : 0);
		verdicts_release(&v);
		result_release(&r);
	}
}

static void correctness_and_condition_rest_on_looks(void **state)
{
	struct verdicts v;
	struct result r;

	(void)state;
	node_init(&r, 1, "NVIDIA H200");
	promise(&r, "link, correctness, condition");
	node_add(&r, 0, 55e9, 0.001);
	judge_as(LINK, false, &r, &v);
	/* Verified, but no sensor was read. */
	assert_int_equal(verdicts_exit_code(&v), 4);
	assert_non_null(strstr(v.sentence, "not judged: condition of cuda:0."));
	assert_int_equal(aspect_at(&v, 0, ASPECT_CORRECTNESS)->verdict, VERDICT_PASS);
	verdicts_release(&v);
	r.cases[0].after.throttle_reasons = 0;
	judge_as(LINK, false, &r, &v);
	assert_int_equal(verdicts_exit_code(&v), 0);
	assert_string_equal(v.sentence, "ACCEPTED: all 3 checks passed.");
	verdicts_release(&v);
	/* A finding is a look as well: nothing says that there was no fault. */
	r.cases[0].after.throttle_reasons = 0x40;
	judge_as(LINK, false, &r, &v);
	assert_int_equal(v.overall, VERDICT_WARN);
	assert_int_equal(aspect_at(&v, 0, ASPECT_CONDITION)->verdict, VERDICT_WARN);
	assert_int_equal(aspect_at(&v, 0, ASPECT_CONDITION)->passed, 0);
	verdicts_release(&v);
	r.cases[0].verification.done = false;
	judge_as(LINK, false, &r, &v);
	assert_int_equal(verdicts_exit_code(&v), 4);
	assert_true(verdict_aspect_is_missing(aspect_at(&v, 0, ASPECT_CORRECTNESS)));
	verdicts_release(&v);
	result_release(&r);
}

static void results_that_were_not_verified_are_not_judged(void **state)
{
	struct verdicts v;
	struct result r;

	(void)state;
	node_init(&r, 1, "NVIDIA H200");
	node_add(&r, 0, 55e9, 0.001);
	r.cases[0].verification.done = false;
	judge_as(LINK, false, &r, &v);
	assert_int_equal(v.checks[0].verdict, VERDICT_ERROR);
	assert_int_equal(verdicts_exit_code(&v), 4);
	verdicts_release(&v);
	r.cases[0].verification.done = true;
	r.cases[0].verification.error = 1;
	r.cases[0].verification.tolerance = 0.001;
	judge_as(LINK, false, &r, &v);
	assert_int_equal(verdicts_exit_code(&v), 5);
	verdicts_release(&v);
	r.cases[0].verification.tolerance = 1;
	judge_as(LINK, false, &r, &v);
	assert_int_equal(verdicts_exit_code(&v), 0);
	verdicts_release(&v);
	result_release(&r);
}

/* A limit on the node that holds is no reason to accept a run without a measurement. */
static void judging_nothing_fails(void **state)
{
	struct verdicts v;
	struct result r;

	(void)state;
	node_init(&r, 1, "NVIDIA H200");
	judge_as("metric = node.devices\nmin = 1\n", false, &r, &v);
	assert_int_equal(verdicts_exit_code(&v), 1);
	assert_int_equal(v.counts[VERDICT_PASS], 1);
	verdicts_release(&v);
	node_add(&r, 0, 55e9, 0.001);
	r.cases[0].status = CASE_SKIPPED;
	judge_as("metric = node.devices\nmin = 1\n", false, &r, &v);
	assert_int_equal(verdicts_exit_code(&v), 1);
	verdicts_release(&v);
	r.cases[0].status = CASE_OK;
	judge_as("metric = node.devices\nmin = 1\n", false, &r, &v);
	assert_int_equal(verdicts_exit_code(&v), 0);
	verdicts_release(&v);
	result_release(&r);
}

static void skip_case(struct case_result *c)
{
	c->status = CASE_SKIPPED;
	free(c->reason);
	c->reason = xstrdup("not here");
}

/* A device that skips what an identical one does fails once, with a limit on it or without. */
static void a_device_that_skips_alone_fails_once(void **state)
{
	static const char *const limits[] = { ANY, "metric = stream.bandwidth\nmin = 1 GB/s\n"
						   "allow_skipped = yes\n" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		struct verdicts v;
		struct result r;

		node_init(&r, 2, "NVIDIA H200");
		node_add(&r, 0, 55e9, 0.001);
		skip_case(node_add(&r, 1, 55e9, 0.001));
		judge_as(limits[i], false, &r, &v);
		assert_int_equal(v.counts[VERDICT_FAIL], 1);
		assert_int_equal(v.overall, VERDICT_FAIL);
		verdicts_release(&v);
		result_release(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_device_that_skips_alone_fails_once),
		cmocka_unit_test(a_promised_aspect_without_a_judged_check_leaves_it_open),
		cmocka_unit_test(what_failed_is_rejected_though_more_is_missing),
		cmocka_unit_test(limits_of_ones_own_promise_what_they_judge),
		cmocka_unit_test(shipped_limits_promise_what_was_measured),
		cmocka_unit_test(one_sensor_is_a_look_at_the_condition),
		cmocka_unit_test(correctness_and_condition_rest_on_looks),
		cmocka_unit_test(results_that_were_not_verified_are_not_judged),
		cmocka_unit_test(judging_nothing_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
