/*
 * The host's yardstick: fixed pieces of work that no GPU has a part in, timed before and after the
 * cases of each launch. Two visits whose host-bound figures differ by as much as these do differ by
 * the state of the host (clocks, neighbours on a shared machine, mitigations), not by what was
 * measured.
 *
 *	host.multiply    one of a chain of dependent integer multiplications
 *	host.call        a system call that does nothing
 *	host.page_fault  the first touch of a fresh page of 4 KiB
 *	host.wake_up     from a write into a pipe until the thread that waits for it has read
 *
 * A few milliseconds in all, half of them before and half after.
 *
 * Adding a piece: a function, its line in yardstick_take() and its name.
 */
#ifndef GPUPROOF_MEASURE_YARDSTICK_H
#define GPUPROOF_MEASURE_YARDSTICK_H

#include "result/result.h"

#define YARDSTICK_QUANTITIES 4
#define YARDSTICK_SAMPLES 15 /* samples per call */

struct yardstick {
	double samples[YARDSTICK_QUANTITIES][2 * YARDSTICK_SAMPLES]; /* seconds */
	size_t counts[YARDSTICK_QUANTITIES];
};

/*
 * Adds YARDSTICK_SAMPLES samples of each quantity, or nothing if there is no room. Starts and joins
 * a thread. Quantities whose system calls fail (pages, a pipe, a thread) get no samples.
 */
void yardstick_take(struct yardstick *yardstick);

/* `rounds` multiplications and additions modulo 2^64 that a compiler cannot skip. */
uint64_t yardstick_multiply(uint64_t x, unsigned rounds);

/*
 * Stores medians with their intervals in result->yardstick, replacing its content; leaves out
 * quantities without samples.
 */
void yardstick_store(const struct yardstick *yardstick, struct result *result);

#endif
