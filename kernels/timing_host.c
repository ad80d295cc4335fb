#include "kernels/timing.h"

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
