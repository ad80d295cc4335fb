/*
 * The keys of [run], [report], [limit] and every [suite]; a suite's own are in the suite's file,
 * the sampling keys in measure/.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "device/device_set.h"
#include "plan/schema.h"

/* Architectures that module cuda11 has code for. */
static const char *const capabilities[] = { "none", "3.5", "3.7", "5.2", "6.0", "6.1",
					    "7.0",  "7.5", "8.0", "8.6", "9.0", NULL };

/* After the first one as enum aspect has them (result/aspect.h). */
static const char *const promises[] = { "auto",        "memory",    "link", "products",
					"correctness", "condition", NULL };

const struct key run_keys[] = {
	{ .name = "backend",
	  .type = KEY_TEXT,
	  .fallback = "auto",
	  .help = "what drives the devices: auto (GPUs, else the CPU), cuda, host, or one of the "
		  "modules of cuda: cuda13, cuda11" },
	{ .name = "devices",
	  .type = KEY_TEXT,
	  .list = true,
	  .fallback = "all",
	  .help = "all, or indices (0, 1) or ids (cuda:0, host:1)" },
	{ .name = "host_devices",
	  .type = KEY_INTEGER,
	  .fallback = "1",
	  .min = 1,
	  .max = NODE_DEVICES_MOST,
	  .help = "devices of the host backend, each an equal share of the cores" },
	{ .name = "suites",
	  .type = KEY_TEXT,
	  .list = true,
	  .fallback = "all",
	  .help = "all, or those of the config's suites that run" },
	{ .name = "only",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "cases that run, ids separated by blanks: with or without devices, a beginning "
		  "up to a '/', or with * and ?; empty: all" },
	{ .name = "launches",
	  .type = KEY_INTEGER,
	  .fallback = "1",
	  .min = 1,
	  .max = 1000,
	  .word = "auto",
	  .help = "how often everything is measured, each time by new processes; auto: six times, "
		  "then what is not known to launch_target as often as its own scatter asks for" },
	{ .name = "launch_target",
	  .type = KEY_PERCENT,
	  .fallback = "1 %",
	  .min = 0.0001,
	  .max = 1,
	  .help = "with launches = auto: how far the 95 % interval of each headline metric, over "
		  "its "
		  "launches, may reach from the value; halved, it takes four times the launches" },
	{ .name = "launches_most",
	  .type = KEY_INTEGER,
	  .fallback = "30",
	  .min = LAUNCHES_AUTO_LEAST,
	  .max = 1000,
	  .help = "with launches = auto: no case is launched more often" },
	{ .name = "emulate_capability",
	  .type = KEY_CHOICE,
	  .fallback = "none",
	  .choices = capabilities,
	  .help = "takes the code paths of another compute capability on the GPUs that are here, "
		  "to try them; the figures are still those of the GPUs" },
	{ .name = "seed",
	  .type = KEY_INTEGER,
	  .fallback = "1",
	  .help = "of all generated data: the same seed, the same data" },
	{ .name = "label",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "a name for this run, shown in the report" },
	{ .name = "tags",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "words by which a history selects nights, separated by commas: rack:7, site:b" },
	{ .name = "promises",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "auto",
	  .choices = promises,
	  .help = "with --check, what must have been judged of every device for the run to be "
		  "accepted; auto: the aspects that the limits judge; by shipped limits all that "
		  "were measured" },
	{ .name = "telemetry",
	  .type = KEY_DURATION,
	  .fallback = "20ms",
	  .min = 0,
	  .max = 60,
	  .help = "how often clocks, power, temperature and throttling are read while samples are "
		  "taken; 0s: never" },
	{ .name = "case_limit",
	  .type = KEY_DURATION,
	  .fallback = "0s",
	  .min = 0,
	  .max = 86400,
	  .help = "a case that takes longer is killed; opening its devices has two minutes of its "
		  "own; 0s: derived from the sampling keys, and ten times that while it shows "
		  "signs of life" },
	{ 0 },
};

static const char *const which_devices[] = { "all", "one", NULL };

