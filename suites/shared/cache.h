/*
 * Cold samples: fills a device's L2 cache with other data before each sample. This data is written
 * back during the sample, so a cold value is slightly lower than for memory that was never
 * accessed.
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
 * twice the size. For host devices at most 64 MiB, whatever the machine reports.
 */
uint64_t cache_reached_bytes(const struct device_info *info);
/* Device memory that cache_flush_open() allocates. */
uint64_t cache_flush_bytes(const struct device_info *info);
/*
 * Flushes run on `stream`, before the timed work. Unsupported if the size of the cache is unknown.
 */
enum status cache_flush_open(struct cache_flush *flush, struct stream *stream, struct error *err);
/* Enqueues one flush; for a workload's prepare(). */
enum status cache_flush(const struct cache_flush *flush, struct error *err);
/* Does nothing for a zeroed flush, or after a failure. */
void cache_flush_close(struct cache_flush *flush);

#endif
