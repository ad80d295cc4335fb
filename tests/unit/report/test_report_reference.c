/* Cards side by side: every value says where it is from, and nothing is mixed or made up. */
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
#include "import/import.h"
#include "report/reference/reference.h"
#include "report/page/report.h"

#define TEXT_OF_STREAM                                                                     \
	"function,num_times,n_elements,sizeof,max_mbytes_per_sec,min_runtime,max_runtime," \
	"avg_runtime\n"                                                                    \
	"Triad,100,33554432,8,190000,0.00423846,0.00424,0.00424\n"                         \
	"Copy,100,33554432,8,180000,0.00298262,0.00299,0.00299\n"

/* A result on a device of that name, imported or (without its provenance) measured. */
static void stream_result(struct result *result, const char *device, bool imported)
{
	const struct import_options options = { .device = device };
	struct error err = ERROR_NONE;

	if (import_text(result, "babelstream", "x", TEXT_OF_STREAM, strlen(TEXT_OF_STREAM),
			&options, &err) != STATUS_OK)
		fail_msg("%s", err.message);
	if (!imported) {
		free(result->environment[0].name);
		result->environment[0].name = xstrdup("other");
	}
}

struct rig {
	struct result results[2];
	struct view view;
	struct report_reference reference;
};

static void rig_open(struct rig *rig, const char *first, const char *second, const char *gpus,
		     const char *baseline)
{
	struct error err = ERROR_NONE;

	stream_result(&rig->results[0], first, false);
	stream_result(&rig->results[1], second, true);
	view_init(&rig->view, rig->results, 2);
	if (report_reference_collect(&rig->reference, &rig->view, gpus, baseline, &err) !=
	    STATUS_OK)
		fail_msg("%s", err.message);
}

static void rig_close(struct rig *rig)
{
	report_reference_release(&rig->reference);
	view_release(&rig->view);
	result_release(&rig->results[0]);
	result_release(&rig->results[1]);
}

static size_t card_named(const struct report_reference *r, const char *label)
{
	for (size_t i = 0; i < r->card_count; i++)
		if (strcmp(r->cards[i].label, label) == 0)
			return i;
	fail_msg("no card %s", label);
	return 0;
}

static void kinds_stay_apart(void **state)
{
	enum provenance kind = PUBLISHED;
	const struct reference_row *triad;
	struct rig rig;
	size_t k80;

	(void)state;
	rig_open(&rig, "Tesla K80", "Tesla K80", "all", "");
	triad = report_reference_row(&rig.reference, "memory_triad", "");
	k80 = card_named(&rig.reference, "K80");
	assert_float_equal(triad->cells[k80][MEASURED].value, 190e9, 1);
	assert_float_equal(triad->cells[k80][IMPORTED].value, 190e9, 1);
	/* The best that others published, with its source. */
	assert_float_equal(triad->cells[k80][PUBLISHED].value, 203.4e9, 1);
	assert_string_equal(triad->cells[k80][PUBLISHED].p->source, "BS");
	assert_float_equal(report_reference_best(triad, k80, &kind)->value, 190e9, 1);
	assert_int_equal(kind, MEASURED);
	assert_float_equal(report_reference_peak(&rig.reference, triad, k80), 240.5e9, 1);
	rig_close(&rig);
}

static void unmeasured_devices_are_not_listed(void **state)
{
	enum provenance kind;
	struct rig rig;

	(void)state;
	rig_open(&rig, "Tesla K80", "Tesla K80", "titan-v", "");
	assert_int_equal(rig.reference.card_count, 2);
	assert_null(report_reference_best(report_reference_row(&rig.reference, "memory_triad", ""),
					  card_named(&rig.reference, "Titan V"), &kind));
	assert_null(report_reference_row(&rig.reference, "gemm_bf16", ""));
	rig_close(&rig);
}

/* Figures that the line and the subject have. */
static size_t common(const struct architectures *a, size_t line)
{
	size_t count = 0;

	for (size_t q = 0; q < QUESTIONS; q++)
		count += a->lines[line].answers[q].row && a->lines[a->subject].answers[q].row;
	return count;
}

