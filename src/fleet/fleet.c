#include "fleet/fleet.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "fleet/merge.h"
#include "fleet/nodes.h"
#include "measure/processes/signals.h"
#include "plan/plan.h"
#include "run/conductor.h"
#include "run/header.h"

#define END_SECONDS 10.0 /* that a launcher may take after its last agent */
#define TICK_MS 100

static void fleet_send_order(void *context, size_t node, const struct fleet_message *message)
{
	struct fleet_run *f = context;

	if (f->nodes[node].peer)
		nodes_send(f, f->nodes[node].peer, message);
}

static void fleet_say_text(void *context, const char *text)
{
	nodes_log(context, "%s", text);
}

/* Numbers of nodes, by their names. */
static int fleet_by_name_of(const void *a, const void *b, void *fleet)
{
	const struct node *nodes = ((const struct fleet_run *)fleet)->nodes;

	return strverscmp(nodes[*(const size_t *)a].name, nodes[*(const size_t *)b].name);
}

static void fleet_open_rounds(struct fleet_run *f, const struct config *config)
{
	const struct rounds_callbacks callbacks = { .context = f,
						    .send = fleet_send_order,
						    .say = fleet_say_text };
	const char **names = xcalloc(f->count + 1, sizeof(*names));
	size_t *nodes = xcalloc(f->count + 1, sizeof(*nodes)), count = 0;
	struct error err = ERROR_NONE;

	for (size_t i = 0; i < f->count; i++)
		if (f->nodes[i].phase == NODE_READY)
			nodes[count++] = i;
	qsort_r(nodes, count, sizeof(*nodes), fleet_by_name_of, f);
	for (size_t i = 0; i < count; i++)
		names[i] = f->nodes[nodes[i]].name;
	if (rounds_open(&f->rounds, config, f->directory, names, nodes, count,
			text_hash(TEXT_HASH_START, f->run_id, strlen(f->run_id)), &callbacks,
			&err) != STATUS_OK) {
		fprintf(stderr, "gpuproof: cannot run the cases of several nodes: %s\n",
			err.message);
		rounds_group_stop_all(f->rounds);
	}
	free(names);
	free(nodes);
}

/* True when all nodes' own cases are done, and those of several nodes, too. */
static bool fleet_all_ended(struct fleet_run *f, const struct config *config)
{
	bool ready = false;

	for (size_t i = 0; i < f->count; i++) {
		if (f->nodes[i].phase != NODE_ENDED && f->nodes[i].phase != NODE_READY)
			return false;
		ready = ready || f->nodes[i].phase == NODE_READY;
	}
	if (!f->join_over)
		return false;
	if (!f->own_ended)
		f->own_ended = clock_seconds();
	if (ready && !f->rounds)
		fleet_open_rounds(f, config);
	if (f->stopping && f->rounds)
		rounds_group_stop_all(f->rounds);
	if (f->rounds && rounds_step(f->rounds))
		return false;
	for (size_t i = 0; i < f->count; i++)
		if (f->nodes[i].phase == NODE_READY)
			nodes_end(f, i, NODE_OK, "");
	return true;
}

static void fleet_attend(struct fleet_run *f, const struct config *config)
{
	double interval = f->silent_after / 4 < 1 ? f->silent_after / 4 : 1, said = 0;

	while (!fleet_all_ended(f, config)) {
		struct peer *ready[64];
		size_t count = peers_wait(&f->peers, ready, ARRAY_SIZE(ready),
					  f->rounds ? TICK_MS / 10 : TICK_MS);
		bool launching;

		signals_drain();
		nodes_take_calls(f);
		for (size_t i = 0; i < count; i++)
			nodes_read(f, ready[i]);
		launching = launcher_attend(&f->launcher);
		fleet_watch_nodes(f, config, launching);
		nodes_report_lost(f);
		fleet_watch_nodes_status(f);
		fleet_watch_nodes_stream(f, false);
		if (clock_seconds() - said >= interval) {
			for (size_t i = 0; i < f->peers.count; i++)
				if (f->peers.items[i]->node != NO_NODE &&
				    !f->peers.items[i]->out.length)
					nodes_send(f, f->peers.items[i],
						   &(struct fleet_message){ .kind = "alive" });
			said = clock_seconds();
		}
		peers_sweep(&f->peers);
	}
	nodes_report_strangers(f, true);
}

/* True for a node that was not whole when others are to measure again: it stays as it is. */
static bool fleet_take_up_lost(struct fleet_run *f, size_t index)
{
	const struct result *before = f->options->before;
	struct node *n = &f->nodes[index];

	for (size_t i = 0; before && i < before->node_count; i++) {
		const struct result_node *was = &before->nodes[i];

		if (strcmp(was->name, n->name) != 0 || was->status == NODE_OK)
			continue;
		n->phase = NODE_ENDED;
		n->status = was->status;
		nodes_text(&n->reason, was->reason);
		nodes_text(&n->at, was->lost_at);
		return true;
	}
	return false;
}

