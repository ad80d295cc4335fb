/*
 * The page: what it says of every kind of case, that text from outside stays text, that the same
 * results give the same bytes, and that large results stay small and quick. Golden pages: golden.h.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"
#include "report/page/report.h"
#include "result/verdict.h"
#include "golden.h"
#include "sample_report.h"

static const struct sample_options two_gpus = {
	.model = "NVIDIA H200", .driver = "580.159.03", .devices = 2, .speed = 1, .small = true
};
static const struct sample_options one_gpu = { .model = "Tesla V100-SXM2-32GB",
					       .driver = "535.183.01",
					       .devices = 1,
					       .speed = 0.31,
					       .healthy = true,
					       .small = true };

/* The same card as that of two_gpus, of an older driver. */
static const struct sample_options one_h200 = { .model = "NVIDIA H200",
						.driver = "535.183.01",
						.devices = 1,
						.speed = 0.31,
						.healthy = true,
						.small = true };

static char *page_of(const struct result *results, size_t count)
{
	struct report_options options = { 0 };
	struct text html = TEXT_EMPTY;
	struct error err = ERROR_NONE;

	if (html_render_report(results, count, &options, &html, &err) != STATUS_OK)
		fail_msg("%s", err.message);
	return text_detach(&html);
}

static char *page_of_sample(const struct sample_options *options)
{
	struct result result;
	char *html;

	sample_report(&result, options);
	html = page_of(&result, 1);
	result_release(&result);
	return html;
}

static char *comparison(void)
{
	struct result results[2];
	char *html;

	sample_report(&results[0], &two_gpus);
	sample_report(&results[1], &one_h200);
	html = page_of(results, 2);
	result_release(&results[0]);
	result_release(&results[1]);
	return html;
}

static void assert_has(const char *html, const char *what)
{
	if (!strstr(html, what))
		fail_msg("the page lacks: %s", what);
}

static void assert_in_order(const char *html, const char *const *what)
{
	const char *at = html;

	for (; *what; what++) {
		const char *next = strstr(at, *what);

		if (!next)
			fail_msg("the page lacks, in this order: %s", *what);
		at = next;
	}
}

static void answer_comes_first(void **state)
{
	static const char *const order[] = { "Wrong results",
					     "1 wrong result and ",
					     "not run",
					     "What went wrong",
					     "byte 4096 is 0x3f, expected 0x91",
					     "Segmentation fault",
					     "Other figures",
					     ">transfer</h2>",
					     ">alloc</h2>",
					     ">matmul</h2>",
					     ">parallel</h2>",
					     "Not run</h2>",
					     "cudaHostRegister: not supported",
					     "Devices</h2>",
					     "Environment",
					     "To repeat it",
					     "gpuproof run quick --seed 7",
					     "lab.ini:2",
					     "Method of measurement",
					     NULL };
	char *html = page_of_sample(&two_gpus);

	(void)state;
	assert_in_order(html, order);
	free(html);
}

static void healthy_run_is_not_called_more_than_it_is(void **state)
{
	char *html = page_of_sample(&one_gpu);

	(void)state;
	/* One GPU cannot run the parallel splits over two: that is said in the first sentence. */
	assert_has(html, "No errors in the cases that ran; not judged");
	assert_has(html, "<section class=\"verdict neutral\"");
	assert_null(strstr(html, "<section class=\"verdict ok\""));
	assert_has(html, "4 were not run");
	assert_null(strstr(html, "What went wrong"));
	free(html);
}

/*
 * A run that mostly did not run gets no green box: the reason is in the first sentences.
 */
static void a_run_that_mostly_did_not_run_is_not_green(void **state)
{
	struct result result;
	char *html;

	(void)state;
	sample_report(&result, &one_gpu);
	for (size_t i = 0; i < result.case_count; i++) {
		struct case_result *c = &result.cases[i];

		if (i % 8 == 0 || c->status == CASE_SKIPPED)
			continue;
		c->status = CASE_SKIPPED;
		free(c->reason);
		c->reason = xstrdup("needs 2 devices & a switch");
	}
	html = page_of(&result, 1);
	assert_has(html, "<section class=\"verdict skipped\"");
	assert_has(html, "Most cases were not run");
	assert_has(html, "cases): needs 2 devices &amp; a switch.");
	free(html);
	result_release(&result);
}

/* The verdict that the result holds, in the same words as everywhere. */
static void the_judgement_of_the_result_is_told(void **state)
{
	struct verdicts verdicts = { .overall = VERDICT_FAIL,
				     .sentence =
					     xstrdup("REJECTED: 1 of 2 checks passed; 1 failed."),
				     .limits = xstrdup("mine.ini"),
				     .limits_text = xstrdup("") };
	struct result result;
	char *html;

	(void)state;
	sample_report(&result, &one_gpu);
	html = page_of(&result, 1);
	assert_has(html, "Nothing was judged: no limit was applied.");
	free(html);
	result_judge(&result, &verdicts);
	html = page_of(&result, 1);
	assert_has(html, "<section class=\"verdict failed\"");
	assert_has(html, "REJECTED");
	assert_has(html, "<p class=\"answer\">REJECTED: 1 of 2 checks passed; 1 failed.</p>");
	assert_has(html, "Judged by the limits <bdi>mine.ini</bdi>");
	free(html);
	result_release(&result);
}

