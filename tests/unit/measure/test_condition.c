/*
 * Counters of links are slow to read: what measure/telemetry/condition.h promises about how often
 * and what for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock.h"
#include "measure/telemetry/condition.h"
#include "scripted_clock.h"

#define READING_SECONDS 20e-3

static int64_t link_count;
static int readings;

static enum status count_links(struct device *device, int64_t *out, struct error *err)
{
	(void)device;
	(void)err;
	readings++;
	clock_sleep(READING_SECONDS);
	*out = link_count;
	return STATUS_OK;
}

static enum status condition_of(struct device *device, struct telemetry *out, struct error *err)
{
	(void)device;
	(void)err;
	telemetry_unknown(out);
	out->ecc_corrected = link_count;
	return STATUS_OK;
}

static const struct backend counting = { .abi = BACKEND_ABI,
					 .name = "counting",
					 .module = "test",
					 .telemetry = condition_of,
					 .link_errors = count_links };

static struct case_result carry_out(struct device *device, struct link_watch *watch,
				    struct link_poll *poll, int64_t errors)
{
	struct case_result result = { 0 };

	telemetry_during_unknown(&result.during);
	condition_before(device, &result);
	link_count += errors;
	condition_after(device, watch, poll, &result);
	return result;
}

static void links_are_read_now_and_then(void **state)
{
	struct device device = { .backend = &counting };
	struct link_watch watch = { 0 };
	struct link_poll poll = { 0 };
	struct case_result result;

	(void)state;
	link_count = 7;
	readings = 0;
	result = carry_out(&device, &watch, &poll, 1);
	assert_int_equal(result.after.nvlink_errors, 8);
	assert_int_equal(result.during.nvlink_errors, -1); /* since when? */
	assert_int_equal(result.during.ecc_corrected, 1);
	result = carry_out(&device, &watch, &poll, 2);
	assert_int_equal(readings, 1);
	assert_int_equal(result.after.nvlink_errors, -1);
	assert_int_equal(result.during.nvlink_errors, -1);
	while (clock_seconds() < poll.next)
		clock_sleep(READING_SECONDS);
	result = carry_out(&device, &watch, &poll, 3);
	assert_int_equal(result.after.nvlink_errors, 13);
	/* those of the case between are not lost */
	assert_int_equal(result.during.nvlink_errors, 5);
}

/* Eight devices must not cost eight times as much. */
static void devices_share_the_poll_interval(void **state)
{
	struct device devices[2] = { { .backend = &counting }, { .backend = &counting } };
	struct link_watch watches[2] = { { 0 } };
	struct link_poll poll = { 0 };

	(void)state;
	readings = 0;
	carry_out(&devices[0], &watches[0], &poll, 0);
	carry_out(&devices[1], &watches[1], &poll, 0);
	assert_int_equal(readings, 1);
}

static void no_device_no_condition(void **state)
{
	struct link_poll poll = { 0 };
	struct link_watch watch = { 0 };
	struct case_result result = carry_out(NULL, &watch, &poll, 1);

	(void)state;
	assert_int_equal(result.after.ecc_corrected, -1);
	assert_int_equal(result.during.ecc_corrected, -1);
	assert_int_equal(result.during.nvlink_errors, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(links_are_read_now_and_then),
		cmocka_unit_test(devices_share_the_poll_interval),
		cmocka_unit_test(no_device_no_condition),
	};

	atomic_store(&clock_scripted, true);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