/* Nodes of the run that is continued. */
static enum status fleet_take_up_nodes(struct fleet_run *f, struct error *err)
{
	char *path = xasprintf("%s/nodes", f->directory);
	DIR *folder = opendir(path);
	struct dirent *entry;

	if (!folder && errno != ENOENT)
		error_errno(err, "%s", path);
	while (folder && (entry = readdir(folder))) {
		size_t index;

		if (!wire_message_name_valid(entry->d_name))
			continue;
		index = nodes_add(f, entry->d_name);
		if (fleet_take_up_lost(f, index))
			continue;
		/* With cases of several nodes to come a node is needed again. */
		if (f->has_groups || !merge_node_whole(f->directory, entry->d_name))
			continue;
		f->nodes[index].phase = NODE_ENDED;
		f->nodes[index].kept = true;
		nodes_text(&f->nodes[index].reason, "");
		if (!f->options->before)
			nodes_log(f, "%s has already finished", entry->d_name);
	}
	/* Those that never called have no folder. */
	for (size_t i = 0; f->options->before && i < f->options->before->node_count; i++)
		fleet_take_up_lost(f, nodes_add(f, f->options->before->nodes[i].name));
	if (folder)
		closedir(folder);
	free(path);
	return err->status;
}

static int fleet_by_node_name(const void *a, const void *b)
{
	return strverscmp(((const struct node *)a)->name, ((const struct node *)b)->name);
}

static enum status fleet_open_journal(struct fleet_run *f, const struct config *config,
				      struct result *result, struct error *err)
{
	struct plan plan = { .config = config };
	struct case_result none;
	struct losses lost = { 0 };
	struct probe probe = { 0 };
	bool done = false;

	if (!f->options->resume) {
		run_header_fill(result, &plan, &probe, f->options->command);
		return journal_create(&f->journal, f->options->directory, result, &plan, err);
	}
	journal_resume(&f->journal, f->options->directory, &plan, result, &none, &done, &lost, err);
	journal_losses_release(&lost);
	return err->status;
}

static enum status fleet_make_folders(struct fleet_run *f, struct error *err)
{
	char *path;

	f->directory = realpath(f->options->directory, NULL);
	if (!f->directory)
		return error_errno(err, "%s", f->options->directory);
	path = xasprintf("%s/nodes", f->directory);
	if (mkdir(path, 0777) != 0 && errno != EEXIST)
		error_errno(err, "%s", path);
	free(path);
	path = xasprintf("%s/agents.log", f->directory);
	f->log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (f->log < 0 && !err->status)
		error_errno(err, "%s", path);
	if (f->log >= 0)
		f->log_began = lseek(f->log, 0, SEEK_END);
	free(path);
	return err->status;
}

static enum status fleet_launch_agents(struct fleet_run *f, const struct section *settings,
				       struct error *err)
{
	bool *wanted = xcalloc(f->launcher.name_count, sizeof(*wanted));
	bool any = !f->launcher.name_count;
	char *addresses = NULL, *how = launcher_describe(&f->launcher);
	struct rlimit descriptors;

	/* An agent is a descriptor. */
	if (getrlimit(RLIMIT_NOFILE, &descriptors) == 0) {
		descriptors.rlim_cur = descriptors.rlim_max;
		setrlimit(RLIMIT_NOFILE, &descriptors);
	}
	for (size_t i = 0; i < f->launcher.name_count; i++) {
		wanted[i] = f->nodes[nodes_find(f, f->launcher.names[i])].phase != NODE_ENDED;
		any = any || wanted[i];
	}
	/* Nodes of an earlier launcher cannot be told from those that this one starts. */
	for (size_t i = f->launcher.name_count; i < f->count; i++)
		any = any || f->nodes[i].phase != NODE_ENDED;
	if (wire_message_token_make(f->token, err) == STATUS_OK &&
	    peers_open(&f->peers, section_text(settings, "interface"),
		       f->launcher.kind == LAUNCH_SIMULATED, &addresses, err) == STATUS_OK &&
	    any) {
		nodes_log(f, "%s", how);
		launcher_start(&f->launcher, wanted, addresses, f->token, f->log, err);
	}
	f->began = clock_seconds();
	free(addresses);
	free(how);
	free(wanted);
	return err->status;
}

/* Parts of the run's time; of one that measures again what was not decided, one part. */
static void fleet_add_phases(const struct fleet_run *f, struct result *result, double began,
			     double ended)
{
	const struct result *before = f->options->before;

	for (size_t i = 0; before && i < before->phase_count; i++)
		result_add_phase(result, before->phases[i].name, before->phases[i].seconds);
	if (before) {
		result_add_phase(result, "repeated cases", ended - began);
		return;
	}
	result_add_phase(result, "start-up of the agents",
			 (f->own_began ? f->own_began : ended) - began);
	if (f->own_began)
		result_add_phase(result, "cases of each node", f->own_ended - f->own_began);
	if (f->rounds)
		result_add_phase(result, "cases of several nodes", ended - f->own_ended);
	else
		result_add_phase(result, "shutdown of the agents", ended - f->own_ended);
}

