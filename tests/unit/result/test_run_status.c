/* DIR/status.json reads back as it was written; a run that is gone is told from one that is not. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "result/status/run_status.h"

static double power[] = { 600, NAN, 700 }, hottest[] = { 61, 75, 70 };
static struct time_quantity quantities[] = {
	{ .name = (char *)"power_watts", .mean = power, .mean_count = 3 },
	{ .name = (char *)"temperature_celsius", .highest = hottest, .highest_count = 3 },
};

/* One slice of a load on one device. */
static void add_slice(struct soak_rows *rows, const char *load, const char *slice, double rate,
		      uint64_t wrong)
{
	struct case_parameter parameters[] = {
		{ .name = (char *)"slice", .text = (char *)slice },
		{ .name = (char *)"load", .text = (char *)load },
	};
	struct watch watch = { .device = (char *)"cuda:3",
			       .rate = rate,
			       .verified_bytes = 4e9,
			       .wrong = wrong,
			       .quantities = quantities,
			       .quantity_count = 2 };
	struct case_result c = { .suite = (char *)"burn",
				 .label = (char *)"",
				 .parameters = parameters,
				 .parameter_count = 2,
				 .watches = &watch,
				 .watch_count = 1 };

	soak_rows_add(rows, &c);
}

/* Rates are compared within a load; what is not known is no number. */
static void a_device_has_a_row(void **state)
{
	struct soak_rows rows = { 0 };
	struct text out = TEXT_EMPTY;

	(void)state;
	soak_rows_print(&rows, &out);
	assert_int_equal(out.length, 0);
	add_slice(&rows, "fp32", "0001", 50e12, 0);
	add_slice(&rows, "memory", "0001", 4e12, 0);
	add_slice(&rows, "fp32", "0002", 49e12, 2);
	add_slice(&rows, "memory", "0002", NAN, 0);
	assert_int_equal(rows.count, 1);
	assert_float_equal(rows.items[0].rate_share, 0.98, 1e-9);
	assert_true(isnan(rows.items[0].sm_clock_hz));
	soak_rows_print(&rows, &out);
	assert_string_equal(out.data, "            vs first    power  hottest     clock throttled  "
				      "   Gwords    wrong\n"
				      "cuda:3        98.0 %    650 W    75 °C "
				      "        -         -      2.000        2\n");
	text_release(&out);
	soak_rows_release(&rows);
}

static void a_status_reads_back(void **state)
{
	char folder[] = "/tmp/gpuproof-status-XXXXXX", path[64];
	struct run_status written = { .state = "running",
				      .doing = "measuring",
				      .config = "soak.ini",
				      .planned = 12,
				      .ok = 3,
				      .seconds = 4.5,
				      .seconds_left = NAN,
				      .exit_code = -1 };
	struct run_status read;
	struct error err = ERROR_NONE;

	(void)state;
	assert_non_null(mkdtemp(folder));
	assert_int_equal(run_status_read(&read, folder, &err), STATUS_IO);
	run_status_release(&read);
	error_clear(&err);
	add_slice(&written.devices, "fp32", "0001", 50e12, 7);
	strcpy(written.current.id, "burn/0002/fp32@cuda:3");
	assert_int_equal(run_status_write(&written, folder, &err), STATUS_OK);
	assert_int_equal(run_status_read(&read, folder, &err), STATUS_OK);
	assert_string_equal(read.state, "running");
	assert_string_equal(read.current.id, "burn/0002/fp32@cuda:3");
	assert_int_equal(read.planned, 12);
	assert_int_equal(read.ok, 3);
	assert_int_equal(read.settled, read.ok + read.skipped + read.failed + read.errors);
	assert_true(isnan(read.seconds_left));
	assert_int_equal(read.exit_code, -1);
	assert_int_equal(read.devices.count, 1);
	assert_string_equal(read.devices.items[0].device, "cuda:3");
	assert_int_equal(read.devices.items[0].wrong, 7);
	run_status_release(&read);
	run_status_release(&written);
	snprintf(path, sizeof(path), "%s/" STATUS_NAME, folder);
	unlink(path);
	rmdir(folder);
}

/* On another machine the document's age tells, here the process. */
static void a_run_that_is_gone_is_lost(void **state)
{
	struct run_status s = { .state = "running",
				.hostname = "another-machine",
				.pid = 1,
				.updated = "2026-11-20T14:00:00Z" };
	double updated = 1795183200; /* seconds since 1970 */

	(void)state;
	assert_false(run_status_lost(&s, updated + STATUS_SILENCE_SECONDS - 1));
	assert_true(run_status_lost(&s, updated + STATUS_SILENCE_SECONDS + 1));
	gethostname(s.hostname, sizeof(s.hostname) - 1);
	s.pid = getpid();
	assert_false(run_status_lost(&s, updated + 1e6));
	s.pid = 0x7ffffffe; /* above every kernel's highest */
	assert_true(run_status_lost(&s, updated));
	strcpy(s.state, "complete");
	assert_false(run_status_lost(&s, updated + 1e6));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_device_has_a_row),
		cmocka_unit_test(a_status_reads_back),
		cmocka_unit_test(a_run_that_is_gone_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
