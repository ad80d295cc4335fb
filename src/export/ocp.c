#include "export/ocp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "export/export.h"
#include "result/json/json_writer.h"
#include "result/outcome.h"
#include "result/verdict.h"

static struct json_writer ocp_begin_line(struct ocp_stream *s, double after)
{
	struct json_writer w = { 0 };
	struct tm tm = { 0 };
	char now[32];
	time_t at;

	if (s->live || !strptime(export_string(s->result->started), "%Y-%m-%dT%H:%M:%SZ", &tm)) {
		clock_iso8601(now, sizeof(now));
	} else {
		at = timegm(&tm) + (time_t)(isfinite(after) && after > 0 ? after : 0);
		gmtime_r(&at, &tm);
		strftime(now, sizeof(now), "%Y-%m-%dT%H:%M:%SZ", &tm);
	}
	writer_open(&w, '{');
	writer_count_member(&w, "sequenceNumber", s->sequence++);
	writer_text_member(&w, "timestamp", now);
	return w;
}

static void ocp_end_line(struct ocp_stream *s, struct json_writer *w)
{
	writer_close(w, '}');
	export_json(w, s->out);
	text_add_char(s->out, '\n');
}

/* Starts a line of the run; ocp_end_artifact() ends it. */
static struct json_writer ocp_begin_of_run(struct ocp_stream *s, double after, const char *kind)
{
	struct json_writer w = ocp_begin_line(s, after);

	writer_open_member(&w, "testRunArtifact", '{');
	writer_open_member(&w, kind, '{');
	return w;
}

/* Starts a line of the current step; ocp_end_artifact() ends it. */
static struct json_writer ocp_begin_of_step(struct ocp_stream *s, double after, const char *kind)
{
	struct json_writer w = ocp_begin_line(s, after);
	char id[24];

	snprintf(id, sizeof(id), "%zu", s->steps);
	writer_open_member(&w, "testStepArtifact", '{');
	writer_text_member(&w, "testStepId", id);
	writer_open_member(&w, kind, '{');
	return w;
}

static void ocp_end_artifact(struct ocp_stream *s, struct json_writer *w)
{
	writer_close(w, '}');
	writer_close(w, '}');
	ocp_end_line(s, w);
}

/* Writes a line with two texts; an empty second one is left out. */
static void ocp_write_texts(struct ocp_stream *s, struct json_writer w, const char *first,
			    const char *a, const char *second, const char *b)
{
	writer_text_member(&w, first, a);
	if (second && *export_string(b))
		writer_text_member(&w, second, b);
	ocp_end_artifact(s, &w);
}

static void ocp_begin_step(struct ocp_stream *s, double after, const char *name)
{
	s->steps++;
	ocp_write_texts(s, ocp_begin_of_step(s, after, "testStepStart"), "name", name, NULL, NULL);
}

static void ocp_end_step(struct ocp_stream *s, double after, const char *status)
{
	ocp_write_texts(s, ocp_begin_of_step(s, after, "testStepEnd"), "status", status, NULL,
			NULL);
}

static void ocp_write_hardware(struct json_writer *w, const struct device_info *d)
{
	char *location = xasprintf("%s%s%s", d->id, *d->pci ? " " : "", d->pci);

	writer_open(w, '{');
	writer_text_member(w, "hardwareInfoId", d->id);
	writer_text_member(w, "name", d->name);
	writer_text_member(w, "partType", device_is_host(d) ? "CPU" : "GPU");
	if (*d->serial)
		writer_text_member(w, "serialNumber", d->serial);
	writer_text_member(w, "location", location);
	writer_close(w, '}');
	free(location);
}

static void ocp_write_software(struct json_writer *w, const char *name, const char *version,
			       const char *type)
{
	if (!*version)
		return;
	writer_open(w, '{');
	writer_text_member(w, "softwareInfoId", name);
	writer_text_member(w, "name", name);
	writer_text_member(w, "version", version);
	writer_text_member(w, "softwareType", type);
	writer_close(w, '}');
}

