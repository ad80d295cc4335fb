/*
 * Cold samples: fills a device's last-level cache with other data before each sample. What it
 * leaves there is written back while the sample runs, so a cold figure is a little lower than
 * memory that was never touched would give.
 */
#ifndef GPUPROOF_SUITES_SHARED_CACHE_H
#define GPUPROOF_SUITES_SHARED_CACHE_H

#include "suites/shared/buffers.h"

struct cache_flush {
	struct stream *stream;
	struct buffer scratch;
};

/*
 * Bytes that `info` can keep in its last-level cache: a working set that must come from memory has
 * twice the size. Of devices made of host memory never more than 64 MiB, whatever the machine says
 * it has.
 */
uint64_t cache_reached_bytes(const struct device_info *info);
/* Device memory that cache_flush_open() takes. */
uint64_t cache_flush_bytes(const struct device_info *info);
/*
 * Flushes run on `stream`, in front of what is timed there. Unsupported where the size of the cache
 * is unknown.
 */
enum status cache_flush_open(struct cache_flush *flush, struct stream *stream, struct error *err);
/* Enqueues one flush; for a workload's prepare(). */
enum status cache_flush(const struct cache_flush *flush, struct error *err);
/* Does nothing for a zeroed or failed one. */
void cache_flush_close(struct cache_flush *flush);

#endif
