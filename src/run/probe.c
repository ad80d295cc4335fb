/*
 * A short-lived child opens the backends and sends what it finds up a pipe, one JSON line each; the
 * conductor itself never touches a GPU library. The last line says that nothing is missing.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "measure/processes/child.h"
#include "measure/processes/process_title.h"
#include "result/host/environment.h"
#include "result/result_fields.h"
#include "run/conductor.h"
#include "run/workers/run_settings.h"

#define PROBE_SECONDS 60.0
#define REAP_SECONDS 2.0
#define MOST_ITEMS 512 /* a dozen findings for each of many devices */

/* A line has the name of a row, of one byte, and an element of its array. */
static const struct field probe_lines[] = {
	FIELD_LIST("D", probe, devices, device_count, array, .fields = device_info_fields),
	FIELD_LIST("F", probe, facts, fact_count, array, .fields = fact_fields),
	FIELD_LIST("C", probe, components, component_count, array, .fields = component_fields),
	FIELD_LIST("N", probe, findings, finding_count, array, .fields = finding_fields),
	{ 0 },
};
enum line { LINE_DEVICE, LINE_FACT, LINE_COMPONENT, LINE_FINDING };
#define LINE_END "."

static void probe_send_text(int pipe, const char *kind, const char *json)
{
	char *line = xasprintf("%s%s\n", kind, json);

	if (!file_write_all(pipe, line, strlen(line)))
		child_exit(1);
	free(line);
}

static void probe_send_line(int pipe, enum line kind, const void *element)
{
	char *json = json_fields_line(probe_lines[kind].fields, element);

	probe_send_text(pipe, probe_lines[kind].name, json);
	free(json);
}

static void probe_send_fact(void *context, const char *name, const char *value)
{
	struct fact fact = { .name = (char *)(uintptr_t)name, .value = (char *)(uintptr_t)value };

	probe_send_line(*(const int *)context, LINE_FACT, &fact);
}

static void probe_send_devices(int pipe, const struct backend_list *list,
			       const struct backend *backend)
{
	int count = backend->device_count();

	for (int i = 0; i < count; i++) {
		struct error err = ERROR_NONE;
		struct device_info info;
		struct finding finding = { .severity = SEVERITY_ERROR };
		char id[64];

		if (!backends_chose(list, backend, i))
			continue;
		memset(&info, 0, sizeof(info));
		if (backend->device_info(i, &info, &err) == STATUS_OK) {
			probe_send_line(pipe, LINE_DEVICE, &info);
			continue;
		}
		snprintf(id, sizeof(id), "%s:%d", backend->name, i);
		finding_set_device(&finding, FINDING_DEVICE, id);
		snprintf(finding.text, sizeof(finding.text), "%.300s", err.message);
		probe_send_line(pipe, LINE_FINDING, &finding);
	}
}

static void probe_send_backend(int pipe, const struct backend_list *list,
			       const struct backend *backend)
{
	struct component *components = xcalloc(MOST_ITEMS, sizeof(*components));
	struct finding *findings = xcalloc(MOST_ITEMS, sizeof(*findings));
	size_t count;

	probe_send_devices(pipe, list, backend);
	if (backend->facts)
		backend->facts(probe_send_fact, &pipe);
	count = backend->components ? backend->components(components, MOST_ITEMS) : 0;
	for (size_t i = 0; i < count; i++)
		probe_send_line(pipe, LINE_COMPONENT, &components[i]);
	count = backend->findings ? backend->findings(findings, MOST_ITEMS) : 0;
	for (size_t i = 0; i < count; i++)
		probe_send_line(pipe, LINE_FINDING, &findings[i]);
	free(components);
	free(findings);
}

static void probe_child(int pipe, const struct config *config)
{
	struct run_settings settings = run_settings_from(config);
	struct backend_list list;
	char name[51];

	environment_collect(probe_send_fact, &pipe);
	backends_open(&list, settings.backend, &settings.backend_options);
	for (size_t i = 0; i < list.count; i++)
		probe_send_backend(pipe, &list, list.backends[i]);
	/* Which module drives a device, and why, if more than one could. */
	for (size_t i = 0; i < list.choice_count; i++) {
		const struct device_choice *choice = &list.choices[i];
		struct finding finding = { .severity = choice->severity };

		if (!choice->backend->drives)
			continue;
		snprintf(name, sizeof(name), "%.40s:%d", choice->backend->name, choice->index);
		finding_set_device(&finding, "module for", name);
		snprintf(finding.text, sizeof(finding.text), "%s", choice->why);
		probe_send_line(pipe, LINE_FINDING, &finding);
	}
	/* "cuda13: no driver" -> NOTE "backend cuda13": "no driver" */
	for (size_t i = 0; i < list.missing_count; i++) {
		const char *missing = list.missing[i], *colon = strstr(missing, ": ");
		struct finding finding = { .severity = SEVERITY_NOTE };

		snprintf(name, sizeof(name), "%.*s",
			 colon ? (int)(colon - missing) : (int)strlen(missing), missing);
		finding_set_subject(&finding, FINDING_BACKEND, name);
		snprintf(finding.text, sizeof(finding.text), "%s", colon ? colon + 2 : missing);
		probe_send_line(pipe, LINE_FINDING, &finding);
	}
	probe_send_text(pipe, LINE_END, "");
	child_exit(0); /* closing the backends would only cost time */
}

