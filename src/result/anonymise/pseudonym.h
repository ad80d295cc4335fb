/* A keyed hash: SipHash-2-4 (Aumasson & Bernstein 2012), a pseudorandom function of the text. */
#ifndef GPUPROOF_RESULT_ANONYMISE_PSEUDONYM_H
#define GPUPROOF_RESULT_ANONYMISE_PSEUDONYM_H

#include <stddef.h>
#include <stdint.h>

struct pseudonym_key {
	uint64_t low, high;
};

uint64_t pseudonym_hash(const struct pseudonym_key *key, const void *bytes, size_t length);

#endif
