/*
 * Inside of the rounds (rounds.h): their members and groups. group.c orders groups and hears of
 * them, group_cases.c keeps their cases, stages.c says which groups come next, stage_bisection.c
 * those that look for nodes at fault, rounds.c puts it together.
 */
#ifndef GPUPROOF_FLEET_ROUNDS_PARTS_H
#define GPUPROOF_FLEET_ROUNDS_PARTS_H

#include "fleet/rounds/bisection.h"
#include "fleet/rounds/pairing.h"
#include "fleet/rounds/rounds.h"
#include "fleet/rounds/scale_fault.h"
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
	size_t first;
	int idle;
	bool begun, joined, stopping;
	double limit;   /* when it is stopped, or given up once it is stopping */
	char *reason;   /* of what failed first; NULL */
	bool secondary; /* the reason is that another rank was missed */
};

/* The key `rounds` of pairs, whose word is 0 (plan/key.h); the later one asks for more. */
enum pairs { PAIRS_NONE, PAIRS_RANDOM, PAIRS_ALL };
#define PAIRS_WORD_ALL 0

enum stage { STAGE_SIZES, STAGE_BISECTION, STAGE_PAIRS, STAGE_CONFIRM, STAGE_OVER };

struct rounds {
	const struct config *config;
	const char *directory;
	struct rounds_door door;
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

/* A finding about the run. */
void rounds_note(struct rounds *r, enum severity severity, const char *subject, const char *text);
/* True if the section is of a suite of that kind. */
bool rounds_is_of(const struct section *section, enum suite_groups kind);
/* Accusations of the suites, by the cases so far; malloc'ed. */
size_t rounds_accusations(const struct rounds *r, struct accusation **out);

/* Adds a group of the members `members` to the round. */
void rounds_add_group(struct rounds *r, struct plan_group what, const size_t *members);
/* Cases that are done before the first that is not. */
size_t rounds_first_left(const struct group *g);
/* Settles all cases that are left as errors. */
void rounds_give_up(struct group *g, const char *reason);
/* All of its nodes have ended: takes its cases, and begins again with those that are left. */
void rounds_settle(struct rounds *r, struct group *g);
/* Why a member was lost; NULL: none was. */
const char *rounds_lost_member(const struct rounds *r, const struct group *g);
/* True while the group has something to do. */
bool rounds_step_group(struct rounds *r, struct group *g);

/* Members that are there; returns how many. */
size_t rounds_list_members(const struct rounds *r, size_t *out);
/* The next round with a group that has something to do; false: there is none. */
bool rounds_make(struct rounds *r);
bool rounds_make_bisection(struct rounds *r);
void rounds_close_bisection(struct rounds *r);

#endif