/* Reads until the pipe closes or the time is over. */
static enum status probe_listen_to_child(int pipe, struct text *input, struct error *err)
{
	double end = clock_seconds() + PROBE_SECONDS;
	char block[16384];

	for (;;) {
		struct pollfd fd = { .fd = pipe, .events = POLLIN };
		double left = end - clock_seconds();
		ssize_t n;

		if (left <= 0)
			return error_set(err, STATUS_TIMEOUT,
					 "listing the devices took more than %.0f s",
					 PROBE_SECONDS);
		if (poll(&fd, 1, (int)(1e3 * left) + 1) <= 0)
			continue;
		n = read(pipe, block, sizeof(block));
		if (n == 0)
			return STATUS_OK;
		if (n < 0 && errno != EINTR)
			return error_errno(err, "pipe from the probe process");
		if (n > 0)
			text_add_bytes(input, block, (size_t)n);
	}
}

static enum status probe_take_line(struct probe *probe, const char *line, size_t length,
				   struct error *err)
{
	for (const struct field *f = probe_lines; f->name; f++)
		if (line[0] == f->name[0])
			return json_fields_parse(line + 1, length - 1, f->fields,
						 json_fields_append(f, probe), err);
	return error_set(err, STATUS_INTERNAL, "the probe process sent the invalid line '%.40s'",
			 line);
}

static int probe_reap_child(pid_t pid)
{
	int wait_status = 0;

	if (!child_wait(pid, REAP_SECONDS, &wait_status)) {
		kill(pid, SIGKILL);
		child_wait(pid, REAP_SECONDS, &wait_status);
	}
	return wait_status;
}

static enum status probe_end_child(pid_t pid, int output, struct error *err)
{
	char ending[128], words[400];
	int wait_status;

	if (err->status)
		kill(pid, SIGKILL); /* it hangs, or what it says makes no sense */
	wait_status = probe_reap_child(pid);
	child_last_words(output, 0, words, sizeof(words));
	if (err->status == STATUS_OK)
		error_set(err, STATUS_DEVICE, "listing the devices failed: the probe process %s",
			  child_ending(wait_status, ending, sizeof(ending)));
	if (words[0])
		snprintf(err->message + strlen(err->message),
			 sizeof(err->message) - strlen(err->message), "; last output: %s", words);
	return err->status;
}

enum status probe_devices(struct probe *probe, const struct config *config, struct error *err)
{
	struct text input = TEXT_EMPTY;
	int ends[2], output = memfd_create("probe output", MFD_CLOEXEC);
	pid_t pid;
	bool complete = false;

	memset(probe, 0, sizeof(*probe));
	if (output < 0 || pipe2(ends, O_CLOEXEC) != 0)
		return error_errno(err, "probe");
	pid = child_fork(output, err);
	if (pid == 0) {
		process_title("probe");
		close(ends[0]);
		probe_child(ends[1], config);
	}
	close(ends[1]);
	if (pid > 0 && probe_listen_to_child(ends[0], &input, err) == STATUS_OK) {
		char *at = input.data, *stop;

		/* Without the last line the child did not get to its end. */
		for (; at && (stop = strchr(at, '\n')) && !complete && !err->status;
		     at = stop + 1) {
			*stop = '\0';
			complete = at[0] == *LINE_END;
			if (!complete)
				probe_take_line(probe, at, (size_t)(stop - at), err);
		}
	}
	if (pid > 0 && complete)
		probe_reap_child(pid);
	else if (pid > 0)
		probe_end_child(pid, output, err);
	if (err->status != STATUS_OK)
		probe_release(probe);
	close(ends[0]);
	close(output);
	text_release(&input);
	return err->status;
}

void probe_release(struct probe *probe)
{
	json_fields_release(probe_lines, probe);
	memset(probe, 0, sizeof(*probe));
}
