/*
 * A counter that only rises and that threads, or processes through shared memory, can wait for. All
 * waiting of the host backend is built on it: an idle stream, a synchronise, an event, a gate, a
 * collective.
 *
 * A waiter spins shortly, giving its core away between looks, then sleeps: a busy stream is
 * followed within a microsecond, an idle one costs nothing. Values are 32 bits and wrap;
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
/* Raises it to `value`; does nothing when it is there already. */
void counter_raise(struct counter *counter, uint32_t value);
bool counter_reached(const struct counter *counter, uint32_t value);
/*
 * Waits until it has reached `value`, at most until `deadline` (clock_seconds(); INFINITY: for
 * ever). False when the deadline passed first. What happened before the raise is visible
 * afterwards.
 */
bool counter_wait(struct counter *counter, uint32_t value, double deadline);

#endif
