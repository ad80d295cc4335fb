/* [suite command]: words, placeholders, patterns, hashes, and the messages about wrong sections. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/text.h"
#include "plan/config.h"
#include "plan/plan.h"
#include "result/json/json_find.h"
#include "base/hash/sha256.h"
#include "suites/command/patterns.h"

/* The words with a bar after each. */
static char *split(const char *text)
{
	struct error err = ERROR_NONE;
	struct text out = TEXT_EMPTY;
	struct words words;

	command_patterns_words_split(text, &words, &err);
	for (size_t i = 0; i < words.count && err.status == STATUS_OK; i++)
		text_addf(&out, "%s|", words.items[i]);
	if (err.status != STATUS_OK)
		text_addf(&out, "! %s", err.message);
	command_patterns_words_release(&words);
	return text_detach(&out);
}

static void words_are_those_of_the_rules(void **state)
{
	static const char *const cases[][2] = {
		{ "a b\tc", "a|b|c|" },
		{ "  a  ", "a|" },
		{ "", "" },
		{ "'a b' \"c d\"", "a b|c d|" },
		{ "a'b c'd", "ab cd|" },
		{ "'' \"\"", "||" },
		{ "'a\\b'", "a\\b|" },
		{ "\"a\\\"b\\\\c\\d\"", "a\"b\\c\\d|" },
		{ "a\\ b \\'c", "a b|'c|" },
		{ "a\\", "a\\|" },
		{ "a '|' \">\"", "a|||>|" },
		{ "a|b", "a|b|" },
		{ "a 'b", "! the closing quotation mark is missing after ''b'" },
		{ "a \"b\\\"", "! the closing quotation mark is missing after '\"b\\\"'" },
		{ "a | b",
		  "! '|' needs a shell, but the program runs without one; quote it if it is an "
		  "argument, or write sh -c '...'" },
		{ "a 2>&1", "! '2>&1' needs a shell, but the program runs without one; quote it if "
			    "it is an argument, or "
			    "write sh -c '...'" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *got = split(cases[i][0]);

		assert_string_equal(got, cases[i][1]);
		free(got);
	}
}

static char *fill(const char *text, enum escape escape)
{
	static const struct key keys[] = { { .name = "size", .type = KEY_SIZE },
					   { .name = "mode", .type = KEY_TEXT } };
	static struct value values[] = { { .text = (char *)"4KiB", .integer = 4096 },
					 { .text = (char *)"a.b {size}" } };
	struct parameter parameters[] = { { &keys[0], &values[0], false, false },
					  { &keys[1], &values[1], false, false } };
	const struct plan_case c = { .parameters = parameters, .parameter_count = 2 };
	const struct device_info device = { .id = "cuda:2", .index = 2, .uuid = "GPU-1-2" };

	return command_patterns_placeholders_fill(text, &c, &device, escape);
}

static void placeholders_are_filled_once(void **state)
{
	static const char *const cases[][2] = {
		{ "plain", "plain" },
		{ "{size}", "4KiB" },
		{ "-n{size:bytes}-", "-n4096-" },
		/* A value is not looked at again. */
		{ "{mode}", "a.b {size}" },
		{ "{device} {index} {uuid}", "cuda:2 2 GPU-1-2" },
		{ "{{size}} {{size:bytes}}", "{size} {size:bytes}" },
		{ "{} { } {1} {2,3} {a b} {\"a\":1} {size",
		  "{} { } {1} {2,3} {a b} {\"a\":1} {size" },
		{ "{{{size}}}", "{{size}}" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *got = fill(cases[i][0], ESCAPE_NOTHING);

		assert_string_equal(got, cases[i][1]);
		free(got);
	}
}

static void values_stand_for_themselves_in_patterns(void **state)
{
	char *pattern = fill("^{mode} ([0-9]+)$", ESCAPE_REGEX);

	(void)state;
	assert_true(pattern_matches(pattern, "x\na.b {size} 12\n"));
	assert_false(pattern_matches(pattern, "axb {size} 12"));
	free(pattern);
}

/* "1 2.5 " of what the group matches, "! message". */
static char *numbers(const char *pattern, const char *text)
{
	struct error err = ERROR_NONE;
	struct text out = TEXT_EMPTY;
	double *found;
	size_t count;

	pattern_numbers(pattern, text, &found, &count, &err);
	for (size_t i = 0; i < count && err.status == STATUS_OK; i++)
		text_addf(&out, "%g ", found[i]);
	if (err.status != STATUS_OK)
		text_addf(&out, "! %s", err.message);
	free(found);
	return text_detach(&out);
}

static void patterns_find_every_number(void **state)
{
	static const char *const cases[][3] = {
		{ "([0-9.]+) MB/s", "1 MB/s, 2.5 MB/s\n3e2 MB/s\n4 GB/s\n", "1 2.5 2 " },
		{ "^([0-9]+)", "1 2\n3 4\n", "1 3 " },
		{ "([0-9]+)$", "1 2\n3 4", "2 4 " },
		{ "^a: (.*)$", "a:  7 \nb: 8\n", "7 " },
		{ "x*([0-9]*)", "", "! '' is not a number" },
		{ "a (.)", "a b", "! 'b' is not a number" },
		{ "a([0-9])?", "a", "! '' is not a number" },
		{ "(-[0-9])", "a -5", "-5 " },
		{ "([0-9])", "none", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *got = numbers(cases[i][0], cases[i][1]);

		assert_string_equal(got, cases[i][2]);
		free(got);
	}
}

static void json_paths_find_numbers(void **state)
{
	static const char text[] =
		"{\"a\": {\"b\": 1.5}, \"list\": [{\"n\": \"x\", \"i\": 1, \"t\": 2}, "
		"{\"n\": \"y\", \"i\": 2, \"t\": \"3\"}], \"s\": \"fast\", "
		"\"deep\": [[4, 5], [6]]}";
	static const char *const cases[][2] = {
		{ "a.b", "1.5 " },
		{ "list[0].t", "2 " },
		{ "list[*].t", "2 3 " },
		{ "list[n=y].t", "3 " },
		{ "list[i=1].t", "2 " },
		{ "deep[*][*]", "4 5 6 " },
		{ "deep[1][0]", "6 " },
		{ "list[7].t", "" },
		{ "none.b", "" },
		{ "s", "! the value at this path is not a number" },
		{ "a", "! the value at this path is not a number" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error err = ERROR_NONE;
		struct text out = TEXT_EMPTY;
		double *found;
		size_t count;
		char *got;

		assert_int_equal(json_find_check(cases[i][0], &err), STATUS_OK);
		json_find_numbers(text, strlen(text), cases[i][0], &found, &count, &err);
		for (size_t n = 0; n < count && err.status == STATUS_OK; n++)
			text_addf(&out, "%g ", found[n]);
		if (err.status != STATUS_OK)
			text_addf(&out, "! %s", err.message);
		got = text_detach(&out);
		assert_string_equal(got, cases[i][1]);
		free(got);
		free(found);
	}
}

/* FIPS 180-4's examples, and lengths around those of a block. */
static void hashes_are_sha256(void **state)
{
	static const struct {
		size_t count;
		const char *digest;
	} repeated[] = {
		{ 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ 55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318" },
		{ 56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a" },
		{ 64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb" },
		{ 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0" },
	};
	char digest[SHA256_DIGITS + 1];
	struct sha256 hash;

	(void)state;
	sha256_begin(&hash);
	sha256_add(&hash, "abc", 3);
	sha256_end(&hash, digest);
	assert_string_equal(digest,
			    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	for (size_t i = 0; i < ARRAY_SIZE(repeated); i++) {
		size_t left = repeated[i].count;

		sha256_begin(&hash);
		for (size_t part = 1; left > 0; part = part * 3 % 1009) {
			size_t now = part < left ? part : left;
			char piece[1009];

			memset(piece, 'a', now);
			sha256_add(&hash, piece, now);
			left -= now;
		}
		sha256_end(&hash, digest);
		assert_string_equal(digest, repeated[i].digest);
	}
}

/* Holds what is said of a [suite command] with these lines against `expected`; "": valid. */
static void assert_said(const char *lines, const char *expected)
{
	char *text = xasprintf("[suite command]\n%s", lines);
	struct text errors = TEXT_EMPTY;
	struct config config;

	config_parse(&config, "x.ini", text, strlen(text), NULL, 0, &errors);
	assert_string_equal(errors.data ? errors.data : "", expected);
	config_release(&config);
	text_release(&errors);
	free(text);
}

#define PLACE(line, key) "x.ini:" line ": [suite command] " key
#define SHA "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

static void wrong_sections_are_told(void **state)
{
	(void)state;
	assert_said("command = a {size}\nsize = 1KiB..4KiB *2\n", "");
	assert_said("",
		    "x.ini:1: [suite command] needs the key command: program and arguments, run "
		    "without a shell. {name}: a value of the list `name` in this section; "
		    "{name:bytes}: a size in bytes; {device}, {index}, {uuid}: of the device "
		    "(see gpuproof help command)\n");
	assert_said("command = a 'b\n", PLACE("2", "command = a 'b: the closing quotation mark is "
						   "missing after ''b'\n"));
	assert_said("command = a {size}\n",
		    PLACE("2", "command = a {size}: {size} has no values; add the list size = "
			       "..., or write {{size}} for literal braces\n"));
	assert_said("command = a {timeout}\n", PLACE("2", "command = a {timeout}: {timeout}: "
							  "the suite has a key of this name; "
							  "choose another placeholder\n"));
	assert_said("command = a {n:bytes}\nn = 1, 2\n",
		    PLACE("2",
			  "command = a {n:bytes}: {n:bytes}: the values of n are not sizes\n"));
	assert_said("command = a {n}\nn = a b, c\n",
		    PLACE("3",
			  "n = a b, c: 'a b' contains a blank, '@' or a quotation mark, which case "
			  "names must not contain\n"));
	assert_said("command = a\nregex = ([0-9]+) s\n",
		    PLACE("3", "regex = ([0-9]+) s: the value needs a unit; set unit = ...\n")
			    PLACE("3", "regex = ([0-9]+) s: the value needs a name; set metric "
				       "= ...\n"));
	assert_said("command = a\nregex = [0-9]+\nmetric = x\nunit = s\n",
		    PLACE("3",
			  "regex = [0-9]+: the expression has 0 groups; write exactly one group in "
			  "parentheses, which matches the value\n"));
	assert_said("command = a\nregex = (a\nmetric = x\nunit = s\n",
		    PLACE("3",
			  "regex = (a: not a POSIX extended regular expression: Unmatched ( or "
			  "\\(\n"));
	assert_said("command = a\nregex = (a)\njson = a\nmetric = x\nunit = s\n",
		    PLACE("4", "json = a: regex and json exclude each other\n"));
	assert_said("command = a\njson = a[x]\nmetric = x\nunit = s\n",
		    PLACE("3", "json = a[x]: '[x]' is invalid; write [0], [*] or [name=value]\n"));
	assert_said("command = a\nunit = B/s\n", PLACE("3", "unit = B/s: without regex or json, "
							    "the value is the wall time, and "
							    "its unit is s\n"));
	assert_said("command = a\njson = a\nmetric = x\nunit = Hz\n",
		    PLACE("5", "unit = Hz: the metric needs a direction; set better = "
			       "higher or lower\n"));
	assert_said("command = a\nmatches = all\n",
		    PLACE("3", "matches = all: matches = all needs regex or json, because the "
			       "wall time is one value per start\n"));
	assert_said("command = a\noutput = b\n",
		    PLACE("3", "output = b: the file `output` is used only with sha256; set sha256 "
			       "= ...\n"));
	assert_said("command = a\noutput = b\nsha256 = " SHA "\n", "");
	assert_said("command = a\nsha256 = 12\n", PLACE("3", "sha256 = 12: not a SHA-256; write 64 "
							     "lower-case hexadecimal digits\n"));
	assert_said("command = a\nenvironment = A=1 B\n",
		    PLACE("3", "environment = A=1 B: 'B' is not of the form NAME=value\n"));
	assert_said("command = a\nmetric = Speed\n",
		    PLACE("3", "metric = Speed: invalid name; use at most 40 lower-case "
			       "letters, digits and '_', beginning with a letter\n"));
	assert_said("command = a\n[suite command b]\ncommand = b\nkind = device\n",
		    "x.ini:3: [suite command b]: another section of this suite declares metric "
		    "command.time "
		    "with a different unit, direction, title or kind\n");
}

/* Numbers are an axis of numbers, so that pages draw lines over them. */
static void lists_have_the_type_of_their_values(void **state)
{
	static const char text[] =
		"[suite command]\ncommand = a {size} {n} {word}\nsize = 1KiB, 2KiB\n"
		"n = 1..4\nword = a, 1\n";
	struct text errors = TEXT_EMPTY;
	struct config config;
	const struct section *section;

	(void)state;
	assert_int_equal(config_parse(&config, "x.ini", text, strlen(text), NULL, 0, &errors),
			 STATUS_OK);
	section = config_section(&config, "suite", "command");
	assert_int_equal(section_setting(section, "size")->key->type, KEY_SIZE);
	assert_int_equal(section_setting(section, "n")->key->type, KEY_INTEGER);
	assert_int_equal(section_setting(section, "n")->count, 4);
	assert_int_equal(section_setting(section, "word")->key->type, KEY_TEXT);
	assert_string_equal(section->suite->metrics[0].name, "command.time");
	config_release(&config);
	text_release(&errors);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_those_of_the_rules),
		cmocka_unit_test(placeholders_are_filled_once),
		cmocka_unit_test(values_stand_for_themselves_in_patterns),
		cmocka_unit_test(patterns_find_every_number),
		cmocka_unit_test(json_paths_find_numbers),
		cmocka_unit_test(hashes_are_sha256),
		cmocka_unit_test(wrong_sections_are_told),
		cmocka_unit_test(lists_have_the_type_of_their_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
