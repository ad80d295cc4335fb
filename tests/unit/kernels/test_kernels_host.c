/*
 * The checks of kernel_checks.h on the CPU: one share with all cores, and one with a third of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "kernel_checks.h"

/* Features that a CPU lacks, and may skip: nothing to choose from, narrow formats, tensor cores. */
static const char *const lacking[] = { "gemm_search", "gemm_fp8",   "gemm_narrow",
				       "gemm_tensor", "gemm_half2", "peak_tensor" };

static bool is_lacking(const char *name)
{
	for (size_t i = 0; i < sizeof(lacking) / sizeof(lacking[0]); i++)
		if (strcmp(name, lacking[i]) == 0)
			return true;
	return false;
}

static void run_all(int devices)
{
	struct backend_options options = { .host_devices = devices };
	struct backend_list list;
	struct device *device;
	struct error err = ERROR_NONE;

	kernel_checks_small = devices > 1; /* the largest shapes only once */
	backends_open(&list, "host", &options);
	assert_int_equal(list.count, 1);
	assert_int_equal(list.backends[0]->device_open(devices - 1, &device, &err), STATUS_OK);
	for (const struct kernel_check *check = kernel_checks; check->name; check++) {
		error_clear(&err);
		if (check->run(device, &err) !=
		    (is_lacking(check->name) ? STATUS_UNSUPPORTED : STATUS_OK))
			fail_msg("%s: %s: %s", check->name, status_name(err.status), err.message);
	}
	list.backends[0]->device_close(device);
	backends_close(&list);
}

static void every_kernel_agrees_with_its_reference(void **state)
{
	(void)state;
	run_all(1);
}

static void so_does_a_device_that_is_a_third_of_the_cpu(void **state)
{
	(void)state;
	run_all(3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kernel_agrees_with_its_reference),
		cmocka_unit_test(so_does_a_device_that_is_a_third_of_the_cpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
