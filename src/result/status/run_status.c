#include "result/status/run_status.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/input.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "result/json/json_fields.h"

#define MOST_BYTES (4u << 20)

#define CHARS(name_, member)                                                        \
	{                                                                           \
		.name = name_, .codec = &codec_chars, FIELD_AT(run_status, member), \
		.optional = true                                                    \
	}
#define REAL(name_, member)                                                        \
	{                                                                          \
		.name = name_, .codec = &codec_real, FIELD_AT(run_status, member), \
		.optional = true                                                   \
	}
#define COUNT(name_, member)                                                         \
	{                                                                            \
		.name = name_, .codec = &codec_uint64, FIELD_AT(run_status, member), \
		.optional = true                                                     \
	}
#define ROW_REAL(member)                                                           \
	{                                                                          \
		.name = #member, .codec = &codec_real, FIELD_AT(soak_row, member), \
		.optional = true                                                   \
	}

static const struct field row_fields[] = {
	{ .name = "device", .codec = &codec_chars, FIELD_AT(soak_row, device) },
	ROW_REAL(rate_share),
	ROW_REAL(power_watts),
	ROW_REAL(temperature_celsius),
	ROW_REAL(sm_clock_hz),
	ROW_REAL(throttled),
	ROW_REAL(verified_bytes),
	{ .name = "wrong", .codec = &codec_uint64, FIELD_AT(soak_row, wrong), .optional = true },
	{ 0 },
};

static const struct field current_fields[] = {
	CHARS("id", current.id),
	CHARS("part", current.part),
	REAL("seconds", current.seconds),
	COUNT("samples", current.samples),
	REAL("median", current.median),
	REAL("half_width", current.half_width),
	{ 0 },
};

static const struct field case_fields[] = {
	COUNT("planned", planned),
	COUNT("settled", settled),
	COUNT("ok", ok),
	COUNT("skipped", skipped),
	COUNT("failed", failed),
	COUNT("errors", errors),
	{ 0 },
};

static const struct field node_fields[] = {
	COUNT("planned", nodes.planned), COUNT("waiting", nodes.waiting),
	COUNT("running", nodes.running), COUNT("done", nodes.done),
	COUNT("lost", nodes.lost),       { 0 },
};

static const struct field fields[] = {
	{ .name = "state", .codec = &codec_chars, FIELD_AT(run_status, state) },
	CHARS("doing", doing),
	CHARS("config", config),
	CHARS("hostname", hostname),
	CHARS("command", command),
	CHARS("run_id", run_id),
	{ .name = "pid", .codec = &codec_int64, FIELD_AT(run_status, pid), .optional = true },
	CHARS("started", started),
	CHARS("updated", updated),
	REAL("seconds", seconds),
	REAL("seconds_left", seconds_left),
	COUNT("launch", launch),
	COUNT("launches", launches),
	{ .name = "cases", .codec = &codec_object, .fields = case_fields, .optional = true },
	{ .name = "nodes", .codec = &codec_object, .fields = node_fields, .optional = true },
	{ .name = "current", .codec = &codec_object, .fields = current_fields, .optional = true },
	{ .name = "devices",
	  .codec = &codec_array,
	  FIELD_COUNTED(run_status, devices.items, devices.count),
	  FIELD_CAPACITY(run_status, devices.capacity),
	  .one_line = true,
	  .optional = true,
	  .fields = row_fields },
	CHARS("sentence", sentence),
	{ .name = "exit_code", .codec = &codec_int, FIELD_AT(run_status, exit_code) },
	{ 0 },
};

void run_status_begin(struct run_status *s, const struct result *result)
{
	snprintf(s->state, sizeof(s->state), "running");
	snprintf(s->doing, sizeof(s->doing), "measuring");
	snprintf(s->config, sizeof(s->config), "%s", result->config_name);
	snprintf(s->command, sizeof(s->command), "%s", result->command);
	snprintf(s->run_id, sizeof(s->run_id), "%s", result->run_id);
	snprintf(s->started, sizeof(s->started), "%s", result->started);
	s->pid = getpid();
	s->exit_code = -1;
}

/* Number of finished cases of one node. */
static size_t status_ended_cases(const struct run_status *s)
{
	return s->ok + s->skipped + s->failed + s->errors;
}

