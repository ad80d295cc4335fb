#include "kernels/memory/chase.h"

#include "device/host/host_kernel.h"

static enum status chase_run(struct stream *stream, const void *arguments, struct error *err)
{
	const struct chase_arguments *a = arguments;
	void *at = *a->cursor;

	(void)stream;
	(void)err;
	for (uint64_t i = 0; i < a->hops; i++)
		at = *(void *volatile *)at;
	*a->cursor = at;
	return STATUS_OK;
}
HOST_KERNEL(chase)
