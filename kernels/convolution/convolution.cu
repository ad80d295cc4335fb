/* Convolutions: see convolution.h. */
#include "kernels/convolution/convolution.h"

#include "kernels/convolution/convolution_problem.cuh"
#include "kernels/launch/compat.h"
#include "device/cuda/cuda_kernel.h"
#include "kernels/storage.cuh"

#define JOIN_THREADS 256

/*
 * Depthwise convolutions: a thread processes the V channels of one 16-byte access, a block LANES
 * such neighbours and 32 pixels at a time, so that a pixel's channels are read contiguously; the
 * taps' neighbours come from the cache. V = 1 if the channels are not a multiple of V.
 */
#define DEPTHWISE_LANES 8
#define DEPTHWISE_ROWS 32 /* pixels at a time */
#define DEPTHWISE_THREADS (DEPTHWISE_LANES * DEPTHWISE_ROWS)
/* Pixels per block, which reads the weights once. */
#define DEPTHWISE_PIXELS 128

/* A pixel of y (forward, weights) or of dx (data). */
struct depthwise_pixel {
	int n, h, w;

	__device__ __forceinline__ depthwise_pixel(int index, int height, int width)
	{
		w = index % width;
		h = index / width % height;
		n = index / width / height;
	}
};

/* The pixel of x that tap (r, s) of a pixel of y reads; -1 in the padding. */
static __device__ __forceinline__ int64_t
kernel_convolution_read_pixel(const convolution_problem &p, const depthwise_pixel &at, int r, int s)
{
	int h = at.h * (int)p.shape.stride + r - (int)p.shape.padding,
	    w = at.w * (int)p.shape.stride + s - (int)p.shape.padding;

	if (h < 0 || w < 0 || h >= (int)p.shape.height || w >= (int)p.shape.width)
		return -1;
	return ((int64_t)at.n * p.shape.height + h) * p.shape.width + w;
}

/* The pixel of dy whose tap (r, s) reads a pixel of x; -1: none. */
static __device__ __forceinline__ int64_t kernel_convolution_reading_pixel(
	const convolution_problem &p, const depthwise_pixel &at, int r, int s)
{
	int stride = p.shape.stride, h = at.h + (int)p.shape.padding - r,
	    w = at.w + (int)p.shape.padding - s;

	if (h < 0 || w < 0 || (stride > 1 && (h % stride || w % stride)))
		return -1;
	if (stride > 1) {
		h /= stride;
		w /= stride;
	}
	if (h >= p.out_height || w >= p.out_width)
		return -1;
	return ((int64_t)at.n * p.out_height + h) * p.out_width + w;
}

template <typename T, enum convolution_pass PASS, int V>
static __global__ void __launch_bounds__(DEPTHWISE_THREADS, 2)
	kernel_convolution_depthwise(convolution_problem p, int pixels)
{
	__shared__ __align__(16) T weights[CONVOLUTION_DEPTHWISE_TAPS][DEPTHWISE_LANES * V];
	int channels = p.shape.channels, taps = p.shape.kernel_height * p.shape.kernel_width;
	int lane = threadIdx.x % DEPTHWISE_LANES, first = blockIdx.y * DEPTHWISE_LANES * V;
	int c = first + lane * V, begin = blockIdx.x * DEPTHWISE_PIXELS;
	const void *from = PASS == PASS_FORWARD ? p.image : p.gradient;

	for (int i = threadIdx.x; i < taps * DEPTHWISE_LANES * V; i += DEPTHWISE_THREADS)
		if (first + i / taps < channels)
			weights[i % taps][i / taps] =
				((const T *)p.weights)[(int64_t)first * taps + i];
	__syncthreads();
	if (c >= channels)
		return;
	for (int i = begin + threadIdx.x / DEPTHWISE_LANES;
	     i < begin + DEPTHWISE_PIXELS && i < pixels; i += DEPTHWISE_ROWS) {
		depthwise_pixel at(i, PASS == PASS_FORWARD ? p.out_height : (int)p.shape.height,
				   PASS == PASS_FORWARD ? p.out_width : (int)p.shape.width);
		float sum[V] = { 0 };

		for (int r = 0; r < (int)p.shape.kernel_height; r++)
#pragma unroll 1 /* most filters are 3 wide, but the compiler unrolls by 4 */
			for (int s = 0; s < (int)p.shape.kernel_width; s++) {
				int64_t pixel =
					PASS == PASS_FORWARD
						? kernel_convolution_read_pixel(p, at, r, s)
						: kernel_convolution_reading_pixel(p, at, r, s);
				float x[V], w[V];

				if (pixel < 0)
					continue;
				storage_load_pack<V>(x, (const T *)from, pixel * channels + c,
						     UINT64_MAX, true);
				storage_load_pack<V>(w,
						     &weights[r * (int)p.shape.kernel_width + s][0],
						     lane * V, UINT64_MAX, true);
#pragma unroll
				for (int k = 0; k < V; k++)
					sum[k] = fmaf(x[k], w[k], sum[k]);
			}
		storage_store_pack<V>((T *)p.out, sum, (int64_t)i * channels + c, UINT64_MAX, true);
	}
}