/*
 * More columns than a page is wide: all devices are seen at once, with the middle and the worst
 * named.
 */
static void many_devices_are_seen_at_once(void **state)
{
	struct sample_options eight = two_gpus;
	char *html;

	(void)state;
	assert_true(eight.devices == 2);
	html = page_of_sample(&eight);
	assert_null(strstr(html, "8 devices"));
	assert_null(strstr(html, "share a row"));
	free(html);

	eight.devices = 8;
	html = page_of_sample(&eight);
	assert_has(html, "aria-label=\"Deviation from the middle device, axis\"");
	assert_has(html,
		   "<tr><th scope=\"col\">Property</th><th scope=\"col\">All 8 devices</th></tr>");
	/* Devices that measured the same share a row of the table of cases. */
	assert_has(html, " devices<td>✓ OK");
	assert_has(html, "Devices of one model share a row");
	free(html);

	eight.devices = 20;
	html = page_of_sample(&eight);
	assert_has(html,
		   "<tr><th scope=\"col\">Property</th><th scope=\"col\">All 20 devices</th></tr>");
	assert_has(html, "aria-label=\"Devices, what differs, table\"");
	assert_has(html, "<tr><th scope=\"row\">cuda:19<td>");
	free(html);
}

/* No device of a model has a row apart from the others', in any order of cases. */
static void identical_devices_share_each_row(void **state)
{
	struct sample_options eight = two_gpus;
	char *html;

	(void)state;
	eight.devices = 8;
	eight.healthy = true;
	html = page_of_sample(&eight);
	assert_has(html, "<td>8 devices<td>✓ OK");
	for (int few = 2; few < 8; few++) {
		char *words = xasprintf("<td>%d devices<td>", few);

		if (strstr(html, words))
			fail_msg("a row has %s", words);
		free(words);
	}
	free(html);
}

/* Models of a machine are all named, and a case on two devices has the readings of both. */
static void each_device_is_told(void **state)
{
	struct sample_options options = two_gpus;
	struct result result;
	struct case_result *c;
	char *html;

	(void)state;
	options.healthy = true;
	sample_report(&result, &options);
	html = page_of(&result, 1);
	assert_has(html, "2 × NVIDIA H200: ");
	free(html);
	snprintf(result.devices[1].name, sizeof(result.devices[1].name), "Tesla T4");
	c = &result.cases[0];
	c->during.throttle_reasons = 0x4;
	c->watches = xcalloc(2, sizeof(*c->watches));
	c->watch_count = c->watch_capacity = 2;
	for (int i = 0; i < 2; i++) {
		struct watch *w = &c->watches[i];
		struct time_quantity *q = w->quantities = xcalloc(1, sizeof(*w->quantities));

		w->device = xasprintf("cuda:%d", i);
		w->interval = 1;
		w->quantity_count = 1;
		q->name = xstrdup("throttle_reasons");
		q->unit = xstrdup("1");
		q->highest = xcalloc(1, sizeof(*q->highest));
		q->highest[0] = 0x4;
		q->highest_count = 1;
	}
	html = page_of(&result, 1);
	assert_has(html, "NVIDIA H200, Tesla T4: ");
	assert_has(html, "cuda:0, cuda:1 were throttled in 2 cases (power cap)");
	free(html);
	result_release(&result);
}

static size_t count_of(const char *html, const char *words)
{
	size_t count = 0;

	for (; (html = strstr(html, words)); html += strlen(words))
		count++;
	return count;
}

/* The best of the others is not taken for the device's: what failed is told next to it. */
static void a_failed_case_is_told_at_its_headline(void **state)
{
	static const int devices[] = { 2, 8, 20 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
		struct sample_options options = two_gpus;
		struct result result;
		char *html;

		options.devices = devices[i];
		options.healthy = true;
		sample_report(&result, &options);
		html = page_of(&result, 1);
		assert_int_equal(count_of(html, "failed on cuda:1"), 0);
		free(html);
		for (size_t k = 0; k < result.case_count; k++) {
			struct case_result *c = &result.cases[k];

			if (strcmp(c->suite, "transfer") == 0 && strcmp(c->device, "cuda:1") == 0 &&
			    c->device_count == 1 && c->status == CASE_OK) {
				c->status = CASE_FAILED;
				break;
			}
		}
		html = page_of(&result, 1);
		assert_int_equal(count_of(html, "failed on cuda:1"), 1);
		free(html);
		result_release(&result);
	}
}