enum status run_status_write(struct run_status *status, const char *directory, struct error *err)
{
	struct json_writer w = { .expand = 2 };
	char *path = xasprintf("%s/" STATUS_NAME, directory), *text;
	enum status written;

	clock_iso8601(status->updated, sizeof(status->updated));
	if (!status->nodes.planned)
		status->settled = status_ended_cases(status);
	fields_write(&w, fields, status);
	text = writer_finish(&w);
	written = file_replace(path, text, strlen(text), err);
	free(text);
	free(path);
	return written;
}

enum status run_status_read(struct run_status *status, const char *directory, struct error *err)
{
	char *path = xasprintf("%s/" STATUS_NAME, directory);
	struct text text = TEXT_EMPTY;

	*status = (struct run_status){ .exit_code = -1 };
	if (input_read_file(path, "status", MOST_BYTES, &text, err) == STATUS_OK &&
	    fields_parse(text.data, text.length, fields, status, err) != STATUS_OK)
		error_prefix(err, "%s", path);
	text_release(&text);
	free(path);
	return err->status;
}

char *run_status_line(const struct run_status *status)
{
	return fields_line(fields, status);
}

void run_status_release(struct run_status *status)
{
	soak_rows_release(&status->devices);
}

bool run_status_lost(const struct run_status *status, double now)
{
	char here[sizeof(status->hostname)] = "";

	if (strcmp(status->state, "running") != 0)
		return false;
	if (gethostname(here, sizeof(here) - 1) == 0 && strcmp(here, status->hostname) == 0 &&
	    status->pid > 0)
		return kill((pid_t)status->pid, 0) != 0 && errno == ESRCH;
	return now - clock_parse_iso8601(status->updated) > STATUS_SILENCE_SECONDS;
}

static void add_current(const struct run_status *s, struct text *out)
{
	char shown[48];

	text_addf(out, "%s: %s", s->current.id, s->current.part[0] ? s->current.part : "begins");
	if (isfinite(s->current.seconds))
		text_addf(out, ", %s", units_about(s->current.seconds, shown, sizeof(shown)));
	if (s->current.samples)
		text_addf(out, ", %zu sample%s", s->current.samples,
			  text_plural(s->current.samples));
	if (isfinite(s->current.median))
		text_addf(out, ", %s", units_format(s->current.median, "s", shown, sizeof(shown)));
	if (isfinite(s->current.half_width))
		text_addf(out, " ±%.2g %%", 100 * s->current.half_width);
	text_add_char(out, '\n');
}

static void run_status_add_time(const struct run_status *s, struct text *out)
{
	char passed[48], left[48];

	text_addf(out, "%s passed",
		  units_about(isfinite(s->seconds) ? s->seconds : 0, passed, sizeof(passed)));
	if (isfinite(s->seconds_left))
		text_addf(out, ", about %s left", units_about(s->seconds_left, left, sizeof(left)));
	if (s->launches > 1)
		text_addf(out, " of launch %zu of %zu", s->launch, s->launches);
	text_add_char(out, '\n');
}

void run_status_print(const struct run_status *s, bool lost, struct text *out)
{
	bool running = strcmp(s->state, "running") == 0;

	text_addf(out, "%s on %s since %s: ", s->config, s->hostname, s->started);
	if (lost)
		text_addf(out, "the process has exited, last seen %s\n", s->updated);
	else
		text_addf(out, "%s\n", running ? s->doing : s->state);
	if (s->nodes.planned)
		text_addf(out,
			  "%zu nodes: %zu done, %zu running, %zu not connected yet, %zu "
			  "lost\n",
			  s->nodes.planned, s->nodes.done, s->nodes.running, s->nodes.waiting,
			  s->nodes.lost);
	if (s->nodes.planned && s->exit_code < 0)
		text_addf(out, "%zu of %zu cases\n", s->settled, s->planned);
	else
		text_addf(out, "%zu of %zu cases: %zu OK, %zu skipped, %zu failed, %zu errors\n",
			  status_ended_cases(s), s->planned, s->ok, s->skipped, s->failed,
			  s->errors);
	if (running && !lost && s->current.id[0])
		add_current(s, out);
	if (running && !lost)
		run_status_add_time(s, out);
	soak_rows_print(&s->devices, out);
	if (s->sentence[0])
		text_addf(out, "%s\n", s->sentence);
}
