/*
 * Private declarations of the rounds (rounds.h): members and groups. group.c runs groups,
 * group_cases.c keeps their cases, stages.c selects the next groups, stage_bisection.c those that
 * locate a fault, rounds.c combines them.
 */
#ifndef GPUPROOF_FLEET_ROUNDS_ROUNDS_INTERNAL_H
#define GPUPROOF_FLEET_ROUNDS_ROUNDS_INTERNAL_H

#include "fleet/rounds/bisection.h"
#include "fleet/rounds/pairing.h"
#include "fleet/rounds/rounds.h"
#include "plan/plan.h"

/* Nodes in the order of rounds_open(). */
struct member {
	char *name;
	size_t node; /* the caller's number */
	char *lost;  /* why it was lost; NULL: it is active */
	struct device_info *devices;
	size_t device_count;
	char *path;    /* of groups.jsonl */
	size_t offset; /* bytes of its journal read so far */
};

/* Nodes that run cases together. */
struct group {
	int64_t number;
	struct plan_group what;
	size_t *members;
	bool *ended; /* by member */
	struct plan plan;
	struct case_result *cases; /* by index in the plan */
	bool *done;
	size_t first, last; /* cases in the nodes' hands: none between them is done */
	int idle;
	bool begun, joined, stopping;
	double limit;         /* deadline to stop it, or, while it stops, to give it up */
	struct error failure; /* first failure; STATUS_LOST: only a missing peer */
	const char *lost;     /* name of the node lost with it; NULL */
};

enum stage { STAGE_SIZES, STAGE_BISECTION, STAGE_PAIRS, STAGE_CONFIRM, STAGE_OVER };

/*
 * A fault that only groups of many nodes show: a case that hangs, or whose metric is far below that
 * of the same case over fewer nodes although it should not depend on the number of nodes
 * (suite->scale_invariant_metric).
 */
struct scale_fault {
	char *point;        /* the case's id without nodes; owned */
	const char *metric; /* the metric that is too low; NULL: the case hangs */
	int asked;          /* value of `nodes` in the config: 0 for all */
	double usual;       /* median over groups of fewer nodes */
	double least;       /* lower values show the fault */
	double value;       /* value of the first group that showed it */
	const char *unit;
	char (*nodes)[64]; /* nodes of that group; owned */
	size_t node_count;
};

struct rounds {
	const struct config *config;
	const char *directory;
	struct rounds_callbacks callbacks;
	struct member *members;
	size_t count;
	struct group *groups;
	size_t group_count, group_capacity;
	int64_t number;
	enum stage stage;
	size_t step;              /* step within the stage */
	size_t last_size;         /* group size of the latest round of sizes */
	struct scale_fault fault; /* the fault that the bisection stage locates; point NULL: none */
	struct bisection bisection;
	struct pairing pairing;
	struct result found, earlier; /* cases only */
	size_t planned;
	struct finding *notes;
	size_t note_count, note_capacity;
	bool stopped;
};

/* Adds a finding about the run; the pointer is valid until the next call. */
struct finding *rounds_note(struct rounds *r, enum severity severity, const char *topic,
			    const char *subject, const char *text);
/* Adds a finding about a suspect node, or (`other` not "") a suspect link. */
void rounds_note_suspect(struct rounds *r, const char *node, const char *other, const char *text);
/* Suspects that the suites name by the cases so far; the caller frees the array. */
size_t rounds_suspects(const struct rounds *r, struct suspect **out);

/* Adds a group of `members` to the round. */
void rounds_add_group(struct rounds *r, struct plan_group what, const size_t *members);
/* Number of leading cases that are finished. */
size_t rounds_first_left(const struct group *g);
/* Settles all remaining cases as errors. */
void rounds_give_up(struct group *g, const struct error *why, const struct member *lost);
/* All of its nodes have ended: collects its cases, and restarts with the remaining ones. */
void rounds_settle(struct rounds *r, struct group *g);
/* A lost member of the group; NULL: none. */
const struct member *rounds_lost_member(const struct rounds *r, const struct group *g);
/* True while the group is active. */
bool rounds_step_group(struct rounds *r, struct group *g);

/* Prepares the next round with an active group; false: none. */
bool rounds_make(struct rounds *r);
bool rounds_make_bisection(struct rounds *r);
void rounds_close_bisection(struct rounds *r);

#endif