/* Two sections may measure the same with different models: neither hides the other. */
static void cases_that_only_sections_tell_apart_both_show(void **state)
{
	struct result result;
	struct case_result *first = NULL, *second = NULL;
	char *html;

	(void)state;
	sample_report(&result, &one_gpu);
	for (size_t i = 0; i < result.case_count && !second; i++) {
		struct case_result *c = &result.cases[i];

		if (strcmp(c->suite, "matmul") != 0 || c->status != CASE_OK)
			continue;
		if (first)
			second = c;
		else
			first = c;
	}
	assert_non_null(second);
	for (size_t i = 0; i < second->parameter_count; i++) {
		free(second->parameters[i].text);
		second->parameters[i].text = xstrdup(first->parameters[i].text);
		second->parameters[i].number = first->parameters[i].number;
	}
	free(second->label);
	second->label = xstrdup("other model");
	html = page_of(&result, 1);
	assert_has(html, " (section other model)");
	free(html);
	result_release(&result);
}

static void unfinished_run_says_so(void **state)
{
	struct result result;
	char *html;

	(void)state;
	sample_report(&result, &one_gpu);
	free(result.state);
	result.state = xstrdup("interrupted");
	result.planned = result.case_count + 10;
	html = page_of(&result, 1);
	assert_has(html, "Not finished: ");
	assert_has(html, "10 more cases were planned but not reached");
	assert_has(html, " 14 were not run");
	free(html);
	result_release(&result);
}

/* Launches of a host whose own work takes `most` in the last of them, 0.33 ns in the others. */
static char *page_of_host(double most, size_t launches)
{
	struct metric_value *work;
	struct result result;
	char *html;

	sample_report(&result, &one_gpu);
	ARRAY_GROW(result.yardstick, result.yardstick_count, result.yardstick_capacity);
	work = &result.yardstick[result.yardstick_count++];
	*work = (struct metric_value){ .name = xstrdup("host.multiply"),
				       .unit = xstrdup("s"),
				       .better = BETTER_LOWER,
				       .value = 0.33e-9,
				       .low = 0.33e-9,
				       .high = most,
				       .n = 30,
				       .series = xstrdup(""),
				       .launches = xcalloc(launches, sizeof(double)),
				       .launch_count = launches };
	for (size_t l = 0; l < launches; l++)
		work->launches[l] = l + 1 < launches ? 0.33e-9 : most;
	html = page_of(&result, 1);
	result_release(&result);
	return html;
}

static void a_host_that_varies_is_told(void **state)
{
	static const struct {
		double most;
		size_t launches;
		bool told;
	} cases[] = {
		{ 0.6e-9, 5, true }, { 0.34e-9, 5, false }, { 0.6e-9, 2, false }, { NAN, 5, false }
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *html = page_of_host(cases[i].most, cases[i].launches);

		assert_int_equal(strstr(html, "for the same multiplication in 5 launches") != NULL,
				 cases[i].told);
		free(html);
	}
}

static void every_case_is_listed(void **state)
{
	struct result result;
	char *html;

	(void)state;
	sample_report(&result, &two_gpus);
	html = page_of(&result, 1);
	for (size_t i = 0; i < result.case_count; i++)
		assert_has(html, result.cases[i].id);
	free(html);
	result_release(&result);
}

/* Each device has its own reason, which is the same: it is said once. */
static void what_no_device_can_do_is_said_once(void **state)
{
	struct result result;
	char *html;

	(void)state;
	sample_report(&result, &two_gpus);
	for (int i = 0; i < 2; i++) {
		struct case_result *c = &result.cases[i];

		c->status = CASE_SKIPPED;
		free(c->device);
		free(c->reason);
		free(c->suite);
		c->suite = xstrdup("stream");
		c->device = xasprintf("cuda:%d", i);
		c->reason = xasprintf("cuda:%d has no pools, as cuda:1%d has", i, i);
	}
	html = page_of(&result, 1);
	assert_has(html, "<b><bdi>stream</bdi></b>: 1 not run: <bdi>cuda:0 has no pools, as "
			 "cuda:10 has</bdi>");
	free(html);
	free(result.cases[1].reason);
	result.cases[1].reason = xstrdup("cuda:1 has no pools, as cuda:10 has");
	html = page_of(&result, 1);
	assert_has(html, "<b><bdi>stream</bdi></b>: 2 not run: <bdi>the device has no pools, as "
			 "cuda:10 has</bdi>");
	free(html);
	result_release(&result);
}

static void comparison_says_what_it_compares(void **state)
{
	static const char *const order[] = { "2 × NVIDIA H200 against NVIDIA H200",
					     "possibly regressed",
					     "to decide more figures, repeat both with <code "
					     "class=\"option\">--launches 5</code>; fewer",
					     "Differs:",
					     "possibly REGRESSED",
					     "NOT COMPARED",
					     "Differences in environment",
					     "580.159.03",
					     "535.183.01",
					     NULL };
	char *html = comparison();

	(void)state;
	assert_in_order(html, order);
	assert_has(html, "<small>only in A</small>");
	assert_has(html, " in only one of the runs)");
	assert_has(html, ", 1 launch of each.");
	assert_null(strstr(html, "pairs of launches"));
	assert_has(html, "cuda:1 only in A: NVIDIA H200");
	/* The page adds no ratios of its own to those of the comparison. */
	assert_null(strstr(html, "Against the baseline"));
	free(html);
}

