#include "run/workers/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "device/limits.h"
#include "device/ranks/transport.h"
#include "device/ranks/network_log.h"
#include "measure/processes/child.h"
#include "measure/processes/fork_server.h"
#include "measure/processes/process_title.h"
#include "measure/run.h"
#include "measure/telemetry/condition.h"
#include "measure/telemetry/telemetry_window.h"
#include "plan/suite.h"
#include "run/workers/describe.h"
#include "run/workers/message.h"
#include "run/workers/run_settings.h"

/* The most cases of a concurrent group. */
#define GROUP_MOST 64

/* One case in the worker's hands. */
struct attempt {
	struct run run;
	struct sampling rules;
	struct device **devices; /* run.devices; owned */
	struct case_result result;
	enum status status; /* the outcome so far ... */
	struct error err;   /* ... and its reason */
	double began;       /* host clock */
	struct phases phases;
};

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

static void worker_send_text(const struct worker *w, struct text *text)
{
	bool sent = w->world.rank != 0 || file_write_all(w->a->pipe, text->data, text->length);

	text_release(text);
	if (!sent)
		child_exit(1); /* the conductor is gone */
}

static void worker_send_index(const struct worker *w, enum message_kind kind, size_t index)
{
	struct text text = TEXT_EMPTY;

	worker_message_add_index(&text, kind, index);
	worker_send_text(w, &text);
}

static void worker_send_progress(void *context, size_t samples, double median, double half_width)
{
	const struct worker *w = context;
	struct text text = TEXT_EMPTY;

	worker_message_add_progress(&text, samples, median, half_width);
	worker_send_text(w, &text);
}

/* "cuda13,host": what this plan's devices need. Another backend, or module, could only do harm. */
static char *worker_backend_names(const struct plan *plan)
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

static enum status worker_open_device(struct worker *w, size_t index, struct error *err)
{
	const struct device_info *info = &w->a->plan->devices[index];
	const struct backend *backend = NULL;

