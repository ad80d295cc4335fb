/*
 * How claims are judged: intervals decide, what is missing is said and never passes, GPU claims
 * need a GPU, and some read several results.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "claims_fixture.h"

static const struct claim two = {
	.id = "X1",
	.claim = "claim",
	.source = "source",
	.prediction = "prediction",
	.measures = { { "first",
			{ { "s.a", "label:l, batch:64" }, { "s.b", "" } },
			.low = 1,
			.high = 2 },
		      { "second", { { "s.a", "batch:128" } }, .low = 1, .high = 2 } },
};

static void measurements_are_weighed_together(void **state)
{
	static const struct {
		double first, second;
		enum claim_verdict verdict;
	} cases[] = {
		{ 1.5, 1.5, CLAIM_HOLDS },    { 3, 3, CLAIM_FAILS },
		{ 1.5, 3, CLAIM_DEPENDS },    { 0.5, 1.5, CLAIM_DEPENDS },
		{ 1.5, NAN, CLAIM_PARTIAL },  { NAN, 3, CLAIM_PARTIAL },
		{ NAN, NAN, CLAIM_UNTESTED },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct result result = { 0 };

		if (!isnan(cases[i].first))
			fixture_measure(&result, &two.measures[0], cases[i].first);
		if (!isnan(cases[i].second))
			fixture_measure(&result, &two.measures[1], cases[i].second);
		assert_int_equal(fixture_judge(&result, 1, &two), cases[i].verdict);
		result_release(&result);
	}
}

/* One that disagrees is enough for "depends", whatever the missing one would say. */
static void disagreement_outweighs_what_is_missing(void **state)
{
	struct claim claim = two;
	struct result result = { 0 };

	(void)state;
	claim.measures[2] =
		(struct claim_measure){ "third", { { "s.c", "" } }, .low = 1, .high = 2 };
	fixture_measure(&result, &claim.measures[0], 1.5);
	assert_int_equal(fixture_judge(&result, 1, &claim), CLAIM_PARTIAL);
	fixture_measure(&result, &claim.measures[1], 3);
	assert_int_equal(fixture_judge(&result, 1, &claim), CLAIM_DEPENDS);
	result_release(&result);
}

/*
 * Eight GPUs decide if there are eight, and no other machine lacks them; but an error there is one.
 */
static void what_a_machine_cannot_do_is_not_missing(void **state)
{
	struct claim claim = two;
	struct result result = { 0 };
	struct case_result *c;

	(void)state;
	claim.measures[1].where_possible = true;
	fixture_measure(&result, &claim.measures[0], 1.5);
	assert_int_equal(fixture_judge(&result, 1, &claim), CLAIM_HOLDS);
	c = fixture_case(&result, &claim.measures[1].terms[0], 3);
	assert_int_equal(fixture_judge(&result, 1, &claim), CLAIM_DEPENDS);
	c->status = CASE_SKIPPED;
	assert_int_equal(fixture_judge(&result, 1, &claim), CLAIM_HOLDS);
	c->status = CASE_ERROR;
	assert_int_equal(fixture_judge(&result, 1, &claim), CLAIM_PARTIAL);
	result_release(&result);
}

/* Shown with the others, whatever it is. */
static void what_has_no_say_decides_nothing(void **state)
{
	struct claim claim = two;
	struct result result = { 0 };

	(void)state;
	claim.measures[1].low = -HUGE_VAL;
	claim.measures[1].high = HUGE_VAL;
	assert_true(claim_is_decisive(&claim.measures[0]));
	assert_false(claim_is_decisive(&claim.measures[1]));
	assert_false(claim_is_decisive(&claim.measures[2]));
	fixture_measure(&result, &claim.measures[1], 7);
	assert_int_equal(fixture_judge(&result, 1, &claim), CLAIM_UNTESTED);
	fixture_measure(&result, &claim.measures[0], 1.5);
	assert_int_equal(fixture_judge(&result, 1, &claim), CLAIM_HOLDS);
	result_release(&result);
}

static const struct claim at_most = {
	.id = "X2",
	.claim = "claim",
	.source = "source",
	.prediction = "prediction",
	.measures = { { "slowdown", { { "s.a", "" } }, .low = 0, .high = 1.05 } },
};

static void make_timed(struct case_result *c, double low, double high)
{
	struct metric_value *m = &c->metrics[0];

	free(m->unit);
	m->unit = xstrdup("s");
	m->low = low;
	m->high = high;
}

