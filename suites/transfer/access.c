#include "suites/transfer/access.h"

#include <stdlib.h>

#include "base/memory.h"

struct access_pair {
	struct device *a, *b;
	unsigned turn; /* of the latest case that requested it */
};

struct access {
	struct access_pair *pairs; /* pairs that were enabled */
	size_t count, capacity;
	unsigned turn;
};

struct access *access_open(void)
{
	return xcalloc(1, sizeof(struct access));
}

void access_turn(struct access *access)
{
	access->turn++;
}

static struct access_pair *access_find_pair(const struct access *access, const struct device *a,
					    const struct device *b)
{
	for (size_t i = 0; i < access->count; i++) {
		struct access_pair *p = &access->pairs[i];

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

/* Disables access of `a` and of `b` that earlier cases needed; false: there is none. */
static bool access_release_unused(struct access *access, const struct device *a,
				  const struct device *b)
{
	bool any = false;

	for (size_t i = access->count; i-- > 0;) {
		struct access_pair *p = &access->pairs[i];

		if (p->turn == access->turn || (p->a != a && p->a != b && p->b != a && p->b != b))
			continue;
		switch_both(p->a, p->b, false, &(struct error)ERROR_NONE);
		*p = access->pairs[--access->count];
		any = true;
	}
	return any;
}

static enum status switch_on(struct access *access, struct device *a, struct device *b,
			     struct error *err)
{
	struct error refused = ERROR_NONE;

	if (switch_both(a, b, true, &refused) == STATUS_OK)
		return STATUS_OK;
	if (refused.status == STATUS_UNSUPPORTED && access_release_unused(access, a, b))
		return switch_both(a, b, true, err);
	return error_set(err, refused.status, "%s", refused.message);
}

enum status access_set(struct access *access, struct device *a, struct device *b, bool on,
		       struct error *err)
{
	struct access_pair *known = access_find_pair(access, a, b);

	if (known && on) {
		known->turn = access->turn;
		return STATUS_OK;
	}
	/*
	 * Disables access even if it was not enabled here: the backend may enable it from the
	 * start.
	 */
	if ((on ? switch_on(access, a, b, err) : switch_both(a, b, false, err)) != STATUS_OK)
		return err->status;
	if (on) {
		ARRAY_GROW(access->pairs, access->count, access->capacity);
		access->pairs[access->count++] = (struct access_pair){ a, b, access->turn };
	} else if (known) {
		*known = access->pairs[--access->count];
	}
	return STATUS_OK;
}

void access_close(struct access *access)
{
	for (size_t i = 0; i < access->count; i++) {
		backend_peer_access(access->pairs[i].a, access->pairs[i].b, false, NULL);
		backend_peer_access(access->pairs[i].b, access->pairs[i].a, false, NULL);
	}
	free(access->pairs);
	free(access);
}
