/*
 * A device whose communicators close only together, as those of NCCL do: a rank waits until all of its ranks have come,
 * though not for ever. Communicators of one size must be of one world.
 */
#ifndef GPUPROOF_TESTS_CLOSINGS_H
#define GPUPROOF_TESTS_CLOSINGS_H

#include "parallel_ranks.h"

#include <stdatomic.h>

#include "base/clock.h"

#define CLOSINGS_PATIENCE 2.0 /* seconds */

static struct closings {
	_Atomic int came[RANKS_MAX + 1]; /* by the communicator's size: ranks that closed one, in all */
	_Atomic int alone;		 /* closings that others did not join */
} *closings;
static const struct backend *closings_backend; /* the device's own */
static int closings_refusing = -1;		/* the rank that opens none, though the others do; -1: none */

static inline void closings_begin(void)
{
	closings = mmap(NULL, sizeof(*closings), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
}

static inline void closings_end(void)
{
	munmap(closings, sizeof(*closings));
}

static inline void closings_close(struct communicator *communicator)
{
	_Atomic int *came = &closings->came[communicator->size];
	int size = communicator->size, mine = communicator->abandoned ? 0 : atomic_fetch_add(came, 1) + 1;
	int all = (mine + size - 1) / size * size;
	double limit = clock_seconds() + CLOSINGS_PATIENCE;

	while (atomic_load(came) < all && clock_seconds() < limit)
		clock_sleep(1e-3);
	if (atomic_load(came) < all)
		atomic_fetch_add(&closings->alone, 1);
	closings_backend->communicator_close(communicator);
}

static inline enum status closings_open(struct device *device,
					const struct communicator_options *options,
					const struct communicator_id *id, int rank, int size,
					struct communicator **out, struct error *err)
{
	enum status status = closings_backend->communicator_open(device, options, id, rank, size,
								 out, err);

	if (status != STATUS_OK || rank != closings_refusing)
		return status;
	closings_backend->communicator_close(*out);
	*out = NULL;
	return error_set(err, STATUS_DEVICE, "it is out of memory");
}

/* In a rank: from here on its device is such a one. */
static inline void closings_watch(struct device *device)
{
	static struct backend watched;

	closings_backend = device->backend;
	watched = *device->backend;
	watched.communicator_close = closings_close;
	watched.communicator_open = closings_open;
	device->backend = &watched;
}

static inline void closings_unwatch(struct device *device)
{
	device->backend = closings_backend;
}

#endif
