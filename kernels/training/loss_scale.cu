/* Dynamic loss scale on the device: see loss_scale.h. */
#include "kernels/training/loss_scale.h"

#include "device/cuda/cuda_kernel.h"
#include "kernels/storage.cuh"

#define THREADS 256

/* Packs in flight per thread. */
#define EACH 4

/*
 * Exponent bits in a 32-bit word of T, and the lowest of them. If the exponent is all ones
 * (infinite, NaN), adding the lowest carries into the sign bit: two operations for all elements of
 * a word, without conversion.
 */
template <typename T> struct exponent;
template <> struct exponent<half> {
	static const unsigned BITS = 0x7C007C00u, LOWEST = 0x04000400u, CARRY = 0x80008000u;
};
template <> struct exponent<bfloat16> {
	static const unsigned BITS = 0x7F807F80u, LOWEST = 0x00800080u, CARRY = 0x80008000u;
};
template <> struct exponent<float> {
	static const unsigned BITS = 0x7F800000u, LOWEST = 0x00800000u, CARRY = 0x80000000u;
};
/* Bits of the upper word. */
template <> struct exponent<double> {
	static const unsigned BITS = 0x7FF00000u, LOWEST = 0x00100000u, CARRY = 0x80000000u;
};

/* The bits of exponent<T>::CARRY show that an element of the pack is not finite. */
template <typename T>
static __device__ __forceinline__ unsigned loss_scale_carries(const uint4 &pack)
{
	const unsigned BITS = exponent<T>::BITS, LOWEST = exponent<T>::LOWEST;
	unsigned upper = ((pack.y & BITS) + LOWEST) | ((pack.w & BITS) + LOWEST);

	if (sizeof(T) > sizeof(pack.x))
		return upper;
	return upper | ((pack.x & BITS) + LOWEST) | ((pack.z & BITS) + LOWEST);
}

template <typename T>
static __global__ void loss_scale_check_kernel(const T *gradient, uint64_t count,
					       struct loss_scale *state, bool aligned)
{
	const int V = 16 / sizeof(T);
	uint64_t packs = aligned ? count / V : 0, stride = (uint64_t)gridDim.x * THREADS;
	unsigned found = 0;
	bool bad = false;

	for (uint64_t p = (uint64_t)blockIdx.x * THREADS * EACH + threadIdx.x; p < packs;
	     p += stride * EACH) {
		uint4 x[EACH];

#pragma unroll
		for (int e = 0; e < EACH; e++)
			x[e] = p + e * THREADS < packs
				       ? reinterpret_cast<const uint4 *>(gradient)[p + e * THREADS]
				       : make_uint4(0, 0, 0, 0);
#pragma unroll
		for (int e = 0; e < EACH; e++)
			found |= loss_scale_carries<T>(x[e]);
	}
	for (uint64_t i = packs * V + (uint64_t)blockIdx.x * THREADS + threadIdx.x; i < count;
	     i += stride) {
		typename math_of<T>::type g;

		storage_to_math(&g, gradient[i]);
		bad |= !isfinite(g);
	}
	/* All writers write the same value. */
	if (bad || found & exponent<T>::CARRY)
		state->found = 1;
}

template <typename T>
static void loss_scale_launch_check(const struct loss_scale_check_arguments *a, cudaStream_t stream)
{
	loss_scale_check_kernel<T>
		<<<storage_grid_for(a->count, THREADS * EACH * (16 / (int)sizeof(T))), THREADS, 0,
		   stream>>>((const T *)a->gradient, a->count, a->state,
			     storage_packs_aligned(a->gradient));
}

extern "C" enum status kernel_cuda_loss_scale_check(struct stream *stream, const void *arguments,
						    struct error *err)
{
	const struct loss_scale_check_arguments *a =
		(const struct loss_scale_check_arguments *)arguments;
	cudaStream_t handle = cuda_stream_handle(stream);

	if (a->count == 0)
		return STATUS_OK;
#define CALL(T) loss_scale_launch_check<T>(a, handle)
	FOR_STORAGE(a->precision, CALL)
#undef CALL
	return cuda_device_check_launch("loss_scale_check", err);
}

static __global__ void loss_scale_decide_kernel(struct loss_scale *s, double beta1, double beta2,
						uint64_t interval)
{
	if (s->found != 0) {
		s->inverse = 0;
		s->scale = fmaxf(s->scale / 2, (float)LOSS_SCALE_LEAST);
		s->good = 0;
		s->skipped++;
	} else {
		s->applied++;
		s->inverse = 1 / s->scale;
		s->correction1 = (float)(1 - pow(beta1, (double)s->applied));
		s->correction2 = (float)(1 - pow(beta2, (double)s->applied));
		if (++s->good == interval) {
			s->scale = fminf(s->scale * 2, (float)LOSS_SCALE_MOST);
			s->good = 0;
		}
	}
	s->found = 0;
}

extern "C" enum status kernel_cuda_loss_scale_decide(struct stream *stream, const void *arguments,
						     struct error *err)
{
	const struct loss_scale_decide_arguments *a =
		(const struct loss_scale_decide_arguments *)arguments;

	loss_scale_decide_kernel<<<1, 1, 0, cuda_stream_handle(stream)>>>(a->state, a->beta1,
									  a->beta2, a->interval);
	return cuda_device_check_launch("loss_scale_decide", err);
}