	if (w->devices[index])
		return STATUS_OK;
	for (size_t i = 0; i < w->backends.count && !backend; i++)
		if (strcmp(w->backends.backends[i]->name, info->backend) == 0 &&
		    strcmp(w->backends.backends[i]->module, info->module) == 0)
			backend = w->backends.backends[i];
	if (!backend)
		return error_set(err, STATUS_DEVICE, "%s: cannot reopen backend %s (%s)%s%s",
				 info->id, info->backend, info->module,
				 w->backends.missing_count ? ": " : "",
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

/* Place in the case's devices of the first one that this rank drives. */
static size_t worker_first_place(const struct worker *w, const struct plan_case *c)
{
	return c->suite->processes == SUITE_PROCESS_PER_DEVICE ? (size_t)w->world.rank : 0;
}

/*
 * Every attempt gets a status: a concurrent group begins with all of its devices open, or not at
 * all.
 */
static enum status worker_open_all(struct worker *w, struct attempt *attempts, size_t count)
{
	enum status status = STATUS_OK;

	for (size_t i = 0; i < count && status == STATUS_OK; i++) {
		struct attempt *a = &attempts[i];
		const struct plan_case *c = a->run.c;
		/* The devices that this rank drives: its own, or in a suite of one process all. */
		size_t first = worker_first_place(w, c),
		       end = c->suite->processes == SUITE_PROCESS_PER_DEVICE ? first + 1
									     : c->device_count;

		for (size_t d = first; d < end && d < c->device_count && status == STATUS_OK; d++) {
			status = worker_open_device(w, c->devices[d], &a->err);
			if (status == STATUS_OK)
				a->devices[a->run.device_count++] = w->devices[c->devices[d]];
		}
		status = a->status = world_agree(a->run.world, status, &a->err);
		a->run.sampler.device = a->run.device_count ? a->run.devices[0] : NULL;
	}
	return status;
}

static enum status worker_attempt_check_memory(const struct run *run, struct error *err)
{
	const struct plan_case *c = run->c;
	uint64_t available = device_limits_memory_available();
	char need[32], have[32], total[32];

	for (size_t i = 0; i < run->device_count; i++) {
		struct error ignored = ERROR_NONE;
		uint64_t free_bytes, total_bytes;

		if (backend_device_memory(run->devices[i], &free_bytes, &total_bytes, &ignored) !=
			    STATUS_OK ||
		    c->device_bytes <= free_bytes)
			continue;
		return error_set(err, STATUS_UNSUPPORTED,
				 "needs %s of memory on %s, which has %s of %s free",
				 units_si((double)c->device_bytes, "B", need, sizeof(need)),
				 run->devices[i]->info.id,
				 units_si((double)free_bytes, "B", have, sizeof(have)),
				 units_si((double)total_bytes, "B", total, sizeof(total)));
	}
	if (c->host_bytes > available)
		return error_set(err, STATUS_UNSUPPORTED,
				 "needs %s of host memory, and only %s is available",
				 units_si((double)c->host_bytes, "B", need, sizeof(need)),
				 units_si((double)available, "B", have, sizeof(have)));
	return STATUS_OK;
}

/* Those that may be measured, with telemetry; how many they are. */
static size_t worker_prepare_all(struct worker *w, struct attempt *attempts, size_t count,
				 struct attempt **ready)
{
	double interval = w->world.rank == 0 ? w->settings.telemetry_seconds : 0;
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		struct attempt *a = &attempts[i];

		phases_enter(&a->phases, "set-up");
		a->status = world_agree(a->run.world, worker_attempt_check_memory(&a->run, &a->err),
					&a->err);
		if (a->status != STATUS_OK)
			continue;
		condition_before(a->run.sampler.device, &a->result);
		ready[n++] = a;
	}
	for (size_t i = 0; i < n; i++) {
		struct run *run = &ready[i]->run;

		run->telemetry = telemetry_window_open(run->sampler.device, interval);
		run_forget_paths(run);
	}
	return n;
}

/* A concurrent group (src/plan/suite.h). */
static void worker_measure_together(struct attempt *const *attempts, size_t count)
{
	struct run **runs = xcalloc(count, sizeof(struct run *));
	struct error *errs = xcalloc(count, sizeof(*errs));

	for (size_t i = 0; i < count; i++)
		runs[i] = &attempts[i]->run;
	runs[0]->c->suite->run_group(runs, count, errs);
	for (size_t i = 0; i < count; i++) {
		attempts[i]->err = errs[i];
		attempts[i]->status = errs[i].status;
	}
	free(runs);
	free(errs);
}

/* Code paths, telemetry, and the devices' condition. */
static void worker_finish_all(struct worker *w, struct attempt *const *ready, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct run *run = &ready[i]->run;

		/* Launches are counted for a concurrent group as a whole. */
		if (i == 0)
			run_record_paths(run);
		else
			for (size_t p = 0; p < ready[0]->result.path_count; p++)
				run_add_path(&ready[i]->result, xstrdup(ready[0]->result.paths[p]));
		telemetry_window_summary(run->telemetry, &ready[i]->result.during);
		telemetry_window_close(run->telemetry);
	}
	for (size_t i = 0; i < count; i++) {
		struct attempt *a = ready[i];

		phases_enter(&a->phases, "clean-up");
		if (!status_loses_device(a->status))
			condition_after(
				a->run.sampler.device,
				&w->links[a->run.c->devices[worker_first_place(w, a->run.c)]],
				&w->poll, &a->result);
	}
}

/* Status, reason and times of the result; `parts`: attempts that share the time since it began. */
static void worker_settle_attempt(struct attempt *a, double run_began, size_t parts)
{
	struct case_result *result = &a->result;
	enum case_end end = case_end_of_status(a->status);

	describe_outcome(result,
			 a->status == STATUS_OK         ? CASE_OK
			 : a->status == STATUS_MISMATCH ? CASE_FAILED
			 /* nothing is wrong with it; its samples are kept */
			 : end == CASE_END_UNSUPPORTED || end == CASE_END_INTERRUPTED ? CASE_SKIPPED
										      : CASE_ERROR,
			 end, a->err.message);
	if (case_end_is_fault(result->end) || result->status == CASE_FAILED)
		case_result_set_fault(result, a->err.rank - 1);
	/* Metrics of samples that still drifted are no headline. */
	for (size_t i = 0; i < result->metric_count; i++)
		if (case_is_unsettled(result, &result->metrics[i]))
			result->metrics[i].headline = false;
	phases_record(&a->phases, result);
	result->started_seconds = a->began - run_began;
	result->seconds = (clock_seconds() - a->began) / (double)parts;
}

static void worker_send_result(struct worker *w, struct attempt *a, bool first, size_t parts)
{
	struct text message = TEXT_EMPTY;

	if (!first) {
		worker_send_index(w, MESSAGE_START, a->run.c->index);
		worker_send_index(w, MESSAGE_READY, a->run.c->index);
	}
	worker_settle_attempt(a, w->a->run_began, parts);
	worker_message_add_case(&message, a->status == STATUS_INTERRUPTED, &a->result);
	worker_send_text(w, &message);
}

