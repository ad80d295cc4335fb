/*
 * Metrics recorded by run_energy(), as rows of a suite's table, and their presentation on pages:
 * next to the time and, least energy and fastest, as bars.
 */
#ifndef GPUPROOF_SUITES_SHARED_ENERGY_H
#define GPUPROOF_SUITES_SHARED_ENERGY_H

/*
 * `operation`: what an operation is; `efficiency`, `unit` and `gain`: "flops_per_joule", "FLOP/J",
 * ...
 */
#define ENERGY_METRICS(suite, operation, efficiency, unit, gain)                              \
	{ suite "." efficiency, unit, BETTER_HIGHER, 0, gain, METRIC_OTHER },                 \
		{ suite ".energy",                                                            \
		  "J",                                                                        \
		  BETTER_LOWER,                                                               \
		  0,                                                                          \
		  operation ", of all devices together, including idle power",                \
		  METRIC_OTHER },                                                             \
		{ suite ".power",                                                             \
		  "W",                                                                        \
		  BETTER_NONE,                                                                \
		  0,                                                                          \
		  "mean power of all devices together over the energy window",                \
		  METRIC_OTHER },                                                             \
	{                                                                                     \
		suite ".idle_power", "W", BETTER_LOWER, 0,                                    \
			"power of the same devices without work, contexts open", METRIC_OTHER \
	}

/* Table of energy with time; one row for each case with an energy measurement. */
#define ENERGY_TABLE(suite, time, efficiency)                                                  \
	{                                                                                      \
		.title = "Energy",                                                             \
		.columns = { suite ".energy", suite "." time, suite "." efficiency,            \
			     suite ".power", suite ".idle_power" },                            \
		.note = "The intervals follow from the update interval of the energy counter." \
	}

#endif
