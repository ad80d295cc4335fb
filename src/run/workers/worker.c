#include "run/workers/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "device/ranks/gpudirect.h"
#include "device/ranks/network_log.h"
#include "measure/code_paths.h"
#include "measure/processes/child.h"
#include "measure/processes/fork_server.h"
#include "plan/suite.h"
#include "run/workers/attempt.h"
#include "run/workers/message.h"
#include "run/workers/run_settings.h"

/* The most cases of a concurrent group. */
#define GROUP_MOST 64

struct worker {
	const struct assignment *a;
	struct world world; /* all ranks */
	struct run_settings settings;
	struct backend_list backends;
	struct fork_server *fork_server;
	struct device **devices;  /* by index in the plan; opened when first needed, then kept */
	struct link_watch *links; /* by index in the plan */
	struct link_poll poll;
	const struct suite *suite; /* of the current case; NULL: none yet */
	void *suite_state;         /* of suite->open_state() */
	char *network;             /* what the ranks' library chose; NULL: unknown */
};

int worker_processes(const struct plan_case *c)
{
	bool ranks = c->suite->processes == SUITE_PROCESS_PER_DEVICE && c->device_count > 1;

	return ranks ? (int)c->device_count : 1;
}

static void send_text(const struct worker *w, struct text *text)
{
	bool sent = w->world.rank != 0 || write_all(w->a->pipe, text->data, text->length);

	text_release(text);
	if (!sent)
		child_exit(1); /* the conductor is gone */
}

static void send_index(const struct worker *w, enum message_kind kind, size_t index)
{
	struct text text = TEXT_EMPTY;

	message_add_index(&text, kind, index);
	send_text(w, &text);
}

static void progress(void *context, size_t samples, double median, double half_width)
{
	const struct worker *w = context;
	struct text text = TEXT_EMPTY;

	message_add_progress(&text, samples, median, half_width);
	send_text(w, &text);
}

/* "cuda13,host": what this plan's devices need. Another backend, or module, could only do harm. */
static char *backend_names(const struct plan *plan)
{
	struct text names = TEXT_EMPTY;

	for (size_t i = 0; i < plan->device_count; i++) {
		const struct device_info *info = &plan->devices[i];
		const char *name = strcmp(info->module, "built-in") ? info->module : info->backend;

		if (!names.length || !strstr(names.data, name))
			text_addf(&names, "%s%s", names.length ? "," : "", name);
	}
	return text_detach(&names);
}

static const struct backend *find_backend(const struct worker *w, const struct device_info *info)
{
	for (size_t i = 0; i < w->backends.count; i++)
		if (strcmp(w->backends.backends[i]->name, info->backend) == 0 &&
		    strcmp(w->backends.backends[i]->module, info->module) == 0)
			return w->backends.backends[i];
	return NULL;
}

static enum status open_device(struct worker *w, size_t index, struct error *err)
{
	const struct device_info *info = &w->a->plan->devices[index];
	const struct backend *backend;

	if (w->devices[index])
		return STATUS_OK;
	backend = find_backend(w, info);
	if (!backend)
		return error_set(err, STATUS_DEVICE,
				 "%s: backend %s (%s) could not be opened again%s%s", info->id,
				 info->backend, info->module, w->backends.missing_count ? ": " : "",
				 w->backends.missing_count ? w->backends.missing[0] : "");
	if (backend->device_open(info->index, &w->devices[index], err) != STATUS_OK) {
		w->devices[index] = NULL;
		return error_prefix(err, "%s", info->id);
	}
	w->devices[index]->info.node = info->node;
	if (w->a->plan->group.nodes)
		snprintf(w->devices[index]->info.id, sizeof(w->devices[index]->info.id), "%s",
			 info->id);
	return STATUS_OK;
}

/* The devices that this rank drives in case `c`: its own, or in a suite of one process all. */
static enum status open_devices(struct worker *w, const struct plan_case *c, struct run *run,
				struct error *err)
{
	bool own_only = c->suite->processes == SUITE_PROCESS_PER_DEVICE;
	size_t first = own_only ? (size_t)w->world.rank : 0;
	size_t end = own_only ? first + 1 : c->device_count;

	for (size_t i = first; i < end && i < c->device_count; i++) {
		if (open_device(w, c->devices[i], err) != STATUS_OK)
			return err->status;
		run->devices[run->device_count++] = w->devices[c->devices[i]];
	}
	return STATUS_OK;
}

static size_t first_device(const struct worker *w, const struct run *run)
{
	return run->c
		->devices[run->c->suite->processes == SUITE_PROCESS_PER_DEVICE ? w->world.rank : 0];
}

/*
 * Every attempt gets a status: a concurrent group begins with all of its devices open, or not at
 * all.
 */
static enum status open_all(struct worker *w, struct attempt *attempts, size_t count)
{
	enum status status = STATUS_OK;

