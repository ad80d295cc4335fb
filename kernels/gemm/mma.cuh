/*
 * Warp-level GEMM with mma.sync, from compute capability 7.5 (BF16, TF32: 8.0): 16 rows, 8 columns,
 * 16 deep (TF32: 8), with operands loaded from tiles in shared memory (ldmatrix). Registers of
 * operands and sums have the layout of wgmma.
 *
 * A tile of 16-bit elements has lines of WIDTH elements, a multiple of 64. Pieces of 8 elements are
 * permuted by the line's number, so that the pieces of one column in 8 lines are in different
 * banks.
 */
#ifndef GPUPROOF_KERNELS_MMA_CUH
#define GPUPROOF_KERNELS_MMA_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kernels/launch/compat.h"

template <typename T, int WIDTH>
static __device__ __forceinline__ T *mma_tile_piece(T *tile, int line, int piece)
{
	return tile + line * WIDTH + (piece ^ line % 8) * 8;
}

static __device__ __forceinline__ void mma_multiply_16(half, float *d, const unsigned *a,
						       const unsigned *b)
{
#if CODE_HAS_ASYNC_COPY
	asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, "
		     "%6, %7}, {%8, %9}, {%0, %1, %2, %3};"
		     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
		     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#elif CODE_HAS_MATRIX_LOADS
#pragma unroll
	for (int i = 0; i < 2; i++)
		asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
			     "{%4, %5}, {%6}, {%0, %1, %2, %3};"
			     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
			     : "r"(a[2 * i]), "r"(a[2 * i + 1]), "r"(b[i]));
#else
	compat_code_is_absent();
#endif
}

static __device__ __forceinline__ void mma_multiply_16(__nv_bfloat16, float *d, const unsigned *a,
						       const unsigned *b)
{
#if CODE_HAS_ASYNC_COPY
	asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, "
		     "%5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
		     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
		     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
	compat_code_is_absent();
#endif
}

/* TF32, 8 deep: FP32 elements after mma_round_to_tf32(). */
static __device__ __forceinline__ void mma_multiply_8(float *d, const unsigned *a,
						      const unsigned *b)
{
#if CODE_HAS_TF32
	asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, "
		     "%5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
		     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
		     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
	compat_code_is_absent();
#endif
}

/* Rounds COUNT registers to TF32, half away from zero: the tensor cores would truncate. */
template <int COUNT> static __device__ __forceinline__ void mma_round_to_tf32(unsigned *r)
{
#if CODE_HAS_TF32
#pragma unroll
	for (int i = 0; i < COUNT; i++)
		asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r[i]) : "f"(__uint_as_float(r[i])));
#endif
}

/* Loads four 8 x 8 matrices; `piece`: address of the line that this thread provides. */
template <bool TRANSPOSED>
static __device__ __forceinline__ void mma_load_matrices(unsigned *r, const void *piece)
{
#if CODE_HAS_MATRIX_LOADS
	unsigned address = (unsigned)__cvta_generic_to_shared(piece);

	if (TRANSPOSED)
		asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, "
			     "[%4];"
			     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
			     : "r"(address)
			     : "memory");
	else
		asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
			     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
			     : "r"(address)
			     : "memory");
#endif
}

/* Left operand: 16 lines of a tile from `line` on, 16 elements from `depth` on. */
template <typename T, int WIDTH>
static __device__ __forceinline__ void mma_load_left(unsigned *r, const T *tile, int line,
						     int depth)
{
	int lane = threadIdx.x % 32;

	mma_load_matrices<false>(r, mma_tile_piece<const T, WIDTH>(tile, line + lane % 16,
								   depth / 8 + lane / 16));
}

/* Two right operands: columns are 16 lines from `line` on, k are 16 elements from `depth` on. */
template <typename T, int WIDTH>
static __device__ __forceinline__ void mma_load_right_lines(unsigned *r, const T *tile, int line,
							    int depth)
{
	int lane = threadIdx.x % 32;

	mma_load_matrices<false>(r, mma_tile_piece<const T, WIDTH>(tile,
								   line + lane / 16 * 8 + lane % 8,
								   depth / 8 + lane / 8 % 2));
}

/* Two right operands: k are 16 lines from `line` on, columns 16 elements from `column` on. */
template <typename T, int WIDTH>
static __device__ __forceinline__ void mma_load_right_columns(unsigned *r, const T *tile, int line,
							      int column)
{
	int lane = threadIdx.x % 32;

	mma_load_matrices<true>(r, mma_tile_piece<const T, WIDTH>(tile, line + lane % 16,
								  column / 8 + lane / 16));
}

/*
 * Exchanges the sums of a row's four threads, packed in pairs: v[i] of thread t of the four is
 * columns 8 i + 2 t, + 1 before, and columns 8 t + 2 i, + 1 after, so that a thread has 16
 * contiguous bytes to store. Collective over the warp.
 */
static __device__ __forceinline__ void mma_exchange_pairs(unsigned (&v)[4])
{
#if CODE_HAS_MATRIX_LOADS
#pragma unroll
	for (int distance = 1; distance <= 2; distance *= 2) {
		bool upper = threadIdx.x & distance;

#pragma unroll
		for (int i = 0; i < 4; i++) {
			unsigned other;

			if (i & distance)
				continue;
			other = __shfl_xor_sync(0xffffffffu, upper ? v[i] : v[i + distance],
						distance);
			v[i] = upper ? other : v[i];
			v[i + distance] = upper ? v[i + distance] : other;
		}
	}
#endif
}

#endif
