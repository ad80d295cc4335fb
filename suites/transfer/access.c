#include "suites/transfer/access.h"

#include <stdlib.h>

#include "base/memory.h"

struct pair {
	struct device *a, *b;
	unsigned turn; /* of the latest case that asked for it */
};

static struct {
	struct pair *pairs; /* that were switched on */
	size_t count, capacity;
	unsigned turn;
} open;

void access_turn(void)
{
	open.turn++;
}

static struct pair *find(const struct device *a, const struct device *b)
{
	for (size_t i = 0; i < open.count; i++) {
		struct pair *p = &open.pairs[i];

		if ((p->a == a && p->b == b) || (p->a == b && p->b == a))
			return p;
	}
	return NULL;
}

static enum status switch_both(struct device *a, struct device *b, bool on, struct error *err)
{
	if (backend_peer_access(a, b, on, err) != STATUS_OK)
		return err->status;
	if (backend_peer_access(b, a, on, err) == STATUS_OK)
		return STATUS_OK;
	if (on)
		backend_peer_access(a, b, false, NULL);
	return err->status;
}

/* Takes back what earlier cases had of `a` and of `b`; false: there is nothing. */
static bool make_room(const struct device *a, const struct device *b)
{
	bool any = false;

	for (size_t i = open.count; i-- > 0;) {
		struct pair *p = &open.pairs[i];

		if (p->turn == open.turn || (p->a != a && p->a != b && p->b != a && p->b != b))
			continue;
		switch_both(p->a, p->b, false, &(struct error)ERROR_NONE);
		*p = open.pairs[--open.count];
		any = true;
	}
	return any;
}

static enum status switch_on(struct device *a, struct device *b, struct error *err)
{
	struct error refused = ERROR_NONE;

	if (switch_both(a, b, true, &refused) == STATUS_OK)
		return STATUS_OK;
	if (refused.status == STATUS_UNSUPPORTED && make_room(a, b))
		return switch_both(a, b, true, err);
	return error_set(err, refused.status, "%s", refused.message);
}

enum status access_set(struct device *a, struct device *b, bool on, struct error *err)
{
	struct pair *known = find(a, b);

	if (known && on) {
		known->turn = open.turn;
		return STATUS_OK;
	}
	/* Off also if it was not switched on here: the backend may have it on from the start. */
	if ((on ? switch_on(a, b, err) : switch_both(a, b, false, err)) != STATUS_OK)
		return err->status;
	if (on) {
		ARRAY_GROW(open.pairs, open.count, open.capacity);
		open.pairs[open.count++] = (struct pair){ a, b, open.turn };
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
