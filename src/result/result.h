/*
 * The result document: everything one run found out. The only thing that crosses from measuring to
 * judging and reporting. result_write() / result_read() (result_json.c) are its one file format;
 * the schema is src/result/result.schema.json, next to this. Quantities are in SI base units,
 * numbers are numbers; NaN means "unknown" and is null in JSON.
 *
 * RESULT_VERSION stays while documents of earlier programs still mean what they say. Members that
 * are added are optional (json_fields.h): older documents lack them and are read, older programs
 * ignore them. A member that goes, changes its meaning or gets another word needs a new version,
 * and a reader of the old one. A test checks that the results in tests/data are
 * as the program writes them today.
 *
 * Ownership: `char *` and arrays belong to the struct they are in.
 */
#ifndef GPUPROOF_RESULT_RESULT_H
#define GPUPROOF_RESULT_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "device/device_info.h"
#include "device/finding.h"
#include "device/telemetry.h"
#include "result/metric.h"
#include "result/presentation.h"

struct verdicts; /* result/verdict.h */

#define RESULT_FORMAT "gpuproof-result"
#define RESULT_VERSION 1

enum case_status { CASE_OK, CASE_SKIPPED, CASE_FAILED, CASE_ERROR };
const char *case_status_name(enum case_status status); /* "OK", "SKIPPED", "FAILED", "ERROR" */

/* How a case came to its end; `reason` says it in words. */
enum case_end {
	CASE_END_UNKNOWN, /* of an older result or another program's */
	CASE_END_DONE,    /* it was carried out; its result may be wrong */
	CASE_END_UNSUPPORTED,
	CASE_END_INTERRUPTED,
	CASE_END_DEVICE, /* a call of the device failed */
	CASE_END_HUNG,
	CASE_END_CRASHED, /* its worker died */
	CASE_END_REFUSED, /* its worker sent an invalid result */
	CASE_END_FAILED,  /* any other error */
	CASE_END_LOST     /* another rank or node that it needs has gone */
};
/* The end of a case with that status. */
enum case_end case_end_of_status(enum status status);
/* A device error, a hang or a crash: nothing that the config or a missing ability explains. */
bool case_end_is_fault(enum case_end end);

enum stop_reason {                 /* in the result: "converged", "stable", "max_samples", ... */
		   STOP_CONVERGED, /* the interval is narrower than the target */
		   STOP_STABLE,    /* more samples no longer narrow it */
		   STOP_MAX_SAMPLES,
		   STOP_MAX_TIME,
		   STOP_INTERRUPTED
};

/* Summary of one series of samples (result/statistics.h computes it). Quantiles are type 7. */
struct statistics {
	size_t n;
	double min, p5, q1, median, q3, p95, p99, max; /* p99: NaN unless n >= 100 and batch 1 */
	double low, high;    /* 95 % interval of the median; NaN when n_eff < 6 */
	double mad;          /* 1.4826 * median absolute deviation, floored (measurement noise) */
	double relative_iqr; /* (q3 - q1) / median */
	double autocorrelation; /* lag 1 */
	double drift;           /* median of the last third over that of the first, minus 1 */
	bool noisy;
	char noise[96]; /* "", or why: "MAD 3.1 %, drift 2 %" */
};

/*
 * Raw samples of one timed quantity, one value per sample and per operation (batch divided out), to
 * ten digits.
 */
struct series {
	char *name;    /* "transfer.time" */
	char unit[16]; /* "s" */
	double *samples;
	size_t count, capacity;
	unsigned batch; /* operations per sample */
	double first;   /* the first sample ever, apart: cold effect; NaN when there was none */
	enum stop_reason stop;
	/* samples before these that were dropped because the level had not settled */
	size_t warmup;
	/* the level still changed when its time was over: no figure of a steady state */
	bool unsettled;
	/* of one load without a pause: figures are of the samples' mean, not of their median */
	bool load;
	struct statistics statistics;
};

/* One metric of one case. low/high: 95 % interval, NaN when there is none (then `n` says why). */
/* Which spread the interval of a metric covers. */
enum interval_kind {
	INTERVAL_WITHIN,  /* of the samples of one process, which says nothing of the next run */
	INTERVAL_TYPICAL, /* between runs, as figures of its kind vary; of one launch */
	INTERVAL_LAUNCHES /* between runs, from several launches */
};

