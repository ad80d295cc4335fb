/* Promises of the quick parser: it reads what gpuproof writes as jansson does, and no more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/input.h"
#include "base/memory.h"
#include "base/text.h"
#include "result/json/json_fields.h"

static const char ordinary[] =
	"{\"a\": [1, -2.5, 3e-7, 0, -0.0, 1.7976931348623157e308, 12345678901234567, 0.1e+3],\n"
	" \"b\": {\"c\": \"x\\n\\\"y\\\\\\/\\t\", \"d\": \"\\u0041\\u00E4\\u20ac\\u07ff\\u0800\", "
	"\"\": \"\xc3\xa4\xe2\x82\xac\"},\r\n"
	"\t\"e\": [true, false, null, [], {}, [[\"f\"]]]}";

/* Both parsers' trees; NULL: refused. The caller releases them. */
static void parse_both(const char *text, size_t length, json_t **quick, json_t **jansson)
{
	/* A copy of that length, so that a tool for memory sees who reads beyond it. */
	char *exact = xmalloc(length ? length : 1);
	json_error_t ignored;

	memcpy(exact, text, length);
	*quick = json_parse_quick(exact, length);
	*jansson = json_loadb(exact, length, JSON_REJECT_DUPLICATES, &ignored);
	free(exact);
}

/* Returns whether the quick parser took it. */
static bool agree(const char *text, size_t length)
{
	json_t *quick, *jansson;
	bool taken;

	parse_both(text, length, &quick, &jansson);
	taken = quick != NULL;
	if (taken && (!jansson || !json_equal(quick, jansson)))
		fail_msg("the parsers differ: %.*s", (int)length, text);
	json_decref(quick);
	json_decref(jansson);
	return taken;
}

static void ordinary_documents_are_read(void **state)
{
	static const char *const files[] = { "acceptance_h100.json", "acceptance_h200_x2.json",
					     "burn_h200_planted.json", "claims_h200_x2.json" };

	(void)state;
	assert_true(agree(ordinary, strlen(ordinary)));
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		struct text text = TEXT_EMPTY;
		struct error err = ERROR_NONE;
		char *path = xasprintf(TESTS_DIR "/data/%s", files[i]);

		assert_int_equal(input_read_file(path, "result", (size_t)1 << 28, &text, &err),
				 STATUS_OK);
		assert_true(agree(text.data, text.length));
		text_release(&text);
		free(path);
	}
}

static void what_jansson_refuses_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"1",
		"\"a\"",
		"[1,]",
		"[,1]",
		"{\"a\" 1}",
		"[01]",
		"[1.]",
		"[.5]",
		"[1e]",
		"[+1]",
		"[-]",
		"[1e999]",
		"[\"\x01\"]",
		"[\"\x80\"]",
		"[\"\xc0\xaf\"]",
		"[\"\\x\"]",
		"[1] 2",
		"{\"a\": 1, \"a\": 2}",
		"[nul]",
		"[truefalse]",
		"[",
		"[1",
		"{\"a\": 1",
		"[\"a",
		"[\"\\",
		"[1}",
		"{]",
		"[\"\xed\xa0\x80\"]",
		"[\"\\u0000\"]",
		"[\"\\u12\"]",
		"[\"\\udead\"]",
		"[tru",
		"[-01]",
		"[0x1]",
		"[1 2]",
		"{1: 2}",
		"[inf]",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_false(agree(texts[i], strlen(texts[i])));
	assert_false(agree("[1]\0", 4));
	assert_false(agree("[\"a\0b\"]", 7));
}

/* Texts that it leaves to jansson. */
static void the_unusual_is_left(void **state)
{
	static const char *const texts[] = { "[\"\\ud83d\\ude00\"]", "[9223372036854775807]",
					     "[1e-99999]" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_false(agree(texts[i], strlen(texts[i])));
}

static void damaged_documents_are_judged_alike(void **state)
{
	static const char bytes[] = "\"\\{}[],:0-+.eEtn x\x01\x7f\x80\xc3";
	char damaged[sizeof(ordinary)];
	size_t length = strlen(ordinary), taken = 0;

	(void)state;
	for (size_t at = 0; at < length; at++) {
		assert_false(agree(ordinary, at));
		for (size_t b = 0; b < sizeof(bytes); b++) {
			memcpy(damaged, ordinary, sizeof(ordinary));
			damaged[at] = bytes[b];
			taken += agree(damaged, length);
		}
	}
	/* Some of them are other valid documents. */
	assert_in_range(taken, length, length * sizeof(bytes) / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ordinary_documents_are_read),
		cmocka_unit_test(what_jansson_refuses_is_refused),
		cmocka_unit_test(the_unusual_is_left),
		cmocka_unit_test(damaged_documents_are_judged_alike),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
