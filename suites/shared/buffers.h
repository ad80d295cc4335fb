/*
 * Memory that suites measure with: allocated by the backend, filled with generated data, poisoned,
 * checked.
 *
 * Data of a buffer is FILL_BITS (kernels/memory/fill.h) from byte 0, so a copy that keeps its
 * offset is checked with the seed alone. Memory that the CPU reads fast is filled and checked by
 * the CPU, so that a fault of the copy path cannot be masked by a second use of it; device and
 * write-combined memory is checked by the device in place.
 */
#ifndef GPUPROOF_SUITES_SHARED_BUFFERS_H
#define GPUPROOF_SUITES_SHARED_BUFFERS_H

#include "device/backend.h"
#include "kernels/memory/fill.h"

struct buffer {
	struct device *device;
	enum allocator allocator;
	void *memory; /* NULL: not allocated */
	size_t bytes;
};

/* Errors name the allocator and the size. */
enum status buffer_alloc(struct buffer *buffer, struct device *device, enum allocator allocator,
			 size_t bytes, struct error *err);
/* Does nothing for a zeroed or failed buffer. */
void buffer_free(struct buffer *buffer);

/*
 * Generated data over the whole buffer. `stream` belongs to the buffer's device. Returns when done.
 */
enum status buffer_fill(const struct buffer *buffer, struct stream *stream, uint64_t seed,
			struct error *err);
/*
 * 0xFF over the whole buffer: no generated data, and NaN in every floating-point format. Returns
 * when done.
 */
enum status buffer_poison(const struct buffer *buffer, struct stream *stream, struct error *err);
/* Device memory that buffer_check() takes for itself. */
#define BUFFER_CHECK_BYTES sizeof(struct fill_mismatch)
/*
 * Compares bytes offset to offset + bytes - 1 with what buffer_fill() puts there. `offset` is a
 * multiple of 16. STATUS_MISMATCH names the first wrong word, what was expected and what is there,
 * and how many are wrong.
 */
enum status buffer_check(const struct buffer *buffer, struct stream *stream, size_t offset,
			 size_t bytes, uint64_t seed, struct error *err);
/*
 * The same with BUFFER_CHECK_BYTES of device memory from the caller, for who checks often:
 * `record`, of the buffer's device, is looked at only where buffer_check_needs_record().
 */
bool buffer_check_needs_record(const struct buffer *buffer);
enum status buffer_check_by(const struct buffer *buffer, const struct buffer *record,
			    struct stream *stream, size_t offset, size_t bytes, uint64_t seed,
			    struct error *err);

/*
 * Compares the whole buffer with one byte, as backend_memory_set() leaves it. Device memory is
 * copied to the host in pieces. STATUS_MISMATCH names the first wrong byte and how many are wrong.
 */
enum status buffer_check_byte(const struct buffer *buffer, struct stream *stream,
			      unsigned char byte, struct error *err);

/*
 * Sets of operands through which a timed loop rotates, so that none is still in the last-level
 * cache when its turn comes: enough that they take twice `cache_bytes` together, at least 1 and at
 * most `most`.
 */
size_t buffer_rotation(uint64_t set_bytes, uint64_t cache_bytes, size_t most);

#endif
