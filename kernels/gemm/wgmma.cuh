/* Shared by kernels for the tensor cores of compute capability 9.0 (wgmma, sm_90a). */
#ifndef GPUPROOF_KERNELS_WGMMA_CUH
#define GPUPROOF_KERNELS_WGMMA_CUH

#include <stdint.h>

static __device__ __forceinline__ unsigned shared_address(const void *p)
{
	return (unsigned)__cvta_generic_to_shared(p);
}

/*
 * An operand's descriptor for the tensor cores: address, the step between lines of 64 elements next
 * to each other (leading; means nothing along k), the step between groups of eight lines (stride),
 * 128-byte swizzle.
 */
static __device__ __forceinline__ uint64_t operand_descriptor(const void *p, unsigned leading,
							      unsigned stride)
{
	return (uint64_t)(shared_address(p) >> 4 & 0x3fff) | (uint64_t)(leading >> 4) << 16 |
	       (uint64_t)(stride >> 4) << 32 | (uint64_t)1 << 62;
}

/* The 128 sums of a thread: their names in the assembly, and as operands of `type` ("+f", "+r"). */
#define WGMMA_REGISTERS                                                                            \
	"%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                   \
	"%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "         \
	"%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "         \
	"%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "         \
	"%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "         \
	"%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "         \
	"%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, "   \
	"%111, "                                                                                   \
	"%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, "     \
	"%126, %127"
#define WGMMA_SUMS(type, d)                                                                        \
	type(d[0]), type(d[1]), type(d[2]), type(d[3]), type(d[4]), type(d[5]), type(d[6]),        \
		type(d[7]), type(d[8]), type(d[9]), type(d[10]), type(d[11]), type(d[12]),         \
		type(d[13]), type(d[14]), type(d[15]), type(d[16]), type(d[17]), type(d[18]),      \
		type(d[19]), type(d[20]), type(d[21]), type(d[22]), type(d[23]), type(d[24]),      \
		type(d[25]), type(d[26]), type(d[27]), type(d[28]), type(d[29]), type(d[30]),      \
		type(d[31]), type(d[32]), type(d[33]), type(d[34]), type(d[35]), type(d[36]),      \
		type(d[37]), type(d[38]), type(d[39]), type(d[40]), type(d[41]), type(d[42]),      \
		type(d[43]), type(d[44]), type(d[45]), type(d[46]), type(d[47]), type(d[48]),      \
		type(d[49]), type(d[50]), type(d[51]), type(d[52]), type(d[53]), type(d[54]),      \
		type(d[55]), type(d[56]), type(d[57]), type(d[58]), type(d[59]), type(d[60]),      \
		type(d[61]), type(d[62]), type(d[63]), type(d[64]), type(d[65]), type(d[66]),      \
		type(d[67]), type(d[68]), type(d[69]), type(d[70]), type(d[71]), type(d[72]),      \
		type(d[73]), type(d[74]), type(d[75]), type(d[76]), type(d[77]), type(d[78]),      \
		type(d[79]), type(d[80]), type(d[81]), type(d[82]), type(d[83]), type(d[84]),      \
		type(d[85]), type(d[86]), type(d[87]), type(d[88]), type(d[89]), type(d[90]),      \
		type(d[91]), type(d[92]), type(d[93]), type(d[94]), type(d[95]), type(d[96]),      \
		type(d[97]), type(d[98]), type(d[99]), type(d[100]), type(d[101]), type(d[102]),   \
		type(d[103]), type(d[104]), type(d[105]), type(d[106]), type(d[107]),              \
		type(d[108]), type(d[109]), type(d[110]), type(d[111]), type(d[112]),              \
		type(d[113]), type(d[114]), type(d[115]), type(d[116]), type(d[117]),              \
		type(d[118]), type(d[119]), type(d[120]), type(d[121]), type(d[122]),              \
		type(d[123]), type(d[124]), type(d[125]), type(d[126]), type(d[127])

#endif
