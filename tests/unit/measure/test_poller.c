/*
 * Poller of a device: what `look` needs of the device, and that nothing is called once it is off.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock.h"
#include "measure/telemetry/poller.h"

static atomic_int looks, readings;

static enum status fail_to_read(struct device *device, struct telemetry *out, struct error *err)
{
	(void)device;
	(void)out;
	readings++;
	return error_set(err, STATUS_UNSUPPORTED, "power cannot be read");
}

static const struct backend blind = { .abi = BACKEND_ABI, .name = "blind", .module = "test" };
static const struct backend failing = {
	.abi = BACKEND_ABI, .name = "failing", .module = "test", .telemetry_quick = fail_to_read
};

static void look(void *context)
{
	(void)context;
	looks++;
}

static void add(void *context, const struct telemetry *reading)
{
	(void)context;
	(void)reading;
	fail();
}

/* The first look is at once; for the others any time will do. */
static void wait_for_looks(int count)
{
	while (looks < count)
		clock_sleep(1e-3);
}

static void looks_need_no_reading(const struct backend *backend)
{
	const struct telemetry_poller_options options = { .interval_seconds = 1e-3, .look = look };
	struct device device = { .backend = backend };
	struct telemetry_poller *p = telemetry_poller_open(&device, &options);
	int seen;

	assert_non_null(p);
	looks = readings = 0;
	telemetry_poller_switch(p, true);
	wait_for_looks(3);
	telemetry_poller_switch(p, false);
	seen = looks;
	clock_sleep(0.01);
	assert_int_equal(looks, seen);
	telemetry_poller_switch(p, true);
	wait_for_looks(seen + 1);
	telemetry_poller_close(p);
	assert_int_equal(readings, 0);
}

static void a_device_without_quick_telemetry_is_looked_at(void **state)
{
	(void)state;
	looks_need_no_reading(&blind);
}

static void looks_do_not_read_power(void **state)
{
	(void)state;
	looks_need_no_reading(&failing);
}

static void failed_readings_are_not_passed_on(void **state)
{
	const struct telemetry_poller_options options = { .interval_seconds = 1e-3, .add = add };
	struct device device = { .backend = &blind };
	struct telemetry_poller *p;

	(void)state;
	assert_null(telemetry_poller_open(&device, &options));
	device.backend = &failing;
	readings = 0;
	p = telemetry_poller_open(&device, &options);
	telemetry_poller_switch(p, true);
	while (readings < 3)
		clock_sleep(1e-3);
	telemetry_poller_close(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_device_without_quick_telemetry_is_looked_at),
		cmocka_unit_test(looks_do_not_read_power),
		cmocka_unit_test(failed_readings_are_not_passed_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
