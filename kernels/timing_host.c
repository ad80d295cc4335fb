#include "kernels/timing.h"

#include <string.h>

#include "base/clock.h"
#include "device/host/host_kernel.h"

static enum status spin_run(struct stream *stream, const void *arguments, struct error *err)
{
	const struct spin_arguments *a = arguments;
	double end = clock_seconds() + a->seconds;

	(void)stream;
	(void)err;
	while (clock_seconds() < end)
		;
	return STATUS_OK;
}
HOST_KERNEL(spin)

static enum status empty_run(struct stream *stream, const void *arguments, struct error *err)
{
	const struct empty_arguments *a = arguments;

	(void)stream;
	(void)err;
	if (a->counter)
		++*a->counter;
	return STATUS_OK;
}
HOST_KERNEL(empty)

#define FLUSH_GRAIN (256u << 10)

static void timing_host_flush_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct flush_cache_arguments *a = context;

	memset((char *)a->scratch + begin, (int)part + 1, end - begin);
}

static enum status flush_cache_run(struct stream *stream, const void *arguments, struct error *err)
{
	struct flush_cache_arguments a = *(const struct flush_cache_arguments *)arguments;

	(void)err;
	host_stream_parallel(stream, a.bytes, FLUSH_GRAIN, timing_host_flush_slice, &a);
	return STATUS_OK;
}
HOST_KERNEL(flush_cache)
