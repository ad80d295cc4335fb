#include "fleet/rounds/pairing.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void pairing_open(struct pairing *p, size_t count, uint64_t seed)
{
	*p = (struct pairing){ .state = seed, .count = count };
	p->rounds = xcalloc(count + 1, sizeof(*p->rounds));
}

void pairing_close(struct pairing *p)
{
	free(p->met);
	free(p->rounds);
	memset(p, 0, sizeof(*p));
}

static size_t *pairing_shuffle(struct pairing *p, const size_t *nodes, size_t count)
{
	size_t *order = xcalloc(count + 1, sizeof(*order));

	memcpy(order, nodes, count * sizeof(*order));
	for (size_t i = count; i > 1; i--) {
		size_t other, kept = order[i - 1];
		/* SplitMix64 */
		uint64_t z = p->state += UINT64_C(0x9e3779b97f4a7c15);

		z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
		z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
		other = (z ^ z >> 31) % i;
		order[i - 1] = order[other];
		order[other] = kept;
	}
	return order;
}

static void pairing_take_pair(struct pairing *p, size_t a, size_t b, size_t (*pairs)[2],
			      size_t *found)
{
	size_t low = a < b ? a : b, high = a < b ? b : a;

	if (p->met_count == p->met_capacity) {
		p->met_capacity = 2 * p->met_capacity + 64;
		p->met = xrealloc(p->met, p->met_capacity, sizeof(*p->met));
	}
	p->met[p->met_count][0] = (uint32_t)low;
	p->met[p->met_count++][1] = (uint32_t)high;
	p->rounds[a]++;
	p->rounds[b]++;
	pairs[*found][0] = low;
	pairs[(*found)++][1] = high;
}

/* The place of a partner of `node` from `from` on; one that it has not met if there is one. */
static size_t pairing_find_partner(const struct pairing *p, size_t node, const size_t *order,
				   size_t from, size_t count)
{
	for (size_t i = from, k; i < count; i++) {
		for (k = 0; k < p->met_count; k++)
			if ((p->met[k][0] == node && p->met[k][1] == order[i]) ||
			    (p->met[k][0] == order[i] && p->met[k][1] == node))
				break;
		if (k == p->met_count)
			return i;
	}
	return from;
}

size_t pairing_random(struct pairing *p, const size_t *nodes, size_t count, size_t (*pairs)[2])
{
	size_t *order = pairing_shuffle(p, nodes, count), found = 0;

	/* One of the nodes with most pairs is left out. */
	if (count % 2) {
		size_t most = --count, kept;

		for (size_t i = 0; i < count; i++)
			if (p->rounds[order[i]] > p->rounds[order[most]])
				most = i;
		kept = order[most];
		order[most] = order[count];
		order[count] = kept;
	}
	for (size_t i = 0; i + 1 < count; i += 2) {
		size_t at = pairing_find_partner(p, order[i], order, i + 1, count),
		       kept = order[at];

		order[at] = order[i + 1];
		order[i + 1] = kept;
		pairing_take_pair(p, order[i], kept, pairs, &found);
	}
	free(order);
	return found;
}

size_t pairing_with(struct pairing *p, const size_t *suspects, size_t suspect_count,
		    const size_t *proven, size_t proven_count, size_t (*pairs)[2])
{
	size_t *order = pairing_shuffle(p, proven, proven_count), found = 0;

	for (size_t i = 0; i < suspect_count && i < proven_count; i++) {
		size_t at = pairing_find_partner(p, suspects[i], order, i, proven_count),
		       kept = order[at];

		order[at] = order[i];
		order[i] = kept;
		pairing_take_pair(p, suspects[i], kept, pairs, &found);
	}
	free(order);
	return found;
}

/* The circle method: the last one stays, the others go round. */
size_t pairing_turn(const size_t *nodes, size_t count, size_t turn, size_t (*pairs)[2])
{
	size_t even = count + count % 2, found = 0;

	for (size_t i = 0; i < even / 2; i++) {
		size_t a = i ? (turn + i) % (even - 1) : turn % (even - 1),
		       b = i ? (turn + even - 1 - i) % (even - 1) : even - 1;

		if (a >= count || b >= count)
			continue; /* an odd number: one has no partner */
		pairs[found][0] = nodes[a < b ? a : b];
		pairs[found++][1] = nodes[a < b ? b : a];
	}
	return found;
}
