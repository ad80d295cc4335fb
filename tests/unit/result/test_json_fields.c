/* Promises of a row of a member table: members that are missing, unknown or of a wrong type. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/memory.h"
#include "result/json/json_fields.h"

struct inner {
	char *text;
	double real;
};

/* One member of each kind, as a later version might add them. */
struct sample {
	char *string;
	char chars[8];
	double real, zero_real;
	int integer;
	int64_t reading;
	uint64_t size;
	bool boolean;
	int tristate, word;
	unsigned flags;
	uint64_t bits;
	struct inner inner;
	struct inner *array;
	size_t array_count;
	double *reals;
	size_t real_count;
};

static const char *const words[] = { "first", "second", NULL };

static const struct field inner_fields[] = {
	{ .name = "text", .codec = &codec_string, FIELD_AT(inner, text) },
	{ .name = "real", .codec = &codec_real, FIELD_AT(inner, real) },
	{ 0 },
};

#define OPTIONAL(member, codec_, ...)                                                          \
	{                                                                                      \
		.name = #member, .codec = &codec_, FIELD_AT(sample, member), .optional = true, \
		__VA_ARGS__                                                                    \
	}

static const struct field sample_fields[] = {
	OPTIONAL(string, codec_string),
	OPTIONAL(chars, codec_chars),
	OPTIONAL(real, codec_real),
	OPTIONAL(zero_real, codec_real, .unknown = UNKNOWN_ZERO),
	OPTIONAL(integer, codec_int),
	OPTIONAL(reading, codec_int64, .unknown = UNKNOWN_NEGATIVE),
	OPTIONAL(size, codec_uint64, .unknown = UNKNOWN_ZERO),
	OPTIONAL(boolean, codec_bool),
	OPTIONAL(tristate, codec_tristate),
	OPTIONAL(word, codec_enum, .words = words),
	OPTIONAL(flags, codec_flags, .words = words),
	OPTIONAL(bits, codec_bits),
	OPTIONAL(inner, codec_object, .fields = inner_fields),
	{ .name = "array",
	  .codec = &codec_array,
	  FIELD_COUNTED(sample, array, array_count),
	  .fields = inner_fields,
	  .omitted = true },
	{ .name = "reals",
	  .codec = &codec_reals,
	  FIELD_COUNTED(sample, reals, real_count),
	  .omitted = true },
	{ 0 },
};

static void sample_release(struct sample *s)
{
	json_fields_release(sample_fields, s);
}

static struct sample parsed(const char *json)
{
	struct sample s = { 0 };
	struct error err = ERROR_NONE;

	if (json_fields_parse(json, strlen(json), sample_fields, &s, &err) != STATUS_OK)
		fail_msg("%s: %s", json, err.message);
	return s;
}

/* A document of the version before any of them was there. */
static void a_missing_optional_member_is_unknown_or_empty(void **state)
{
	struct sample s = parsed("{}");

	(void)state;
	assert_string_equal(s.string, "");
	assert_string_equal(s.chars, "");
	assert_true(isnan(s.real));
	assert_true(s.zero_real == 0);
	assert_int_equal(s.integer, 0);
	assert_int_equal(s.reading, -1);
	assert_int_equal(s.size, 0);
	assert_false(s.boolean);
	assert_int_equal(s.tristate, -1);
	assert_int_equal(s.word, 0);
	assert_int_equal(s.flags | s.bits, 0);
	assert_string_equal(s.inner.text, "");
	assert_true(isnan(s.inner.real));
	assert_int_equal(s.array_count + s.real_count, 0);
	sample_release(&s);
}

static void what_was_missing_is_written_as_unknown(void **state)
{
	struct sample s = parsed("{}");
	char *json = json_fields_line(sample_fields, &s);

	(void)state;
	assert_string_equal(json, "{\"string\":\"\",\"chars\":\"\",\"real\":null,\"zero_real\":"
				  "null,\"integer\":0,\"reading\":null,\"size\":null,\"boolean\":"
				  "false,\"tristate\":null,\"word\":\"first\",\"flags\":[],"
				  "\"bits\":[],\"inner\":{\"text\":\"\",\"real\":null}}");
	free(json);
	sample_release(&s);
}