/* A row per case, its devices inside, a card with itself wherever it is plugged in. */
static void compared_devices_are_the_same_cards(void **state)
{
	struct result results[2];
	char *html;

	(void)state;
	for (int i = 0; i < 2; i++) {
		sample_report(&results[i], &two_gpus);
		for (int d = 0; d < 2; d++)
			snprintf(results[i].devices[d].uuid, sizeof(results[i].devices[d].uuid),
				 "GPU-%d", d ^ i);
	}
	*results[1].run_id = 'x';
	html = page_of(results, 2);
	assert_has(html, "<small>cuda:0, B: cuda:1, worst of 2</small>");
	assert_has(html, "cuda:0 id cuda:0 → cuda:1");
	free(html);
	for (int i = 0; i < 2; i++)
		result_release(&results[i]);
}

/* Runs have the names of their folders, in the title and over their columns. */
static void compared_runs_have_names(void **state)
{
	static const char *const names[] = { "monday", "tuesday" };
	const struct report_options options = { .names = names };
	struct text html = TEXT_EMPTY;
	struct result results[2];

	(void)state;
	for (int i = 0; i < 2; i++)
		sample_report(&results[i], &two_gpus);
	*results[1].run_id = 'x';
	assert_int_equal(html_render_report(results, 2, &options, &html, &(struct error)ERROR_NONE),
			 STATUS_OK);
	assert_has(html.data, "<h1>tuesday against monday: ");
	assert_has(html.data, "<th scope=\"col\">monday</th><th scope=\"col\">tuesday</th>");
	text_release(&html);
	for (int i = 0; i < 2; i++)
		result_release(&results[i]);
}

/* Facts that two runs share are said once, across both columns, and nowhere is a row too short. */
static void what_differs_is_in_one_table_alone(void **state)
{
	struct result results[2];
	char *html;

	(void)state;
	for (int i = 0; i < 2; i++)
		sample_report(&results[i], &two_gpus);
	html = page_of(results, 2);
	assert_has(html,
		   "<p>Nothing: devices, program, environment and configuration are the same.</p>");
	assert_has(html, "<th scope=\"row\">seed<td class=\"text\">7<td");
	free(html);
	free(results[1].settings[0].value);
	results[1].settings[0].value = xstrdup("another");
	html = page_of(results, 2);
	assert_null(strstr(html, "<th scope=\"row\">label<td"));
	assert_has(html, "<th scope=\"row\">[run] label<td class=\"text\">lab node 7<td "
			 "class=\"text\">another");
	assert_null(strstr(html, "<th scope=\"row\">devices"));
	free(html);
	for (int i = 0; i < 2; i++)
		result_release(&results[i]);
}

/* The third of three is the one that differs: each has its own cell. */
static void what_differs_is_said_of_every_run(void **state)
{
	struct sample_options eight = two_gpus;
	struct result results[3];
	char *html;

	(void)state;
	eight.devices = 8;
	for (int i = 0; i < 3; i++)
		sample_report(&results[i], i < 2 ? &two_gpus : &eight);
	html = page_of(results, 3);
	assert_has(html, "<th scope=\"row\">devices<td class=\"text\">2 × NVIDIA H200<td "
			 "class=\"text\">2 × NVIDIA H200<td class=\"text\">8 × NVIDIA H200\n");
	free(html);
	for (int i = 0; i < 3; i++)
		result_release(&results[i]);
}

static void set_title(struct result *result, const char *title)
{
	result->settings =
		xrealloc(result->settings, result->setting_count + 1, sizeof(*result->settings));
	result->settings[result->setting_count++] =
		(struct result_setting){ xstrdup("report"), xstrdup("title"), xstrdup(title),
					 xstrdup("lab.ini:40") };
}

/* [report] title is that of the run's page; a comparison is of others as well, and --title wins. */
static void a_config_can_say_the_title(void **state)
{
	struct report_options options = { .title = "Mine" };
	struct text text = TEXT_EMPTY;
	struct error err = ERROR_NONE;
	struct result results[2];
	char *html;

	(void)state;
	for (int i = 0; i < 2; i++) {
		sample_report(&results[i], &two_gpus);
		set_title(&results[i], "Acceptance of <node 7>");
	}
	html = page_of(results, 1);
	assert_has(html, "<title>Acceptance of &lt;node 7&gt;</title>");
	assert_has(html, "<h1>Acceptance of &lt;node 7&gt;</h1>");
	free(html);
	html = page_of(results, 2);
	assert_has(html, "<title>Comparison: 2 × NVIDIA H200 against 2 × NVIDIA H200: ");
	free(html);
	assert_int_equal(html_render_report(results, 1, &options, &text, &err), STATUS_OK);
	assert_has(text.data, "<title>Mine</title>");
	text_release(&text);
	for (int i = 0; i < 2; i++)
		result_release(&results[i]);
}

