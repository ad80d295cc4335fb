/* Promises about Xid errors in the kernel log: each GPU has its own, and the worst decides. */
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
#include "device/xid.h"
#include "result/host/host_findings.h"

struct found {
	struct finding items[8];
	size_t count;
};

static void keep(void *context, const struct finding *f)
{
	struct found *found = context;

	assert_true(found->count < ARRAY_SIZE(found->items));
	found->items[found->count++] = *f;
}

/* The findings about two GPUs where `path` (NULL: no log) has the text. */
static struct found findings_of(const char *path, const char *text)
{
	static const struct device_info devices[] = {
		{ .id = "cuda:0", .pci = "0000:3B:00.0" },
		{ .id = "cuda:1", .pci = "0000:5e:00.0" },
		{ .id = "host:0" },
	};
	char root[] = "/tmp/xids.XXXXXX", *file, *remove;
	struct found found = { .count = 0 };
	struct error err = ERROR_NONE;

	assert_non_null(mkdtemp(root));
	file = xasprintf("mkdir -p %s/dev %s/var/log", root, root);
	assert_int_equal(system(file), 0);
	free(file);
	if (path) {
		file = xasprintf("%s%s", root, path);
		assert_int_equal(file_write(file, text, strlen(text), &err), STATUS_OK);
		free(file);
	}
	xid_findings(root, devices, ARRAY_SIZE(devices), keep, &found);
	remove = xasprintf("rm -rf %s", root);
	assert_int_equal(system(remove), 0);
	free(remove);
	return found;
}

#define LOG                                                                    \
	"4,1,1000000,-;NVRM: Xid (PCI:0000:3b:00): 31, pid=7, name=train\n"    \
	"4,2,2000000,-;NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off\n"   \
	"4,3,2000001,-;NVRM: Xid (PCI:0000:3b:00): 31, pid=8, name=<script>\n" \
	"4,4,2000002,-;NVRM: Xid (PCI:0000:5e:00): 43, pid=9\n"                \
	"4,5,2000003,-;NVRM: Xid (PCI:0000:5e:00): no number\n"

static void each_gpu_has_its_own(void **state)
{
	struct found found = findings_of("/dev/kmsg", LOG);

	(void)state;
	assert_int_equal(found.count, 2);
	assert_int_equal(found.items[0].severity, SEVERITY_WARNING);
	assert_string_equal(found.items[0].device, "cuda:0");
	assert_string_equal(found.items[0].text,
			    "3 Xid errors in the kernel log: 31 (2 times), 79. Xid 79: the GPU has "
			    "fallen off "
			    "the bus. Drain and restart the node, reseat the GPU; return it if the "
			    "error comes back.");
	assert_int_equal(found.items[1].severity, SEVERITY_NOTE);
	assert_non_null(strstr(found.items[1].text, "1 Xid error in the kernel log: 43. "));
}

static void an_old_log_is_a_note_and_none_is_said(void **state)
{
	struct found found = findings_of("/var/log/kern.log", LOG);

	(void)state;
	assert_int_equal(found.items[0].severity, SEVERITY_NOTE);
	found = findings_of("/dev/kmsg", "6,1,1,-;NVRM: loading\n");
	assert_int_equal(found.items[0].severity, SEVERITY_OK);
	assert_string_equal(found.items[0].text, "no Xid error in the kernel log");
	found = findings_of(NULL, NULL);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.items[0].severity, SEVERITY_NOTE);
	assert_string_equal(found.items[0].device, "");
}

/* The worse one of any two, in any order. */
static void gravity_is_an_order(void **state)
{
	static const int64_t rising[] = { -1, 0, 45, 13, 4711, 74, 119, 48, 79 };

	(void)state;
	for (size_t i = 1; i < ARRAY_SIZE(rising); i++) {
		assert_int_equal(xid_worse(rising[i - 1], rising[i]), rising[i]);
		assert_int_equal(xid_worse(rising[i], rising[i - 1]), rising[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_gpu_has_its_own),
		cmocka_unit_test(an_old_log_is_a_note_and_none_is_said),
		cmocka_unit_test(gravity_is_an_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