struct metric_value {
	char *name, *unit;
	enum better better;
	bool headline;
	double value, low, high; /* two-sided 95 % interval; NaN: there is none */
	size_t n;                /* number of samples; 1: a single reading */
	char *series;            /* the series it was derived from; "" */
	/*
	 * One value per launch when there were several (judge/estimate/pool.h): value, low and high
	 * are then about all of them, n and series about the first. Empty for a single launch.
	 */
	double *launches;
	size_t launch_count;
	/* of a rate: work of an operation, value = amount / median time; 0: unknown */
	double amount;
	enum interval_kind interval;
	/* of a metric of no built-in suite, whose table is unknown where results are judged */
	enum metric_kind kind;
	/* of the samples of the first launch, where `interval` is another one; 0: there is none */
	double within_low, within_high;
};

struct verification {
	bool done;
	char *method;            /* "every byte against the generator", ... */
	double error, tolerance; /* NaN when exact */
};

/* One quantity during sampling; NaN: unknown. */
struct telemetry_span {
	double min, median, max;
};

/*
 * The condition of the case's first device while its samples were taken
 * (measure/telemetry/telemetry_window.h).
 */
struct telemetry_during {
	size_t readings; /* 0: none were taken, and all else but the differences is unknown */
	double interval; /* seconds between two; NaN: unknown */
	struct telemetry_span sm_clock_hz, memory_clock_hz, power_watts, temperature_celsius;
	int64_t throttle_reasons; /* of all readings, ORed; -1 unknown */
	size_t throttled; /* readings with a reason that takes speed away (THROTTLE_SLOWS) */
	int64_t ecc_corrected, ecc_uncorrected, pcie_replays; /* from before to after; -1 unknown */
	/*
	 * Since the latest reading of the device, which may be several cases ago: readings take
	 * tens of milliseconds, so only one case every few seconds has one. -1: none in this case.
	 */
	int64_t nvlink_errors;
};

/* The spans of one operation on one stream of one rank in one step: when each of them ran. */
struct timeline_row {
	int rank;
	char *stream, *operation; /* "compute", "forward" */
	double *spans;            /* index, start, end of each; seconds after a common start */
	size_t span_count;        /* numbers: three per span */
};

/*
 * One quantity over time, in equal intervals. Readings have all three (NaN: none in that interval);
 * what only counts up, or is a mask of bits, has `highest` alone: the last or all of the interval.
 */
struct time_quantity {
	char *name, *unit; /* "power_watts", "W" */
	double *lowest, *mean, *highest;
	size_t lowest_count, mean_count, highest_count;
};

/*
 * The condition of one device of a case that lasts (measure/telemetry/watch.h), and what was found
 * wrong on it; or its power and clock while the energy of a case is counted.
 */
struct watch {
	char *device, *uuid;
	double offset;   /* seconds from the start of the case to its first interval; NaN: 0 */
	double interval; /* seconds */
	size_t readings;
	uint64_t wrong;    /* 8-byte words that were not as they had to be */
	char *wrong_words; /* where, expected, got; "" */
	double rate;       /* of this device alone, in the unit of the case's rate; NaN: unknown */
	double verified_bytes; /* that were compared on it; NaN: unknown */
	struct time_quantity *quantities;
	size_t quantity_count, quantity_capacity;
};

/*
 * The time that the energy of a case was read over, so that a power log can be held against it.
 * Times are seconds since 1970 (UTC) on the clock of rank 0's machine.
 */
struct energy_record {
	char *name;          /* "work", "rest" */
	double began, ended; /* the joules are those of this time */
	/* of the first device's counter in it; NaN: its updates were not watched */
	double first_update, last_update;
	double joules, low, high; /* of all devices together */
};

/* A part of the time that a case took; they follow each other (measure/phases.h). */
struct case_phase {
	char *name; /* "autotuning" */
	double seconds;
};

/*
 * A worker process that ended badly with no case in flight, or with several: what was left of those
 * is done again, one by one, so that it costs no case. The case says so that was carried out next,
 * or the run's last one.
 */
struct lost_worker {
	char *reason;   /* "rank 1 (cuda:1) killed by signal 11 (Segmentation fault)" */
	char **devices; /* those that it may have been lost with */
	size_t device_count;
};

/*
 * The name of the parameter that says how much a case moves or how large its operands are, in every
 * suite that has one.
 */
#define PARAMETER_SIZE "size"
/* The one that says how many devices a case of several needs. */
#define PARAMETER_DEVICES "devices"

struct case_parameter {
	char *name, *text; /* "size", "64MiB" */
	double number;     /* base units; NaN when it is a word */
	char *unit;        /* "B", "s", "1" or "" */
};

/* One axis of the sweep that distinguishes a case from the others of its section. */
struct case_axis {
	/* "size", "64MiB"; an empty name: ids of another program, whose axes are unknown */
	char *name, *value;
	bool labelled; /* the id writes "size=64MiB" */
};

