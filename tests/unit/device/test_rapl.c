/* RAPL counters of a machine that is a folder: packages, their memory, overflow, no permission. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/memory.h"
#include "device/host/sensors/rapl.h"

static char folder[64];

static void put(const char *zone, const char *file, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, zone);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/%s/%s", folder, zone, file);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void put_zone(const char *zone, const char *name, const char *uj)
{
	put(zone, "name", name);
	put(zone, "energy_uj", uj);
	put(zone, "max_energy_range_uj", "1000000000\n");
}

static int make_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/test_rapl.XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[96];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

static void packages_and_memory_count_once(void **state)
{
	struct error err = ERROR_NONE;
	struct energy energy;
	struct rapl rapl;

	(void)state;
	put_zone("intel-rapl:0", "package-0\n", "1000000\n");
	put_zone("intel-rapl:0/intel-rapl:0:0", "core\n", "500000\n");
	put_zone("intel-rapl:0/intel-rapl:0:1", "dram\n", "200000\n");
	put_zone("intel-rapl:1", "package-1\n", "999000000\n");
	put_zone("intel-rapl:2", "psys\n", "7\n");
	put_zone("intel-rapl-mmio:0", "package-0\n", "1000000\n");
	assert_int_equal(rapl_open(&rapl, folder, &err), STATUS_OK);
	assert_int_equal(rapl.packages, 2);
	assert_int_equal(rapl.count, 3);
	assert_int_equal(rapl_read(&rapl, &energy, &err), STATUS_OK);
	assert_true(energy.joules == 0);
	put("intel-rapl:0", "energy_uj", "3000000\n");                /* 2 J */
	put("intel-rapl:0/intel-rapl:0:0", "energy_uj", "2500000\n"); /* part of the package */
	put("intel-rapl:0/intel-rapl:0:1", "energy_uj", "700000\n");  /* 0.5 J */
	put("intel-rapl:1", "energy_uj", "2000000\n");                /* began anew: 3 J */
	put("intel-rapl:2", "energy_uj", "90000000\n");
	assert_int_equal(rapl_read(&rapl, &energy, &err), STATUS_OK);
	assert_float_equal(energy.joules, 5.5, 1e-9);
	assert_true(energy.update_seconds > 0);
	assert_non_null(strstr(energy.source, "2 packages and memory"));
}

static void without_a_counter_the_reason_names_the_file(void **state)
{
	struct error err = ERROR_NONE, none = ERROR_NONE;
	struct rapl rapl;
	char path[128];

	(void)state;
	assert_int_equal(rapl_open(&rapl, folder, &none), STATUS_UNSUPPORTED);
	assert_non_null(strstr(none.message, "has no RAPL package"));
	put("intel-rapl:0", "name", "package-0\n");
	assert_int_equal(rapl_open(&rapl, folder, &err), STATUS_UNSUPPORTED);
	snprintf(path, sizeof(path), "%s/intel-rapl:0/energy_uj", folder);
	assert_non_null(strstr(err.message, path));
}

static void a_counter_that_is_no_number_is_no_energy(void **state)
{
	struct error err = ERROR_NONE;
	struct energy energy;
	struct rapl rapl;

	(void)state;
	put_zone("intel-rapl:0", "package-0\n", "5\n");
	assert_int_equal(rapl_open(&rapl, folder, &err), STATUS_OK);
	put("intel-rapl:0", "energy_uj", "none\n");
	assert_int_equal(rapl_read(&rapl, &energy, &err), STATUS_UNSUPPORTED);
	assert_non_null(strstr(err.message, "energy_uj: not a number"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(packages_and_memory_count_once, make_folder,
						remove_folder),
		cmocka_unit_test_setup_teardown(without_a_counter_the_reason_names_the_file,
						make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(a_counter_that_is_no_number_is_no_energy,
						make_folder, remove_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
