/* Keyed hash: SipHash-2-4 (Aumasson & Bernstein 2012), a pseudorandom function of the text. */
#ifndef GPUPROOF_BASE_HASH_SIPHASH_H
#define GPUPROOF_BASE_HASH_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

struct siphash_key {
	uint64_t low, high;
};

uint64_t siphash(const struct siphash_key *key, const void *bytes, size_t length);

#endif