/*
 * The id is a key and a heading: suite, label, point and devices say what it is made of. Nothing
 * but case_point.c takes ids apart.
 */
struct case_result {
	char *suite, *label, *id;
	struct case_axis *point; /* in the order of the suite's axes, the first slowest */
	size_t point_count;
	char *node;   /* name, in a result of several nodes; else "" */
	char *device; /* id of the first device */
	char **devices;
	size_t device_count;
	struct case_parameter *parameters;
	size_t parameter_count;
	enum case_status status;
	enum case_end end;
	char *reason; /* "" when OK */
	/*
	 * The place of the failure as far as it is known: rank (an index of `devices`; -1: unknown,
	 * or one process had all of them), device and node; "".
	 */
	int failed_rank;
	char *failed_device, *failed_node;
	struct metric_value *metrics;
	size_t metric_count, metric_capacity;
	struct series *series;
	size_t series_count, series_capacity;
	struct timeline_row *timeline; /* of one step; none: it was not recorded */
	size_t timeline_count;
	struct verification verification;
	struct telemetry before, after; /* of the first device */
	struct telemetry_during during;
	struct watch *watches; /* one per device; of few suites */
	size_t watch_count, watch_capacity;
	struct energy_record *energy; /* none: it was not measured */
	size_t energy_count, energy_capacity;
	char *notes;  /* anything a reader must know about this case; "" */
	char **paths; /* which code ran where there was a choice: "gemm_tensor: WMMA"; of rank 0 */
	size_t path_count;
	struct case_phase *phases; /* of rank 0; none: the suite names none */
	size_t phase_count;
	struct lost_worker *lost; /* before this case began; none: no worker was */
	size_t lost_count, lost_capacity;
	double started_seconds, seconds; /* since the run began; duration */
};

/* How a node of a run on several ended. */
enum node_status {
	NODE_OK,          /* every case was attempted; the cases have statuses of their own */
	NODE_LOST,        /* it died, fell silent, or never called */
	NODE_ERROR,       /* it could not do its work, or was refused */
	NODE_INTERRUPTED, /* a stop was asked for */
};

/* A node of a run on several. */
#define NODES_NAMED 8 /* in a line about many; of more how many they are */
struct result_node {
	char *name; /* "node7": the folder nodes/node7 has its own result */
	enum node_status status;
	char *reason;             /* "" when OK */
	char *lost_at;            /* id of the case in flight when it was lost; "": none */
	size_t planned, finished; /* cases; planned is 0 where the node never had a plan */
};

struct fact {
	char *name, *value;
};

struct result_setting {
	char *section, *key, *value, *origin;
};

struct result {
	int version;
	char *gpuproof_version;
	char *run_id;             /* random hex, one per run */
	char *label;              /* [run] label */
	char *tags;               /* [run] tags; "": none */
	char *started, *finished; /* ISO 8601, UTC */
	double seconds;
	char *state;   /* "complete", "interrupted", "incomplete" (the conductor died) */
	char *command; /* how to repeat it */
	int64_t seed;
	/* cases the plan had; more than case_count when the run did not get to all */
	size_t planned;
	/* a copy for a page or a baseline: series have their statistics only */
	bool samples_left_out;
	char *config_name, *config_text; /* effective INI */
	struct result_setting *settings;
	size_t setting_count;
	/* how pages show each suite's cases; none: older or imported result */
	struct presentation *presentations;
	size_t presentation_count, presentation_capacity;
	struct fact *environment; /* by allow-list: cpu, os, driver, cuda runtime, nccl, ... */
	size_t environment_count;
	/*
	 * The host's times for fixed pieces of work, before and after the cases
	 * (measure/yardstick.h); none: older result.
	 */
	struct metric_value *yardstick;
	size_t yardstick_count, yardstick_capacity;
	struct device_info *devices;
	size_t device_count;
	struct result_node *nodes; /* of a run on several nodes, by name; else none */
	size_t node_count, node_capacity;
	/* of a run on several nodes: parts of `seconds`, one after the other; none: older result */
	struct case_phase *phases;
	size_t phase_count, phase_capacity;
	/*
	 * Findings of doctor before and after an acceptance run; in other runs only lost devices.
	 */
	struct finding *preflight, *postflight;
	size_t preflight_count, postflight_count;
	struct case_result *cases;
	size_t case_count, case_capacity;
	struct verdicts *judgement; /* what it was judged to be; owned; NULL: nothing was judged */
};

