/* Members of the result document, in the order of writing. */
#include "result/result_fields.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
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

static const struct field statistics_fields[] = {
	FIELD(statistics, n, uint64),
	FIELD(statistics, min, real),
	FIELD(statistics, p5, real),
	FIELD(statistics, q1, real),
	FIELD(statistics, median, real),
	FIELD(statistics, q3, real),
	FIELD(statistics, p95, real),
	FIELD(statistics, p99, real),
	FIELD(statistics, max, real),
	FIELD(statistics, low, real),
	FIELD(statistics, high, real),
	FIELD(statistics, mad, real),
	FIELD(statistics, relative_iqr, real),
	FIELD(statistics, autocorrelation, real),
	FIELD(statistics, drift, real),
	FIELD(statistics, noisy, bool),
	FIELD(statistics, noise, chars, .publish = PUBLISH_KEEP),
	{ 0 },
};

const struct field series_fields[] = {
	FIELD(series, unit, chars, .publish = PUBLISH_KEEP),
	FIELD(series, batch, unsigned),
	FIELD(series, first, real),
	FIELD(series, stop, enum, .words = stop_words),
	FIELD(series, warmup, uint64, .optional = true),
	FIELD(series, unsettled, bool, .optional = true),
	FIELD(series, load, bool, .optional = true),
	FIELD_LIST("values", series, samples, count, reals, FIELD_CAPACITY(series, capacity)),
	FIELD(series, statistics, object, .fields = statistics_fields),
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

const struct field metric_fields[] = {
	FIELD(metric_value, value, real),
	FIELD(metric_value, unit, string, .shared = true, .publish = PUBLISH_KEEP),
	FIELD(metric_value, better, enum, .words = better_words),
	FIELD(metric_value, headline, bool),
	FIELD(metric_value, low, real),
	FIELD(metric_value, high, real),
	FIELD(metric_value, interval, enum, .words = interval_words, .omitted = true),
	FIELD(metric_value, kind, enum, .words = metric_kind_words, .omitted = true),
	FIELD(metric_value, within_low, real, .unknown = UNKNOWN_ZERO, .omitted = true),
	FIELD(metric_value, within_high, real, .unknown = UNKNOWN_ZERO, .omitted = true),
	FIELD(metric_value, n, uint64),
	FIELD(metric_value, series, string, .shared = true, .publish = PUBLISH_KEEP),
	FIELD(metric_value, amount, real, .unknown = UNKNOWN_ZERO, .omitted = true),
	FIELD_LIST("launches", metric_value, launches, launch_count, reals, .omitted = true),
	{ 0 },
};

static const struct field timeline_fields[] = {
	FIELD(timeline_row, rank, int),
	FIELD(timeline_row, stream, string, .publish = PUBLISH_KEEP),
	FIELD(timeline_row, operation, string, .publish = PUBLISH_KEEP),
	FIELD_LIST("spans", timeline_row, spans, span_count, reals),
	{ 0 },
};

static const struct field verification_fields[] = {
	FIELD(verification, done, bool),
	FIELD(verification, method, string, .shared = true, .publish = PUBLISH_LEFT_OUT),
	FIELD(verification, error, real),
	FIELD(verification, tolerance, real),
	{ 0 },
};

static const struct field telemetry_fields[] = {
	FIELD(telemetry, sm_clock_hz, real),
	FIELD(telemetry, memory_clock_hz, real),
	FIELD(telemetry, power_watts, real),
	FIELD(telemetry, temperature_celsius, real),
	FIELD(telemetry, throttle_reasons, int64, .unknown = UNKNOWN_NEGATIVE),
	FIELD(telemetry, ecc_corrected, int64, .unknown = UNKNOWN_NEGATIVE),
	FIELD(telemetry, ecc_uncorrected, int64, .unknown = UNKNOWN_NEGATIVE),
	FIELD(telemetry, pcie_generation, int64, .unknown = UNKNOWN_NEGATIVE),
	FIELD(telemetry, pcie_width, int64, .unknown = UNKNOWN_NEGATIVE),
	FIELD(telemetry, pcie_replays, int64, .unknown = UNKNOWN_NEGATIVE),
	FIELD(telemetry, nvlink_errors, int64, .unknown = UNKNOWN_NEGATIVE),
	FIELD(telemetry, xid_errors, int64, .unknown = UNKNOWN_NEGATIVE, .optional = true),
	FIELD(telemetry, xid, int, .unknown = UNKNOWN_NEGATIVE, .omitted = true),
	{ 0 },
};

static const struct field span_fields[] = {
	FIELD(telemetry_span, min, real),
	FIELD(telemetry_span, median, real),
	FIELD(telemetry_span, max, real),
	{ 0 },
};

const struct field telemetry_during_fields[] = {
	FIELD(telemetry_during, readings, uint64),
	FIELD(telemetry_during, interval, real),
	FIELD(telemetry_during, sm_clock_hz, object, .fields = span_fields),
	FIELD(telemetry_during, memory_clock_hz, object, .fields = span_fields),
	FIELD(telemetry_during, power_watts, object, .fields = span_fields),
	FIELD(telemetry_during, temperature_celsius, object, .fields = span_fields),
	FIELD(telemetry_during, throttle_reasons, int64, .unknown = UNKNOWN_NEGATIVE),
	FIELD(telemetry_during, throttled, uint64),
	FIELD(telemetry_during, ecc_corrected, int64, .unknown = UNKNOWN_NEGATIVE),
	FIELD(telemetry_during, ecc_uncorrected, int64, .unknown = UNKNOWN_NEGATIVE),
	FIELD(telemetry_during, pcie_replays, int64, .unknown = UNKNOWN_NEGATIVE),
	FIELD(telemetry_during, nvlink_errors, int64, .unknown = UNKNOWN_NEGATIVE),
	{ 0 },
};

const struct field time_quantity_fields[] = {
	FIELD(time_quantity, unit, string, .publish = PUBLISH_KEEP),
	FIELD_LIST("lowest", time_quantity, lowest, lowest_count, reals, .omitted = true),
	FIELD_LIST("mean", time_quantity, mean, mean_count, reals, .omitted = true),
	FIELD_LIST("highest", time_quantity, highest, highest_count, reals, .omitted = true),
	{ 0 },
};

static const struct field watch_event_fields[] = {
	FIELD(watch_event, work, string, .publish = PUBLISH_KEEP),
	FIELD(watch_event, row, real, .optional = true),
	FIELD(watch_event, column, real, .optional = true),
	FIELD(watch_event, offset, real, .optional = true),
	FIELD(watch_event, multiprocessor, real, .optional = true),
	FIELD(watch_event, quarter, real, .optional = true),
	FIELD(watch_event, expected, string, .publish = PUBLISH_KEEP),
	FIELD(watch_event, got, string, .publish = PUBLISH_KEEP),
	FIELD(watch_event, replicas, uint64),
	FIELD(watch_event, repeats, uint64),
	FIELD(watch_event, again, uint64),
	{ 0 },
};

const struct field watch_fields[] = {
	FIELD(watch, uuid, string, .publish = PUBLISH_NAME, .kind = "uuid"),
	FIELD(watch, offset, real, .optional = true),
	FIELD(watch, interval, real),
	FIELD(watch, readings, uint64),
	FIELD(watch, wrong, uint64),
	FIELD(watch, wrong_words, string, .publish = PUBLISH_LEFT_OUT),
	FIELD_LIST("events", watch, events, event_count, array,
		   FIELD_CAPACITY(watch, event_capacity), .fields = watch_event_fields,
		   .omitted = true),
	FIELD(watch, rate, real, .optional = true),
	FIELD(watch, verified_bytes, real, .optional = true),
	FIELD_LIST("quantities", watch, quantities, quantity_count, map,
		   FIELD_CAPACITY(watch, quantity_capacity), FIELD_KEY(time_quantity, name),
		   .fields = time_quantity_fields),
	{ 0 },
};

static const struct field case_telemetry_fields[] = {
	FIELD(case_result, before, object, .fields = telemetry_fields),
	FIELD(case_result, after, object, .fields = telemetry_fields),
	FIELD(case_result, during, object, .fields = telemetry_during_fields),
	{ 0 },
};

static const struct field energy_fields[] = {
	FIELD(energy_record, name, string, .publish = PUBLISH_KEEP),
	FIELD(energy_record, began, real),
	FIELD(energy_record, ended, real),
	FIELD(energy_record, first_update, real),
	FIELD(energy_record, last_update, real),
	FIELD(energy_record, joules, real),
	FIELD(energy_record, low, real),
	FIELD(energy_record, high, real),
	{ 0 },
};

static const struct field phase_fields[] = {
	FIELD(case_phase, name, string, .publish = PUBLISH_KEEP),
	FIELD(case_phase, seconds, real),
	{ 0 },
};

const struct field lost_worker_fields[] = {
	FIELD(lost_worker, reason, string, .publish = PUBLISH_LEFT_OUT),
	FIELD_LIST("devices", lost_worker, devices, device_count, strings, .publish = PUBLISH_KEEP),
	{ 0 },
};

static const struct field axis_fields[] = {
	FIELD_NAMED("axis", case_axis, name, string, .shared = true, .publish = PUBLISH_KEEP),
	FIELD(case_axis, value, string, .shared = true, .publish = PUBLISH_KEEP),
	FIELD(case_axis, labelled, bool, .omitted = true),
	{ 0 },
};

static const struct field node_fields[] = {
	FIELD(result_node, name, string, .publish = PUBLISH_NAME, .kind = "node"),
	FIELD(result_node, status, enum, .words = node_status_words),
	FIELD(result_node, reason, string, .publish = PUBLISH_LEFT_OUT),
	FIELD(result_node, lost_at, string, .publish = PUBLISH_CASE),
	FIELD(result_node, planned, uint64),
	FIELD(result_node, finished, uint64),
	{ 0 },
};

/* Reads r->string at a path to a copy that is shared if the reader shares. */
static char *result_fields_member_text(const struct json_reader *r)
{
	char *text = text_harmless(r->string.data);

	if (r->share)
		memory_shared_text(&text);
	return text;
}

static void result_fields_member_parameters_write(struct json_writer *w, const struct field *f,
						  const void *base)
{
	const struct case_result *c = base;

	(void)f;
	writer_open_inline(w, '{');
	for (size_t i = 0; i < c->parameter_count; i++) {
		writer_key(w, c->parameters[i].name);
		if (isfinite(c->parameters[i].number))
			writer_real(w, c->parameters[i].number);
		else
			writer_text(w, c->parameters[i].text);
	}
	writer_close(w, '}');
}

static enum status result_fields_member_parameters_read(struct json_reader *r,
							const struct field *f, void *base,
							const struct json_path *path)
{
	struct case_result *c = base;

	if (!json_reader_take(r, '{'))
		return json_fields_path_error(path, r->err, "expected an object");
	for (size_t i = 0; json_reader_member(r, i); i++) {
		struct case_parameter *parameter = json_fields_append(f, base);
		struct json_number number = { .value = (double)NAN };
		char *name = result_fields_member_text(r);
		struct json_path here = { path, name, 0 };

		parameter->name = name;
		if (case_parameter(c, parameter->name) != parameter)
			return json_fields_path_error(&here, r->err, "is repeated");
		if (json_reader_at_number(r))
			json_reader_number(r, &number);
		else if (json_reader_peek(r) != '"')
			return json_fields_path_error(&here, r->err,
						      "expected a number or a string");
		else if (json_reader_string(r) == STATUS_OK)
			parameter->text = result_fields_member_text(r);
		parameter->number = number.value;
	}
	return r->err->status;
}

static void result_fields_member_parameters_release(const struct field *f, void *base)
{
	struct case_result *c = base;

	(void)f;
	for (size_t i = 0; i < c->parameter_count; i++) {
		memory_shared_text_free(c->parameters[i].name);
		memory_shared_text_free(c->parameters[i].text);
		memory_shared_text_free(c->parameters[i].unit);
	}
	free(c->parameters);
}

/* The string member of a parameter that the row describes. */
static char **result_fields_parameter_string(const struct field *f, const struct case_parameter *p)
{
	return (char **)(void *)((char *)(uintptr_t)p + f->key_offset);
}

/* Text values are their own text; units are left out where there are none. */
static void result_fields_parameter_strings_write(struct json_writer *w, const struct field *f,
						  const void *base)
{
	const struct case_result *c = base;

	writer_open_inline(w, '{');
	for (size_t i = 0; i < c->parameter_count; i++) {
		const struct case_parameter *p = &c->parameters[i];
		const char *string = *result_fields_parameter_string(f, p);

		if (f->key_offset == offsetof(struct case_parameter, text) ? !isfinite(p->number)
									   : !string || !*string)
			continue;
		writer_text_member(w, p->name, string);
	}
	writer_close(w, '}');
}

static enum status result_fields_parameter_strings_read(struct json_reader *r,
							const struct field *f, void *base,
							const struct json_path *path)
{
	struct case_result *c = base;

	if (!json_reader_take(r, '{'))
		return json_fields_path_error(path, r->err, "expected an object");
	for (size_t i = 0; json_reader_member(r, i); i++) {
		const struct case_parameter *p = case_parameter(c, r->string.data);
		struct json_path here = { path, p ? p->name : "", 0 };

		if (!p)
			json_reader_skip(r);
		else if (json_reader_peek(r) != '"')
			return json_fields_path_error(&here, r->err, "expected a string");
		else if (json_reader_string(r) == STATUS_OK &&
			 !*result_fields_parameter_string(f, p))
			*result_fields_parameter_string(f, p) = result_fields_member_text(r);
	}
	for (size_t i = 0; i < c->parameter_count; i++)
		if (!*result_fields_parameter_string(f, &c->parameters[i]))
			*result_fields_parameter_string(f, &c->parameters[i]) = xstrdup("");
	return r->err->status;
}

/*
 * struct case_parameter *: {"size": 67108864, "direction": "h2d"}; for numbers also text and unit,
 * by FIELD_KEY.
 */
static const struct codec codec_parameters = { result_fields_member_parameters_write,
					       result_fields_member_parameters_read,
					       .release = result_fields_member_parameters_release };
static const struct codec codec_parameter_strings = { result_fields_parameter_strings_write,
						      result_fields_parameter_strings_read };

const struct field case_fields[] = {
	FIELD(case_result, suite, string, .shared = true, .publish = PUBLISH_KEEP),
	FIELD(case_result, label, string, .shared = true, .publish = PUBLISH_LABEL,
	      .kind = "label"),
	FIELD(case_result, stage, enum, .words = run_stage_names, .omitted = true),
	FIELD(case_result, id, string, .publish = PUBLISH_CASE),
	FIELD(case_result, node, string, .shared = true, .omitted = true, .publish = PUBLISH_NAME,
	      .kind = "node"),
	FIELD(case_result, device, string, .shared = true, .publish = PUBLISH_KEEP),
	FIELD_LIST("devices", case_result, devices, device_count, strings, .shared = true,
		   .publish = PUBLISH_KEEP),
	FIELD_LIST("parameters", case_result, parameters, parameter_count, parameters,
		   .publish = PUBLISH_KEEP),
	/* "parameters" creates the entries that these two complete. */
	FIELD_NAMED("parameter_text", case_result, parameters, parameter_strings,
		    FIELD_KEY(case_parameter, text), .late = true, .publish = PUBLISH_KEEP),
	FIELD_NAMED("parameter_units", case_result, parameters, parameter_strings,
		    FIELD_KEY(case_parameter, unit), .late = true, .publish = PUBLISH_KEEP),
	FIELD_LIST("point", case_result, point, point_count, array, .one_line = true,
		   .fields = axis_fields, .omitted = true),
	FIELD(case_result, status, enum, .words = case_status_words),
	FIELD(case_result, end, enum, .words = case_end_words, .omitted = true),
	FIELD(case_result, reason, string, .publish = PUBLISH_LEFT_OUT),
	FIELD(case_result, failed_rank, int, .unknown = UNKNOWN_NEGATIVE, .omitted = true),
	FIELD(case_result, failed_device, string, .omitted = true, .publish = PUBLISH_KEEP),
	FIELD(case_result, failed_node, string, .omitted = true, .publish = PUBLISH_NAME,
	      .kind = "node"),
	FIELD_LIST("metrics", case_result, metrics, metric_count, map,
		   FIELD_CAPACITY(case_result, metric_capacity), FIELD_KEY(metric_value, name),
		   .shared = true, .fields = metric_fields),
	FIELD_LIST("samples", case_result, series, series_count, map,
		   FIELD_CAPACITY(case_result, series_capacity), FIELD_KEY(series, name),
		   .shared = true, .fields = series_fields),
	FIELD_LIST("timeline", case_result, timeline, timeline_count, array, .one_line = true,
		   .fields = timeline_fields, .omitted = true),
	FIELD(case_result, verification, object, .one_line = true, .fields = verification_fields),
	{ .name = "telemetry", .codec = &codec_object, .fields = case_telemetry_fields },
	FIELD_LIST("watches", case_result, watches, watch_count, map,
		   FIELD_CAPACITY(case_result, watch_capacity), FIELD_KEY(watch, device),
		   .fields = watch_fields, .omitted = true),
	FIELD_LIST("energy_windows", case_result, energy, energy_count, array,
		   FIELD_CAPACITY(case_result, energy_capacity), .one_line = true,
		   .fields = energy_fields, .omitted = true),
	FIELD(case_result, notes, string, .shared = true, .publish = PUBLISH_DROP),
	FIELD_LIST("paths", case_result, paths, path_count, strings, .omitted = true,
		   .publish = PUBLISH_KEEP),
	FIELD_LIST("phases", case_result, phases, phase_count, array, .one_line = true,
		   .fields = phase_fields, .omitted = true),
	FIELD_LIST("lost_workers", case_result, lost, lost_count, array,
		   FIELD_CAPACITY(case_result, lost_capacity), .one_line = true,
		   .fields = lost_worker_fields, .omitted = true),
	FIELD_NAMED("started", case_result, started_seconds, real),
	FIELD(case_result, seconds, real),
	{ 0 },
};

static const struct field gpuproof_fields[] = {
	FIELD_NAMED("version", result, gpuproof_version, string, .publish = PUBLISH_KEEP),
	{ 0 },
};

static const struct field run_fields[] = {
	FIELD_NAMED("id", result, run_id, string, .publish = PUBLISH_NAME, .kind = "run"),
	FIELD(result, label, string, .publish = PUBLISH_NAME, .kind = "label"),
	FIELD(result, tags, string, .omitted = true, .publish = PUBLISH_NAME, .kind = "tags"),
	FIELD(result, started, string, .publish = PUBLISH_KEEP),
	FIELD(result, finished, string, .publish = PUBLISH_KEEP),
	FIELD(result, seconds, real),
	FIELD(result, state, string, .publish = PUBLISH_KEEP),
	FIELD(result, command, string, .publish = PUBLISH_DROP),
	FIELD(result, seed, int64),
	FIELD(result, planned, uint64),
	FIELD(result, samples_left_out, bool, .optional = true),
	{ 0 },
};

/* An environment is an object: name -> value. */
static const struct field fact_value[] = { FIELD(fact, value, string, .publish = PUBLISH_FACT),
					   { 0 } };

static const struct field setting_fields[] = {
	FIELD(result_setting, section, string, .publish = PUBLISH_SECTION),
	FIELD(result_setting, key, string, .publish = PUBLISH_KEEP),
	FIELD(result_setting, value, string, .publish = PUBLISH_VALUE),
	FIELD(result_setting, origin, string, .publish = PUBLISH_FILE),
	{ 0 },
};

static const struct field config_fields[] = {
	FIELD_NAMED("name", result, config_name, string, .publish = PUBLISH_FILE),
	FIELD_NAMED("text", result, config_text, string, .publish = PUBLISH_INI),
	FIELD_LIST("settings", result, settings, setting_count, array, .one_line = true,
		   .fields = setting_fields),
	{ 0 },
};

static void result_fields_format_write(struct json_writer *w, const struct field *f,
				       const void *base)
{
	(void)f;
	(void)base;
	writer_text(w, RESULT_FORMAT);
}

/* result_json.c has checked it before. */
static enum status result_fields_format_read(struct json_reader *r, const struct field *f,
					     void *base, const struct json_path *path)
{
	(void)f;
	(void)base;
	(void)path;
	return json_reader_skip(r);
}

/* First member of the document. */
static const struct codec codec_format = { result_fields_format_write, result_fields_format_read };

#define HEADER                                                                             \
	FIELD_NAMED("format", result, version, format, .publish = PUBLISH_KEEP),           \
		FIELD(result, version, int),                                               \
		{ .name = "gpuproof", .codec = &codec_object, .fields = gpuproof_fields }, \
		{ .name = "run", .codec = &codec_object, .fields = run_fields },           \
		{ .name = "config", .codec = &codec_object, .fields = config_fields },     \
		FIELD_LIST("presentation", result, presentations, presentation_count, map, \
			   FIELD_CAPACITY(result, presentation_capacity),                  \
			   FIELD_KEY(presentation, suite), .fields = presentation_fields,  \
			   .omitted = true),                                               \
		FIELD_LIST("environment", result, environment, environment_count, values,  \
			   FIELD_KEY(fact, name), .fields = fact_value),                   \
		FIELD_LIST("yardstick", result, yardstick, yardstick_count, map,           \
			   FIELD_CAPACITY(result, yardstick_capacity),                     \
			   FIELD_KEY(metric_value, name), .fields = metric_fields,         \
			   .omitted = true),                                               \
		FIELD_LIST("devices", result, devices, device_count, array,                \
			   .fields = device_info_fields),                                  \
		FIELD_LIST("nodes", result, nodes, node_count, array,                      \
			   FIELD_CAPACITY(result, node_capacity), .one_line = true,        \
			   .fields = node_fields, .omitted = true),                        \
		FIELD_LIST("phases", result, phases, phase_count, array,                   \
			   FIELD_CAPACITY(result, phase_capacity), .one_line = true,       \
			   .fields = phase_fields, .omitted = true),                       \
		FIELD_LIST("preflight", result, preflight, preflight_count, array,         \
			   .one_line = true, .fields = finding_fields, .omitted = true),   \
		FIELD_LIST("postflight", result, postflight, postflight_count, array,      \
			   .one_line = true, .fields = finding_fields, .omitted = true)

const struct field result_header_fields[] = { HEADER, { 0 } };

const struct field result_fields[] = {
	HEADER,
	FIELD_LIST("cases", result, cases, case_count, array, FIELD_CAPACITY(result, case_capacity),
		   .fields = case_fields),
	/* After the cases that it refers to. */
	FIELD(result, judgement, pointer, .element_size = sizeof(struct verdicts),
	      .fields = judgement_fields, .omitted = true),
	{ 0 },
};