static void a_title_names_a_few_results(void **state)
{
	struct result results[4];
	char *html;

	(void)state;
	for (int i = 0; i < 4; i++)
		sample_report(&results[i], i ? &one_h200 : &two_gpus);
	html = page_of(results, 3);
	assert_has(html, "<title>Comparison: 2 × NVIDIA H200 against NVIDIA H200 against "
			 "NVIDIA H200</title>");
	free(html);
	html = page_of(results, 4);
	assert_has(html, "<title>Comparison of 4 results</title>");
	assert_has(html, "<p class=\"meta\">NVIDIA H200</p>");
	free(html);
	for (int i = 0; i < 4; i++)
		result_release(&results[i]);
}

/* Different models are put side by side: neither has got worse than the other. */
static void other_models_do_not_regress(void **state)
{
	struct result results[2];
	char *html;

	(void)state;
	sample_report(&results[0], &one_gpu);
	sample_report(&results[1], &two_gpus);
	html = page_of(results, 2);
	assert_has(html, "id=\"matrix\"");
	assert_null(strstr(html, "REGRESSED"));
	assert_null(strstr(html, "got worse"));
	free(html);
	for (int i = 0; i < 2; i++)
		result_release(&results[i]);
}

static void same_results_same_bytes(void **state)
{
	char *first = page_of_sample(&two_gpus), *second = page_of_sample(&two_gpus);

	(void)state;
	assert_string_equal(first, second);
	free(first);
	free(second);
}

/* Results made by hand may lack everything. */
static void nothing_is_still_a_page(void **state)
{
	struct result result = { 0 };
	char *html = page_of(&result, 1);

	(void)state;
	assert_has(html, "Nothing was measured");
	free(html);
	result_add_case(&result)->status = CASE_SKIPPED;
	result_add_case(&result)->status = CASE_ERROR;
	html = page_of(&result, 1);
	assert_has(html, "no reason was recorded");
	free(html);
	result_release(&result);
}

static void unknown_suite_gets_chart_and_table(void **state)
{
	struct result result;
	char *html;

	(void)state;
	sample_report(&result, &one_gpu);
	for (size_t i = 0; i < result.case_count; i++) {
		if (strcmp(result.cases[i].suite, "transfer") != 0)
			continue;
		free(result.cases[i].suite);
		result.cases[i].suite = xstrdup("ocean");
	}
	html = page_of(&result, 1);
	assert_has(html, ">ocean</h2>");
	assert_has(html, " cases of ocean</summary>");
	free(html);
	result_release(&result);
}

#define EVIL                                                            \
	"<script>alert(1)</script>]]>{{title}}{{{css}}}\"'><img src=x " \
	"onerror=alert(1)>\n<!--\xE2\x80\xAE&amp;</title></style>"

static void replace(char **s, const char *with)
{
	free(*s);
	*s = xstrdup(with);
}

static void poison_case(struct case_result *c, const char *with)
{
	char **fields[] = { &c->suite,  &c->label, &c->id,
			    &c->reason, &c->notes, &c->verification.method };

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		replace(fields[i], with);
	for (size_t i = 0; i < c->parameter_count; i++) {
		replace(&c->parameters[i].name, with);
		replace(&c->parameters[i].text, with);
	}
	for (size_t i = 0; i < c->metric_count; i++) {
		replace(&c->metrics[i].name, with);
		replace(&c->metrics[i].unit, with);
		replace(&c->metrics[i].series, with);
	}
	for (size_t i = 0; i < c->series_count; i++) {
		replace(&c->series[i].name, with);
		c->series[i].statistics.noisy = true;
		snprintf(c->series[i].statistics.noise, sizeof(c->series[i].statistics.noise),
			 "%.90s", with);
	}
}

/* Everything that a result file can hold as text. */
static void poison(struct result *result, const char *with)
{
	char **fields[] = { &result->gpuproof_version, &result->run_id,      &result->label,
			    &result->started,          &result->finished,    &result->state,
			    &result->command,          &result->config_name, &result->config_text };

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		replace(fields[i], with);
	for (size_t i = 0; i < result->environment_count; i++) {
		replace(&result->environment[i].name, with);
		replace(&result->environment[i].value, with);
	}
	for (size_t i = 0; i < result->setting_count; i++) {
		struct result_setting *s = &result->settings[i];
		char **texts[] = { &s->section, &s->key, &s->value, &s->origin };

		for (size_t k = 0; k < ARRAY_SIZE(texts); k++)
			replace(texts[k], with);
	}
	for (size_t i = 0; i < result->device_count; i++) {
		struct device_info *d = &result->devices[i];

		snprintf(d->name, sizeof(d->name), "%.120s", with);
		snprintf(d->uuid, sizeof(d->uuid), "%.60s", with);
		snprintf(d->pci, sizeof(d->pci), "%.30s", with);
		snprintf(d->backend, sizeof(d->backend), "%.15s", with);
		snprintf(d->module, sizeof(d->module), "%.15s", with);
	}
	for (size_t i = 0; i < result->case_count; i++)
		poison_case(&result->cases[i], with);
}

/* The same text with nothing in it that HTML or Mustache would mind. */
static char *harmless(const char *evil)
{
	char *s = xstrdup(evil);

	for (char *p = s; *p; p++)
		if (strchr("<>{}&\"'\n", *p) || (unsigned char)*p >= 0x80)
			*p = 'x';
	return s;
}

