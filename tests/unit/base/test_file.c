/*
 * file_write(): the old file or the whole new one; and what is no ordinary file stays what it is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/input.h"

static char folder[] = "/tmp/test_file.XXXXXX";

static int enter_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
	static const char *const names[] = { "file", "link",  "dangling", "pipe",
					     "hard", "other", "seen" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlink(names[i]);
	/* Fails when something else was left. */
	return chdir("/") || rmdir(folder);
}

static void put(const char *path, const char *text)
{
	struct error err = ERROR_NONE;

	if (file_write(path, text, strlen(text), &err) != STATUS_OK)
		fail_msg("%s: %s", path, err.message);
}

static void assert_holds(const char *path, const char *expected)
{
	char text[64] = "";
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	assert_string_equal(text, expected);
}

static mode_t kind_of(const char *path)
{
	struct stat there;

	assert_int_equal(lstat(path, &there), 0);
	return there.st_mode & S_IFMT;
}

static void a_file_is_replaced_as_a_whole(void **state)
{
	struct stat before, after;

	(void)state;
	put("file", "a longer first text");
	assert_int_equal(stat("file", &before), 0);
	put("file", "second");
	assert_int_equal(stat("file", &after), 0);
	assert_holds("file", "second");
	assert_true(before.st_ino != after.st_ino);
}

static void a_link_stays_one(void **state)
{
	(void)state;
	put("file", "old");
	assert_int_equal(symlink("file", "link"), 0);
	put("link", "through the link");
	assert_int_equal(kind_of("link"), S_IFLNK);
	assert_holds("file", "through the link");
	assert_int_equal(symlink("nowhere/at/all", "dangling"), 0);
	put("dangling", "new");
	assert_holds("dangling", "new");
}

static void a_pipe_is_written_into(void **state)
{
	char text[64] = "";
	int reader;

	(void)state;
	assert_int_equal(mkfifo("pipe", 0600), 0);
	reader = open("pipe", O_RDONLY | O_NONBLOCK);
	assert_true(reader >= 0);
	put("pipe", "flows");
	assert_int_equal(read(reader, text, sizeof(text) - 1), 5);
	close(reader);
	assert_string_equal(text, "flows");
	assert_int_equal(kind_of("pipe"), S_IFIFO);
}

static void errors_name_the_file(void **state)
{
	static const char *const paths[] = { "/dev/full", "no/such/folder", "." };

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct error err = ERROR_NONE;

		if (i == 0 && kind_of(paths[i]) != S_IFCHR)
			continue;
		assert_int_not_equal(file_write(paths[i], "text", 4, &err), STATUS_OK);
		if (strncmp(err.message, paths[i], strlen(paths[i])) != 0)
			fail_msg("%s: %s", paths[i], err.message);
	}
	assert_int_equal(kind_of("/dev/full"), S_IFCHR);
}

static void an_output_is_no_input(void **state)
{
	static const struct {
		const char *output;
		bool refused;
	} rows[] = {
		{ "file", true }, { "./file", true },     { "link", true },    { "hard", true },
		{ "seen", true }, { "other", false },     { "absent", false }, { NULL, false },
		{ ".", false },   { "/dev/null", false },
	};
	int fd;

	(void)state;
	put("file", "text");
	put("seen", "text");
	put("other", "text");
	assert_int_equal(link("file", "hard"), 0);
	input_note("link");
	input_note("absent");
	input_note("/dev/null");
	input_note(NULL);
	fd = input_open("seen");
	close(fd);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct error err = ERROR_NONE;
		enum status status = input_refuse_output(rows[i].output, &err);

		if (status != (rows[i].refused ? STATUS_USAGE : STATUS_OK))
			fail_msg("row %zu: %s", i, err.message);
		if (rows[i].refused)
			assert_non_null(strstr(err.message, rows[i].output));
		if (rows[i].refused)
			assert_int_equal(file_publish(rows[i].output, "new", 3, &err),
					 STATUS_USAGE);
	}
	assert_holds("file", "text");
	assert_holds("seen", "text");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_replaced_as_a_whole),
		cmocka_unit_test(a_link_stays_one),
		cmocka_unit_test(a_pipe_is_written_into),
		cmocka_unit_test(errors_name_the_file),
		cmocka_unit_test(an_output_is_no_input),
	};

	return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
