/* Members of the result document, in the order of writing. */
#include "result/result_fields.h"

#include "result/result.h"
#include "result/verdict.h"

static const char *const case_status_words[] = { "OK", "SKIPPED", "FAILED", "ERROR", NULL };
/* enum case_end */
static const char *const case_end_words[] = { "unknown",      "done", "unsupported", "interrupted",
					      "device-error", "hung", "crashed",     "refused",
					      "failed",       "lost", NULL };
static const char *const stop_words[] = { "converged", "stable",      "max_samples",
					  "max_time",  "interrupted", NULL };
const char *const better_words[] = { "higher", "lower", "none", NULL };
static const char *const interval_words[] = { "within", "typical", "launches", NULL };

static const char *const node_status_words[] = { "OK", "LOST", "ERROR", "INTERRUPTED", NULL };

const char *node_status_name(enum node_status status)
{
	return node_status_words[status];
}

const char *case_status_name(enum case_status status)
{
	return case_status_words[status];
}

#define STATISTIC(member)                                                           \
	{                                                                           \
		.name = #member, .codec = &codec_real, FIELD_AT(statistics, member) \
	}

static const struct field statistics_fields[] = {
	{ .name = "n", .codec = &codec_uint64, FIELD_AT(statistics, n) },
	STATISTIC(min),
	STATISTIC(p5),
	STATISTIC(q1),
	STATISTIC(median),
	STATISTIC(q3),
	STATISTIC(p95),
	STATISTIC(p99),
	STATISTIC(max),
	STATISTIC(low),
	STATISTIC(high),
	STATISTIC(mad),
	STATISTIC(relative_iqr),
	STATISTIC(autocorrelation),
	STATISTIC(drift),
	{ .name = "noisy", .codec = &codec_bool, FIELD_AT(statistics, noisy) },
	{ .name = "noise", .codec = &codec_chars, FIELD_AT(statistics, noise) },
	{ 0 },
};

static const struct field series_fields[] = {
	{ .name = "unit", .codec = &codec_chars, FIELD_AT(series, unit) },
	{ .name = "batch", .codec = &codec_unsigned, FIELD_AT(series, batch) },
	{ .name = "first", .codec = &codec_real, FIELD_AT(series, first) },
	{ .name = "stop", .codec = &codec_enum, FIELD_AT(series, stop), .words = stop_words },
	{ .name = "warmup", .codec = &codec_uint64, FIELD_AT(series, warmup), .optional = true },
	{ .name = "unsettled",
	  .codec = &codec_bool,
	  FIELD_AT(series, unsettled),
	  .optional = true },
	{ .name = "load", .codec = &codec_bool, FIELD_AT(series, load), .optional = true },
	{ .name = "values",
	  .codec = &codec_reals,
	  FIELD_COUNTED(series, samples, count),
	  FIELD_CAPACITY(series, capacity) },
	{ .name = "statistics",
	  .codec = &codec_object,
	  FIELD_AT(series, statistics),
	  .fields = statistics_fields },
	{ 0 },
};

static const char *const metric_kind_words[] = {
	[METRIC_TIMED] = "timed",
	[METRIC_HOST] = "host",
	[METRIC_EXACT] = "exact",
	[METRIC_OTHER] = "other",
	[METRIC_PEAK] = "peak",
	[METRIC_TENSOR] = "tensor",
	[METRIC_LINK] = "link",
	[METRIC_LOCAL] = "local",
	[METRIC_LAUNCH] = "launch",
	[METRIC_PAGEABLE] = "pageable",
	NULL,
};

