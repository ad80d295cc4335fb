/*
 * A monotonic counter that threads, or processes through shared memory, can wait for. All waits of
 * the host backend use it: idle streams, synchronise, events, gates, collectives.
 *
 * A waiter spins briefly, yielding its core between polls, then sleeps: a busy stream is followed
 * within a microsecond, an idle one uses no CPU time. Values are 32 bits and wrap around;
 * comparisons allow for it.
 */
#ifndef GPUPROOF_HOST_COUNTER_H
#define GPUPROOF_HOST_COUNTER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct counter {
	_Atomic uint32_t value; /* the futex word */
	_Atomic uint32_t sleepers;
};

void counter_add(struct counter *counter, uint32_t amount);
/* Raises it to `value`; does nothing if it is already there. */
void counter_raise(struct counter *counter, uint32_t value);
bool counter_reached(const struct counter *counter, uint32_t value);
/*
 * Waits until it has reached `value`, at most until `deadline` (clock_seconds(); INFINITY: no
 * limit). False if the deadline passed first. Writes before the raise are visible afterwards.
 */
bool counter_wait(struct counter *counter, uint32_t value, double deadline);

#endif