static void members_of_a_newer_version_are_ignored(void **state)
{
	struct sample s = parsed("{\"string\": \"kept\", \"newer\": {\"deep\": [null]}, \"array\": "
				 "[{\"text\": \"a\", \"real\": 1, \"newer\": true}]}");

	(void)state;
	assert_string_equal(s.string, "kept");
	assert_int_equal(s.array_count, 1);
	assert_string_equal(s.array[0].text, "a");
	sample_release(&s);
}

/* May be missing, but never wrong; and a part that is there is whole. */
static void optional_members_are_read_strictly(void **state)
{
	static const struct {
		const char *json, *message;
	} rows[] = {
		{ "{\"string\": null}", "string: expected a string" },
		{ "{\"real\": \"1\"}", "real: expected a number" },
		{ "{\"integer\": null}", "integer: expected an integer" },
		{ "{\"word\": \"third\"}", "word: expected one of \"first\", \"second\"" },
		{ "{\"inner\": {\"text\": \"a\"}}", "inner.real: is missing" },
		{ "{\"inner\": null}", "inner: expected an object" },
		{ "{\"array\": [{\"real\": 1}]}", "array[0].text: is missing" },
		{ "{\"reals\": {}}", "reals: expected an array" },
		{ "{\"reals\": [null 5]}",
		  "line 1, column 17: not valid JSON: expected a comma or a closing bracket" },
		{ "{\"reals\": [null5]}",
		  "line 1, column 16: not valid JSON: expected a comma or a closing bracket" },
		{ "{\"real\": 1, \"newer\": 2, \"real\": 1}", "'real' is repeated" },
		{ "{\"array\": [{\"text\": \"a\", \"real\": 1, \"text\": \"b\"}]}",
		  "array[0]: 'text' is repeated" },
		{ "{\"newer\": [1, 2}", "line 1, column 16: not valid JSON: expected a comma or a "
					"closing bracket" },
		{ "{\"real\": 1", "line 1, column 11: not valid JSON: the text ends too early" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct sample s = { 0 };
		struct error err = ERROR_NONE;

		assert_int_equal(json_fields_parse(rows[i].json, strlen(rows[i].json),
						   sample_fields, &s, &err),
				 STATUS_USAGE);
		assert_string_equal(err.message, rows[i].message);
		sample_release(&s);
	}
}

static void omitted_members_are_those_with_their_default(void **state)
{
	static const struct field fields[] = {
		FIELD(sample, string, string, .omitted = true),
		FIELD(sample, chars, chars, .omitted = true),
		FIELD(sample, real, real, .omitted = true),
		FIELD(sample, zero_real, real, .unknown = UNKNOWN_ZERO, .omitted = true),
		FIELD(sample, integer, int, .omitted = true),
		FIELD(sample, reading, int64, .unknown = UNKNOWN_NEGATIVE, .omitted = true),
		FIELD(sample, boolean, bool, .omitted = true),
		FIELD(sample, word, enum, .words = words, .omitted = true),
		{ 0 },
	};
	static const char full[] = "{\"string\":\"a\",\"chars\":\"b\",\"real\":0,\"zero_real\":1,"
				   "\"integer\":-1,\"reading\":0,\"boolean\":true,"
				   "\"word\":\"second\"}";
	const char *const texts[] = { "{}", full };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct sample s = { 0 };
		struct error err = ERROR_NONE;
		char *json;

		assert_int_equal(json_fields_parse(texts[i], strlen(texts[i]), fields, &s, &err),
				 STATUS_OK);
		json = json_fields_line(fields, &s);
		assert_string_equal(json, texts[i]);
		free(json);
		json_fields_release(fields, &s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_missing_optional_member_is_unknown_or_empty),
		cmocka_unit_test(what_was_missing_is_written_as_unknown),
		cmocka_unit_test(members_of_a_newer_version_are_ignored),
		cmocka_unit_test(optional_members_are_read_strictly),
		cmocka_unit_test(omitted_members_are_those_with_their_default),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
