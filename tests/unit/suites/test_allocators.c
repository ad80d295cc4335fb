/*
 * The allocators on top of device memory give the addresses that their rules say, whatever is asked
 * for and whichever request the device refuses: held against a simulation that keeps pieces of
 * address space in one sorted array and looks through all of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "kernels/generator.h"
#include "suites/allocators/caching.h"
#include "suites/training/trainmem/heap.h"

#define MIB ((uint64_t)1 << 20)
#define MOST_PIECES 4096
#define MOST_SEGMENTS 256

/* Addresses without memory. Segments never touch: joining across them would be noticed. */
struct addresses {
	uint64_t next;
	uint64_t taken, given; /* bytes */
	unsigned calls, refuse_at, refuse_until;
};

static enum status take_addresses(void *state, size_t bytes, void **out, struct error *err)
{
	struct addresses *a = state;

	a->calls++;
	if (a->calls >= a->refuse_at && a->calls < a->refuse_until)
		return error_set(err, STATUS_NO_MEMORY, "refused");
	*out = (void *)(uintptr_t)a->next;
	a->next += bytes + 4096;
	a->taken += bytes;
	return STATUS_OK;
}

static enum status give_addresses(void *state, void *memory, size_t bytes, struct error *err)
{
	struct addresses *a = state;

	(void)memory;
	(void)err;
	a->given += bytes;
	return STATUS_OK;
}

struct piece {
	uint64_t at, bytes;
	unsigned segment;
	bool used;
};

struct simulation {
	enum caching_rules rules;
	uint64_t limit, reserved, region;
	struct addresses source;
	struct piece pieces[MOST_PIECES]; /* by address */
	size_t count;
	bool small[MOST_SEGMENTS];
	unsigned segments;
};

static void insert(struct simulation *s, size_t at, struct piece piece)
{
	assert_true(s->count < MOST_PIECES);
	memmove(&s->pieces[at + 1], &s->pieces[at], (s->count - at) * sizeof(s->pieces[0]));
	s->pieces[at] = piece;
	s->count++;
}

static void drop(struct simulation *s, size_t at)
{
	s->count--;
	memmove(&s->pieces[at], &s->pieces[at + 1], (s->count - at) * sizeof(s->pieces[0]));
}

static bool pytorch(const struct simulation *s)
{
	return s->rules == CACHING_PYTORCH;
}

static uint64_t rounded(const struct simulation *s, uint64_t bytes)
{
	uint64_t unit = pytorch(s) ? 512 : 256;

	return bytes ? (bytes + unit - 1) / unit * unit : unit;
}

/* The smallest free piece that holds `bytes`, the lowest of equal ones; -1: none. */
static long smallest(const struct simulation *s, uint64_t bytes)
{
	long best = -1;

	for (size_t i = 0; i < s->count; i++) {
		const struct piece *p = &s->pieces[i];

		if (p->used || p->bytes < bytes ||
		    (pytorch(s) && s->small[p->segment] != (bytes <= MIB)))
			continue;
		if (best < 0 || p->bytes < s->pieces[best].bytes)
			best = (long)i;
	}
	return best;
}

static bool whole(const struct simulation *s, size_t i)
{
	return !s->pieces[i].used && (i == 0 || s->pieces[i - 1].segment != s->pieces[i].segment) &&
	       (i + 1 == s->count || s->pieces[i + 1].segment != s->pieces[i].segment);
}

static uint64_t give_whole_ones_back(struct simulation *s, bool really)
{
	uint64_t bytes = 0;

	for (size_t i = s->count; i-- > 0;) {
		if (!whole(s, i))
			continue;
		bytes += s->pieces[i].bytes;
		if (really) {
			s->reserved -= s->pieces[i].bytes;
			drop(s, i);
		}
	}
	return bytes;
}

static bool ask_source(struct simulation *s, uint64_t bytes, bool small)
{
	struct error ignored = ERROR_NONE;
	void *memory = NULL;

	if (s->limit && s->reserved + bytes > s->limit)
		return false;
	if (take_addresses(&s->source, bytes, &memory, &ignored) != STATUS_OK)
		return false;
	s->small[s->segments] = small;
	insert(s, s->count,
	       (struct piece){ (uint64_t)(uintptr_t)memory, bytes, s->segments++, false });
	s->reserved += bytes;
	return true;
}

static bool grow_pytorch(struct simulation *s, uint64_t bytes)
{
	uint64_t segment = bytes <= MIB       ? 2 * MIB
			   : bytes < 10 * MIB ? 20 * MIB
					      : (bytes + 2 * MIB - 1) / (2 * MIB) * (2 * MIB);

	if (ask_source(s, segment, bytes <= MIB))
		return true;
	give_whole_ones_back(s, true);
	return ask_source(s, segment, bytes <= MIB);
}

