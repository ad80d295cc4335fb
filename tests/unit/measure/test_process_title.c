/* The role that a process shows in `ps -ef`, and what stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure/processes/process_title.h"

#define SHOWN_MOST 4096

/* A file of this process as text, each NUL a line break. */
static void read_own(const char *path, char out[SHOWN_MOST])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t have = 0;
	ssize_t n;

	assert_true(fd >= 0);
	while ((n = read(fd, out + have, SHOWN_MOST - 1 - have)) > 0)
		have += (size_t)n;
	close(fd);
	while (have && !out[have - 1])
		have--;
	for (size_t i = 0; i < have; i++)
		out[i] = out[i] ? out[i] : '\n';
	out[have] = '\0';
}

/* False: this kernel cannot set titles, and must have changed nothing. */
static bool titles_are_there(const char *before)
{
	char shown[SHOWN_MOST];

	process_title("worker cuda:1");
	read_own("/proc/self/cmdline", shown);
	if (strcmp(shown, before) != 0)
		return true;
	print_message("this kernel sets no titles\n");
	return false;
}

/* Also of another length than the one before, and the environment stays. */
static void a_role_is_shown_and_nothing_else(void **state)
{
	char before[SHOWN_MOST], environment[SHOWN_MOST], shown[SHOWN_MOST], name[SHOWN_MOST];

	(void)state;
	read_own("/proc/self/cmdline", before);
	read_own("/proc/self/environ", environment);
	read_own("/proc/self/comm", name);
	if (!titles_are_there(before))
		skip();
	read_own("/proc/self/cmdline", shown);
	assert_string_equal(shown, "gpuproof: worker cuda:1");
	process_title("rank %d", 3);
	read_own("/proc/self/cmdline", shown);
	assert_string_equal(shown, "gpuproof: rank 3");
	process_title("%s", "conductor of node a-node-with-a-long-name");
	read_own("/proc/self/cmdline", shown);
	assert_string_equal(shown, "gpuproof: conductor of node a-node-with-a-long-name");
	read_own("/proc/self/environ", shown);
	assert_string_equal(shown, environment);
	read_own("/proc/self/comm", shown);
	assert_string_equal(shown, name);
}

static void a_long_role_is_cut(void **state)
{
	char role[2000], before[SHOWN_MOST], shown[SHOWN_MOST];

	(void)state;
	read_own("/proc/self/cmdline", before);
	memset(role, 'x', sizeof(role) - 1);
	role[sizeof(role) - 1] = '\0';
	if (strncmp(before, "gpuproof: ", 10) != 0)
		skip();
	process_title("%s", role);
	read_own("/proc/self/cmdline", shown);
	assert_int_equal(strlen(shown), 126);
	assert_int_equal(strncmp(shown, "gpuproof: xxx", 13), 0);
}

/* A child that sets none shows its parent's; the memory that grows is still its own. */
static void a_child_has_its_own(void **state)
{
	char shown[SHOWN_MOST];
	int status;
	pid_t child;

	(void)state;
	read_own("/proc/self/cmdline", shown);
	if (strncmp(shown, "gpuproof: ", 10) != 0)
		skip();
	process_title("parent");
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		process_title("child");
		read_own("/proc/self/cmdline", shown);
		_exit(strcmp(shown, "gpuproof: child") != 0);
	}
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
	free(malloc(1 << 20));
	read_own("/proc/self/cmdline", shown);
	assert_string_equal(shown, "gpuproof: parent");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_role_is_shown_and_nothing_else),
		cmocka_unit_test(a_long_role_is_cut),
		cmocka_unit_test(a_child_has_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
