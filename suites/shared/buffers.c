#include "suites/shared/buffers.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include "base/parallel.h"
#include "base/units.h"
#include "kernels/comparison.h"
#include "kernels/generator.h"

/*
 * Last-level cache of the CPU partition. A virtual machine shows the caches of a whole socket, 1
 * GiB and more, but its cores reach only those of their dies: 16 to 96 MiB.
 */
#define HOST_CACHE_MOST (64u << 20)

uint64_t buffer_cache_bytes(const struct device_info *info)
{
	bool on_host = info->capabilities & DEVICE_SHARES_HOST_MEMORY;

	return on_host && info->l2_bytes > HOST_CACHE_MOST ? HOST_CACHE_MOST : info->l2_bytes;
}

/* With fewer words another thread costs more than it saves. */
#define WORDS_PER_THREAD (1 << 17)

enum status buffer_alloc(struct buffer *buffer, struct device *device, enum allocator allocator,
			 size_t bytes, struct error *err)
{
	char size[32];

	*buffer = (struct buffer){ .device = device, .allocator = allocator, .bytes = bytes };
	if (backend_memory_alloc(device, allocator, bytes, NULL, &buffer->memory, err) == STATUS_OK)
		return STATUS_OK;
	buffer->memory = NULL;
	return error_prefix(err, "%s of %s memory on %s", units_size(bytes, size, sizeof(size)),
			    allocator_name(allocator), device->info.id);
}

void buffer_free(struct buffer *buffer)
{
	if (buffer->memory)
		backend_memory_free(buffer->device, buffer->allocator, buffer->memory,
				    buffer->bytes, NULL, NULL);
	buffer->memory = NULL;
}

/* The CPU writes write-combined memory fast, but reads it at a few hundred MB/s. */
static bool buffer_cpu_writes(const struct buffer *b)
{
	return !allocator_on_device(b->allocator);
}

static bool buffer_cpu_reads(const struct buffer *b)
{
	return buffer_cpu_writes(b) && b->allocator != ALLOCATOR_WRITE_COMBINED;
}

struct host_data {
	unsigned char *memory;
	size_t bytes; /* the last word may be partial */
	uint64_t first_word, seed;
	struct fill_mismatch found;
	pthread_mutex_t lock;
};

static size_t buffer_word_bytes(const struct host_data *d, size_t word)
{
	return d->bytes - 8 * word < 8 ? d->bytes - 8 * word : 8;
}

VECTORISED
static void buffer_fill_whole(unsigned char *memory, uint64_t first, size_t count, uint64_t seed)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t word = generator_bits(seed, first + i);

		memcpy(memory + 8 * i, &word, 8);
	}
}

static void buffer_fill_words(void *context, size_t begin, size_t end)
{
	struct host_data *d = context;
	size_t whole = d->bytes / 8, last = end < whole ? end : whole;

	buffer_fill_whole(d->memory + 8 * begin, d->first_word + begin, last - begin, d->seed);
	if (end > whole) {
		uint64_t word = generator_bits(d->seed, d->first_word + whole);

		memcpy(d->memory + 8 * whole, &word, buffer_word_bytes(d, whole));
	}
}

static uint64_t buffer_expected_word(const struct host_data *d, size_t i)
{
	uint64_t word = generator_bits(d->seed, d->first_word + i);
	size_t bytes = buffer_word_bytes(d, i);

	return bytes == 8 ? word : word & ((UINT64_C(1) << 8 * bytes) - 1);
}

static uint64_t buffer_word_at(const struct host_data *d, size_t i)
{
	uint64_t word = 0;

	memcpy(&word, d->memory + 8 * i, buffer_word_bytes(d, i));
	return word;
}

/* The fast test, which nearly always finds nothing. */
VECTORISED
static uint64_t buffers_pattern_differences(const unsigned char *memory, uint64_t first,
					    size_t count, uint64_t seed)
{
	uint64_t different = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t word;

		memcpy(&word, memory + 8 * i, 8);
		different |= word ^ generator_bits(seed, first + i);
	}
	return different;
}

