#include "suites/allocators/rules.h"

#define MIB ((size_t)1 << 20)

#define X(symbol, name, help) #name,
const char *const caching_rules_names[] = { CACHING_RULES(X) };
#undef X

/* PyTorch. */
#define SMALL_MOST MIB /* largest request served from a small segment */
#define SMALL_SEGMENT (2 * MIB)
#define MIDDLE_MOST (10 * MIB)
#define MIDDLE_SEGMENT (20 * MIB)
#define SEGMENT_UNIT (2 * MIB)
enum { LARGE, SMALL };

static unsigned small_or_large(size_t bytes)
{
	return bytes <= SMALL_MOST ? SMALL : LARGE;
}

static unsigned bin_of_segment(size_t bytes, unsigned pool)
{
	(void)bytes;
	return pool;
}

static bool rules_cuts_above_least(size_t block_bytes, size_t bytes, unsigned pool)
{
	return pool == SMALL ? block_bytes > bytes : block_bytes - bytes > SMALL_MOST;
}

static size_t segment_of_class(size_t bytes)
{
	if (bytes <= SMALL_MOST)
		return SMALL_SEGMENT;
	if (bytes < MIDDLE_MOST)
		return MIDDLE_SEGMENT;
	return (bytes + SEGMENT_UNIT - 1) / SEGMENT_UNIT * SEGMENT_UNIT;
}

/* Best fit with coalescing. */
#define BFC_ROUNDING ((size_t)256)
#define BFC_MOST_UNUSED (128 * MIB)

/* Bin b has blocks of 256 B * 2^b up to twice that; the last bin all larger ones. */
static unsigned bin_of_size(size_t bytes)
{
	unsigned bin = 0;

	for (size_t units = bytes / BFC_ROUNDING; units > 1 && bin + 1 < RULES_MOST_BINS;
	     units /= 2)
		bin++;
	return bin;
}

static unsigned bin_of_free(size_t bytes, unsigned pool)
{
	(void)pool;
	return bin_of_size(bytes);
}

static bool cuts_much_larger(size_t block_bytes, size_t bytes, unsigned pool)
{
	(void)pool;
	return block_bytes >= 2 * bytes || block_bytes - bytes >= BFC_MOST_UNUSED;
}

#define BFC_RULES                                                                         \
	.rounding = BFC_ROUNDING, .bins = RULES_MOST_BINS, .bin_of_request = bin_of_size, \
	.bin_of_block = bin_of_free, .larger_bins = true, .cuts = cuts_much_larger

const struct ruleset caching_rulesets[CACHING_RULES_COUNT] = {
	[CACHING_PYTORCH] = { .rounding = 512,
			      .bins = 2,
			      .bin_of_request = small_or_large,
			      .bin_of_block = bin_of_segment,
			      .cuts = rules_cuts_above_least,
			      .segment = segment_of_class },
	[CACHING_BFC] = { BFC_RULES },
	[CACHING_BFC_GROWTH] = { BFC_RULES, .first_region = 2 * MIB },
};

size_t rules_round(const struct ruleset *rules, size_t bytes)
{
	size_t units = (bytes + rules->rounding - 1) / rules->rounding;

	return (units ? units : 1) * rules->rounding;
}