/* Medians beyond a bound say nothing where their intervals reach across it. */
static void intervals_decide(void **state)
{
	static const struct {
		double value, low, high;
		enum claim_verdict verdict;
	} cases[] = {
		{ 1.35, 0.84, 1.44, CLAIM_UNDECIDED },
		{ 1.09, 0.60, 1.98, CLAIM_UNDECIDED },
		{ 1.00, 0.90, 1.12, CLAIM_UNDECIDED },
		{ 1.00, 0.99, 1.01, CLAIM_HOLDS },
		{ 1.35, 1.30, 1.40, CLAIM_FAILS },
		/* A single launch: what processes differ by is added. */
		{ 1.052, 1.0519, 1.0521, CLAIM_UNDECIDED },
		{ 1.052, NAN, NAN, CLAIM_UNDECIDED },
		{ 1.2, NAN, NAN, CLAIM_FAILS },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct result result = { 0 };

		make_timed(fixture_case(&result, &at_most.measures[0].terms[0], cases[i].value),
			   cases[i].low, cases[i].high);
		assert_int_equal(fixture_judge(&result, 1, &at_most), cases[i].verdict);
		result_release(&result);
	}
}

/* Too few independent samples for an interval: their extremes stand for it. */
static void samples_without_an_interval_are_not_exact(void **state)
{
	struct result result = { 0 };
	struct case_result *c = fixture_case(&result, &at_most.measures[0].terms[0], 1.2);
	struct series *s = case_result_add_times(c, "s.time");

	(void)state;
	make_timed(c, NAN, NAN);
	c->metrics[0].series = xstrdup("s.time");
	s->statistics = (struct statistics){ .n = 9, .min = 10, .median = 12, .max = 12.5 };
	assert_int_equal(fixture_judge(&result, 1, &at_most), CLAIM_UNDECIDED);
	s->statistics.min = 11.9;
	assert_int_equal(fixture_judge(&result, 1, &at_most), CLAIM_FAILS);
	result_release(&result);
}

/*
 * A level that still changed when its time was over is no figure of a steady state: it passes and
 * fails no claim.
 */
static void what_has_not_settled_is_no_evidence(void **state)
{
	struct result result = { 0 };
	struct case_result *c = fixture_case(&result, &at_most.measures[0].terms[0], 1.0);
	struct series *s = case_result_add_times(c, "s.time");
	struct claim_evidence evidence[CLAIM_MEASURES];

	(void)state;
	make_timed(c, 0.99, 1.01);
	c->metrics[0].series = xstrdup("s.time");
	assert_int_equal(fixture_judge(&result, 1, &at_most), CLAIM_HOLDS);
	s->unsettled = true;
	assert_int_equal(claim_judge(&result, 1, &at_most, evidence), CLAIM_UNTESTED);
	assert_non_null(strstr(evidence[0].missing, "ended before its values had settled: "));
	claim_evidence_release(evidence);
	result_release(&result);
}

/* A host-bound time is another one at the next visit: within a fifth nothing is told. */
static void visits_count_as_well(void **state)
{
	static const struct claim_term host = { "alloc.latency", "" },
				       step = { "trainmem.step_time", "" };
	static const struct claim_term *const terms[] = { &host, &step };
	static const enum claim_verdict verdicts[] = { CLAIM_UNDECIDED, CLAIM_FAILS };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(terms); i++) {
		struct claim claim = at_most;
		struct result result = { 0 };

		claim.measures[0].terms[0] = *terms[i];
		make_timed(fixture_case(&result, terms[i], 1.2), 1.19, 1.21);
		assert_int_equal(fixture_judge(&result, 1, &claim), verdicts[i]);
		result_release(&result);
	}
}

/* Bytes that were counted are exact, and so is their quotient. */
static void errors_of_a_quotient_add_up(void **state)
{
	const struct claim_term a = { "s.a", "" }, b = { "s.b", "" };
	const struct claim claim = { .id = "X",
				     .measures = { { "a / b", { a, b }, .low = 1, .high = 3 } } };
	struct claim_evidence evidence[CLAIM_MEASURES];
	struct result result = { 0 };
	double single;

	(void)state;
	fixture_case(&result, &a, 8);
	fixture_case(&result, &b, 4);
	claim_judge(&result, 1, &claim, evidence);
	assert_float_equal(evidence[0].readings[0].low, 2, 0);
	assert_float_equal(evidence[0].readings[0].high, 2, 0);
	claim_evidence_release(evidence);
	make_timed(&result.cases[0], NAN, NAN);
	claim_judge(&result, 1, &claim, evidence);
	single = log(evidence[0].readings[0].high / 2);
	claim_evidence_release(evidence);
	make_timed(&result.cases[1], NAN, NAN);
	claim_judge(&result, 1, &claim, evidence);
	assert_true(single > 0.005);
	assert_float_equal(log(evidence[0].readings[0].high / 2), single * sqrt(2), 1e-9);
	assert_float_equal(log(2 / evidence[0].readings[0].low), single * sqrt(2), 1e-9);
	claim_evidence_release(evidence);
	result_release(&result);
}

