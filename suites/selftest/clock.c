/* Checks the clocks with a kernel of known duration and an empty sample. */
#include <math.h>

#include "base/units.h"
#include "kernels/timing.h"
#include "suites/selftest/checks.h"

enum status selftest_spin(void *spinning, unsigned batch, struct error *err)
{
	const struct spinning *s = spinning;
	struct spin_arguments arguments = { s->seconds };
	enum status status = STATUS_OK;

	for (unsigned i = 0; i < batch && status == STATUS_OK; i++)
		status = backend_launch(s->t->stream, "spin", &arguments, err);
	return status;
}

static enum status spin_and_wait(void *spinning, unsigned batch, struct error *err)
{
	const struct spinning *s = spinning;

	if (selftest_spin(spinning, batch, err) != STATUS_OK)
		return err->status;
	return backend_stream_synchronize(s->t->stream, err);
}

static enum status selftest_clock_wrong_time(const char *clock, double took, double real,
					     double tolerance, struct error *err)
{
	char text[2][32];

	return error_set(err, STATUS_MISMATCH,
			 "a kernel of %s measured %s on the clock of the %s: %.2g %% off, "
			 "tolerance %.2g %%",
			 units_format(real, "s", text[0], sizeof(text[0])),
			 units_format(took, "s", text[1], sizeof(text[1])), clock,
			 100 * fabs(took / real - 1), 100 * tolerance);
}

/*
 * The kernel times itself; the device's events must agree, and the host must not see it end early.
 * The fastest sample counts, because other processes can only lengthen it.
 */
enum status selftest_clock(struct selftest *t, struct error *err)
{
	const struct section *section = t->run->c->section;
	double tolerance = section_real(section, "clock_tolerance");
	struct spinning s = { t, section_real(section, "duration") };
	struct workload w = { .state = &s,
			      .launch = selftest_spin,
			      .clock = CLOCK_DEVICE,
			      .streams = &t->stream,
			      .stream_count = 1,
			      .max_batch = 1 };
	const struct series *time;
	double took, error;

	if (run_sample(t->run, &w, "selftest.spin", &time, err) != STATUS_OK)
		return err->status;
	took = time->statistics.min;
	error = fabs(took / s.seconds - 1);
	run_value(t->run, "selftest.clock_error", error);
	if (!(error <= tolerance))
		return selftest_clock_wrong_time("device", took, s.seconds, tolerance, err);
	w.launch = spin_and_wait;
	w.clock = CLOCK_HOST;
	if (run_sample(t->run, &w, "selftest.spin_host", &time, err) != STATUS_OK)
		return err->status;
	took = time->statistics.min;
	run_value(t->run, "selftest.host_overhead", took - s.seconds);
	if (took < (1 - tolerance) * s.seconds)
		return selftest_clock_wrong_time("host", took, s.seconds, tolerance, err);
	run_verified(t->run, "a kernel that times itself, against events and the host clock", error,
		     tolerance);
	return STATUS_OK;
}

static enum status selftest_clock_launch_nothing(void *state, unsigned batch, struct error *err)
{
	(void)state;
	(void)batch;
	(void)err;
	return STATUS_OK;
}

enum status selftest_empty(struct selftest *t, struct error *err)
{
	double limit = section_real(t->run->c->section, "empty_limit");
	struct workload w = { .launch = selftest_clock_launch_nothing,
			      .clock = CLOCK_DEVICE,
			      .streams = &t->stream,
			      .stream_count = 1,
			      .max_batch = 1 };
	const struct series *time;
	char text[2][32];

	if (run_sample(t->run, &w, "selftest.empty", &time, err) != STATUS_OK)
		return err->status;
	run_duration(t->run, "selftest.empty_sample", time);
	if (!(time->statistics.median >= 0 && time->statistics.median <= limit))
		return error_set(err, STATUS_MISMATCH, "an empty sample takes %s, limit %s",
				 units_format(time->statistics.median, "s", text[0],
					      sizeof(text[0])),
				 units_format(limit, "s", text[1], sizeof(text[1])));
	run_verified(t->run, "against the limit", time->statistics.median, limit);
	return STATUS_OK;
}
