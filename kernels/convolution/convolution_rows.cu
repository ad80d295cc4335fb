/*
 * Forward convolution of images with few channels, as in a network's first layer, with tensor cores
 * (mma.sync). A row of a filter's taps reads contiguous elements of an image. A block therefore
 * keeps the image rows for an output row in shared memory, next to all weights, and multiplies from
 * there with the taps of a row side by side, instead of one gather per tap.
 *
 *	rows: pixels, 16 to a product    columns: filters    k: rows of taps, in pairs of elements
 *
 * Pairs are read as words, so the first element of each pixel must be even. Elements after an odd
 * row of taps are masked.
 */
#include "kernels/convolution/convolution_problem.cuh"
#include "kernels/gemm/mma.cuh"
#include "device/cuda/cuda_kernel.h"
#include "kernels/storage.cuh"

#define ROWS_THREADS 128
#define ROWS_PIXELS 128 /* 32 per warp */
#define ROWS_FILTERS 64
#define ROWS_SHARED (96 << 10) /* two blocks per multiprocessor of 8.0 or newer */

/* Sizes in words of two elements. */
struct image_rows {
	convolution_problem problem;
	int taps;         /* taps of a row of a filter */
	int line;         /* line of an image in shared memory */
	int step;         /* distance from pixel to pixel */
	int depth, pitch; /* depth of a filter, in whole instructions; its pitch in shared memory */
	int across, tiles;
};

static int convolution_rows_words_of(int elements)
{
	return (elements + 1) / 2;
}

static image_rows convolution_rows_image_of(const convolution_problem &p)
{
	const convolution_shape &s = p.shape;
	int span = (ROWS_PIXELS - 1) * (int)s.stride + (int)s.kernel_width;
	image_rows r = {};

	r.problem = p;
	r.taps = convolution_rows_words_of((int)(s.kernel_width * s.channels));
	r.line = convolution_rows_words_of(span * (int)s.channels) + 1;
	r.step = (int)(s.stride * s.channels) / 2;
	r.depth = ((int)s.kernel_height * r.taps + 7) / 8 * 8;
	r.pitch = r.depth + 4; /* 8 filters x 4 pairs in different banks */
	r.across = (p.out_width + ROWS_PIXELS - 1) / ROWS_PIXELS;
	r.tiles = (int)s.batch * p.out_height * r.across;
	return r;
}

static size_t convolution_rows_shared_bytes(const image_rows &r)
{
	return ((size_t)ROWS_FILTERS * r.pitch + 2 * (size_t)r.depth +
		(size_t)r.problem.shape.kernel_height * r.line) *
	       sizeof(unsigned);
}

bool convolution_rows_takes(const struct stream *stream, const convolution_problem &p,
			    enum convolution_pass pass)
{
	const convolution_shape &s = p.shape;
	size_t most = (size_t)cuda_stream_block_memory(stream);

	return pass == PASS_FORWARD && precision_bytes(s.precision) == 2 && !s.depthwise &&
	       s.channels <= 8 && s.stride * s.channels % 2 == 0 && s.filters % 8 == 0 &&
	       s.filters <= ROWS_FILTERS && (uintptr_t)p.out % 16 == 0 &&
	       convolution_rows_shared_bytes(convolution_rows_image_of(p)) <=
		       (most < ROWS_SHARED ? most : ROWS_SHARED);
}

/*
 * Loads the weights in pairs; for each pair also its position in the rows of an image, and a bit
 * mask.
 */
template <typename T>
static __device__ __forceinline__ void convolution_rows_load_filters(const image_rows &r,
								     T *weights, uint2 *place)
{
	const convolution_shape &s = r.problem.shape;
	int row = s.kernel_width * s.channels, of_filter = s.kernel_height * row;

	for (int i = threadIdx.x; i < ROWS_FILTERS * r.depth * 2; i += ROWS_THREADS) {
		int filter = i / (r.depth * 2), at = i % (r.depth * 2);
		int y = at / (r.taps * 2), x = at % (r.taps * 2);
		bool in = filter < (int)s.filters && y < (int)s.kernel_height && x < row;
		T zero;

		storage_from_math(&zero, 0.0f);
		weights[filter * r.pitch * 2 + at] =
			in ? ((const T *)r.problem.weights)[filter * of_filter + y * row + x]
			   : zero;
	}
	for (int i = threadIdx.x; i < r.depth; i += ROWS_THREADS) {
		int y = i / r.taps;

		place[i] = make_uint2(y * r.line + i % r.taps,
				      i % r.taps * 2 + 1 < row ? 0xffffffffu : 0xffffu);
		if (y >= (int)s.kernel_height)
			place[i] = make_uint2(0, 0);
	}
}

/* Loads the rows of image n that output row h reads for pixels from w on; zeros for the padding. */
template <typename T>
static __device__ __forceinline__ void convolution_rows_load(const image_rows &r, T *rows, int n,
							     int h, int w)
{
	const convolution_shape &s = r.problem.shape;
	int first = (w * (int)s.stride - (int)s.padding) * (int)s.channels,
	    end = (int)(s.width * s.channels);
	T zero;

	storage_from_math(&zero, 0.0f);
	for (int y = 0; y < (int)s.kernel_height; y++) {
		int in = h * (int)s.stride - (int)s.padding + y;
		const T *line = (const T *)r.problem.image +
				((int64_t)n * s.height + in) * (s.width * s.channels);
		bool inside = in >= 0 && in < (int)s.height;

		for (int i = threadIdx.x; i < r.line * 2; i += ROWS_THREADS)
			rows[y * r.line * 2 + i] = inside && first + i >= 0 && first + i < end
							   ? line[first + i]
							   : zero;
	}
}

