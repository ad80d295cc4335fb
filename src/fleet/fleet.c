#include "fleet/fleet.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "fleet/launcher.h"
#include "fleet/merge.h"
#include "fleet/message.h"
#include "fleet/peer.h"
#include "fleet/rounds.h"
#include "measure/processes/signals.h"
#include "plan/plan.h"
#include "result/host/build.h"
#include "run/conductor.h"
#include "run/header.h"
#include "run/journal.h"

#define HELLO_SECONDS 10.0 /* in which a connection must have identified itself */
#define END_SECONDS 10.0   /* that a launcher may take after its last agent */
#define TICK_MS 100
#define NO_NODE ((size_t)-1)

/* ready: its own cases are done, and it waits for those of several nodes */
enum phase { NODE_WAITS, NODE_RUNS, NODE_READY, NODE_ENDED };

struct node {
	char *name;
	enum phase phase;
	enum node_status status; /* once it has ended */
	char *reason, *at;       /* at: case in flight */
	char *refused;           /* why an agent with this name was not accepted; NULL */
	size_t planned, finished;
	struct peer *peer; /* NULL: not connected */
	bool kept;         /* whole before this conductor began */
};

struct fleet {
	const struct fleet_options *options;
	struct launcher launcher;
	struct journal journal;
	struct peers peers;
	struct node *nodes;
	size_t count, capacity;
	char token[FLEET_TOKEN_LENGTH + 1];
	char *directory; /* absolute */
	const char *run_id;
	double silent_after, join_within, began;
	bool join_over, stopping, too_few;
	int stops_seen, log;
	bool has_groups; /* cases of several nodes together come after those of the nodes */
	struct rounds *rounds;
	off_t log_began; /* where this launcher's output begins in it */
};