/*
 * Part blockIdx.z of the gradient of WIDTH neighbouring taps, group blockIdx.y: a thread adds every
 * 32nd pixel of the part, then the block adds its threads' sums, in a fixed order.
 */
template <typename T, int V, int WIDTH>
static __global__ void __launch_bounds__(DEPTHWISE_THREADS, 2)
	kernel_convolution_depthwise_weights(convolution_problem p, int pixels, int part)
{
	__shared__ float joined[DEPTHWISE_ROWS][DEPTHWISE_LANES * V + 1];
	int channels = p.shape.channels, width = p.shape.kernel_width;
	int taps = p.shape.kernel_height * width, groups = width / WIDTH;
	int lane = threadIdx.x % DEPTHWISE_LANES, row = threadIdx.x / DEPTHWISE_LANES;
	int first = blockIdx.x * DEPTHWISE_LANES * V, c = first + lane * V;
	int r = blockIdx.y / groups, s0 = blockIdx.y % groups * WIDTH;
	int begin = blockIdx.z * part, end = begin + part < pixels ? begin + part : pixels;
	float sum[WIDTH][V];

#pragma unroll
	for (int s = 0; s < WIDTH; s++)
#pragma unroll
		for (int k = 0; k < V; k++)
			sum[s][k] = 0;
	for (int i = begin + row; i < end && c < channels; i += DEPTHWISE_ROWS) {
		depthwise_pixel at(i, p.out_height, p.out_width);
		float dy[V], x[V];

		storage_load_pack<V>(dy, (const T *)p.gradient, (int64_t)i * channels + c,
				     UINT64_MAX, true);
#pragma unroll
		for (int s = 0; s < WIDTH; s++) {
			int64_t pixel = kernel_convolution_read_pixel(p, at, r, s0 + s);

			if (pixel < 0)
				continue;
			storage_load_pack<V>(x, (const T *)p.image, pixel * channels + c,
					     UINT64_MAX, true);
#pragma unroll
			for (int k = 0; k < V; k++)
				sum[s][k] = fmaf(dy[k], x[k], sum[s][k]);
		}
	}
#pragma unroll
	for (int s = 0; s < WIDTH; s++) {
		int channel = first + threadIdx.x;
		float total = 0;

		__syncthreads();
#pragma unroll
		for (int k = 0; k < V; k++)
			joined[row][lane * V + k] = sum[s][k];
		__syncthreads();
		if (threadIdx.x >= DEPTHWISE_LANES * V || channel >= channels)
			continue;
		for (int i = 0; i < DEPTHWISE_ROWS; i++)
			total += joined[i][threadIdx.x];
		p.parts[((int64_t)blockIdx.z * channels + channel) * taps + r * width + s0 + s] =
			total;
	}
}

static unsigned kernel_convolution_ceiling(uint64_t count, unsigned size)
{
	return (unsigned)((count + size - 1) / size);
}

static int kernel_convolution_taps_of(const convolution_problem &p)
{
	return (int)(p.shape.kernel_height * p.shape.kernel_width);
}

template <typename T, enum convolution_pass PASS, int V>
static void kernel_convolution_depthwise_pixels(const convolution_problem &p, cudaStream_t stream)
{
	const convolution_shape *s = &p.shape;
	uint64_t pixels = PASS == PASS_FORWARD ? kernel_convolution_out_pixels(s)
					       : (uint64_t)s->batch * s->height * s->width;

	kernel_convolution_depthwise<T, PASS, V>
		<<<dim3(kernel_convolution_ceiling(pixels, DEPTHWISE_PIXELS),
			kernel_convolution_ceiling(s->channels, DEPTHWISE_LANES * V)),
		   DEPTHWISE_THREADS, 0, stream>>>(p, (int)pixels);
}

