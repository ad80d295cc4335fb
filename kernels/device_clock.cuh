/* Device time for kernels that wait. */
#ifndef GPUPROOF_KERNELS_DEVICE_CLOCK_CUH
#define GPUPROOF_KERNELS_DEVICE_CLOCK_CUH

#include "kernels/launch/compat.h"

/*
 * Nanoseconds, independent of the core clock. The resolution is 32 ns to 1 us, depending on the
 * GPU.
 */
static __device__ __forceinline__ unsigned long long device_clock_ns(void)
{
	unsigned long long now;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
	return now;
}

/* Yields the multiprocessor while a thread polls; older GPUs lack this instruction. */
static __device__ __forceinline__ void device_clock_relax(void)
{
#if CODE_HAS_NANOSLEEP
	__nanosleep(100);
#endif
}

#endif