static void ratios_are_to_the_baseline(void **state)
{
	struct architectures a;
	struct rig rig;

	(void)state;
	rig_open(&rig, "NVIDIA H200", "Mystery 9000", "k80, p100-pcie", "p100-pcie");
	assert_string_equal(rig.reference.cards[rig.reference.baseline].gpu->id, "p100-pcie");
	/* An unknown device has its card, at the end. */
	assert_int_equal(card_named(&rig.reference, "Mystery 9000"), rig.reference.card_count - 1);
	architectures_collect(&a, &rig.reference);
	assert_string_equal(a.lines[a.baseline].label, "P100");
	rig_close(&rig);
	/* Without a wish: the card with most of the figures that the measured one has. */
	rig_open(&rig, "NVIDIA H200", "NVIDIA H200", "all", "");
	architectures_collect(&a, &rig.reference);
	assert_string_equal(a.lines[a.subject].label, "H200");
	for (size_t i = 0; i < a.count; i++)
		assert_true(i == a.subject || common(&a, i) <= common(&a, a.baseline));
	assert_true(common(&a, a.baseline) > 0);
	assert_float_equal(architectures_ratio(&a, a.baseline, 0), 1, 1e-9);
	rig_close(&rig);
}

static void unknown_gpus_are_refused(void **state)
{
	struct error err = ERROR_NONE;
	struct report_reference reference;
	struct result result;
	struct view view;

	(void)state;
	stream_result(&result, "Tesla K80", false);
	view_init(&view, &result, 1);
	assert_int_equal(report_reference_collect(&reference, &view, "k80, v100-pci", "", &err),
			 STATUS_USAGE);
	assert_string_equal(err.message, "there is no reference GPU 'v100-pci'; did you mean "
					 "'v100-pcie'? (gpuproof list gpus)");
	report_reference_release(&reference);
	/* A name that several models have names all of them. */
	error_clear(&err);
	assert_int_equal(report_reference_collect(&reference, &view, "all", "v100", &err),
			 STATUS_USAGE);
	assert_string_equal(err.message,
			    "there is no reference GPU 'v100'; did you mean "
			    "'v100-pcie' or 'v100-sxm2' or 'v100-sxm3'? (gpuproof list "
			    "gpus)");
	report_reference_release(&reference);
	error_clear(&err);
	assert_int_equal(report_reference_collect(&reference, &view, "zzzzzz", "", &err),
			 STATUS_USAGE);
	assert_string_equal(err.message, "there is no reference GPU 'zzzzzz' (gpuproof list gpus)");
	report_reference_release(&reference);
	view_release(&view);
	result_release(&result);
}

static size_t occurrences(const char *text, const char *word)
{
	size_t count = 0;

	for (const char *p = text; (p = strstr(p, word)) != NULL; p += strlen(word))
		count++;
	return count;
}

static void page(struct text *html, const char *gpus)
{
	const struct report_options options = { .reference = gpus, .baseline = "k80" };
	struct error err = ERROR_NONE;
	struct result results[2];

	stream_result(&results[0], "NVIDIA H200", false);
	stream_result(&results[1], "Tesla K80", true);
	if (html_render_report(results, 2, &options, html, &err) != STATUS_OK)
		fail_msg("%s", err.message);
	result_release(&results[0]);
	result_release(&results[1]);
}

static void the_page_says_where_values_are_from(void **state)
{
	static const char *const words[] = {
		"measured here",    "published by others",         "id=\"growth\"",
		"id=\"matrix\"",    "id=\"limits-of-comparison\"", "href=\"#source-BS\"",
		"id=\"source-BS\"", "Above the data sheet: boost",
	};
	struct text html = TEXT_EMPTY;

	(void)state;
	page(&html, "all");
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (!strstr(html.data, words[i]))
			fail_msg("the page does not say: %s", words[i]);
	/* The answer is before all tables, and caveats after them. */
	assert_true(strstr(html.data, "class=\"lead\"") < strstr(html.data, "id=\"matrix\""));
	assert_true(strstr(html.data, "id=\"limits-of-comparison\"") >
		    strstr(html.data, "id=\"matrix\""));
	/* Figures without a source are not on the page. */
	assert_null(strstr(html.data, "to be verified"));
	/* Every citation has its source. */
	for (const char *p = html.data; (p = strstr(p, "href=\"#source-")) != NULL; p++) {
		char *id = xstrndup(p + strlen("href=\"#"), strcspn(p + strlen("href=\"#"), "\""));
		char *anchor = xasprintf("id=\"%s\"", id);

		assert_int_equal(occurrences(html.data, anchor), 1);
		free(anchor);
		free(id);
	}
	text_release(&html);
}

