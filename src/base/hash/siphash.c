#include "base/hash/siphash.h"

struct state {
	uint64_t v0, v1, v2, v3;
};

static uint64_t siphash_rotate(uint64_t x, int bits)
{
	return x << bits | x >> (64 - bits);
}

static void siphash_rounds(struct state *s, int count)
{
	while (count--) {
		s->v0 += s->v1;
		s->v2 += s->v3;
		s->v1 = siphash_rotate(s->v1, 13) ^ s->v0;
		s->v3 = siphash_rotate(s->v3, 16) ^ s->v2;
		s->v0 = siphash_rotate(s->v0, 32);
		s->v2 += s->v1;
		s->v0 += s->v3;
		s->v1 = siphash_rotate(s->v1, 17) ^ s->v2;
		s->v3 = siphash_rotate(s->v3, 21) ^ s->v0;
		s->v2 = siphash_rotate(s->v2, 32);
	}
}

static void siphash_absorb(struct state *s, uint64_t word)
{
	s->v3 ^= word;
	siphash_rounds(s, 2);
	s->v0 ^= word;
}

/* Reads up to eight bytes, little-endian. */
static uint64_t siphash_word_of(const unsigned char *bytes, size_t count)
{
	uint64_t word = 0;

	for (size_t i = 0; i < count; i++)
		word |= (uint64_t)bytes[i] << (8 * i);
	return word;
}

uint64_t siphash(const struct siphash_key *key, const void *bytes, size_t length)
{
	/* The constants spell "somepseudorandomlygeneratedbytes". */
	struct state s = { key->low ^ UINT64_C(0x736f6d6570736575),
			   key->high ^ UINT64_C(0x646f72616e646f6d),
			   key->low ^ UINT64_C(0x6c7967656e657261),
			   key->high ^ UINT64_C(0x7465646279746573) };
	const unsigned char *p = bytes;
	size_t left = length;

	for (; left >= 8; left -= 8, p += 8)
		siphash_absorb(&s, siphash_word_of(p, 8));
	siphash_absorb(&s, siphash_word_of(p, left) | (uint64_t)length << 56);
	s.v2 ^= 0xff;
	siphash_rounds(&s, 4);
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}
