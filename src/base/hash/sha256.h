/* SHA-256 (FIPS 180-4), incremental. */
#ifndef GPUPROOF_BASE_HASH_SHA256_H
#define GPUPROOF_BASE_HASH_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_DIGITS 64 /* digits of the hexadecimal digest */

struct sha256 {
	uint32_t state[8];
	uint64_t bytes;
	unsigned char block[64]; /* filled with bytes % 64 bytes */
};

void sha256_begin(struct sha256 *hash);
void sha256_add(struct sha256 *hash, const void *bytes, size_t count);
/* Lowercase hexadecimal, NUL-terminated. */
void sha256_end(struct sha256 *hash, char digest[SHA256_DIGITS + 1]);

#endif