/* Writes the host, its devices and their software. */
static void ocp_write_machine(struct json_writer *w, const struct result *r)
{
	static const char *const software[][2] = {
		{ "os", "SYSTEM" },          { "kernel", "SYSTEM" },        { "driver", "SYSTEM" },
		{ "cuda_driver", "SYSTEM" }, { "cuda_runtime", "SYSTEM" },  { "cublas", "SYSTEM" },
		{ "nccl", "SYSTEM" },        { "compiler", "APPLICATION" },
	};
	const char *host = export_fact(r, "hostname");

	writer_open_member(w, "dutInfo", '{');
	writer_text_member(w, "dutInfoId", *host ? host : "machine");
	if (*host)
		writer_text_member(w, "name", host);
	writer_open_member(w, "softwareInfos", '[');
	ocp_write_software(w, "gpuproof", export_string(r->gpuproof_version), "APPLICATION");
	for (size_t i = 0; i < ARRAY_SIZE(software); i++)
		ocp_write_software(w, software[i][0], export_fact(r, software[i][0]),
				   software[i][1]);
	writer_close(w, ']');
	writer_open_member(w, "hardwareInfos", '[');
	for (size_t i = 0; i < r->device_count; i++)
		ocp_write_hardware(w, &r->devices[i]);
	writer_close(w, ']');
	writer_open_member(w, "metadata", '{');
	for (size_t i = 0; i < r->device_count; i++)
		if (*r->devices[i].uuid)
			writer_text_member(w, r->devices[i].id, r->devices[i].uuid);
	writer_close(w, '}');
	writer_close(w, '}');
}

void ocp_begin(struct ocp_stream *s, const struct result *header)
{
	struct json_writer w;

	s->result = header;
	w = ocp_begin_line(s, 0);
	writer_open_member(&w, "schemaVersion", '{');
	writer_count_member(&w, "major", 2);
	writer_count_member(&w, "minor", 0);
	writer_close(&w, '}');
	ocp_end_line(s, &w);
	w = ocp_begin_of_run(s, 0, "testRunStart");
	writer_text_member(&w, "name", export_string(header->config_name));
	writer_text_member(&w, "version", export_string(header->gpuproof_version));
	writer_text_member(&w, "commandLine", export_string(header->command));
	writer_open_member(&w, "parameters", '{');
	for (size_t i = 0; i < header->setting_count; i++) {
		char *name =
			xasprintf("%s.%s", header->settings[i].section, header->settings[i].key);

		writer_text_member(&w, name, header->settings[i].value);
		free(name);
	}
	writer_close(&w, '}');
	ocp_write_machine(&w, header);
	writer_open_member(&w, "metadata", '{');
	writer_text_member(&w, "run", export_string(header->run_id));
	writer_text_member(&w, "label", export_string(header->label));
	writer_close(&w, '}');
	ocp_end_artifact(s, &w);
}

/* Left out if the result does not describe the device. */
static void ocp_write_device(struct ocp_stream *s, struct json_writer *w, const char *device)
{
	if (result_device(s->result, device))
		writer_text_member(w, "hardwareInfoId", device);
}

static void ocp_write_metric(struct ocp_stream *s, double after, const struct case_result *c,
			     const struct metric_value *m)
{
	struct json_writer w;

	if (!isfinite(m->value))
		return;
	w = ocp_begin_of_step(s, after, "measurement");
	writer_text_member(&w, "name", m->name);
	writer_real_member(&w, "value", m->value);
	writer_text_member(&w, "unit", m->unit);
	ocp_write_device(s, &w, export_string(c->device));
	writer_open_member(&w, "metadata", '{');
	if (isfinite(m->low) && isfinite(m->high)) {
		writer_real_member(&w, "low", m->low);
		writer_real_member(&w, "high", m->high);
	}
	writer_count_member(&w, "n", m->n);
	if (case_is_unsettled(c, m))
		writer_bool_member(&w, "settled", false);
	writer_close(&w, '}');
	ocp_end_artifact(s, &w);
}

static void ocp_write_diagnosis(struct ocp_stream *s, double after, const char *word,
				const char *type, const char *message, const char *device)
{
	struct json_writer w = ocp_begin_of_step(s, after, "diagnosis");

	writer_text_member(&w, "verdict", word);
	writer_text_member(&w, "type", type);
	if (*message)
		writer_text_member(&w, "message", message);
	ocp_write_device(s, &w, device);
	ocp_end_artifact(s, &w);
}