template <typename T, int V, int WIDTH>
static void kernel_convolution_depthwise_taps(const convolution_problem &p, cudaStream_t stream)
{
	const convolution_shape *s = &p.shape;
	int pixels = (int)kernel_convolution_out_pixels(s);
	unsigned parts = kernel_convolution_parts(s);

	kernel_convolution_depthwise_weights<T, V, WIDTH>
		<<<dim3(kernel_convolution_ceiling(s->channels, DEPTHWISE_LANES * V),
			kernel_convolution_taps_of(p) / WIDTH, parts),
		   DEPTHWISE_THREADS, 0, stream>>>(p, pixels,
						   (int)kernel_convolution_ceiling(pixels, parts));
}

template <typename T, int V>
static void kernel_convolution_depthwise_packs(const convolution_problem &p,
					       enum convolution_pass pass, cudaStream_t stream)
{
	if (pass == PASS_FORWARD)
		kernel_convolution_depthwise_pixels<T, PASS_FORWARD, V>(p, stream);
	else if (pass == PASS_DATA)
		kernel_convolution_depthwise_pixels<T, PASS_DATA, V>(p, stream);
	else if (p.shape.kernel_width % 3 == 0)
		kernel_convolution_depthwise_taps<T, V, 3>(p, stream);
	else
		kernel_convolution_depthwise_taps<T, V, 1>(p, stream);
}

template <typename T>
static void kernel_convolution_launch_depthwise(const convolution_problem &p,
						enum convolution_pass pass, cudaStream_t stream)
{
	const int V = 16 / sizeof(T);

	if (storage_packs_aligned(p.image, p.gradient, p.out) && p.shape.channels % V == 0)
		kernel_convolution_depthwise_packs<T, V>(p, pass, stream);
	else
		kernel_convolution_depthwise_packs<T, 1>(p, pass, stream);
}

enum convolution_path { PATH_FMA, PATH_MMA, PATH_ROWS };
static const char *const path_names[] = { "SIMT", "MMA", "MMA, rows of images" };

/* Implementation of a convolution: its kernel and the columns of a tile. */
struct convolution_way {
	enum convolution_path path;
	int columns;
};
/* Rows are the algorithms after CONVOLUTION_CHOSEN. */
static const convolution_way ways[CONVOLUTION_ALGORITHMS - 1] = {
	{ PATH_FMA, 64 }, { PATH_FMA, 128 }, { PATH_MMA, 64 }, { PATH_MMA, 128 }, { PATH_ROWS, 64 },
};

static bool kernel_convolution_path_takes(enum convolution_path path, const struct stream *stream,
					  const convolution_problem &p, enum convolution_pass pass)
{
	const struct device_info *info = &stream->device->info;
	int capability = info->capability_major * 10 + info->capability_minor;

	if (path == PATH_FMA)
		return true;
	if (p.shape.depthwise || p.shape.precision == PRECISION_FP32)
		return false;
	return (path == PATH_MMA || convolution_rows_takes(stream, p, pass)) &&
	       capability >= (p.shape.precision == PRECISION_FP16 ? 75 : 80);
}

static bool kernel_convolution_way_takes(const convolution_way &way, const struct stream *stream,
					 const convolution_problem &p, enum convolution_pass pass)
{
	if (p.shape.depthwise ||
	    (way.columns == 128 && way.path == PATH_FMA && !convolution_problem_fma_wide(p)) ||
	    (way.columns == 128 && way.path == PATH_MMA && !convolution_problem_mma_wide(p)))
		return false;
	return kernel_convolution_path_takes(way.path, stream, p, pass);
}

static convolution_way kernel_convolution_choose_way(const struct stream *stream,
						     const convolution_problem &p,
						     enum convolution_pass pass)
{
	unsigned columns = pass == PASS_DATA ? p.shape.channels : p.shape.filters;

	if (kernel_convolution_path_takes(PATH_ROWS, stream, p, pass))
		return { PATH_ROWS, 64 };
	if (kernel_convolution_path_takes(PATH_MMA, stream, p, pass))
		return { PATH_MMA, columns > 64 && convolution_problem_mma_wide(p) ? 128 : 64 };
	return { PATH_FMA, columns > 64 && convolution_problem_fma_wide(p) ? 128 : 64 };
}

