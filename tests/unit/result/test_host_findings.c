/* Findings of doctor about hosts: each trouble is named with what to do about it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/memory.h"
#include "result/host/host_findings.h"

struct findings {
	struct finding items[64];
	size_t count;
};

static void collect(void *context, const struct finding *finding)
{
	struct findings *findings = context;

	assert_true(findings->count < ARRAY_SIZE(findings->items));
	findings->items[findings->count++] = *finding;
}

static void says(const struct findings *findings, const char *subject, enum severity severity,
		 const char *text)
{
	for (size_t i = 0; i < findings->count; i++) {
		if (strcmp(findings->items[i].subject, subject) != 0)
			continue;
		assert_int_equal(findings->items[i].severity, severity);
		assert_non_null(strstr(findings->items[i].text, text));
		return;
	}
	fail_msg("nothing is said about %s", subject);
}

static bool mentions(const struct findings *findings, const char *subject)
{
	for (size_t i = 0; i < findings->count; i++)
		if (strcmp(findings->items[i].subject, subject) == 0)
			return true;
	return false;
}

static void a_machine_without_a_gpu_is_no_error(void **state)
{
	struct findings findings = { .count = 0 };

	(void)state;
	host_findings("/nonexistent", ".", collect, &findings);
	says(&findings, "driver", SEVERITY_NOTE, "gpuproof can measure only the CPU");
	assert_false(mentions(&findings, "device nodes"));
	for (size_t i = 0; i < findings.count; i++)
		assert_int_not_equal(findings.items[i].severity, SEVERITY_ERROR);
}

static void a_gpu_without_its_driver(void **state)
{
	struct findings findings = { .count = 0 };

	(void)state;
	host_findings(TESTS_DIR "/environment/no_driver", "/nonexistent", collect, &findings);
	says(&findings, "driver", SEVERITY_ERROR, "1 NVIDIA GPU is on the PCI bus");
	says(&findings, "disk space", SEVERITY_WARNING, "No such file or directory");
}

static void a_container_without_device_nodes(void **state)
{
	struct findings findings = { .count = 0 };

	(void)state;
	host_findings(TESTS_DIR "/environment/two_sockets", ".", collect, &findings);
	says(&findings, "driver", SEVERITY_OK, "580.95.05");
	says(&findings, "device nodes", SEVERITY_ERROR, "--gpus all");
	says(&findings, "cpu governor", SEVERITY_WARNING, "powersave");
	says(&findings, "numa", SEVERITY_NOTE, "numa_balancing");
	says(&findings, "memory", SEVERITY_WARNING, "only 512.0 MB available");
	says(&findings, "load", SEVERITY_WARNING, "4096.0 on");
}

static void devices_with_a_narrow_link(void **state)
{
	const struct device_info narrow = { .id = "cuda:0",
					    .pcie_generation = 4,
					    .pcie_generation_max = 5,
					    .pcie_width = 8,
					    .pcie_width_max = 16,
					    .ecc = 0,
					    .numa_node = -1 };
	const struct device_info idle = { .id = "cuda:1",
					  .pcie_generation = 1,
					  .pcie_generation_max = 5,
					  .pcie_width = 16,
					  .pcie_width_max = 16,
					  .ecc = 1,
					  .numa_node = 1 };
	const struct device_info share = { .id = "host:0", .ecc = -1, .numa_node = -1 };
	struct findings findings = { .count = 0 };

	(void)state;
	host_findings_of_device(&narrow, collect, &findings);
	host_findings_of_device(&idle, collect, &findings);
	says(&findings, "pcie cuda:0", SEVERITY_WARNING, "x8 of x16");
	says(&findings, "ecc cuda:0", SEVERITY_NOTE, "off");
	assert_false(mentions(&findings, "numa cuda:0"));
	says(&findings, "pcie cuda:1", SEVERITY_NOTE, "an idle link lowers its generation");
	says(&findings, "numa cuda:1", SEVERITY_OK, "node 1");
	findings.count = 0;
	host_findings_of_device(&share, collect, &findings);
	assert_int_equal(findings.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_machine_without_a_gpu_is_no_error),
		cmocka_unit_test(a_gpu_without_its_driver),
		cmocka_unit_test(a_container_without_device_nodes),
		cmocka_unit_test(devices_with_a_narrow_link),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
