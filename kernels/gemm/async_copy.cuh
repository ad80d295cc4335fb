/*
 * cp.async copies from global to shared memory (compute capability 8.0 and newer); plain loads and
 * stores before.
 */
#ifndef GPUPROOF_KERNELS_ASYNC_COPY_CUH
#define GPUPROOF_KERNELS_ASYNC_COPY_CUH

#include <stdint.h>

#include "kernels/launch/compat.h"

/* Copies `BYTES` (4 or 16) of `from`, or zeros unless `in`. */
template <int BYTES>
static __device__ __forceinline__ void copy_async(void *to, const void *from, bool in)
{
#if CODE_HAS_ASYNC_COPY
	unsigned address = (unsigned)__cvta_generic_to_shared(to);
	int bytes = in ? BYTES : 0;

	if (BYTES == 16)
		asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address),
			     "l"(from), "r"(bytes)
			     : "memory");
	else
		asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(address),
			     "l"(from), "r"(bytes)
			     : "memory");
#else
	if (BYTES == 16)
		*(uint4 *)to = in ? *(const uint4 *)from : make_uint4(0, 0, 0, 0);
	else
		*(unsigned *)to = in ? *(const unsigned *)from : 0;
#endif
}

/* Copies `BYTES` (4 or 16) of `from`. */
template <int BYTES> static __device__ __forceinline__ void copy_async(void *to, const void *from)
{
#if CODE_HAS_ASYNC_COPY
	unsigned address = (unsigned)__cvta_generic_to_shared(to);

	if (BYTES == 16)
		asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from)
			     : "memory");
	else
		asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(address), "l"(from)
			     : "memory");
#else
	copy_async<BYTES>(to, from, true);
#endif
}

/* Ends a group of copies. */
static __device__ __forceinline__ void async_copy_commit(void)
{
#if CODE_HAS_ASYNC_COPY
	asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/* Waits until at most `PENDING` groups are in flight. */
template <int PENDING> static __device__ __forceinline__ void async_copy_wait(void)
{
#if CODE_HAS_ASYNC_COPY
	asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
#endif
}

#endif
