#include "plan/sampling_rules.h"

#include "plan/config.h"

const struct key sampling_keys[] = {
	{ .name = "min_samples",
	  .type = KEY_INTEGER,
	  .fallback = "10",
	  .min = 1,
	  .max = 1e6,
	  .help = "samples before the stop rule may end a series" },
	{ .name = "max_samples",
	  .type = KEY_INTEGER,
	  .fallback = "200",
	  .min = 1,
	  .max = 1e6,
	  .help = "samples at which a series ends whatever its interval" },
	{ .name = "target",
	  .type = KEY_PERCENT,
	  .fallback = "0.5 %",
	  .min = 1e-5,
	  .max = 1,
	  .help = "half width of the median's 95 % interval at which a series is done" },
	{ .name = "max_time",
	  .type = KEY_DURATION,
	  .fallback = "500 ms",
	  .min = 1e-6,
	  .max = 3600,
	  .help = "sampling time of one series; min_samples are taken in any case" },
	{ .name = "settle_time",
	  .type = KEY_DURATION,
	  .fallback = "500 ms",
	  .min = 0,
	  .max = 3600,
	  .help = "time beyond max_time for a series whose level still drifts; its first half is "
		  "warm-up then. What drifts after that is not settled" },
	{ .name = "sample_time",
	  .type = KEY_DURATION,
	  .fallback = "1 ms",
	  .min = 1e-6,
	  .max = 10,
	  .help = "least duration of one sample; short operations are batched to reach it" },
	{ .name = "warmup",
	  .type = KEY_INTEGER,
	  .fallback = "2",
	  .min = 0,
	  .max = 1e6,
	  .help = "untimed samples before the first that counts" },
	{ .name = "preheat",
	  .type = KEY_DURATION,
	  .fallback = "0s",
	  .min = 0,
	  .max = 3600,
	  .help = "then untimed work for so long: where power limits the clock, figures before "
		  "that are a matter of chance" },
	{ .name = "energy_time",
	  .type = KEY_DURATION,
	  .fallback = "0s",
	  .min = 0,
	  .max = 3600,
	  .help = "after the samples, work for so long while the energy counter is read, then rest "
		  "for so long, of which the second half gives the idle power; a GPU's counter "
		  "needs 0.6s, with the idle power 1.2s, a CPU's 50ms; 0s: no energy" },
	{ 0 },
};

struct sampling sampling_from(const struct section *section)
{
	struct sampling s = {
		.min_samples = section_integer(section, "min_samples"),
		.max_samples = section_integer(section, "max_samples"),
		.target = section_real(section, "target"),
		.max_seconds = section_real(section, "max_time"),
		.settle_seconds = section_real(section, "settle_time"),
		.sample_seconds = section_real(section, "sample_time"),
		.warmup = section_integer(section, "warmup"),
		.preheat_seconds = section_real(section, "preheat"),
		.energy_seconds = section_real(section, "energy_time"),
	};

	if (s.max_samples < s.min_samples)
		s.max_samples = s.min_samples;
	return s;
}
