/*
 * Memory that the ranks of a communicator share, whatever their devices: POSIX shared memory under
 * a random name, made by the first rank that arrives. Unlinked as soon as all have attached, so
 * that nothing remains when ranks die.
 */
#ifndef GPUPROOF_DEVICE_RANKS_SHARED_MEMORY_H
#define GPUPROOF_DEVICE_RANKS_SHARED_MEMORY_H

#include <stddef.h>

#include "base/error.h"

/* "/gpuproof-<32 hexadecimal digits>" */
enum status shared_memory_name(char *out, size_t size, struct error *err);

/*
 * Maps the segment, all zeros when it is new. Its space is claimed now: a full /dev/shm would
 * otherwise kill a rank with SIGBUS in the middle of a copy. `use` says what for, in the message of
 * STATUS_NO_MEMORY.
 */
enum status shared_memory_map(const char *name, size_t bytes, const char *use, void **out,
			      struct error *err);
/* NULL is allowed. */
void shared_memory_unmap(void *memory, size_t bytes);
/* Any rank may call this; the first call unlinks. */
void shared_memory_unlink(const char *name);

#endif
