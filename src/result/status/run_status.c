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

static const struct field row_fields[] = {
	FIELD(soak_row, device, chars),
	FIELD(soak_row, rate_share, real, .optional = true),
	FIELD(soak_row, power_watts, real, .optional = true),
	FIELD(soak_row, temperature_celsius, real, .optional = true),
	FIELD(soak_row, sm_clock_hz, real, .optional = true),
	FIELD(soak_row, throttled, real, .optional = true),
	FIELD(soak_row, verified_bytes, real, .optional = true),
	FIELD(soak_row, wrong, uint64, .optional = true),
	{ 0 },
};

static const struct field current_fields[] = {
	FIELD_NAMED("id", run_status, current.id, chars, .optional = true),
	FIELD_NAMED("part", run_status, current.part, chars, .optional = true),
	FIELD_NAMED("seconds", run_status, current.seconds, real, .optional = true),
	FIELD_NAMED("samples", run_status, current.samples, uint64, .optional = true),
	FIELD_NAMED("median", run_status, current.median, real, .optional = true),
	FIELD_NAMED("half_width", run_status, current.half_width, real, .optional = true),
	{ 0 },
};

static const struct field case_fields[] = {
	FIELD(run_status, planned, uint64, .optional = true),
	FIELD(run_status, settled, uint64, .optional = true),
	FIELD(run_status, ok, uint64, .optional = true),
	FIELD(run_status, skipped, uint64, .optional = true),
	FIELD(run_status, failed, uint64, .optional = true),
	FIELD(run_status, errors, uint64, .optional = true),
	{ 0 },
};

static const struct field node_fields[] = {
	FIELD_NAMED("planned", run_status, nodes.planned, uint64, .optional = true),
	FIELD_NAMED("waiting", run_status, nodes.waiting, uint64, .optional = true),
	FIELD_NAMED("running", run_status, nodes.running, uint64, .optional = true),
	FIELD_NAMED("done", run_status, nodes.done, uint64, .optional = true),
	FIELD_NAMED("lost", run_status, nodes.lost, uint64, .optional = true),
	{ 0 },
};

static const struct field fields[] = {
	FIELD(run_status, state, chars),
	FIELD(run_status, doing, chars, .optional = true),
	FIELD(run_status, config, chars, .optional = true),
	FIELD(run_status, hostname, chars, .optional = true),
	FIELD(run_status, command, chars, .optional = true),
	FIELD(run_status, run_id, chars, .optional = true),
	FIELD(run_status, pid, int64, .optional = true),
	FIELD(run_status, started, chars, .optional = true),
	FIELD(run_status, updated, chars, .optional = true),
	FIELD(run_status, seconds, real, .optional = true),
	FIELD(run_status, seconds_left, real, .optional = true),
	FIELD(run_status, launch, uint64, .optional = true),
	FIELD(run_status, launches, uint64, .optional = true),
	{ .name = "cases", .codec = &codec_object, .fields = case_fields, .optional = true },
	{ .name = "nodes", .codec = &codec_object, .fields = node_fields, .optional = true },
	{ .name = "current", .codec = &codec_object, .fields = current_fields, .optional = true },
	FIELD_LIST("devices", run_status, devices.items, devices.count, array,
		   FIELD_CAPACITY(run_status, devices.capacity), .one_line = true,
		   .fields = row_fields, .omitted = true),
	FIELD(run_status, sentence, chars, .optional = true),
	FIELD(run_status, exit_code, int),
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
static size_t run_status_ended_cases(const struct run_status *s)
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
		status->settled = run_status_ended_cases(status);
	json_fields_write(&w, fields, status);
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
	    json_fields_parse(text.data, text.length, fields, status, err) != STATUS_OK)
		error_prefix(err, "%s", path);
	text_release(&text);
	free(path);
	return err->status;
}

char *run_status_line(const struct run_status *status)
{
	return json_fields_line(fields, status);
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

static void run_status_add_current(const struct run_status *s, struct text *out)
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

void run_status_print(const struct run_status *s, bool lost, struct text *out)
{
	bool running = strcmp(s->state, "running") == 0;

	text_addf(out, "%s on %s since %s: ", s->config, s->hostname, s->started);
	if (lost)
		text_addf(out, "the process has exited; last update %s\n", s->updated);
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
			  run_status_ended_cases(s), s->planned, s->ok, s->skipped, s->failed,
			  s->errors);
	if (running && !lost && s->current.id[0])
		run_status_add_current(s, out);
	if (running && !lost) {
		char passed[48], left[48];

		text_addf(out, "%s passed",
			  units_about(isfinite(s->seconds) ? s->seconds : 0, passed,
				      sizeof(passed)));
		if (isfinite(s->seconds_left))
			text_addf(out, ", about %s left",
				  units_about(s->seconds_left, left, sizeof(left)));
		if (s->launches > 1)
			text_addf(out, " in launch %zu of %zu", s->launch, s->launches);
		text_add_char(out, '\n');
	}
	soak_rows_print(&s->devices, out);
	if (s->sentence[0])
		text_addf(out, "%s\n", s->sentence);
}