const struct key suite_keys[] = {
	{ .name = "backend",
	  .type = KEY_TEXT,
	  .fallback = "any",
	  .help = "any, or the backend (cuda, host) or module (cuda11) on whose devices alone this "
		  "section runs" },
	{ .name = "identical_devices",
	  .type = KEY_CHOICE,
	  .fallback = "all",
	  .choices = which_devices,
	  .help = "one: of identical devices only the first carries out this section's cases that "
		  "take one device" },
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
	  .help = "what starts one gpuproof agent on each node; auto: srun in an allocation of "
		  "Slurm, else mpirun where nodes is a file; command: that of --launch; simulate: "
		  "agents on this machine" },
	{ .name = "nodes",
	  .type = KEY_TEXT,
	  .fallback = "all",
	  .help = "all of the allocation, how many (16), or a file with one host per line" },
	{ .name = "interface",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "network interface (eth0) on which agents reach the conductor; empty: any" },
	{ .name = "min_nodes",
	  .type = KEY_TEXT,
	  .fallback = "1",
	  .check = check_min_nodes,
	  .help = "with fewer nodes left the run stops: a number, or a share (95 %) of all" },
	{ .name = "silent_after",
	  .type = KEY_DURATION,
	  .fallback = "15s",
	  .min = 0.5,
	  .max = 3600,
	  .help = "a node that says nothing for this long is lost" },
	{ .name = "bisect",
	  .type = KEY_PERCENT,
	  .fallback = "50 %",
	  .min = 0,
	  .max = 0.99,
	  .help = "look for the fewest nodes that show it where a case over many nodes hangs, or a "
		  "collective is slower by this than over fewer nodes; 0: not" },
	{ .name = "join_within",
	  .type = KEY_DURATION,
	  .fallback = "60s",
	  .min = 1,
	  .max = 86400,
	  .help = "a node whose agent has not called by then is lost" },
	{ 0 },
};

static const char *const severities[] = { "fail", "warn", NULL };

const struct key limit_keys[] = {
	{ .name = "metric", .type = KEY_TEXT, .help = "what is limited, as in transfer.bandwidth" },
	{ .name = "where",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "which cases: direction:h2d|d2h, size:>=64MiB, device:cuda:0, model:H200, "
		  "backend:cuda, label:NAME" },
	{ .name = "min",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "at least: 47 GB/s, 0.85 * spec.pcie_bandwidth, 0.7 * spec.peak or 0.97 * "
		  "baseline" },
	{ .name = "max", .type = KEY_TEXT, .fallback = "", .help = "at most, as min" },
	{ .name = "outlier_margin",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "2 %: reject a device that is this much worse than the median of the identical "
		  "ones in its node" },
	{ .name = "outlier_margin_warn",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "1 %: with outlier_margin: warn already when a device is this much worse" },
	{ .name = "fleet",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "3 %: reject a device that is this much worse than the median of its model on "
		  "all nodes of the run" },
	{ .name = "population",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "3 %: reject a device that is this much worse than good cards of its model "
		  "(gpuproof help good-cards)" },
	{ .name = "sigmas",
	  .type = KEY_REAL,
	  .fallback = "3",
	  .min = 0,
	  .max = 100,
	  .help = "outlier_margin, fleet, population: and worse by this many robust standard "
		  "deviations "
		  "of them" },
	{ .name = "launch_spread",
	  .type = KEY_PERCENT,
	  .fallback = "0.5 %",
	  .min = 0,
	  .max = 0.5,
	  .help = "standard deviation between launches that one launch cannot show" },
	{ .name = "devices",
	  .type = KEY_INTEGER,
	  .fallback = "0",
	  .min = 0,
	  .max = 1024,
	  .help = "how many different devices must have been judged; 0: all that are present" },
	{ .name = "severity",
	  .type = KEY_CHOICE,
	  .fallback = "fail",
	  .choices = severities,
	  .help = "what a violation is" },
	{ .name = "accept_derived",
	  .type = KEY_BOOL,
	  .fallback = "no",
	  .help = "yes: a GPU without a data sheet passes by figures derived from what its driver "
		  "reports; no: it is INCONCLUSIVE" },
	{ .name = "allow_skipped",
	  .type = KEY_BOOL,
	  .fallback = "no",
	  .help = "a case that the device cannot do counts as accepted" },
	{ .name = "origin",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "where the number comes from, shown with every verdict" },
	{ 0 },
};