void ocp_case(struct ocp_stream *s, const struct case_result *c)
{
	double end = c->started_seconds + c->seconds;
	const char *reason, *device;

	ocp_begin_step(s, c->started_seconds, export_string(c->id));
	for (size_t i = 0; i < c->lost_count; i++)
		ocp_write_texts(s, ocp_begin_of_step(s, c->started_seconds, "error"), "symptom",
				cause_name(CAUSE_WORKER_LOST), "message", c->lost[i].reason);
	for (size_t i = 0; i < c->metric_count; i++)
		ocp_write_metric(s, end, c, &c->metrics[i]);
	reason = export_string(c->reason);
	device = export_string(c->device);
	if (c->status == CASE_SKIPPED)
		ocp_write_texts(s, ocp_begin_of_step(s, end, "log"), "severity", "INFO", "message",
				*reason ? reason : "skipped");
	else if (c->status == CASE_ERROR)
		ocp_write_texts(s, ocp_begin_of_step(s, end, "error"), "symptom",
				cause_name(CAUSE_CASE_ERROR), "message", reason);
	else if (result_outcome_case_is_wrong(c))
		ocp_write_diagnosis(s, end,
				    cause_name(case_wrong_is_injected(c) ? CAUSE_FAULTS_INJECTED
									 : CAUSE_GPU_WRONG_RESULT),
				    "FAIL", reason, device);
	else if (result_outcome_case_is_verified(c))
		ocp_write_diagnosis(s, end, "verified", "PASS", "", device);
	ocp_end_step(s, end,
		     c->status == CASE_SKIPPED ? "SKIP"
		     : c->status == CASE_ERROR ? "ERROR"
					       : "COMPLETE");
}

/* Writes the value of a check with its bound as a validator. */
static void ocp_write_bounded(struct ocp_stream *s, const struct verdict_check *c)
{
	/* Also known for comparisons with identical devices or reference GPUs. */
	bool least = c->comparison == AT_LEAST || c->comparison == AT_MOST
			     ? c->comparison == AT_LEAST
			     : (c->value >= c->bound) != (c->margin < 0);
	struct json_writer w;

	if (!isfinite(c->value) || !isfinite(c->bound) || c->comparison == NO_COMPARISON)
		return;
	w = ocp_begin_of_step(s, s->result->seconds, "measurement");
	writer_text_member(&w, "name", *c->metric ? c->metric : c->limit);
	writer_real_member(&w, "value", c->value);
	writer_text_member(&w, "unit", c->unit);
	writer_open_member(&w, "validators", '[');
	writer_open(&w, '{');
	writer_text_member(&w, "name", c->limit);
	writer_text_member(&w, "type", least ? "GREATER_THAN_OR_EQUAL" : "LESS_THAN_OR_EQUAL");
	writer_real_member(&w, "value", c->bound);
	writer_open_member(&w, "metadata", '{');
	writer_text_member(&w, "bound", c->bound_text);
	writer_text_member(&w, "origin", c->bound_origin);
	writer_text_member(&w, "place", c->place);
	writer_close(&w, '}');
	writer_close(&w, '}');
	writer_close(&w, ']');
	ocp_write_device(s, &w, c->devices);
	writer_open_member(&w, "metadata", '{');
	writer_text_member(&w, "case", c->case_id);
	if (isfinite(c->low) && isfinite(c->high)) {
		writer_real_member(&w, "low", c->low);
		writer_real_member(&w, "high", c->high);
	}
	writer_count_member(&w, "launches", c->launches);
	writer_close(&w, '}');
	ocp_end_artifact(s, &w);
}

static void ocp_write_check(struct ocp_stream *s, const struct verdict_check *c)
{
	bool fails = c->verdict == VERDICT_FAIL || (c->verdict == VERDICT_WARN && !c->accepted);
	char *numbers = verdict_check_numbers(c);
	char *message = xasprintf("[%s] %s%s%s%s%s", c->limit, c->case_id, *numbers ? ": " : "",
				  numbers, *c->reason ? ": " : "", c->reason);

	ocp_write_bounded(s, c);
	ocp_write_diagnosis(s, s->result->seconds,
			    c->cause == CAUSE_NONE ? "passed" : cause_name(c->cause),
			    fails                        ? "FAIL"
			    : verdict_check_is_judged(c) ? "PASS"
							 : "UNKNOWN",
			    message, c->devices);
	free(message);
	free(numbers);
}

