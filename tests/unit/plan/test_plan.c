/* The plan: which cases a config means on which devices. */
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
#include "base/text.h"
#include "config_suites.h"

static const struct device_info machine[] = {
	{ .id = "cuda:0", .backend = "cuda", .index = 0, .memory_bytes = 1u << 30 },
	{ .id = "cuda:1", .backend = "cuda", .index = 1, .memory_bytes = 1u << 20 },
	{ .id = "host:0", .backend = "host", .index = 0, .capabilities = DEVICE_IS_HOST },
	{ .id = "host:1", .backend = "host", .index = 1, .capabilities = DEVICE_IS_HOST },
};

static void load(struct config *config, const char *text)
{
	struct text errors = TEXT_EMPTY;

	if (config_parse_with(config, &test_schema, "a.ini", text, strlen(text), NULL, 0,
			      &errors) != STATUS_OK)
		fail_msg("%s", errors.data);
}

/* The ids of the plan for `count` devices from `first` of the machine, one a line. */
static char *ids(const char *config_text, size_t first, size_t count)
{
	struct error err = ERROR_NONE;
	struct text out = TEXT_EMPTY;
	struct config config;
	struct plan plan;

	load(&config, config_text);
	if (plan_build(&plan, &config, machine + first, count, &err) != STATUS_OK) {
		config_release(&config);
		return xstrdup(err.message);
	}
	for (size_t i = 0; i < plan.case_count; i++) {
		assert_int_equal(plan.cases[i].index, i);
		text_addf(&out, "%s%s%s\n", plan.cases[i].id,
			  plan.cases[i].skip_reason ? " SKIP " : "",
			  plan.cases[i].skip_reason ? plan.cases[i].skip_reason : "");
	}
	plan_release(&plan);
	config_release(&config);
	return text_detach(&out);
}

static void check_ids(const char *config_text, size_t first, size_t count, const char *expected)
{
	char *got = ids(config_text, first, count);

	assert_string_equal(got, expected);
	free(got);
}

static void first_axis_is_the_slowest(void **state)
{
	(void)state;
	check_ids("[suite copy]\nsizes = 2KiB, 1KiB\ndirections = down, up\n", 0, 1,
		  "copy/down/2KiB@cuda:0\ncopy/down/1KiB@cuda:0\ncopy/up/2KiB@cuda:0\ncopy/up/"
		  "1KiB@cuda:0\n");
}

static void every_device_every_section_in_order(void **state)
{
	(void)state;
	check_ids("[suite gemm]\nsizes = 64, 8x16x32\n[suite copy big]\nsizes = 1.5KiB\ndirections "
		  "= both\n"
		  "[suite gemm fp16]\nprecisions = fp16\n",
		  2, 2,
		  "gemm/fp32/64@host:0\ngemm/fp32/64@host:1\ngemm/fp32/8x16x32@host:0\ngemm/fp32/"
		  "8x16x32@host:1\n"
		  "copy:big/both/1536B@host:0\ncopy:big/both/1536B@host:1\n"
		  "gemm:fp16/fp16/256@host:0\ngemm:fp16/fp16/256@host:1\n");
}

static void cases_on_several_devices_and_impossible_ones(void **state)
{
	(void)state;
	check_ids("[suite train]\nbatch = 8\ndevices = 1, 2, 4\n", 0, 2,
		  "train/1@cuda:0\ntrain/2@cuda:0,cuda:1\n"
		  "train/4@cuda:0,cuda:1 SKIP not that many devices here\n");
	check_ids("[suite train]\nbatch = 8\ndevices = 1\n", 0, 0,
		  "train/1 SKIP not that many devices here\n");
}

static void what_does_not_fit_is_skipped_with_both_figures(void **state)
{
	(void)state;
	check_ids("[suite copy]\nsizes = 1MiB, 2MiB, 2GiB\ndirections = up\n", 0, 2,
		  "copy/up/1MiB@cuda:0\ncopy/up/1MiB@cuda:1\ncopy/up/2MiB@cuda:0\n"
		  "copy/up/2MiB@cuda:1 SKIP needs 2.097 MB of device memory; cuda:1 has 1.049 MB\n"
		  "copy/up/2GiB@cuda:0 SKIP needs 2.147 GB of device memory; cuda:0 has 1.074 GB\n"
		  "copy/up/2GiB@cuda:1 SKIP needs 2.147 GB of device memory; cuda:1 has 1.049 "
		  "MB\n");
	/* Unknown memory refuses nothing. */
	check_ids("[suite copy]\nsizes = 1TiB\ndirections = up\n", 2, 1, "copy/up/1TiB@host:0\n");
}

