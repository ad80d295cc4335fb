/*
 * Buffers of suites: memory allocated by the backend, filled with generated data, poisoned, and
 * checked.
 *
 * A buffer contains FILL_BITS data (kernels/memory/fill.h) from byte 0, so a copy that preserves
 * its offset is checked with the seed alone. The CPU fills and checks memory that it reads fast, so
 * that a second use of the copy path cannot mask its fault; the device checks device and
 * write-combined memory in place.
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
/* Does nothing for a zeroed buffer, or after a failed allocation. */
void buffer_free(struct buffer *buffer);

/*
 * Fills the buffer with generated data. `stream` belongs to the buffer's device. Waits until done.
 */
enum status buffer_fill(const struct buffer *buffer, struct stream *stream, uint64_t seed,
			struct error *err);
/*
 * Fills the buffer with 0xFF: not generated data, and NaN in every floating-point format. Waits
 * until done.
 */
enum status buffer_poison(const struct buffer *buffer, struct stream *stream, struct error *err);
/* Device memory that buffer_check() allocates. */
#define BUFFER_CHECK_BYTES sizeof(struct fill_mismatch)
/*
 * Compares bytes offset to offset + bytes - 1 with the data of buffer_fill(). `offset` is a
 * multiple of 16. STATUS_MISMATCH names the first wrong word with its expected and actual value,
 * and the number of wrong words.
 */
enum status buffer_check(const struct buffer *buffer, struct stream *stream, size_t offset,
			 size_t bytes, uint64_t seed, struct error *err);
/*
 * As buffer_check(), with BUFFER_CHECK_BYTES of device memory from the caller, for frequent checks:
 * `record`, on the buffer's device, is used only if buffer_check_needs_record().
 */
bool buffer_check_needs_record(const struct buffer *buffer);
enum status buffer_check_by(const struct buffer *buffer, const struct buffer *record,
			    struct stream *stream, size_t offset, size_t bytes, uint64_t seed,
			    struct error *err);

/*
 * Launches a kernel whose `arguments` name `record`, device memory for its findings: copies the
 * `bytes` at `found` there before, and back after it. Waits, even after a failure.
 */
enum status buffer_launch_check(struct stream *stream, const char *kernel, const void *arguments,
				void *record, void *found, size_t bytes, struct error *err);

/*
 * Compares the whole buffer with one byte, as set by backend_memory_set(). Device memory is copied
 * to the host in pieces. STATUS_MISMATCH names the first wrong byte and the number of wrong bytes.
 */
enum status buffer_check_byte(const struct buffer *buffer, struct stream *stream,
			      unsigned char byte, struct error *err);

/*
 * Runs the kernel "difference" (kernels/comparison.h) and sums its parts, DIFFERENCE_PARTS of them
 * at a->parts. Waits until done.
 */
struct difference_arguments;
struct difference_part;
enum status buffer_difference(struct stream *stream, const struct difference_arguments *a,
			      struct difference_part *sum, struct error *err);

/*
 * Number of operand sets that a timed loop rotates through, so that none is still in the L2 cache
 * when it is used again: enough for twice `cache_bytes` in total, at least 1 and at most `most`.
 */
size_t buffer_rotation(uint64_t set_bytes, uint64_t cache_bytes, size_t most);

/*
 * Bytes that `info` can keep in its last-level cache: a working set that must come from memory has
 * twice the size. For host devices at most 64 MiB, whatever the machine reports.
 */
uint64_t buffer_cache_bytes(const struct device_info *info);

#endif