static bool grow_region(struct simulation *s, uint64_t bytes)
{
	uint64_t left = s->limit / 256 * 256 - s->reserved, region = s->region, ask;

	if (bytes > left)
		return false;
	while (region < bytes)
		region *= 2;
	for (ask = region < left ? region : left; ask >= bytes;) {
		uint64_t less = (ask - ask / 10 + 255) / 256 * 256;

		if (ask_source(s, ask, false)) {
			s->region = region > s->region ? region : 2 * region;
			return true;
		}
		ask = less < ask ? less : ask - 256;
	}
	return false;
}

static bool grow_bfc(struct simulation *s, uint64_t bytes)
{
	uint64_t unused;

	if (grow_region(s, bytes))
		return true;
	unused = give_whole_ones_back(s, false);
	if (unused == 0 || bytes > s->limit - s->reserved + unused)
		return false;
	give_whole_ones_back(s, true);
	return grow_region(s, bytes);
}

/* The address; 0: refused. */
static uint64_t simulate_take(struct simulation *s, uint64_t asked)
{
	uint64_t bytes = rounded(s, asked), rest;
	long best = smallest(s, bytes);
	struct piece *p;
	bool cut;

	if (best < 0 && (pytorch(s) ? grow_pytorch(s, bytes) : grow_bfc(s, bytes)))
		best = smallest(s, bytes);
	if (best < 0)
		return 0;
	p = &s->pieces[best];
	rest = p->bytes - bytes;
	if (pytorch(s))
		cut = s->small[p->segment] ? rest > 0 : rest > MIB;
	else
		cut = rest >= bytes || rest >= 128 * MIB;
	p->used = true;
	if (cut) {
		p->bytes = bytes;
		insert(s, (size_t)best + 1,
		       (struct piece){ p->at + bytes, rest, p->segment, false });
	}
	return s->pieces[best].at;
}

static void simulate_give(struct simulation *s, uint64_t at)
{
	size_t i = 0;

	while (s->pieces[i].at != at)
		i++;
	s->pieces[i].used = false;
	if (i + 1 < s->count && !s->pieces[i + 1].used &&
	    s->pieces[i + 1].segment == s->pieces[i].segment) {
		s->pieces[i].bytes += s->pieces[i + 1].bytes;
		drop(s, i + 1);
	}
	if (i > 0 && !s->pieces[i - 1].used && s->pieces[i - 1].segment == s->pieces[i].segment) {
		s->pieces[i - 1].bytes += s->pieces[i].bytes;
		drop(s, i);
	}
}

static void assert_same_state(const struct simulation *s, struct caching *c)
{
	uint64_t all = 0, largest = 0, seen_all, seen_largest;

	for (size_t i = 0; i < s->count; i++) {
		if (s->pieces[i].used)
			continue;
		all += s->pieces[i].bytes;
		largest = s->pieces[i].bytes > largest ? s->pieces[i].bytes : largest;
	}
	caching_free_bytes(c, &seen_all, &seen_largest);
	assert_int_equal(seen_all, all);
	assert_int_equal(seen_largest, largest);
	assert_int_equal(caching_reserved(c), s->reserved);
}

/* Small and large ones, some just below and above what the rules distinguish. */
static uint64_t request(uint64_t seed, uint64_t i)
{
	static const uint64_t edges[] = { 0, 1, 256, 257, 512, MIB, MIB + 1, 10 * MIB, 130 * MIB };
	uint64_t bytes = (uint64_t)1 << generator_bits(seed, 3 * i) % 26;

	if (generator_bits(seed, 3 * i + 1) % 4 == 0)
		return edges[generator_bits(seed, 3 * i + 2) % ARRAY_SIZE(edges)];
	return bytes + generator_bits(seed, 3 * i + 2) % bytes;
}

struct stream_of_requests {
	enum caching_rules rules;
	uint64_t limit, seed;
	unsigned refuse_at, refuse_until; /* calls of the source */
};

