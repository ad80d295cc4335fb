/*
 * State of the nodes in a multi-node run. Private to src/fleet: fleet.c runs them, calls.c handles
 * messages of agents, watch.c detects silent nodes and reports progress and finished cases.
 */
#ifndef GPUPROOF_FLEET_NODES_H
#define GPUPROOF_FLEET_NODES_H

#include "fleet/fleet.h"
#include "fleet/launcher.h"
#include "fleet/wire/message.h"
#include "fleet/wire/peer.h"
#include "fleet/rounds/rounds.h"
#include "result/status/run_status.h"
#include "run/journal.h"

#define NO_NODE ((size_t)-1)

/* ready: its own cases are finished, and it waits for multi-node cases */
enum phase { NODE_WAITS, NODE_RUNS, NODE_READY, NODE_ENDED };

struct node {
	char *name;
	enum phase phase;
	enum node_status status; /* status after its end */
	char *reason, *at;       /* at: the case in flight */
	char *refused;           /* why an agent of this name was refused; NULL: none was */
	size_t planned, finished;
	struct peer *peer; /* NULL: not connected */
	bool kept;         /* complete before this conductor started */
	/* ended without a complete result, to be reported by nodes_report_lost() */
	bool unreported;
	/* bytes of its journal and number of its cases that the events have received */
	size_t streamed, finished_streamed;
};

/* State of a multi-node run: its options, its nodes, and the connections of their agents. */
struct fleet_run {
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
	/* host clock: first start and last end of a node's own cases; 0: not yet */
	double own_began, own_ended;
	bool join_over, stopping, too_few;
	struct { /* callers without the token since the last log line */
		size_t wrong, silent;
		double said; /* host clock; 0: never */
		/* address and node name of the last wrong caller */
		char from[GREETER_FROM], node[FLEET_NAME_MOST + 1];
	} strangers;
	int stops_seen, log;
	double status_due; /* host clock: when the next status.json is written */
	bool has_groups;   /* multi-node cases follow the nodes' own cases */
	struct rounds *rounds;
	struct {
		const struct result *run; /* header of the run; borrowed */
		struct result header;     /* the header with the devices of all nodes */
		bool begun;
		double due;   /* host clock */
		size_t found; /* number of multi-node cases found */
	} stream;             /* options->events */
	off_t log_began;      /* offset in the log where the output of this launcher starts */
};

/* Prints a line on stderr, unless the run is quiet. */
void nodes_log(const struct fleet_run *f, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Finds a node by name; NO_NODE: none. */
size_t nodes_find(const struct fleet_run *f, const char *name);
/* Finds a node by name, or adds it. */
size_t nodes_add(struct fleet_run *f, const char *name);
/* Replaces *to by a copy without control characters that could harm a terminal. */
void nodes_text(char **to, const char *text);
/* Ends a node, once, and logs it. */
void nodes_end(struct fleet_run *f, size_t index, enum node_status status, const char *reason);
/* Logs nodes that ended without a complete result since the last call, one line per reason. */
void nodes_report_lost(struct fleet_run *f);
void nodes_send(struct fleet_run *f, struct peer *peer, const struct fleet_message *message);
/* Number of nodes that can still produce a complete result. */
size_t nodes_left(const struct fleet_run *f);
size_t nodes_wanted(const struct fleet_run *f);
/* Asks all nodes to stop after their current sample. */
void nodes_stop(struct fleet_run *f);

/* Accepts callers with the token, and refuses the others. */
void nodes_take_calls(struct fleet_run *f);
/* Logs callers without the token, at most one line per minute; `last`: log now. */
void nodes_report_strangers(struct fleet_run *f, bool last);
/* Handles what an agent has sent (calls.c). */
void nodes_read(struct fleet_run *f, struct peer *peer);
/* Drops a connection that is no longer usable. */
void nodes_lose(struct fleet_run *f, struct peer *peer, const char *reason);

/*
 * Handles stop requests, nodes that do not connect or are silent, and too few remaining nodes
 * (watch.c). `launching`: the launcher is still running.
 */
void nodes_watch(struct fleet_run *f, const struct config *config, bool launching);

/* Passes newly finished cases to options->events; `last`: all that are left. */
void nodes_stream(struct fleet_run *f, bool last);
/* Writes DIR/status.json every few seconds; `result` has the run's header. */
void nodes_status_begin(struct fleet_run *f, const struct result *result);
void nodes_status(struct fleet_run *f);

#endif
