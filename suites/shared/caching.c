#include "suites/shared/caching.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/units.h"

#define ROUND_BYTES ((size_t)512)
#define SMALL_MOST ((size_t)1 << 20) /* a request from a small segment */
#define SMALL_SEGMENT ((size_t)2 << 20)
#define MIDDLE_MOST ((size_t)10 << 20)
#define MIDDLE_SEGMENT ((size_t)20 << 20)
#define SEGMENT_UNIT ((size_t)2 << 20)
#define BUCKETS 1024

struct block {
	char *at;
	size_t bytes;
	bool used, small;
	struct block *before, *after; /* neighbours in the segment */
	/* In the list of the free ones, or in the bucket of the used; `list` is which. */
	struct block *previous, *next;
	struct block **list;
};

struct caching {
	struct caching_source source;
	uint64_t limit, reserved;
	struct block *free[2];       /* of large and of small segments */
	struct block *used[BUCKETS]; /* by address */
	pthread_mutex_t lock;
};

static void unlink_block(struct block *b)
{
	if (b->previous)
		b->previous->next = b->next;
	else
		*b->list = b->next;
	if (b->next)
		b->next->previous = b->previous;
}

static void link_block(struct block **list, struct block *b)
{
	b->list = list;
	b->previous = NULL;
	b->next = *list;
	if (b->next)
		b->next->previous = b;
	*list = b;
}

static struct block **bucket(struct caching *c, const void *memory)
{
	return &c->used[((uintptr_t)memory / ROUND_BYTES) % BUCKETS];
}

static void set_free(struct caching *c, struct block *b)
{
	b->used = false;
	link_block(&c->free[b->small], b);
}

static enum status take_from_device(void *state, size_t bytes, void **out, struct error *err)
{
	return backend_memory_alloc(state, ALLOCATOR_DEVICE, bytes, NULL, out, err);
}

static enum status give_to_device(void *state, void *memory, size_t bytes, struct error *err)
{
	return backend_memory_free(state, ALLOCATOR_DEVICE, memory, bytes, NULL, err);
}

struct caching_source caching_source_device(struct device *device)
{
	return (struct caching_source){ device, take_from_device, give_to_device };
}

struct caching *caching_open(struct caching_source source, uint64_t limit)
{
	struct caching *c = xcalloc(1, sizeof(*c));

	c->source = source;
	c->limit = limit;
	pthread_mutex_init(&c->lock, NULL);
	return c;
}

static bool whole_segment(const struct block *b)
{
	return !b->before && !b->after;
}

/* Frees a whole segment: `b` is its only block. */
static enum status give_segment_back(struct caching *c, struct block *b, struct error *err)
{
	enum status status;

	unlink_block(b);
	c->reserved -= b->bytes;
	status = c->source.give(c->source.state, b->at, b->bytes, err);
	free(b);
	return status;
}

static enum status trim(struct caching *c, struct error *err)
{
	enum status status = STATUS_OK;

	for (int small = 0; small < 2; small++) {
		struct block *next;

		for (struct block *b = c->free[small]; b && status == STATUS_OK; b = next) {
			next = b->next;
			if (whole_segment(b))
				status = give_segment_back(c, b, err);
		}
	}
	return status;
}

/* Takes the free block `b` into its neighbour before it, which is free as well. */
static struct block *swallow(struct block *before, struct block *b)
{
	unlink_block(b);
	before->bytes += b->bytes;
	before->after = b->after;
	if (b->after)
		b->after->before = before;
	free(b);
	return before;
}

static void merge(struct block *b)
{
	if (b->before && !b->before->used)
		b = swallow(b->before, b);
	if (b->after && !b->after->used)
		swallow(b, b->after);
}

void caching_close(struct caching *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < BUCKETS; i++) {
		while (c->used[i]) {
			struct block *b = c->used[i];

			unlink_block(b);
			set_free(c, b);
			merge(b);
		}
	}
	trim(c, NULL);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

static bool fits_better(const struct block *b, const struct block *best)
{
	return b->bytes < best->bytes || (b->bytes == best->bytes && b->at < best->at);
}

static struct block *best_fit(const struct caching *c, bool small, size_t bytes)
{
	struct block *best = NULL;

	for (struct block *b = c->free[small]; b; b = b->next)
		if (b->bytes >= bytes && (!best || fits_better(b, best)))
			best = b;
	return best;
}

