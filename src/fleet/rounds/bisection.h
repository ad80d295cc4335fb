/*
 * The smallest set of nodes that shows a fault which all of them together show. Halves are tried
 * at the same time; where neither shows it, each half is made smaller while the other one stays
 * whole; of two nodes each is tried with a proven one, so that a node is told from a link. At most
 * 5 log2(n) + 4 rounds for n nodes.
 *
 *	while ((tries = bisection_next(&b)))
 *		for (size_t i = 0; i < tries; i++)
 *			b.tries[i].shows = ...carry out b.tries[i].nodes...;
 */
#ifndef GPUPROOF_FLEET_ROUNDS_BISECTION_H
#define GPUPROOF_FLEET_ROUNDS_BISECTION_H

#include <stdbool.h>
#include <stddef.h>

/* Nodes that work together in a group: two at least. */
struct bisection_try {
	size_t *nodes, count;
	bool shows; /* the caller's answer */
};

struct bisection {
	size_t *left,
		*right; /* the fault is in these together; in `left` alone while right is empty */
	size_t left_count, right_count;
	size_t *proven, proven_count; /* of sets that do not show it */
	enum {
		BISECTION_HALVES,
		BISECTION_PAIR,
		BISECTION_LEFT,
		BISECTION_RIGHT,
		BISECTION_OVER
	} stage;
	int step; /* of the stage */
	struct bisection_try tries[2];
	size_t try_count;
	unsigned rounds;
	bool singly; /* over: each node of `left` shows it with a proven one; else only together */
};

/* `nodes` (copied) show it; `count` is 2 at least. */
void bisection_open(struct bisection *b, const size_t *nodes, size_t count);
void bisection_close(struct bisection *b);
/*
 * Takes the answers, and returns how many groups to try next, at the same time; they have no node
 * in common. 0: it is over, and `left` is the set.
 */
size_t bisection_next(struct bisection *b);

#endif
