/*
 * Delta debugging over nodes: reduces a set of nodes that shows a fault together to the smallest
 * that still shows it. Tests both halves at the same time. If neither shows it, shrinks one half at
 * a time with the other kept whole. Of two remaining nodes, each is tried with a good node, to
 * distinguish a node from a link. At most 5 log2(n) + 4 rounds for n nodes.
 *
 *	while ((tries = bisection_next(&b)))
 *		for (size_t i = 0; i < tries; i++)
 *			b.tries[i].shows = ...carry out b.tries[i].nodes...;
 */
#ifndef GPUPROOF_FLEET_ROUNDS_BISECTION_H
#define GPUPROOF_FLEET_ROUNDS_BISECTION_H

#include <stdbool.h>
#include <stddef.h>

/* Nodes that work together in a group, at least two. */
struct bisection_try {
	size_t *nodes, count;
	bool shows; /* set by the caller */
};

struct bisection {
	size_t *left, *right; /* the fault needs both sets; only `left` while right is empty */
	size_t left_count, right_count;
	size_t *proven, proven_count; /* nodes of sets without the fault */
	enum {
		BISECTION_HALVES,
		BISECTION_PAIR,
		BISECTION_LEFT,
		BISECTION_RIGHT,
		BISECTION_OVER
	} stage;
	int step; /* step within the stage */
	struct bisection_try tries[2];
	size_t try_count;
	unsigned rounds;
	/* at the end: each node of `left` shows the fault with a good node; else only together */
	bool singly;
};

/* Starts with `nodes` (copied), which show the fault; `count` is at least 2. */
void bisection_open(struct bisection *b, const size_t *nodes, size_t count);
void bisection_close(struct bisection *b);
/*
 * Reads the answers and returns the number of groups to try next, at the same time; they have no
 * node in common. 0: finished, and `left` is the set.
 */
size_t bisection_next(struct bisection *b);

#endif
