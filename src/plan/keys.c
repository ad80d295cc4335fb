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
	  .help = "backend to use: auto (cuda if there is a GPU, else host), cuda, host, or one "
		  "module of cuda (cuda13, cuda11)" },
	{ .name = "devices",
	  .type = KEY_TEXT,
	  .list = true,
	  .fallback = "all",
	  .help = "devices to measure: all, indices (0, 1) or ids (cuda:0, host:1)" },
	{ .name = "host_devices",
	  .type = KEY_INTEGER,
	  .fallback = "1",
	  .min = 1,
	  .max = NODE_DEVICES_MOST,
	  .help = "number of devices into which the host backend divides the CPU cores, all of the "
		  "same size" },
	{ .name = "suites",
	  .type = KEY_TEXT,
	  .list = true,
	  .fallback = "all",
	  .help = "suites of the config to run: all, or a list of names" },
	{ .name = "only",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "cases to run, separated by blanks: ids with or without @DEVICE, beginnings of "
		  "ids up to a '/', or patterns with * and ?; empty: all cases" },
	{ .name = "launches",
	  .type = KEY_INTEGER,
	  .fallback = "1",
	  .min = 1,
	  .max = 1000,
	  .word = "auto",
	  .help = "number of launches; each measures all cases in new processes. auto: six "
		  "launches, then more of each case until its interval is within launch_target" },
	{ .name = "launch_target",
	  .type = KEY_PERCENT,
	  .fallback = "1 %",
	  .min = 0.0001,
	  .max = 1,
	  .help = "with launches = auto: half-width of the 95 % interval over launches, as a "
		  "percentage of the value, to reach. Half of it needs four times as many "
		  "launches" },
	{ .name = "launches_most",
	  .type = KEY_INTEGER,
	  .fallback = "30",
	  .min = LAUNCHES_AUTO_LEAST,
	  .max = 1000,
	  .help = "with launches = auto: maximum number of launches per case" },
	{ .name = "emulate_capability",
	  .type = KEY_CHOICE,
	  .fallback = "none",
	  .choices = capabilities,
	  .help = "use the code paths of this compute capability, to test them on a GPU with a "
		  "different one; none: the capability of the installed GPU. The installed GPU is "
		  "measured in both cases" },
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
	  .help = "words separated by commas, such as rack:7, site:b; history --tag WORD selects "
		  "the runs that have the word" },
	{ .name = "promises",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "auto",
	  .choices = promises,
	  .help = "with --check: aspects that must be judged on every device before the run is "
		  "accepted. auto: those that the limits of the config cover, or with shipped "
		  "limits those that were measured" },
	{ .name = "verdict",
	  .type = KEY_CHOICE,
	  .fallback = "limits",
	  .choices = verdicts,
	  .help = "with --check, if the config has no limits. limits: the shipped limits apply. "
		  "trend: the run passes if every case ran with a correct result; history trend "
		  "judges the speed" },
	{ .name = "telemetry",
	  .type = KEY_DURATION,
	  .fallback = "20ms",
	  .min = 0,
	  .max = 60,
	  .help = "time between readings of clocks, power, temperature and throttling during "
		  "sampling; 0s: no readings" },
	{ .name = "case_limit",
	  .type = KEY_DURATION,
	  .fallback = "0s",
	  .min = 0,
	  .max = 86400,
	  .help = "time limit per case. 0s: computed from the sampling keys, and ten times as long "
		  "while the case makes progress. Opening devices is not included and may take two "
		  "minutes" },
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
		  "(cuda11); any: on all devices" },
	{ .name = "identical_devices",
	  .type = KEY_CHOICE,
	  .fallback = "all",
	  .choices = which_devices,
	  .help = "devices on which single-device cases of this section run. all: every device; "
		  "one: only the first of several identical devices" },
	{ .name = "stage",
	  .type = KEY_CHOICE,
	  .fallback = "none",
	  .choices = stages,
	  .help = "with --check: stage of the acceptance in which this section runs: none, rates, "
		  "together or soak, in this order. A stage that rejects ends the run" },
	{ 0 },
};

/* "2" or "95 %". */
static enum status plan_keys_check_min_nodes(const char *text, struct error *err)
{
	char *end;
	double number = strtod(text, &end);

	end += strspn(end, " ");
	if (end != text && number > 0 &&
	    ((*end == '\0' && number == floor(number) && number <= 1e6) ||
	     (strcmp(end, "%") == 0 && number <= 100)))
		return STATUS_OK;
	return error_set(err, STATUS_USAGE,
			 "write a number of nodes (2) or a percentage of them (95 %%)");
}

static const char *const launchers[] = { "auto", "srun", "mpirun", "simulate", "command", NULL };

