/* Pairs of nodes, in rounds in which each node has at most one partner. */
#ifndef GPUPROOF_FLEET_ROUNDS_PAIRING_H
#define GPUPROOF_FLEET_ROUNDS_PAIRING_H

#include <stddef.h>
#include <stdint.h>

/* Encounters of `count` nodes so far; nodes are numbers below it. */
struct pairing {
	uint64_t state; /* of the generator */
	size_t count;
	uint32_t (*met)[2]; /* pairs, in any order */
	size_t met_count, met_capacity;
	unsigned *rounds; /* by node: pairs that it was in */
};

void pairing_open(struct pairing *pairing, size_t count, uint64_t seed);
void pairing_close(struct pairing *pairing);
/*
 * A random round of `nodes`: partners that have not met before where there are some; of an odd
 * number one of those that had most pairs is left out. Returns how many pairs there are.
 */
size_t pairing_random(struct pairing *pairing, const size_t *nodes, size_t count,
		      size_t (*pairs)[2]);
/* Each suspect with one of `proven`, as many as these allow. */
size_t pairing_with(struct pairing *pairing, const size_t *suspects, size_t suspect_count,
		    const size_t *proven, size_t proven_count, size_t (*pairs)[2]);
/* Round `turn`, from 1, of those in which every two meet once; no randomness. */
size_t pairing_turn(const size_t *nodes, size_t count, size_t turn, size_t (*pairs)[2]);

#endif
