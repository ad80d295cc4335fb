/* Copies and fills in the host backend. */
#include <string.h>

#include "device/host/host_kernel.h"

/* One core copies smaller pieces faster than a second one wakes up. */
#define GRAIN_BYTES (512u << 10)

struct copy_arguments {
	char *to;
	const char *from;
	size_t bytes;
};

static void host_copy_memory_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct copy_arguments *copy = context;

	(void)part;
	memcpy(copy->to + begin, copy->from + begin, end - begin);
}

static enum status host_copy_run(struct stream *stream, const void *arguments, struct error *err)
{
	struct copy_arguments copy = *(const struct copy_arguments *)arguments;

	(void)err;
	if (copy.to != copy.from)
		host_stream_parallel(stream, copy.bytes, GRAIN_BYTES, host_copy_memory_slice,
				     &copy);
	return STATUS_OK;
}

enum status host_copy(struct stream *stream, void *to, const void *from, size_t bytes,
		      struct error *err)
{
	struct copy_arguments copy = { to, from, bytes };

	if (bytes == 0)
		return STATUS_OK;
	return host_stream_enqueue(stream, host_copy_run, &copy, sizeof(copy), err);
}

/* Every host device reaches all memory; the copy runs on the cores of the stream's device. */
enum status host_copy_peer(struct stream *stream, void *to, struct device *to_device,
			   const void *from, struct device *from_device, size_t bytes,
			   struct error *err)
{
	(void)to_device;
	(void)from_device;
	return host_copy(stream, to, from, bytes, err);
}

struct rows_arguments {
	char *to;
	const char *from;
	size_t to_stride, from_stride, row_bytes, rows;
};

static void host_copy_rows_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct rows_arguments *r = context;

	(void)part;
	for (uint64_t row = begin; row < end; row++)
		memcpy(r->to + row * r->to_stride, r->from + row * r->from_stride, r->row_bytes);
}

static enum status host_copy_rows_run(struct stream *stream, const void *arguments,
				      struct error *err)
{
	struct rows_arguments r = *(const struct rows_arguments *)arguments;

	(void)err;
	host_stream_parallel(stream, r.rows, GRAIN_BYTES / r.row_bytes + 1, host_copy_rows_slice,
			     &r);
	return STATUS_OK;
}

enum status host_copy_rows(struct stream *stream, void *to, size_t to_stride, const void *from,
			   size_t from_stride, size_t row_bytes, size_t rows, struct error *err)
{
	struct rows_arguments r = { to, from, to_stride, from_stride, row_bytes, rows };

	if (row_bytes == 0 || rows == 0)
		return STATUS_OK;
	return host_stream_enqueue(stream, host_copy_rows_run, &r, sizeof(r), err);
}

struct set_arguments {
	char *memory;
	int byte;
	size_t bytes;
};

static void host_copy_set_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct set_arguments *set = context;

	(void)part;
	memset(set->memory + begin, set->byte, end - begin);
}

static enum status host_copy_set_run(struct stream *stream, const void *arguments,
				     struct error *err)
{
	struct set_arguments set = *(const struct set_arguments *)arguments;

	(void)err;
	host_stream_parallel(stream, set.bytes, GRAIN_BYTES, host_copy_set_slice, &set);
	return STATUS_OK;
}

enum status host_memory_set(struct stream *stream, void *memory, int byte, size_t bytes,
			    struct error *err)
{
	struct set_arguments set = { memory, byte, bytes };

	if (bytes == 0)
		return STATUS_OK;
	return host_stream_enqueue(stream, host_copy_set_run, &set, sizeof(set), err);
}
