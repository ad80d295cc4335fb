/*
 * Time to create a tensor of constants on the device. Methods:
 *   device  a kernel or the device's memset writes it
 *   copy    the CPU writes pageable memory, which is copied
 *   pinned  the CPU writes page-locked memory, which is copied
 * All memory is allocated before: only writing and copying are timed, up to the end of the copy.
 */
#include <math.h>
#include <string.h>

#include "suites/alloc/alloc.h"
#include "suites/shared/buffers.h"

#define BYTE 0x5a
#define OTHER_BYTE 0xa5

struct creation {
	struct stream *stream;
	struct buffer device, host;
	enum alloc_creation method;
};

static enum status launch_create(void *state, unsigned batch, struct error *err)
{
	struct creation *c = state;
	size_t bytes = c->device.bytes;

	(void)batch; /* max_batch is 1 */
	if (c->method == CREATION_DEVICE)
		backend_memory_set(c->stream, c->device.memory, BYTE, bytes, err);
	else
		backend_copy(c->stream, c->device.memory, memset(c->host.memory, BYTE, bytes),
			     bytes, err);
	return err->status == STATUS_OK ? backend_stream_synchronize(c->stream, err) : err->status;
}

static enum status creation_measure(struct run *run, struct creation *c, struct error *err)
{
	struct workload w = { .state = c,
			      .launch = launch_create,
			      .clock = CLOCK_HOST,
			      .max_batch = 1,
			      .no_gate = true };
	const struct series *time;

	if (run_sample(run, &w, "alloc.create", &time, err) != STATUS_OK)
		return err->status;
	run_duration(run, "alloc.create", time);
	run_rate(run, "alloc.create_rate", (double)c->device.bytes, time);
	return STATUS_OK;
}

/* Repeats it over other contents. */
static enum status creation_verify(struct creation *c, struct error *err)
{
	if (backend_memory_set(c->stream, c->device.memory, OTHER_BYTE, c->device.bytes, err) !=
		    STATUS_OK ||
	    backend_stream_synchronize(c->stream, err) != STATUS_OK ||
	    launch_create(c, 1, err) != STATUS_OK)
		return err->status;
	return buffer_check_byte(&c->device, c->stream, BYTE, err);
}

enum status alloc_create(struct run *run, struct error *err)
{
	struct creation c = { .method = (enum alloc_creation)case_integer(run->c, "creations") };
	enum allocator from = c.method == CREATION_PINNED ? ALLOCATOR_PINNED : ALLOCATOR_PAGEABLE;
	size_t bytes = (size_t)case_integer(run->c, "sizes");

	if (backend_stream_create(run->devices[0], false, &c.stream, err) == STATUS_OK &&
	    buffer_alloc(&c.device, run->devices[0], ALLOCATOR_DEVICE, bytes, err) == STATUS_OK &&
	    (c.method == CREATION_DEVICE ||
	     buffer_alloc(&c.host, run->devices[0], from, bytes, err) == STATUS_OK) &&
	    creation_measure(run, &c, err) == STATUS_OK && creation_verify(&c, err) == STATUS_OK)
		run_verified(run, "every byte read", NAN, NAN);
	buffer_free(&c.host);
	buffer_free(&c.device);
	backend_stream_destroy(c.stream);
	return err->status;
}
