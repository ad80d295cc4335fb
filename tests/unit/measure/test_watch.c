/*
 * A device watched for a while: honest extremes and means per interval, counters handed over, and
 * what is unknown left out.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/memory.h"
#include "measure/telemetry/watch.h"

static _Atomic unsigned readings; /* the watch has a thread of its own */

/* Power goes 100, 200, ..., 400 W and again; the temperature is unknown. */
static enum status scripted(struct device *device, struct telemetry *out, struct error *err)
{
	(void)device;
	(void)err;
	telemetry_unknown(out);
	out->power_watts = 100 * (1 + readings % 4);
	out->sm_clock_hz = 1e9;
	out->throttle_reasons = readings % 4 == 3 ? 0x44 : 0x1;
	readings++;
	return STATUS_OK;
}

static struct backend backend = { .telemetry_quick = scripted };
static struct device device = { .backend = &backend, .info = { .id = "cuda:3", .uuid = "GPU-3" } };

static const struct time_quantity *quantity(const struct watch *w, const char *name)
{
	for (size_t i = 0; i < w->quantity_count; i++)
		if (strcmp(w->quantities[i].name, name) == 0)
			return &w->quantities[i];
	return NULL;
}

static void hand_over(struct watch_recorder *r, int64_t errors)
{
	struct telemetry t;

	telemetry_unknown(&t);
	t.ecc_corrected = errors;
	telemetry_watch_hand_over(r, &t);
}

static void extremes_and_means_are_kept(void **state)
{
	const struct time_quantity *power, *ecc, *throttled, *reasons;
	struct watch_recorder *r;
	struct watch w;

	(void)state;
	readings = 0;
	r = telemetry_watch_begin(&device, 1e-3, 10);
	hand_over(r, 5);
	for (double end = clock_seconds() + 20; readings < 41 && clock_seconds() < end;)
		clock_sleep(1e-3);
	hand_over(r, 7);
	telemetry_watch_end(r, &w);
	assert_string_equal(w.device, "cuda:3");
	assert_string_equal(w.uuid, "GPU-3");
	assert_true(w.readings >= 40);
	power = quantity(&w, "power_watts");
	assert_non_null(power);
	assert_true(power->mean_count >= 1);
	assert_int_equal(power->lowest_count, power->mean_count);
	assert_float_equal(power->lowest[0], 100, 0);
	assert_float_equal(power->highest[0], 400, 0);
	assert_float_equal(power->mean[0], 250, 15);
	throttled = quantity(&w, "throttled");
	assert_float_equal(throttled->mean[0], 0.25, 0.03);
	assert_int_equal(throttled->lowest_count, 0);
	reasons = quantity(&w, "throttle_reasons");
	assert_float_equal(reasons->highest[0], 0x45, 0);
	assert_int_equal(reasons->mean_count, 0);
	ecc = quantity(&w, "ecc_corrected");
	assert_float_equal(ecc->highest[0], 7, 0);
	assert_null(quantity(&w, "temperature_celsius"));
	assert_null(quantity(&w, "xid_errors"));
	watch_release(&w);
}

/* Intervals are as long as they say; one without a reading is unknown, not zero. */
static void intervals_have_their_length(void **state)
{
	const struct time_quantity *ecc;
	struct watch_recorder *r;
	struct watch w;

	(void)state;
	r = telemetry_watch_begin(&device, 0, 0.02);
	hand_over(r, 1);
	clock_sleep(0.07);
	hand_over(r, 4);
	telemetry_watch_end(r, &w);
	assert_int_equal(w.readings, 0);
	ecc = quantity(&w, "ecc_corrected");
	assert_true(ecc->highest_count >= 4);
	assert_float_equal(ecc->highest[0], 1, 0);
	assert_true(isnan(ecc->highest[1]));
	assert_float_equal(ecc->highest[ecc->highest_count - 1], 4, 0);
	assert_null(quantity(&w, "power_watts"));
	watch_release(&w);
}

static void nothing_to_watch_is_nothing(void **state)
{
	struct watch w;

	(void)state;
	telemetry_watch_end(NULL, &w);
	assert_int_equal(w.quantity_count, 0);
	watch_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(extremes_and_means_are_kept),
		cmocka_unit_test(intervals_have_their_length),
		cmocka_unit_test(nothing_to_watch_is_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
