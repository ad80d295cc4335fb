#include "plan/sampling_rules.h"

#include "plan/config.h"

const struct key sampling_keys[] = {
	{ .name = "min_samples",
	  .type = KEY_INTEGER,
	  .fallback = "10",
	  .min = 1,
	  .max = 1e6,
	  .help = "minimum number of samples per series" },
	{ .name = "max_samples",
	  .type = KEY_INTEGER,
	  .fallback = "200",
	  .min = 1,
	  .max = 1e6,
	  .help = "maximum number of samples per series" },
	{ .name = "target",
	  .type = KEY_PERCENT,
	  .fallback = "0.5 %",
	  .min = 1e-5,
	  .max = 1,
	  .help = "stop when the half-width of the 95 % interval of the median is this small" },
	{ .name = "max_time",
	  .type = KEY_DURATION,
	  .fallback = "500 ms",
	  .min = 1e-6,
	  .max = 3600,
	  .help = "sampling time per series; min_samples are always taken" },
	{ .name = "settle_time",
	  .type = KEY_DURATION,
	  .fallback = "500 ms",
	  .min = 0,
	  .max = 3600,
	  .help = "extra time for a series that still drifts at max_time; its first half is then "
		  "discarded as warm-up. A series that drifts even after that is not settled" },
	{ .name = "sample_time",
	  .type = KEY_DURATION,
	  .fallback = "1 ms",
	  .min = 1e-6,
	  .max = 10,
	  .help = "minimum duration of a sample; short operations are batched to reach it" },
	{ .name = "warmup",
	  .type = KEY_INTEGER,
	  .fallback = "2",
	  .min = 0,
	  .max = 1e6,
	  .help = "number of untimed samples before the first timed one" },
	{ .name = "preheat",
	  .type = KEY_DURATION,
	  .fallback = "0s",
	  .min = 0,
	  .max = 3600,
	  .help = "untimed load after warm-up, until a power-limited clock is stable" },
	{ .name = "energy_time",
	  .type = KEY_DURATION,
	  .fallback = "0s",
	  .min = 0,
	  .max = 3600,
	  .help = "time under load after the samples, to read the energy counter; then the same "
		  "time at rest, whose second half gives the idle power. A GPU needs 0.6s (1.2s "
		  "for the idle power), a CPU 50ms; 0s: no energy" },
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