/* How wrong things were is told by the case that failed for it. */
static void a_failure_may_be_the_measurement(void **state)
{
	const struct claim claim = {
		.id = "X",
		.measures = { { "a",
				{ { "s.a", "label:l" } },
				.even_failed = true,
				.low = 0,
				.high = 1 } },
	};
	struct result result = { 0 };

	(void)state;
	fixture_measure(&result, &claim.measures[0], 15);
	result.cases[0].status = CASE_FAILED;
	assert_int_equal(fixture_judge(&result, 1, &claim), CLAIM_FAILS);
	result.cases[0].status = CASE_ERROR;
	assert_int_equal(fixture_judge(&result, 1, &claim), CLAIM_UNTESTED);
	result_release(&result);
}

static void only_the_case_that_is_meant_counts(void **state)
{
	static const struct claim_term wrong[] = {
		{ "s.a", "label:other, batch:64" }, { "s.a", "label:l, batch:6" },
		{ "s.a", "label:l, batch:640" },    { "s.a", "label:l" },
		{ "t.a", "label:l, batch:64" },     { "s.aa", "label:l, batch:64" },
	};
	const struct claim claim = {
		.id = "X",
		.measures = { { "a", { { "s.a", "label:l, batch:64" } }, .low = 1, .high = 2 } },
	};
	struct claim_evidence evidence[CLAIM_MEASURES];
	struct result result = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		fixture_case(&result, &wrong[i], 1.5);
	assert_int_equal(fixture_judge(&result, 1, &claim), CLAIM_UNTESTED);
	fixture_case(&result, &claim.measures[0].terms[0], 1.25);
	assert_int_equal(claim_judge(&result, 1, &claim, evidence), CLAIM_HOLDS);
	assert_float_equal(evidence[0].readings[0].value, 1.25, 0);
	claim_evidence_release(evidence);
	result.cases[result.case_count - 1].status = CASE_FAILED;
	assert_int_equal(fixture_judge(&result, 1, &claim), CLAIM_UNTESTED);
	result_release(&result);
}

/* A quotient of two devices compares devices, not what the claim is about. */
static void terms_are_of_one_device(void **state)
{
	const struct claim_term a = { "s.a", "" }, b = { "s.b", "" };
	const struct claim claim = { .id = "X",
				     .measures = { { "a / b", { a, b }, .low = 1, .high = 3 } } };
	struct claim_evidence evidence[CLAIM_MEASURES];
	struct result result = { 0 };

	(void)state;
	fixture_case_on(&result, "cuda:0", &a, 20);
	fixture_case_on(&result, "cuda:1", &b, 4);
	assert_int_equal(claim_judge(&result, 1, &claim, evidence), CLAIM_UNTESTED);
	assert_non_null(strstr(evidence[0].missing, "different devices"));
	claim_evidence_release(evidence);
	fixture_case_on(&result, "cuda:1", &a, 8);
	assert_int_equal(claim_judge(&result, 1, &claim, evidence), CLAIM_HOLDS);
	assert_string_equal(evidence[0].readings[0].device, "cuda:1");
	claim_evidence_release(evidence);
	result_release(&result);
}

static void judge_on(const struct claim *claim, const char *backend, int links,
		     enum claim_verdict verdict, const char *why)
{
	struct claim_evidence evidence[CLAIM_MEASURES];
	struct result result = { 0 };
	const char *device = fixture_device(&result, "some device", backend, links);

	fixture_case_on(&result, device, &claim->measures[0].terms[0], 1.5);
	assert_int_equal(claim_judge(&result, 1, claim, evidence), verdict);
	if (why)
		assert_non_null(strstr(evidence[0].missing, why));
	claim_evidence_release(evidence);
	result_release(&result);
}

static void claims_about_gpus_need_a_gpu(void **state)
{
	struct claim claim = { .id = "X",
			       .on = CLAIM_ON_GPU,
			       .measures = { { "a", { { "s.a", "" } }, .low = 1, .high = 2 } } };

	(void)state;
	judge_on(&claim, "host", 0, CLAIM_UNTESTED, "no GPU was measured");
	judge_on(&claim, "cuda", 0, CLAIM_HOLDS, NULL);
	claim.on = CLAIM_ON_NVLINK;
	judge_on(&claim, "host", 0, CLAIM_UNTESTED, "no GPU was measured");
	judge_on(&claim, "cuda", 0, CLAIM_UNTESTED,
		 "no GPU measured here reports an active NVLink");
	judge_on(&claim, "cuda", 18, CLAIM_HOLDS, NULL);
}

