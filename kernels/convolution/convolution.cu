/*
 * Convolutions: see convolution.h. Compute capability 9.0 has a code of its own
 * (convolution_wgmma.cu).
 */
#include "kernels/convolution/convolution.h"

#include "kernels/convolution/convolution_simt.cuh"
#include "kernels/convolution/convolution_wgmma.h"
#include "kernels/convolution/depthwise.cuh"
#include "kernels/launch/compat.h"
#include "kernels/launch/cuda_kernel.h"

static unsigned ceiling(uint64_t count, unsigned size)
{
	return (unsigned)((count + size - 1) / size);
}

static int taps_of(const convolution_problem &p)
{
	return (int)(p.shape.kernel_height * p.shape.kernel_width);
}

template <typename T, enum convolution_pass PASS>
static void launch_pixels(const convolution_problem &p, cudaStream_t stream)
{
	const convolution_shape *s = &p.shape;
	bool forward = PASS == PASS_FORWARD;
	uint64_t pixels =
		forward ? convolution_out_pixels(s) : (uint64_t)s->batch * s->height * s->width;
	unsigned columns = forward ? s->filters : s->channels;
	int depth = taps_of(p) * (int)(forward ? s->channels : s->filters);

	convolution_simt<T, PASS>
		<<<dim3(ceiling(pixels, SIMT_TILE), ceiling(columns, SIMT_TILE)), SIMT_THREADS, 0,
		   stream>>>(p, (int)pixels, (int)columns, depth, depth);
}

template <typename T> static void launch_weights(const convolution_problem &p, cudaStream_t stream)
{
	const convolution_shape *s = &p.shape;
	int pixels = (int)convolution_out_pixels(s), columns = taps_of(p) * (int)s->channels;
	unsigned parts = convolution_parts(s);

	convolution_simt<T, PASS_WEIGHTS>
		<<<dim3(ceiling(s->filters, SIMT_TILE), ceiling(columns, SIMT_TILE), parts),
		   SIMT_THREADS, 0, stream>>>(p, (int)s->filters, columns, pixels,
					      (int)ceiling(pixels, parts));
}

template <typename T, enum convolution_pass PASS, int V>
static void launch_depthwise_pixels(const convolution_problem &p, cudaStream_t stream)
{
	const convolution_shape *s = &p.shape;
	uint64_t pixels = PASS == PASS_FORWARD ? convolution_out_pixels(s)
					       : (uint64_t)s->batch * s->height * s->width;

	convolution_depthwise<T, PASS, V><<<dim3(ceiling(pixels, DEPTHWISE_PIXELS),
						 ceiling(s->channels, DEPTHWISE_LANES * V)),
					    DEPTHWISE_THREADS, 0, stream>>>(p, (int)pixels);
}

template <typename T, int V, int WIDTH>
static void launch_depthwise_taps(const convolution_problem &p, cudaStream_t stream)
{
	const convolution_shape *s = &p.shape;
	int pixels = (int)convolution_out_pixels(s);
	unsigned parts = convolution_parts(s);

	convolution_depthwise_weights<T, V, WIDTH>
		<<<dim3(ceiling(s->channels, DEPTHWISE_LANES * V), taps_of(p) / WIDTH, parts),
		   DEPTHWISE_THREADS, 0, stream>>>(p, pixels, (int)ceiling(pixels, parts));
}

template <typename T, int V>
static void launch_depthwise_packs(const convolution_problem &p, enum convolution_pass pass,
				   cudaStream_t stream)
{
	if (pass == PASS_FORWARD)
		launch_depthwise_pixels<T, PASS_FORWARD, V>(p, stream);
	else if (pass == PASS_DATA)
		launch_depthwise_pixels<T, PASS_DATA, V>(p, stream);
	else if (p.shape.kernel_width % 3 == 0)
		launch_depthwise_taps<T, V, 3>(p, stream);
	else
		launch_depthwise_taps<T, V, 1>(p, stream);
}

template <typename T>
static void launch_depthwise(const convolution_problem &p, enum convolution_pass pass,
			     cudaStream_t stream)
{
	const int V = 16 / sizeof(T);

	if (packs_aligned(p.image, p.gradient, p.out) && p.shape.channels % V == 0)
		launch_depthwise_packs<T, V>(p, pass, stream);
	else
		launch_depthwise_packs<T, 1>(p, pass, stream);
}

