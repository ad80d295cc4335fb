/*
 * Names, labels and values from outside reach a page as text and nothing else: the acceptance page,
 * whose verdicts bring more of them, marks that turn the direction of writing, and a megabyte where
 * a name is expected. (The run page, the
 * comparison: test_report.c; exports: export_formats.py; the trend page: test_trend_page.sh.)
 */
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
#include "judge/judge.h"
#include "report/acceptance/acceptance.h"
#include "sample_report.h"

#define RIGHT_TO_LEFT "\xE2\x80\xAE"
#define EVIL                                                                       \
	"<script>alert(1)</script>]]>{{title}}{{{css}}}{{#checks}}\"'><img src=x " \
	"onerror=alert(1)>\n<!--\x01\xFF" RIGHT_TO_LEFT "&amp;</title></style>"

static void replace(char **s, const char *with)
{
	free(*s);
	*s = xstrdup(with);
}

static void poison(struct result *r, const char *with)
{
	char **texts[] = { &r->label, &r->command, &r->config_name, &r->config_text, &r->run_id };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		replace(texts[i], with);
	for (size_t i = 0; i < r->environment_count; i++)
		replace(&r->environment[i].value, with);
	for (size_t i = 0; i < r->setting_count; i++)
		replace(&r->settings[i].value, with);
	for (size_t i = 0; i < r->device_count; i++) {
		snprintf(r->devices[i].name, sizeof(r->devices[i].name), "%.100s", with);
		snprintf(r->devices[i].uuid, sizeof(r->devices[i].uuid), "%.60s", with);
	}
	for (size_t i = 0; i < r->case_count; i++) {
		replace(&r->cases[i].id, with);
		replace(&r->cases[i].label, with);
		replace(&r->cases[i].reason, with);
		replace(&r->cases[i].notes, with);
	}
}

static void add_checks(struct verdicts *verdicts, const char *with)
{
	for (int verdict = 0; verdict < VERDICT_COUNT; verdict++) {
		struct verdict_check *c = verdicts_add(verdicts);
		char **texts[] = { &c->limit,        &c->case_id, &c->devices, &c->model,
				   &c->uuid,         &c->metric,  &c->unit,    &c->bound_text,
				   &c->bound_origin, &c->place,   &c->reason };

		for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
			replace(texts[i], with);
		c->verdict = (enum verdict)verdict;
		c->comparison = AT_LEAST;
		c->value = c->low = c->high = 1;
		c->bound = 2;
		c->margin = -0.5;
		c->launches = 1;
	}
	verdicts_finish(verdicts);
}

static void add_device(struct verdicts *verdicts, const char *with)
{
	struct device_judgement *d = verdicts_add_device(verdicts);
	struct aspect_judgement *aspect = verdict_device_judgement_add(d, ASPECT_LINK);

	replace(&d->device, with);
	replace(&d->model, with);
	replace(&d->uuid, with);
	replace(&aspect->reason, with);
	aspect->promised = true;
	verdicts->limits = xstrdup(with);
	verdicts->limits_text = xstrdup(with);
}

static char *acceptance_page(const char *with)
{
	static const struct sample_options options = {
		.model = "NVIDIA H200", .driver = "580.1", .devices = 2, .speed = 1, .small = true
	};
	struct report_options report = { .title = with };
	struct verdicts verdicts = { 0 };
	struct text html = TEXT_EMPTY;
	struct error err = ERROR_NONE;
	struct result result;
	struct acceptance acceptance = { &result, with };

	sample_report(&result, &options);
	poison(&result, with);
	add_checks(&verdicts, with);
	add_device(&verdicts, with);
	result_judge(&result, &verdicts);
	if (acceptance_render(&acceptance, &report, &html, &err) != STATUS_OK)
		fail_msg("%s", err.message);
	result_release(&result);
	return text_detach(&html);
}

static char *run_page(const char *with)
{
	static const struct sample_options options = {
		.model = "NVIDIA H200", .driver = "580.1", .devices = 1, .speed = 1, .small = true
	};
	struct report_options report = { .title = with };
	struct text html = TEXT_EMPTY;
	struct error err = ERROR_NONE;
	struct result result;

	sample_report(&result, &options);
	poison(&result, with);
	if (html_render_report(&result, 1, &report, &html, &err) != STATUS_OK)
		fail_msg("%s", err.message);
	result_release(&result);
	return text_detach(&html);
}

/* The same length of text with nothing in it that a page would mind. */
static char *harmless(const char *evil)
{
	char *s = xstrdup(evil);

	for (char *p = s; *p; p++)
		if (strchr("<>{}&\"'\n", *p) || (unsigned char)*p >= 0x80 ||
		    (unsigned char)*p < ' ')
			*p = 'x';
	return s;
}

static size_t count(const char *text, const char *part)
{
	size_t found = 0;

	for (; (text = strstr(text, part)); text++)
		found++;
	return found;
}

static void text_makes_no_markup(void **state)
{
	char *plain = harmless(EVIL), *evil_page = acceptance_page(EVIL),
	     *plain_page = acceptance_page(plain);
	static const char *const marks[] = { "<", ">", "\"", "<script", "<img", "<!--" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		assert_int_equal(count(evil_page, marks[i]), count(plain_page, marks[i]));
	assert_true(strstr(evil_page, "{{title}}") != NULL);
	free(plain);
	free(evil_page);
	free(plain_page);
}

static void pages_are_sound_text(void **state)
{
	char *pages[] = { acceptance_page(EVIL), run_page(EVIL) };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pages); i++) {
		assert_true(text_is_utf8(pages[i], strlen(pages[i])));
		assert_null(strstr(pages[i], RIGHT_TO_LEFT));
		assert_null(strchr(pages[i], '\x01'));
		free(pages[i]);
	}
}

/* Hostile text as a name. */
static void a_megabyte_is_only_long(void **state)
{
	static const struct sample_options options = {
		.model = "NVIDIA H200", .driver = "580.1", .devices = 1, .speed = 1, .small = true
	};
	const size_t length = (size_t)1 << 20;
	struct report_options report = { 0 };
	struct text html = TEXT_EMPTY;
	struct error err = ERROR_NONE;
	struct result result;

	(void)state;
	sample_report(&result, &options);
	free(result.label);
	result.label = xmalloc(length + 1);
	memset(result.label, '<', length);
	result.label[length] = '\0';
	replace(&result.environment[0].value, result.label);
	assert_int_equal(html_render_report(&result, 1, &report, &html, &err), STATUS_OK);
	assert_null(strstr(html.data, "<<"));
	text_release(&html);
	result_release(&result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_makes_no_markup),
		cmocka_unit_test(pages_are_sound_text),
		cmocka_unit_test(a_megabyte_is_only_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
