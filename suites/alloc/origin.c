#include "suites/alloc/origin.h"

#include <string.h>

#include "suites/alloc/alloc.h"

int origin_from_name(const char *name)
{
	enum allocator allocator;

	if (allocator_from_name(name, &allocator))
		return (int)allocator;
	for (int rules = 0; rules < CACHING_RULES_COUNT; rules++)
		if (strcmp(name, caching_rules_names[rules]) == 0)
			return ORIGIN_CACHING + rules;
	return ORIGIN_ARENA;
}

const char *origin_name(int kind)
{
	if (kind == ORIGIN_ARENA)
		return "arena";
	return origin_is_own(kind) ? caching_rules_names[kind - ORIGIN_CACHING]
				   : allocator_name((enum allocator)kind);
}

bool origin_on_device(int kind)
{
	return origin_is_own(kind) || allocator_on_device((enum allocator)kind);
}

bool origin_is_own(int kind)
{
	return kind >= ORIGIN_CACHING;
}

void origin_open(struct origin *origin, struct device *device, int kind, uint64_t limit)
{
	*origin = (struct origin){ .device = device, .kind = kind };
	if (kind == ORIGIN_ARENA)
		origin->reservation = reservation_open(caching_source_device(device), limit);
	else if (origin_is_own(kind))
		origin->caching = caching_open(caching_source_device(device),
					       (enum caching_rules)(kind - ORIGIN_CACHING), limit);
}

void origin_close(struct origin *origin)
{
	caching_close(origin->caching);
	reservation_close(origin->reservation);
	memset(origin, 0, sizeof(*origin));
}

uint64_t origin_reserved(const struct origin *origin)
{
	return origin->caching ? caching_reserved(origin->caching)
			       : reservation_taken(origin->reservation);
}

uint64_t alloc_limit(const struct run *run, int kind)
{
	struct error ignored = ERROR_NONE;
	uint64_t unused, total;

	if (kind == ORIGIN_CACHING || !origin_is_own(kind) ||
	    backend_device_memory(run->devices[0], &unused, &total, &ignored) != STATUS_OK)
		return 0;
	return (uint64_t)(section_real(run->c->section, "memory_fraction") * (double)unused);
}

enum status origin_get(struct origin *origin, size_t bytes, struct stream *stream, void **out,
		       struct error *err)
{
	enum status status;

	if (origin->caching)
		status = caching_alloc(origin->caching, bytes, out, err);
	else if (origin->reservation)
		status = reservation_take(origin->reservation, false, bytes, out, err);
	else
		status = backend_memory_alloc(origin->device, (enum allocator)origin->kind, bytes,
					      stream, out, err);
	if (status != STATUS_OK)
		*out = NULL;
	return status;
}

enum status origin_give(struct origin *origin, void *memory, size_t bytes, struct stream *stream,
			struct error *err)
{
	if (origin->caching)
		return caching_free(origin->caching, memory, err);
	if (origin->reservation)
		return reservation_give(origin->reservation, memory, err);
	return backend_memory_free(origin->device, (enum allocator)origin->kind, memory, bytes,
				   stream, err);
}

enum status origin_trim(struct origin *origin, struct error *err)
{
	struct error trimmed = ERROR_NONE;

	if (origin->caching)
		return caching_trim(origin->caching, err);
	if (origin->reservation)
		return reservation_trim(origin->reservation, err);
	/* An allocator without a cache has nothing to release. */
	if (backend_memory_trim(origin->device, err ? &trimmed : NULL) == STATUS_OK ||
	    trimmed.status == STATUS_UNSUPPORTED)
		return STATUS_OK;
	return error_set(err, trimmed.status, "%s", trimmed.message);
}
