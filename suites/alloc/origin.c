#include "suites/alloc/origin.h"

#include <string.h>

int origin_from_name(const char *name)
{
	enum allocator allocator;

	return allocator_from_name(name, &allocator) ? (int)allocator : ORIGIN_CACHING;
}

const char *origin_name(int kind)
{
	return kind == ORIGIN_CACHING ? "caching" : allocator_name((enum allocator)kind);
}

bool origin_on_device(int kind)
{
	return kind == ORIGIN_CACHING || allocator_on_device((enum allocator)kind);
}

void origin_open(struct origin *origin, struct device *device, int kind, uint64_t limit)
{
	*origin = (struct origin){ .device = device, .kind = kind };
	if (kind == ORIGIN_CACHING)
		origin->caching = caching_open(caching_source_device(device), limit);
}

void origin_close(struct origin *origin)
{
	caching_close(origin->caching);
	memset(origin, 0, sizeof(*origin));
}

enum status origin_get(struct origin *origin, size_t bytes, struct stream *stream, void **out,
		       struct error *err)
{
	enum status status;

	if (origin->caching)
		status = caching_alloc(origin->caching, bytes, out, err);
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
	return backend_memory_free(origin->device, (enum allocator)origin->kind, memory, bytes,
				   stream, err);
}

enum status origin_trim(struct origin *origin, struct error *err)
{
	struct error trimmed = ERROR_NONE;

	if (origin->caching)
		return caching_trim(origin->caching, err);
	/* An allocator without a cache has nothing to release. */
	if (backend_memory_trim(origin->device, err ? &trimmed : NULL) == STATUS_OK ||
	    trimmed.status == STATUS_UNSUPPORTED)
		return STATUS_OK;
	return error_set(err, trimmed.status, "%s", trimmed.message);
}
