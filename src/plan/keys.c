/*
 * Keys of [run], [fleet], [limit] and every [suite], those of sampling among them. A suite's own
 * keys are in the suite's file.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "device/device_set.h"
#include "plan/sampling_rules.h"
#include "plan/schema.h"

/* Architectures in module cuda11. */
static const char *const capabilities[] = { "none", "3.5", "3.7", "5.2", "6.0", "6.1",
					    "7.0",  "7.5", "8.0", "8.6", "9.0", NULL };

/* After the first one, in the order of enum aspect (result/aspect.h). */
static const char *const verdicts[] = { "limits", "trend", NULL };
static const char *const promises[] = { "auto",        "memory",    "link", "gemm",
					"correctness", "condition", NULL };

const struct key run_keys[] = {
	{ .name = "backend",
	  .type = KEY_TEXT,
	  .fallback = "auto",
	  .help = "backend of the devices: auto (GPUs, else the CPU), cuda, host, or a module of "
		  "cuda: cuda13, cuda11" },
	{ .name = "devices",
	  .type = KEY_TEXT,
	  .list = true,
	  .fallback = "all",
	  .help = "all, indices (0, 1) or ids (cuda:0, host:1)" },
	{ .name = "host_devices",
	  .type = KEY_INTEGER,
	  .fallback = "1",
	  .min = 1,
	  .max = NODE_DEVICES_MOST,
	  .help = "number of devices of the host backend, each with an equal share of the cores" },
	{ .name = "suites",
	  .type = KEY_TEXT,
	  .list = true,
	  .fallback = "all",
	  .help = "suites of the config to run, or all" },
	{ .name = "only",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "ids of the cases to run, separated by blanks: with or without devices, a "
		  "prefix that ends before a '/', or a pattern with * and ?; empty: all" },
	{ .name = "launches",
	  .type = KEY_INTEGER,
	  .fallback = "1",
	  .min = 1,
	  .max = 1000,
	  .word = "auto",
	  .help = "number of times to measure everything, each in new processes; auto: six times, "
		  "then each case until its value is known to launch_target" },
	{ .name = "launch_target",
	  .type = KEY_PERCENT,
	  .fallback = "1 %",
	  .min = 0.0001,
	  .max = 1,
	  .help = "with launches = auto: target half-width of the 95 % interval over launches; "
		  "half the width needs four times the launches" },
	{ .name = "launches_most",
	  .type = KEY_INTEGER,
	  .fallback = "30",
	  .min = LAUNCHES_AUTO_LEAST,
	  .max = 1000,
	  .help = "with launches = auto: most launches of a case" },
	{ .name = "emulate_capability",
	  .type = KEY_CHOICE,
	  .fallback = "none",
	  .choices = capabilities,
	  .help = "run the code paths of another compute capability, for testing; results remain "
		  "those of the installed GPU" },
	{ .name = "seed",
	  .type = KEY_INTEGER,
	  .fallback = "1",
	  .help = "seed of all generated data; the same seed generates the same data" },
	{ .name = "label",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "name of the run, shown in the report" },
	{ .name = "tags",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "words by which to select nights of a history, separated by commas: rack:7, "
		  "site:b" },
	{ .name = "promises",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "auto",
	  .choices = promises,
	  .help = "with --check, aspects that must be judged on every device for an accepted run; "
		  "auto: the aspects that the limits cover; with shipped limits, all that were "
		  "measured" },
	{ .name = "verdict",
	  .type = KEY_CHOICE,
	  .fallback = "limits",
	  .choices = verdicts,
	  .help = "with --check, requirement for a run without limits of its own: limits, the "
		  "shipped limits; trend, only that every case ran with a right result, "
		  "because the history judges the speed" },
	{ .name = "telemetry",
	  .type = KEY_DURATION,
	  .fallback = "20ms",
	  .min = 0,
	  .max = 60,
	  .help = "interval between readings of clocks, power, temperature and throttling during "
		  "sampling; 0s: no readings" },
	{ .name = "case_limit",
	  .type = KEY_DURATION,
	  .fallback = "0s",
	  .min = 0,
	  .max = 86400,
	  .help = "time limit per case, without opening devices (two minutes); 0s: derived from "
		  "the sampling keys, ten times as long while the case makes progress" },
	{ 0 },
};

static const char *const which_devices[] = { "all", "one", NULL };
/* Without sanity, which no case belongs to. */
static const char *const stages[] = { "none", "rates", "together", "soak", NULL };

const struct key suite_keys[] = {
	{ .name = "backend",
	  .type = KEY_TEXT,
	  .fallback = "any",
	  .help = "run this section only on devices of this backend (cuda, host) or module "
		  "(cuda11); any: on all" },
	{ .name = "identical_devices",
	  .type = KEY_CHOICE,
	  .fallback = "all",
	  .choices = which_devices,
	  .help = "one: run single-device cases of this section only on the first of identical "
		  "devices" },
	{ .name = "stage",
	  .type = KEY_CHOICE,
	  .fallback = "none",
	  .choices = stages,
	  .help = "with --check, stage of an acceptance that the section belongs to: none, rates, "
		  "together, soak, in this order; a stage that rejects ends the run" },
	{ 0 },
};