/* Returns the number of requests that were refused. */
static unsigned follow(const struct stream_of_requests *r)
{
	struct addresses source = { .next = UINT64_C(1) << 40,
				    .refuse_at = r->refuse_at,
				    .refuse_until = r->refuse_until };
	struct simulation *s = calloc(1, sizeof(*s));
	struct caching *c =
		caching_open((struct caching_source){ &source, take_addresses, give_addresses },
			     r->rules, r->limit);
	void *live[64] = { 0 };
	unsigned refusals = 0;

	s->rules = r->rules;
	s->limit = r->limit;
	s->region = r->rules == CACHING_BFC ? (r->limit + 255) / 256 * 256 : 2 * MIB;
	s->source = source;
	for (uint64_t i = 0; i < 2000; i++) {
		size_t k = generator_bits(r->seed + 1, i) % ARRAY_SIZE(live);
		struct error err = ERROR_NONE;

		if (live[k]) {
			simulate_give(s, (uint64_t)(uintptr_t)live[k]);
			assert_int_equal(caching_free(c, live[k], &err), STATUS_OK);
			live[k] = NULL;
		} else {
			uint64_t bytes = request(r->seed, i);
			uint64_t expected = simulate_take(s, bytes);
			enum status status = caching_alloc(c, bytes, &live[k], &err);

			assert_int_equal(status, expected ? STATUS_OK : STATUS_NO_MEMORY);
			assert_int_equal((uintptr_t)live[k], expected);
			refusals += !expected;
		}
		assert_same_state(s, c);
		assert_int_equal(source.calls, s->source.calls);
	}
	caching_close(c);
	assert_int_equal(source.taken, source.given);
	free(s);
	return refusals;
}

static void addresses_are_those_of_the_rules(void **state)
{
	static const struct stream_of_requests streams[] = {
		{ CACHING_PYTORCH, 0, 1, 0, 0 },
		{ CACHING_PYTORCH, 300 * MIB + 77, 2, 0, 0 },
		{ CACHING_BFC, 900 * MIB, 3, 0, 0 },
		{ CACHING_BFC, 333 * MIB + 77, 4, 0, 0 },
		{ CACHING_BFC_GROWTH, 900 * MIB, 5, 0, 0 },
		{ CACHING_BFC_GROWTH, 257 * MIB + 77, 6, 0, 0 },
	};
	unsigned refusals[ARRAY_SIZE(streams)];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(streams); i++)
		refusals[i] = follow(&streams[i]);
	/* The limits are such that both ends are looked at. */
	assert_int_equal(refusals[0], 0);
	assert_true(refusals[1] > 0 && refusals[3] > 0 && refusals[5] > 0);
}

/* The device refuses the n-th request, or a row of them, so that regions shrink. */
static void refusals_change_nothing_else(void **state)
{
	(void)state;
	for (int rules = 0; rules < CACHING_RULES_COUNT; rules++)
		for (unsigned n = 1; n < 20; n++)
			for (unsigned row = 1; row <= 25; row += 8)
				follow(&(struct stream_of_requests){
					(enum caching_rules)rules, 700 * MIB, 7 + n, n, n + row });
}

/* By hand: 2 MiB, doubled; a region that holds the request; the limit cuts the last one short. */
static void regions_double(void **state)
{
	struct addresses source = { .next = UINT64_C(1) << 40 };
	struct caching *c =
		caching_open((struct caching_source){ &source, take_addresses, give_addresses },
			     CACHING_BFC_GROWTH, 21 * MIB);
	struct error err = ERROR_NONE;
	void *a, *b;

	(void)state;
	assert_int_equal(caching_alloc(c, 100, &a, &err), STATUS_OK);
	assert_int_equal(caching_reserved(c), 2 * MIB);
	assert_int_equal(caching_alloc(c, 2 * MIB, &b, &err), STATUS_OK);
	assert_int_equal(caching_reserved(c), 6 * MIB);
	/* 8 MiB would be next; twice that holds 9. The limit leaves 15. */
	assert_int_equal(caching_alloc(c, 9 * MIB, &b, &err), STATUS_OK);
	assert_int_equal(caching_reserved(c), 21 * MIB);
	/* The 15 MiB were not cut: less than twice the request. */
	assert_int_equal(caching_alloc(c, 3 * MIB, &b, &err), STATUS_NO_MEMORY);
	assert_non_null(strstr(err.message, "limit"));
	caching_close(c);
}

/* Two logical devices of one device have addresses and limits of their own. */
static void one_limit_leaves_the_other_alone(void **state)
{
	struct addresses source = { .next = UINT64_C(1) << 40 };
	struct caching_source from = { &source, take_addresses, give_addresses };
	struct caching *first = caching_open(from, CACHING_BFC, 64 * MIB);
	struct caching *second = caching_open(from, CACHING_BFC, 32 * MIB);
	struct error err = ERROR_NONE;
	void *a, *b;

	(void)state;
	assert_int_equal(caching_alloc(first, 64 * MIB, &a, &err), STATUS_OK);
	assert_int_equal(caching_alloc(first, 1, &b, &err), STATUS_NO_MEMORY);
	assert_int_equal(caching_alloc(second, 32 * MIB, &b, &err), STATUS_OK);
	assert_true((char *)b >= (char *)a + 64 * MIB || (char *)a >= (char *)b + 32 * MIB);
	assert_int_equal(source.taken, 96 * MIB);
	caching_close(first);
	assert_int_equal(source.given, 64 * MIB);
	caching_close(second);
}