static void fleet_gather_results(struct fleet_run *f, const struct config *config,
				 struct result *result, double began, double ended)
{
	bool whole = true, interrupted = false;
	bool *kept = xcalloc(f->count, sizeof(*kept));
	char now[32];

	qsort(f->nodes, f->count, sizeof(*f->nodes), fleet_by_node_name);
	for (size_t i = 0; i < f->count; i++) {
		const struct node *n = &f->nodes[i];

		kept[i] = n->kept;
		ARRAY_GROW(result->nodes, result->node_count, result->node_capacity);
		result->nodes[result->node_count++] = (struct result_node){
			.name = xstrdup(n->name),
			.status = n->status,
			.reason = xstrdup(n->reason),
			.lost_at = xstrdup(n->status == NODE_LOST && n->at ? n->at : ""),
			.planned = n->planned,
		};
		whole = whole && n->status == NODE_OK;
		interrupted = interrupted || n->status == NODE_INTERRUPTED;
	}
	fleet_merge(result, f->options->before, kept, config, f->directory);
	free(kept);
	if (f->rounds)
		rounds_collect(f->rounds, result);
	for (size_t i = 0; i < result->node_count; i++)
		whole = whole && result->nodes[i].status == NODE_OK;
	fleet_add_phases(f, result, began, ended);
	free(result->state);
	result->state = xstrdup(whole                        ? "complete"
				: interrupted && !f->too_few ? "interrupted"
							     : "incomplete");
	clock_iso8601(now, sizeof(now));
	free(result->finished);
	result->finished = xstrdup(strcmp(now, result->started) < 0 ? result->started : now);
	result->seconds = ended - began + (f->options->before ? f->options->before->seconds : 0);
}

static void fleet_run_release(struct fleet_run *f)
{
	for (size_t i = 0; i < f->count; i++) {
		free(f->nodes[i].name);
		free(f->nodes[i].reason);
		free(f->nodes[i].at);
		free(f->nodes[i].refused);
	}
	free(f->nodes);
	free(f->stream.header.devices);
	rounds_close(f->rounds);
	peers_close(&f->peers);
	launcher_release(&f->launcher);
	journal_close(&f->journal);
	free(f->directory);
	if (f->log >= 0)
		close(f->log);
}

static enum status fleet_attend_nodes(struct fleet_run *f, const struct config *config,
				      struct result *result, struct error *err)
{
	double began = clock_seconds();

	fleet_watch_nodes_status_begin(f, result);
	f->stream.run = result;
	signals_attend(true);
	fleet_attend(f, config);
	nodes_report_lost(f);
	fleet_watch_nodes_stream(f, true);
	signals_attend(false);
	peers_close(&f->peers);
	launcher_end(&f->launcher, END_SECONDS);
	*f->options->stopped_by = signals_last_stop();
	fleet_gather_results(f, config, result, began, clock_seconds());
	if (result_write_to(result, f->directory, err) != STATUS_OK)
		return err->status;
	if (f->stops_seen)
		return error_set(err, STATUS_INTERRUPTED, "interrupted");
	if (f->too_few)
		return error_set(err, STATUS_UNSUPPORTED,
				 "the run ended early, because fewer nodes than min_nodes were "
				 "left");
	return STATUS_OK;
}

enum status fleet_run(const struct config *config, const struct fleet_options *options,
		      struct result *result, struct error *err)
{
	const struct section *settings = config_section(config, "fleet", "");
	struct fleet_run f = { .options = options,
			       .journal = { .fd = -1 },
			       .peers = PEERS_NONE,
			       .silent_after = section_real(settings, "silent_after"),
			       .join_within = section_real(settings, "join_within"),
			       .log = -1 };
	bool begun = false;

	f.has_groups = plan_has_groups(config);
	memset(result, 0, sizeof(*result));
	if (launcher_choose(&f.launcher, config, options->launch, err) == STATUS_OK &&
	    fleet_open_journal(&f, config, result, err) == STATUS_OK &&
	    fleet_make_folders(&f, err) == STATUS_OK) {
		f.run_id = result->run_id;
		for (size_t i = 0; i < f.launcher.name_count; i++)
			nodes_add(&f, f.launcher.names[i]);
		begun = fleet_take_up_nodes(&f, err) == STATUS_OK &&
			fleet_launch_agents(&f, settings, err) == STATUS_OK;
	}
	if (begun)
		fleet_attend_nodes(&f, config, result, err);
	else
		result_release(result);
	fleet_run_release(&f);
	return err->status;
}
