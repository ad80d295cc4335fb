/*
 * Energy of a known duty cycle: a device that works for a part of the time uses idle + part * (busy
 * - idle), and a counter must agree with mean power * time.
 */
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/units.h"
#include "kernels/timing.h"
#include "measure/telemetry/energy_meter.h"
#include "measure/telemetry/poller.h"
#include "suites/selftest/selftest.h"
#include "suites/shared/buffers.h"

#define BYTES (64u << 20)
/*
 * Period of pulse and pause. It does not divide 100 ms, the period of sensors that sample only a
 * part of the time, so that they see all parts of the period equally.
 */
#define PERIOD_SECONDS 0.037
#define READING_SECONDS 0.02
/*
 * Leakage grows with temperature, and temperature with work: with less work first, each part is as
 * warm as its own work makes it.
 */
static const double parts[] = { 0, 0.25, 0.5, 0.75, 1 };
enum { IDLE, PARTS, BUSY = 4, CYCLES };

struct power_readings {
	double sum, least, most; /* of power, in W */
	double window;           /* longest averaging time of a reading, in s */
	size_t count;
};

/* A measured duty cycle. */
struct cycle {
	double part; /* share of the time in which the device worked */
	struct energy_window energy;
	struct power_readings power;
};

struct duty {
	struct selftest *t;
	struct buffer buffer;
	double each; /* seconds per pass over the buffer */
	double window, tolerance;
	struct cycle cycles[CYCLES];
};

uint64_t selftest_energy_bytes(void)
{
	return BYTES;
}

double selftest_energy_seconds(const struct section *section)
{
	return CYCLES * 1.5 * section_real(section, "energy_window") + 1;
}

static void selftest_energy_duty_add_reading(void *context, const struct telemetry *t)
{
	struct power_readings *r = context;

	if (isnan(t->power_watts))
		return;
	r->least = r->count ? fmin(r->least, t->power_watts) : t->power_watts;
	r->most = r->count ? fmax(r->most, t->power_watts) : t->power_watts;
	r->window = fmax(r->window, telemetry_power_window(t));
	r->sum += t->power_watts;
	r->count++;
}

/* Without passes, only a launch, so that the device is as awake as between two pulses. */
static enum status selftest_energy_duty_pulse(struct duty *d, unsigned passes, double *seconds,
					      struct error *err)
{
	static const struct empty_arguments nothing;
	double began = clock_seconds();
	enum status status = STATUS_OK;

	if (passes == 0)
		status = backend_launch(d->t->stream, "empty", &nothing, err);
	for (unsigned i = 0; i < passes && status == STATUS_OK; i++)
		status = backend_memory_set(d->t->stream, d->buffer.memory, (int)(i % 2) * 0xff,
					    BYTES, err);
	if (status == STATUS_OK)
		status = backend_stream_synchronize(d->t->stream, err);
	*seconds = passes ? clock_seconds() - began : 0;
	return status;
}

/* Works for `part` of each period, for `seconds`; adds the working time to `busy`. */
static enum status selftest_energy_duty_work(struct duty *d, double part, double seconds,
					     double *busy, struct error *err)
{
	const volatile sig_atomic_t *stop = d->t->run->sampler.stop;
	unsigned passes = part > 0 ? (unsigned)fmax(1, round(part * PERIOD_SECONDS / d->each)) : 0;
	double end = clock_seconds() + seconds, pulsed, pause;

	while (clock_seconds() < end) {
		if (stop && *stop)
			return error_set(err, STATUS_INTERRUPTED, "interrupted");
		if (selftest_energy_duty_pulse(d, passes, &pulsed, err) != STATUS_OK)
			return err->status;
		pause = part > 0 ? pulsed / part - pulsed : PERIOD_SECONDS;
		if (pause > 0)
			clock_sleep(pause);
		*busy += pulsed;
	}
	return STATUS_OK;
}

/* Runs after half a window of the same load, in which power and readings settle. */
static enum status selftest_energy_duty_measure_cycle(struct duty *d, double part, struct cycle *c,
						      struct error *err)
{
	const struct telemetry_poller_options options = { .interval_seconds = READING_SECONDS,
							  .add = selftest_energy_duty_add_reading,
							  .context = &c->power };
	struct telemetry_poller *poller;
	struct energy_meter *meter;
	double busy = 0, uncounted = 0;
	enum status status = selftest_energy_duty_work(d, part, d->window / 2, &busy, err);

	if (status != STATUS_OK)
		return status;
	poller = telemetry_poller_open(d->t->device, &options);
	meter = energy_meter_begin(&d->t->device, 1);
	telemetry_poller_switch(poller, true);
	busy = 0;
	status = selftest_energy_duty_work(d, part, d->window, &busy, err);
	telemetry_poller_switch(poller, false);
	energy_meter_read(meter);
	if (status == STATUS_OK)
		status = selftest_energy_duty_work(d, part, energy_meter_after_seconds(meter),
						   &uncounted, err);
	energy_meter_end(meter, NULL, &c->energy);
	telemetry_poller_close(poller);
	c->part = busy / c->energy.seconds;
	if (status == STATUS_OK && !(c->energy.joules > 0))
		return error_set(err, STATUS_UNSUPPORTED, "%s", c->energy.why);
	return status;
}

struct worst {
	double error, tolerance;
	bool wrong;
};

