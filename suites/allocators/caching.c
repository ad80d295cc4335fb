#include "suites/allocators/caching.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/units.h"

#define MIB ((size_t)1 << 20)

#define X(symbol, name) #name,
const char *const caching_rules_names[] = { CACHING_RULES(X) };
#undef X

/* PyTorch. */
#define SMALL_MOST MIB /* largest request served from a small segment */
#define SMALL_SEGMENT (2 * MIB)
#define MIDDLE_MOST (10 * MIB)
#define MIDDLE_SEGMENT (20 * MIB)
#define SEGMENT_UNIT (2 * MIB)
enum { LARGE, SMALL };

static unsigned caching_small_or_large(size_t bytes)
{
	return bytes <= SMALL_MOST ? SMALL : LARGE;
}

static unsigned caching_bin_of_segment(size_t bytes, unsigned pool)
{
	(void)bytes;
	return pool;
}

static bool caching_rules_cuts_above_least(size_t block_bytes, size_t bytes, unsigned pool)
{
	return pool == SMALL ? block_bytes > bytes : block_bytes - bytes > SMALL_MOST;
}

static size_t caching_segment_of_class(size_t bytes)
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
static unsigned caching_bin_of_size(size_t bytes)
{
	unsigned bin = 0;

	for (size_t units = bytes / BFC_ROUNDING; units > 1 && bin + 1 < RULES_MOST_BINS;
	     units /= 2)
		bin++;
	return bin;
}

static unsigned caching_bin_of_free(size_t bytes, unsigned pool)
{
	(void)pool;
	return caching_bin_of_size(bytes);
}

static bool caching_cuts_much_larger(size_t block_bytes, size_t bytes, unsigned pool)
{
	(void)pool;
	return block_bytes >= 2 * bytes || block_bytes - bytes >= BFC_MOST_UNUSED;
}

#define BFC_RULES                                                                                 \
	.rounding = BFC_ROUNDING, .bins = RULES_MOST_BINS, .bin_of_request = caching_bin_of_size, \
	.bin_of_block = caching_bin_of_free, .larger_bins = true, .cuts = caching_cuts_much_larger

const struct ruleset caching_rulesets[CACHING_RULES_COUNT] = {
	[CACHING_PYTORCH] = { .rounding = 512,
			      .bins = 2,
			      .bin_of_request = caching_small_or_large,
			      .bin_of_block = caching_bin_of_segment,
			      .cuts = caching_rules_cuts_above_least,
			      .segment = caching_segment_of_class },
	[CACHING_BFC] = { BFC_RULES },
	[CACHING_BFC_GROWTH] = { BFC_RULES, .first_region = 2 * MIB },
};

static size_t caching_rules_round(const struct ruleset *rules, size_t bytes)
{
	size_t units = (bytes + rules->rounding - 1) / rules->rounding;

	return (units ? units : 1) * rules->rounding;
}

#define BUCKETS 1024
/* Addresses within this range share a bucket. */
#define BUCKET_BYTES 256

struct caching_block {
	char *at;
	size_t bytes;
	bool used;
	unsigned pool;                        /* bin that its segment was allocated for */
	struct caching_block *before, *after; /* neighbours in the segment */
	/* Links in the list of a bin, or in the bucket of used blocks; `list` is the head. */
	struct caching_block *previous, *next;
	struct caching_block **list;
};

struct caching {
	struct caching_source source;
	const struct ruleset *rules;
	uint64_t limit, reserved;
	size_t region; /* for doubling rules: size of the next region */
	struct caching_block *free[RULES_MOST_BINS];
	struct caching_block *used[BUCKETS]; /* by address */
	pthread_mutex_t lock;
};

static void caching_unlink_block(struct caching_block *b)
{
	if (b->previous)
		b->previous->next = b->next;
	else
		*b->list = b->next;
	if (b->next)
		b->next->previous = b->previous;
}

static void caching_link_block(struct caching_block **list, struct caching_block *b)
{
	b->list = list;
	b->previous = NULL;
	b->next = *list;
	if (b->next)
		b->next->previous = b;
	*list = b;
}

static struct caching_block **caching_bucket(struct caching *c, const void *memory)
{
	return &c->used[((uintptr_t)memory / BUCKET_BYTES) % BUCKETS];
}

static void caching_set_free(struct caching *c, struct caching_block *b)
{
	b->used = false;
	caching_link_block(&c->free[c->rules->bin_of_block(b->bytes, b->pool)], b);
}

static enum status caching_take_from_device(void *state, size_t bytes, void **out,
					    struct error *err)
{
	return backend_memory_alloc(state, ALLOCATOR_DEVICE, bytes, NULL, out, err);
}

static enum status caching_give_to_device(void *state, void *memory, size_t bytes,
					  struct error *err)
{
	return backend_memory_free(state, ALLOCATOR_DEVICE, memory, bytes, NULL, err);
}

