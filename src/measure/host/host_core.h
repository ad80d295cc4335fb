/*
 * A core of the host at full speed, for what is timed on the host's clock. A core that shares its
 * arithmetic with another thread, of this machine or, unseen, of another virtual one, takes a third
 * longer for a call of a driver, for some 10 ms or for minutes. So the thread that times goes to
 * the fastest of its cores, and asks after each sample if that was still one.
 *
 * How fast a core is tells a chain of multiplications of 3 us, against the fastest that this
 * process has seen. Every call takes NULL and does nothing.
 */
#ifndef GPUPROOF_MEASURE_HOST_HOST_CORE_H
#define GPUPROOF_MEASURE_HOST_HOST_CORE_H

#include <stdbool.h>

struct host_core;

/*
 * Moves the calling thread to the fastest of the cores it may use, and no other: threads that it
 * starts before host_core_release() get this one core. NULL: the system does not let it.
 */
struct host_core *host_core_take(void);
/*
 * True if the core was at full speed since the call before. If not, or if the thread has just been
 * moved and its caches are cold, what was timed in between is no figure of a core at full speed;
 * the thread may now be on another core.
 */
bool host_core_was_fast(struct host_core *core);
/* The thread may use all the cores again that it could use before. */
void host_core_release(struct host_core *core);

/* Seconds of the chain on the current core; for tests to replace. */
extern double (*host_core_pace)(void);

#endif
