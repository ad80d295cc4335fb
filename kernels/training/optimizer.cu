/*
 * Optimizers of a training step: see training.h. Weights and state are float, or double for FP64.
 */
#include "device/cuda/cuda_kernel.h"
#include "kernels/storage.cuh"
#include "kernels/training/training.h"

#define THREADS 256

/* Sized by the master weights, which are never narrower than the gradient. */
#define PACK(M) ((int)(16 / sizeof(M)))

static unsigned optimizer_grid_within(uint64_t items, unsigned most)
{
	unsigned blocks = storage_grid_for(items, THREADS);

	return most && most < blocks ? most : blocks;
}

/* All inputs of a step for V elements; absent arrays are not read. */
template <typename T, typename M, int V> struct operands {
	pack<M, V> weights, first, second; /* both moments */
	pack<T, V> gradient, copy;
};

template <int V, typename T, typename M>
static __device__ __forceinline__ void optimizer_fetch(operands<T, M, V> *x, const M *weights,
						       const M *first, const M *second,
						       const T *gradient, const T *copy, uint64_t i)
{
	if (weights)
		x->weights = storage_fetch_pack<V>(weights, i);
	else
		x->copy = storage_fetch_pack<V>(copy, i);
	x->gradient = storage_fetch_pack<V>(gradient, i);
	if (first)
		x->first = storage_fetch_pack<V>(first, i);
	if (second)
		x->second = storage_fetch_pack<V>(second, i);
}

/* The old weights, from wherever they are stored. */
template <typename T, typename M, int V>
static __device__ __forceinline__ void optimizer_unpack_weights(M *out, const operands<T, M, V> &x,
								bool masters)
{
	if (masters)
		storage_unpack<V>(out, x.weights);
	else
		storage_unpack<V>(out, x.copy);
}

template <int V, typename T, typename M>
static __device__ __forceinline__ void optimizer_store_weights(M *weights, T *copy, const M *w,
							       uint64_t i)
{
	if (weights)
		storage_store_pack<V>(weights, w, i, i + V, true);
	if (copy)
		storage_store_pack<V>(copy, w, i, i + V, true);
}

template <typename M> struct sgd_factors {
	M rate, momentum, gradient_scale;
};

/* Elements i .. i + V - 1. Reads the loss scale after all other loads have been issued. */
template <int V, typename T, typename M>
static __device__ __forceinline__ void
optimizer_sgd_pack(M *weights, M *velocity, const T *gradient, T *copy, uint64_t i,
		   const sgd_factors<M> &f, const struct loss_scale *loss_scale)
{
	M gradient_scale = f.gradient_scale, w[V], g[V], u[V];
	operands<T, M, V> x;

	optimizer_fetch<V>(&x, weights, velocity, (const M *)nullptr, gradient, copy, i);
	if (loss_scale && loss_scale->inverse == 0)
		return;
	if (loss_scale)
		gradient_scale *= (M)loss_scale->inverse;
	optimizer_unpack_weights(w, x, weights != nullptr);
	storage_unpack<V>(g, x.gradient);
	if (velocity)
		storage_unpack<V>(u, x.first);
#pragma unroll
	for (int k = 0; k < V; k++) {
		g[k] *= gradient_scale;
		u[k] = velocity ? f.momentum * u[k] + g[k] : g[k];
		w[k] -= f.rate * u[k];
	}
	if (velocity)
		storage_store_pack<V>(velocity, u, i, i + V, true);
	optimizer_store_weights<V>(weights, copy, w, i);
}

/* CALL(V, i) for whole packs, CALL(1, i) for the remaining elements. */
#define FOR_PACKS(M, count, aligned, CALL)                                                       \
	do {                                                                                     \
		const int V = PACK(M);                                                           \
		uint64_t stride = (uint64_t)gridDim.x * THREADS * V;                             \
                                                                                                 \
		for (uint64_t i = ((uint64_t)blockIdx.x * THREADS + threadIdx.x) * V; i < count; \
		     i += stride) {                                                              \
			if (aligned && i + V <= count)                                           \
				CALL(V, i);                                                      \
			else                                                                     \
				_Pragma("unroll 1") for (uint64_t k = i; k < i + V && k < count; \
							 k++) CALL(1, k);                        \
		}                                                                                \
	} while (0)

template <typename T, typename M>
static __global__ void optimizer_sgd_kernel(M *weights, M *velocity, const T *gradient, T *copy,
					    uint64_t count, sgd_factors<M> f, bool aligned,
					    const struct loss_scale *loss_scale)
{
#define CALL(V, i) optimizer_sgd_pack<V>(weights, velocity, gradient, copy, i, f, loss_scale)
	FOR_PACKS(M, count, aligned, CALL);
#undef CALL
}

template <typename T>
static void optimizer_launch_sgd(const struct optimizer_sgd_arguments *a, cudaStream_t stream)
{
	typedef typename math_of<T>::type math;
	sgd_factors<math> f = { (math)a->rate, (math)a->momentum, (math)a->gradient_scale };

	optimizer_sgd_kernel<T, math>
		<<<optimizer_grid_within(a->count / PACK(math) + 1, a->blocks), THREADS, 0,
		   stream>>>((math *)a->weights,
			     a->momentum != 0 ? (math *)a->velocity : (math *)nullptr,
			     (const T *)a->gradient, (T *)a->copy, a->count, f,
			     storage_packs_aligned(a->weights, a->velocity, a->gradient, a->copy),
			     a->loss_scale);
}

