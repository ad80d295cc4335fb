/*
 * Memory that the ranks of a communicator share, whatever their devices: an object without a name
 * in the file system (memfd), so that nothing remains when ranks are killed at any moment. Another
 * rank opens it through /proc/<process>/fd of the process that made it, with the rights of the same
 * user.
 */
#ifndef GPUPROOF_DEVICE_RANKS_SHARED_MEMORY_H
#define GPUPROOF_DEVICE_RANKS_SHARED_MEMORY_H

#include <stddef.h>

#include "base/error.h"

/*
 * Makes an empty object. `out`: how ranks find it, "/proc/<process>/fd/<number>:<random name>". The
 * process keeps it until shared_memory_attached(), and not more than 16.
 */
enum status shared_memory_create(char *out, size_t size, struct error *err);

/*
 * Maps the object, all zeros when it is new. Its space is claimed now: too little memory would
 * otherwise kill a rank with SIGBUS in the middle of a copy. `use` says what for, in the message of
 * STATUS_NO_MEMORY.
 */
enum status shared_memory_map(const char *name, size_t bytes, const char *use, void **out,
			      struct error *err);
/* Accepts NULL. */
void shared_memory_unmap(void *memory, size_t bytes);
/* No further rank will map it: the process that made it closes it, in others this does nothing. */
void shared_memory_attached(const char *name);

#endif
