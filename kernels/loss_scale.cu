/* The loss scale on the device: see loss_scale.h. */
#include "kernels/loss_scale.h"

#include "device/cuda/cuda_kernel.h"
#include "kernels/storage.cuh"

#define THREADS 256

template <typename T>
static __global__ void check(const T *gradient, uint64_t count, struct loss_scale *state,
			     bool aligned)
{
	typedef typename math_of<T>::type math;
	const int V = 16 / sizeof(T);
	uint64_t stride = (uint64_t)gridDim.x * THREADS * V;
	bool bad = false;

	for (uint64_t i = ((uint64_t)blockIdx.x * THREADS + threadIdx.x) * V; i < count;
	     i += stride) {
		math g[V];

		load_pack<V>(g, gradient, i, count, aligned);
#pragma unroll
		for (int k = 0; k < V; k++)
			bad |= i + k < count && !isfinite(g[k]);
	}
	/* All who write, write the same. */
	if (bad)
		state->found = 1;
}

template <typename T>
static void launch_check(const struct loss_scale_check_arguments *a, cudaStream_t stream)
{
	check<T><<<grid_for(a->count, THREADS * (16 / (int)sizeof(T))), THREADS, 0, stream>>>(
		(const T *)a->gradient, a->count, a->state, packs_aligned(a->gradient));
}

extern "C" enum status kernel_cuda_loss_scale_check(struct stream *stream, const void *arguments,
						    struct error *err)
{
	const struct loss_scale_check_arguments *a =
		(const struct loss_scale_check_arguments *)arguments;
	cudaStream_t handle = cuda_stream_handle(stream);

	if (a->count == 0)
		return STATUS_OK;
#define CALL(T) launch_check<T>(a, handle)
	FOR_STORAGE(a->precision, CALL)
#undef CALL
	return cuda_check_launch("loss_scale_check", err);
}

static __global__ void decide(struct loss_scale *s, double beta1, double beta2, uint64_t interval)
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

	decide<<<1, 1, 0, cuda_stream_handle(stream)>>>(a->state, a->beta1, a->beta2, a->interval);
	return cuda_check_launch("loss_scale_decide", err);
}
