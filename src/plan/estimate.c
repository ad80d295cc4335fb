#include "plan/estimate.h"

#include <math.h>

#include "base/memory.h"
#include "base/units.h"

/*
 * The limit is a watchdog against hangs, not a budget: a case has several series, a slow device
 * needs its min_samples whatever max_time says, and a first call may load libraries and compile
 * kernels.
 */
#define LIMIT_FLOOR_SECONDS 30.0
#define LIMIT_MULTIPLE 20.0

/* A quiet case stops after about this multiple of min_samples. */
#define TYPICAL_SAMPLES 2.0

/* A series may take max_time, or longer if min_samples need it. */
static double plan_estimate_most_seconds(const struct section *section)
{
	double samples = (double)section_integer(section, "min_samples") +
			 (double)section_integer(section, "warmup");

	return fmax(section_real(section, "max_time"),
		    samples * section_real(section, "sample_time"));
}

/* Time of a series that converges after a typical number of samples. */
static double sampling_seconds(const struct section *section)
{
	double samples = TYPICAL_SAMPLES * (double)section_integer(section, "min_samples") +
			 (double)section_integer(section, "warmup");
	double seconds = samples * section_real(section, "sample_time");

	return fmin(seconds, plan_estimate_most_seconds(section)) +
	       section_real(section, "preheat") + 2 * section_real(section, "energy_time");
}

void plan_estimate(const struct plan *plan, struct plan_case *c)
{
	double given = section_real(config_section(plan->config, "run", ""), "case_limit");
	double derived =
		LIMIT_MULTIPLE *
		(c->setup_seconds + plan_estimate_most_seconds(c->section) +
		 section_real(c->section, "settle_time") + section_real(c->section, "preheat") +
		 2 * section_real(c->section, "energy_time"));

	double lasts = c->fixed_seconds > 0 ? c->fixed_seconds : sampling_seconds(c->section);

	c->estimate_seconds = c->skip_reason ? 0 : c->setup_seconds + lasts;
	c->limit_seconds = derived > LIMIT_FLOOR_SECONDS ? derived : LIMIT_FLOOR_SECONDS;
	c->limit_seconds += c->fixed_seconds + c->silent_seconds;
	if (given > 0)
		c->limit_seconds = given;
}

static char *too_much(uint64_t needed, const char *what, const char *owner, uint64_t total)
{
	char need[64], have[64];

	return xasprintf("needs %s of %s memory; %s has %s",
			 units_si((double)needed, "B", need, sizeof(need)), what, owner,
			 units_si((double)total, "B", have, sizeof(have)));
}

char *plan_memory_reason(const struct plan *plan, const struct plan_case *c)
{
	for (size_t i = 0; i < c->device_count; i++) {
		const struct device_info *device = &plan->devices[c->devices[i]];

		/* 0: unknown. Free memory is not used, because it changes until the case runs. */
		if (device->memory_bytes && c->device_bytes > device->memory_bytes)
			return too_much(c->device_bytes, "device", device->id,
					device->memory_bytes);
	}
	if (plan->host_bytes && c->host_bytes > plan->host_bytes)
		return too_much(c->host_bytes, "host", "the machine or container",
				plan->host_bytes);
	return NULL;
}