/* A P100 PCIe has no NVLink, a P100 SXM2 no published GEMM: values name their cards. */
static void a_line_of_several_cards_names_them(void **state)
{
	struct text html = TEXT_EMPTY;
	const char *row, *end;

	(void)state;
	page(&html, "p100-pcie, p100-sxm2");
	row = strstr(html.data, "<b>P100</b>");
	assert_non_null(row);
	end = strstr(row, "</tr>");
	assert_non_null(strstr(row, "<small class=\"card\">PCIe</small>"));
	assert_true(strstr(row, "<small class=\"card\">PCIe</small>") < end);
	assert_true(strstr(row, "<small class=\"card\">SXM2</small>") < end);
	assert_non_null(strstr(html.data, "A row of several cards has the best value"));
	text_release(&html);
	/* One card alone has its name in the row. */
	page(&html, "k80");
	assert_null(strstr(html.data, "<small class=\"card\">"));
	assert_null(strstr(html.data, "A row of several cards"));
	text_release(&html);
}

/* A file of another GPU that was imported as a K80's. */
static void what_no_card_can_do_is_doubted(void **state)
{
	const struct report_options options = { .reference = "k80", .baseline = "k80" };
	struct text html = TEXT_EMPTY;
	struct error err = ERROR_NONE;
	struct result result;

	(void)state;
	stream_result(&result, "Tesla K80", true);
	assert_int_equal(html_render_report(&result, 1, &options, &html, &err), STATUS_OK);
	assert_int_equal(occurrences(html.data, "! above the peak: another GPU, or a cache?"), 0);
	text_release(&html);
	result.cases[0].metrics[0].value = 3e12;
	assert_int_equal(html_render_report(&result, 1, &options, &html, &err), STATUS_OK);
	assert_int_equal(occurrences(html.data, "! above the peak: another GPU, or a cache?"), 1);
	text_release(&html);
	result_release(&result);
}

/* 13 cards, in 200 KB. */
static void the_page_is_small(void **state)
{
	struct text html = TEXT_EMPTY;

	(void)state;
	page(&html, "all");
	assert_true(html.length < 200000);
	text_release(&html);
}

/* Products of 1.4e11 FLOP/J were measured; the data sheets' rates are over their power limits. */
static void performance_per_watt_is_next_to_data_sheets(void **state)
{
	const struct reference_row *row;
	struct error err = ERROR_NONE;
	struct metric_value *m;
	struct case_result *c;
	size_t h200, k80;
	struct rig rig;

	(void)state;
	stream_result(&rig.results[0], "NVIDIA H200", false);
	stream_result(&rig.results[1], "Tesla K80", true);
	c = &rig.results[0].cases[0];
	free(c->suite);
	c->suite = xstrdup("matmul");
	free(c->parameters[0].name);
	free(c->parameters[0].text);
	c->parameters[0].name = xstrdup("precision");
	c->parameters[0].text = xstrdup("fp32");
	m = &c->metrics[0];
	free(m->name);
	m->name = xstrdup("matmul.flops_per_joule");
	m->value = 1.4e11;
	view_init(&rig.view, rig.results, 2);
	assert_int_equal(report_reference_collect(&rig.reference, &rig.view, "all", "", &err),
			 STATUS_OK);
	row = report_reference_row(&rig.reference, "efficiency_fp32", "");
	assert_non_null(row);
	h200 = card_named(&rig.reference, "H200");
	k80 = card_named(&rig.reference, "K80");
	assert_float_equal(row->cells[h200][MEASURED].value, 1.4e11, 1);
	assert_false(isfinite(row->cells[k80][MEASURED].value));
	/* No bound: work may take less than the limit. */
	assert_true(isnan(report_reference_peak(&rig.reference, row, h200)));
	rig_close(&rig);
}