static void say(const struct fleet *f, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void say(const struct fleet *f, const char *format, ...)
{
	struct text line = TEXT_EMPTY;
	va_list ap;
	char *text;

	if (f->options->quiet)
		return;
	va_start(ap, format);
	if (vasprintf(&text, format, ap) >= 0) {
		text_addf(&line, "gpuproof: %s\n", text);
		fputs(line.data, stderr);
		free(text);
	}
	va_end(ap);
	text_release(&line);
}

static size_t find_node(const struct fleet *f, const char *name)
{
	for (size_t i = 0; i < f->count; i++)
		if (strcmp(f->nodes[i].name, name) == 0)
			return i;
	return NO_NODE;
}

static size_t add_node(struct fleet *f, const char *name)
{
	size_t index = find_node(f, name);

	if (index != NO_NODE)
		return index;
	ARRAY_GROW(f->nodes, f->count, f->capacity);
	f->nodes[f->count] = (struct node){ .name = xstrdup(name) };
	return f->count++;
}

static void set_text(char **to, const char *text)
{
	char *copy = text && *text ? text_harmless(text) : xstrdup("");

	free(*to);
	*to = copy;
}

static void end_node(struct fleet *f, size_t index, enum node_status status, const char *reason)
{
	struct node *n = &f->nodes[index];
	bool at = status == NODE_LOST && n->at && *n->at;

	if (n->phase == NODE_ENDED)
		return;
	if (f->rounds && status != NODE_OK)
		rounds_lost(f->rounds, index, reason);
	if (n->peer)
		n->peer->node = NO_NODE, n->peer->closing = true;
	n->peer = NULL;
	n->phase = NODE_ENDED;
	n->status = status;
	set_text(&n->reason, reason);
	if (status == NODE_OK)
		say(f, "%s is done: %zu cases", n->name, n->finished);
	else
		fprintf(stderr, "gpuproof: %s: %s%s%s: %s\n", n->name, node_status_name(status),
			at ? " at " : "", at ? n->at : "", n->reason);
	if (status == NODE_LOST)
		launcher_kill_node(&f->launcher, index);
}

static void send_to(struct fleet *f, struct peer *peer, const struct fleet_message *message)
{
	struct text line = TEXT_EMPTY;

	fleet_message_add(&line, message);
	peer_send(&f->peers, peer, line.data, line.length);
	text_release(&line);
}

static void refuse(struct fleet *f, struct peer *peer, const char *reason)
{
	send_to(f, peer, &(struct fleet_message){ .kind = "refuse", .text = reason });
	peer->closing = true;
}

/* Why an agent with a right token is not wanted; NULL: it is. Malloc'ed. */
static char *objection(const struct fleet *f, const struct fleet_message *hello, size_t index)
{
	if (hello->protocol != FLEET_PROTOCOL || strcmp(hello->build, build_version()) != 0)
		return xasprintf("other build: gpuproof %s (protocol %lld), the conductor is "
				 "gpuproof %s (protocol %d)",
				 *hello->build ? hello->build : "of no version",
				 (long long)hello->protocol, build_version(), FLEET_PROTOCOL);
	if (f->stopping)
		return xstrdup("the run is being stopped");
	if (index != NO_NODE &&
	    (f->nodes[index].phase == NODE_RUNS || f->nodes[index].phase == NODE_READY))
		return xasprintf("node %s has an agent already: one per node", hello->node);
	if (index != NO_NODE && f->nodes[index].phase == NODE_ENDED &&
	    f->nodes[index].status == NODE_OK)
		return xasprintf("node %s has nothing left to do", hello->node);
	if (index == NO_NODE && f->launcher.name_count)
		return xasprintf("node %s is not one of the run's", hello->node);
	return NULL;
}

static void start_node(struct fleet *f, struct peer *peer, size_t index)
{
	bool shared = f->launcher.kind == LAUNCH_SIMULATED;
	struct fleet_message start = { .kind = "start",
				       .directory = f->directory,
				       .run = f->run_id,
				       .silent_after = f->silent_after,
				       .share = (int64_t)index,
				       .groups = f->has_groups,
				       .shares = shared ? (int64_t)f->launcher.name_count : 1 };
	struct node *n = &f->nodes[index];

	peer->node = index;
	n->peer = peer;
	n->phase = NODE_RUNS;
	send_to(f, peer, &start);
}

static void on_hello(struct fleet *f, struct peer *peer, const struct fleet_message *hello)
{
	bool trusted = fleet_token_equal(f->token, hello->token);
	bool named = fleet_name_valid(hello->node);
	size_t index = named ? find_node(f, hello->node) : NO_NODE;
	char *reason;

	if (strcmp(hello->kind, "hello") != 0 || !trusted || !named) {
		reason = xstrdup(!trusted ? "wrong token" : "this is no agent's hello");
		fprintf(stderr,
			"gpuproof: an agent at %s that calls itself node %s is refused: %s\n",
			peer->from, named ? hello->node : "by no valid name", reason);
		/* Its name is only a hint for a node that never calls. */
		if (index != NO_NODE && f->nodes[index].phase == NODE_WAITS)
			set_text(&f->nodes[index].refused, reason);
		refuse(f, peer, reason);
		free(reason);
		return;
	}
	reason = objection(f, hello, index);
	if (!reason) {
		start_node(f, peer, index == NO_NODE ? add_node(f, hello->node) : index);
		return;
	}
	refuse(f, peer, reason);
	if (index == NO_NODE && !f->launcher.name_count)
		index = add_node(f, hello->node);
	if (index != NO_NODE && f->nodes[index].phase == NODE_WAITS)
		end_node(f, index, NODE_ERROR, reason);
	free(reason);
}

static size_t counted(int64_t number)
{
	return number > 0 ? (size_t)number : 0;
}

static void on_done(struct fleet *f, size_t index, const char *state)
{
	if (strcmp(state, "complete") == 0 && f->has_groups && !f->stopping)
		f->nodes[index].phase = NODE_READY;
	else if (strcmp(state, "complete") == 0)
		end_node(f, index, NODE_OK, "");
	else if (strcmp(state, "interrupted") == 0)
		end_node(f, index, NODE_INTERRUPTED,
			 f->too_few ? "stopped: too few nodes are left" : "interrupted");
	else
		end_node(f, index, NODE_ERROR, "its run did not reach its end");
}

static void on_message(struct fleet *f, struct peer *peer, const struct fleet_message *m)
{
	struct node *n;

	if (peer->node == NO_NODE) {
		on_hello(f, peer, m);
		return;
	}
	n = &f->nodes[peer->node];
	if (strcmp(m->kind, "alive") == 0) {
		n->planned = counted(m->planned);
		n->finished = counted(m->finished);
		set_text(&n->at, m->text);
	} else if (strcmp(m->kind, "done") == 0) {
		on_done(f, peer->node, m->state);
	} else if (f->rounds) {
		rounds_message(f->rounds, peer->node, m);
	} else if (strcmp(m->kind, "failed") == 0) {
		end_node(f, peer->node, NODE_ERROR, m->text);
	}
}

static void lose_peer(struct fleet *f, struct peer *peer, const char *reason)
{
	if (peer->node != NO_NODE)
		end_node(f, peer->node, NODE_LOST, reason);
	peer->closing = true;
}

/* Every whole line that has come. */
static void read_lines(struct fleet *f, struct peer *peer)
{
	char *line, *end;
	size_t used = 0;

	while (!peer->closing && used < peer->in.length &&
	       (end = memchr(peer->in.data + used, '\n', peer->in.length - used))) {
		struct error err = ERROR_NONE;
		struct fleet_message message;

		line = peer->in.data + used;
		if (fleet_message_parse(line, (size_t)(end - line), &message, &err) == STATUS_OK)
			on_message(f, peer, &message);
		else
			lose_peer(f, peer, "it sent what is no message");
		fleet_message_release(&message);
		used += (size_t)(end - line) + 1;
	}
	if (used)
		memmove(peer->in.data, peer->in.data + used, peer->in.length - used);
	peer->in.length -= used;
	if (peer->in.length > (peer->node == NO_NODE ? FLEET_HELLO_MOST : FLEET_MESSAGE_MOST))
		lose_peer(f, peer, "it sent a line without an end");
}

static void on_readable(struct fleet *f, struct peer *peer)
{
	bool open = peer_receive(peer);

	if (!open)
		text_reset(&peer->out);
	read_lines(f, peer);
	if (!open && !peer->closing)
		lose_peer(f, peer, "its agent has died: the connection was closed");
}

/* Nodes that can still give a whole result. */
static size_t nodes_left(const struct fleet *f)
{
	size_t left = 0;

	for (size_t i = 0; i < f->count; i++)
		left += f->nodes[i].phase != NODE_ENDED || f->nodes[i].status == NODE_OK;
	if (!f->join_over && f->launcher.expected > f->count)
		left += f->launcher.expected - f->count;
	return left;
}

static size_t nodes_wanted(const struct fleet *f)
{
	return f->launcher.expected > f->count ? f->launcher.expected : f->count;
}

static void stop_nodes(struct fleet *f)
{
	f->stopping = true;
	for (size_t i = 0; i < f->count; i++) {
		if ((f->nodes[i].phase == NODE_RUNS || f->nodes[i].phase == NODE_READY) &&
		    f->nodes[i].peer)
			send_to(f, f->nodes[i].peer, &(struct fleet_message){ .kind = "stop" });
		else if (f->nodes[i].phase == NODE_WAITS)
			end_node(f, i, NODE_INTERRUPTED, "interrupted before it began");
	}
}

static void heed_stops(struct fleet *f)
{
	int stops = signals_stops();

	if (stops == f->stops_seen)
		return;
	f->stops_seen = stops;
	if (stops == 1) {
		fprintf(stderr, "gpuproof: stopping all nodes after their sample in flight; once "
				"more to stop at once\n");
		stop_nodes(f);
		return;
	}
	for (size_t i = 0; i < f->count; i++)
		if (f->nodes[i].phase != NODE_ENDED)
			end_node(f, i, NODE_LOST, "given up: the run was stopped at once");
}

/* Those that have not called. */
static void end_joining(struct fleet *f, const char *reason)
{
	f->join_over = true;
	for (size_t i = 0; i < f->count; i++) {
		struct node *n = &f->nodes[i];
		char *text =
			n->phase == NODE_WAITS && n->refused
				? xasprintf("%s; an agent that called itself %s was refused: %s",
					    reason, n->name, n->refused)
				: xstrdup(reason);

		if (n->phase == NODE_WAITS)
			end_node(f, i, NODE_LOST, text);
		free(text);
	}
	for (size_t known = f->count, i = known; i < f->launcher.expected && !f->stopping; i++) {
		char *name = xasprintf("unknown-%zu", i - known + 1);

		end_node(f, add_node(f, name), NODE_LOST, reason);
		free(name);
	}
}

/* ": <last line of agents.log>", by which a launcher tells what it lacks; "" without one. */
static void last_words(const struct fleet *f, char *words, size_t size)
{
	char *path = xasprintf("%s/agents.log", f->directory), end[512], *line;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t length = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	ssize_t n = 0;

	if (length > f->log_began)
		n = pread(fd, end, sizeof(end) - 1,
			  length > (off_t)sizeof(end) - 1 ? length - (off_t)sizeof(end) + 1 : 0);
	while (n > 0 && end[n - 1] == '\n')
		n--;
	end[n > 0 ? n : 0] = '\0';
	line = strrchr(end, '\n');
	text_mend(end);
	snprintf(words, size, "%s%.200s", *end ? ": " : "", line ? line + 1 : end);
	if (fd >= 0)
		close(fd);
	free(path);
}

/* Agents of this machine that ended before they called. */
static void watch_processes(struct fleet *f)
{
	for (size_t i = 0; i < f->launcher.process_count && !f->peers.count; i++) {
		size_t index = f->launcher.kind == LAUNCH_SIMULATED
				       ? find_node(f, f->launcher.names[i])
				       : NO_NODE;
		char reason[256];

		if (index == NO_NODE || f->launcher.processes[i] > 0)
			continue;
		snprintf(reason, sizeof(reason), "its agent never called: %s", f->launcher.ending);
		if (f->nodes[index].phase == NODE_WAITS)
			end_node(f, index, NODE_LOST, reason);
	}
}

static void watch_joining(struct fleet *f, bool launching)
{
	char reason[512], words[256];
	bool waits = f->launcher.expected > f->count || !f->launcher.expected;

	for (size_t i = 0; i < f->count; i++)
		waits = waits || f->nodes[i].phase == NODE_WAITS;
	if (f->join_over)
		return;
	if (!waits || f->stopping) {
		f->join_over = true;
	} else if (!launching && !f->peers.count) {
		last_words(f, words, sizeof(words));
		snprintf(reason, sizeof(reason), "its agent never called: what starts it %s%s",
			 *f->launcher.ending ? f->launcher.ending : "has ended", words);
		end_joining(f, reason);
	} else if (clock_seconds() - f->began > f->join_within) {
		snprintf(reason, sizeof(reason), "its agent has not called within %g s",
			 f->join_within);
		end_joining(f, reason);
	}
}

static void watch_silence(struct fleet *f)
{
	double now = clock_seconds();
	char reason[128];

	snprintf(reason, sizeof(reason), "it has said nothing for %g s", f->silent_after);
	for (size_t i = 0; i < f->peers.count; i++) {
		struct peer *peer = f->peers.items[i];

		if (peer->closing)
			continue;
		if (peer->node == NO_NODE && now - peer->since > HELLO_SECONDS)
			peer->closing = true;
		else if (peer->node != NO_NODE && now - peer->heard > f->silent_after)
			lose_peer(f, peer, reason);
	}
}

static void say_alive(struct fleet *f)
{
	for (size_t i = 0; i < f->peers.count; i++)
		if (f->peers.items[i]->node != NO_NODE && !f->peers.items[i]->out.length)
			send_to(f, f->peers.items[i], &(struct fleet_message){ .kind = "alive" });
}

static size_t min_nodes(const struct config *config, size_t all)
{
	const char *text = section_text(config_section(config, "fleet", ""), "min_nodes");
	double number = strtod(text, NULL);

	return strchr(text, '%') ? (size_t)ceil(number / 100 * (double)all) : (size_t)number;
}

static void watch_min_nodes(struct fleet *f, const struct config *config)
{
	size_t wanted = min_nodes(config, nodes_wanted(f)), left = nodes_left(f);

	/* More may call. */
	if (f->stopping || left >= wanted || (!f->launcher.expected && !f->join_over))
		return;
	f->too_few = true;
	fprintf(stderr, "gpuproof: %zu of %zu nodes are left, min_nodes asks for %zu: stopping\n",
		left, nodes_wanted(f), wanted);
	stop_nodes(f);
}

static void send_order(void *context, size_t node, const struct fleet_message *message)
{
	struct fleet *f = context;

	if (f->nodes[node].peer)
		send_to(f, f->nodes[node].peer, message);
}

static void say_text(void *context, const char *text)
{
	say(context, "%s", text);
}

static void open_rounds(struct fleet *f, const struct config *config)
{
	const struct rounds_door door = { .context = f, .send = send_order, .say = say_text };
	const char **names = xcalloc(f->count + 1, sizeof(*names));
	size_t *nodes = xcalloc(f->count + 1, sizeof(*nodes)), count = 0;
	struct error err = ERROR_NONE;

	for (size_t i = 0; i < f->count; i++)
		if (f->nodes[i].phase == NODE_READY)
			nodes[count++] = i;
	for (size_t i = 1; i < count; i++)
		for (size_t k = i;
		     k > 0 && strverscmp(f->nodes[nodes[k - 1]].name, f->nodes[nodes[k]].name) > 0;
		     k--) {
			size_t kept = nodes[k];

			nodes[k] = nodes[k - 1];
			nodes[k - 1] = kept;
		}
	for (size_t i = 0; i < count; i++)
		names[i] = f->nodes[nodes[i]].name;
	if (rounds_open(&f->rounds, config, f->directory, names, nodes, count,
			text_hash(TEXT_HASH_START, f->run_id, strlen(f->run_id)), &door,
			&err) != STATUS_OK) {
		fprintf(stderr, "gpuproof: cases of several nodes: %s\n", err.message);
		rounds_stop(f->rounds);
	}
	free(names);
	free(nodes);
}

/* True when all nodes' own cases are done, and those of several nodes, too. */
static bool all_ended(struct fleet *f, const struct config *config)
{
	bool ready = false;

	for (size_t i = 0; i < f->count; i++) {
		if (f->nodes[i].phase != NODE_ENDED && f->nodes[i].phase != NODE_READY)
			return false;
		ready = ready || f->nodes[i].phase == NODE_READY;
	}
	if (!f->join_over)
		return false;
	if (ready && !f->rounds)
		open_rounds(f, config);
	if (f->stopping && f->rounds)
		rounds_stop(f->rounds);
	if (f->rounds && rounds_step(f->rounds))
		return false;
	for (size_t i = 0; i < f->count; i++)
		if (f->nodes[i].phase == NODE_READY)
			end_node(f, i, NODE_OK, "");
	return true;
}

static void attend(struct fleet *f, const struct config *config)
{
	double interval = f->silent_after / 4 < 1 ? f->silent_after / 4 : 1, said = 0;

	while (!all_ended(f, config)) {
		struct peer *ready[64];
		size_t count = peers_wait(&f->peers, ready, ARRAY_SIZE(ready),
					  f->rounds ? TICK_MS / 10 : TICK_MS);
		bool launching;

		signals_drain();
		for (size_t i = 0; i < count; i++)
			on_readable(f, ready[i]);
		launching = launcher_attend(&f->launcher);
		heed_stops(f);
		watch_silence(f);
		watch_processes(f);
		watch_joining(f, launching);
		watch_min_nodes(f, config);
		if (clock_seconds() - said >= interval) {
			say_alive(f);
			said = clock_seconds();
		}
		peers_sweep(&f->peers);
	}
}

/* True for a node that was not whole when others are to measure again: it stays as it is. */
static bool take_up_lost(struct fleet *f, size_t index)
{
	const struct result *before = f->options->before;
	struct node *n = &f->nodes[index];

	for (size_t i = 0; before && i < before->node_count; i++) {
		const struct result_node *was = &before->nodes[i];

		if (strcmp(was->name, n->name) != 0 || was->status == NODE_OK)
			continue;
		n->phase = NODE_ENDED;
		n->status = was->status;
		set_text(&n->reason, was->reason);
		set_text(&n->at, was->lost_at);
		return true;
	}
	return false;
}

/* Nodes of the run that is continued. */
static enum status take_up_nodes(struct fleet *f, struct error *err)
{
	char *path = xasprintf("%s/nodes", f->directory);
	DIR *folder = opendir(path);
	struct dirent *entry;

	if (!folder && errno != ENOENT)
		error_errno(err, "%s", path);
	while (folder && (entry = readdir(folder))) {
		size_t index;

		if (!fleet_name_valid(entry->d_name))
			continue;
		index = add_node(f, entry->d_name);
		if (take_up_lost(f, index))
			continue;
		/* With cases of several nodes to come a node is needed again. */
		if (f->has_groups || !fleet_node_whole(f->directory, entry->d_name))
			continue;
		f->nodes[index].phase = NODE_ENDED;
		f->nodes[index].kept = true;
		set_text(&f->nodes[index].reason, "");
		if (!f->options->before)
			say(f, "%s is done already", entry->d_name);
	}
	/* Those that never called have no folder. */
	for (size_t i = 0; f->options->before && i < f->options->before->node_count; i++)
		take_up_lost(f, add_node(f, f->options->before->nodes[i].name));
	if (folder)
		closedir(folder);
	free(path);
	return err->status;
}

static int by_name(const void *a, const void *b)
{
	return strverscmp(((const struct node *)a)->name, ((const struct node *)b)->name);
}

static enum status open_journal(struct fleet *f, const struct config *config, struct result *result,
				struct error *err)
{
	struct plan plan = { .config = config };
	struct case_result none;
	struct losses lost = { 0 };
	struct probe probe = { 0 };
	bool done = false;

	if (!f->options->resume) {
		header_fill(result, &plan, &probe, f->options->command);
		return journal_create(&f->journal, f->options->directory, result, &plan, err);
	}
	journal_resume(&f->journal, f->options->directory, &plan, result, &none, &done, &lost, err);
	losses_release(&lost);
	return err->status;
}

static enum status make_folders(struct fleet *f, struct error *err)
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

/* An agent is a descriptor. */
static void raise_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static enum status launch(struct fleet *f, const struct section *settings, struct error *err)
{
	bool *wanted = xcalloc(f->launcher.name_count, sizeof(*wanted));
	bool any = !f->launcher.name_count;
	char *addresses = NULL, *how = launcher_describe(&f->launcher);

	raise_descriptors();
	for (size_t i = 0; i < f->launcher.name_count; i++) {
		wanted[i] = f->nodes[find_node(f, f->launcher.names[i])].phase != NODE_ENDED;
		any = any || wanted[i];
	}
	/* Nodes of an earlier launcher cannot be told from those that this one starts. */
	for (size_t i = f->launcher.name_count; i < f->count; i++)
		any = any || f->nodes[i].phase != NODE_ENDED;
	if (fleet_token_make(f->token, err) == STATUS_OK &&
	    peers_open(&f->peers, section_text(settings, "interface"),
		       f->launcher.kind == LAUNCH_SIMULATED, &addresses, err) == STATUS_OK &&
	    any) {
		say(f, "%s", how);
		launcher_start(&f->launcher, wanted, addresses, f->token, f->log, err);
	}
	f->began = clock_seconds();
	free(addresses);
	free(how);
	free(wanted);
	return err->status;
}

static void collect(struct fleet *f, const struct config *config, struct result *result,
		    double seconds)
{
	bool whole = true, interrupted = false;
	bool *kept = xcalloc(f->count, sizeof(*kept));
	char now[32];

	qsort(f->nodes, f->count, sizeof(*f->nodes), by_name);
	for (size_t i = 0; i < f->count; i++) {
		const struct node *n = &f->nodes[i];

		kept[i] = n->kept;
		ARRAY_GROW(result->nodes, result->node_count, result->node_capacity);
		result->nodes[result->node_count++] = (struct result_node){
			.name = xstrdup(n->name),
			.status = n->status,
			.reason = xstrdup(n->reason),
			.lost_at = xstrdup(n->status == NODE_LOST && n->at ? n->at : ""),
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
	free(result->state);
	result->state = xstrdup(whole                        ? "complete"
				: interrupted && !f->too_few ? "interrupted"
							     : "incomplete");
	clock_iso8601(now, sizeof(now));
	free(result->finished);
	result->finished = xstrdup(strcmp(now, result->started) < 0 ? result->started : now);
	result->seconds = seconds + (f->options->before ? f->options->before->seconds : 0);
}

static enum status write_result(const struct fleet *f, const struct result *result,
				struct error *err)
{
	char *path = xasprintf("%s/result.json", f->directory);
	enum status status = result_write(result, path, err);

	free(path);
	return status;
}

static void release(struct fleet *f)
{
	for (size_t i = 0; i < f->count; i++) {
		free(f->nodes[i].name);
		free(f->nodes[i].reason);
		free(f->nodes[i].at);
		free(f->nodes[i].refused);
	}
	free(f->nodes);
	rounds_close(f->rounds);
	peers_close(&f->peers);
	launcher_release(&f->launcher);
	journal_close(&f->journal);
	free(f->directory);
	if (f->log >= 0)
		close(f->log);
}

static enum status attend_nodes(struct fleet *f, const struct config *config, struct result *result,
				struct error *err)
{
	double began = clock_seconds();

	signals_attend(true);
	attend(f, config);
	signals_attend(false);
	peers_close(&f->peers);
	launcher_end(&f->launcher, END_SECONDS);
	*f->options->stopped_by = signals_last_stop();
	collect(f, config, result, clock_seconds() - began);
	if (write_result(f, result, err) != STATUS_OK)
		return err->status;
	if (f->stops_seen)
		return error_set(err, STATUS_INTERRUPTED, "interrupted");
	if (f->too_few)
		return error_set(err, STATUS_UNSUPPORTED, "fewer nodes than min_nodes are left");
	return STATUS_OK;
}

enum status fleet_run(const struct config *config, const struct fleet_options *options,
		      struct result *result, struct error *err)
{
	const struct section *settings = config_section(config, "fleet", "");
	struct fleet f = { .options = options,
			   .journal = { .fd = -1 },
			   .peers = PEERS_NONE,
			   .silent_after = section_real(settings, "silent_after"),
			   .join_within = section_real(settings, "join_within"),
			   .log = -1 };
	bool begun = false;

	f.has_groups = plan_has_groups(config);
	memset(result, 0, sizeof(*result));
	if (launcher_choose(&f.launcher, config, options->launch, err) == STATUS_OK &&
	    open_journal(&f, config, result, err) == STATUS_OK &&
	    make_folders(&f, err) == STATUS_OK) {
		f.run_id = result->run_id;
		for (size_t i = 0; i < f.launcher.name_count; i++)
			add_node(&f, f.launcher.names[i]);
		begun = take_up_nodes(&f, err) == STATUS_OK &&
			launch(&f, settings, err) == STATUS_OK;
	}
	if (begun)
		attend_nodes(&f, config, result, err);
	else
		result_release(result);
	release(&f);
	return err->status;
}