static char *poisoned_page(const char *with, size_t runs)
{
	struct result results[2];
	char *html;

	for (size_t r = 0; r < runs; r++) {
		sample_report(&results[r], r ? &one_gpu : &two_gpus);
		poison(&results[r], with);
	}
	html = page_of(results, runs);
	for (size_t r = 0; r < runs; r++)
		result_release(&results[r]);
	return html;
}

static size_t count_bytes(const char *text, char byte)
{
	size_t count = 0;

	for (; *text; text++)
		count += *text == byte;
	return count;
}

/* Text makes no markup when the page has as many tags and quotes as one with harmless text. */
static void assert_only_text(const char *evil, size_t runs)
{
	char *plain = harmless(evil);
	char *hostile_page = poisoned_page(evil, runs), *plain_page = poisoned_page(plain, runs);
	size_t scripts = 0;

	for (const char *p = hostile_page; (p = strstr(p, "<script")); p++)
		scripts++;
	/* The page's own one. */
	assert_int_equal(scripts, 1);
	assert_null(strstr(hostile_page, "<img"));
	assert_int_equal(count_bytes(hostile_page, '<'), count_bytes(plain_page, '<'));
	assert_int_equal(count_bytes(hostile_page, '>'), count_bytes(plain_page, '>'));
	assert_int_equal(count_bytes(hostile_page, '"'), count_bytes(plain_page, '"'));
	assert_has(hostile_page, "{{title}}");
	free(plain);
	free(hostile_page);
	free(plain_page);
}

static void text_from_outside_stays_text(void **state)
{
	(void)state;
	assert_only_text(EVIL, 1);
	assert_only_text(EVIL, 2);
}

/* 100 KB in every field of a result, which then has only two cases: the page stays a page. */
static void long_text_in_every_field(void **state)
{
	size_t length = 100000, repeat = strlen(EVIL);
	char *evil = xmalloc(length + 1), *html;
	struct result result;

	(void)state;
	for (size_t i = 0; i < length; i++)
		evil[i] = EVIL[i % repeat];
	evil[length - length % repeat] = '\0';
	sample_report(&result, &one_gpu);
	while (result.case_count > 2)
		case_result_release(&result.cases[--result.case_count]);
	poison(&result, evil);
	html = page_of(&result, 1);
	assert_null(strstr(html, "<img"));
	assert_has(html, "</section>");
	assert_true(strlen(html) < 1000000);
	free(html);
	free(evil);
	result_release(&result);
}

static void long_text_is_cut(void **state)
{
	struct result result;
	size_t length = 100000;
	char *evil = xmalloc(length + 1), *html;

	(void)state;
	for (size_t i = 0; i < length; i++)
		evil[i] = EVIL[i % strlen(EVIL)];
	evil[length] = '\0';
	sample_report(&result, &one_gpu);
	replace(&result.cases[0].reason, evil);
	replace(&result.cases[0].id, evil);
	result.cases[0].status = CASE_FAILED;
	html = page_of(&result, 1);
	assert_has(html, "… (100000 bytes)");
	assert_true(strlen(html) < 400000);
	free(html);
	free(evil);
	result_release(&result);
}

#define VERY_MANY 10001

/* A page lists the worst of very many cases and says how many there are. */
static void very_many_cases_are_counted(void **state)
{
	struct result result = { 0 };
	char *html;

	(void)state;
	for (size_t i = 0; i < VERY_MANY; i++) {
		struct case_result *c = result_add_case(&result);

		c->suite = xstrdup("imported");
		c->id = xasprintf("imported/%zu", i);
		c->device = xstrdup("cuda:0");
		c->reason = xstrdup("");
		c->notes = xstrdup("");
		c->status = i == VERY_MANY - 1 ? CASE_ERROR : CASE_OK;
	}
	html = page_of(&result, 1);
	assert_has(html, "1000 of 10001 cases: first those without a figure");
	assert_has(html, "imported/10000");
	assert_has(html, "imported/998<");
	assert_null(strstr(html, "imported/999<"));
	free(html);
	result_release(&result);
}

#define LARGE_CASES 2000
#define LARGE_BYTES 2000000

static void large_result_stays_small(void **state)
{
	struct sample_options options = { .model = "NVIDIA H200",
					  .driver = "580.159.03",
					  .devices = 2,
					  .speed = 1,
					  .repeat = 5 };
	struct result result;
	char *html;

	(void)state;
	sample_report(&result, &options);
	assert_true(result.case_count >= LARGE_CASES);
	html = page_of(&result, 1);
	assert_true(strlen(html) <= LARGE_BYTES);
	/* Paper says what it leaves out: the hundreds of one suite, not the few of another. */
	assert_has(html, " cases of transfer are not printed: <code>gpuproof export csv</code>");
	assert_has(html, "<details class=\"cases long\">");
	assert_has(html, "<details class=\"cases\">");
	assert_null(strstr(html, " cases of parallel are not printed"));
	free(html);
	result_release(&result);
}

