/*
 * Inside of the rounds (rounds.h): their members and groups. group.c orders groups and hears of
 * them, group_cases.c keeps their cases, stages.c says which groups come next, stage_bisection.c
 * those that look for nodes at fault, rounds.c puts it together.
 */
#ifndef GPUPROOF_FLEET_ROUNDS_ROUNDS_INTERNAL_H
#define GPUPROOF_FLEET_ROUNDS_ROUNDS_INTERNAL_H

#include "fleet/rounds/bisection.h"
#include "fleet/rounds/pairing.h"
#include "fleet/rounds/rounds.h"
#include "plan/plan.h"

/* Nodes, in the order of rounds_open(). */
struct member {
	char *name;
	size_t node; /* the caller's number */
	char *lost;  /* why; NULL: it is there */
	struct device_info *devices;
	size_t device_count;
	char *path;    /* of groups.jsonl */
	size_t offset; /* read so far */
};

/* Nodes that carry out cases together. */
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
	double limit;         /* when it is stopped, or given up once it is stopping */
	struct error failure; /* of what failed first; STATUS_LOST: only that a rank was missed */
	const char *lost;     /* name of the node that was lost with it; NULL */
};

enum stage { STAGE_SIZES, STAGE_BISECTION, STAGE_PAIRS, STAGE_CONFIRM, STAGE_OVER };

/*
 * A fault of groups of nodes that smaller groups do not have: a case that hangs, or whose figure is
 * far below that of the same case over fewer nodes, where more nodes should not change it
 * (suite->scale_invariant_metric).
 */
struct scale_fault {
	char *point;        /* the case's id without nodes; owned */
	const char *metric; /* that is too low; NULL: it hangs */
	int asked;          /* its value of `nodes`: 0 for all */
	double usual;       /* median over fewer nodes */
	double least;       /* below this a group shows the fault */
	double value;       /* of the group that showed it first */
	const char *unit;
	char (*nodes)[64]; /* of that group; owned */
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
	size_t step;              /* of the stage */
	size_t last_size;         /* nodes of the latest round of sizes */
	struct scale_fault fault; /* the stage bisection looks into it; point NULL: none */
	struct bisection bisection;
	struct pairing pairing;
	struct result found, earlier; /* cases only */
	size_t planned;
	struct finding *notes;
	size_t note_count, note_capacity;
	bool stopped;
};

/* Adds a finding about the run; valid until the next one. */
struct finding *rounds_note(struct rounds *r, enum severity severity, const char *topic,
			    const char *subject, const char *text);
/* The same of a node at fault, or (`other` not "") of a link. */
void rounds_note_suspect(struct rounds *r, const char *node, const char *other, const char *text);
/* Suspects that the suites name, by the cases so far; malloc'ed. */
size_t rounds_suspects(const struct rounds *r, struct suspect **out);

/* Adds a group of the members `members` to the round. */
void rounds_add_group(struct rounds *r, struct plan_group what, const size_t *members);
/* Cases that are done before the first that is not. */
size_t rounds_first_left(const struct group *g);
/* Settles all cases that are left as errors. */
void rounds_give_up(struct group *g, const struct error *why, const struct member *lost);
/* All of its nodes have ended: takes its cases, and begins again with those that are left. */
void rounds_settle(struct rounds *r, struct group *g);
/* A member that was lost; NULL: none was. */
const struct member *rounds_lost_member(const struct rounds *r, const struct group *g);
/* True while the group has something to do. */
bool rounds_step_group(struct rounds *r, struct group *g);

/* The next round with a group that has something to do; false: there is none. */
bool rounds_make(struct rounds *r);
bool rounds_make_bisection(struct rounds *r);
void rounds_close_bisection(struct rounds *r);

#endif
