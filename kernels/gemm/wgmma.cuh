/* Declarations shared by kernels for the tensor cores of compute capability 9.0 (wgmma, sm_90a). */
#ifndef GPUPROOF_KERNELS_WGMMA_CUH
#define GPUPROOF_KERNELS_WGMMA_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

static __device__ __forceinline__ unsigned wgmma_shared_address(const void *p)
{
	return (unsigned)__cvta_generic_to_shared(p);
}

/*
 * Matrix descriptor of an operand: address, distance between neighbouring lines of 64 elements
 * (leading; unused along k), distance between groups of eight lines (stride), 128-byte swizzle.
 */
static __device__ __forceinline__ uint64_t wgmma_operand_descriptor(const void *p, unsigned leading,
								    unsigned stride)
{
	return (uint64_t)(wgmma_shared_address(p) >> 4 & 0x3fff) | (uint64_t)(leading >> 4) << 16 |
	       (uint64_t)(stride >> 4) << 32 | (uint64_t)1 << 62;
}

/*
 * Sums of a thread for 64 rows x twice as many columns: their names in the assembly, and as
 * operands of `type` ("+f", "+r").
 */
#define WGMMA_REGISTERS_32                                                       \
	"%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
	"%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define WGMMA_REGISTERS_40 WGMMA_REGISTERS_32 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define WGMMA_REGISTERS_48 WGMMA_REGISTERS_40 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define WGMMA_REGISTERS_56 WGMMA_REGISTERS_48 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define WGMMA_REGISTERS_64 WGMMA_REGISTERS_56 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define WGMMA_REGISTERS_128                                                                \
	WGMMA_REGISTERS_64                                                                 \
	", "                                                                               \
	"%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
	"%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, " \
	"%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, " \
	"%110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, "   \
	"%123, %124, %125, %126, %127"
#define WGMMA_SUMS_8(type, d, i)                                                              \
	type(d[(i)]), type(d[(i) + 1]), type(d[(i) + 2]), type(d[(i) + 3]), type(d[(i) + 4]), \
		type(d[(i) + 5]), type(d[(i) + 6]), type(d[(i) + 7])
#define WGMMA_SUMS_16(type, d, i) WGMMA_SUMS_8(type, d, i), WGMMA_SUMS_8(type, d, (i) + 8)
#define WGMMA_SUMS_32(type, d) WGMMA_SUMS_16(type, d, 0), WGMMA_SUMS_16(type, d, 16)
#define WGMMA_SUMS_40(type, d) WGMMA_SUMS_32(type, d), WGMMA_SUMS_8(type, d, 32)
#define WGMMA_SUMS_48(type, d) WGMMA_SUMS_40(type, d), WGMMA_SUMS_8(type, d, 40)
#define WGMMA_SUMS_56(type, d) WGMMA_SUMS_48(type, d), WGMMA_SUMS_8(type, d, 48)
#define WGMMA_SUMS_64(type, d) WGMMA_SUMS_56(type, d), WGMMA_SUMS_8(type, d, 56)
#define WGMMA_SUMS_128(type, d)                                                         \
	WGMMA_SUMS_64(type, d), WGMMA_SUMS_16(type, d, 64), WGMMA_SUMS_16(type, d, 80), \
		WGMMA_SUMS_16(type, d, 96), WGMMA_SUMS_16(type, d, 112)

/*
 * Call before the first multiplication after a change of registers that it reads or accumulates to.
 */
static __device__ __forceinline__ void wgmma_begin(void)
{
	asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
/* Ends a group of multiplications. */
static __device__ __forceinline__ void wgmma_commit(void)
{
	asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/*
 * Waits until at most PENDING groups are unfinished; call accumulators_fence() before reading their
 * sums.
 */
template <int PENDING> static __device__ __forceinline__ void wgmma_wait(void)
{
	asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

/* Prevents reads of the sums from moving before a wait. */
#define WGMMA_FENCE(count)                                                          \
	static __device__ __forceinline__ void accumulators_fence(float(&d)[count]) \
	{                                                                           \
		asm volatile("" : WGMMA_SUMS_##count("+f", d)::"memory");           \
	}
WGMMA_FENCE(32)
WGMMA_FENCE(40)
WGMMA_FENCE(48)
WGMMA_FENCE(56)
WGMMA_FENCE(64)

/*
 * d = d * keep + left right, 16 deep: 64 rows, and as many columns as d has room for. Both operands
 * are in shared memory, and their lines run along k. In the assembly, the two descriptors and
 * `keep` follow the sums.
 */
#define WGMMA_SHARED(T, type, count, columns, n0, n1, n2)                                         \
	static __device__ __forceinline__ void multiply_kk(T, float(&d)[count], uint64_t left,    \
							   uint64_t right, int keep)              \
	{                                                                                         \
		asm volatile("{\n.reg .pred keep;\nsetp.ne.b32 keep, %" n2 ", 0;\n"               \
			     "wgmma.mma_async.sync.aligned.m64n" columns "k16.f32." type "." type \
			     " {" WGMMA_REGISTERS_##count "}, %" n0 ", %" n1                      \
							  ", keep, 1, 1, 0, 0;\n}"                \
			     : WGMMA_SUMS_##count("+f", d)                                        \
			     : "l"(left), "l"(right), "r"(keep));                                 \
	}
WGMMA_SHARED(half, "f16", 32, "64", "32", "33", "34")
WGMMA_SHARED(half, "f16", 64, "128", "64", "65", "66")
WGMMA_SHARED(__nv_bfloat16, "bf16", 32, "64", "32", "33", "34")
WGMMA_SHARED(__nv_bfloat16, "bf16", 64, "128", "64", "65", "66")

/*
 * As WGMMA_SHARED, with the left operand in registers, in the layout of mma.m16n8k16 for each
 * warp's 16 rows; the right operand runs along its columns.
 */
#define WGMMA_HELD(T, type, count, columns, n0, n1, n2, n3, n4, n5)                                \
	static __device__ __forceinline__ void multiply_held(T, float(&d)[count],                  \
							     const unsigned *left, uint64_t right, \
							     int keep)                             \
	{                                                                                          \
		asm volatile("{\n.reg .pred keep;\nsetp.ne.b32 keep, %" n5 ", 0;\n"                \
			     "wgmma.mma_async.sync.aligned.m64n" columns "k16.f32." type "." type  \
			     " {" WGMMA_REGISTERS_##count "}, {%" n0 ", %" n1 ", %" n2 ", %" n3    \
							  "}, %" n4 ", keep, 1, 1, 1;\n}"          \
			     : WGMMA_SUMS_##count("+f", d)                                         \
			     : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right), \
			       "r"(keep));                                                         \
	}
#define WGMMA_HELD_WIDTHS(T, type)                                         \
	WGMMA_HELD(T, type, 32, "64", "32", "33", "34", "35", "36", "37")  \
	WGMMA_HELD(T, type, 40, "80", "40", "41", "42", "43", "44", "45")  \
	WGMMA_HELD(T, type, 48, "96", "48", "49", "50", "51", "52", "53")  \
	WGMMA_HELD(T, type, 56, "112", "56", "57", "58", "59", "60", "61") \
	WGMMA_HELD(T, type, 64, "128", "64", "65", "66", "67", "68", "69")
WGMMA_HELD_WIDTHS(half, "f16")
WGMMA_HELD_WIDTHS(__nv_bfloat16, "bf16")

#endif
