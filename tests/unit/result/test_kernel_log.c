/* Promises of the kernel's log: lines about GPUs and no others; no log is not an empty one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"
#include "result/host/kernel_log.h"

static const char *const pci[] = { "0000:3b:00.0", "" };

static char *root_with(const char *path, const char *text)
{
	char *root = xstrdup("/tmp/kernel_log.XXXXXX");
	struct error err = ERROR_NONE;
	const char *const folders[] = { "dev", "var", "var/log" };

	assert_non_null(mkdtemp(root));
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		char *folder = xasprintf("%s/%s", root, folders[i]);

		assert_int_equal(mkdir(folder, 0700), 0);
		free(folder);
	}
	if (path) {
		char *file = xasprintf("%s%s", root, path);

		assert_int_equal(file_write(file, text, strlen(text), &err), STATUS_OK);
		free(file);
	}
	return root;
}

/* Returns the lines, and in *from which file they are of. */
static char *kernel_lines(const char *path, const char *text, const char **from)
{
	char *root = root_with(path, text), *remove = xasprintf("rm -rf %s", root);
	struct text out = TEXT_EMPTY;

	*from = kernel_log_read(root, pci, ARRAY_SIZE(pci), &out);
	assert_int_equal(system(remove), 0);
	free(remove);
	free(root);
	return text_detach(&out);
}

static void lines_about_gpus_are_kept(void **state)
{
	const char *from;
	char *lines = kernel_lines("/dev/kmsg",
				   "6,1,1000000,-;usb 1-1: new device\n"
				   "3,2,12345678901,-;NVRM: Xid (PCI:0000:3b:00): 79, GPU has "
				   "fallen off\n"
				   " SUBSYSTEM=pci\n"
				   "4,3,12345678902,c;pcieport: AER: error of 0000:3b:00.0\n"
				   "4,4,12345678903,-;pcieport: AER: error of 0000:3c:00.0\n"
				   "6,5,5000042,-;nvidia: module loaded",
				   &from);

	(void)state;
	assert_string_equal(from, "/dev/kmsg");
	assert_string_equal(lines,
			    "[12345.678901] NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off\n"
			    "[12345.678902] pcieport: AER: error of 0000:3b:00.0\n"
			    "[5.000042] nvidia: module loaded\n");
	free(lines);
}

static void a_file_of_a_log_is_read_where_the_device_is_not(void **state)
{
	const char *from;
	char *lines = kernel_lines("/var/log/kern.log",
				   "Nov 24 n1 kernel: NVRM: a;b\nNov 24 n1 kernel: other\n", &from);

	(void)state;
	assert_string_equal(from, "/var/log/kern.log");
	assert_string_equal(lines, "Nov 24 n1 kernel: NVRM: a;b\n");
	free(lines);
}

static void no_log_is_not_a_log_without_lines(void **state)
{
	const char *from;
	char *lines = kernel_lines(NULL, NULL, &from);

	(void)state;
	assert_null(from);
	free(lines);
	lines = kernel_lines("/dev/kmsg", "", &from);
	assert_string_equal(from, "/dev/kmsg");
	assert_string_equal(lines ? lines : "", "");
	free(lines);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_about_gpus_are_kept),
		cmocka_unit_test(a_file_of_a_log_is_read_where_the_device_is_not),
		cmocka_unit_test(no_log_is_not_a_log_without_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