/* On a machine with both, the CPU's case does not stand in for the GPU's. */
static void a_cpu_does_not_stand_in_for_the_gpu(void **state)
{
	const struct claim claim = { .id = "X",
				     .on = CLAIM_ON_GPU,
				     .measures = {
					     { "a", { { "s.a", "" } }, .low = 1, .high = 2 } } };
	struct claim_evidence evidence[CLAIM_MEASURES];
	struct result result = { 0 };
	const char *host = fixture_device(&result, "CPU", "host", 0);

	(void)state;
	fixture_device(&result, "GPU", "cuda", 0);
	fixture_case_on(&result, host, &claim.measures[0].terms[0], 1.5);
	assert_int_equal(claim_judge(&result, 1, &claim, evidence), CLAIM_UNTESTED);
	assert_non_null(strstr(evidence[0].missing, "s/1 ran on host:0, which is no GPU"));
	claim_evidence_release(evidence);
	result_release(&result);
}

static void assert_missing(const struct result *result, const struct claim *claim, const char *why)
{
	struct claim_evidence evidence[CLAIM_MEASURES];

	assert_int_equal(claim_judge(result, 1, claim, evidence), CLAIM_UNTESTED);
	assert_string_equal(evidence[0].missing, why);
	claim_evidence_release(evidence);
}

static void set_text(char **text, const char *to)
{
	free(*text);
	*text = xstrdup(to);
}

/* The page names the missing case that a claim needs, and what became of it. */
static void the_missing_case_is_named(void **state)
{
	const struct claim claim = {
		.id = "X",
		.measures = { { "a",
				{ { "s.a", "label:small, precision:fp32, batch:64" } },
				.low = 1,
				.high = 2 } },
	};
	const struct claim_term other = { "s.a", "label:small, precision:fp32, batch:256" },
				bare = { "s.b", "label:small, precision:fp32, batch:64" };
	struct result result = { 0 };
	struct case_result *c;

	(void)state;
	assert_missing(&result, &claim, "[suite s small] was not run (precision fp32, batch 64)");
	fixture_case(&result, &other, 1.5);
	assert_missing(&result, &claim,
		       "[suite s small] has no case with precision fp32, batch 64");
	result.planned = 2;
	assert_missing(&result, &claim,
		       "[suite s small] has no case with precision fp32, batch 64; the run stopped "
		       "before its end");
	fixture_case(&result, &bare, 1.5);
	assert_missing(&result, &claim, "s/2 does not report s.a");
	c = fixture_case(&result, &claim.measures[0].terms[0], 1.5);
	c->status = CASE_ERROR;
	set_text(&c->reason, "hung: no result within 60 s (killed)");
	result.cases[1].status = CASE_SKIPPED;
	set_text(&result.cases[1].reason, "it takes two devices");
	assert_missing(&result, &claim, "s/2 was skipped: it takes two devices");
	result.cases[1].status = CASE_OK;
	set_text(&result.cases[1].parameters[1].text, "65");
	assert_missing(&result, &claim, "s/3 ended in ERROR: hung: no result within 60 s (killed)");
	result_release(&result);
}

static void device_models_are_compared_across_results(void **state)
{
	const struct claim claim = {
		.id = "X",
		.on = CLAIM_ON_GPU,
		.measures = { { "V100 / K80",
				{ { "s.a", "model:V100, label:l" },
				  { "s.a", "model:K80, label:l" } },
				.across = CLAIM_MODELS,
				.low = 1.5,
				.high = HUGE_VAL } },
	};
	struct claim_evidence evidence[CLAIM_MEASURES];
	struct result results[2] = { 0 };

	(void)state;
	fixture_case(&results[0], &claim.measures[0].terms[0], 800);
	assert_missing(&results[0], &claim, "K80: this page has no such result");
	fixture_case(&results[1], &claim.measures[0].terms[1], 200);
	assert_int_equal(claim_judge(results, 2, &claim, evidence), CLAIM_HOLDS);
	assert_float_equal(evidence[0].readings[0].value, 4, 1e-12);
	assert_int_equal(evidence[0].readings[0].run, 0);
	assert_int_equal(evidence[0].readings[0].other, 1);
	claim_evidence_release(evidence);
	fixture_release(results, 2);
}