static const struct field metric_fields[] = {
	{ .name = "value", .codec = &codec_real, FIELD_AT(metric_value, value) },
	{ .name = "unit", .codec = &codec_string, FIELD_AT(metric_value, unit) },
	{ .name = "better",
	  .codec = &codec_enum,
	  FIELD_AT(metric_value, better),
	  .words = better_words },
	{ .name = "headline", .codec = &codec_bool, FIELD_AT(metric_value, headline) },
	{ .name = "low", .codec = &codec_real, FIELD_AT(metric_value, low) },
	{ .name = "high", .codec = &codec_real, FIELD_AT(metric_value, high) },
	{ .name = "interval",
	  .codec = &codec_enum_or_none,
	  FIELD_AT(metric_value, interval),
	  .words = interval_words,
	  .optional = true },
	{ .name = "kind",
	  .codec = &codec_enum_or_none,
	  FIELD_AT(metric_value, kind),
	  .words = metric_kind_words,
	  .optional = true },
	{ .name = "within_low",
	  .codec = &codec_positive,
	  FIELD_AT(metric_value, within_low),
	  .optional = true },
	{ .name = "within_high",
	  .codec = &codec_positive,
	  FIELD_AT(metric_value, within_high),
	  .optional = true },
	{ .name = "n", .codec = &codec_uint64, FIELD_AT(metric_value, n) },
	{ .name = "series", .codec = &codec_string, FIELD_AT(metric_value, series) },
	{ .name = "amount",
	  .codec = &codec_positive,
	  FIELD_AT(metric_value, amount),
	  .optional = true },
	{ .name = "launches",
	  .codec = &codec_reals,
	  FIELD_COUNTED(metric_value, launches, launch_count),
	  .optional = true },
	{ 0 },
};

static const struct field timeline_fields[] = {
	{ .name = "rank", .codec = &codec_int, FIELD_AT(timeline_row, rank) },
	{ .name = "stream", .codec = &codec_string, FIELD_AT(timeline_row, stream) },
	{ .name = "operation", .codec = &codec_string, FIELD_AT(timeline_row, operation) },
	{ .name = "spans", .codec = &codec_reals, FIELD_COUNTED(timeline_row, spans, span_count) },
	{ 0 },
};

static const struct field verification_fields[] = {
	{ .name = "done", .codec = &codec_bool, FIELD_AT(verification, done) },
	{ .name = "method", .codec = &codec_string, FIELD_AT(verification, method) },
	{ .name = "error", .codec = &codec_real, FIELD_AT(verification, error) },
	{ .name = "tolerance", .codec = &codec_real, FIELD_AT(verification, tolerance) },
	{ 0 },
};

#define READING(member, codec_)                                                 \
	{                                                                       \
		.name = #member, .codec = &codec_, FIELD_AT(telemetry, member), \
		.unknown = UNKNOWN_NEGATIVE                                     \
	}

static const struct field telemetry_fields[] = {
	READING(sm_clock_hz, codec_real),
	READING(memory_clock_hz, codec_real),
	READING(power_watts, codec_real),
	READING(temperature_celsius, codec_real),
	READING(throttle_reasons, codec_int64),
	READING(ecc_corrected, codec_int64),
	READING(ecc_uncorrected, codec_int64),
	READING(pcie_generation, codec_int64),
	READING(pcie_width, codec_int64),
	READING(pcie_replays, codec_int64),
	READING(nvlink_errors, codec_int64),
	{ .name = "xid_errors",
	  .codec = &codec_int64,
	  FIELD_AT(telemetry, xid_errors),
	  .unknown = UNKNOWN_NEGATIVE,
	  .optional = true },
	{ .name = "xid",
	  .codec = &codec_int_or_none,
	  FIELD_AT(telemetry, xid),
	  .unknown = UNKNOWN_NEGATIVE,
	  .optional = true },
	{ 0 },
};

static const struct field span_fields[] = {
	{ .name = "min", .codec = &codec_real, FIELD_AT(telemetry_span, min) },
	{ .name = "median", .codec = &codec_real, FIELD_AT(telemetry_span, median) },
	{ .name = "max", .codec = &codec_real, FIELD_AT(telemetry_span, max) },
	{ 0 },
};

#define SPAN(member)                                                                         \
	{                                                                                    \
		.name = #member, .codec = &codec_object, FIELD_AT(telemetry_during, member), \
		.fields = span_fields                                                        \
	}
#define DIFFERENCE(member)                                                                  \
	{                                                                                   \
		.name = #member, .codec = &codec_int64, FIELD_AT(telemetry_during, member), \
		.unknown = UNKNOWN_NEGATIVE                                                 \
	}

