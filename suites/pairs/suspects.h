/*
 * Finds suspect nodes and links from pairs of nodes measured in rounds.
 *
 * A node's first estimate is its best pair: a good node soon meets another good one, so a slow
 * partner does not affect it. A node is a candidate if its best pair, at the favourable end of its
 * interval, is worse than the median over all nodes by more than half the margin; candidates then
 * meet proven nodes in further rounds. From four pairs on, a candidate's estimate is the mean of
 * those with proven nodes without the worst one, which may be due to a bad link, relative to the
 * median of pairs of two proven nodes: a mean of four has half the noise of one pair. A candidate
 * is a suspect if its estimate is worse by more than the margin; a link is, if its pair is and
 * neither of its nodes is a suspect. In one direction a node sends in some pairs and receives in
 * others; each has its own estimate. A pair that did not finish counts as the worst one.
 */
#ifndef GPUPROOF_PAIRS_SUSPECTS_H
#define GPUPROOF_PAIRS_SUSPECTS_H

#include <stddef.h>

struct suspect;
struct result;
struct section;

/* find_suspects of struct suite. Fewer than three nodes are not compared. */
size_t pairs_find_suspects(const struct result *result, const struct section *section,
			   struct suspect **out);

#endif
