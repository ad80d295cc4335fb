/*
 * Nodes and links at fault, from pairs of nodes that were measured in rounds.
 *
 * A node's estimate is its best pair: a good node soon meets a good one, so a slow partner costs it
 * nothing. A node is accused when even the end of its best pair's interval is more than the margin
 * worse than the median of all nodes' estimates; a link when its pair is, and neither of its nodes.
 * In one direction a node sends in some pairs and receives in others; each has its own estimate. A
 * pair that did not come to its end counts as the worst one.
 */
#ifndef GPUPROOF_PAIRS_BLAME_H
#define GPUPROOF_PAIRS_BLAME_H

#include <stddef.h>

struct accusation;
struct result;
struct section;

/* struct suite's accuse. Fewer than three nodes are not compared. */
size_t pairs_accuse(const struct result *result, const struct section *section,
		    struct accusation **out);

#endif