/* Launches the pass (for the weights, the parts of their sums); `path`: the chosen code path. */
static enum status kernel_convolution_launch_way(struct stream *stream,
						 const convolution_problem &p,
						 enum convolution_pass pass, const char **path,
						 struct error *err)
{
	cudaStream_t handle = cuda_stream_handle(stream);
	convolution_way way = kernel_convolution_choose_way(stream, p, pass);

	if (p.shape.algorithm != CONVOLUTION_CHOSEN) {
		way = ways[p.shape.algorithm - 1];
		if (!kernel_convolution_way_takes(way, stream, p, pass))
			return kernel_convolution_refuse(&p.shape, err);
	}
	*path = path_names[way.path];
	if (p.shape.depthwise) {
#define CALL(T) kernel_convolution_launch_depthwise<T>(p, pass, handle)
		FOR_STORED_FLOATS(p.shape.precision, CALL)
#undef CALL
		return STATUS_OK;
	}
	if (way.path == PATH_ROWS)
		return convolution_by_rows(stream, p, err);
	if (way.path == PATH_MMA)
		return convolution_by_mma(stream, p, pass, way.columns, err);
	return convolution_by_fma(stream, p, pass, way.columns, err);
}

/* Adds the parts of dw. */
template <typename T>
static __global__ void kernel_convolution_join(convolution_problem p, uint64_t count, int parts,
					       float keep)
{
	for (uint64_t i = (uint64_t)blockIdx.x * JOIN_THREADS + threadIdx.x; i < count;
	     i += (uint64_t)gridDim.x * JOIN_THREADS) {
		float sum = 0;

		for (int part = 0; part < parts; part++)
			sum += p.parts[part * count + i];
		if (keep != 0) {
			float old;

			storage_to_math(&old, ((const T *)p.out)[i]);
			sum += keep * old;
		}
		storage_from_math((T *)p.out + i, sum);
	}
}

extern "C" enum status kernel_cuda_convolution_forward(struct stream *stream, const void *arguments,
						       struct error *err)
{
	const convolution_forward_arguments *a = (const convolution_forward_arguments *)arguments;
	const char *path;
	convolution_problem p;

	if (kernel_convolution_check(&a->shape, err) != STATUS_OK)
		return err->status;
	p = convolution_problem_of(&a->shape);
	p.image = a->x;
	p.weights = a->w;
	p.out = a->y;
	if (kernel_convolution_out_pixels(&a->shape) * a->shape.filters == 0)
		return STATUS_OK;
	if (kernel_convolution_launch_way(stream, p, PASS_FORWARD, &path, err) != STATUS_OK)
		return err->status;
	return cuda_device_check_path("convolution_forward", path, err);
}

extern "C" enum status kernel_cuda_convolution_data_gradient(struct stream *stream,
							     const void *arguments,
							     struct error *err)
{
	const convolution_data_gradient_arguments *a =
		(const convolution_data_gradient_arguments *)arguments;
	const char *path;
	convolution_problem p;

	if (kernel_convolution_check(&a->shape, err) != STATUS_OK)
		return err->status;
	p = convolution_problem_of(&a->shape);
	p.gradient = a->dy;
	p.weights = a->w;
	p.out = a->dx;
	if ((uint64_t)a->shape.batch * a->shape.height * a->shape.width * a->shape.channels == 0)
		return STATUS_OK;
	if (kernel_convolution_launch_way(stream, p, PASS_DATA, &path, err) != STATUS_OK)
		return err->status;
	return cuda_device_check_path("convolution_data_gradient", path, err);
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
	const char *path;

	if (kernel_convolution_check(&a->shape, err) != STATUS_OK)
		return err->status;
	p = convolution_problem_of(&a->shape);
	p.image = a->x;
	p.gradient = a->dy;
	p.out = a->dw;
	p.parts = a->scratch;
	weights = kernel_convolution_weights(&a->shape);
	if (weights == 0)
		return STATUS_OK;
	if (kernel_convolution_launch_way(stream, p, PASS_WEIGHTS, &path, err) != STATUS_OK)
		return err->status;
#define CALL(T)                                                                         \
	kernel_convolution_join<T>                                                      \
		<<<storage_grid_for(weights, JOIN_THREADS), JOIN_THREADS, 0, handle>>>( \
			p, weights, (int)kernel_convolution_parts(&a->shape), a->keep)
	FOR_STORED_FLOATS(a->shape.precision, CALL)
#undef CALL
	return cuda_device_check_path("convolution_weight_gradient", path, err);
}