/* Tensor cores read FP16 and BF16 in pieces of 16 bytes. */
static bool takes_wgmma(const struct stream *stream, const convolution_problem &p)
{
	return CUDA_HAS_WGMMA && (stream->device->info.capabilities & DEVICE_HAS_WGMMA) &&
	       packs_aligned(p.image, p.weights, p.gradient, p.out, p.parts) &&
	       convolution_wgmma_takes(&p.shape);
}

extern "C" enum status kernel_cuda_convolution_forward(struct stream *stream, const void *arguments,
						       struct error *err)
{
	const convolution_forward_arguments *a = (const convolution_forward_arguments *)arguments;
	cudaStream_t handle = cuda_stream_handle(stream);
	convolution_problem p;

	if (convolution_check(&a->shape, err) != STATUS_OK)
		return err->status;
	p = convolution_problem_of(&a->shape);
	p.image = a->x;
	p.weights = a->w;
	p.out = a->y;
	if (convolution_out_pixels(&a->shape) * a->shape.filters == 0)
		return STATUS_OK;
	if (takes_wgmma(stream, p))
		return convolution_wgmma_forward(stream, a, err);
#define CALL(T)                                                           \
	a->shape.depthwise ? launch_depthwise<T>(p, PASS_FORWARD, handle) \
			   : launch_pixels<T, PASS_FORWARD>(p, handle)
	FOR_STORED_FLOATS(a->shape.precision, CALL)
#undef CALL
	return cuda_check_path("convolution_forward", "SIMT", err);
}

extern "C" enum status kernel_cuda_convolution_data_gradient(struct stream *stream,
							     const void *arguments,
							     struct error *err)
{
	const convolution_data_gradient_arguments *a =
		(const convolution_data_gradient_arguments *)arguments;
	cudaStream_t handle = cuda_stream_handle(stream);
	convolution_problem p;

	if (convolution_check(&a->shape, err) != STATUS_OK)
		return err->status;
	p = convolution_problem_of(&a->shape);
	p.gradient = a->dy;
	p.weights = a->w;
	p.out = a->dx;
	if ((uint64_t)a->shape.batch * a->shape.height * a->shape.width * a->shape.channels == 0)
		return STATUS_OK;
	if (takes_wgmma(stream, p))
		return convolution_wgmma_data_gradient(stream, a, err);
#define CALL(T)                                                        \
	a->shape.depthwise ? launch_depthwise<T>(p, PASS_DATA, handle) \
			   : launch_pixels<T, PASS_DATA>(p, handle)
	FOR_STORED_FLOATS(a->shape.precision, CALL)
#undef CALL
	return cuda_check_path("convolution_data_gradient", "SIMT", err);
}

extern "C" enum status kernel_cuda_convolution_weight_gradient(struct stream *stream,
							       const void *arguments,
							       struct error *err)
{
	const convolution_weight_gradient_arguments *a =
		(const convolution_weight_gradient_arguments *)arguments;
	cudaStream_t handle = cuda_stream_handle(stream);
	uint64_t weights;
	convolution_problem p;
	bool wgmma;

	if (convolution_check(&a->shape, err) != STATUS_OK)
		return err->status;
	p = convolution_problem_of(&a->shape);
	p.image = a->x;
	p.gradient = a->dy;
	p.out = a->dw;
	p.parts = a->scratch;
	weights = convolution_weights(&a->shape);
	if (weights == 0)
		return STATUS_OK;
	wgmma = takes_wgmma(stream, p);
	if (wgmma && convolution_wgmma_weight_parts(stream, a, err) != STATUS_OK)
		return err->status;
	if (!wgmma) {
#define CALL(T)                                                           \
	a->shape.depthwise ? launch_depthwise<T>(p, PASS_WEIGHTS, handle) \
			   : launch_weights<T>(p, handle)
		FOR_STORED_FLOATS(a->shape.precision, CALL)
#undef CALL
	}
#define CALL(T)                                                                            \
	convolution_join<T><<<grid_for(weights, SIMT_THREADS), SIMT_THREADS, 0, handle>>>( \
		p, weights, (int)convolution_parts(&a->shape), a->keep)
	FOR_STORED_FLOATS(a->shape.precision, CALL)
#undef CALL
	return cuda_check_path("convolution_weight_gradient", wgmma ? "WGMMA" : "SIMT", err);
}
