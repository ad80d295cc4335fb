/*
 * The result document: everything that one run measured, and the only data that flows from
 * measuring to judging and reporting. result_write() and result_read() (result_json.c) define its
 * only file format; the schema is src/result/result.schema.json. Quantities are in SI base units,
 * numbers are numbers; NaN means "unknown" and is null in JSON.
 *
 * RESULT_VERSION stays the same while earlier documents keep their meaning. New members are
 * optional (json_fields.h): older documents lack them and are readable, older programs ignore them.
 * Removing a member, or changing its meaning or a word, needs a new version and a reader for the
 * old one. A test checks that the results in tests/data match what the program writes today.
 *
 * Structs own their `char *` and arrays.
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
#include "result/aspect.h"

struct verdicts; /* result/verdict.h */

#define RESULT_FORMAT "gpuproof-result"
#define RESULT_VERSION 1

enum case_status { CASE_OK, CASE_SKIPPED, CASE_FAILED, CASE_ERROR };
const char *case_status_name(enum case_status status); /* "OK", "SKIPPED", "FAILED", "ERROR" */

/* How a case ended; `reason` has the text. */
enum case_end {
	CASE_END_UNKNOWN, /* in an older or imported result */
	CASE_END_DONE,    /* it ran to its end; its result may be wrong */
	CASE_END_UNSUPPORTED,
	CASE_END_INTERRUPTED,
	CASE_END_DEVICE, /* a device call failed */
	CASE_END_HUNG,
	CASE_END_CRASHED, /* its worker died */
	CASE_END_REFUSED, /* its worker sent an invalid result */
	CASE_END_FAILED,  /* any other error */
	CASE_END_LOST     /* another rank or node that it needs is gone */
};
/* Maps a status to the end of a case. */
enum case_end case_end_of_status(enum status status);
/*
 * True for a device error, a hang or a crash, which neither the config nor a missing feature
 * explains.
 */
bool case_end_is_fault(enum case_end end);

enum stop_reason {                 /* in the result: "converged", "stable", "max_samples", ... */
		   STOP_CONVERGED, /* the interval is narrower than the target */
		   STOP_STABLE,    /* more samples do not narrow it */
		   STOP_MAX_SAMPLES,
		   STOP_MAX_TIME,
		   STOP_INTERRUPTED
};

/* Summary of one series of samples (computed in result/statistics.h). Quantiles are of type 7. */
struct statistics {
	size_t n;
	double min, p5, q1, median, q3, p95, p99, max; /* p99: NaN unless n >= 100 and batch 1 */
	double low, high; /* 95 % interval of the median; NaN if n_eff < 6 */
	/* 1.4826 * median absolute deviation, with a floor (measurement noise) */
	double mad;
	double relative_iqr;    /* (q3 - q1) / median */
	double autocorrelation; /* lag 1 */
	double drift;           /* median of the last third / median of the first third - 1 */
	bool noisy;
	char noise[96]; /* "", or why it is noisy: "MAD 3.1 %, drift 2 %" */
};

/*
 * Raw samples of one timed quantity: one value per sample and operation (divided by the batch),
 * with ten digits.
 */
struct series {
	char *name;    /* "transfer.time" */
	char unit[16]; /* "s" */
	double *samples;
	size_t count, capacity;
	unsigned batch; /* operations per sample */
	double first;   /* the very first sample, stored separately: cold-start cost; NaN: none */
	enum stop_reason stop;
	/* samples before these, dropped because the level had not settled */
	size_t warmup;
	/* the level still changed when the time was over: not a steady-state value */
	bool unsettled;
	/* of one continuous load: metrics use the mean of the samples, not the median */
	bool load;
	struct statistics statistics;
};

/* One metric of one case. low, high: 95 % interval; NaN if there is none (`n` tells why). */
/* The variation that the interval of a metric covers. */
enum interval_kind {
	INTERVAL_WITHIN,  /* of the samples of one process; does not predict the next run */
	INTERVAL_TYPICAL, /* between runs, as typical for the kind of metric; from one launch */
	INTERVAL_LAUNCHES /* between runs, from several launches */
};

