/*
 * Faults of groups of nodes that smaller groups do not have: a case that hangs, or whose figure is
 * far below that of the same case over fewer nodes, where more nodes should not change it
 * (suite->steady). The nodes that cause it are found by bisection (fleet/bisection.h).
 */
#ifndef GPUPROOF_FLEET_ROUNDS_SCALE_FAULT_H
#define GPUPROOF_FLEET_ROUNDS_SCALE_FAULT_H

#include "plan/config.h"
#include "result/result.h"

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

enum scale_answer { SCALE_SHOWS, SCALE_DOES_NOT, SCALE_UNKNOWN };

/*
 * The fault to look into: of those that hang the one over fewest nodes, else the figure that is
 * furthest below the usual one, by more than `margin`. False: there is none of three nodes or more.
 */
bool scale_fault_find(const struct result *found, const struct config *config, double margin,
		      struct scale_fault *out);
void scale_fault_release(struct scale_fault *fault);
/* Judges a case of the same point over other nodes; NULL: there is none, which is unknown. */
enum scale_answer scale_fault_ask(const struct scale_fault *fault, const struct case_result *c);

#endif