/* The status with most effect on what this process can still do. */
static enum status worker_worst_status(const struct attempt *attempts, size_t count)
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
static void worker_record_network(struct worker *w, struct case_result *result)
{
	char *choice = network_log_choice().text;

	if (!choice)
		return;
	run_add_path(result, xasprintf("NCCL: %s", choice));
	if (!w->network || strcmp(w->network, choice) != 0) {
		char *line = xasprintf("%s\n", choice);

		file_write_all(w->a->networks, line, strlen(line));
		free(line);
	}
	free(w->network);
	w->network = choice;
}

/*
 * Takes the figures of a case with or without GPUDirect RDMA away again where NCCL's log does not
 * tell, on all ranks together, that it did as asked.
 */
static void worker_check_gpudirect(const struct worker *w, struct attempt *a)
{
	struct network_choice own = network_log_choice();
	double all = world_sum(a->run.world, (double)own.all),
	       direct = world_sum(a->run.world, (double)own.direct);
	bool as_asked = all > 0 && (a->run.c->gpudirect == GPUDIRECT_ON ? direct > 0 : direct == 0);

	free(own.text);
	if (a->status != STATUS_OK || as_asked)
		return;
	a->status = all > 0 ? error_set(&a->err, STATUS_UNSUPPORTED,
					"NCCL uses GPUDirect RDMA in %.0f of %.0f connections to "
					"other nodes: %s",
					direct, all,
					w->network ? w->network
						   : "the connections are those of other ranks")
			    : error_set(&a->err, STATUS_UNSUPPORTED,
					"NCCL's log shows no connection to another node, so it "
					"does not confirm GPUDirect RDMA");
	case_drop_figures(&a->result);
}

static struct attempt *worker_begin_all(struct worker *w, const struct plan_case *const *cases,
					size_t count, struct world *world)
{
	struct control *control = w->a->control;
	struct attempt *attempts = xcalloc(count, sizeof(*attempts));

	for (size_t i = 0; i < count; i++) {
		const struct plan_case *c = cases[i];
		struct attempt *a = &attempts[i];

		a->began = clock_seconds();
		phases_begin(&a->phases, "opening the device");
		a->phases.stop = &control->stop;
		if (c->section)
			a->rules = sampling_from(c->section);
		a->devices = xcalloc(c->device_count + 1, sizeof(struct device *));
		describe_case(w->a->plan, c, &a->result);
		a->run = (struct run){
			.c = c,
			.devices = a->devices,
			.world = world,
			.suite_state = w->suite_state,
			.sampler = { .rules = &a->rules, .world = world, .stop = &control->stop },
			.fork_server = w->fork_server,
			.phases = &a->phases,
			/* of the run's seed and the case's id, not of what else runs */
			.seed = text_hash(TEXT_HASH_START ^ (uint64_t)w->settings.seed, c->id,
					  strlen(c->id)),
			.run_seed = (uint64_t)w->settings.seed,
			.result = &a->result,
			.folder = *control->folder ? control->folder : NULL
		};
	}
	if (w->world.rank == 0) {
		attempts[0].run.sampler.progress = worker_send_progress;
		attempts[0].run.sampler.progress_context = w;
		for (size_t i = 0; i < count; i++)
			attempts[i].run.sampler.activity = attempts[i].phases.activity =
				&control->activity;
		activity_begin(&control->activity, "opening the device");
		control->log_mark = lseek(STDERR_FILENO, 0, SEEK_END);
		control->in_flight = count;
	}
	worker_send_index(w, MESSAGE_START, cases[0]->index);
	return attempts;
}

/*
 * Opens the devices, runs the suite on the cases together, sends their results; with one of them in
 * flight, as the conductor sees it, until all have a result. It gets none when a device broke in a
 * concurrent group or the user interrupts: then cases are repeated, each alone (supervise.c), or
 * later.
 */