struct metric_value {
	char *name, *unit;
	enum better better;
	bool headline;
	double value, low, high; /* two-sided 95 % interval; NaN: none */
	size_t n;                /* number of samples; 1: a single reading */
	char *series;            /* name of the series it was computed from; "" */
	/*
	 * One value per launch if there were several (judge/estimate/pool.h). Then value, low and
	 * high cover all launches, n and series the first one. Empty for a single launch.
	 */
	double *launches;
	size_t launch_count;
	/* for a rate: work per operation, value = amount / median time; 0: unknown */
	double amount;
	enum interval_kind interval;
	/* for a metric of no built-in suite, whose table is not known when results are judged */
	enum metric_kind kind;
	/* interval of the samples of the first launch, if `interval` covers more; 0: none */
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

/* State of the case's first device during sampling (measure/telemetry/telemetry_window.h). */
struct telemetry_during {
	size_t readings; /* 0: none, and everything except the differences is unknown */
	double interval; /* seconds between readings; NaN: unknown */
	struct telemetry_span sm_clock_hz, memory_clock_hz, power_watts, temperature_celsius;
	int64_t throttle_reasons; /* bitwise OR over all readings; -1: unknown */
	size_t throttled;         /* readings with a reason that reduces speed (THROTTLE_SLOWS) */
	/* difference from before to after; -1: unknown */
	int64_t ecc_corrected, ecc_uncorrected, pcie_replays;
	/*
	 * Since the previous reading of the device, which may be several cases back: readings take
	 * tens of milliseconds, so there is one only every few seconds. -1: none in this case.
	 */
	int64_t nvlink_errors;
};

/* Spans of one operation on one stream of one rank in one step: the times at which it ran. */
struct timeline_row {
	int rank;
	char *stream, *operation; /* "compute", "forward" */
	/* index, start and end of each span; seconds from a common start */
	double *spans;
	size_t span_count; /* length of spans: three numbers per span */
};

/*
 * One quantity over time, in equal intervals. Readings have all three arrays (NaN: no reading in
 * that interval). Counters and bit masks have only `highest`: the last value, or all bits, of the
 * interval.
 */
struct time_quantity {
	char *name, *unit; /* "power_watts", "W" */
	double *lowest, *mean, *highest;
	size_t lowest_count, mean_count, highest_count;
};

/* A place where a soak found something wrong. Numbers that it does not have are NaN. */
struct watch_event {
	char *work;                 /* "GEMM 812 to 840 of fp32", "units, class ffma" */
	double row, column, offset; /* offset: bytes from the start of what was compared */
	double multiprocessor, quarter;
	char *expected, *got;    /* bits, hexadecimal */
	uint64_t replicas;       /* other places that must have the same value, at least */
	uint64_t repeats, again; /* repeats of the work, and of these wrong again */
};

/*
 * State of one device during a long case (measure/telemetry/watch.h), with the errors found on it;
 * or its power and clock while the energy of a case is measured.
 */
struct watch {
	char *device, *uuid;
	double offset;   /* seconds from the start of the case to the first interval; NaN: 0 */
	double interval; /* seconds */
	size_t readings;
	uint64_t wrong;             /* number of wrong 8-byte words */
	char *wrong_words;          /* where, expected, got; "" */
	struct watch_event *events; /* the first wrong places */
	size_t event_count, event_capacity;
	double rate; /* of this device alone, in the unit of the case's rate; NaN: unknown */
	double verified_bytes; /* bytes verified on it; NaN: unknown */
	struct time_quantity *quantities;
	size_t quantity_count, quantity_capacity;
};

/*
 * Time window of an energy measurement, for comparison with a power log. Times are seconds since
 * 1970 (UTC) on the clock of rank 0's machine.
 */
struct energy_record {
	char *name;          /* "work", "rest" */
	double began, ended; /* start and end of the window that the joules cover */
	/* updates of the first device's counter within it; NaN: not observed */
	double first_update, last_update;
	double joules, low, high; /* sum over all devices */
};

/* A phase of a case; phases follow each other (measure/phases.h). */
struct case_phase {
	char *name; /* "autotuning" */
	double seconds;
};

/*
 * A worker that died with no case in flight, or with several, which are then repeated one by one,
 * so that no case is lost. Stored in the next case, or in the last one of the run.
 */
struct lost_worker {
	char *reason;   /* "rank 1 (cuda:1) killed by signal 11 (Segmentation fault)" */
	char **devices; /* devices that it may have been lost with */
	size_t device_count;
};

/*
 * Name of the size parameter, in every suite that has one: bytes that a case moves, or size of its
 * operands.
 */
#define PARAMETER_SIZE "size"
/* Name of the parameter with the number of devices that a case needs. */
#define PARAMETER_DEVICES "devices"

struct case_parameter {
	char *name, *text; /* "size", "64MiB" */
	double number;     /* in base units; NaN for text */
	char *unit;        /* "B", "s", "1" or "" */
};

/* One axis of the sweep that distinguishes a case from others of its section. */
struct case_axis {
	/* "size", "64MiB"; empty name: an imported id, whose axes are unknown */
	char *name, *value;
	bool labelled; /* the id contains "size=64MiB" */
};

/*
 * The id is a key and a heading; suite, label, point and devices are its parts. Only case_point.c
 * parses ids.
 */
struct case_result {
	char *suite, *label, *id;
	enum run_stage stage;
	struct case_axis *point; /* in the order of the suite's axes, slowest first */
	size_t point_count;
	char *node;   /* name of the node in a multi-node result; else "" */
	char *device; /* id of the first device */
	char **devices;
	size_t device_count;
	struct case_parameter *parameters;
	size_t parameter_count;
	enum case_status status;
	enum case_end end;
	char *reason; /* "" if OK */
	/*
	 * Place of the failure as far as known: rank (an index into `devices`; -1: unknown, or one
	 * process had all of them), device and node; "".
	 */
	int failed_rank;
	char *failed_device, *failed_node;
	struct metric_value *metrics;
	size_t metric_count, metric_capacity;
	struct series *series;
	size_t series_count, series_capacity;
	struct timeline_row *timeline; /* of one step; NULL: not recorded */
	size_t timeline_count;
	struct verification verification;
	struct telemetry before, after; /* of the first device */
	struct telemetry_during during;
	struct watch *watches; /* one per device; only in few suites */
	size_t watch_count, watch_capacity;
	struct energy_record *energy; /* NULL: not measured */
	size_t energy_count, energy_capacity;
	char *notes; /* remarks about this case that a reader needs; "" */
	/* implementation that ran, if there was a choice: "gemm_tensor: WMMA"; of rank 0 */
	char **paths;
	size_t path_count;
	struct case_phase *phases; /* of rank 0; empty: the suite has no phases */
	size_t phase_count;
	struct lost_worker *lost; /* workers lost before this case started; empty: none */
	size_t lost_count, lost_capacity;
	double started_seconds, seconds; /* seconds from the start of the run; duration */
};

/* How a node of a multi-node run ended. */
enum node_status {
	NODE_OK,          /* every case was attempted; the cases have their own statuses */
	NODE_LOST,        /* it died, stopped sending messages, or never connected */
	NODE_ERROR,       /* it could not do its work, or was refused */
	NODE_INTERRUPTED, /* after a stop request */
};

/* A node of a multi-node run. */
#define NODES_NAMED 8 /* maximum nodes named in one line; of more, their number is given */
struct result_node {
	char *name; /* "node7": its own result is in the folder nodes/node7 */
	enum node_status status;
	char *reason;             /* "" if OK */
	char *lost_at;            /* id of the case in flight when it was lost; "": none */
	size_t planned, finished; /* number of cases; planned is 0 if the node never had a plan */
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
	char *command; /* command that repeats the run */
	int64_t seed;
	/* number of cases in the plan; larger than case_count if some were not run */
	size_t planned;
	/* of several nodes, whose own results have the samples: series have only statistics */
	bool samples_left_out;
	char *config_name, *config_text; /* effective INI */
	struct result_setting *settings;
	size_t setting_count;
	/* per suite; empty: older or imported result */
	struct presentation *presentations;
	size_t presentation_count, presentation_capacity;
	struct fact *environment; /* by an allow-list: cpu, os, driver, cuda runtime, nccl, ... */
	size_t environment_count;
	/*
	 * Host reference: times before and after the cases (measure/yardstick.h); empty: older
	 * result.
	 */
	struct metric_value *yardstick;
	size_t yardstick_count, yardstick_capacity;
	struct device_info *devices;
	size_t device_count;
	struct result_node *nodes; /* of a multi-node run, sorted by name; else empty */
	size_t node_count, node_capacity;
	/* of a multi-node run: consecutive parts of `seconds`; empty: older result */
	struct case_phase *phases;
	size_t phase_count, phase_capacity;
	/*
	 * Findings of doctor before and after an acceptance run; in other runs only lost devices.
	 */
	struct finding *preflight, *postflight;
	size_t preflight_count, postflight_count;
	struct case_result *cases;
	size_t case_count, case_capacity;
	struct verdicts *judgement; /* owned; NULL: not judged */
};

void result_release(struct result *result);
/* Moves `judgement` into the result and leaves it empty. */
void result_judge(struct result *result, struct verdicts *judgement);
/* Frees the members of a metric. */
void metric_value_release(struct metric_value *metric);
/* "OK", "LOST", ... */
const char *node_status_name(enum node_status status);
/* Number of nodes that are not NODE_OK. */
size_t result_lost_nodes(const struct result *result);
/* Assigns the case to `node`: its devices become "node/cuda:0", and its id ends in these. */
void case_put_on_node(struct case_result *c, const char *node);

/* The case's id in the result of its own node; the caller frees it. */
char *case_id_on_node(const struct case_result *c);
/* Number of requested devices that could not be used; preflight has the messages. */
size_t result_lost_devices(const struct result *result);
void case_result_release(struct case_result *c);
/* Removes metrics, samples and verification of a case that turns out to be a different one. */
void case_drop_figures(struct case_result *c);
/* Reduces each series to its statistics and removes timelines. */
void result_leave_samples(struct result *result);
/*
 * Initialises an empty case: zero, with telemetry and verification unknown. NULL strings are
 * allowed and written as ""; after reading, no string is NULL.
 */
void case_result_init(struct case_result *c);
/* Sets where the case failed: on the device of `rank`, or on its only one; -1: unknown rank. */
void case_result_set_fault(struct case_result *c, int rank);
void case_result_copy_fault(struct case_result *c, const struct case_result *from);
/* Appends `text` to the notes. */
void case_result_note(struct case_result *c, const char *text);
void lost_worker_release(struct lost_worker *lost);
/* Moves `lost` into the case, adds a note about it, and leaves `lost` empty. */
void case_result_lose(struct case_result *c, struct lost_worker *lost);
/* Appends copies of the lost workers of `from`. */
void case_result_lose_as(struct case_result *c, const struct case_result *from);
/* Appends an empty series of times, in seconds. The pointer is valid until the next call. */
struct series *case_result_add_times(struct case_result *result, const char *name);
void time_quantity_release(struct time_quantity *quantity);
void watch_release(struct watch *watch);
/* Increase of the counter `name` from its lowest to its highest reading; 0: unknown. */
double watch_counter_growth(const struct watch *watch, const char *name);
void telemetry_during_unknown(struct telemetry_during *during);
/*
 * Throttle reasons that reduced speed during the case or right after it, as far as known: bits of
 * THROTTLE_SLOWS.
 */
int64_t case_throttle_reasons(const struct case_result *c);
/*
 * "software power cap, thermal (hardware)": text for NVML's mask of throttle reasons; the caller
 * frees it.
 */
char *result_throttle_words(int64_t reasons);
/* As result_throttle_words(), in the words of a page: "power cap, temperature, by hardware". */
char *result_throttle_page_words(int64_t reasons);
/* True if a reason is a fault of cooling or power supply; a software power cap is not. */
bool result_throttle_is_fault(int64_t reasons);
/* Adds to the run's time of that phase; appends the phase if it is new. */
void result_add_phase(struct result *result, const char *name, double seconds);
/* Appends an empty case for the caller to fill; valid until the next call. */
struct case_result *result_add_case(struct result *result);
/* Appends a fact with a new name to the environment. */
void result_add_fact(struct result *result, const char *name, const char *value);
/* The setting `key` of [section] in the config; NULL: none. */
const struct result_setting *result_setting(const struct result *result, const char *section,
					    const char *key);
/* The value of `name` ("hostname") in the environment; NULL: none. */
const char *result_fact(const struct result *result, const char *name);
/* One metric of the host reference ("host.call"); NULL: not measured. */
const struct metric_value *result_yardstick(const struct result *result, const char *name);
/*
 * Names of node `first` and later nodes that ended the same way, "n3, n7 and 4 more", their number,
 * and true in `told` for each. The caller frees the string.
 */
char *result_nodes_ended_alike(const struct result *result, size_t first, bool *told,
			       size_t *count);
/*
 * The device with that id; NULL: none. Constant time if it is the device of the previous call or
 * the next one: cases are sorted by device, and a fleet has 80,000 devices.
 */
const struct device_info *result_device(const struct result *result, const char *id);
/* Largest number of launches of any metric; 1 without metrics. */
size_t result_launches(const struct result *result);
/* "transfer:label/h2d/pinned/512MiB": the case without its devices; the caller frees it. */
char *case_point(const struct case_result *c);
/* As case_point(), without the label of the section, as in populations; the caller frees it. */
char *case_point_without_label(const struct case_result *c);
/* "cuda:0,cuda:1"; malloc'ed. */
char *case_devices(const struct case_result *c);
/* True if both measure the same point, on any devices. */
bool cases_share_point(const struct case_result *a, const struct case_result *b);
/* True if the point has an axis of this name, or its axes are unknown. */
bool case_names_parameter(const struct case_result *c, const char *name);
/* Appends an axis to the point. */
void case_add_axis(struct case_result *c, const char *name, const char *value, bool labelled);
/*
 * For a series of a history, which has only the id: "transfer:label" and case_point(); the caller
 * frees both.
 */
void series_point_of_id(const char *id, char **section, char **point);
const struct metric_value *case_metric(const struct case_result *c, const char *name);
/* Faults that a suite injected to test detection; 0: none. */
struct injected_faults {
	/* `found`: of the injected ones; `wrong`: all wrong values */
	double injected, found, wrong;
};
/* From the metrics SUITE.injected, SUITE.found (a ratio) and SUITE.wrong. */
struct injected_faults case_injected_faults(const struct case_result *c);
/* True if faults were injected, each was found, and nothing else was wrong. */
bool case_wrong_is_injected(const struct case_result *c);
const struct series *case_series(const struct case_result *c, const char *name);
/*
 * True if the metric is not a steady-state value: its series is unsettled, or, for a timed metric
 * of several series (it has an interval but names none), any series of the case is.
 */
bool case_is_unsettled(const struct case_result *c, const struct metric_value *metric);
const struct case_parameter *case_parameter(const struct case_result *c, const char *name);
/* By the case's parameters, else by the metric's row; METRIC_TIMED if `row` is NULL. */
enum metric_kind metric_kind_of(const struct metric *row, const struct case_result *c);
/*
 * True if the config gave the case a binary size ("64MiB"): its bytes are shown as UNITS_BINARY
 * (base/units.h).
 */
bool case_asks_binary(const struct case_result *c);
/*
 * Unit of one of its metrics for people and tables: results store rates of integers in FLOP/s as
 * well, here they are "ops/s". Borrowed.
 */
const char *case_metric_unit(const struct case_result *c, const struct metric_value *m);
/* The same, with bytes by the rule of case_asks_binary(). */
const char *case_unit(const struct case_result *c, const struct metric_value *m);

/*
 * JSON. Names of metrics, series, parameters and facts are keys of JSON objects, so each must be
 * unique within its case (of repeated ones the last is written). Invalid UTF-8 is written as
 * U+FFFD. Every reader zeroes its target first, and leaves it empty on failure.
 */

/*
 * Reads a result; errors name the file and the JSON path. Ignores unknown members; rejects a newer
 * version and an inconsistent document (result_check.h).
 */
enum status result_read(struct result *result, const char *path, struct error *err);
/* As result_read(), with texts that many cases have in common stored once (base/memory.h). */
enum status result_read_summary(struct result *result, const char *path, struct error *err);
/* Reads a result without its cases and its judgement. */
enum status result_read_header(struct result *result, const char *path, struct error *err);
/* Reads a result from text. */
enum status result_from_json(struct result *result, const char *text, size_t length,
			     struct error *err);
/* As result_read_summary(), from text. */
enum status result_from_summary(struct result *result, const char *text, size_t length,
				struct error *err);
/*
 * Writes atomically: temporary file, fsync, rename. After a failure the old file is intact. Output
 * is deterministic.
 */
enum status result_write(const struct result *result, const char *path, struct error *err);
/* Reads DIRECTORY/result.json. */
enum status result_read_from(struct result *result, const char *directory, struct error *err);
enum status result_write_to(const struct result *result, const char *directory, struct error *err);
/*
 * The document as text; the caller frees it. Contains no '<', so it can be embedded in a page's
 * <script>.
 */
char *result_to_json(const struct result *result);
/* As result_to_json(), without line breaks, a tenth shorter: for pages. */
char *result_to_json_line(const struct result *result);

/*
 * A finished case as a single line of JSON, and back (journal and worker pipe). The caller checks
 * its consistency with case_result_check().
 */
char *case_result_to_json(const struct case_result *c);
enum status case_result_from_json(struct case_result *c, const char *text, size_t length,
				  struct error *err);
/* A lost worker as a single line, and back. */
char *lost_worker_to_json(const struct lost_worker *lost);
enum status lost_worker_from_json(struct lost_worker *lost, const char *text, size_t length,
				  struct error *err);
/* The result without its cases as a single line (the journal's header), and back. */
char *result_header_to_json(const struct result *result);
enum status result_header_from_json(struct result *result, const char *text, size_t length,
				    struct error *err);

#endif
