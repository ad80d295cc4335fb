/* Memory of ranks: reached by its name, and gone with the processes that have it. */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "device/ranks/shared_memory.h"

#define BYTES 65536
#define NAME 128

static size_t count_in_folder(const char *path, const char *part)
{
	DIR *folder = opendir(path);
	const struct dirent *entry;
	size_t count = 0;

	assert_non_null(folder);
	while ((entry = readdir(folder)))
		count += strstr(entry->d_name, part) != NULL;
	closedir(folder);
	return count;
}

/* In a process that is killed: makes memory, says its name, and waits. */
static void hold_memory(int to)
{
	struct error err = ERROR_NONE;
	char name[NAME];
	void *memory;

	if (shared_memory_create(name, sizeof(name), &err) != STATUS_OK ||
	    shared_memory_map(name, BYTES, "a test", &memory, &err) != STATUS_OK)
		_exit(1);
	memset(memory, 7, BYTES);
	if (write(to, name, sizeof(name)) != (ssize_t)sizeof(name))
		_exit(1);
	pause();
}

static void a_killed_process_leaves_nothing(void **state)
{
	struct error err = ERROR_NONE;
	char name[NAME];
	void *memory, *again;
	int ends[2];
	pid_t other;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	other = fork();
	if (other == 0)
		hold_memory(ends[1]);
	close(ends[1]);
	assert_int_equal(read(ends[0], name, sizeof(name)), sizeof(name));
	assert_int_equal(count_in_folder("/dev/shm", strchr(name, ':') + 1), 0);
	assert_int_equal(shared_memory_map(name, BYTES, "a test", &memory, &err), STATUS_OK);
	kill(other, SIGKILL);
	assert_int_equal(waitpid(other, NULL, 0), other);
	assert_int_equal(((unsigned char *)memory)[BYTES - 1], 7);
	assert_int_equal(shared_memory_map(name, BYTES, "a test", &again, &err), STATUS_IO);
	assert_int_equal(count_in_folder("/dev/shm", strchr(name, ':') + 1), 0);
	shared_memory_unmap(memory, BYTES);
	close(ends[0]);
}

/* Its number may be another file's by then. */
static void an_object_that_was_closed_is_not_found(void **state)
{
	struct error err = ERROR_NONE;
	char name[NAME], *number;
	void *memory;
	int fd;

	(void)state;
	assert_int_equal(shared_memory_create(name, sizeof(name), &err), STATUS_OK);
	number = strstr(name, "/fd/");
	fd = (int)strtol(number + 4, NULL, 10);
	assert_true(fcntl(fd, F_GETFD) >= 0);
	shared_memory_attached(name);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_int_equal(dup2(STDERR_FILENO, fd), fd);
	assert_int_equal(shared_memory_map(name, BYTES, "a test", &memory, &err), STATUS_IO);
	assert_null(memory);
	shared_memory_attached(name);
	assert_true(fcntl(fd, F_GETFD) >= 0);
	close(fd);
}

/* As ids of communicators that are never opened. */
static void objects_without_use_are_few(void **state)
{
	size_t before = count_in_folder("/proc/self/fd", "");
	struct error err = ERROR_NONE;
	char name[NAME];

	(void)state;
	for (int i = 0; i < 100; i++)
		assert_int_equal(shared_memory_create(name, sizeof(name), &err), STATUS_OK);
	assert_true(count_in_folder("/proc/self/fd", "") <= before + 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_killed_process_leaves_nothing),
		cmocka_unit_test(an_object_that_was_closed_is_not_found),
		cmocka_unit_test(objects_without_use_are_few),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
