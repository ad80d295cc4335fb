/*
 * Nodes and links at fault, from pairs of nodes that were measured in rounds.
 *
 * A node's first estimate is its best pair: a good node soon meets a good one, so a slow partner
 * costs it nothing. A node whose best pair, at the favourable end of its interval, is more than
 * half the margin worse than the median of all nodes' is a candidate, and meets proven nodes in
 * further rounds. From four pairs on a candidate's estimate is the mean of those with proven nodes
 * without the worst one, which a bad link may have made, against the median of pairs of two proven
 * nodes: a mean of four has half the noise of one pair. A candidate is a suspect when its estimate
 * is more than the margin worse; a link when its pair is, and neither of its nodes is one. In one
 * direction a node sends in some pairs and receives in others; each has its own estimate. A pair
 * that did not come to its end counts as the worst one.
 */
#ifndef GPUPROOF_PAIRS_SUSPECTS_H
#define GPUPROOF_PAIRS_SUSPECTS_H

#include <stddef.h>

struct suspect;
struct result;
struct section;

/* struct suite's find_suspects. Fewer than three nodes are not compared. */
size_t pairs_find_suspects(const struct result *result, const struct section *section,
			   struct suspect **out);

#endif
