/*
 * The nodes of a run on several: what is known of each, and how one ends. Private to src/fleet:
 * fleet.c carries the run out, nodes.c hears the agents, watch.c looks for those that cannot be
 * heard any more, and says how far all of them are and which cases have ended.
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
	bool unreported; /* has ended without a whole result, which nodes_report_lost() is to say */
	/* of its journal and its cases: what the events have */
	size_t streamed, finished_streamed;
};

/* A run: what it was asked for, its nodes, and the connections of their agents. */
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
	/* host clock, 0: not yet: the first node's own cases began, the last one's ended */
	double own_began, own_ended;
	bool join_over, stopping, too_few;
	struct { /* callers without the token, since the last line about them */
		size_t wrong, silent;
		double said;                                        /* host clock; 0: never */
		char from[GREETER_FROM], node[FLEET_NAME_MOST + 1]; /* of the last wrong one */
	} strangers;
	int stops_seen, log;
	double status_due; /* host clock: when the next status.json is written */
	bool has_groups;   /* cases of several nodes together come after those of the nodes */
	struct rounds *rounds;
	struct {
		const struct result *run; /* its header; borrowed */
		struct result header;     /* the same with the devices of all nodes */
		bool begun;
		double due;   /* host clock */
		size_t found; /* cases of several nodes */
	} stream;             /* options->events */
	off_t log_began;      /* where this launcher's output begins in it */
};

/* A line on standard error, unless the run is quiet. */
void nodes_log(const struct fleet_run *f, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* NO_NODE: none has the name. */
size_t nodes_find(const struct fleet_run *f, const char *name);
/* The node with the name, which is added if it is new. */
size_t nodes_add(struct fleet_run *f, const char *name);
/* Replaces *to by a copy in which nothing harms a terminal. */
void nodes_text(char **to, const char *text);
/* Once for a node; says so on standard error. */
void nodes_end(struct fleet_run *f, size_t index, enum node_status status, const char *reason);
/* Says which nodes have ended without a whole result since the last call, a line per reason. */
void nodes_report_lost(struct fleet_run *f);
void nodes_send(struct fleet_run *f, struct peer *peer, const struct fleet_message *message);
/* Nodes that can still give a whole result. */
size_t nodes_left(const struct fleet_run *f);
size_t nodes_wanted(const struct fleet_run *f);
/* Asks all of them to stop after their sample in flight. */
void nodes_stop(struct fleet_run *f);

/* Takes up callers that have the token, and turns the others away. */
void nodes_take_calls(struct fleet_run *f);
/* One line a minute about callers without the token; `last`: now. */
void nodes_report_strangers(struct fleet_run *f, bool last);
/* Takes what an agent has sent. */
void nodes_read(struct fleet_run *f, struct peer *peer);
/* Its connection is of no use any more. */
void nodes_lose(struct fleet_run *f, struct peer *peer, const char *reason);

/*
 * Requests to stop, nodes that do not call, are silent or have become too few (watch.c).
 * `launching`: what starts the agents has not ended.
 */
void fleet_watch_nodes(struct fleet_run *f, const struct config *config, bool launching);

/* Gives options->events the cases that have ended since; `last`: all that are left. */
void fleet_watch_nodes_stream(struct fleet_run *f, bool last);
/* DIR/status.json, every few seconds; `result` has the run's header. */
void fleet_watch_nodes_status_begin(struct fleet_run *f, const struct result *result);
void fleet_watch_nodes_status(struct fleet_run *f);

#endif