extern "C" enum status kernel_cuda_optimizer_sgd(struct stream *stream, const void *arguments,
						 struct error *err)
{
	const struct optimizer_sgd_arguments *a = (const struct optimizer_sgd_arguments *)arguments;
	cudaStream_t handle = cuda_stream_handle(stream);

	if (a->count == 0)
		return STATUS_OK;
#define CALL(T) optimizer_launch_sgd<T>(a, handle)
	FOR_STORAGE(a->precision, CALL)
#undef CALL
	return cuda_device_check_launch("optimizer_sgd", err);
}

template <typename M> struct adam_factors {
	/* rest1 = 1 - beta1, computed in double: in float the fifth digit would be wrong. */
	M rate, beta1, rest1, beta2, rest2, epsilon, correction1, correction2, gradient_scale;
};

/* Elements i .. i + V - 1, as in optimizer_sgd_pack(). */
template <int V, typename T, typename M>
static __device__ __forceinline__ void
optimizer_adam_pack(M *weights, M *m, M *v, const T *gradient, T *copy, uint64_t i,
		    adam_factors<M> f, const struct loss_scale *loss_scale,
		    const struct optimizer_clock *clock)
{
	M w[V], g[V], first[V], second[V];
	operands<T, M, V> x;

	optimizer_fetch<V>(&x, weights, m, v, gradient, copy, i);
	if (loss_scale && loss_scale->inverse == 0)
		return;
	if (loss_scale) {
		f.gradient_scale *= (M)loss_scale->inverse;
		f.correction1 = (M)loss_scale->correction1;
		f.correction2 = (M)loss_scale->correction2;
	}
	if (clock) {
		f.correction1 = (M)clock->correction1;
		f.correction2 = (M)clock->correction2;
	}
	optimizer_unpack_weights(w, x, weights != nullptr);
	storage_unpack<V>(g, x.gradient);
	storage_unpack<V>(first, x.first);
	storage_unpack<V>(second, x.second);
#pragma unroll
	for (int k = 0; k < V; k++) {
		g[k] *= f.gradient_scale;
		first[k] = f.beta1 * first[k] + f.rest1 * g[k];
		second[k] = f.beta2 * second[k] + f.rest2 * g[k] * g[k];
		w[k] -= f.rate * (first[k] / f.correction1) /
			(sqrt(second[k] / f.correction2) + f.epsilon);
	}
	storage_store_pack<V>(m, first, i, i + V, true);
	storage_store_pack<V>(v, second, i, i + V, true);
	optimizer_store_weights<V>(weights, copy, w, i);
}

template <typename T, typename M>
static __global__ void optimizer_adam_kernel(M *weights, M *m, M *v, const T *gradient, T *copy,
					     uint64_t count, adam_factors<M> f, bool aligned,
					     const struct loss_scale *loss_scale,
					     const struct optimizer_clock *clock)
{
#define CALL(V, i) optimizer_adam_pack<V>(weights, m, v, gradient, copy, i, f, loss_scale, clock)
	FOR_PACKS(M, count, aligned, CALL);
#undef CALL
}

template <typename T>
static void optimizer_launch_adam(const struct optimizer_adam_arguments *a, cudaStream_t stream)
{
	typedef typename math_of<T>::type math;
	adam_factors<math> f = {
		(math)a->rate,        (math)a->beta1,       (math)(1 - a->beta1),
		(math)a->beta2,       (math)(1 - a->beta2), (math)a->epsilon,
		(math)a->correction1, (math)a->correction2, (math)a->gradient_scale
	};

	optimizer_adam_kernel<T, math>
		<<<optimizer_grid_within(a->count / PACK(math) + 1, a->blocks), THREADS, 0,
		   stream>>>((math *)a->weights, (math *)a->m, (math *)a->v, (const T *)a->gradient,
			     (T *)a->copy, a->count, f,
			     storage_packs_aligned(a->weights, a->m, a->v, a->gradient, a->copy),
			     a->loss_scale, a->clock);
}

extern "C" enum status kernel_cuda_optimizer_adam(struct stream *stream, const void *arguments,
						  struct error *err)
{
	const struct optimizer_adam_arguments *a =
		(const struct optimizer_adam_arguments *)arguments;
	cudaStream_t handle = cuda_stream_handle(stream);

	if (a->count == 0)
		return STATUS_OK;
#define CALL(T) optimizer_launch_adam<T>(a, handle)
	FOR_STORAGE(a->precision, CALL)
#undef CALL
	return cuda_device_check_launch("optimizer_adam", err);
}

static __global__ void optimizer_tick_kernel(struct optimizer_clock *clock,
					     const double *corrections, uint64_t count)
{
	uint64_t updates = clock->updates + 1, pair = (updates < count ? updates : count) - 1;

	clock->updates = updates;
	clock->correction1 = corrections[2 * pair];
	clock->correction2 = corrections[2 * pair + 1];
}

extern "C" enum status kernel_cuda_optimizer_tick(struct stream *stream, const void *arguments,
						  struct error *err)
{
	const struct optimizer_tick_arguments *a =
		(const struct optimizer_tick_arguments *)arguments;

	optimizer_tick_kernel<<<1, 1, 0, cuda_stream_handle(stream)>>>(a->clock, a->corrections,
								       a->count);
	return cuda_device_check_launch("optimizer_tick", err);
}
