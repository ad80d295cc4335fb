/* Results of very many cases: read one by one, written in pieces, with texts that they share. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/input.h"
#include "base/memory.h"
#include "base/text.h"
#include "result/result_fields.h"
#include "sample_result.h"

#define CASES 3000
#define MOST_DEVICES 4

/* The sample with its first case many times, on the nodes n0, n1 and so on. */
static void many_cases(struct result *result)
{
	char *line, node[16];
	struct error err = ERROR_NONE;

	sample_result(result);
	line = case_result_to_json(&result->cases[0]);
	result->devices = xrealloc(result->devices, result->device_count + MOST_DEVICES * CASES,
				   sizeof(*result->devices));
	for (int i = 0; i < CASES; i++) {
		struct case_result *c = result_add_case(result);

		assert_int_equal(case_result_from_json(c, line, strlen(line), &err), STATUS_OK);
		snprintf(node, sizeof(node), "n%d", i);
		case_put_on_node(c, node);
		ARRAY_GROW(result->nodes, result->node_count, result->node_capacity);
		result->nodes[result->node_count++] = (struct result_node){ .name = xstrdup(node),
									    .status = NODE_OK,
									    .reason = xstrdup(""),
									    .lost_at = xstrdup(""),
									    .planned = 1,
									    .finished = 1 };
		for (size_t d = 0; d < c->device_count && d < MOST_DEVICES; d++) {
			result->devices[result->device_count] = result->devices[0];
			snprintf(result->devices[result->device_count++].id,
				 sizeof(result->devices[0].id), "%.60s", c->devices[d]);
		}
	}
	result->planned = result->case_count;
	free(line);
}

static void same_result_case_by_case(void **state)
{
	struct error err = ERROR_NONE;
	struct result result, back;
	char *first, *second;

	(void)state;
	many_cases(&result);
	case_result_note(&result.cases[0],
			 "brackets ]}{[, a quote \", a backslash \\ and both \\\"");
	first = result_to_json(&result);
	if (result_from_summary(&back, first, strlen(first), &err) != STATUS_OK)
		fail_msg("%s", err.message);
	second = result_to_json(&back);
	assert_string_equal(first, second);
	/* The same text is there once, and can still be replaced. */
	assert_ptr_equal(back.cases[1].suite, back.cases[2].suite);
	case_result_note(&back.cases[1], "more");
	assert_string_not_equal(back.cases[1].notes, back.cases[2].notes);
	result_release(&back);
	assert_int_equal(result_header_from_json(&back, first, strlen(first), &err), STATUS_OK);
	assert_int_equal(back.case_count, 0);
	assert_int_equal(back.device_count, result.device_count);
	assert_string_equal(back.run_id, result.run_id);
	result_release(&back);
	result_release(&result);
	free(first);
	free(second);
}

static void written_in_pieces(void **state)
{
	char path[] = "/tmp/gpuproof-many.XXXXXX", *whole;
	struct error err = ERROR_NONE;
	struct text text = TEXT_EMPTY;
	struct result result;

	(void)state;
	close(mkstemp(path));
	many_cases(&result);
	whole = result_to_json(&result);
	assert_true(strlen(whole) > (size_t)4 << 20);
	assert_int_equal(result_write(&result, path, &err), STATUS_OK);
	assert_int_equal(input_read_file(path, "result", (size_t)1 << 30, &text, &err), STATUS_OK);
	assert_string_equal(text.data, whole);
	unlink(path);
	text_release(&text);
	free(whole);
	result_release(&result);
}

static void refused(const char *text, size_t length, const char *expected)
{
	struct error err = ERROR_NONE;
	struct result result;

	assert_int_equal(result_from_summary(&result, text, length, &err), STATUS_USAGE);
	assert_int_equal(result.case_count, 0);
	if (!strstr(err.message, expected))
		fail_msg("'%s' instead of '%s'", err.message, expected);
}

static void errors_name_the_case(void **state)
{
	struct result result;
	char *json, *at;
	size_t length;

	(void)state;
	sample_result(&result);
	json = result_to_json(&result);
	length = strlen(json);
	/* Refuses whatever was cut off; the last byte is a line break. */
	for (size_t i = 0; i + 1 < length; i += 97)
		refused(json, i, "");
	at = strstr(json, "\"status\"");
	at = strstr(at + 1, "\"status\"");
	assert_non_null(at);
	memcpy(at, "\"statuz\"", 8);
	refused(json, length, "cases[1].status: is missing");
	memcpy(at, "\"statu]\"", 8);
	refused(json, length, "cases[1].status: is missing");
	memcpy(at, "]status\"", 8);
	refused(json, length, "");
	memcpy(at, "\"status\"", 8);
	at = strstr(json, "\"run\"");
	memcpy(at, "\"cfg\"", 5);
	refused(json, length, "run: is missing");
	at = strstr(json, "\"devices\"");
	memcpy(at, "\"cases\" ", 8);
	refused(json, length, "");
	refused("{\"format\":\"gpuproof-result\",\"version\":1,\"cases\":[],\"cases\":[]}", 62,
		"'cases' is repeated");
	refused("{\"format\":\"gpuproof-result\",\"version\":99}", 41, "newer gpuproof");
	refused("{\"cases\":[\"\\", 12, "not valid JSON");
	free(json);
	result_release(&result);
}

static void samples_go_and_figures_stay(void **state)
{
	struct result result;
	double median;

	(void)state;
	sample_result(&result);
	median = result.cases[0].series[0].statistics.median;
	assert_true(result.cases[0].series[0].count > 0);
	result_leave_samples(&result);
	assert_true(result.samples_left_out);
	for (size_t i = 0; i < result.case_count; i++) {
		assert_int_equal(result.cases[i].timeline_count, 0);
		for (size_t s = 0; s < result.cases[i].series_count; s++)
			assert_int_equal(result.cases[i].series[s].count, 0);
	}
	assert_true(result.cases[0].series[0].statistics.median == median);
	result_release(&result);
}

static void texts_are_kept_once(void **state)
{
	char *a = xstrdup("shared"), *b = xstrdup("shared"), *none = NULL, *first = a, name[32];
	char *longer = xmalloc(10000);

	(void)state;
	memset(longer, 'x', 9999);
	longer[9999] = '\0';
	memory_shared_text(&a);
	memory_shared_text(&b);
	assert_ptr_equal(a, b);
	assert_ptr_not_equal(a, first);
	memory_shared_text(&b);
	assert_string_equal(b, "shared");
	memory_shared_text(&none);
	assert_null(none);
	memory_shared_text(&longer);
	assert_int_equal(strlen(longer), 9999);
	/* As many as make the table grow. */
	for (int i = 0; i < 20000; i++) {
		char *text = xasprintf("text %d", i);

		memory_shared_text(&text);
		snprintf(name, sizeof(name), "text %d", i);
		assert_string_equal(text, name);
		memory_shared_text_free(text);
	}
	memory_shared_text_free(a);
	memory_shared_text_free(b);
	memory_shared_text_free(longer);
	memory_shared_text_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_result_case_by_case),
		cmocka_unit_test(written_in_pieces),
		cmocka_unit_test(errors_name_the_case),
		cmocka_unit_test(samples_go_and_figures_stay),
		cmocka_unit_test(texts_are_kept_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
