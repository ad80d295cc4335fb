/*
 * Inside of the rounds (rounds.h): their members and groups. group.c orders groups, hears of them
 * and keeps their cases, rounds.c says which groups come next.
 */
#ifndef GPUPROOF_FLEET_ROUNDS_ROUNDS_INTERNAL_H
#define GPUPROOF_FLEET_ROUNDS_ROUNDS_INTERNAL_H

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
	size_t first, last; /* cases that the nodes were told to run: not done, or skipped */
	int idle;
	bool begun, joined, stopping;
	double limit;         /* when it is stopped, or given up once it is stopping */
	struct error failure; /* of what failed first; STATUS_LOST: only that a rank was missed */
	const char *lost;     /* name of the node that was lost with it; NULL */
};

enum stage { STAGE_SIZES, STAGE_PAIRS, STAGE_CONFIRM, STAGE_OVER };

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
	size_t step;      /* of the stage */
	size_t last_size; /* nodes of the latest round of sizes */
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

/* Adds a group of the members `members` to the round. */
void rounds_add_group(struct rounds *r, struct plan_group what, const size_t *members);
/* True while the group has something to do. */
bool rounds_step_group(struct rounds *r, struct group *g);

/* The next round with a group that has something to do; false: there is none. */
bool rounds_make(struct rounds *r);

#endif
