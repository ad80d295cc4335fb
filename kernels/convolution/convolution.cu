/* Convolutions: see convolution.h. */
#include "kernels/convolution/convolution.h"

#include "kernels/convolution/convolution_problem.cuh"
#include "kernels/convolution/depthwise.cuh"
#include "kernels/launch/compat.h"
#include "device/cuda/cuda_kernel.h"
#include "kernels/storage.cuh"

#define JOIN_THREADS 256

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

	convolution_depthwise<T, PASS, V>
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

	convolution_depthwise_weights<T, V, WIDTH>
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
