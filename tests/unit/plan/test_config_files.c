/*
 * Every file in tests/config/invalid gives exactly the messages of its .expected, every file in
 * tests/config/valid the effective config of its .expected, which loads again to the same.
 * GPUPROOF_UPDATE_EXPECTED=1 writes the .expected files instead; read the difference before you
 * commit it.
 */
#include <ctype.h>
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/memory.h"
#include "base/text.h"
#include "config_suites.h"

static char *read_file(const char *path)
{
	struct text text = TEXT_EMPTY;
	FILE *f = fopen(path, "rb");
	int c;

	if (!f)
		return NULL;
	while ((c = getc(f)) != EOF)
		text_add_char(&text, (char)c);
	fclose(f);
	return text_detach(&text);
}

static void write_file(const char *path, const char *content)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	fputs(content, f);
	fclose(f);
}

/* Compares with NAME.expected; returns 1 and shows both when they differ. */
static int differs(const char *ini, const char *got)
{
	char *path = xasprintf("%.*s.expected", (int)strlen(ini) - 4, ini);
	char *expected;
	int bad;

	if (getenv("GPUPROOF_UPDATE_EXPECTED"))
		write_file(path, got);
	expected = read_file(path);
	bad = !expected || strcmp(expected, got) != 0;
	if (bad)
		print_error("%s\n--- expected\n%s--- got\n%s", ini,
			    expected ? expected : "(no such file)\n", got);
	free(expected);
	free(path);
	return bad;
}

static int check_invalid(const char *ini)
{
	struct text errors = TEXT_EMPTY;
	struct config config;
	int bad;

	if (config_load_with(&config, &test_schema, ini, NULL, 0, &errors) != STATUS_USAGE ||
	    config.count) {
		print_error("%s is accepted\n", ini);
		config_release(&config);
		return 1;
	}
	bad = differs(ini, errors.data);
	text_release(&errors);
	return bad;
}

static int check_valid(const char *ini)
{
	struct text errors = TEXT_EMPTY, shown = TEXT_EMPTY, plain = TEXT_EMPTY, again = TEXT_EMPTY;
	struct config config, copy;
	int bad = 0;

	if (config_load_with(&config, &test_schema, ini, NULL, 0, &errors) != STATUS_OK) {
		print_error("%s is refused:\n%s", ini, errors.data);
		text_release(&errors);
		return 1;
	}
	config_write(&config, 1, &shown);
	config_write(&config, 0, &plain);
	bad |= differs(ini, shown.data);
	/* With the origins as comments it still is the same config. */
	assert_int_equal(config_parse_with(&copy, &test_schema, ini, shown.data, shown.length, NULL,
					   0, &errors),
			 STATUS_OK);
	config_write(&copy, 0, &again);
	assert_string_equal(again.data, plain.data);
	config_release(&config);
	config_release(&copy);
	text_release(&shown);
	text_release(&plain);
	text_release(&again);
	return bad;
}

static int is_ini(const struct dirent *entry)
{
	/* Names that start with "_" are included by others. */
	return text_ends_with(entry->d_name, ".ini") && entry->d_name[0] != '_';
}

static size_t check_folder(const char *folder, int (*check)(const char *ini))
{
	struct dirent **entries;
	char *path = xasprintf("%s/config/%s", TESTS_DIR, folder);
	int count, bad = 0;

	assert_int_equal(chdir(path), 0);
	count = scandir(".", &entries, is_ini, alphasort);
	assert_true(count > 0);
	for (int i = 0; i < count; i++) {
		bad += check(entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	free(path);
	assert_int_equal(bad, 0);
	return (size_t)count;
}

static void invalid_files_give_their_exact_messages(void **state)
{
	(void)state;
	assert_true(check_folder("invalid", check_invalid) >= 45);
}

/* False for a byte that a terminal takes as a command, and for what turns text around it. */
static bool is_shown_safely(const char *text)
{
	for (const unsigned char *c = (const unsigned char *)text; *c; c++)
		if ((*c < ' ' && *c != '\n' && *c != '\t') || *c == 0x7f || *c >= 0xf8 ||
		    (c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0) ||
		    (c[0] == 0xe2 && c[1] == 0x80 && c[2] >= 0xaa && c[2] <= 0xae) ||
		    (c[0] == 0xe2 && c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9))
			return false;
	return true;
}

static size_t poisoned, questioned;

/* The error of the file with `poison` before its byte `at`. */
static int check_poisoned(const char *ini, const char *whole, size_t at, const char *poison)
{
	struct text text = TEXT_EMPTY, errors = TEXT_EMPTY;
	struct config config;
	int bad = 0;

	text_add_bytes(&text, whole, at);
	text_add(&text, poison);
	text_add(&text, whole + at);
	if (config_parse_with(&config, &test_schema, ini, text.data, text.length, NULL, 0,
			      &errors) == STATUS_OK)
		config_release(&config);
	if (errors.length && !is_shown_safely(errors.data)) {
		print_error("%s, byte %zu: %s\n", ini, at, errors.data);
		bad = 1;
	}
	poisoned++;
	questioned += errors.length && strchr(errors.data, '?');
	text_release(&text);
	text_release(&errors);
	return bad;
}

/* At the start, in the middle and at the end of each word. */
static int check_each_word(const char *ini)
{
	static const char *const poisons[] = { "\u202e",   "\u2067", "\xc2\x9b",
					       "\x1b[31m", "\x7f",   "\xff" };
	char *whole = read_file(ini);
	int bad = 0;

	for (size_t at = 1; whole[at] && at < 2000; at++)
		for (size_t p = 0; p < ARRAY_SIZE(poisons) && !bad; p++)
			if (isalnum((unsigned char)whole[at - 1]) &&
			    (at % 5 == 0 || !isalnum((unsigned char)whole[at])))
				bad |= check_poisoned(ini, whole, at, poisons[p]);
	free(whole);
	return bad;
}

static void no_error_shows_what_a_terminal_obeys(void **state)
{
	(void)state;
	check_folder("invalid", check_each_word);
	check_folder("valid", check_each_word);
	/* Many messages quote the poisoned word. */
	assert_true(questioned > poisoned / 10);
}

static void valid_files_give_their_effective_config(void **state)
{
	(void)state;
	assert_true(check_folder("valid", check_valid) >= 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(invalid_files_give_their_exact_messages),
		cmocka_unit_test(valid_files_give_their_effective_config),
		cmocka_unit_test(no_error_shows_what_a_terminal_obeys),
	};

	setenv("GPUPROOF_TEST_LABEL", "night 7", 1);
	setenv("GPUPROOF_TEST_EVIL", "line one\nseed = 2", 1);
	setenv("GPUPROOF_TEST_COMMENT", "a ; b", 1);
	unsetenv("GPUPROOF_TEST_UNSET");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
