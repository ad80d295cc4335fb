#include "run/group.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "device/ranks/transport.h"
#include "device/ranks/tcp_mesh.h"
#include "plan/suite.h"
#include "result/host/host_findings.h"
#include "run/journal.h"
#include "run/supervise.h"
#include "run/workers/describe.h"

#define START_SECONDS 120.0
/* Until all nodes' ranks have connected; they open their devices first. */
#define JOIN_SECONDS 120.0

enum status run_group_devices(const char *directory, const char *const *names, size_t name_count,
			      struct device_info **out, size_t *count, struct error *err)
{
	enum status status = STATUS_OK;

	*out = NULL;
	*count = 0;
	for (size_t i = 0; i < name_count && status == STATUS_OK; i++) {
		char *folder = xasprintf("%s/nodes/%s", directory, names[i]);
		struct result header = { 0 };

		status = journal_read_header(folder, &header, err);
		*out = xrealloc(*out, *count + header.device_count + 1, sizeof(**out));
		for (size_t k = 0; k < header.device_count; k++) {
			struct device_info *d = &(*out)[(*count)++];

			*d = header.devices[k];
			d->node = (int)i;
			snprintf(d->id, sizeof(d->id), "%.63s/%.31s", names[i],
				 header.devices[k].id);
		}
		result_release(&header);
		free(folder);
	}
	if (status != STATUS_OK) {
		free(*out);
		*out = NULL;
	}
	return status;
}

static enum status run_group_settled(void *context, size_t index, bool partial,
				     struct case_result *c, const struct message *sent,
				     struct error *err)
{
	bool failed = c->status == CASE_ERROR;

	(void)index;
	journal_append(context, partial || failed, c, failed ? NULL : sent, err);
	case_result_release(c);
	return err->status;
}

static enum status run_group_open_world(const struct group_part *part, int size,
					struct world *world, struct error *err)
{
	const struct world_tcp_options options = { .host = part->host,
						   .join_seconds = JOIN_SECONDS };
	struct world_tcp_address address;

	tcp_mesh_host(part->host);
	if (part->node != 0)
		return world_tcp_attach(world, size, &options, &part->address, err);
	if (world_tcp_create(world, size, &options, &address, err) == STATUS_OK)
		part->listening(part->context, &address);
	return err->status;
}

/* Ranks follow the devices of a case; those of one node are neighbours. */
static struct team_part group_run_own_ranks(const struct group_part *part,
					    const struct world *world)
{
	const struct plan_case *c = &part->plan->cases[part->first];
	struct team_part own = { .world = world, .networks = part->networks };

	for (size_t i = 0; i < c->device_count; i++) {
		int node = part->plan->devices[c->devices[i]].node;

		own.first += node < part->node;
		own.count += node == part->node;
	}
	return own;
}

/*
 * Cases to carry out, from the first on, while they take the same processes: the group begins again
 * with those that are left. Skipped ones are the conductor's.
 */
static size_t run_group_pick_cases(const struct group_part *part, size_t *cases)
{
	size_t count = 0;

	for (size_t i = part->first; i <= part->last && i < part->plan->case_count; i++) {
		const struct plan_case *c = &part->plan->cases[i];

		if (c->skip_reason)
			continue;
		if (count && c->gpudirect != part->plan->cases[cases[0]].gpudirect)
			break;
		cases[count++] = i;
	}
	return count;
}

/* The end of the last whole line: a leader may have been killed in the middle of one. */
static off_t run_group_end_of_lines(int fd)
{
	off_t end = lseek(fd, 0, SEEK_END);
	char block[4096];

	while (end > 0) {
		size_t length = end < (off_t)sizeof(block) ? (size_t)end : sizeof(block);
		const char *stop;

		if (pread(fd, block, length, end - (off_t)length) != (ssize_t)length)
			return -1;
		stop = memrchr(block, '\n', length);
		end -= (off_t)length;
		if (stop)
			return end + (stop - block) + 1;
	}
	return end;
}

static enum status run_group_open_journal(struct journal *journal, const char *path,
					  struct error *err)
{
	journal->path = xstrdup(path);
	journal->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	journal->size = journal->fd >= 0 ? run_group_end_of_lines(journal->fd) : -1;
	if (journal->size >= 0 && ftruncate(journal->fd, journal->size) == 0)
		return STATUS_OK;
	return error_errno(err, "%s", path);
}

enum status group_run(const struct group_part *part, struct error *err)
{
	struct journal journal = { .fd = -1 };
	size_t *cases = xcalloc(part->plan->case_count + 1, sizeof(*cases));
	size_t count = run_group_pick_cases(part, cases);
	struct control *control = NULL;
	struct world world = { 0 };