/* "2" or "95 %". */
static enum status check_min_nodes(const char *text, struct error *err)
{
	char *end;
	double number = strtod(text, &end);

	end += strspn(end, " ");
	if (end != text && number > 0 &&
	    ((*end == '\0' && number == floor(number) && number <= 1e6) ||
	     (strcmp(end, "%") == 0 && number <= 100)))
		return STATUS_OK;
	return error_set(err, STATUS_USAGE, "a number of nodes (2) or a share of them (95 %%)");
}

static const char *const launchers[] = { "auto", "srun", "mpirun", "simulate", "command", NULL };

const struct key fleet_keys[] = {
	{ .name = "launcher",
	  .type = KEY_CHOICE,
	  .fallback = "auto",
	  .choices = launchers,
	  .help = "launcher that starts one gpuproof agent per node; auto: srun in a Slurm "
		  "allocation, else mpirun if nodes is a file; command: that of --launch; "
		  "simulate: agents on this machine" },
	{ .name = "nodes",
	  .type = KEY_TEXT,
	  .fallback = "all",
	  .help = "nodes to use: all of the allocation, a number (16), or a file with one host per "
		  "line" },
	{ .name = "interface",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "network interface (eth0) or address (10.0.0.1, fd00::1) on which agents reach "
		  "the "
		  "conductor; empty: any" },
	{ .name = "min_nodes",
	  .type = KEY_TEXT,
	  .fallback = "1",
	  .check = check_min_nodes,
	  .help = "stop the run if fewer nodes are left: a number, or a fraction (95 %)" },
	{ .name = "silent_after",
	  .type = KEY_DURATION,
	  .fallback = "15s",
	  .min = 0.5,
	  .max = 3600,
	  .help = "a node that sends no message for this long is lost" },
	{ .name = "join_within",
	  .type = KEY_DURATION,
	  .fallback = "60s",
	  .min = 1,
	  .max = 86400,
	  .help = "a node whose agent has not connected after this time is lost" },
	{ 0 },
};

static const char *const severities[] = { "fail", "warn", NULL };

const struct key limit_keys[] = {
	{ .name = "metric",
	  .type = KEY_TEXT,
	  .help = "metric to limit, such as transfer.bandwidth" },
	{ .name = "where",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "cases to limit: direction:h2d|d2h, size:>=64MiB, device:cuda:0, model:H200, "
		  "backend:cuda, label:NAME" },
	{ .name = "min",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "lower bound: 47 GB/s, 0.85 * spec.pcie_bandwidth, 0.7 * spec.peak or 0.97 * "
		  "baseline" },
	{ .name = "max",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "upper bound, written like min" },
	{ .name = "outlier_margin",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "2 %: reject a device that is this much worse than the median of the identical "
		  "devices in its node" },
	{ .name = "outlier_margin_warn",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "1 %: with outlier_margin, warn of a device that is this much worse" },
	{ .name = "fleet",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "3 %: reject a device that is this much worse than the median of its model on "
		  "all nodes of the run" },
	{ .name = "population",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "3 %: reject a device that is this much worse than the reference GPUs of its "
		  "model (gpuproof help good-cards)" },
	{ .name = "sigmas",
	  .type = KEY_REAL,
	  .fallback = "3",
	  .min = 0,
	  .max = 100,
	  .help = "for outlier_margin, fleet and population: the device must also be worse by this "
		  "many robust standard deviations" },
	{ .name = "launch_spread",
	  .type = KEY_PERCENT,
	  .fallback = "0 %",
	  .min = 0,
	  .max = 0.5,
	  .help = "standard deviation between launches to assume; 0: typical of the kind of figure "
		  "(gpuproof help sampling)" },
	{ .name = "devices",
	  .type = KEY_INTEGER,
	  .fallback = "0",
	  .min = 0,
	  .max = 1024,
	  .help = "number of devices that must be judged; 0: all present" },
	{ .name = "severity",
	  .type = KEY_CHOICE,
	  .fallback = "fail",
	  .choices = severities,
	  .help = "verdict of a violation" },
	{ .name = "accept_derived",
	  .type = KEY_BOOL,
	  .fallback = "no",
	  .help = "yes: without a data sheet, a GPU can pass on values derived from the driver's "
		  "report; no: it is INCONCLUSIVE" },
	{ .name = "allow_skipped",
	  .type = KEY_BOOL,
	  .fallback = "no",
	  .help = "accept a case that the device cannot run" },
	{ .name = "origin",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "source of the number, shown with every verdict" },
	{ 0 },
};

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