/* Each section has the command that measures it again; a quoted or chosen one is left alone. */
static void sections_say_how_to_repeat_them(void **state)
{
	static const struct {
		const char *command, *repeat; /* NULL: none */
	} rows[] = {
		{ "gpuproof run quick -o here -q", "gpuproof run quick -q --suites matmul<" },
		{ "gpuproof run quick", "gpuproof run quick --suites matmul<" },
		{ "gpuproof run quick -o 'two words' -q", NULL },
		{ "gpuproof run quick --only x", NULL },
		{ "nvbandwidth -j", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct result result;
		char *html;

		sample_report(&result, &two_gpus);
		free(result.command);
		result.command = xstrdup(rows[i].command);
		html = page_of(&result, 1);
		if (rows[i].repeat)
			assert_has(html, rows[i].repeat);
		assert_int_equal(strstr(html, "To repeat it: <code>") != NULL,
				 rows[i].repeat != NULL);
		result_release(&result);
		free(html);
	}
}

static void golden_page(void **state)
{
	struct report_options options = { .no_script = true };
	struct text page = TEXT_EMPTY;
	struct error err = ERROR_NONE;
	struct result result;
	char *html;

	(void)state;
	sample_report(&result, &two_gpus);
	assert_int_equal(html_render_report(&result, 1, &options, &page, &err), STATUS_OK);
	result_release(&result);
	html = text_detach(&page);
	golden_assert_text(html, "report_run.html");
	free(html);
}

/*
 * Real quick runs on one and on two H200s: what is committed stays readable, and the page that
 * compares them as it was. The page of one run is above, as a whole.
 */
static void golden_page_of_real_runs(void **state)
{
	static const char *const paths[] = { TESTS_DIR "/data/quick_h200.json",
					     TESTS_DIR "/data/quick_h200_x2.json" };
	struct result results[2];
	struct error err = ERROR_NONE;

	(void)state;
	for (size_t i = 0; i < 2; i++)
		if (result_read(&results[i], paths[i], &err) != STATUS_OK)
			fail_msg("%s", err.message);
	golden_assert_tree(page_of(results, 2), "report_quick_h200_both");
	for (size_t i = 0; i < 2; i++)
		result_release(&results[i]);
}

/*
 * The host, the verdict, a way to each section, and the best figures as shares of the data sheet
 * are before all tables.
 */
static void a_run_begins_with_shares_of_the_data_sheet(void **state)
{
	static const char *const order[] = { "<h1>NVIDIA H200: ",
					     "host <bdi>host-",
					     "class=\"verdict neutral\"",
					     "id=\"figures\"",
					     "STREAM triad",
					     "91 %",
					     "id=\"roofline\"",
					     "id=\"plain\"",
					     "class=\"fold\"",
					     NULL };
	struct result result;
	struct error err = ERROR_NONE;
	char *html;

	(void)state;
	if (result_read(&result, TESTS_DIR "/data/quick_h200.json", &err) != STATUS_OK)
		fail_msg("%s", err.message);
	html = page_of(&result, 1);
	assert_in_order(html, order);
	/* Every link of the page has its target. */
	for (const char *p = html; (p = strstr(p, "href=\"#")) != NULL; p++) {
		char *id = xstrndup(p + 7, strcspn(p + 7, "\""));
		char *anchor = xasprintf("id=\"%s\"", id);

		assert_has(html, anchor);
		free(anchor);
		free(id);
	}
	free(html);
	result_release(&result);
}

static void read_data(const char *name, struct result *result)
{
	char *path = xasprintf(TESTS_DIR "/data/%s.json", name);
	struct error err = ERROR_NONE;

	if (result_read(result, path, &err) != STATUS_OK)
		fail_msg("%s", err.message);
	free(path);
}

/* A device whose large case failed is not shown with what its small one reached. */
static void a_share_is_not_of_what_a_failure_left(void **state)
{
	struct result result;
	size_t failed = 0;
	char *html;

	(void)state;
	read_data("quick_h200_x2", &result);
	html = page_of(&result, 1);
	assert_null(strstr(html, "failed on"));
	free(html);
	for (size_t i = 0; i < result.case_count; i++)
		if (strcmp(result.cases[i].id, "transfer/h2d/pinned/64MiB@cuda:1") == 0) {
			result.cases[i].status = CASE_FAILED;
			failed++;
		}
	assert_int_equal(failed, 1);
	html = page_of(&result, 1);
	assert_has(html, "failed on cuda:1");
	free(html);
	result_release(&result);
}

static void injected_faults_are_no_faults_of_the_device(void **state)
{
	struct result result;
	char *html;

	(void)state;
	read_data("burn_h200_planted", &result);
	html = page_of(&result, 1);
	assert_has(html, "All 60 injected errors were found in 5 cases");
	assert_null(strstr(html, "class=\"verdict failed\""));
	assert_null(strstr(html, "What went wrong"));
	free(html);
	/* One that was not injected is a fault of the device. */
	for (size_t i = 0; i < result.cases[0].metric_count; i++)
		if (strstr(result.cases[0].metrics[i].name, ".wrong"))
			result.cases[0].metrics[i].value++;
	html = page_of(&result, 1);
	assert_has(html, "class=\"verdict failed\"");
	assert_has(html, "What went wrong");
	free(html);
	result_release(&result);
}

static void runs_without_a_common_case_are_not_compared(void **state)
{
	struct result results[2];
	char *html;

	(void)state;
	read_data("claims_h200_x2", &results[0]);
	read_data("quick_h200", &results[1]);
	html = page_of(results, 2);
	assert_has(html, "Nothing could be compared");
	assert_null(strstr(html, "0 launches"));
	assert_null(strstr(html, "class=\"compared\""));
	assert_has(html, " more settings that differ</summary>");
	free(html);
	result_release(&results[0]);
	result_release(&results[1]);
}

static void an_interval_beyond_the_axis_ends_in_an_arrow(void **state)
{
	struct result results[2];
	char *html;

	(void)state;
	read_data("nights/h100_1", &results[0]);
	read_data("nights/h100_3", &results[1]);
	html = page_of(results, 2);
	assert_has(html, "l-4 4l4 4M");
	assert_has(html, "l4 4l-4 4M");
	free(html);
	result_release(&results[0]);
	result_release(&results[1]);
}

static void of_many_throttled_devices_some_are_named(void **state)
{
	struct sample_options options = two_gpus;
	struct result result;
	char *html;

	(void)state;
	options.devices = 12;
	sample_report(&result, &options);
	for (size_t i = 0; i < result.case_count; i++)
		result.cases[i].during.throttle_reasons = 0x4;
	html = page_of(&result, 1);
	assert_has(html, "cuda:7 and 4 more devices were throttled in");
	free(html);
	result_release(&result);
}

static void a_run_on_many_nodes_names_the_page_of_nodes(void **state)
{
	struct result result;
	char *html;

	(void)state;
	sample_report(&result, &one_gpu);
	for (size_t i = 0; i < 9; i++) {
		html = page_of(&result, 1);
		assert_null(strstr(html, "gpuproof report --fleet"));
		free(html);
		ARRAY_GROW(result.nodes, result.node_count, result.node_capacity);
		result.nodes[result.node_count++] = (struct result_node){
			.name = xasprintf("n%zu", i), .reason = xstrdup(""), .lost_at = xstrdup("")
		};
	}
	html = page_of(&result, 1);
	assert_has(html, "The run is on 9 nodes: gpuproof report --fleet shows");
	free(html);
	result_release(&result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answer_comes_first),
		cmocka_unit_test(healthy_run_is_not_called_more_than_it_is),
		cmocka_unit_test(a_run_that_mostly_did_not_run_is_not_green),
		cmocka_unit_test(the_judgement_of_the_result_is_told),
		cmocka_unit_test(many_devices_are_seen_at_once),
		cmocka_unit_test(identical_devices_share_each_row),
		cmocka_unit_test(each_device_is_told),
		cmocka_unit_test(a_failed_case_is_told_at_its_headline),
		cmocka_unit_test(cases_that_only_sections_tell_apart_both_show),
		cmocka_unit_test(unfinished_run_says_so),
		cmocka_unit_test(a_host_that_varies_is_told),
		cmocka_unit_test(every_case_is_listed),
		cmocka_unit_test(what_no_device_can_do_is_said_once),
		cmocka_unit_test(comparison_says_what_it_compares),
		cmocka_unit_test(compared_devices_are_the_same_cards),
		cmocka_unit_test(compared_runs_have_names),
		cmocka_unit_test(what_differs_is_in_one_table_alone),
		cmocka_unit_test(what_differs_is_said_of_every_run),
		cmocka_unit_test(a_config_can_say_the_title),
		cmocka_unit_test(a_title_names_a_few_results),
		cmocka_unit_test(other_models_do_not_regress),
		cmocka_unit_test(same_results_same_bytes),
		cmocka_unit_test(nothing_is_still_a_page),
		cmocka_unit_test(unknown_suite_gets_chart_and_table),
		cmocka_unit_test(text_from_outside_stays_text),
		cmocka_unit_test(long_text_in_every_field),
		cmocka_unit_test(long_text_is_cut),
		cmocka_unit_test(large_result_stays_small),
		cmocka_unit_test(very_many_cases_are_counted),
		cmocka_unit_test(sections_say_how_to_repeat_them),
		cmocka_unit_test(golden_page),
		cmocka_unit_test(golden_page_of_real_runs),
		cmocka_unit_test(a_run_begins_with_shares_of_the_data_sheet),
		cmocka_unit_test(a_share_is_not_of_what_a_failure_left),
		cmocka_unit_test(injected_faults_are_no_faults_of_the_device),
		cmocka_unit_test(runs_without_a_common_case_are_not_compared),
		cmocka_unit_test(an_interval_beyond_the_axis_ends_in_an_arrow),
		cmocka_unit_test(of_many_throttled_devices_some_are_named),
		cmocka_unit_test(a_run_on_many_nodes_names_the_page_of_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
