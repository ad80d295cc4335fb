#include "kernels/memory/copy.h"

#include <string.h>

#include "device/host/host_kernel.h"

/* One core copies smaller pieces faster than a second one wakes up. */
#define GRAIN_BYTES (256u << 10)

static void copy_host_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct copy_arguments *a = context;

	(void)part;
	memcpy((char *)a->to + begin, (const char *)a->from + begin, end - begin);
	if (a->back_to)
		memcpy((char *)a->back_to + begin, (const char *)a->back_from + begin, end - begin);
}

static enum status copy_run(struct stream *stream, const void *arguments, struct error *err)
{
	struct copy_arguments a = *(const struct copy_arguments *)arguments;

	(void)err;
	for (uint64_t i = 0; i < a.count; i++)
		host_stream_parallel(stream, a.bytes, GRAIN_BYTES, copy_host_slice, &a);
	return STATUS_OK;
}
HOST_KERNEL(copy)