static size_t segment_bytes(size_t bytes)
{
	if (bytes <= SMALL_MOST)
		return SMALL_SEGMENT;
	if (bytes < MIDDLE_MOST)
		return MIDDLE_SEGMENT;
	return (bytes + SEGMENT_UNIT - 1) / SEGMENT_UNIT * SEGMENT_UNIT;
}

static enum status beyond_limit(const struct caching *c, size_t bytes, struct error *err)
{
	char wanted[32], limit[32];

	if (!c->limit || (bytes <= c->limit && c->reserved <= c->limit - bytes))
		return STATUS_OK;
	return error_set(err, STATUS_NO_MEMORY, "a segment of %s goes beyond the limit of %s",
			 units_size(bytes, wanted, sizeof(wanted)),
			 units_size(c->limit, limit, sizeof(limit)));
}

static enum status take_segment(struct caching *c, size_t bytes, void **memory, struct error *err)
{
	if (beyond_limit(c, bytes, err) != STATUS_OK)
		return STATUS_NO_MEMORY;
	return c->source.take(c->source.state, bytes, memory, err);
}

static enum status new_segment(struct caching *c, bool small, size_t bytes, struct block **out,
			       struct error *err)
{
	struct error refused = ERROR_NONE;
	enum status status;
	void *memory = NULL;

	bytes = segment_bytes(bytes);
	status = take_segment(c, bytes, &memory, &refused);
	if (status == STATUS_NO_MEMORY) {
		status = trim(c, err);
		if (status == STATUS_OK)
			status = take_segment(c, bytes, &memory, err);
	} else if (status != STATUS_OK) {
		error_set(err, status, "%s", refused.message);
	}
	if (status != STATUS_OK)
		return status;
	*out = xcalloc(1, sizeof(**out));
	**out = (struct block){ .at = memory, .bytes = bytes, .small = small };
	c->reserved += bytes;
	set_free(c, *out);
	return STATUS_OK;
}

/* Makes the remainder a block of its own: always in a small segment, above 1 MiB in a large one. */
static void split(struct caching *c, struct block *b, size_t bytes)
{
	size_t rest = b->bytes - bytes;
	struct block *other;

	if (b->small ? rest < ROUND_BYTES : rest <= SMALL_MOST)
		return;
	other = xcalloc(1, sizeof(*other));
	*other = (struct block){ .at = b->at + bytes,
				 .bytes = rest,
				 .small = b->small,
				 .before = b,
				 .after = b->after };
	if (b->after)
		b->after->before = other;
	b->after = other;
	b->bytes = bytes;
	set_free(c, other);
}

static enum status take(struct caching *c, size_t bytes, void **out, struct error *err)
{
	size_t rounded =
		bytes ? (bytes + ROUND_BYTES - 1) / ROUND_BYTES * ROUND_BYTES : ROUND_BYTES;
	bool small = rounded <= SMALL_MOST;
	struct block *b = best_fit(c, small, rounded);
	enum status status = STATUS_OK;

	if (!b)
		status = new_segment(c, small, rounded, &b, err);
	if (status != STATUS_OK)
		return status;
	unlink_block(b);
	split(c, b, rounded);
	b->used = true;
	link_block(bucket(c, b->at), b);
	*out = b->at;
	return STATUS_OK;
}

enum status caching_alloc(struct caching *c, size_t bytes, void **out, struct error *err)
{
	enum status status;

	*out = NULL;
	pthread_mutex_lock(&c->lock);
	status = take(c, bytes, out, err);
	pthread_mutex_unlock(&c->lock);
	return status;
}

enum status caching_free(struct caching *c, void *memory, struct error *err)
{
	struct block *b;

	if (!memory)
		return STATUS_OK;
	pthread_mutex_lock(&c->lock);
	for (b = *bucket(c, memory); b && b->at != memory;)
		b = b->next;
	if (b) {
		unlink_block(b);
		set_free(c, b);
		merge(b);
	}
	pthread_mutex_unlock(&c->lock);
	return b ? STATUS_OK
		 : error_set(err, STATUS_INTERNAL, "memory that the caching allocator never gave");
}

enum status caching_trim(struct caching *c, struct error *err)
{
	enum status status;

	pthread_mutex_lock(&c->lock);
	status = trim(c, err);
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
	for (int small = 0; small < 2; small++)
		for (const struct block *b = c->free[small]; b; b = b->next) {
			*all += b->bytes;
			*largest = b->bytes > *largest ? b->bytes : *largest;
		}
	pthread_mutex_unlock(&c->lock);
}