static const struct field telemetry_during_fields[] = {
	{ .name = "readings", .codec = &codec_uint64, FIELD_AT(telemetry_during, readings) },
	{ .name = "interval", .codec = &codec_real, FIELD_AT(telemetry_during, interval) },
	SPAN(sm_clock_hz),
	SPAN(memory_clock_hz),
	SPAN(power_watts),
	SPAN(temperature_celsius),
	DIFFERENCE(throttle_reasons),
	{ .name = "throttled", .codec = &codec_uint64, FIELD_AT(telemetry_during, throttled) },
	DIFFERENCE(ecc_corrected),
	DIFFERENCE(ecc_uncorrected),
	DIFFERENCE(pcie_replays),
	DIFFERENCE(nvlink_errors),
	{ 0 },
};

#define OVER_TIME(member)                                                              \
	{                                                                              \
		.name = #member, .codec = &codec_reals,                                \
		FIELD_COUNTED(time_quantity, member, member##_count), .optional = true \
	}

static const struct field time_quantity_fields[] = {
	{ .name = "unit", .codec = &codec_string, FIELD_AT(time_quantity, unit) },
	OVER_TIME(lowest),
	OVER_TIME(mean),
	OVER_TIME(highest),
	{ 0 },
};

#define EVENT_PLACE(member)                                                           \
	{                                                                             \
		.name = #member, .codec = &codec_real, FIELD_AT(watch_event, member), \
		.optional = true                                                      \
	}

static const struct field watch_event_fields[] = {
	{ .name = "work", .codec = &codec_string, FIELD_AT(watch_event, work) },
	EVENT_PLACE(row),
	EVENT_PLACE(column),
	EVENT_PLACE(offset),
	EVENT_PLACE(multiprocessor),
	EVENT_PLACE(quarter),
	{ .name = "expected", .codec = &codec_string, FIELD_AT(watch_event, expected) },
	{ .name = "got", .codec = &codec_string, FIELD_AT(watch_event, got) },
	{ .name = "replicas", .codec = &codec_uint64, FIELD_AT(watch_event, replicas) },
	{ .name = "repeats", .codec = &codec_uint64, FIELD_AT(watch_event, repeats) },
	{ .name = "again", .codec = &codec_uint64, FIELD_AT(watch_event, again) },
	{ 0 },
};

static const struct field watch_fields[] = {
	{ .name = "uuid", .codec = &codec_string, FIELD_AT(watch, uuid) },
	{ .name = "offset", .codec = &codec_real, FIELD_AT(watch, offset), .optional = true },
	{ .name = "interval", .codec = &codec_real, FIELD_AT(watch, interval) },
	{ .name = "readings", .codec = &codec_uint64, FIELD_AT(watch, readings) },
	{ .name = "wrong", .codec = &codec_uint64, FIELD_AT(watch, wrong) },
	{ .name = "wrong_words", .codec = &codec_string, FIELD_AT(watch, wrong_words) },
	{ .name = "events",
	  .codec = &codec_array,
	  FIELD_COUNTED(watch, events, event_count),
	  FIELD_CAPACITY(watch, event_capacity),
	  .optional = true,
	  .fields = watch_event_fields },
	{ .name = "rate", .codec = &codec_real, FIELD_AT(watch, rate), .optional = true },
	{ .name = "verified_bytes",
	  .codec = &codec_real,
	  FIELD_AT(watch, verified_bytes),
	  .optional = true },
	{ .name = "quantities",
	  .codec = &codec_map,
	  FIELD_COUNTED(watch, quantities, quantity_count),
	  FIELD_CAPACITY(watch, quantity_capacity),
	  FIELD_KEY(time_quantity, name),
	  .fields = time_quantity_fields },
	{ 0 },
};

static const struct field case_telemetry_fields[] = {
	{ .name = "before",
	  .codec = &codec_object,
	  FIELD_AT(case_result, before),
	  .fields = telemetry_fields },
	{ .name = "after",
	  .codec = &codec_object,
	  FIELD_AT(case_result, after),
	  .fields = telemetry_fields },
	{ .name = "during",
	  .codec = &codec_object,
	  FIELD_AT(case_result, during),
	  .fields = telemetry_during_fields },
	{ 0 },
};

#define PARAMETERS(name_, codec_)                                       \
	{                                                               \
		.name = name_, .codec = &codec_,                        \
		FIELD_COUNTED(case_result, parameters, parameter_count) \
	}

static const struct field energy_fields[] = {
	{ .name = "name", .codec = &codec_string, FIELD_AT(energy_record, name) },
	{ .name = "began", .codec = &codec_real, FIELD_AT(energy_record, began) },
	{ .name = "ended", .codec = &codec_real, FIELD_AT(energy_record, ended) },
	{ .name = "first_update", .codec = &codec_real, FIELD_AT(energy_record, first_update) },
	{ .name = "last_update", .codec = &codec_real, FIELD_AT(energy_record, last_update) },
	{ .name = "joules", .codec = &codec_real, FIELD_AT(energy_record, joules) },
	{ .name = "low", .codec = &codec_real, FIELD_AT(energy_record, low) },
	{ .name = "high", .codec = &codec_real, FIELD_AT(energy_record, high) },
	{ 0 },
};

static const struct field phase_fields[] = {
	{ .name = "name", .codec = &codec_string, FIELD_AT(case_phase, name) },
	{ .name = "seconds", .codec = &codec_real, FIELD_AT(case_phase, seconds) },
	{ 0 },
};

const struct field lost_worker_fields[] = {
	{ .name = "reason", .codec = &codec_string, FIELD_AT(lost_worker, reason) },
	{ .name = "devices",
	  .codec = &codec_strings,
	  FIELD_COUNTED(lost_worker, devices, device_count) },
	{ 0 },
};

static const struct field axis_fields[] = {
	{ .name = "axis", .codec = &codec_string, FIELD_AT(case_axis, name) },
	{ .name = "value", .codec = &codec_string, FIELD_AT(case_axis, value) },
	{ .name = "labelled",
	  .codec = &codec_mark,
	  FIELD_AT(case_axis, labelled),
	  .optional = true },
	{ 0 },
};

static const struct field node_fields[] = {
	{ .name = "name", .codec = &codec_string, FIELD_AT(result_node, name) },
	{ .name = "status",
	  .codec = &codec_enum,
	  FIELD_AT(result_node, status),
	  .words = node_status_words },
	{ .name = "reason", .codec = &codec_string, FIELD_AT(result_node, reason) },
	{ .name = "lost_at", .codec = &codec_string, FIELD_AT(result_node, lost_at) },
	{ .name = "planned", .codec = &codec_uint64, FIELD_AT(result_node, planned) },
	{ .name = "finished", .codec = &codec_uint64, FIELD_AT(result_node, finished) },
	{ 0 },
};

const struct field case_fields[] = {
	{ .name = "suite", .codec = &codec_string, FIELD_AT(case_result, suite) },
	{ .name = "label", .codec = &codec_string, FIELD_AT(case_result, label) },
	{ .name = "stage",
	  .codec = &codec_enum_or_none,
	  FIELD_AT(case_result, stage),
	  .words = run_stage_names,
	  .optional = true },
	{ .name = "id", .codec = &codec_string, FIELD_AT(case_result, id) },
	{ .name = "node",
	  .codec = &codec_string_or_none,
	  FIELD_AT(case_result, node),
	  .optional = true },
	{ .name = "device", .codec = &codec_string, FIELD_AT(case_result, device) },
	{ .name = "devices",
	  .codec = &codec_strings,
	  FIELD_COUNTED(case_result, devices, device_count) },
	PARAMETERS("parameters", codec_parameters),
	/* After "parameters", which creates the entries that these two complete. */
	PARAMETERS("parameter_text", codec_parameter_text),
	PARAMETERS("parameter_units", codec_parameter_units),
	/* After all members that it is derived from if it is absent. */
	{ .name = "point",
	  .codec = &codec_point,
	  FIELD_COUNTED(case_result, point, point_count),
	  .optional = true,
	  .one_line = true,
	  .fields = axis_fields },
	{ .name = "status",
	  .codec = &codec_enum,
	  FIELD_AT(case_result, status),
	  .words = case_status_words },
	{ .name = "end",
	  .codec = &codec_enum_or_none,
	  FIELD_AT(case_result, end),
	  .words = case_end_words,
	  .optional = true },
	{ .name = "reason", .codec = &codec_string, FIELD_AT(case_result, reason) },
	{ .name = "failed_rank",
	  .codec = &codec_int_or_none,
	  FIELD_AT(case_result, failed_rank),
	  .unknown = UNKNOWN_NEGATIVE,
	  .optional = true },
	{ .name = "failed_device",
	  .codec = &codec_string_or_none,
	  FIELD_AT(case_result, failed_device),
	  .optional = true },
	{ .name = "failed_node",
	  .codec = &codec_string_or_none,
	  FIELD_AT(case_result, failed_node),
	  .optional = true },
	{ .name = "metrics",
	  .codec = &codec_map,
	  FIELD_COUNTED(case_result, metrics, metric_count),
	  FIELD_CAPACITY(case_result, metric_capacity),
	  FIELD_KEY(metric_value, name),
	  .fields = metric_fields },
	{ .name = "samples",
	  .codec = &codec_map,
	  FIELD_COUNTED(case_result, series, series_count),
	  FIELD_CAPACITY(case_result, series_capacity),
	  FIELD_KEY(series, name),
	  .fields = series_fields },
	{ .name = "timeline",
	  .codec = &codec_array,
	  FIELD_COUNTED(case_result, timeline, timeline_count),
	  .optional = true,
	  .one_line = true,
	  .fields = timeline_fields },
	{ .name = "verification",
	  .codec = &codec_object,
	  FIELD_AT(case_result, verification),
	  .one_line = true,
	  .fields = verification_fields },
	{ .name = "telemetry", .codec = &codec_object, .fields = case_telemetry_fields },
	{ .name = "watches",
	  .codec = &codec_map,
	  FIELD_COUNTED(case_result, watches, watch_count),
	  FIELD_CAPACITY(case_result, watch_capacity),
	  FIELD_KEY(watch, device),
	  .fields = watch_fields,
	  .optional = true },
	{ .name = "energy_windows",
	  .codec = &codec_array,
	  FIELD_COUNTED(case_result, energy, energy_count),
	  FIELD_CAPACITY(case_result, energy_capacity),
	  .optional = true,
	  .one_line = true,
	  .fields = energy_fields },
	{ .name = "notes", .codec = &codec_string, FIELD_AT(case_result, notes) },
	{ .name = "paths",
	  .codec = &codec_strings,
	  FIELD_COUNTED(case_result, paths, path_count),
	  .optional = true },
	{ .name = "phases",
	  .codec = &codec_array,
	  FIELD_COUNTED(case_result, phases, phase_count),
	  .optional = true,
	  .one_line = true,
	  .fields = phase_fields },
	{ .name = "lost_workers",
	  .codec = &codec_array,
	  FIELD_COUNTED(case_result, lost, lost_count),
	  FIELD_CAPACITY(case_result, lost_capacity),
	  .optional = true,
	  .one_line = true,
	  .fields = lost_worker_fields },
	{ .name = "started", .codec = &codec_real, FIELD_AT(case_result, started_seconds) },
	{ .name = "seconds", .codec = &codec_real, FIELD_AT(case_result, seconds) },
	{ 0 },
};

static const struct field gpuproof_fields[] = {
	{ .name = "version", .codec = &codec_string, FIELD_AT(result, gpuproof_version) },
	{ 0 },
};

static const struct field run_fields[] = {
	{ .name = "id", .codec = &codec_string, FIELD_AT(result, run_id) },
	{ .name = "label", .codec = &codec_string, FIELD_AT(result, label) },
	{ .name = "tags",
	  .codec = &codec_string_or_none,
	  FIELD_AT(result, tags),
	  .optional = true },
	{ .name = "started", .codec = &codec_string, FIELD_AT(result, started) },
	{ .name = "finished", .codec = &codec_string, FIELD_AT(result, finished) },
	{ .name = "seconds", .codec = &codec_real, FIELD_AT(result, seconds) },
	{ .name = "state", .codec = &codec_string, FIELD_AT(result, state) },
	{ .name = "command", .codec = &codec_string, FIELD_AT(result, command) },
	{ .name = "seed", .codec = &codec_int64, FIELD_AT(result, seed) },
	{ .name = "planned", .codec = &codec_uint64, FIELD_AT(result, planned) },
	{ .name = "samples_left_out",
	  .codec = &codec_bool,
	  FIELD_AT(result, samples_left_out),
	  .optional = true },
	{ 0 },
};

/* An environment is an object: name -> value. */
static const struct field fact_value[] = {
	{ .name = "value", .codec = &codec_string, FIELD_AT(fact, value) }, { 0 }
};

static const struct field setting_fields[] = {
	{ .name = "section", .codec = &codec_string, FIELD_AT(result_setting, section) },
	{ .name = "key", .codec = &codec_string, FIELD_AT(result_setting, key) },
	{ .name = "value", .codec = &codec_string, FIELD_AT(result_setting, value) },
	{ .name = "origin", .codec = &codec_string, FIELD_AT(result_setting, origin) },
	{ 0 },
};

static const struct field config_fields[] = {
	{ .name = "name", .codec = &codec_string, FIELD_AT(result, config_name) },
	{ .name = "text", .codec = &codec_string, FIELD_AT(result, config_text) },
	{ .name = "settings",
	  .codec = &codec_array,
	  FIELD_COUNTED(result, settings, setting_count),
	  .one_line = true,
	  .fields = setting_fields },
	{ 0 },
};

#define HEADER                                                                             \
	{ .name = "format", .codec = &codec_format, FIELD_AT(result, version) },           \
		{ .name = "version", .codec = &codec_int, FIELD_AT(result, version) },     \
		{ .name = "gpuproof", .codec = &codec_object, .fields = gpuproof_fields }, \
		{ .name = "run", .codec = &codec_object, .fields = run_fields },           \
		{ .name = "config", .codec = &codec_object, .fields = config_fields },     \
		{ .name = "presentation",                                                  \
		  .codec = &codec_map,                                                     \
		  FIELD_COUNTED(result, presentations, presentation_count),                \
		  FIELD_CAPACITY(result, presentation_capacity),                           \
		  FIELD_KEY(presentation, suite),                                          \
		  .fields = presentation_fields,                                           \
		  .optional = true },                                                      \
		{ .name = "environment",                                                   \
		  .codec = &codec_values,                                                  \
		  FIELD_COUNTED(result, environment, environment_count),                   \
		  FIELD_KEY(fact, name),                                                   \
		  .fields = fact_value },                                                  \
		{ .name = "yardstick",                                                     \
		  .codec = &codec_map,                                                     \
		  FIELD_COUNTED(result, yardstick, yardstick_count),                       \
		  FIELD_CAPACITY(result, yardstick_capacity),                              \
		  FIELD_KEY(metric_value, name),                                           \
		  .fields = metric_fields,                                                 \
		  .optional = true },                                                      \
		{ .name = "devices",                                                       \
		  .codec = &codec_array,                                                   \
		  FIELD_COUNTED(result, devices, device_count),                            \
		  .fields = device_info_fields },                                          \
		{ .name = "nodes",                                                         \
		  .codec = &codec_array,                                                   \
		  FIELD_COUNTED(result, nodes, node_count),                                \
		  FIELD_CAPACITY(result, node_capacity),                                   \
		  .one_line = true,                                                        \
		  .fields = node_fields,                                                   \
		  .optional = true },                                                      \
		{ .name = "phases",                                                        \
		  .codec = &codec_array,                                                   \
		  FIELD_COUNTED(result, phases, phase_count),                              \
		  FIELD_CAPACITY(result, phase_capacity),                                  \
		  .one_line = true,                                                        \
		  .fields = phase_fields,                                                  \
		  .optional = true },                                                      \
		{ .name = "preflight",                                                     \
		  .codec = &codec_array,                                                   \
		  FIELD_COUNTED(result, preflight, preflight_count),                       \
		  .one_line = true,                                                        \
		  .fields = finding_fields,                                                \
		  .optional = true },                                                      \
	{                                                                                  \
		.name = "postflight", .codec = &codec_array,                               \
		FIELD_COUNTED(result, postflight, postflight_count), .one_line = true,     \
		.fields = finding_fields, .optional = true                                 \
	}

const struct field result_header_fields[] = { HEADER, { 0 } };

const struct field result_fields[] = {
	HEADER,
	{ .name = "cases",
	  .codec = &codec_array,
	  FIELD_COUNTED(result, cases, case_count),
	  FIELD_CAPACITY(result, case_capacity),
	  .fields = case_fields },
	/* After the cases that it refers to. */
	{ .name = "judgement",
	  .codec = &codec_pointer,
	  FIELD_AT(result, judgement),
	  .element_size = sizeof(struct verdicts),
	  .optional = true,
	  .fields = judgement_fields },
	{ 0 },
};
