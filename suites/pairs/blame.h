/*
 * Nodes and links at fault, from pairs of nodes that were measured in rounds.
 *
 * A node's first estimate is its best pair: a good node soon meets a good one, so a slow partner
 * costs it nothing. A node whose best pair, at the favourable end of its interval, is more than
 * half the margin worse than the median of all nodes' is a suspect, and meets proven nodes in
 * further rounds. From four pairs on a suspect's estimate is the mean of those with proven nodes
 * without the worst one, which a bad link may have made, against the median of pairs of two proven
 * nodes: a mean of four has half the noise of one pair. A suspect is accused when its estimate is
 * more than the margin worse; a link when its pair is, and neither of its nodes is accused.
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