/* Without the suites that compare-kepler-pascal-volta does not run. */
static void keep_what_is_compared(struct result *result)
{
	size_t kept = 0;

	for (size_t i = 0; i < result->case_count; i++) {
		struct case_result *c = &result->cases[i];

		if (strcmp(c->suite, "selftest") == 0 || strcmp(c->suite, "peak") == 0)
			case_result_release(c);
		else
			result->cases[kept++] = *c;
	}
	result->case_count = kept;
}

/* One of each of a dozen GPUs, all measured, each under the name that its driver gives. */
static void a_page_of_a_dozen_measured_gpus_is_small_and_fast(void **state)
{
	static const char *const names[] = { "Tesla K80",
					     "Tesla P100-PCIE-16GB",
					     "Tesla P100-SXM2-16GB",
					     "NVIDIA GeForce GTX 1080 Ti",
					     "NVIDIA TITAN Xp",
					     "NVIDIA TITAN V",
					     "Tesla V100-PCIE-16GB",
					     "Tesla V100-SXM2-16GB",
					     "Tesla T4",
					     "NVIDIA A100-SXM4-40GB",
					     "NVIDIA H100 80GB HBM3",
					     "NVIDIA H200" };
	const struct report_options options = { .reference = "all", .baseline = "k80" };
	struct result results[ARRAY_SIZE(names)];
	struct text html = TEXT_EMPTY;
	struct error err = ERROR_NONE;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_int_equal(result_read(&results[i], TESTS_DIR "/data/quick_h200.json", &err),
				 STATUS_OK);
		keep_what_is_compared(&results[i]);
		for (size_t d = 0; d < results[i].device_count; d++)
			if (strcmp(results[i].devices[d].backend, "cuda") == 0)
				snprintf(results[i].devices[d].name,
					 sizeof(results[i].devices[d].name), "%s", names[i]);
	}
	assert_int_equal(html_render_report(results, ARRAY_SIZE(names), &options, &html, &err),
			 STATUS_OK);
	assert_true(html.length < 200000);
	text_release(&html);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		result_release(&results[i]);
}

static void the_config_can_ask_for_it(void **state)
{
	const struct report_options options = { 0 };
	struct result_setting settings[] = {
		{ xstrdup("report"), xstrdup("reference"), xstrdup("k80"), xstrdup("") },
	};
	struct text html = TEXT_EMPTY;
	struct error err = ERROR_NONE;
	struct result result;

	(void)state;
	stream_result(&result, "NVIDIA H200", false);
	assert_int_equal(html_render_report(&result, 1, &options, &html, &err), STATUS_OK);
	assert_null(strstr(html.data, "id=\"matrix\""));
	text_release(&html);
	result.settings = xmalloc(sizeof(settings));
	memcpy(result.settings, settings, sizeof(settings));
	result.setting_count = 1;
	assert_int_equal(html_render_report(&result, 1, &options, &html, &err), STATUS_OK);
	assert_non_null(strstr(html.data, "id=\"matrix\""));
	/* The head says what is compared. */
	assert_non_null(strstr(html.data, "<h1>From Kepler to Hopper"));
	text_release(&html);
	result_release(&result);
}

/*
 * A column of several quantities names that of each value, a value of another card names that card,
 * and a range counts with its better end.
 */
static void values_say_what_they_are(void **state)
{
	struct text html = TEXT_EMPTY;
	const struct reference_row *row;
	enum provenance kind;
	struct rig rig;

	(void)state;
	page(&html, "v100-pcie, v100-sxm2, v100-sxm3, p100-sxm2");
	assert_non_null(strstr(html.data, "<small class=\"card\">SXM3</small>"));
	assert_non_null(strstr(html.data, "PCIe, STREAM scale</small>"));
	assert_non_null(strstr(html.data, ">Device-to-device copy (read + write)</small>"));
	text_release(&html);
	rig_open(&rig, "Tesla K80", "Tesla K80", "h100, p100-sxm2", "");
	row = report_reference_row(&rig.reference, "launch_wait", "");
	for (size_t i = 0; i < rig.reference.card_count; i++) {
		const struct reference_value *value = report_reference_best(row, i, &kind);

		if (value && value->p && isfinite(value->high))
			assert_float_equal(value->value, value->low, 0);
	}
	row = report_reference_row(&rig.reference, "peer_copy", "");
	assert_non_null(row);
	for (size_t i = 0; i < rig.reference.card_count; i++) {
		const struct reference_value *value = report_reference_best(row, i, &kind);

		if (value && value->p && isfinite(value->high))
			assert_float_equal(value->value, value->high, 0);
	}
	rig_close(&rig);
}