	for (size_t i = 0; i < count && status == STATUS_OK; i++) {
		struct attempt *a = &attempts[i];

		status = a->status =
			world_agree(a->run.world, open_devices(w, a->run.c, &a->run, &a->err),
				    &a->err);
		a->run.sampler.device = a->run.device_count ? a->run.devices[0] : NULL;
	}
	return status;
}

static void carry_out_open(struct worker *w, struct attempt *attempts, size_t count)
{
	struct attempt **prepared = xcalloc(count, sizeof(struct attempt *));
	size_t ready = 0;

	for (size_t i = 0; i < count; i++)
		if (attempt_prepare(&attempts[i]) == STATUS_OK)
			prepared[ready++] = &attempts[i];
	attempt_carry_out(prepared, ready, w->world.rank == 0 ? w->settings.telemetry_seconds : 0);
	for (size_t i = 0; i < ready; i++)
		attempt_finish(prepared[i], &w->links[first_device(w, &prepared[i]->run)],
			       &w->poll);
	free(prepared);
}

static void send_result(struct worker *w, struct attempt *a, bool first, size_t parts)
{
	struct text message = TEXT_EMPTY;

	if (!first) {
		send_index(w, MESSAGE_START, a->run.c->index);
		send_index(w, MESSAGE_READY, a->run.c->index);
	}
	attempt_settle(a, w->a->run_began, parts);
	message_add_case(&message, a->status == STATUS_INTERRUPTED, &a->result);
	send_text(w, &message);
}

/* The status with most effect on what this process can still do. */
static enum status worst_status(const struct attempt *attempts, size_t count)
{
	enum status status = STATUS_OK;

	for (size_t i = 0; i < count; i++) {
		if (status_loses_device(attempts[i].status))
			return attempts[i].status;
		if (status != STATUS_INTERRUPTED && attempts[i].status != STATUS_OK)
			status = attempts[i].status;
	}
	return status;
}

/* The choice of network into the case, and where it is new into the node's list. */
static void record_network(struct worker *w, struct case_result *result)
{
	char *choice = network_log_choice();

	if (!choice)
		return;
	code_paths_add(result, xasprintf("NCCL: %s", choice));
	if (!w->network || strcmp(w->network, choice) != 0) {
		char *line = xasprintf("%s\n", choice);

		write_all(w->a->networks, line, strlen(line));
		free(line);
	}
	free(w->network);
	w->network = choice;
}

/*
 * Takes the figures of a case with or without GPUDirect RDMA away again where NCCL's log does not
 * tell, on all ranks together, that it did as asked.
 */
static void check_gpudirect(const struct worker *w, struct attempt *a)
{
	struct network_connections own = network_log_connections();
	double all = world_sum(a->run.world, (double)own.all),
	       direct = world_sum(a->run.world, (double)own.direct);
	bool as_asked = all > 0 && (a->run.c->gpudirect == GPUDIRECT_ON ? direct > 0 : direct == 0);

	if (a->status != STATUS_OK || as_asked)
		return;
	a->status =
		all > 0 ? error_set(&a->err, STATUS_UNSUPPORTED,
				    "NCCL has %.0f of %.0f connections to other nodes with "
				    "GPUDirect RDMA: %s",
				    direct, all, w->network ? w->network : "of other ranks")
			: error_set(&a->err, STATUS_UNSUPPORTED,
				    "NCCL's log tells of no connection to another node, so it is "
				    "not known whether it uses GPUDirect RDMA");
	case_drop_figures(&a->result);
}

/*
 * The cases together; with one of them in flight, as the conductor sees it, until all have a
 * result. It gets none when a device broke in a concurrent group or the user interrupts: then cases
 * are repeated, each alone (supervise.c), or later.
 */
static enum status carry_out(struct worker *w, const struct plan_case *const *cases, size_t count)
{
	struct control *control = w->a->control;
	struct attempt *attempts = xcalloc(count, sizeof(*attempts));
	struct world world = w->a->worlds[worker_processes(cases[0])];
	enum status status;
	bool opened, broken;

	for (size_t i = 0; i < count; i++) {
		attempt_begin(&attempts[i], w->a->plan, cases[i], w->settings.seed, &world);
		attempts[i].run.sampler.stop = control_stop_flag(control);
		attempts[i].phases.stop = control_stop_flag(control);
		attempts[i].run.fork_server = w->fork_server;
		attempts[i].run.suite_state = w->suite_state;
	}
	if (w->world.rank == 0) {
		attempts[0].run.sampler.progress = progress;
		attempts[0].run.sampler.progress_context = w;
		for (size_t i = 0; i < count; i++)
			attempts[i].run.sampler.activity = attempts[i].phases.activity =
				control_activity(control);
		control_begin(control, count, lseek(STDERR_FILENO, 0, SEEK_END));
	}
	send_index(w, MESSAGE_START, cases[0]->index);
	opened = open_all(w, attempts, count) == STATUS_OK;
	if (opened) {
		send_index(w, MESSAGE_READY, cases[0]->index);
		carry_out_open(w, attempts, count);
		if (w->a->networks >= 0)
			record_network(w, &attempts[0].result);
		if (cases[0]->gpudirect != GPUDIRECT_DEFAULT)
			check_gpudirect(w, &attempts[0]);
	}
	status = worst_status(attempts, count);
	broken = count > 1 && (!opened || status_loses_device(status));
	if (w->world.rank == 0 && !broken) {
		control_settles(control);
		for (size_t i = 0; i < (status == STATUS_INTERRUPTED ? 1 : count); i++)
			send_result(w, &attempts[i], i == 0, count);
	}
	for (size_t i = 0; i < count; i++)
		attempt_release(&attempts[i]);
	free(attempts);
	return broken ? STATUS_DEVICE : status;
}

