#include "suites/shared/cache.h"

#include "kernels/timing.h"

/*
 * Last-level cache of the CPU partition. A virtual machine shows the caches of a whole socket, 1
 * GiB and more, but its cores reach only those of their dies: 16 to 96 MiB.
 */
#define HOST_CACHE_MOST (64u << 20)

uint64_t cache_reached_bytes(const struct device_info *info)
{
	bool on_host = info->capabilities & DEVICE_SHARES_HOST_MEMORY;

	return on_host && info->l2_bytes > HOST_CACHE_MOST ? HOST_CACHE_MOST : info->l2_bytes;
}

uint64_t cache_flush_bytes(const struct device_info *info)
{
	return 2 * cache_reached_bytes(info);
}

enum status cache_flush_open(struct cache_flush *flush, struct stream *stream, struct error *err)
{
	struct device *device = stream->device;
	uint64_t bytes = cache_flush_bytes(&device->info);

	*flush = (struct cache_flush){ .stream = stream };
	if (bytes == 0)
		return error_set(err, STATUS_UNSUPPORTED,
				 "unknown size of the last-level cache of %s", device->info.id);
	return buffer_alloc(&flush->scratch, device, ALLOCATOR_DEVICE, bytes, err);
}

enum status cache_flush(const struct cache_flush *flush, struct error *err)
{
	struct flush_cache_arguments arguments = { flush->scratch.memory, flush->scratch.bytes };

	return backend_launch(flush->stream, "flush_cache", &arguments, err);
}

void cache_flush_close(struct cache_flush *flush)
{
	buffer_free(&flush->scratch);
}
