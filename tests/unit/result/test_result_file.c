/* Results as files: written whole or not at all, and errors that name the file. */
#include <dirent.h>
#include <glob.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/input.h"
#include "base/memory.h"
#include "base/text.h"
#include "sample_result.h"

static char directory[] = "/tmp/gpuproof-result.XXXXXX";
static char path[64];

static int make_directory(void **state)
{
	(void)state;
	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof(path), "%s/result.json", directory);
	return 0;
}

static int remove_directory(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(directory);
}

static size_t files_in_directory(void)
{
	DIR *dir = opendir(directory);
	size_t count = 0;

	while (readdir(dir))
		count++;
	closedir(dir);
	return count - 2; /* . and .. */
}

static void written_and_read(void **state)
{
	struct result result, back;
	struct error err = ERROR_NONE;
	struct stat st;
	char *first, *second;

	(void)state;
	umask(022);
	sample_result(&result);
	assert_int_equal(result_write(&result, path, &err), STATUS_OK);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0644);
	assert_int_equal(files_in_directory(), 1);
	assert_int_equal(result_read(&back, path, &err), STATUS_OK);
	first = result_to_json(&result);
	second = result_to_json(&back);
	assert_string_equal(first, second);
	free(first);
	free(second);
	result_release(&result);
	result_release(&back);
}

/* A file size limit stands for a full disk: write() fails half-way. */
static void a_full_disk_keeps_the_old_file(void **state)
{
	struct rlimit old, small;
	struct result result, back;
	struct error err = ERROR_NONE;
	enum status status;

	(void)state;
	sample_result(&result);
	assert_int_equal(result_write(&result, path, &err), STATUS_OK);
	free(result.label);
	result.label = xstrdup("changed");
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small = (struct rlimit){ 100, old.rlim_max };
	setrlimit(RLIMIT_FSIZE, &small);
	status = result_write(&result, path, &err);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(status, STATUS_IO);
	assert_true(text_starts_with(err.message, path));
	assert_int_equal(files_in_directory(), 1);
	error_clear(&err);
	assert_int_equal(result_read(&back, path, &err), STATUS_OK);
	assert_string_equal(back.label, "lab");
	result_release(&result);
	result_release(&back);
}

static void refused(const char *name, enum status expected, const char *message)
{
	struct result result;
	struct error err = ERROR_NONE;
	char *whole = xasprintf("%s: %s", name, message);

	assert_int_equal(result_read(&result, name, &err), expected);
	assert_string_equal(err.message, whole);
	free(whole);
}

static void errors_name_the_file(void **state)
{
	struct result result;
	struct error err = ERROR_NONE;
	FILE *file;

	(void)state;
	refused("/nonexistent/result.json", STATUS_IO, "No such file or directory");
	refused(directory, STATUS_USAGE, "is a directory, not a result file");
	refused("/dev/zero", STATUS_USAGE, "is larger than 256 MiB, so it is not a result");
	file = fopen(path, "w");
	fputs("{\n\"a\": 1,\n\"b\" 2\n}", file);
	fclose(file);
	refused(path, STATUS_USAGE, "line 3, column 5: not valid JSON: expected a colon");
	file = fopen(path, "w");
	fputs("<!DOCTYPE html>\n", file);
	fclose(file);
	refused(path, STATUS_USAGE, "not a gpuproof result: not valid JSON");
	sample_result(&result);
	assert_int_equal(result_write(&result, "/nonexistent/result.json", &err), STATUS_IO);
	assert_string_equal(err.message, "/nonexistent/result.json: No such file or directory");
	result_release(&result);
}

/* For grep, git and tools that read lines: each case is one, and a document by itself. */
static void each_case_is_a_line(void **state)
{
	struct result result;
	char *json, *line, *end;
	size_t cases = 0;

	(void)state;
	sample_result(&result);
	json = result_to_json(&result);
	line = strstr(json, "\n \"cases\": [\n");
	assert_non_null(line);
	for (line = strchr(line + 1, '\n') + 1; line[1] == ' '; line = end + 1, cases++) {
		struct case_result c;
		struct error err = ERROR_NONE;
		size_t length;

		end = strchr(line, '\n');
		length = (size_t)(end - line) - (end[-1] == ',');
		if (case_result_from_json(&c, line, length, &err) != STATUS_OK)
			fail_msg("%s", err.message);
		assert_string_equal(c.id, result.cases[cases].id);
		case_result_release(&c);
	}
	assert_int_equal(cases, result.case_count);
	assert_true(cases > 1);
	result_release(&result);
	free(json);
}

/* Reading and writing a stored result changes no byte of it. */
static void stored_results_are_of_the_current_format(void **state)
{
	glob_t files;

	(void)state;
	assert_int_equal(glob(TESTS_DIR "/data/*.json", 0, NULL, &files), 0);
	assert_int_equal(glob(TESTS_DIR "/data/nights/*.json", GLOB_APPEND, NULL, &files), 0);
	assert_true(files.gl_pathc > 5);
	for (size_t i = 0; i < files.gl_pathc; i++) {
		struct text stored = TEXT_EMPTY;
		struct result result;
		struct error err = ERROR_NONE;
		char *written;

		if (result_read(&result, files.gl_pathv[i], &err) != STATUS_OK ||
		    input_read_file(files.gl_pathv[i], "result", 16u << 20, &stored, &err) !=
			    STATUS_OK)
			fail_msg("%s", err.message);
		written = result_to_json(&result);
		if (strcmp(written, stored.data) != 0)
			fail_msg("%s is not as the program writes it", files.gl_pathv[i]);
		free(written);
		text_release(&stored);
		result_release(&result);
	}
	globfree(&files);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(written_and_read),
		cmocka_unit_test(a_full_disk_keeps_the_old_file),
		cmocka_unit_test(errors_name_the_file),
		cmocka_unit_test(each_case_is_a_line),
		cmocka_unit_test(stored_results_are_of_the_current_format),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