/* Energy is that of one case. */
static bool may_group(const struct worker *w, const struct plan_case *const *group, size_t count,
		      const struct plan_case *other)
{
	return !(section_real(other->section, "energy_time") > 0) &&
	       other->suite == group[0]->suite && other->section == group[0]->section &&
	       group[0]->suite->groups_with(w->suite_state, group, count, other);
}

/*
 * The cases from the `first` of the assignment on that are carried out together; how many, 1 at
 * least.
 */
static size_t next_group(const struct worker *w, size_t first, const struct plan_case **group)
{
	const struct assignment *a = w->a;
	size_t count = 1;

	group[0] = &a->plan->cases[a->cases[first]];
	if (!group[0]->suite->groups_with || w->world.size > 1 || control_groups_banned(a->control))
		return 1;
	for (size_t i = first + 1; i < a->case_count && count < GROUP_MOST; i++) {
		const struct plan_case *other = &a->plan->cases[a->cases[i]];

		if (!may_group(w, group, count, other))
			break;
		group[count++] = other;
	}
	return count;
}

/*
 * Closes what the current suite keeps from case to case before `next` (NULL: none) opens what it
 * keeps.
 */
static void change_suite(struct worker *w, const struct suite *next)
{
	if (w->suite == next)
		return;
	if (w->suite && w->suite->close_state)
		w->suite->close_state(w->suite_state);
	w->suite = next;
	w->suite_state = next && next->open_state ? next->open_state() : NULL;
}

static bool needs_fork_server(const struct assignment *a)
{
	for (size_t i = 0; i < a->case_count; i++)
		if (a->plan->cases[a->cases[i]].suite->fresh_processes)
			return true;
	return false;
}

/* Before any backend is opened. Without one the cases that need it say so. */
static void open_fork_server(struct worker *w, const char *backends)
{
	struct error err = ERROR_NONE;

	if (!needs_fork_server(w->a))
		return;
	w->fork_server = fork_server_open(backends, &w->settings.backend_options, &err);
	if (!w->fork_server)
		fprintf(stderr, "gpuproof: %s\n", err.message);
}

/*
 * Rank 0 decides: all ranks must leave the loop at the same case, also those that took no part in
 * the last one.
 */
static bool go_on(struct worker *w, enum status *last)
{
	struct {
		enum status last;
		bool on;
	} decision = { *last, !status_loses_device(*last) && *last != STATUS_INTERRUPTED &&
				      !*control_stop_flag(w->a->control) };

	world_broadcast(&w->world, 0, &decision, sizeof(decision));
	*last = decision.last;
	return decision.on;
}

void worker_run(const struct assignment *assignment)
{
	const struct plan *plan = assignment->plan;
	struct worker w = { .a = assignment,
			    .world = assignment->worlds[assignment->size],
			    .settings = run_settings_from(plan->config) };
	enum status last = STATUS_OK;
	char *names = backend_names(plan);

	if (assignment->networks >= 0)
		network_log_open();
	w.devices = xcalloc(plan->device_count, sizeof(struct device *));
	w.links = xcalloc(plan->device_count, sizeof(*w.links));
	open_fork_server(&w, names);
	backends_open(&w.backends, names, &w.settings.backend_options);
	free(names);
	/* Also after the last case: ranks that had no part in it must know how it ended. */
	for (size_t i = 0, count; go_on(&w, &last) && i < assignment->case_count; i += count) {
		const struct plan_case *group[GROUP_MOST];

		change_suite(&w, plan->cases[assignment->cases[i]].suite);
		count = next_group(&w, i, group);
		if (w.world.rank < worker_processes(group[0]))
			last = carry_out(&w, group, count);
	}
	/*
	 * A device that an error has broken may hang or crash on closing; the process ends anyway.
	 */
	if (!status_loses_device(last)) {
		change_suite(&w, NULL);
		for (size_t i = 0; i < plan->device_count; i++)
			if (w.devices[i])
				w.devices[i]->backend->device_close(w.devices[i]);
		backends_close(&w.backends);
	}
	fork_server_close(w.fork_server);
	free(w.devices);
	free(w.links);
	free(w.network);
	world_leave(&w.world);
}