/* Relative to `right`; keeps the error nearest to its tolerance. */
static void selftest_energy_duty_keep_worst_error(struct worst *w, double value, double right,
						  double allowed)
{
	double error = fabs(value / right - 1), tolerance = allowed / right;

	if (!(w->error * tolerance > error * w->tolerance))
		*w = (struct worst){ error, tolerance, !(error <= tolerance) };
}

static enum status selftest_energy_hold_cycles(const struct duty *d, struct worst *worst,
					       struct error *err)
{
	double allowed;

	for (int i = PARTS; i < BUSY; i++) {
		const struct cycle *c = &d->cycles[i];
		const struct energy_window *idle = &d->cycles[IDLE].energy,
					   *busy = &d->cycles[BUSY].energy;
		double part = c->part / d->cycles[BUSY].part;
		double right = idle->watts + part * (busy->watts - idle->watts);

		/*
		 * Expected power of a cycle from those without work and with work only, and the
		 * tolerance.
		 */
		allowed = d->tolerance * right + (1 - part) * idle->error * idle->watts +
			  part * busy->error * busy->watts + c->energy.error * c->energy.watts;
		/* A tolerance that hides the power of the work would check nothing. */
		if (!(allowed < c->part * (busy->watts - idle->watts)))
			return error_set(
				err, STATUS_UNSUPPORTED,
				"%.4g W under load and %.4g W at rest: the counter cannot be "
				"tested, because the difference over %.0f %% of the time is "
				"less than the %.3g W of uncertainty of %s",
				busy->watts, idle->watts, 100 * c->part, allowed, c->energy.source);
		run_note(d->t->run,
			 "Load for %.1f %% of %.2f s: measured %.1f W; expected from idle and busy "
			 "power: %.1f ± %.1f W.",
			 100 * c->part, c->energy.seconds, c->energy.watts, right, allowed);
		selftest_energy_duty_keep_worst_error(worst, c->energy.watts, right, allowed);
	}
	return STATUS_OK;
}

/*
 * False: no counter, or no power readings. The mean of pulsed power is uncertain by one reading: a
 * sensor that samples every 0.1 s sees 12 moments in 1.2 s, not the same part of each period.
 */
static bool selftest_energy_duty_hold_power(const struct duty *d, struct worst *worst)
{
	double mean, open;

	for (int i = 0; i < CYCLES; i++) {
		const struct cycle *c = &d->cycles[i];

		if (!c->energy.counted || c->power.count == 0)
			return false;
		mean = c->power.sum / (double)c->power.count;
		open = (c->power.most - c->power.least) * fmin(1, c->power.window / d->window);
		selftest_energy_duty_keep_worst_error(worst, c->energy.watts, mean,
						      d->tolerance * mean +
							      c->energy.error * c->energy.watts +
							      open);
	}
	return true;
}

static enum status selftest_energy_duty_judge(struct duty *d, struct error *err)
{
	struct run *run = d->t->run;
	struct worst duty = { 0 }, power = { 0 };
	const char *source = d->cycles[BUSY].energy.source;
	bool compared;

	if (selftest_energy_hold_cycles(d, &duty, err) != STATUS_OK)
		return err->status;
	compared = selftest_energy_duty_hold_power(d, &power);
	run_value(run, "selftest.energy_error", duty.error);
	run_value(run, "selftest.idle_power", d->cycles[IDLE].energy.watts);
	run_value(run, "selftest.busy_power", d->cycles[BUSY].energy.watts);
	if (compared)
		run_value(run, "selftest.power_error", power.error);
	else
		run_note(run, "Not compared with mean power: the device has no %s.",
			 d->cycles[BUSY].energy.counted ? "power reading" : "energy counter");
	if (duty.wrong)
		return error_set(err, STATUS_MISMATCH,
				 "%s differs by %.3g %% from the energy of the duty cycle; "
				 "tolerance %.3g %%",
				 source, 100 * duty.error, 100 * duty.tolerance);
	if (power.wrong)
		return error_set(err, STATUS_MISMATCH,
				 "%s differs by %.3g %% from mean power x time; tolerance %.3g %%",
				 source, 100 * power.error, 100 * power.tolerance);
	run_verified(run,
		     compared ? "energy of a load that runs 25, 50 and 75 % of the time, against "
				"idle and busy power and mean power"
			      : "energy of a load that runs 25, 50 and 75 % of the time, against "
				"idle and busy power",
		     duty.error, duty.tolerance);
	return STATUS_OK;
}

enum status selftest_energy(struct selftest *t, struct error *err)
{
	const struct section *section = t->run->c->section;
	struct duty d = { .t = t,
			  .window = section_real(section, "energy_window"),
			  .tolerance = section_real(section, "energy_tolerance") };
	enum status status = buffer_alloc(&d.buffer, t->device, ALLOCATOR_DEVICE, BYTES, err);
	double seconds = 0;

	/* Time of one pass over the memory. */
	for (unsigned passes = 1; status == STATUS_OK && seconds < PERIOD_SECONDS / 2;
	     passes *= 2) {
		status = selftest_energy_duty_pulse(&d, passes, &seconds, err);
		if (status == STATUS_OK && passes > 1u << 20)
			status = error_set(err, STATUS_MISMATCH,
					   "a kernel that writes memory takes no measurable time");
		d.each = seconds / passes;
	}
	for (int i = 0; i < CYCLES && status == STATUS_OK; i++)
		status = selftest_energy_duty_measure_cycle(&d, parts[i], &d.cycles[i], err);
	if (status == STATUS_OK)
		status = selftest_energy_duty_judge(&d, err);
	backend_stream_synchronize(t->stream, NULL);
	buffer_free(&d.buffer);
	return status;
}
