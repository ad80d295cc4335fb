/* The report command and its files: layouts, templates of one's own, what it refuses and how. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "cli/command.h"
#include "sample_report.h"

static char directory[] = "/tmp/gpuproof-report-XXXXXX";

/*
 * Runs `gpuproof <arguments>` in the directory; returns its exit code, its output in `out` (may be
 * NULL).
 */
static int gpuproof(struct text *out, const char *arguments)
{
	char *command = xasprintf("cd %s && %s/gpuproof %s 2>&1", directory, BUILD_DIR, arguments);
	FILE *pipe = popen(command, "r");
	char buffer[4096];
	size_t n;
	int status;

	assert_non_null(pipe);
	while ((n = fread(buffer, 1, sizeof(buffer), pipe)) > 0)
		if (out)
			text_add_bytes(out, buffer, n);
	status = pclose(pipe);
	free(command);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static char *path_of(const char *name)
{
	return xasprintf("%s/%s", directory, name);
}

static char *content(const char *name)
{
	char *path = path_of(name);
	struct text t = TEXT_EMPTY;
	FILE *file = fopen(path, "rb");
	int c;

	if (!file)
		fail_msg("%s is not there", path);
	while ((c = fgetc(file)) != EOF)
		text_add_char(&t, (char)c);
	fclose(file);
	free(path);
	return text_detach(&t);
}

static bool there(const char *name)
{
	char *path = path_of(name);
	bool found = access(path, F_OK) == 0;

	free(path);
	return found;
}

static void put(const char *name, const char *text)
{
	char *path = path_of(name);
	struct error err = ERROR_NONE;

	assert_int_equal(file_write(path, text, strlen(text), &err), STATUS_OK);
	free(path);
}

/* A command of the shell in the directory. */
static void shell(const char *command)
{
	char *whole = xasprintf("cd %s && %s", directory, command);

	assert_int_equal(system(whole), 0);
	free(whole);
}

static void put_result(const char *name, const struct sample_options *options)
{
	struct result result;
	struct error err = ERROR_NONE;
	char *path = path_of(name);

	sample_report(&result, options);
	assert_int_equal(result_write(&result, path, &err), STATUS_OK);
	result_release(&result);
	free(path);
}

static int set_up(void **state)
{
	static const struct sample_options a = {
		.model = "NVIDIA H200", .driver = "580", .devices = 2, .speed = 1, .small = true
	};
	static const struct sample_options b = {
		.model = "Tesla K80", .driver = "470", .devices = 2, .speed = 0.1, .small = true
	};

	static const struct sample_options c = {
		.model = "NVIDIA H200", .driver = "470", .devices = 2, .speed = 0.9, .small = true
	};

	(void)state;
	if (!mkdtemp(directory))
		return -1;
	put_result("a.json", &a);
	put_result("b.json", &b);
	put_result("c.json", &c);
	return 0;
}

static int tear_down(void **state)
{
	char *command = xasprintf("rm -rf %s", directory);
	int status = system(command);

	(void)state;
	free(command);
	return status;
}

static void assert_page(const char *name, const char *what, bool expected)
{
	char *html = content(name);

	if ((strstr(html, what) != NULL) != expected)
		fail_msg("%s %s: %s", name, expected ? "lacks" : "has", what);
	free(html);
}

static void one_result_is_a_page(void **state)
{
	struct text out = TEXT_EMPTY;

	(void)state;
	assert_int_equal(gpuproof(&out, "report a.json"), EXIT_ACCEPTED);
	assert_string_equal(out.data, "report.html\n");
	assert_page("report.html", "NVIDIA H200", true);
	assert_page("report.html", "rel=\"stylesheet\"", false);
	assert_page("report.html", ".verdict {", true);
	assert_false(there("report.css"));
	text_release(&out);
}

static void two_results_are_compared(void **state)
{
	(void)state;
	assert_int_equal(gpuproof(NULL,
				  "report a.json c.json -o both.html --title 'Old <and> new'"),
			 EXIT_ACCEPTED);
	assert_page("both.html", "<h1>Old &lt;and&gt; new</h1>", true);
	assert_page("both.html", "above 1 is worse", true);
}

/* Claims of one result's config, and of several on request. */
static void claims_are_shown_on_request(void **state)
{
	(void)state;
	assert_int_equal(gpuproof(NULL, "report a.json b.json -o plain.html"), EXIT_ACCEPTED);
	assert_page("plain.html", "id=\"claims\"", false);
	assert_int_equal(gpuproof(NULL, "report a.json b.json --claims -o claims.html"),
			 EXIT_ACCEPTED);
	assert_page("claims.html", "id=\"claims\"", true);
	assert_page("claims.html", "V100: this page has no such result", true);
	assert_int_equal(gpuproof(NULL, "report a.json --claims=some -o claims.html"),
			 EXIT_ENVIRONMENT);
}

/* A file of a user's replaces the shipped guides; a wrong one is named, with its line. */
static void claims_of_a_file(void **state)
{
	static const char own[] = "[guide OURS]\n"
				  "title = Our claims\n"
				  "about = what our handbook says\n"
				  "[claim X7]\n"
				  "text = A copy is fast.\n"
				  "source = on copies\n"
				  "prediction = It is.\n"
				  "[measure X7.1]\n"
				  "what = any copy\n"
				  "value = transfer.bandwidth\n"
				  "min = 1 B/s\n";

	(void)state;
	put("own.ini", own);
	assert_int_equal(gpuproof(NULL, "report a.json --claims=own.ini -o own.html"),
			 EXIT_ACCEPTED);
	assert_page("own.html", "<b>X7</b> A copy is fast.", true);
	assert_page("own.html", ", on copies</small>", true);
	assert_page("own.html", "<b>A1</b>", false);
	put("own.ini", own + 1);
	assert_int_equal(gpuproof(NULL, "report a.json --claims=own.ini -o own.html"), EXIT_USAGE);
	assert_int_equal(gpuproof(NULL, "report a.json --claims=own.ini -o own.ini"), EXIT_USAGE);
}

static void layout_dir_links_the_style(void **state)
{
	(void)state;
	assert_int_equal(gpuproof(NULL, "report --layout dir a.json -o linked.html"),
			 EXIT_ACCEPTED);
	assert_page("linked.html", "<link rel=\"stylesheet\" href=\"report.css\">", true);
	assert_page("report.css", ".verdict {", true);
}

static void templates_can_be_replaced(void **state)
{
	(void)state;
	assert_int_equal(gpuproof(NULL, "report --dump-templates own"), EXIT_ACCEPTED);
	assert_true(there("own/run.mustache") && there("own/chart_lines.mustache") &&
		    there("own/report.css"));
	assert_int_equal(gpuproof(NULL, "report a.json -o plain.html && cp plain.html same.html"),
			 EXIT_ACCEPTED);
	assert_int_equal(gpuproof(NULL, "report a.json -o same.html --template-dir own && cmp "
					"plain.html same.html"),
			 EXIT_ACCEPTED);
	put("own/section_method.mustache", "<p>Our own words, {{title}}.</p>\n");
	assert_int_equal(gpuproof(NULL, "report a.json -o own.html --template-dir own"),
			 EXIT_ACCEPTED);
	assert_page("own.html", "<p>Our own words, ", true);
	assert_page("own.html", "Method of measurement", false);
}

/* The source tree's own folders, so that work on the page needs no rebuild. */
static void templates_may_be_in_folders(void **state)
{
	struct text out = TEXT_EMPTY;

	(void)state;
	assert_int_equal(gpuproof(NULL, "report a.json -o plain.html"), EXIT_ACCEPTED);
	assert_int_equal(gpuproof(NULL, "report a.json -o same.html --template-dir " TESTS_DIR
					"/../report-templates && cmp plain.html same.html"),
			 EXIT_ACCEPTED);
	shell("rm -rf deep && mkdir -p deep/parts deep/.git && echo '{{#x}}' "
	      ">deep/.git/run.mustache");
	put("deep/parts/section_method.mustache", "<p>From a folder, {{title}}.</p>\n");
	assert_int_equal(gpuproof(NULL, "report a.json -o deep.html --template-dir deep"),
			 EXIT_ACCEPTED);
	assert_page("deep.html", "<p>From a folder, ", true);
	assert_int_equal(gpuproof(&out, "report a.json -o deep/parts/section_method.mustache "
					"--template-dir deep"),
			 EXIT_USAGE);
	assert_page("deep/parts/section_method.mustache", "From a folder", true);
	put("deep/section_method.mustache", "<p>Another one.</p>\n");
	text_reset(&out);
	assert_int_equal(gpuproof(&out, "report a.json -o never.html --template-dir deep"),
			 EXIT_USAGE);
	assert_non_null(strstr(out.data, "section_method.mustache: another folder contains a "
					 "template of the same name"));
	assert_false(there("never.html"));
	text_release(&out);
}

/* Its own style alone is a folder of templates too; one without both is none. */
static void style_may_be_all_that_is_own(void **state)
{
	struct text out = TEXT_EMPTY;

	(void)state;
	shell("rm -rf style && mkdir style");
	put("style/notes.txt", "no template");
	assert_int_equal(gpuproof(&out, "report a.json -o never.html --template-dir style"),
			 EXIT_USAGE);
	assert_non_null(strstr(out.data, "the folder has no *.mustache and no report.css"));
	put("style/report.css", "/* our own style */\n");
	assert_int_equal(gpuproof(NULL, "report a.json -o style.html --template-dir style"),
			 EXIT_ACCEPTED);
	assert_page("style.html", "our own style", true);
	text_release(&out);
}

static void missing_templates_write_nothing(void **state)
{
	struct text out = TEXT_EMPTY;

	(void)state;
	assert_int_equal(gpuproof(&out, "report a.json -o never.html --template-dir nowhere"),
			 EXIT_ENVIRONMENT);
	assert_non_null(strstr(out.data, "nowhere"));
	assert_false(there("never.html"));
	text_release(&out);
}

static void broken_template_is_named(void **state)
{
	struct text out = TEXT_EMPTY;

	(void)state;
	assert_int_equal(gpuproof(NULL, "report --dump-templates broken"), EXIT_ACCEPTED);
	put("broken/section_method.mustache", "<p>\n{{#has_facts}}</p>\n");
	assert_int_equal(gpuproof(&out, "report a.json -o never.html --template-dir broken"),
			 EXIT_USAGE);
	assert_non_null(
		strstr(out.data, "section_method.mustache:2: {{has_facts}} is never closed"));
	assert_false(there("never.html"));
	text_release(&out);
}

/* `out` tells of the page of a.json with one template of one's own. */
static void page_with(const char *template, const char *text, struct text *out, int code)
{
	char *path = xasprintf("mine/%s", template);

	shell("rm -rf mine && mkdir mine");
	put(path, text);
	assert_int_equal(gpuproof(out, "report a.json -o never.html --template-dir mine"), code);
	free(path);
}

static void templates_that_would_end_badly_are_named(void **state)
{
	static const struct {
		const char *name, *text, *message;
	} rows[] = {
		{ "run.mustache", "\n{{> run}}\n",
		  "template run.mustache:2: templates include each other in a cycle: run -> "
		  "run" },
		{ "section_method.mustache", "{{#a}}{{>section_head}}{{>run}}{{/a}}",
		  "template section_method.mustache:1: templates include each other in a cycle: "
		  "run -> section_method -> run" },
		{ "run.mustache", "<p>\n{{> section_metod}}",
		  "template run.mustache:2: there is no template 'section_metod'; did you mean "
		  "'section_method'?" },
		{ "run.mustache", "{{=<% %>=}}\n<%> nope %>",
		  "template run.mustache:2: there is no template 'nope'" },
		{ "run.mustache", "\n\n{{=}}",
		  "template run.mustache:3: {{=}} does not change delimiters" },
		{ "run.mustache", "{{=<% %>=}}\n<%#open%>",
		  "template run.mustache:2: {{open}} is never closed" },
		{ "run.mustache", "{{=<%=}}",
		  "template run.mustache:1: {{=<%=}} does not change delimiters" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct text out = TEXT_EMPTY;

		page_with(rows[i].name, rows[i].text, &out, EXIT_USAGE);
		if (!strstr(out.data, rows[i].message))
			fail_msg("'%s' is missing in %s", rows[i].message, out.data);
		text_release(&out);
	}
	assert_false(there("never.html"));
}

/* A comment, other delimiters, and a template that the page does not use. */
static void templates_that_are_no_harm_are_taken(void **state)
{
	(void)state;
	shell("rm -rf mine && mkdir mine");
	put("mine/mine.mustache", "{{> mine}}");
	put("mine/section_method.mustache", "{{! > run }}{{=<% %>=}}<p>ours</p><%! = %>");
	assert_int_equal(gpuproof(NULL, "report a.json -o comments.html --template-dir mine"),
			 EXIT_ACCEPTED);
	assert_page("comments.html", "<p>ours</p>", true);
}

/* A template that cannot be read is no reason to take the built-in one, or to wait for ever. */
static void templates_that_cannot_be_read_are_named(void **state)
{
	static const struct {
		const char *make, *message;
		int code;
	} rows[] = {
		{ "ln -s /dev/zero mine/run.mustache",
		  "mine/run.mustache: is larger than 4 MiB, so it is not a template", EXIT_USAGE },
		{ "ln -s nowhere mine/run.mustache", "mine/run.mustache: No such file",
		  EXIT_ENVIRONMENT },
		{ "mkfifo mine/run.mustache",
		  "mine/run.mustache: is a pipe to which no process writes", EXIT_USAGE },
		{ "mkdir mine/run.mustache", "mine/run.mustache: is a directory", EXIT_USAGE },
		{ "ln -s nowhere mine/report.css; touch mine/a.mustache",
		  "mine/report.css: No such file", EXIT_ENVIRONMENT },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct text out = TEXT_EMPTY;

		shell("rm -rf mine && mkdir mine");
		shell(rows[i].make);
		assert_int_equal(gpuproof(&out, "report a.json -o never.html --template-dir mine"),
				 rows[i].code);
		if (!strstr(out.data, rows[i].message))
			fail_msg("'%s' is missing in %s", rows[i].message, out.data);
		text_release(&out);
	}
	assert_false(there("never.html"));
}

static void edited_templates_are_not_overwritten(void **state)
{
	struct text out = TEXT_EMPTY;

	(void)state;
	assert_int_equal(gpuproof(NULL, "report --dump-templates edited"), EXIT_ACCEPTED);
	/* Nothing was edited: nothing is lost. */
	assert_int_equal(gpuproof(NULL, "report --dump-templates edited"), EXIT_ACCEPTED);
	put("edited/run.mustache", "mine\n");
	shell("rm edited/trend.mustache");
	assert_int_equal(gpuproof(&out, "report --dump-templates edited"), EXIT_USAGE);
	assert_non_null(strstr(out.data, "edited has templates that differ from the built-in ones: "
					 "run.mustache. Nothing was written: choose another "
					 "directory, or overwrite the templates with --force"));
	assert_page("edited/run.mustache", "mine\n", true);
	assert_false(there("edited/trend.mustache"));
	assert_int_equal(gpuproof(NULL, "report --dump-templates edited --force"), EXIT_ACCEPTED);
	assert_page("edited/run.mustache", "mine\n", false);
	assert_int_equal(gpuproof(NULL, "report a.json --force"), EXIT_USAGE);
	text_release(&out);
}

static void what_is_refused(void **state)
{
	static const struct {
		const char *arguments, *message;
		int code;
	} cases[] = {
		{ "report", "no RESULT given", EXIT_USAGE },
		{ "report a.json --layout both", "--layout takes single or dir", EXIT_USAGE },
		{ "report a.json --colour", "unknown option '--colour'", EXIT_USAGE },
		{ "report a.json --titel x", "did you mean '--title'?", EXIT_USAGE },
		{ "report a.json -o", "--output needs a value", EXIT_USAGE },
		{ "report missing.json", "missing.json", EXIT_ENVIRONMENT },
		{ "report garbage.json", "garbage.json", EXIT_USAGE },
		{ "report a.json -o no/such/place.html", "no/such/place.html", EXIT_ENVIRONMENT },
	};

	(void)state;
	put("garbage.json", "{ \"format\": \"something else\" }");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct text out = TEXT_EMPTY;
		int code = gpuproof(&out, cases[i].arguments);

		if (code != cases[i].code || !strstr(out.data, cases[i].message))
			fail_msg("gpuproof %s: exit %d, %s", cases[i].arguments, code, out.data);
		text_release(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_result_is_a_page),
		cmocka_unit_test(two_results_are_compared),
		cmocka_unit_test(claims_are_shown_on_request),
		cmocka_unit_test(claims_of_a_file),
		cmocka_unit_test(layout_dir_links_the_style),
		cmocka_unit_test(templates_can_be_replaced),
		cmocka_unit_test(templates_may_be_in_folders),
		cmocka_unit_test(style_may_be_all_that_is_own),
		cmocka_unit_test(missing_templates_write_nothing),
		cmocka_unit_test(broken_template_is_named),
		cmocka_unit_test(templates_that_would_end_badly_are_named),
		cmocka_unit_test(templates_that_are_no_harm_are_taken),
		cmocka_unit_test(templates_that_cannot_be_read_are_named),
		cmocka_unit_test(edited_templates_are_not_overwritten),
		cmocka_unit_test(what_is_refused),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
