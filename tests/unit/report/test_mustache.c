/*
 * The Mustache engine passes the required part of the Mustache spec, and escapes what HTML needs.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/memory.h"
#include "report/template/template.h"

static const char *const files[] = { "comments", "delimiters", "interpolation",
				     "inverted", "partials",   "sections" };
#define REQUIRED_CASES 136

/*
 * Templates see texts only, so a number of the spec becomes its text; null becomes "not there"
 * where it can.
 */
static struct tree *to_tree(const json_t *json)
{
	struct tree *tree;
	const char *key;
	const json_t *value;
	size_t i;

	switch (json_typeof(json)) {
	case JSON_OBJECT:
		tree = tree_new(TREE_MAP);
		json_object_foreach((json_t *)json, key, value) tree_set(tree, key, to_tree(value));
		return tree;
	case JSON_ARRAY:
		tree = tree_new(TREE_LIST);
		json_array_foreach(json, i, value) tree_append(tree, to_tree(value));
		return tree;
	case JSON_TRUE:
	case JSON_FALSE:
		tree = tree_new(TREE_FLAG);
		tree->flag = json_is_true(json);
		return tree;
	default:
		tree = tree_new(TREE_TEXT);
		tree->text = json_is_string(json)   ? xstrdup(json_string_value(json))
			     : json_is_number(json) ? xasprintf("%g", json_number_value(json))
						    : xstrdup("");
		return tree;
	}
}

static void check_case(const char *file, const json_t *test)
{
	const char *text = json_string_value(json_object_get(test, "template"));
	const char *expected = json_string_value(json_object_get(test, "expected"));
	struct tree *root = to_tree(json_object_get(test, "data"));
	struct template_text partials[8];
	size_t count = 0, length;
	struct error err = ERROR_NONE;
	const char *key;
	const json_t *value;
	char *out;

	json_object_foreach(json_object_get(test, "partials"), key, value)
	{
		const char *partial = json_string_value(value);

		partials[count++] = (struct template_text){ key, partial, strlen(partial) };
	}
	out = template_mstch_render_text(text, strlen(text), root, partials, count, &length, &err);
	if (!out || strcmp(out, expected) != 0)
		fail_msg("%s: %s: got \"%s\", expected \"%s\" %s", file,
			 json_string_value(json_object_get(test, "name")), out ? out : "(null)",
			 expected, err.message);
	free(out);
	tree_free(root);
}

static const char *spec_directory(char *out, size_t size)
{
	const char *shared = getenv("GPUPROOF_SHARED");

	if (shared)
		snprintf(out, size, "%s/mustache-spec", shared);
	else
		snprintf(out, size, "%s/../../shared/mustache-spec", TESTS_DIR);
	return access(out, R_OK) == 0 ? out : NULL;
}

static void spec_passes(void **state)
{
	char directory[512], path[600];
	size_t cases = 0;

	(void)state;
	if (!spec_directory(directory, sizeof(directory))) {
		print_message("skipped: no Mustache spec at %s; set GPUPROOF_SHARED\n", directory);
		skip();
	}
	for (size_t f = 0; f < ARRAY_SIZE(files); f++) {
		const json_t *test;
		json_t *spec;
		size_t i;

		snprintf(path, sizeof(path), "%s/%s.json", directory, files[f]);
		spec = json_load_file(path, 0, NULL);
		assert_non_null(spec);
		json_array_foreach(json_object_get(spec, "tests"), i, test)
		{
			check_case(files[f], test);
			cases++;
		}
		json_decref(spec);
	}
	assert_int_equal(cases, REQUIRED_CASES);
}

static void assert_escaped(const char *bytes, size_t count, const char *expected)
{
	struct text out = TEXT_EMPTY;

	template_escape(&out, bytes, count);
	assert_string_equal(out.data, expected);
	text_release(&out);
}

static void escape_is_html(void **state)
{
	(void)state;
	assert_escaped("<a b=\"c\" d='e'>&", 16, "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;");
	assert_escaped("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\n\t", 11,
		       "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\n\t");
	assert_escaped("a\0b\x1b\x7f", 5,
		       "a\xef\xbf\xbd"
		       "b\xef\xbf\xbd\xef\xbf\xbd");
	assert_escaped("\xff\xc3", 2, "\xef\xbf\xbd\xef\xbf\xbd");
	assert_escaped("\xc2\x85", 2, "\xef\xbf\xbd\xef\xbf\xbd");
	assert_escaped("\xef\xbf\xbf", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

static void data_is_never_a_template(void **state)
{
	struct tree *root = tree_new(TREE_MAP);
	struct error err = ERROR_NONE;
	size_t length;
	char *out;

	(void)state;
	tree_text(root, "evil", "{{secret}}{{{secret}}}<b>");
	tree_text(root, "secret", "leaked");
	out = template_mstch_render_text("{{evil}}", 8, root, NULL, 0, &length, &err);
	assert_string_equal(out, "{{secret}}{{{secret}}}&lt;b&gt;");
	free(out);
	tree_free(root);
}

static void unknown_template_directory_is_an_error(void **state)
{
	struct tree *root = tree_new(TREE_MAP);
	struct text out = TEXT_EMPTY;
	struct error err = ERROR_NONE;

	(void)state;
	assert_int_not_equal(template_render("run", "/nonexistent", root, &out, &err), STATUS_OK);
	assert_non_null(strstr(err.message, "/nonexistent"));
	error_clear(&err);
	assert_int_equal(template_render("run", TESTS_DIR, root, &out, &err), STATUS_USAGE);
	text_release(&out);
	tree_free(root);
}

static void broken_templates_are_named(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{ "a\n{{#rows}}\n{{name}", "template t.mustache:3: a tag is not closed" },
		{ "a\n{{#rows}}{{name}}\n", "template t.mustache:2: {{rows}} is never closed" },
		{ "{{/rows}}", "template t.mustache:1: {{/rows}} closes no open section" },
		{ "{{=<% %>=}}\n<%#a%>{{/a}}", "template t.mustache:2: {{a}} is never closed" },
		{ "a\n{{=}}",
		  "template t.mustache:2: {{=}} does not change delimiters; write {{=<% %>=}}" },
		{ "{{#a}}\n{{^b}}\n{{/a}}", "template t.mustache:3: found {{/a}}, expected {{/b}} "
					    "to close the section opened on line 2" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error err = ERROR_NONE;

		assert_int_equal(template_check("t.mustache", cases[i].text, strlen(cases[i].text),
						&err),
				 STATUS_USAGE);
		assert_string_equal(err.message, cases[i].message);
	}
	assert_int_equal(template_check("t", "{{# a }}{{{b}}}{{/a}}{{! } }}", 29, NULL), STATUS_OK);
	assert_int_equal(template_check("t", "{{=<% %>=}}<%#a%><%/a%>", 23, NULL), STATUS_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spec_passes),
		cmocka_unit_test(escape_is_html),
		cmocka_unit_test(data_is_never_a_template),
		cmocka_unit_test(unknown_template_directory_is_an_error),
		cmocka_unit_test(broken_templates_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
