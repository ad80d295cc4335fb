/* Promises of the JSON reader: it reads what jansson reads, as jansson does, and no more. */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <jansson.h>

#include "base/input.h"
#include "base/memory.h"
#include "base/text.h"
#include "result/json/json_reader.h"
#include "tests/fixtures/random.h"

static const char ordinary[] =
	"{\"a\": [1, -2.5, 3e-7, 0, -0.0, 1.7976931348623157e308, 12345678901234567, 0.1e+3],\n"
	" \"b\": {\"c\": \"x\\n\\\"y\\\\\\/\\t\", \"d\": \"\\u0041\\u00E4\\u20ac\\u07ff\\u0800\", "
	"\"\": \"\xc3\xa4\xe2\x82\xac\"},\r\n"
	"\t\"e\": [true, false, null, [], {}, [[\"f\"]]]}";

static json_t *tree_of(struct json_reader *r);

static json_t *container_of(struct json_reader *r, bool object)
{
	json_t *out = object ? json_object() : json_array();

	for (size_t i = 0; object ? json_reader_member(r, i) : json_reader_element(r, i); i++) {
		char *name = object ? xstrdup(r->string.data) : NULL;
		json_t *value = tree_of(r);

		if (value && object)
			json_object_set_new(out, name, value);
		else if (value)
			json_array_append_new(out, value);
		free(name);
	}
	return out;
}

/* jansson's tree of the next value; NULL: refused. */
static json_t *tree_of(struct json_reader *r)
{
	struct json_number number;
	bool value;

	if (json_reader_take(r, '{'))
		return container_of(r, true);
	if (json_reader_take(r, '['))
		return container_of(r, false);
	if (json_reader_at_bool(r))
		return json_reader_bool(r, &value) == STATUS_OK ? json_boolean(value) : NULL;
	if (json_reader_at_number(r)) {
		if (json_reader_number(r, &number) != STATUS_OK)
			return NULL;
		return number.whole ? json_integer(number.integer) : json_real(number.value);
	}
	if (json_reader_take_null(r))
		return json_null();
	return json_reader_string(r) == STATUS_OK ? json_stringn(r->string.data, r->string.length)
						  : NULL;
}

/* The text as a tree by the reader; NULL: refused. Skipping must refuse the same. */
static json_t *read_text(const char *text, size_t length)
{
	struct error err = ERROR_NONE, skipped = ERROR_NONE;
	struct json_reader r = { text, text, text + length, &err, false, TEXT_EMPTY };
	struct json_reader skipping = { text, text, text + length, &skipped, false, TEXT_EMPTY };
	json_t *tree = tree_of(&r);

	if (err.status == STATUS_OK)
		json_reader_finish(&r);
	if (json_reader_skip(&skipping) == STATUS_OK)
		json_reader_finish(&skipping);
	if ((err.status == STATUS_OK) != (skipped.status == STATUS_OK))
		fail_msg("read: '%s', skipped: '%s'", err.message, skipped.message);
	text_release(&r.string);
	text_release(&skipping.string);
	if (err.status == STATUS_OK)
		return tree;
	assert_non_null(strstr(err.message, "not valid JSON"));
	json_decref(tree);
	return NULL;
}

/* Returns whether the text is read; fails if jansson disagrees. */
static bool agree(const char *text, size_t length)
{
	/* A copy of that length, so that a tool for memory sees who reads beyond it. */
	char *exact = xmalloc(length ? length : 1);
	json_t *own, *jansson;
	json_error_t ignored;
	bool taken;

	memcpy(exact, text, length);
	own = read_text(exact, length);
	jansson = json_loadb(exact, length, 0, &ignored);
	free(exact);
	taken = own != NULL;
	/* jansson takes a NUL for a blank after a number. */
	if (jansson && memchr(text, '\0', length)) {
		assert_false(taken);
		json_decref(jansson);
		return false;
	}
	if (taken != (jansson != NULL) || (taken && !json_equal(own, jansson)))
		fail_msg("%s, not by jansson: %.*s", taken ? "read" : "refused", (int)length, text);
	json_decref(own);
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

static void the_unusual_is_read(void **state)
{
	static const char *const texts[] = { "[\"\\ud83d\\ude00\"]",
					     "[9223372036854775807]",
					     "[-9223372036854775808]",
					     "[1e-99999]",
					     "[-0]",
					     "[0.00000000000000000001234567890123456789]",
					     "{\"\xc3\xa4\": 1}" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_true(agree(texts[i], strlen(texts[i])));
}

/* jansson refuses integers beyond 64 bits; as a real number they have a meaning. */
static void large_integers_are_no_integers(void **state)
{
	static const char *const texts[] = { "9223372036854775808 ", "-92233720368547758080 " };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct error err = ERROR_NONE;
		struct json_reader r = { texts[i], texts[i], texts[i] + strlen(texts[i]),
					 &err,     false,    TEXT_EMPTY };
		struct json_number number;

		assert_int_equal(json_reader_number(&r, &number), STATUS_OK);
		assert_false(number.whole);
		assert_true(number.value == strtod(texts[i], NULL));
	}
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

static void assert_read_as_strtod(const char *text)
{
	struct error err = ERROR_NONE;
	struct json_reader r = { text, text, text + strlen(text), &err, false, TEXT_EMPTY };
	struct json_number number;
	double wanted = strtod(text, NULL);

	if (json_reader_number(&r, &number) != STATUS_OK)
		fail_msg("%s: %s", text, err.message);
	if (memcmp(&number.value, &wanted, sizeof(wanted)) != 0)
		fail_msg("%s is read as %.17g, not %.17g", text, number.value, wanted);
}

/*
 * Numbers of every length and power, doubles as they are written, and values right at, below and
 * above the middle between two doubles.
 */
static void numbers_are_rounded_as_by_strtod(void **state)
{
	char text[64];

	(void)state;
	for (int i = 0; i < 200000; i++) {
		int digits = 1 + (int)(20 * uniform()), power = (int)(70 * uniform()) - 35;
		double value = ldexp(1 + uniform(), (int)(160 * uniform()) - 80);
		uint64_t middle = ((UINT64_C(1) << 53) + (uint64_t)(uniform() * 0x1p53)) * 4 + 2;

		snprintf(text, sizeof(text), "%s%.*e,", i % 2 ? "-" : "", digits - 1,
			 uniform() * pow(10, power));
		assert_read_as_strtod(text);
		snprintf(text, sizeof(text), "%.17g,", value);
		assert_read_as_strtod(text);
		for (int off = -1; off <= 1; off++) {
			snprintf(text, sizeof(text), "%" PRIu64 "e%d,", middle + (uint64_t)off,
				 i % 28);
			assert_read_as_strtod(text);
			snprintf(text, sizeof(text), "%" PRIu64 ".%de-%d,",
				 (middle + (uint64_t)off) / 10,
				 (int)((middle + (uint64_t)off) % 10), i % 28);
			assert_read_as_strtod(text);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ordinary_documents_are_read),
		cmocka_unit_test(what_jansson_refuses_is_refused),
		cmocka_unit_test(the_unusual_is_read),
		cmocka_unit_test(large_integers_are_no_integers),
		cmocka_unit_test(numbers_are_rounded_as_by_strtod),
		cmocka_unit_test(damaged_documents_are_judged_alike),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