	if (part->node == 0)
		run_group_open_journal(&journal, part->path, err);
	if (count)
		gpudirect_ask(part->plan->cases[cases[0]].gpudirect);
	if (count && err->status == STATUS_OK &&
	    worker_team_control_open(&control, err) == STATUS_OK &&
	    run_group_open_world(part, worker_processes(&part->plan->cases[cases[0]]), &world,
				 err) == STATUS_OK) {
		struct team_part own = group_run_own_ranks(part, &world);
		const struct supervisor supervisor = { .plan = part->plan,
						       .control = control,
						       .run_began = clock_seconds(),
						       .log = part->log,
						       .start_seconds = START_SECONDS,
						       .part = &own,
						       .context = &journal,
						       .settled = run_group_settled };
		struct worker_outcome outcome;

		control->groups_banned = true;
		if (supervise(&supervisor, cases, count, &outcome, err) == STATUS_OK &&
		    outcome.reason[0]) {
			error_set(err,
				  outcome.end == CASE_END_HUNG   ? STATUS_TIMEOUT
				  : outcome.end == CASE_END_LOST ? STATUS_LOST
								 : STATUS_CRASHED,
				  "%s", outcome.reason);
			err->rank = outcome.failed_rank + 1;
		}
		lost_worker_release(&outcome.lost);
		world_release(&world);
	}
	worker_team_control_close(control);
	journal_close(&journal);
	free(cases);
	return err->status;
}

void run_group_unrun(const struct plan *plan, size_t index, const struct group_fault *why,
		     struct case_result *out)
{
	describe_case(plan, &plan->cases[index], out);
	describe_outcome(out, why->end == CASE_END_UNSUPPORTED ? CASE_SKIPPED : CASE_ERROR,
			 why->end, why->reason);
	case_result_set_fault(out, why->rank);
	if (why->node && !out->failed_node)
		out->failed_node = xstrdup(why->node);
}

void run_group_read(const char *path, size_t *offset, bool errors, struct result *result)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t size = 0;
	ssize_t length;

	if (!f)
		return;
	if (fseeko(f, (off_t)*offset, SEEK_SET) == 0)
		while ((length = getline(&line, &size, f)) > 0 && line[length - 1] == '\n') {
			struct error err = ERROR_NONE;
			struct message message;
			struct case_result c;

			if (worker_message_parse(line, (size_t)length - 1, &message) &&
			    (message.kind == MESSAGE_CASE ||
			     (errors && message.kind == MESSAGE_PARTIAL)) &&
			    case_result_from_json(&c, message.json, message.json_length, &err) ==
				    STATUS_OK) {
				/* Leaves out an interrupted case. */
				if (message.kind == MESSAGE_CASE || c.status == CASE_ERROR)
					*result_add_case(result) = c;
				else
					case_result_release(&c);
			}
			*offset += (size_t)length;
		}
	free(line);
	fclose(f);
}

static void run_group_add_adapter(void *context, const struct finding *f)
{
	text_addf(context, "%s\t%s\n", f->subject, f->text);
}

void run_group_note_adapters(const char *directory)
{
	char *path = xasprintf("%s/" GROUP_ADAPTERS_NAME, directory);
	struct error ignored = ERROR_NONE;
	struct text text = TEXT_EMPTY;

	nic_findings("", run_group_add_adapter, &text);
	file_replace(path, text.data ? text.data : "", text.length, &ignored);
	text_release(&text);
	free(path);
}

void run_group_take_adapters(const char *directory, struct result *result)
{
	char *path = xasprintf("%s/" GROUP_ADAPTERS_NAME, directory), *line = NULL, *tab;
	FILE *f = fopen(path, "re");
	size_t size = 0;

	while (f && getline(&line, &size, f) > 0) {
		line[strcspn(line, "\n")] = '\0';
		tab = strchr(line, '\t');
		if (!tab)
			continue;
		*tab = '\0';
		for (size_t i = 0; i < result->postflight_count; i++) {
			struct finding *found = &result->postflight[i];

			if (strcmp(found->subject, line) == 0)
				snprintf(found->text, sizeof(found->text), "%s", tab + 1);
		}
	}
	if (f)
		fclose(f);
	free(line);
	free(path);
}

void run_group_take_networks(const char *directory, struct result *result)
{
	char *path = xasprintf("%s/" GROUP_NETWORKS_NAME, directory), *line = NULL;
	FILE *f = fopen(path, "re");
	struct text all = TEXT_EMPTY;
	char **choices = NULL;
	size_t size = 0, count = 0;

	while (f && getline(&line, &size, f) > 0) {
		size_t at = 0;

		line[strcspn(line, "\n")] = '\0';
		/* In order, so that nodes with the same choices have the same text. */
		while (at < count && strcmp(choices[at], line) < 0)
			at++;
		if (at < count && strcmp(choices[at], line) == 0)
			continue;
		choices = xrealloc(choices, count + 1, sizeof(*choices));
		memmove(choices + at + 1, choices + at, (count++ - at) * sizeof(*choices));
		choices[at] = xstrdup(line);
	}
	for (size_t i = 0; i < count; i++) {
		text_addf(&all, "%s%s", i ? "; " : "", choices[i]);
		free(choices[i]);
	}
	if (count)
		result_add_fact(result, "NCCL's network", all.data);
	if (f)
		fclose(f);
	text_release(&all);
	free(choices);
	free(line);
	free(path);
}
