#include "suites/transfer/access.h"

#include <stdlib.h>

#include "base/memory.h"

struct pair {
	struct device *a, *b;
};

static struct {
	struct pair *pairs; /* that were switched on */
	size_t count, capacity;
} open;

static struct pair *find(const struct device *a, const struct device *b)
{
	for (size_t i = 0; i < open.count; i++) {
		struct pair *p = &open.pairs[i];

		if ((p->a == a && p->b == b) || (p->a == b && p->b == a))
			return p;
	}
	return NULL;
}

enum status access_set(struct device *a, struct device *b, bool on, struct error *err)
{
	struct pair *known = find(a, b);

	if (known && on)
		return STATUS_OK;
	/* Off also where nobody here has switched it on: the backend may have it on from the start. */
	if (backend_peer_access(a, b, on, err) != STATUS_OK ||
	    backend_peer_access(b, a, on, err) != STATUS_OK)
		return err->status;
	if (on) {
		ARRAY_GROW(open.pairs, open.count, open.capacity);
		open.pairs[open.count++] = (struct pair){ a, b };
	} else if (known) {
		*known = open.pairs[--open.count];
	}
	return STATUS_OK;
}

void access_reset(void)
{
	for (size_t i = 0; i < open.count; i++) {
		backend_peer_access(open.pairs[i].a, open.pairs[i].b, false, NULL);
		backend_peer_access(open.pairs[i].b, open.pairs[i].a, false, NULL);
	}
	free(open.pairs);
	open.pairs = NULL;
	open.count = open.capacity = 0;
}