struct caching_source caching_source_device(struct device *device)
{
	return (struct caching_source){ device, caching_take_from_device, caching_give_to_device };
}

struct caching *caching_open(struct caching_source source, enum caching_rules rules, uint64_t limit)
{
	struct caching *c = xcalloc(1, sizeof(*c));

	if (rules == CACHING_BFC && !limit)
		rules = CACHING_BFC_GROWTH;
	c->source = source;
	c->rules = &caching_rulesets[rules];
	c->limit = limit;
	c->region = caching_rules_round(c->rules, c->rules->first_region ? c->rules->first_region
									 : (size_t)limit);
	if (limit && c->region > limit)
		c->region = caching_rules_round(c->rules, (size_t)limit);
	pthread_mutex_init(&c->lock, NULL);
	return c;
}

static bool caching_whole_segment(const struct caching_block *b)
{
	return !b->before && !b->after;
}

static enum status caching_trim_free(struct caching *c, struct error *err)
{
	enum status status = STATUS_OK;

	for (unsigned bin = 0; bin < c->rules->bins; bin++) {
		struct caching_block *next;

		for (struct caching_block *b = c->free[bin]; b && status == STATUS_OK; b = next) {
			next = b->next;
			if (caching_whole_segment(b)) {
				/* Frees a whole segment; `b` is its only block. */
				caching_unlink_block(b);
				c->reserved -= b->bytes;
				status = c->source.give(c->source.state, b->at, b->bytes, err);
				free(b);
			}
		}
	}
	return status;
}

/* Merges `b` into its predecessor; neither is in a list. */
static struct caching_block *caching_merge_block(struct caching_block *before,
						 struct caching_block *b)
{
	before->bytes += b->bytes;
	before->after = b->after;
	if (b->after)
		b->after->before = before;
	free(b);
	return before;
}

/* Frees `b`, which is in no list, and merges it with free neighbours. */
static void caching_free_block(struct caching *c, struct caching_block *b)
{
	if (b->before && !b->before->used) {
		caching_unlink_block(b->before);
		b = caching_merge_block(b->before, b);
	}
	if (b->after && !b->after->used) {
		caching_unlink_block(b->after);
		caching_merge_block(b, b->after);
	}
	caching_set_free(c, b);
}

void caching_close(struct caching *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < BUCKETS; i++) {
		while (c->used[i]) {
			struct caching_block *b = c->used[i];

			caching_unlink_block(b);
			caching_free_block(c, b);
		}
	}
	caching_trim_free(c, NULL);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

static struct caching_block *caching_best_fit(const struct caching *c, unsigned bin, size_t bytes)
{
	unsigned end = c->rules->larger_bins ? c->rules->bins : bin + 1;
	struct caching_block *best = NULL;

	for (; bin < end && !best; bin++)
		for (struct caching_block *b = c->free[bin]; b; b = b->next)
			if (b->bytes >= bytes && (!best || b->bytes < best->bytes ||
						  (b->bytes == best->bytes && b->at < best->at)))
				best = b;
	return best;
}

/* Bytes left below the limit, in whole units. */
static size_t caching_limit_left(const struct caching *c)
{
	uint64_t bytes = c->limit > c->reserved ? c->limit - c->reserved : 0;

	return c->limit ? (size_t)bytes / c->rules->rounding * c->rules->rounding : SIZE_MAX;
}

static enum status caching_take_segment(struct caching *c, size_t bytes, void **memory,
					struct error *err)
{
	char wanted[32], limit[32];

	if (bytes <= caching_limit_left(c))
		return c->source.take(c->source.state, bytes, memory, err);
	return error_set(err, STATUS_NO_MEMORY,
			 "a segment of %s exceeds the allocator's limit of %s",
			 units_size(bytes, wanted, sizeof(wanted)),
			 units_size(c->limit, limit, sizeof(limit)));
}

/*
 * A region is doubled until it has room for the request, and again after it was allocated; the
 * limit truncates the last one. A refused request does not change how regions grow.
 */
static enum status caching_take_region(struct caching *c, size_t request, size_t *bytes,
				       void **memory, struct error *err)
{
	size_t region = c->region;
	struct error refused = ERROR_NONE;
	enum status status;

	while (region < request)
		region *= 2;
	*bytes = region > caching_limit_left(c) && request <= caching_limit_left(c)
			 ? caching_limit_left(c)
			 : region;
	status = caching_take_segment(c, *bytes, memory, &refused);
	while (status == STATUS_NO_MEMORY && *bytes > request && request <= caching_limit_left(c)) {
		size_t smaller = caching_rules_round(c->rules, *bytes - *bytes / 10);

		*bytes = smaller < *bytes ? smaller : *bytes - c->rules->rounding;
		if (*bytes < request)
			break;
		error_clear(&refused);
		status = caching_take_segment(c, *bytes, memory, &refused);
	}
	if (status != STATUS_OK)
		return error_set(err, status, "%s", refused.message);
	c->region = region == c->region ? 2 * region : region;
	return STATUS_OK;
}

