/*
 * Storage types and packs. A tensor is stored as double, float, half or bfloat16 and computed in
 * double or float: without arithmetic on half or bfloat16, one source serves devices that lack it.
 *
 * A pack is the V neighbouring elements that one thread loads and stores with one instruction if
 * possible: the widest tensor of a kernel determines V for 16-byte accesses.
 */
#ifndef GPUPROOF_KERNELS_STORAGE_CUH
#define GPUPROOF_KERNELS_STORAGE_CUH

#include <cuda_fp16.h>
#include <stdint.h>

#include "kernels/fp8.h"
#include "kernels/launch/compat.h"

/* bfloat16 by its bits, because the conversions in cuda_bf16.h need newer devices. */
struct bfloat16 {
	uint16_t bits;
};

/* 8-bit floats and fixed point in units of 1/128: only stored, by fill. */
struct fp8_e4m3 {
	uint8_t bits;
};
struct fp8_e5m2 {
	uint8_t bits;
};
struct fixed8 {
	int8_t units;
};

template <typename T> struct math_of {
	typedef float type;
};
template <> struct math_of<double> {
	typedef double type;
};

static __device__ __forceinline__ void storage_to_math(float *out, float x)
{
	*out = x;
}
static __device__ __forceinline__ void storage_to_math(float *out, half x)
{
	*out = __half2float(x);
}
static __device__ __forceinline__ void storage_to_math(float *out, bfloat16 x)
{
	*out = __uint_as_float((unsigned)x.bits << 16);
}
static __device__ __forceinline__ void storage_to_math(double *out, double x)
{
	*out = x;
}
template <typename T> static __device__ __forceinline__ void storage_to_math(double *out, T x)
{
	float f;

	storage_to_math(&f, x);
	*out = f;
}

/* Rounds to nearest even; NaN stays NaN. */
static __device__ __forceinline__ void storage_from_math(float *out, float x)
{
	*out = x;
}
static __device__ __forceinline__ void storage_from_math(half *out, float x)
{
	*out = __float2half_rn(x);
}
static __device__ __forceinline__ void storage_from_math(bfloat16 *out, float x)
{
#if CODE_HAS_BF16_CONVERSION
	asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(out->bits) : "f"(x));
#else
	unsigned bits = __float_as_uint(x);

	if ((bits & 0x7FFFFFFFu) > 0x7F800000u)
		out->bits = (uint16_t)(bits >> 16 | 0x40u);
	else
		out->bits = (uint16_t)((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
#endif
}
static __device__ __forceinline__ void storage_from_math(fp8_e4m3 *out, float x)
{
	out->bits = fp8_from_float(x);
}
static __device__ __forceinline__ void storage_from_math(fp8_e5m2 *out, float x)
{
	out->bits = fp8_e5m2_from_float(x);
}
static __device__ __forceinline__ void storage_from_math(fixed8 *out, float x)
{
	out->units = fp8_fixed8_from_float(x);
}
static __device__ __forceinline__ void storage_from_math(double *out, double x)
{
	*out = x;
}
static __device__ __forceinline__ void storage_from_math(double *out, float x)
{
	*out = x;
}
static __device__ __forceinline__ void storage_from_math(float *out, double x)
{
	*out = (float)x;
}
/*
 * Through float rounded to odd: float has more than two bits over half and bfloat16, so the second
 * rounding gives the same as one rounding of the double.
 */
template <typename T> static __device__ __forceinline__ void storage_from_math(T *out, double x)
{
	float odd = __double2float_rz(x);

	if ((double)odd != x)
		odd = __uint_as_float(__float_as_uint(odd) | 1u);
	storage_from_math(out, odd);
}

template <typename T, int V> struct alignas(sizeof(T) * V) pack {
	T v[V];
};

/* Elements i .. i + V - 1 of p, those below n; `aligned`: one access can load all. */
template <int V, typename M, typename T>
static __device__ __forceinline__ void storage_load_pack(M *out, const T *p, uint64_t i, uint64_t n,
							 bool aligned)
{
	if (aligned && i + V <= n) {
		pack<T, V> x = *reinterpret_cast<const pack<T, V> *>(p + i);

#pragma unroll
		for (int k = 0; k < V; k++)
			storage_to_math(&out[k], x.v[k]);
		return;
	}
#pragma unroll
	for (int k = 0; k < V; k++) {
		out[k] = 0;
		if (i + k < n)
			storage_to_math(&out[k], p[i + k]);
	}
}

template <int V, typename M, typename T>
static __device__ __forceinline__ void storage_store_pack(T *p, const M *in, uint64_t i, uint64_t n,
							  bool aligned)
{
	if (aligned && i + V <= n) {
		pack<T, V> x;

#pragma unroll
		for (int k = 0; k < V; k++)
			storage_from_math(&x.v[k], in[k]);
		*reinterpret_cast<pack<T, V> *>(p + i) = x;
		return;
	}
#pragma unroll
	for (int k = 0; k < V; k++)
		if (i + k < n)
			storage_from_math(&p[i + k], in[k]);
}

/*
 * As storage_load_pack() in two steps, for kernels that read several tensors: a thread issues all
 * loads before it waits for the first conversion. One access must be able to load p + i.
 */
template <int V, typename T>
static __device__ __forceinline__ pack<T, V> storage_fetch_pack(const T *p, uint64_t i)
{
	return *reinterpret_cast<const pack<T, V> *>(p + i);
}

template <int V, typename M, typename T>
static __device__ __forceinline__ void storage_unpack(M *out, const pack<T, V> &x)
{
#pragma unroll
	for (int k = 0; k < V; k++)
		storage_to_math(&out[k], x.v[k]);
}

/* True if all pointers may be read in packs of 16 bytes; NULL is allowed. */
static inline bool storage_packs_aligned(const void *a, const void *b = nullptr,
					 const void *c = nullptr, const void *d = nullptr,
					 const void *e = nullptr)
{
	return (((uintptr_t)a | (uintptr_t)b | (uintptr_t)c | (uintptr_t)d | (uintptr_t)e) & 15) ==
	       0;
}

/* Blocks of `threads` for `items`; kernels use grid-stride loops if there are more. */
static inline unsigned storage_grid_for(uint64_t items, unsigned threads)
{
	uint64_t blocks = (items + threads - 1) / threads;

	return blocks < 1 ? 1 : blocks > 0x7FFFFFFF ? 0x7FFFFFFF : (unsigned)blocks;
}

/* Threads side by side for rows of `columns` in packs of V: a warp, or fewer for narrow rows. */
static inline unsigned storage_lanes_for(uint64_t columns, unsigned V)
{
	unsigned lanes = 32;

	while (lanes > 4 && (uint64_t)lanes / 2 * V >= columns)
		lanes /= 2;
	return lanes;
}

/*
 * Calls expression(T) for the storage type T of `precision`, in kernels that do not support FP64;
 * does nothing if there is none.
 */
#define FOR_STORED_FLOATS(precision, CALL) \
	switch (precision) {               \
	case PRECISION_FP32:               \
	case PRECISION_TF32:               \
		CALL(float);               \
		break;                     \
	case PRECISION_FP16:               \
		CALL(half);                \
		break;                     \
	case PRECISION_BF16:               \
		CALL(bfloat16);            \
		break;                     \
	default:                           \
		break;                     \
	}

/* As FOR_STORED_FLOATS, with FP64. */
#define FOR_STORAGE(precision, CALL)               \
	switch (precision) {                       \
	case PRECISION_FP64:                       \
		CALL(double);                      \
		break;                             \
	default:                                   \
		FOR_STORED_FLOATS(precision, CALL) \
	}

#endif