void result_release(struct result *result);
/* Moves `judgement` into the result; it is empty then. */
void result_judge(struct result *result, struct verdicts *judgement);
/* Frees what a metric holds. */
void metric_value_release(struct metric_value *metric);
/* "OK", "LOST", ... */
const char *node_status_name(enum node_status status);
/* Nodes that are not NODE_OK. */
size_t result_lost_nodes(const struct result *result);
/*
 * Makes the case one of `node`: its devices become "node/cuda:0", and its id ends in these.
 */
void case_put_on_node(struct case_result *c, const char *node);

/* The id that it has in its node's own result; malloc'ed. */
char *case_id_on_node(const struct case_result *c);
/* Devices that the run was to have, but could not use; messages in preflight. */
size_t result_lost_devices(const struct result *result);
void case_result_release(struct case_result *c);
/* Takes metrics, samples and verification away, of a case that turns out to be another one. */
void case_drop_figures(struct case_result *c);
/* Keeps once what very many cases have alike (base/memory.h). */
void case_share_texts(struct case_result *c);
/* Leaves of each series only its statistics, and no timeline of a step. */
void result_leave_samples(struct result *result);
/*
 * An empty case: zero, with telemetry and verification unknown. NULL strings are allowed and
 * written as ""; after reading no string is NULL.
 */
void case_result_init(struct case_result *c);
/*
 * Says where the case failed: on the device of `rank`, or on its only one; -1: the rank is unknown.
 */
void case_result_set_fault(struct case_result *c, int rank);
void case_result_copy_fault(struct case_result *c, const struct case_result *from);
/* Appends `text` to the notes. */
void case_result_note(struct case_result *c, const char *text);
void lost_worker_release(struct lost_worker *lost);
/* Moves `lost` into the case, with a note that says so; `lost` is empty then. */
void case_result_lose(struct case_result *c, struct lost_worker *lost);
/* Appends copies of what `from` lost. */
void case_result_lose_as(struct case_result *c, const struct case_result *from);
/* Appends an empty series of times, in seconds. It moves when the next one is added. */
struct series *case_result_add_times(struct case_result *result, const char *name);
void time_quantity_release(struct time_quantity *quantity);
void watch_release(struct watch *watch);
void telemetry_unknown(struct telemetry *telemetry);
void telemetry_during_unknown(struct telemetry_during *during);
/*
 * The reasons that took speed away while the case ran or right after it, as far as known: some of
 * THROTTLE_SLOWS.
 */
int64_t case_throttle_reasons(const struct case_result *c);
/*
 * "software power cap, thermal (hardware)": what slowed a device down, of NVML's mask; the caller
 * frees it.
 */
char *result_throttle_words(int64_t reasons);
/* The same in the words of a page: "power cap, temperature, by hardware". */
char *result_throttle_page_words(int64_t reasons);
/*
 * True if one of the reasons is a fault of cooling or power supply, which a software power cap is
 * not.
 */
bool result_throttle_is_fault(int64_t reasons);
/* Adds to the run's time of that phase, which is appended when it is new. */
void result_add_phase(struct result *result, const char *name, double seconds);
/* Appends an empty case whose fields the caller fills; valid until the next call. */
struct case_result *result_add_case(struct result *result);
/* Appends a fact, of a name that is not there, to the environment. */
void result_add_fact(struct result *result, const char *name, const char *value);
/* The value of `name` ("hostname") in the environment; NULL: none. */
const char *result_fact(const struct result *result, const char *name);
/* One quantity of the host's yardstick ("host.call"); NULL: it was not measured. */
const struct metric_value *result_yardstick(const struct result *result, const char *name);
/*
 * Names of node `first` and of those after it that have ended as it has, "n3, n7 and 4 more", their
 * number, and true in `told` for each. Malloc'ed.
 */
char *result_nodes_ended_alike(const struct result *result, size_t first, bool *told,
			       size_t *count);
/*
 * The device with that id; NULL: none. At once where it is that of the call before or the next, as
 * cases come device by device: a fleet has 80,000 devices.
 */
const struct device_info *result_device(const struct result *result, const char *id);
/* The launches of the metric that has most of them; 1 where no metric was measured. */
size_t result_launches(const struct result *result);
/* "transfer:label/h2d/pinned/512MiB": what a case measures, without its devices; malloc'ed. */
char *case_point(const struct case_result *c);
/* The same without the section's label, as populations name it; malloc'ed. */
char *case_point_without_label(const struct case_result *c);
/* Nodes that its devices ("n1/cuda:0") are on; devices of a node follow each other. */
size_t case_node_count(const struct case_result *c);
/* "cuda:0,cuda:1"; malloc'ed. */
char *case_devices(const struct case_result *c);
/* True if both measure the same, on whatever devices. */
bool cases_share_point(const struct case_result *a, const struct case_result *b);
/* True if the point has an axis of this name, or its axes are unknown. */
bool case_names_parameter(const struct case_result *c, const char *name);
/* Appends an axis to the point. */
void case_add_axis(struct case_result *c, const char *name, const char *value, bool labelled);
void case_release_point(struct case_result *c);
/*
 * Replaces the point by that of the id: for documents without points. The case has suite, label and
 * parameters.
 */
