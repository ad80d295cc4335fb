/* Copies and fills in the host backend. */
#include <string.h>

#include "device/host/host_kernel.h"

/* One core copies smaller pieces faster than a second one wakes up. */
#define GRAIN_BYTES (512u << 10)

/* A copy or a fill of `count` bytes or rows. Each part of the pool handles a slice. */
struct copy_arguments {
	host_slice_fn *slice;
	uint64_t count, grain;
	char *to;
	const char *from;
	size_t to_stride, from_stride, row_bytes; /* of rows */
	int byte;                                 /* of a fill */
};

static enum status host_copy_run(struct stream *stream, const void *arguments, struct error *err)
{
	struct copy_arguments copy = *(const struct copy_arguments *)arguments;

	(void)err;
	host_stream_parallel(stream, copy.count, copy.grain, copy.slice, &copy);
	return STATUS_OK;
}

static enum status host_copy_enqueue(struct stream *stream, struct copy_arguments copy,
				     struct error *err)
{
	if (copy.count == 0)
		return STATUS_OK;
	return host_stream_enqueue(stream, host_copy_run, &copy, sizeof(copy), err);
}

static void host_copy_memory_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct copy_arguments *copy = context;

	(void)part;
	memcpy(copy->to + begin, copy->from + begin, end - begin);
}

enum status host_copy(struct stream *stream, void *to, const void *from, size_t bytes,
		      struct error *err)
{
	return host_copy_enqueue(stream,
				 (struct copy_arguments){ .slice = host_copy_memory_slice,
							  .count = to == from ? 0 : bytes,
							  .grain = GRAIN_BYTES,
							  .to = to,
							  .from = from },
				 err);
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

static void host_copy_rows_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct copy_arguments *r = context;

	(void)part;
	for (uint64_t row = begin; row < end; row++)
		memcpy(r->to + row * r->to_stride, r->from + row * r->from_stride, r->row_bytes);
}

enum status host_copy_rows(struct stream *stream, void *to, size_t to_stride, const void *from,
			   size_t from_stride, size_t row_bytes, size_t rows, struct error *err)
{
	return host_copy_enqueue(stream,
				 (struct copy_arguments){
					 .slice = host_copy_rows_slice,
					 .count = row_bytes ? rows : 0,
					 .grain = row_bytes ? GRAIN_BYTES / row_bytes + 1 : 1,
					 .to = to,
					 .from = from,
					 .to_stride = to_stride,
					 .from_stride = from_stride,
					 .row_bytes = row_bytes },
				 err);
}

static void host_copy_set_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct copy_arguments *set = context;

	(void)part;
	memset(set->to + begin, set->byte, end - begin);
}

enum status host_memory_set(struct stream *stream, void *memory, int byte, size_t bytes,
			    struct error *err)
{
	return host_copy_enqueue(stream,
				 (struct copy_arguments){ .slice = host_copy_set_slice,
							  .count = bytes,
							  .grain = GRAIN_BYTES,
							  .to = memory,
							  .byte = byte },
				 err);
}