static enum status expand_host_memory(struct plan *plan, struct plan_case *point, struct error *err)
{
	point->host_bytes = (uint64_t)1 << 60;
	return plan_add_each(plan, point, err);
}

static enum status expand_nothing(struct plan *plan, struct plan_case *point, struct error *err)
{
	(void)plan;
	(void)point;
	(void)err;
	return STATUS_OK;
}

/* The direction means nothing to copies of 1 KiB. */
static enum status expand_dropping(struct plan *plan, struct plan_case *point, struct error *err)
{
	if (case_integer(point, "sizes") == 1024 && !plan_drop_axis(point, "directions"))
		return STATUS_OK;
	return plan_add_each(plan, point, err);
}

static enum status expand_twice(struct plan *plan, struct plan_case *point, struct error *err)
{
	if (plan_add_each(plan, point, err) != STATUS_OK)
		return err->status;
	return plan_add_each(plan, point, err);
}

static enum status expand_fails(struct plan *plan, struct plan_case *point, struct error *err)
{
	if (plan->case_count == 1)
		return error_set(err, STATUS_USAGE, "%s: not today", point->id);
	return plan_add_each(plan, point, err);
}

/* The ids when the suite copy expands by `expand`. */
static char *ids_expanded(enum status (*expand)(struct plan *, struct plan_case *, struct error *))
{
	struct suite suite = copy_suite;
	const struct suite *const list[] = { &suite, NULL };
	const struct schema schema = { .suites = list, .sampling = test_sampling_keys };
	struct text errors = TEXT_EMPTY;
	struct error err = ERROR_NONE;
	struct config config;
	struct plan plan;
	struct text text = TEXT_EMPTY;

	suite.expand = expand;
	assert_int_equal(config_parse_with(&config, &schema, "a.ini", "[suite copy]\n", 13, NULL, 0,
					   &errors),
			 STATUS_OK);
	if (plan_build(&plan, &config, machine, 1, &err) == STATUS_OK)
		text_addf(&text, "%zu cases", plan.case_count);
	else
		text_addf(&text, "%s: %s", status_name(err.status), err.message);
	for (size_t i = 0; i < plan.case_count; i++) {
		assert_true(plan.cases[i].skip_reason || plan.cases[i].estimate_seconds > 0);
		text_addf(&text, "%s%s", i ? ", " : ": ",
			  plan.cases[i].skip_reason ? plan.cases[i].skip_reason : plan.cases[i].id);
	}
	plan_release(&plan);
	config_release(&config);
	return text_detach(&text);
}

/*
 * A suite without expand(), or without estimates in it: each point on each device, with a usual
 * setup time.
 */
static void a_suite_may_leave_the_placing_to_the_plan(void **state)
{
	char *text = ids_expanded(NULL);

	(void)state;
	assert_string_equal(text, "6 cases: copy/up/1KiB@cuda:0, copy/up/4KiB@cuda:0, "
				  "copy/up/16KiB@cuda:0, copy/down/1KiB@cuda:0, "
				  "copy/down/4KiB@cuda:0, copy/down/16KiB@cuda:0");
	free(text);
}

static void suites_may_drop_points_but_not_double_them(void **state)
{
	char *text;

	(void)state;
	text = ids_expanded(expand_nothing);
	assert_string_equal(text, "0 cases");
	free(text);
	text = ids_expanded(expand_dropping);
	assert_string_equal(text,
			    "5 cases: copy/1KiB@cuda:0, copy/up/4KiB@cuda:0, copy/up/16KiB@cuda:0, "
			    "copy/down/4KiB@cuda:0, copy/down/16KiB@cuda:0");
	free(text);
	text = ids_expanded(expand_twice);
	assert_string_equal(text,
			    "INTERNAL: the config contains the case copy/down/16KiB@cuda:0 twice");
	free(text);
	text = ids_expanded(expand_fails);
	assert_string_equal(text, "USAGE: copy/up/4KiB: not today");
	free(text);
	text = ids_expanded(expand_host_memory);
	assert_non_null(strstr(text, "6 cases: needs 1153 PB of host memory; the machine or "
				     "container has "));
	free(text);
}