static void versions_are_compared_on_one_model(void **state)
{
	const struct claim claim = {
		.id = "X",
		.on = CLAIM_ON_GPU,
		.measures = { { "the larger / the smaller",
				{ { "s.a", "" } },
				.across = CLAIM_VERSIONS,
				.low = 1.01,
				.high = HUGE_VAL } },
	};
	struct claim_evidence evidence[CLAIM_MEASURES];
	struct result results[3] = { 0 };

	(void)state;
	fixture_case(&results[0], &claim.measures[0].terms[0], 300);
	fixture_case(&results[1], &claim.measures[0].terms[0], 300);
	fixture_fact(&results[0], "driver", "535");
	fixture_fact(&results[1], "driver", "535");
	assert_int_equal(claim_judge(results, 2, &claim, evidence), CLAIM_UNTESTED);
	assert_non_null(strstr(evidence[0].missing, "two results of one GPU model"));
	claim_evidence_release(evidence);
	/* Another driver, and another card: neither tells what the driver does. */
	fixture_case_on(&results[2], fixture_device(&results[2], "Tesla V100", "cuda", 0),
			&claim.measures[0].terms[0], 600);
	fixture_fact(&results[2], "driver", "580");
	assert_int_equal(fixture_judge(results, 3, &claim), CLAIM_UNTESTED);
	snprintf(results[2].devices[0].name, sizeof(results[2].devices[0].name), "NVIDIA H200");
	assert_int_equal(claim_judge(results, 3, &claim, evidence), CLAIM_HOLDS);
	assert_float_equal(evidence[0].readings[0].value, 2, 1e-12);
	claim_evidence_release(evidence);
	results[2].cases[0].metrics[0].value = 300;
	assert_int_equal(fixture_judge(results, 3, &claim), CLAIM_FAILS);
	fixture_release(results, 3);
}

static void machines_are_compared_by_host_name(void **state)
{
	const struct claim claim = {
		.id = "X",
		.measures = { { "the larger / the smaller",
				{ { "s.a", "" } },
				.across = CLAIM_MACHINES,
				.low = 1.05,
				.high = HUGE_VAL } },
	};
	struct result results[2] = { 0 };

	(void)state;
	fixture_case(&results[0], &claim.measures[0].terms[0], 100);
	fixture_case(&results[1], &claim.measures[0].terms[0], 120);
	assert_int_equal(fixture_judge(results, 2, &claim), CLAIM_UNTESTED);
	fixture_fact(&results[0], "hostname", "n1");
	fixture_fact(&results[1], "hostname", "n2");
	assert_int_equal(fixture_judge(results, 2, &claim), CLAIM_HOLDS);
	assert_int_equal(fixture_judge(results, 1, &claim), CLAIM_UNTESTED);
	fixture_release(results, 2);
}

/* A claim that holds on one machine and not on the other depends. */
static void every_result_is_asked(void **state)
{
	struct claim claim = two;
	struct result results[2] = { 0 };

	(void)state;
	memset(&claim.measures[1], 0, sizeof(claim.measures[1]));
	fixture_measure(&results[0], &claim.measures[0], 1.5);
	assert_int_equal(fixture_judge(results, 2, &claim), CLAIM_HOLDS);
	fixture_measure(&results[1], &claim.measures[0], 3);
	assert_int_equal(fixture_judge(results, 2, &claim), CLAIM_DEPENDS);
	fixture_release(results, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(measurements_are_weighed_together),
		cmocka_unit_test(disagreement_outweighs_what_is_missing),
		cmocka_unit_test(what_a_machine_cannot_do_is_not_missing),
		cmocka_unit_test(what_has_no_say_decides_nothing),
		cmocka_unit_test(intervals_decide),
		cmocka_unit_test(samples_without_an_interval_are_not_exact),
		cmocka_unit_test(what_has_not_settled_is_no_evidence),
		cmocka_unit_test(visits_count_as_well),
		cmocka_unit_test(errors_of_a_quotient_add_up),
		cmocka_unit_test(a_failure_may_be_the_measurement),
		cmocka_unit_test(only_the_case_that_is_meant_counts),
		cmocka_unit_test(terms_are_of_one_device),
		cmocka_unit_test(claims_about_gpus_need_a_gpu),
		cmocka_unit_test(a_cpu_does_not_stand_in_for_the_gpu),
		cmocka_unit_test(the_missing_case_is_named),
		cmocka_unit_test(device_models_are_compared_across_results),
		cmocka_unit_test(versions_are_compared_on_one_model),
		cmocka_unit_test(machines_are_compared_by_host_name),
		cmocka_unit_test(every_result_is_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
