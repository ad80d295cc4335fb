/* TMA (Tensor Memory Accelerator) copies and mbarriers, compute capability 9.0. */
#ifndef GPUPROOF_KERNELS_TMA_CUH
#define GPUPROOF_KERNELS_TMA_CUH

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdint.h>

#include "device/cuda/cuda_kernel.h"
#include "kernels/gemm/wgmma.cuh"

static __device__ __forceinline__ void tma_mbarrier_init(uint64_t *barrier, unsigned count)
{
	asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(wgmma_shared_address(barrier)),
		     "r"(count));
}

/* Makes initialised barriers visible to TMA; call before a __syncthreads(). */
static __device__ __forceinline__ void tma_mbarriers_publish(void)
{
	asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
	asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

static __device__ __forceinline__ void tma_mbarrier_expect_tx(uint64_t *barrier, unsigned bytes)
{
	asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
			     wgmma_shared_address(barrier)),
		     "r"(bytes)
		     : "memory");
}

static __device__ __forceinline__ void tma_mbarrier_arrive(uint64_t *barrier)
{
	asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(wgmma_shared_address(barrier))
		     : "memory");
}

/*
 * Releases a stage that a warp has read. All lanes have read it with ordinary loads: __syncwarp()
 * orders these before the arrival of lane 0 (PTX memory model).
 */
static __device__ __forceinline__ void tma_consumer_release(uint64_t *empty)
{
	__syncwarp();
	if (threadIdx.x % 32 == 0)
		tma_mbarrier_arrive(empty);
}

static __device__ __forceinline__ void tma_mbarrier_wait(uint64_t *barrier, unsigned phase)
{
	asm volatile("{\n"
		     ".reg .pred done;\n"
		     "again:\n"
		     "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
		     "@done bra over;\n"
		     "bra again;\n"
		     "over:\n"
		     "}" ::"r"(wgmma_shared_address(barrier)),
		     "r"(phase)
		     : "memory");
}

/* Loads a box of a tensor with the first element (x, y, z, w); elements outside become zero. */
static __device__ __forceinline__ void tma_load(void *to, const CUtensorMap *map, int x, int y,
						int z, int w, uint64_t *barrier)
{
	asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes "
		     "[%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(wgmma_shared_address(to)),
		     "l"(map), "r"(wgmma_shared_address(barrier)), "r"(x), "r"(y), "r"(z), "r"(w)
		     : "memory");
}

/* Copies contiguous `bytes`, a multiple of 16, between addresses aligned to 16. */
static __device__ __forceinline__ void tma_bulk_load(void *to, const void *from, unsigned bytes,
						     uint64_t *barrier)
{
	asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], "
		     "[%1], %3, [%2];" ::"r"(wgmma_shared_address(to)),
		     "l"(from), "r"(wgmma_shared_address(barrier)), "r"(bytes)
		     : "memory");
}

/* Position in a ring of STAGES stages; the phase flips with each round. */
template <int STAGES> struct pipeline_state {
	int stage = 0;
	unsigned phase = 0;

	__device__ __forceinline__ void advance(void)
	{
		if (++stage == STAGES) {
			stage = 0;
			phase ^= 1;
		}
	}
};

/*
 * Creates a TMA map for copies of boxes in lines of 128 bytes (128-byte swizzle): sizes, innermost
 * first; strides in bytes of all but the innermost. False if the driver lacks the function or
 * refuses.
 */
static inline bool tma_tensor_map(CUtensorMap *map, CUtensorMapDataType type, const void *memory,
				  const cuuint64_t sizes[4], const cuuint64_t strides[3],
				  const cuuint32_t box[4])
{
	static const cuuint32_t steps[4] = { 1, 1, 1, 1 };
	decltype(&cuTensorMapEncodeTiled) encode =
		(decltype(&cuTensorMapEncodeTiled))cuda_driver_tensor_map_encoder();

	return encode && encode(map, type, 4, (void *)memory, sizes, strides, box, steps,
				CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
				CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
				CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

#endif