static void buffer_record_wrong_words(struct host_data *d, size_t begin, size_t end)
{
	uint64_t wrong = 0;
	size_t first = 0;

	for (size_t i = begin; i < end; i++)
		if (buffer_word_at(d, i) != buffer_expected_word(d, i) && wrong++ == 0)
			first = i;
	if (wrong == 0)
		return;
	pthread_mutex_lock(&d->lock);
	d->found.count += wrong;
	if (8 * first < d->found.index) {
		d->found.index = 8 * first;
		d->found.expected = buffer_expected_word(d, first);
		d->found.got = buffer_word_at(d, first);
	}
	pthread_mutex_unlock(&d->lock);
}

static void buffer_check_words(void *context, size_t begin, size_t end)
{
	struct host_data *d = context;
	size_t whole = d->bytes / 8, last = end < whole ? end : whole;

	if (end > whole || buffers_pattern_differences(d->memory + 8 * begin, d->first_word + begin,
						       last - begin, d->seed))
		buffer_record_wrong_words(d, begin, end);
}

static void buffer_on_host(const struct buffer *b, size_t offset, size_t bytes, uint64_t seed,
			   parallel_fn *fn, struct fill_mismatch *found)
{
	struct host_data d = { .memory = (unsigned char *)b->memory + offset,
			       .bytes = bytes,
			       .first_word = offset / 8,
			       .seed = seed,
			       .found = *found,
			       .lock = PTHREAD_MUTEX_INITIALIZER };

	parallel_for((bytes + 7) / 8, WORDS_PER_THREAD, fn, &d);
	*found = d.found;
}

enum status buffer_launch_check(struct stream *stream, const char *kernel, const void *arguments,
				void *record, void *found, size_t bytes, struct error *err)
{
	enum status status = backend_copy(stream, record, found, bytes, err);

	if (status == STATUS_OK)
		status = backend_launch(stream, kernel, arguments, err);
	if (status == STATUS_OK)
		status = backend_copy(stream, found, record, bytes, err);
	if (status == STATUS_OK)
		status = backend_stream_synchronize(stream, err);
	if (status != STATUS_OK)
		backend_stream_synchronize(stream, NULL); /* enqueued work still uses both */
	return status;
}

enum status buffer_fill(const struct buffer *b, struct stream *stream, uint64_t seed,
			struct error *err)
{
	struct fill_arguments arguments = {
		.memory = b->memory, .kind = FILL_BITS, .count = b->bytes, .seed = seed, .scale = 1
	};
	struct fill_mismatch unused = { 0, UINT64_MAX, 0, 0 };

	if (buffer_cpu_writes(b)) {
		buffer_on_host(b, 0, b->bytes, seed, buffer_fill_words, &unused);
		return STATUS_OK;
	}
	if (backend_launch(stream, "fill", &arguments, err) != STATUS_OK)
		return err->status;
	return backend_stream_synchronize(stream, err);
}

/* With fewer bytes another thread costs more than it saves. */
#define BYTES_PER_THREAD (8u << 20)

static void buffer_poison_bytes(void *context, size_t begin, size_t end)
{
	memset((char *)context + begin, 0xFF, end - begin);
}

enum status buffer_poison(const struct buffer *b, struct stream *stream, struct error *err)
{
	if (buffer_cpu_writes(b)) {
		parallel_for(b->bytes, BYTES_PER_THREAD, buffer_poison_bytes, b->memory);
		return STATUS_OK;
	}
	if (backend_memory_set(stream, b->memory, 0xFF, b->bytes, err) != STATUS_OK)
		return err->status;
	return backend_stream_synchronize(stream, err);
}

bool buffer_check_needs_record(const struct buffer *b)
{
	return !buffer_cpu_reads(b);
}

enum status buffer_check_by(const struct buffer *b, const struct buffer *record,
			    struct stream *stream, size_t offset, size_t bytes, uint64_t seed,
			    struct error *err)
{
	struct fill_mismatch found = { 0, UINT64_MAX, 0, 0 };
	struct check_fill_arguments arguments = { .memory = (const char *)b->memory + offset,
						  .bytes = bytes,
						  .first = offset,
						  .seed = seed,
						  .out = record->memory };
	enum status status = STATUS_OK;