static struct heap open_heap(enum policy policy, uint64_t limit, uint64_t reserve)
{
	struct error err = ERROR_NONE;
	struct heap heap;

	assert_int_equal(heap_open(&heap, NULL, NULL, policy, limit, reserve, &err), STATUS_OK);
	return heap;
}

/* malloc and async: what is taken is what is in use, request by request, up to the limit. */
static void policies_without_a_cache_take_what_is_asked_for(void **state)
{
	static const enum policy policies[] = { POLICY_MALLOC, POLICY_ASYNC };

	(void)state;
	for (size_t p = 0; p < ARRAY_SIZE(policies); p++) {
		struct heap heap = open_heap(policies[p], 400 * MIB, 0);
		struct {
			void *memory;
			uint64_t bytes;
		} live[32] = { 0 };
		uint64_t used = 0;

		for (uint64_t i = 0; i < 1000; i++) {
			size_t k = generator_bits(40, i) % ARRAY_SIZE(live);
			struct error err = ERROR_NONE;
			enum status status;

			if (live[k].memory) {
				heap_give(&heap, MEMORY_TRANSIENT, live[k].memory, live[k].bytes);
				used -= live[k].bytes;
				live[k].memory = NULL;
			} else {
				live[k].bytes = request(41, i) + 1;
				status = heap_take(&heap, MEMORY_TRANSIENT, live[k].bytes,
						   &live[k].memory, &err);
				assert_int_equal(status, used + live[k].bytes <= 400 * MIB
								 ? STATUS_OK
								 : STATUS_NO_MEMORY);
				if (status == STATUS_OK)
					used += live[k].bytes;
				else
					live[k].memory = NULL;
			}
			assert_int_equal(heap.reserved, used);
			assert_int_equal(heap.live_total, used);
		}
		heap_close(&heap);
	}
}

/* arena: the lowest gap for what stays, the highest for what is short-lived, in one allocation. */
static void an_arena_gives_the_outermost_gap(void **state)
{
	enum { UNITS = 256, UNIT = 512 };
	struct heap heap = open_heap(POLICY_ARENA, 0, UNITS * UNIT);
	bool used[UNITS] = { false };
	char *base = NULL;
	struct {
		void *memory;
		size_t at, units;
		bool top;
	} live[24] = { 0 };
	unsigned refusals = 0;

	(void)state;
	for (uint64_t i = 0; i < 3000; i++) {
		size_t k = generator_bits(50, i) % ARRAY_SIZE(live);
		size_t units = 1 + generator_bits(51, i) % 24, at = UNITS;
		bool top = generator_bits(52, i) % 2;
		struct error err = ERROR_NONE;

		if (live[k].memory) {
			memset(&used[live[k].at], 0, live[k].units);
			heap_give(&heap, live[k].top ? MEMORY_TRANSIENT : MEMORY_ACTIVATIONS,
				  live[k].memory, live[k].units * UNIT);
			live[k].memory = NULL;
			continue;
		}
		for (size_t j = 0; j + units <= UNITS; j++) {
			size_t from = top ? UNITS - units - j : j, n = 0;

			while (n < units && !used[from + n])
				n++;
			if (n == units) {
				at = from;
				break;
			}
		}
		if (at == UNITS) {
			assert_int_equal(heap_take(&heap,
						   top ? MEMORY_TRANSIENT : MEMORY_ACTIVATIONS,
						   units * UNIT, &live[k].memory, &err),
					 STATUS_NO_MEMORY);
			live[k].memory = NULL;
			refusals++;
			continue;
		}
		assert_int_equal(heap_take(&heap, top ? MEMORY_TRANSIENT : MEMORY_ACTIVATIONS,
					   units * UNIT, &live[k].memory, &err),
				 STATUS_OK);
		if (!base)
			base = (char *)live[k].memory - at * UNIT;
		assert_ptr_equal(live[k].memory, base + at * UNIT);
		live[k].at = at;
		live[k].units = units;
		live[k].top = top;
		memset(&used[at], 1, units);
	}
	assert_true(refusals > 0);
	assert_int_equal(heap.reserved, UNITS * UNIT);
	heap_close(&heap);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_are_those_of_the_rules),
		cmocka_unit_test(refusals_change_nothing_else),
		cmocka_unit_test(regions_double),
		cmocka_unit_test(one_limit_leaves_the_other_alone),
		cmocka_unit_test(policies_without_a_cache_take_what_is_asked_for),
		cmocka_unit_test(an_arena_gives_the_outermost_gap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
