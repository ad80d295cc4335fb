/* Pairs of nodes, in rounds in which each node has at most one partner. */
#ifndef GPUPROOF_FLEET_ROUNDS_PAIRING_H
#define GPUPROOF_FLEET_ROUNDS_PAIRING_H

#include <stddef.h>
#include <stdint.h>

/* Past pairs of `count` nodes; nodes are numbers below it. */
struct pairing {
	uint64_t state; /* of the random generator */
	size_t count;
	uint32_t (*met)[2]; /* past pairs, in any order */
	size_t met_count, met_capacity;
	unsigned *rounds; /* by node: number of its pairs */
};

void pairing_open(struct pairing *pairing, size_t count, uint64_t seed);
void pairing_close(struct pairing *pairing);
/*
 * A random round of `nodes` that prefers partners that have not met. With an odd count, one of the
 * nodes with the most pairs is left out. Returns the number of pairs.
 */
size_t pairing_random(struct pairing *pairing, const size_t *nodes, size_t count,
		      size_t (*pairs)[2]);
/* Pairs each suspect with one of the `proven` nodes, as long as there are some. */
size_t pairing_with(struct pairing *pairing, const size_t *suspects, size_t suspect_count,
		    const size_t *proven, size_t proven_count, size_t (*pairs)[2]);
/* Round `turn`, from 1, of a round-robin tournament in which all nodes meet once; not random. */
size_t pairing_turn(const size_t *nodes, size_t count, size_t turn, size_t (*pairs)[2]);

#endif
