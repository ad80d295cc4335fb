/*
 * The keys of [run], [report] and every [suite]; a suite's own are in the suite's file, the sampling
 * keys in measure/.
 */
#include "plan/schema.h"

const struct key run_keys[] = {
	{ .name = "backend", .type = KEY_TEXT, .fallback = "auto",
	  .help = "what drives the devices: auto (GPUs, else the CPU), cuda, host" },
	{ .name = "devices", .type = KEY_TEXT, .list = true, .fallback = "all",
	  .help = "all, or indices (0, 1) or ids (cuda:0, host:1)" },
	{ .name = "host_devices", .type = KEY_INTEGER, .fallback = "1", .min = 1, .max = 64,
	  .help = "devices of the host backend, each an equal share of the cores" },
	{ .name = "suites", .type = KEY_TEXT, .list = true, .fallback = "all",
	  .help = "all, or those of the config's suites that run" },
	{ .name = "seed", .type = KEY_INTEGER, .fallback = "1",
	  .help = "of all generated data: the same seed, the same data" },
	{ .name = "label", .type = KEY_TEXT, .fallback = "",
	  .help = "a name for this run, shown in the report" },
	{ .name = "case_limit", .type = KEY_DURATION, .fallback = "0s", .min = 0, .max = 86400,
	  .help = "a case that takes longer is killed; 0s: derived from the sampling keys" },
	{ 0 }
};

const struct key suite_keys[] = {
	{ .name = "backend", .type = KEY_TEXT, .fallback = "any",
	  .help = "any, or the backend (cuda, host) on whose devices alone this section runs" },
	{ 0 }
};

const struct key report_keys[] = {
	{ .name = "title", .type = KEY_TEXT, .fallback = "",
	  .help = "title of the page; empty: derived from the run" },
	{ 0 }
};