	if (buffer_cpu_reads(b))
		buffer_on_host(b, offset, bytes, seed, buffer_check_words, &found);
	else
		status = buffer_launch_check(stream, "check_fill", &arguments, record->memory,
					     &found, sizeof(found), err);
	if (status != STATUS_OK || found.count == 0)
		return status;
	return error_set(err, STATUS_MISMATCH,
			 "wrong data at byte %" PRIu64 ": expected 0x%016" PRIx64
			 ", got 0x%016" PRIx64 " (%" PRIu64 " of %zu 8-byte words wrong)",
			 offset + found.index, found.expected, found.got, found.count,
			 (bytes + 7) / 8);
}

enum status buffer_check(const struct buffer *b, struct stream *stream, size_t offset, size_t bytes,
			 uint64_t seed, struct error *err)
{
	struct buffer record = { 0 };
	enum status status = STATUS_OK;

	if (buffer_check_needs_record(b))
		status =
			buffer_alloc(&record, b->device, ALLOCATOR_DEVICE, BUFFER_CHECK_BYTES, err);
	if (status == STATUS_OK)
		status = buffer_check_by(b, &record, stream, offset, bytes, seed, err);
	buffer_free(&record);
	return status;
}

/* Bytes that buffer_check_byte() copies to the host at once. */
#define PIECE_BYTES ((size_t)4 << 20)

struct byte_mismatch {
	size_t count, first; /* first: valid if count > 0 */
	unsigned char got;   /* there */
};

static void buffer_compare_bytes(const unsigned char *memory, size_t offset, size_t bytes,
				 unsigned char expected, struct byte_mismatch *found)
{
	for (size_t i = 0; i < bytes; i++)
		if (memory[i] != expected && found->count++ == 0) {
			found->first = offset + i;
			found->got = memory[i];
		}
}

enum status buffer_check_byte(const struct buffer *b, struct stream *stream, unsigned char byte,
			      struct error *err)
{
	struct byte_mismatch found = { 0 };
	struct buffer piece;

	if (buffer_cpu_reads(b)) {
		if (backend_stream_synchronize(stream, err) != STATUS_OK)
			return err->status;
		buffer_compare_bytes(b->memory, 0, b->bytes, byte, &found);
	} else {
		buffer_alloc(&piece, b->device, ALLOCATOR_PAGEABLE,
			     b->bytes < PIECE_BYTES ? b->bytes : PIECE_BYTES, err);
		for (size_t at = 0; at < b->bytes && err->status == STATUS_OK; at += piece.bytes) {
			size_t bytes = b->bytes - at < piece.bytes ? b->bytes - at : piece.bytes;

			backend_copy(stream, piece.memory, (const char *)b->memory + at, bytes,
				     err);
			if (backend_stream_synchronize(stream, err) == STATUS_OK)
				buffer_compare_bytes(piece.memory, at, bytes, byte, &found);
		}
		buffer_free(&piece);
		if (err->status != STATUS_OK)
			return err->status;
	}
	if (found.count == 0)
		return STATUS_OK;
	return error_set(err, STATUS_MISMATCH,
			 "wrong data at byte %zu: expected 0x%02x, got 0x%02x (%zu of %zu bytes "
			 "wrong)",
			 found.first, byte, found.got, found.count, b->bytes);
}

size_t buffer_rotation(uint64_t set_bytes, uint64_t cache_bytes, size_t most)
{
	uint64_t sets = set_bytes ? (2 * cache_bytes + set_bytes - 1) / set_bytes : 1;

	if (sets > most)
		sets = most;
	return sets ? (size_t)sets : 1;
}

enum status buffer_difference(struct stream *stream, const struct difference_arguments *a,
			      struct difference_part *sum, struct error *err)
{
	struct difference_part parts[DIFFERENCE_PARTS];

	*sum = (struct difference_part){ 0, 0 };
	if (backend_launch(stream, "difference", a, err) != STATUS_OK ||
	    backend_copy(stream, parts, a->parts, sizeof(parts), err) != STATUS_OK ||
	    backend_stream_synchronize(stream, err) != STATUS_OK)
		return err->status;
	for (int i = 0; i < DIFFERENCE_PARTS; i++) {
		sum->difference += parts[i].difference;
		sum->expected += parts[i].expected;
	}
	return STATUS_OK;
}