static enum status caching_take_more(struct caching *c, size_t request, size_t *bytes,
				     void **memory, struct error *err)
{
	if (!c->rules->segment)
		return caching_take_region(c, request, bytes, memory, err);
	*bytes = c->rules->segment(request);
	return caching_take_segment(c, *bytes, memory, err);
}

/* PyTorch's rules always retry, the others only if completely free segments could make room. */
static bool caching_may_help(const struct caching *c, size_t request)
{
	uint64_t whole = 0;

	for (unsigned bin = 0; bin < c->rules->bins; bin++)
		for (const struct caching_block *b = c->free[bin]; b; b = b->next)
			whole += caching_whole_segment(b) ? b->bytes : 0;
	return c->rules->segment ||
	       (whole > 0 && (!c->limit || request <= c->limit - c->reserved + whole));
}

static enum status caching_new_segment(struct caching *c, unsigned bin, size_t request,
				       struct caching_block **out, struct error *err)
{
	struct error refused = ERROR_NONE;
	void *memory = NULL;
	size_t bytes;
	enum status status = caching_take_more(c, request, &bytes, &memory, &refused);

	if (status == STATUS_NO_MEMORY && caching_may_help(c, request)) {
		error_clear(&refused);
		status = caching_trim_free(c, err);
		if (status == STATUS_OK)
			status = caching_take_more(c, request, &bytes, &memory, err);
	} else if (status != STATUS_OK) {
		error_set(err, status, "%s", refused.message);
	}
	if (status != STATUS_OK)
		return status;
	*out = xcalloc(1, sizeof(**out));
	**out = (struct caching_block){ .at = memory, .bytes = bytes, .pool = bin };
	c->reserved += bytes;
	caching_set_free(c, *out);
	return STATUS_OK;
}

static enum status caching_take_block(struct caching *c, size_t bytes, void **out,
				      struct error *err)
{
	size_t rounded = caching_rules_round(c->rules, bytes);
	unsigned bin = c->rules->bin_of_request(rounded);
	struct caching_block *b = caching_best_fit(c, bin, rounded);
	enum status status = STATUS_OK;
	struct caching_block *other;

	if (!b)
		status = caching_new_segment(c, bin, rounded, &b, err);
	if (status != STATUS_OK)
		return status;
	caching_unlink_block(b);
	/* Makes the remainder a separate block if the rules say so. */
	if (c->rules->cuts(b->bytes, rounded, b->pool)) {
		other = xcalloc(1, sizeof(*other));
		*other = (struct caching_block){ .at = b->at + rounded,
						 .bytes = b->bytes - rounded,
						 .pool = b->pool,
						 .before = b,
						 .after = b->after };
		if (b->after)
			b->after->before = other;
		b->after = other;
		b->bytes = rounded;
		caching_set_free(c, other);
	}
	b->used = true;
	caching_link_block(caching_bucket(c, b->at), b);
	*out = b->at;
	return STATUS_OK;
}

enum status caching_alloc(struct caching *c, size_t bytes, void **out, struct error *err)
{
	enum status status;

	*out = NULL;
	pthread_mutex_lock(&c->lock);
	status = caching_take_block(c, bytes, out, err);
	pthread_mutex_unlock(&c->lock);
	return status;
}

enum status caching_free(struct caching *c, void *memory, struct error *err)
{
	struct caching_block *b;

	if (!memory)
		return STATUS_OK;
	pthread_mutex_lock(&c->lock);
	for (b = *caching_bucket(c, memory); b && b->at != memory;)
		b = b->next;
	if (b) {
		caching_unlink_block(b);
		caching_free_block(c, b);
	}
	pthread_mutex_unlock(&c->lock);
	return b ? STATUS_OK
		 : error_set(err, STATUS_INTERNAL,
			     "a block was freed that the caching allocator did not allocate");
}

enum status caching_trim(struct caching *c, struct error *err)
{
	enum status status;

	pthread_mutex_lock(&c->lock);
	status = caching_trim_free(c, err);
	pthread_mutex_unlock(&c->lock);
	return status;
}

uint64_t caching_reserved(struct caching *c)
{
	uint64_t reserved;

	pthread_mutex_lock(&c->lock);
	reserved = c->reserved;
	pthread_mutex_unlock(&c->lock);
	return reserved;
}

void caching_free_bytes(struct caching *c, uint64_t *all, uint64_t *largest)
{
	*all = *largest = 0;
	pthread_mutex_lock(&c->lock);
	for (unsigned bin = 0; bin < c->rules->bins; bin++)
		for (const struct caching_block *b = c->free[bin]; b; b = b->next) {
			*all += b->bytes;
			*largest = b->bytes > *largest ? b->bytes : *largest;
		}
	pthread_mutex_unlock(&c->lock);
}