/* An unjudged promised aspect makes the verdict INCONCLUSIVE. */
static void ocp_write_missing(struct ocp_stream *s, const struct device_judgement *d)
{
	for (size_t i = 0; i < d->aspect_count; i++) {
		const struct aspect_judgement *aspect = &d->aspects[i];
		char *message;

		if (!verdict_aspect_is_missing(aspect))
			continue;
		message = xasprintf("%s was not judged: %s", aspect_name(aspect->aspect),
				    aspect->reason);
		ocp_write_diagnosis(s, s->result->seconds, cause_name(CAUSE_NOT_JUDGED), "UNKNOWN",
				    message, d->device);
		free(message);
	}
}

static void ocp_write_findings(struct ocp_stream *s, const struct finding *findings, size_t count,
			       const char *when)
{
	for (size_t i = 0; i < count; i++) {
		const struct finding *f = &findings[i];
		char *message;

		if (f->severity < SEVERITY_WARNING)
			continue;
		message = xasprintf("%s the run, %s: %s", when, f->subject, f->text);
		ocp_write_texts(s, ocp_begin_of_run(s, s->result->seconds, "log"), "severity",
				f->severity == SEVERITY_ERROR ? "ERROR" : "WARNING", "message",
				message);
		free(message);
	}
}

/* Only these combinations of status and result are valid ends. */
static void ocp_write_end(struct ocp_stream *s, const struct result *r)
{
	const struct verdicts *v = r->judgement;
	bool accepted = v && verdicts_accepted(v);
	bool rejected =
		v ? v->wrong || v->overall == VERDICT_FAIL : result_outcome_exit_code(r) == 5;
	bool broken =
		v ? !rejected && verdicts_exit_code(v) != 0 : result_outcome_exit_code(r) != 0;
	struct json_writer w;

	if (broken)
		ocp_write_texts(s, ocp_begin_of_run(s, r->seconds, "error"), "symptom",
				v ? "inconclusive" : cause_name(CAUSE_RUN_INCOMPLETE), "message",
				v                                    ? v->sentence
				: result_outcome_measured_nothing(r) ? "no case was measured"
								     : r->state);
	else
		ocp_write_texts(s, ocp_begin_of_run(s, r->seconds, "log"), "severity", "INFO",
				"message",
				v ? v->sentence
				  : "Nothing was judged: no limits were applied, so there is no "
				    "verdict.");
	w = ocp_begin_of_run(s, r->seconds, "testRunEnd");
	writer_text_member(&w, "status",
			   accepted || rejected ? "COMPLETE"
			   : broken             ? "ERROR"
						: "SKIP");
	writer_text_member(&w, "result", rejected ? "FAIL" : accepted ? "PASS" : "NOT_APPLICABLE");
	ocp_end_artifact(s, &w);
}

void ocp_end(struct ocp_stream *s, const struct result *result)
{
	const struct verdicts *v = result->judgement;

	s->result = result;
	ocp_write_findings(s, result->preflight, result->preflight_count, "before");
	ocp_write_findings(s, result->postflight, result->postflight_count, "after");
	if (v) {
		ocp_begin_step(s, result->seconds, "limits");
		for (size_t i = 0; i < v->count; i++)
			ocp_write_check(s, &v->checks[i]);
		for (size_t i = 0; i < v->device_count; i++)
			ocp_write_missing(s, &v->devices[i]);
		ocp_end_step(s, result->seconds, "COMPLETE");
	}
	ocp_write_end(s, result);
}

static void write_ocp(const struct result *r, struct text *out)
{
	struct ocp_stream stream = { .out = out };

	ocp_begin(&stream, r);
	for (size_t i = 0; i < r->case_count; i++)
		ocp_case(&stream, &r->cases[i]);
	ocp_end(&stream, r);
}

const struct exporter export_ocp = { write_ocp };
