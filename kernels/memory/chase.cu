/* Pointer chase with one thread: see chase.h. */
#include "kernels/memory/chase.h"

#include "device/cuda/cuda_kernel.h"

/*
 * One block per multiprocessor; only one block works. Loads are cached in L2 only, which does not
 * cache peer and host memory.
 */
static __global__ void chase(uint64_t *cursor, uint64_t hops, unsigned turn)
{
	uint64_t at;

	if (blockIdx.x != turn)
		return;
	at = *cursor;
#pragma unroll 16
	for (uint64_t i = 0; i < hops; i++)
		asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(at)::"memory");
	*cursor = at;
}

extern "C" enum status kernel_cuda_chase(struct stream *stream, const void *arguments,
					 struct error *err)
{
	const struct chase_arguments *a = (const struct chase_arguments *)arguments;
	unsigned blocks = (unsigned)cuda_stream_multiprocessors(stream);

	chase<<<blocks, 1, 0, cuda_stream_handle(stream)>>>((uint64_t *)a->cursor, a->hops,
							    (unsigned)(a->turn % blocks));
	return cuda_device_check_launch("chase", err);
}