/* Two cards of a node have a link, whose rate others published. */
static void the_link_between_cards_is_a_question(void **state)
{
	const struct report_options options = { .reference = "p100-sxm2" };
	struct text html = TEXT_EMPTY;
	struct error err = ERROR_NONE;
	struct result result;

	(void)state;
	assert_int_equal(result_read(&result, TESTS_DIR "/data/quick_h200_x2.json", &err),
			 STATUS_OK);
	assert_int_equal(html_render_report(&result, 1, &options, &html, &err), STATUS_OK);
	assert_non_null(strstr(html.data, "GPU to GPU <b>"));
	text_release(&html);
	result_release(&result);
}

/* Images per second are compared with those that others published of the same model. */
static void training_is_a_question(void **state)
{
	static const char *const precisions[] = { "fp32", "fp16_mixed" };
	const struct report_options options = { .reference = "k80, v100-sxm2", .baseline = "k80" };
	struct text html = TEXT_EMPTY;
	struct error err = ERROR_NONE;
	struct result result;

	(void)state;
	assert_int_equal(result_read(&result, TESTS_DIR "/data/quick_h200.json", &err), STATUS_OK);
	assert_int_equal(html_render_report(&result, 1, &options, &html, &err), STATUS_OK);
	assert_null(strstr(html.data, "ResNet-50, FP32 <b>"));
	/* Labels stand at the newest card: this line ends before it and names its last card. */
	assert_non_null(strstr(html.data, " ResNet-50, V100</text>"));
	assert_null(strstr(html.data, " Memory, "));
	text_release(&html);
	for (size_t i = 0; i < ARRAY_SIZE(precisions); i++) {
		struct case_result *c = result_add_case(&result);

		c->suite = xstrdup("parallel");
		c->label = xstrdup("");
		c->id = xasprintf("parallel/%s/64/single/1/resnet@cuda:0", precisions[i]);
		c->device = xstrdup("cuda:0");
		c->devices = xcalloc(1, sizeof(*c->devices));
		c->devices[c->device_count++] = xstrdup(c->device);
		c->parameters = xcalloc(1, sizeof(*c->parameters));
		c->parameters[c->parameter_count++] =
			(struct case_parameter){ xstrdup("precision"), xstrdup(precisions[i]), NAN,
						 xstrdup("") };
		ARRAY_GROW(c->metrics, c->metric_count, c->metric_capacity);
		c->metrics[c->metric_count++] =
			(struct metric_value){ .name = xstrdup("parallel.resnet50_rate"),
					       .unit = xstrdup("images/s"),
					       .better = BETTER_HIGHER,
					       .value = i ? 2400 : 1038,
					       .low = NAN,
					       .high = NAN,
					       .n = 1 };
	}
	/* 1038 is 20 times the best of the K80's 49.48 to 52.4; 2400 is of another precision. */
	assert_int_equal(html_render_report(&result, 1, &options, &html, &err), STATUS_OK);
	assert_non_null(strstr(html.data, "ResNet-50, FP32 <b>20×</b>"));
	text_release(&html);
	result_release(&result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_stay_apart),
		cmocka_unit_test(unmeasured_devices_are_not_listed),
		cmocka_unit_test(ratios_are_to_the_baseline),
		cmocka_unit_test(unknown_gpus_are_refused),
		cmocka_unit_test(the_page_says_where_values_are_from),
		cmocka_unit_test(a_line_of_several_cards_names_them),
		cmocka_unit_test(values_say_what_they_are),
		cmocka_unit_test(what_no_card_can_do_is_doubted),
		cmocka_unit_test(the_page_is_small),
		cmocka_unit_test(performance_per_watt_is_next_to_data_sheets),
		cmocka_unit_test(a_page_of_a_dozen_measured_gpus_is_small_and_fast),
		cmocka_unit_test(the_config_can_ask_for_it),
		cmocka_unit_test(the_link_between_cards_is_a_question),
		cmocka_unit_test(training_is_a_question),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