static void a_plan_that_never_ends_is_refused(void **state)
{
	(void)state;
	check_ids("[suite gemm]\nsizes = 1..4096\nprecisions = fp64, fp32, fp16\n[suite gemm b]\n"
		  "sizes = 1..4096\n"
		  "precisions = fp64, fp32, fp16\n[suite gemm c]\nsizes = 1..4096\nprecisions = "
		  "fp64, fp32, fp16\n",
		  0, 3, "the config has more than 100000 cases; shorten the lists of gemm");
}

static void cases_know_their_parameters(void **state)
{
	struct error err = ERROR_NONE;
	struct config config;
	struct plan plan;

	(void)state;
	load(&config, "[suite copy]\nsizes = 3KiB\ndirections = both\n");
	assert_int_equal(plan_build(&plan, &config, machine, 1, &err), STATUS_OK);
	assert_int_equal(plan.case_count, 1);
	assert_int_equal(case_integer(&plan.cases[0], "sizes"), 3072);
	assert_string_equal(case_text(&plan.cases[0], "directions"), "both");
	assert_int_equal(case_value(&plan.cases[0], "directions")->integer, 2);
	assert_string_equal(plan.cases[0].parameters[0].key->name, "directions");
	assert_ptr_equal(plan.cases[0].section, &config.sections[1]);
	assert_int_equal(plan.cases[0].device_count, 1);
	plan_release(&plan);
	config_release(&config);
}

/* Estimate and limit of the only case of `config_text`. */
static void times(const char *config_text, double *estimate, double *limit)
{
	struct error err = ERROR_NONE;
	struct config config;
	struct plan plan;

	load(&config, config_text);
	assert_int_equal(plan_build(&plan, &config, machine, 1, &err), STATUS_OK);
	assert_int_equal(plan.case_count, 1);
	*estimate = plan.cases[0].estimate_seconds;
	*limit = plan.cases[0].limit_seconds;
	plan_release(&plan);
	config_release(&config);
}

static void times_follow_from_the_sampling_keys(void **state)
{
	double estimate, limit;

	(void)state;
	/* copy's set-up takes 0.25 s; 2 warm-up and about twice 10 samples of 1 ms. */
	times("[suite copy]\nsizes = 1KiB\ndirections = up\n", &estimate, &limit);
	assert_true(fabs(estimate - (0.25 + 0.022)) < 1e-9);
	assert_true(limit == 30);
	/* No more than max_time, ... */
	times("[suite copy]\nsizes = 1KiB\ndirections = up\nsample_time = 1s\nmax_time = 15s\n",
	      &estimate, &limit);
	assert_true(fabs(estimate - 15.25) < 1e-9);
	assert_true(fabs(limit - 20 * 15.25) < 1e-9);
	/* ... but for min_samples, which are taken whatever it says: that is no hang. */
	times("[suite copy]\nsizes = 1KiB\ndirections = up\nsample_time = 1s\nmax_time = 9s\n",
	      &estimate, &limit);
	assert_true(fabs(estimate - 12.25) < 1e-9);
	assert_true(fabs(limit - 20 * 12.25) < 1e-9);
	/* Nor is a level that takes long to settle. */
	times("[suite copy]\nsizes = 1KiB\ndirections = up\nsettle_time = 60s\n", &estimate,
	      &limit);
	assert_true(fabs(estimate - (0.25 + 0.022)) < 1e-9);
	assert_true(limit > 20 * 60);
	/* Energy takes its time twice: working and resting. */
	times("[suite copy]\nsizes = 1KiB\ndirections = up\nenergy_time = 4s\n", &estimate, &limit);
	assert_true(fabs(estimate - (0.25 + 0.022 + 8)) < 1e-9);
	assert_true(limit > 20 * 8);
	times("[run]\ncase_limit = 5s\n[suite copy]\nsizes = 1KiB\ndirections = up\n", &estimate,
	      &limit);
	assert_true(limit == 5);
	/* A case that is skipped takes no time. */
	times("[suite copy]\nsizes = 1TiB\ndirections = up\n", &estimate, &limit);
	assert_true(estimate == 0);
}

static void run_suites_chooses(void **state)
{
	(void)state;
	check_ids("[run]\nsuites = gemm\n[suite copy]\n[suite gemm]\n[suite gemm b]\n", 0, 1,
		  "gemm/fp32/256@cuda:0\ngemm:b/fp32/256@cuda:0\n");
}

