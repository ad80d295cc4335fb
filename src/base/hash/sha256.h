/* SHA-256 (FIPS 180-4), for bytes that come in pieces. */
#ifndef GPUPROOF_BASE_HASH_SHA256_H
#define GPUPROOF_BASE_HASH_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_DIGITS 64 /* of the digest in hexadecimal */

struct sha256 {
	uint32_t state[8];
	uint64_t bytes;
	unsigned char block[64]; /* bytes % 64 of it are filled */
};

void sha256_begin(struct sha256 *hash);
void sha256_add(struct sha256 *hash, const void *bytes, size_t count);
/* Small letters and a terminator. */
void sha256_end(struct sha256 *hash, char digest[SHA256_DIGITS + 1]);

#endif