void case_derive_point(struct case_result *c);
/*
 * The same for a series of a history, which has the id alone: "transfer:label" and case_point();
 * malloc'ed.
 */
void series_point_of_id(const char *id, char **section, char **point);
const struct metric_value *case_metric(const struct case_result *c, const char *name);
/* Faults that a suite made itself, to show that it finds them; 0 of them: it made none. */
struct injected_faults {
	double injected, found, wrong; /* `found`: of `injected`; `wrong`: all that was wrong */
};
/* From the metrics SUITE.injected, SUITE.found (their share) and SUITE.wrong. */
struct injected_faults case_injected_faults(const struct case_result *c);
/* True if faults were injected, each was found, and nothing else was wrong. */
bool case_wrong_is_injected(const struct case_result *c);
const struct series *case_series(const struct case_result *c, const char *name);
/*
 * True if a metric is of no steady state: its series is unsettled; a timed metric of several series
 * (it has an interval but names none) is so when one of the case's is.
 */
bool case_is_unsettled(const struct case_result *c, const struct metric_value *metric);
const struct case_parameter *case_parameter(const struct case_result *c, const char *name);
/* By the case's parameters, else as its row says; `row` NULL: METRIC_TIMED. */
enum metric_kind metric_kind_of(const struct metric *row, const struct case_result *c);
/*
 * True if the case was asked for a size in powers of two ("64MiB"): its bytes are shown as
 * UNITS_BINARY (base/units.h).
 */
bool case_asks_binary(const struct case_result *c);
/* The unit of one of its metrics by that rule; borrowed. */
const char *case_unit(const struct case_result *c, const struct metric_value *m);

/*
 * JSON. Names of metrics, series, parameters and facts are the keys of JSON objects: each must be
 * unique within its case (of repeated ones the last is written). Text that is not UTF-8 is written
 * with U+FFFD in its place. Every reader zeroes its target first, and leaves it empty on failure.
 */

/*
 * Reads a result; errors name the file and the JSON path. Unknown members are ignored, a newer
 * version refused, and so is what makes no sense as a whole (result_check.h).
 */
enum status result_read(struct result *result, const char *path, struct error *err);
/* The same of a document that the program wrote, as fast as it goes. */
enum status result_read_summary(struct result *result, const char *path, struct error *err);
/* The same without its cases and its judgement. */
enum status result_read_header(struct result *result, const char *path, struct error *err);
/* The same from text. */
enum status result_from_json(struct result *result, const char *text, size_t length,
			     struct error *err);
/*
 * The same of a document whose samples were left out and that may not say so: a baseline of an
 * earlier version.
 */
enum status result_from_json_without_samples(struct result *result, const char *text, size_t length,
					     struct error *err);
/*
 * Writes atomically: temporary file, fsync, rename; on failure the old file stays. Same result,
 * same bytes.
 */
enum status result_write(const struct result *result, const char *path, struct error *err);
/* The same with DIRECTORY/result.json. */
enum status result_read_from(struct result *result, const char *directory, struct error *err);
enum status result_write_to(const struct result *result, const char *directory, struct error *err);
/*
 * The document as text (malloc'ed). Holds no '<', so it can be embedded in a page's <script> as it
 * is.
 */
char *result_to_json(const struct result *result);
/* The same without line breaks, a tenth shorter: for pages. */
char *result_to_json_line(const struct result *result);

/*
 * One finished case as one line of JSON without line breaks, and back (journal and worker pipe).
 * Whether it makes sense is for the caller to ask: case_result_check().
 */
char *case_result_to_json(const struct case_result *c);
enum status case_result_from_json(struct case_result *c, const char *text, size_t length,
				  struct error *err);
/* A lost worker as such a line, and back. */
char *lost_worker_to_json(const struct lost_worker *lost);
enum status lost_worker_from_json(struct lost_worker *lost, const char *text, size_t length,
				  struct error *err);
/* The result without its cases as one line (the journal's header), and back. */
char *result_header_to_json(const struct result *result);
enum status result_header_from_json(struct result *result, const char *text, size_t length,
				    struct error *err);

#endif