static enum status worker_measure_cases(struct worker *w, const struct plan_case *const *cases,
					size_t count)
{
	struct world world = w->a->worlds[worker_processes(cases[0])];
	struct attempt *attempts = worker_begin_all(w, cases, count, &world);
	struct attempt **ready = xcalloc(count, sizeof(struct attempt *)), *a;
	enum status status;
	bool opened = worker_open_all(w, attempts, count) == STATUS_OK, broken;

	if (opened) {
		size_t n;

		worker_send_index(w, MESSAGE_READY, cases[0]->index);
		n = worker_prepare_all(w, attempts, count, ready);
		a = ready[0];
		if (n == 1)
			a->status = world_agree(&world, a->run.c->suite->run(&a->run, &a->err),
						&a->err);
		else if (n > 1)
			worker_measure_together(ready, n);
		worker_finish_all(w, ready, n);
		if (w->a->networks >= 0)
			worker_record_network(w, &attempts[0].result);
		if (cases[0]->gpudirect != GPUDIRECT_DEFAULT)
			worker_check_gpudirect(w, &attempts[0]);
	}
	status = worker_worst_status(attempts, count);
	broken = count > 1 && (!opened || status_loses_device(status));
	if (w->world.rank == 0 && !broken) {
		w->a->control->in_flight = 1; /* one after the other gets its result */
		for (size_t i = 0; i < (status == STATUS_INTERRUPTED ? 1 : count); i++)
			worker_send_result(w, &attempts[i], i == 0, count);
	}
	for (size_t i = 0; i < count; i++) {
		case_result_release(&attempts[i].result);
		free(attempts[i].devices);
	}
	free(attempts);
	free(ready);
	return broken ? STATUS_DEVICE : status;
}

/*
 * The cases from the `first` of the assignment on that are carried out together; how many, 1 at
 * least.
 */
static size_t worker_next_group(const struct worker *w, size_t first,
				const struct plan_case **group)
{
	const struct assignment *a = w->a;
	size_t count = 1;

	group[0] = &a->plan->cases[a->cases[first]];
	if (!group[0]->suite->groups_with || w->world.size > 1 || a->control->groups_banned)
		return 1;
	for (size_t i = first + 1; i < a->case_count && count < GROUP_MOST; i++) {
		const struct plan_case *other = &a->plan->cases[a->cases[i]];

		/* Energy is that of one case. */
		if (section_real(other->section, "energy_time") > 0 ||
		    other->suite != group[0]->suite || other->section != group[0]->section ||
		    !other->suite->groups_with(w->suite_state, group, count, other))
			break;
		group[count++] = other;
	}
	return count;
}

/*
 * Closes what the current suite keeps from case to case before `next` (NULL: none) opens what it
 * keeps.
 */
static void worker_change_suite(struct worker *w, const struct suite *next)
{
	if (w->suite == next)
		return;
	if (w->suite && w->suite->close_state)
		w->suite->close_state(w->suite_state);
	w->suite = next;
	w->suite_state = next && next->open_state ? next->open_state() : NULL;
}

/* Before any backend is opened. Without one the cases that need it say so. */
static void worker_open_fork_server(struct worker *w, const char *backends)
{
	const struct assignment *a = w->a;
	struct error err = ERROR_NONE;
	bool needed = false;

	for (size_t i = 0; i < a->case_count; i++)
		needed = needed || a->plan->cases[a->cases[i]].suite->fresh_processes;
	if (!needed)
		return;
	w->fork_server = fork_server_open(backends, &w->settings.backend_options, &err);
	if (!w->fork_server)
		fprintf(stderr, "gpuproof: %s\n", err.message);
}

/*
 * Rank 0 decides: all ranks must leave the loop at the same case, also those that took no part in
 * the last one.
 */
static bool worker_go_on(struct worker *w, enum status *last)
{
	struct {
		enum status last;
		bool on;
	} decision = { *last, !status_loses_device(*last) && *last != STATUS_INTERRUPTED &&
				      !w->a->control->stop };

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
	char *names = worker_backend_names(plan);

	if (assignment->networks >= 0)
		network_log_open();
	w.devices = xcalloc(plan->device_count, sizeof(struct device *));
	w.links = xcalloc(plan->device_count, sizeof(*w.links));
	worker_open_fork_server(&w, names);
	backends_open(&w.backends, names, &w.settings.backend_options);
	free(names);
	/* Also after the last case: ranks that had no part in it must know how it ended. */
	for (size_t i = 0, count; worker_go_on(&w, &last) && i < assignment->case_count;
	     i += count) {
		const struct plan_case *group[GROUP_MOST];

		worker_change_suite(&w, plan->cases[assignment->cases[i]].suite);
		count = worker_next_group(&w, i, group);
		/* A worker of one process shows the device of its case; a rank keeps its own. */
		if (assignment->size == 1)
			process_title("worker %s", plan->devices[group[0]->devices[0]].id);
		if (w.world.rank < worker_processes(group[0]))
			last = worker_measure_cases(&w, group, count);
	}
	/*
	 * A device that an error has broken may hang or crash on closing; the process ends anyway.
	 */
	if (!status_loses_device(last)) {
		worker_change_suite(&w, NULL);
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