static __device__ __forceinline__ unsigned convolution_rows_stored_pair(const half *, float x,
									float y)
{
	half2 pair = __floats2half2_rn(x, y);

	return *reinterpret_cast<unsigned *>(&pair);
}
static __device__ __forceinline__ unsigned convolution_rows_stored_pair(const bfloat16 *, float x,
									float y)
{
	bfloat16 low, high;

	storage_from_math(&low, x);
	storage_from_math(&high, y);
	return (unsigned)high.bits << 16 | low.bits;
}
static __device__ __forceinline__ void
convolution_rows_multiply_pairs(const half *, float *d, const unsigned *a, const unsigned *b)
{
	mma_multiply_16(half(), d, a, b);
}
static __device__ __forceinline__ void
convolution_rows_multiply_pairs(const bfloat16 *, float *d, const unsigned *a, const unsigned *b)
{
	mma_multiply_16(__nv_bfloat16(), d, a, b);
}

/* Multiplies 2 x 16 pixels and all filters, from `pixel` of the tile on. */
template <typename T>
static __device__ __forceinline__ void
convolution_rows_multiply(const image_rows &r, const unsigned *weights, const uint2 *place,
			  const unsigned *rows, int pixel, float (&sums)[2][8][4])
{
	int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
	const unsigned *from = rows + (pixel + g) * r.step, *filter = weights + g * r.pitch + t;

	for (int k = 0; k < r.depth; k += 8) {
		uint2 at[2] = { place[k + t], place[k + t + 4] };
		unsigned a[2][4];

#pragma unroll
		for (int i = 0; i < 2; i++)
#pragma unroll
			for (int e = 0; e < 4; e++)
				a[i][e] = from[(i * 16 + e % 2 * 8) * r.step + at[e / 2].x] &
					  at[e / 2].y;
#pragma unroll
		for (int j = 0; j < 8; j++) {
			unsigned b[2] = { filter[j * 8 * r.pitch + k],
					  filter[j * 8 * r.pitch + k + 4] };

#pragma unroll
			for (int i = 0; i < 2; i++)
				convolution_rows_multiply_pairs((const T *)nullptr, sums[i][j],
								a[i], b);
		}
	}
}

/* Stores the filters of a thread's pixels, 16 bytes at a time. */
template <typename T>
static __device__ __forceinline__ void convolution_rows_store(const image_rows &r, int64_t line,
							      int w, const float (&sums)[2][8][4])
{
	int lane = threadIdx.x % 32, filters = r.problem.shape.filters;

#pragma unroll
	for (int i = 0; i < 2; i++)
#pragma unroll
		for (int h = 0; h < 2; h++) {
			int column = w + i * 16 + h * 8 + lane / 4;
			T *to = (T *)r.problem.out + (line + column) * filters;

#pragma unroll
			for (int j = 0; j < 8; j += 4) {
				int f = j * 8 + lane % 4 * 8;
				unsigned v[4];

#pragma unroll
				for (int k = 0; k < 4; k++)
					v[k] = convolution_rows_stored_pair(
						(const T *)nullptr, sums[i][j + k][2 * h],
						sums[i][j + k][2 * h + 1]);
				mma_exchange_pairs(v);
				if (column < r.problem.out_width && f < filters)
					*reinterpret_cast<uint4 *>(to + f) =
						make_uint4(v[0], v[1], v[2], v[3]);
			}
		}
}

template <typename T>
static __global__ void __launch_bounds__(ROWS_THREADS) convolution_rows(image_rows r)
{
	extern __shared__ unsigned rows_memory[];
	unsigned *weights = rows_memory;
	uint2 *place = reinterpret_cast<uint2 *>(weights + ROWS_FILTERS * r.pitch);
	unsigned *rows = reinterpret_cast<unsigned *>(place + r.depth);

	convolution_rows_load_filters(r, (T *)weights, place);
	for (int tile = blockIdx.x; tile < r.tiles; tile += gridDim.x) {
		int line = tile / r.across, w = tile % r.across * ROWS_PIXELS,
		    pixel = threadIdx.x / 32 * 32;
		float sums[2][8][4] = {};

		__syncthreads(); /* all warps are done with the previous rows */
		convolution_rows_load(r, (T *)rows, line / r.problem.out_height,
				      line % r.problem.out_height, w);
		__syncthreads();
		if (w + pixel >= r.problem.out_width)
			continue;
		convolution_rows_multiply<T>(r, weights, place, rows, pixel, sums);
		convolution_rows_store<T>(r, (int64_t)line * r.problem.out_width, w + pixel, sums);
	}
}

template <typename T>
static enum status convolution_rows_launch(struct stream *stream, const convolution_problem &p,
					   struct error *err)
{
	image_rows r = convolution_rows_image_of(p);
	size_t bytes = convolution_rows_shared_bytes(r);
	int most = cuda_stream_multiprocessors(stream) * 4,
	    blocks = most < r.tiles ? most : r.tiles;
	cudaStream_t handle = cuda_stream_handle(stream);

	if (cuda_stream_shared_memory(stream, (const void *)convolution_rows<T>, bytes, err) !=
	    STATUS_OK)
		return err->status;
	convolution_rows<T><<<blocks, ROWS_THREADS, bytes, handle>>>(r);
	return STATUS_OK;
}

enum status convolution_by_rows(struct stream *stream, const convolution_problem &p,
				struct error *err)
{
	return p.shape.precision == PRECISION_FP16
		       ? convolution_rows_launch<half>(stream, p, err)
		       : convolution_rows_launch<bfloat16>(stream, p, err);
}