static void sections_may_be_for_one_backend(void **state)
{
	static const char text[] =
		"[suite gemm]\nbackend = host\n[suite gemm big]\nbackend = cuda\n"
		"sizes = 4096\n[suite train]\nbatch = 8\nbackend = host\n";

	(void)state;
	check_ids(text, 0, 2, "gemm:big/fp32/4096@cuda:0\ngemm:big/fp32/4096@cuda:1\n");
	check_ids(text, 2, 1,
		  "gemm/fp32/256@host:0\ntrain/1@host:0\n"
		  "train/2@host:0 SKIP not that many devices here\n");
}

/* Other memory, another card: only what is the same in everything is left out. */
static void one_of_identical_devices_may_do(void **state)
{
	static const char text[] = "[suite gemm]\nidentical_devices = one\n[suite train]\nbatch = "
				   "8\nidentical_devices = one\n";

	(void)state;
	check_ids(text, 0, 4,
		  "gemm/fp32/256@cuda:0\ngemm/fp32/256@cuda:1\ngemm/fp32/256@host:0\n"
		  "train/1@cuda:0\ntrain/2@cuda:0,cuda:1\n");
	check_ids(text, 3, 1,
		  "gemm/fp32/256@host:1\ntrain/1@host:1\n"
		  "train/2@host:1 SKIP not that many devices here\n");
	check_ids("[suite gemm]\nidentical_devices = all\n", 2, 2,
		  "gemm/fp32/256@host:0\ngemm/fp32/256@host:1\n");
}

static void devices_are_selected(void **state)
{
	static const struct {
		const char *run;
		size_t first, count; /* of the machine */
		const char *expected;
	} rows[] = {
		{ "", 0, 4, "cuda:0 cuda:1 " },
		{ "", 2, 2, "host:0 host:1 " },
		{ "backend = host\n", 0, 4, "host:0 host:1 " },
		{ "devices = 1\n", 0, 4, "cuda:1 " },
		{ "backend = host\ndevices = 1\n", 0, 4, "host:1 " },
		{ "devices = host:0, cuda:1\n", 0, 4, "cuda:1 host:0 " },
		{ "devices = 1, cuda:0\n", 0, 4, "cuda:0 cuda:1 " },
		{ "devices = 2\n", 0, 4,
		  "USAGE: [run] devices: this machine has no device 2; it has: cuda:0, cuda:1, "
		  "host:0, host:1" },
		{ "backend = cuda\ndevices = host:0\n", 0, 4,
		  "USAGE: [run] devices: this machine has no device host:0 of backend cuda; "
		  "it has: "
		  "cuda:0, cuda:1, host:0, host:1" },
		{ "backend = cuda\n", 2, 2,
		  "UNSUPPORTED: [run] backend = cuda: this machine has no device of this backend; "
		  "it has: "
		  "host:0, host:1" },
		{ "", 0, 0,
		  "UNSUPPORTED: [run] backend = host: this machine has no device of this backend; "
		  "it has: "
		  "none" },
		{ "backend = vulkan\n", 0, 4,
		  "UNSUPPORTED: [run] backend = vulkan: this machine has no device of this "
		  "backend; it has: "
		  "cuda:0, cuda:1, host:0, host:1" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *text = xasprintf("[run]\n%s[suite copy]\n", rows[i].run);
		struct error err = ERROR_NONE;
		struct text got = TEXT_EMPTY;
		struct device_info *selected;
		struct config config;
		size_t count;

		load(&config, text);
		if (plan_select_devices(&config, machine + rows[i].first, rows[i].count, &selected,
					&count, &err) != STATUS_OK)
			text_addf(&got, "%s: %s", status_name(err.status), err.message);
		for (size_t d = 0; d < count; d++)
			text_addf(&got, "%s ", selected[d].id);
		assert_string_equal(got.data, rows[i].expected);
		free(selected);
		free(text);
		text_release(&got);
		config_release(&config);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_axis_is_the_slowest),
		cmocka_unit_test(every_device_every_section_in_order),
		cmocka_unit_test(cases_on_several_devices_and_impossible_ones),
		cmocka_unit_test(what_does_not_fit_is_skipped_with_both_figures),
		cmocka_unit_test(a_suite_may_leave_the_placing_to_the_plan),
		cmocka_unit_test(suites_may_drop_points_but_not_double_them),
		cmocka_unit_test(a_plan_that_never_ends_is_refused),
		cmocka_unit_test(cases_know_their_parameters),
		cmocka_unit_test(times_follow_from_the_sampling_keys),
		cmocka_unit_test(run_suites_chooses),
		cmocka_unit_test(sections_may_be_for_one_backend),
		cmocka_unit_test(one_of_identical_devices_may_do),
		cmocka_unit_test(devices_are_selected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
