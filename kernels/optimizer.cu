/*
 * Optimizers of a training step: see training.h. Weights and state are float, or double for FP64.
 */
#include "device/cuda/cuda_kernel.h"
#include "kernels/storage.cuh"
#include "kernels/training.h"

#define THREADS 256

/* By the master weights, which are never narrower than the gradient. */
#define PACK(M) ((int)(16 / sizeof(M)))

template <typename T, typename M>
static __global__ void sgd(M *weights, M *velocity, const T *gradient, T *copy, uint64_t count,
			   M rate, M momentum, M gradient_scale, bool aligned,
			   const struct loss_scale *loss_scale)
{
	const int V = PACK(M);
	uint64_t stride = (uint64_t)gridDim.x * THREADS * V;

	if (loss_scale && loss_scale->inverse == 0)
		return;
	if (loss_scale)
		gradient_scale *= (M)loss_scale->inverse;
	for (uint64_t i = ((uint64_t)blockIdx.x * THREADS + threadIdx.x) * V; i < count;
	     i += stride) {
		M w[V], g[V], u[V];

		if (weights)
			load_pack<V>(w, weights, i, count, aligned);
		else
			load_pack<V>(w, copy, i, count, aligned);
		load_pack<V>(g, gradient, i, count, aligned);
		if (velocity)
			load_pack<V>(u, velocity, i, count, aligned);
#pragma unroll
		for (int k = 0; k < V; k++) {
			g[k] *= gradient_scale;
			u[k] = velocity ? momentum * u[k] + g[k] : g[k];
			w[k] -= rate * u[k];
		}
		if (velocity)
			store_pack<V>(velocity, u, i, count, aligned);
		if (weights)
			store_pack<V>(weights, w, i, count, aligned);
		if (copy)
			store_pack<V>(copy, w, i, count, aligned);
	}
}

template <typename T>
static void launch_sgd(const struct optimizer_sgd_arguments *a, cudaStream_t stream)
{
	typedef typename math_of<T>::type math;

	sgd<T, math><<<grid_for(a->count, THREADS * PACK(math)), THREADS, 0, stream>>>(
		(math *)a->weights, a->momentum != 0 ? (math *)a->velocity : (math *)nullptr,
		(const T *)a->gradient, (T *)a->copy, a->count, (math)a->rate, (math)a->momentum,
		(math)a->gradient_scale,
		packs_aligned(a->weights, a->velocity, a->gradient, a->copy), a->loss_scale);
}

extern "C" enum status kernel_cuda_optimizer_sgd(struct stream *stream, const void *arguments,
						 struct error *err)
{
	const struct optimizer_sgd_arguments *a = (const struct optimizer_sgd_arguments *)arguments;
	cudaStream_t handle = cuda_stream_handle(stream);

	if (a->count == 0)
		return STATUS_OK;
#define CALL(T) launch_sgd<T>(a, handle)
	FOR_STORAGE(a->precision, CALL)
#undef CALL
	return cuda_check_launch("optimizer_sgd", err);
}

template <typename M> struct adam_factors {
	/* rest1 = 1 - beta1, computed in double: in float it would be off in the fifth digit. */
	M rate, beta1, rest1, beta2, rest2, epsilon, correction1, correction2, gradient_scale;
};

template <typename T, typename M>
static __global__ void adam(M *weights, M *m, M *v, const T *gradient, T *copy, uint64_t count,
			    adam_factors<M> f, bool aligned, const struct loss_scale *loss_scale,
			    const struct optimizer_clock *clock)
{
	const int V = PACK(M);
	uint64_t stride = (uint64_t)gridDim.x * THREADS * V;

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
	for (uint64_t i = ((uint64_t)blockIdx.x * THREADS + threadIdx.x) * V; i < count;
	     i += stride) {
		M w[V], g[V], first[V], second[V];

		if (weights)
			load_pack<V>(w, weights, i, count, aligned);
		else
			load_pack<V>(w, copy, i, count, aligned);
		load_pack<V>(g, gradient, i, count, aligned);
		load_pack<V>(first, m, i, count, aligned);
		load_pack<V>(second, v, i, count, aligned);
#pragma unroll
		for (int k = 0; k < V; k++) {
			g[k] *= f.gradient_scale;
			first[k] = f.beta1 * first[k] + f.rest1 * g[k];
			second[k] = f.beta2 * second[k] + f.rest2 * g[k] * g[k];
			w[k] -= f.rate * (first[k] / f.correction1) /
				(sqrt(second[k] / f.correction2) + f.epsilon);
		}
		store_pack<V>(m, first, i, count, aligned);
		store_pack<V>(v, second, i, count, aligned);
		if (weights)
			store_pack<V>(weights, w, i, count, aligned);
		if (copy)
			store_pack<V>(copy, w, i, count, aligned);
	}
}

template <typename T>
static void launch_adam(const struct optimizer_adam_arguments *a, cudaStream_t stream)
{
	typedef typename math_of<T>::type math;
	adam_factors<math> f = {
		(math)a->rate,        (math)a->beta1,       (math)(1 - a->beta1),
		(math)a->beta2,       (math)(1 - a->beta2), (math)a->epsilon,
		(math)a->correction1, (math)a->correction2, (math)a->gradient_scale
	};

	adam<T, math><<<grid_for(a->count, THREADS * PACK(math)), THREADS, 0, stream>>>(
		(math *)a->weights, (math *)a->m, (math *)a->v, (const T *)a->gradient,
		(T *)a->copy, a->count, f,
		packs_aligned(a->weights, a->m, a->v, a->gradient, a->copy), a->loss_scale,
		a->clock);
}

extern "C" enum status kernel_cuda_optimizer_adam(struct stream *stream, const void *arguments,
						  struct error *err)
{
	const struct optimizer_adam_arguments *a =
		(const struct optimizer_adam_arguments *)arguments;
	cudaStream_t handle = cuda_stream_handle(stream);

	if (a->count == 0)
		return STATUS_OK;
#define CALL(T) launch_adam<T>(a, handle)
	FOR_STORAGE(a->precision, CALL)
#undef CALL
	return cuda_check_launch("optimizer_adam", err);
}

static __global__ void tick(struct optimizer_clock *clock, const double *corrections, uint64_t count)
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

	tick<<<1, 1, 0, cuda_stream_handle(stream)>>>(a->clock, a->corrections, a->count);
	return cuda_check_launch("optimizer_tick", err);
}