const struct key fleet_keys[] = {
	{ .name = "launcher",
	  .type = KEY_CHOICE,
	  .fallback = "auto",
	  .choices = launchers,
	  .help = "program that starts one gpuproof agent per node. auto: srun in a Slurm "
		  "allocation, else mpirun if the key nodes names a file; command: the command of "
		  "--launch; simulate: all agents on this machine" },
	{ .name = "nodes",
	  .type = KEY_TEXT,
	  .fallback = "all",
	  .help = "nodes to use: all (of the Slurm allocation), a number (16), or a file with one "
		  "host per line" },
	{ .name = "interface",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "network interface (eth0) or address (10.0.0.1, fd00::1) on which agents reach "
		  "the "
		  "conductor; empty: any" },
	{ .name = "min_nodes",
	  .type = KEY_TEXT,
	  .fallback = "1",
	  .check = plan_keys_check_min_nodes,
	  .help = "stop the run if fewer nodes than this are left: a number (2) or a percentage "
		  "(95 %)" },
	{ .name = "silent_after",
	  .type = KEY_DURATION,
	  .fallback = "15s",
	  .min = 0.5,
	  .max = 3600,
	  .help = "time after which a node that sends no message counts as lost" },
	{ .name = "join_within",
	  .type = KEY_DURATION,
	  .fallback = "60s",
	  .min = 1,
	  .max = 86400,
	  .help = "time after which a node whose agent has not connected counts as lost" },
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
	  .help = "conditions that select the cases, separated by commas: direction:h2d|d2h, "
		  "size:>=64MiB, device:cuda:0, model:H200, backend:cuda, label:NAME" },
	{ .name = "min",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "lower bound: 47 GB/s, 0.85 * spec.pcie_bandwidth, 0.7 * spec.peak or 0.97 * "
		  "baseline" },
	{ .name = "max",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "upper bound, in the same form as min" },
	{ .name = "outlier_margin",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "margin to the median of the identical devices of the node, such as 2 %; a "
		  "device that is worse by more is rejected" },
	{ .name = "outlier_margin_warn",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "smaller margin than outlier_margin, such as 1 %; a device that is worse by more "
		  "gets a warning" },
	{ .name = "fleet",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "margin to the median of the devices of the model on all nodes of the run, such "
		  "as 3 %; a device that is worse by more is rejected" },
	{ .name = "population",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "margin to the median of the reference GPUs of the model, such as 3 %; a device "
		  "that is worse by more is rejected (gpuproof help good-cards)" },
	{ .name = "sigmas",
	  .type = KEY_REAL,
	  .fallback = "3",
	  .min = 0,
	  .max = 100,
	  .help = "for outlier_margin, fleet and population: number of robust standard deviations "
		  "by which a device must also be worse" },
	{ .name = "launch_spread",
	  .type = KEY_PERCENT,
	  .fallback = "0 %",
	  .min = 0,
	  .max = 0.5,
	  .help = "standard deviation between launches to assume, such as 0.5 %; 0: typical of the "
		  "kind of metric (gpuproof help sampling)" },
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
	  .help = "verdict if the limit is violated" },
	{ .name = "accept_derived",
	  .type = KEY_BOOL,
	  .fallback = "no",
	  .help = "for a GPU without a data sheet. yes: it can pass by values computed from the "
		  "driver's report; no: it is INCONCLUSIVE" },
	{ .name = "allow_skipped",
	  .type = KEY_BOOL,
	  .fallback = "no",
	  .help = "yes: a case that the device cannot run counts as passed" },
	{ .name = "origin",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "source of the bound, shown with every verdict" },
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
	  .help = "stop sampling when the half-width of the 95 % interval is at most this "
		  "percentage of the median" },
	{ .name = "max_time",
	  .type = KEY_DURATION,
	  .fallback = "500 ms",
	  .min = 1e-6,
	  .max = 3600,
	  .help = "maximum sampling time per series; min_samples are taken even if they need "
		  "more" },
	{ .name = "settle_time",
	  .type = KEY_DURATION,
	  .fallback = "500 ms",
	  .min = 0,
	  .max = 3600,
	  .help = "additional sampling time for a series that still drifts after max_time. Its "
		  "first half is then discarded as warm-up. If the rest drifts as well, the series "
		  "is not settled" },
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
	  .help = "time of untimed load after warm-up, in which the clock of a power-limited GPU "
		  "becomes stable" },
	{ .name = "energy_time",
	  .type = KEY_DURATION,
	  .fallback = "0s",
	  .min = 0,
	  .max = 3600,
	  .help = "time for which a case repeats its work after the samples to measure energy. "
		  "Then the device rests as long; the second half gives the idle power. GPUs need "
		  "0.6s (1.2s for idle power), CPUs 50ms; 0s: no energy" },
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
