/*
 * Implicit-GEMM convolution C[m][n] = sum over k of A(m, k) B(k, n) on any device and for any
 * shape, without an im2col buffer. A block computes 128 rows x COLUMNS of C and gathers both
 * operands, 64 bytes deep, one stage ahead of the multiplication.
 *
 *	          rows m                columns n   depth k              A          B
 *	forward   pixels of y           filters     taps x channels      x          w
 *	data      pixels of dx          channels    taps x filters       dy         w
 *	weights   taps x channels       filters     pixels of y          x          dy
 *
 * An operand that is contiguous in memory along k (x and w of the forward pass, dy of the data
 * pass) is a tile of lines of 64 bytes along k; the others are lines across k. Pieces of 16 bytes
 * of a line are permuted by its number, so that a warp reads from different banks. PACK elements of
 * one tap are copied at a time: 16 bytes, or 4, or one element if the channels are not a multiple
 * of that.
 */
#ifndef GPUPROOF_KERNELS_CONVOLUTION_GEMM_CUH
#define GPUPROOF_KERNELS_CONVOLUTION_GEMM_CUH

#include <type_traits>

#include "kernels/convolution/convolution_problem.cuh"
#include "kernels/gemm/async_copy.cuh"
#include "device/cuda/cuda_kernel.h"
#include "kernels/storage.cuh"

/* Threads per block, defined by the including file. */
#ifndef GEMM_THREADS
#error "GEMM_THREADS"
#endif
#define GEMM_ROWS 128
#define GEMM_LINE_BYTES 64
#define GEMM_DEPTH(T) (GEMM_LINE_BYTES / (int)sizeof(T))
#define GEMM_STAGE_BYTES(columns) ((GEMM_ROWS + (columns)) * GEMM_LINE_BYTES)

/* Division of 0 to 2^31 - 1 by an invariant divisor (Granlund and Montgomery 1994). */
struct divider {
	unsigned size, factor, shift;

	__device__ __forceinline__ int quotient(int x) const
	{
		return (int)((__umulhi((unsigned)x, factor) + (unsigned)x) >> shift);
	}
	__device__ __forceinline__ int quotient(int x, int *rest) const
	{
		int q = quotient(x);

		*rest = x - q * (int)size;
		return q;
	}
};

static inline divider convolution_gemm_divider_of(unsigned size)
{
	unsigned shift = 0;

	while (shift < 31 && 1u << shift < size)
		shift++;
	return { size, (unsigned)((((1ull << shift) - size) << 32) / size + 1), shift };
}

/* Arguments of a launch; the data gradient has one launch per class of pixels (class_taps). */
struct convolution_gemm_arguments {
	convolution_problem problem;
	class_taps taps; /* all taps, or those of a class */
	int rows, columns, depth;
	int row_width, row_height; /* pixels of the rows (weights: of the depth) */
	int part;                  /* part of the depth per block */
	divider tap_columns, width, height, depth_channels, column_tiles;
};

/*
 * Pixel of a row (weights: of the depth): image and position that its first tap reads, and its
 * position in the output.
 */
struct alignas(16) row_pixel {
	int first; /* index over the pixels of all images */
	int h, w;
	int out; /* -1: beyond the last */
};

template <enum convolution_pass PASS>
static __device__ __forceinline__ row_pixel
convolution_gemm_row_pixel_of(const convolution_gemm_arguments &a, int row, int end)
{
	const convolution_shape &s = a.problem.shape;
	int stride = s.stride, padding = s.padding, w, h;
	int n = a.height.quotient(a.width.quotient(row, &w), &h);

	if (row >= end)
		return { 0, INT32_MIN / 2, INT32_MIN / 2, -1 };
	if (PASS != PASS_DATA) {
		h = h * stride - padding;
		w = w * stride - padding;
		return { (n * (int)s.height + h) * (int)s.width + w, h, w, row };
	}
	h = h * stride + a.taps.y;
	w = w * stride + a.taps.x;
	int out = (n * (int)s.height + h) * (int)s.width + w;

	h = (h + padding - a.taps.row) / stride;
	w = (w + padding - a.taps.column) / stride;
	return { (n * a.problem.out_height + h) * a.problem.out_width + w, h, w, out };
}

/*
 * Position of element `at` in a line of WIDTH elements. An unsigned `Index` needs fewer
 * instructions.
 */
template <typename T, bool ALONG, int WIDTH, typename Index>
static __device__ __forceinline__ int convolution_gemm_tile_offset(Index line, Index at)
{
	const Index V = 16 / sizeof(T);
	Index exchange = ALONG            ? line / 2 % 4
			 : sizeof(T) == 4 ? line % 4 * 2 % (WIDTH / 4)
			 : WIDTH == 16    ? line / 4 % 2
			 : WIDTH == 32    ? line / 2 % 4
					  : line % 8;

	return (int)(line * WIDTH + (at / V ^ exchange) * V + at % V);
}

/*
 * Copies are asynchronous, except packs of 2 bytes, which cp.async does not support: these are
 * loaded to registers before a stage is multiplied and stored after it.
 */
enum gather_phase { GATHER_COPY, GATHER_LOAD, GATHER_STORE };

template <typename T, int PACK, gather_phase PHASE>
static __device__ __forceinline__ void convolution_gemm_copy_pack(T *to, const T *from, bool in,
								  uint16_t *held)
{
	if (PHASE == GATHER_COPY)
		copy_async<PACK * sizeof(T) >= 16 ? 16 : 4>(to, from, in);
	else if (PHASE == GATHER_LOAD)
		*held = in ? __ldg(reinterpret_cast<const uint16_t *>(from)) : (uint16_t)0;
	else
		*reinterpret_cast<uint16_t *>(to) = *held;
}

/* Copies element `at` of a tensor. */
template <typename T, int PACK, gather_phase PHASE>
static __device__ __forceinline__ void
convolution_gemm_copy_element(T *to, const T *tensor, int64_t at, bool in, uint16_t *held)
{
	convolution_gemm_copy_pack<T, PACK, PHASE>(to, tensor + (in ? at : 0), in, held);
}

/*
 * threadIdx.x, read again here so that values computed from it do not occupy registers while a
 * stage is multiplied, which needs all of them.
 */
static __device__ __forceinline__ int convolution_gemm_thread_now(void)
{
	int thread = (int)threadIdx.x;

	asm volatile("" : "+r"(thread));
	return thread;
}

/* Gathers along k: the channels of an image's pixels that a row's taps read. */
template <typename T, convolution_pass PASS, int PACK, gather_phase PHASE>
static __device__ __forceinline__ void
convolution_gemm_gather_pixels(T *tile, const convolution_gemm_arguments &a, const row_pixel *rows,
			       int first, int end, uint16_t *held)
{
	const int DEPTH = GEMM_DEPTH(T), PACKS = DEPTH / PACK;
	const convolution_problem &p = a.problem;
	bool forward = PASS == PASS_FORWARD;
	const T *tensor = (const T *)(forward ? p.image : p.gradient);
	unsigned height = forward ? p.shape.height : (unsigned)p.out_height,
		 width = forward ? p.shape.width : (unsigned)p.out_width;
	int channels = forward ? p.shape.channels : p.shape.filters;
	int at = threadIdx.x % PACKS * PACK, channel, column;
	int tap = a.depth_channels.quotient(first + at, &channel),
	    row = a.tap_columns.quotient(tap, &column);

	if (!forward) {
		row = -row;
		column = -column;
	}

#pragma unroll
	for (int i = 0; i < GEMM_ROWS * PACKS / GEMM_THREADS; i++) {
		int line = threadIdx.x / PACKS + i * (GEMM_THREADS / PACKS);
		row_pixel r = rows[line];

		convolution_gemm_copy_element<T, PACK, PHASE>(
			tile + convolution_gemm_tile_offset<T, true, DEPTH>(line, at), tensor,
			(int64_t)(r.first + row * (int)width + column) * channels + channel,
			first + at < end && (unsigned)(r.h + row) < height &&
				(unsigned)(r.w + column) < width,
			held + i);
	}
}

/* Gathers along k: filters. */
template <typename T, int PACK, int COLUMNS, gather_phase PHASE>
static __device__ __forceinline__ void
convolution_gemm_gather_filters(T *tile, const convolution_gemm_arguments &a, int column, int first,
				int end, uint16_t *held)
{
	const int DEPTH = GEMM_DEPTH(T), PACKS = DEPTH / PACK;
	int at = threadIdx.x % PACKS * PACK;

#pragma unroll
	for (int i = 0; i < COLUMNS * PACKS / GEMM_THREADS; i++) {
		int line = threadIdx.x / PACKS + i * (GEMM_THREADS / PACKS);

		convolution_gemm_copy_element<T, PACK, PHASE>(
			tile + convolution_gemm_tile_offset<T, true, DEPTH>(line, at),
			(const T *)a.problem.weights,
			(int64_t)(column + line) * a.depth + first + at,
			first + at < end && column + line < a.columns, held + i);
	}
}

/* Gathers across k: weights of a class's taps and their filters. */
template <typename T, int PACK, int COLUMNS, gather_phase PHASE>
static __device__ __forceinline__ void
convolution_gemm_gather_channels(T *tile, const convolution_gemm_arguments &a, int column,
				 int first, int end, uint16_t *held)
{
	const int PACKS = COLUMNS / PACK;
	int thread = convolution_gemm_thread_now();
	const convolution_shape &s = a.problem.shape;
	int stride = s.stride, taps = s.kernel_height * s.kernel_width;
	int at = thread % PACKS * PACK;

#pragma unroll
	for (int i = 0; i < GEMM_DEPTH(T) * PACKS / GEMM_THREADS; i++) {
		int line = thread / PACKS + i * (GEMM_THREADS / PACKS), filter, c;
		int r = a.tap_columns.quotient(a.depth_channels.quotient(first + line, &filter),
					       &c);
		int tap = (a.taps.row + r * stride) * (int)s.kernel_width + a.taps.column +
			  c * stride;

		convolution_gemm_copy_element<T, PACK, PHASE>(
			tile + convolution_gemm_tile_offset<T, false, COLUMNS>(line, at),
			(const T *)a.problem.weights,
			((int64_t)filter * taps + tap) * s.channels + column + at,
			first + line < end && column + at < a.columns, held + i);
	}
}

/* Gathers across k: image values that taps read for pixels of y; rows are taps x channels. */
template <typename T, int PACK, gather_phase PHASE>
static __device__ __forceinline__ void
convolution_gemm_gather_taps(T *tile, const convolution_gemm_arguments &a, const row_pixel *pixels,
			     int row, uint16_t *held)
{
	const int PACKS = GEMM_ROWS / PACK;
	const convolution_shape &s = a.problem.shape;
	unsigned thread =
		(unsigned)convolution_gemm_thread_now() % GEMM_THREADS; /* a known range */
	int at = thread % PACKS * PACK, channel, c;
	int r = a.tap_columns.quotient(a.depth_channels.quotient(row + at, &channel), &c);
	const char *tap =
		(const char *)((const T *)a.problem.image +
			       (int64_t)(r * (int)s.width + c) * (int)s.channels + channel);
	int pitch = (int)s.channels * (int)sizeof(T);
	bool in = row + at < a.rows;
	/* A copy waits for its pixel, so up to four pixels are read at a time. */
	const int COPIES = GEMM_DEPTH(T) * PACKS / GEMM_THREADS, GROUP = COPIES < 4 ? COPIES : 4;

#pragma unroll
	for (int first = 0; first < COPIES; first += GROUP) {
		row_pixel group[GROUP];

#pragma unroll
		for (int i = 0; i < GROUP; i++)
			group[i] = pixels[thread / PACKS + (first + i) * (GEMM_THREADS / PACKS)];
#pragma unroll
		for (int i = 0; i < GROUP; i++) {
			int line = thread / PACKS + (first + i) * (GEMM_THREADS / PACKS);
			const row_pixel &p = group[i];

			convolution_gemm_copy_pack<T, PACK, PHASE>(
				tile + convolution_gemm_tile_offset<T, false, GEMM_ROWS, unsigned>(
					       line, at),
				(const T *)(tap + (int64_t)p.first * pitch),
				in & ((unsigned)(p.h + r) < s.height) &
					((unsigned)(p.w + c) < s.width),
				held + first + i);
		}
	}
}

/* Gathers across k: the filters of a pixel of dy. */
template <typename T, int PACK, int COLUMNS, gather_phase PHASE>
static __device__ __forceinline__ void
convolution_gemm_gather_gradients(T *tile, const convolution_gemm_arguments &a, int column,
				  int first, int end, uint16_t *held)
{
	const int PACKS = COLUMNS / PACK;
	int at = threadIdx.x % PACKS * PACK;

#pragma unroll
	for (int i = 0; i < GEMM_DEPTH(T) * PACKS / GEMM_THREADS; i++) {
		int line = threadIdx.x / PACKS + i * (GEMM_THREADS / PACKS);

		convolution_gemm_copy_pack<T, PACK, PHASE>(
			tile + convolution_gemm_tile_offset<T, false, COLUMNS, unsigned>(line, at),
			(const T *)a.problem.gradient + (int64_t)(first + line) * a.columns +
				column + at,
			first + line < end && column + at < a.columns, held + i);
	}
}

static __device__ __forceinline__ void convolution_gemm_store_two(float *to, float x, float y)
{
	*reinterpret_cast<float2 *>(to) = make_float2(x, y);
}
template <typename T>
static __device__ __forceinline__ void convolution_gemm_store_two(T *to, float x, float y)
{
	alignas(4) T pair[2];

	storage_from_math(&pair[0], x);
	storage_from_math(&pair[1], y);
	*reinterpret_cast<unsigned *>(to) = *reinterpret_cast<const unsigned *>(pair);
}

/*
 * Lines of the output for a block's tile, each contiguous in memory: columns of a row's pixel; for
 * the weights, rows of a column, in FP32.
 */
template <typename T, convolution_pass PASS> struct tile_store {
	typedef typename std::conditional<PASS == PASS_WEIGHTS, float, T>::type element;
	const convolution_gemm_arguments &a;
	const row_pixel *rows;
	int row, column; /* first of the tile */

	/* Line of row `i` of the tile (weights: column); null beyond the last. */
	__device__ __forceinline__ element *line(int i) const
	{
		if (PASS == PASS_WEIGHTS)
			return column + i < a.columns
				       ? (element *)a.problem.parts +
						 ((int64_t)blockIdx.z * a.columns + column + i) *
							 a.rows +
						 row
				       : nullptr;
		return rows[i].out >= 0 ? (element *)a.problem.out +
						  (int64_t)rows[i].out * a.columns + column
					: nullptr;
	}
	/* Number of elements of a line that are in the tensor. */
	__device__ __forceinline__ int end(void) const
	{
		return PASS == PASS_WEIGHTS ? a.rows - row : a.columns - column;
	}
	/* True if each even element of a line can be stored together with the next. */
	__device__ __forceinline__ bool pairs(void) const
	{
		return PASS != PASS_WEIGHTS && a.columns % 2 == 0 &&
		       (uintptr_t)a.problem.out % (2 * sizeof(T)) == 0;
	}
};

/*
 * PRODUCTS keeps a thread's sums: add(left, right) multiplies a stage, attention_host_store(to)
 * stores them. STAGES stages are being copied or multiplied. RIGHT: pack of the right operand.
 */
template <typename T, convolution_pass PASS, int PACK, int RIGHT, int COLUMNS, int STAGES,
	  typename PRODUCTS>
static __device__ __forceinline__ void
convolution_gemm_multiply_tile(const convolution_gemm_arguments &a)
{
	extern __shared__ __align__(128) char gemm_memory[];
	/* Weights: pixels along k; one half of the table is filled while the other is read. */
	__shared__ row_pixel rows[PASS == PASS_WEIGHTS ? 2 * GEMM_ROWS : GEMM_ROWS];
	const int DEPTH = GEMM_DEPTH(T);
	int column, row = a.column_tiles.quotient(blockIdx.x, &column) * GEMM_ROWS;
	int begin = blockIdx.z * a.part, end = begin + a.part < a.depth ? begin + a.part : a.depth;
	int to = 0; /* stage to copy to; the next one is multiplied */
	PRODUCTS products;

	column *= COLUMNS;
	if (PASS == PASS_WEIGHTS)
		for (int i = threadIdx.x; i < 2 * GEMM_ROWS; i += GEMM_THREADS) {
			int pixel = begin / GEMM_ROWS * GEMM_ROWS + i;

			rows[pixel % (2 * GEMM_ROWS)] =
				convolution_gemm_row_pixel_of<PASS>(a, pixel, end);
		}
	else if (threadIdx.x < GEMM_ROWS)
		rows[threadIdx.x] =
			convolution_gemm_row_pixel_of<PASS>(a, row + threadIdx.x, a.rows);

	const bool HELD = PACK * sizeof(T) < 4, HELD_RIGHT = RIGHT * sizeof(T) < 4;
	/* one more element, because an array must not be empty */
	uint16_t held_left[HELD ? GEMM_ROWS * DEPTH / GEMM_THREADS : 1],
		held_right[HELD_RIGHT ? COLUMNS * DEPTH / GEMM_THREADS : 1];

	/* Copies of a stage, or their second half, which stores the held elements. */
	auto gather = [&](auto ends, int first) {
		const bool END = decltype(ends)::value;
		const gather_phase OF_LEFT = END ? GATHER_STORE : HELD ? GATHER_LOAD : GATHER_COPY;
		const gather_phase OF_RIGHT = END          ? GATHER_STORE
					      : HELD_RIGHT ? GATHER_LOAD
							   : GATHER_COPY;
		T *left = (T *)(gemm_memory + to * GEMM_STAGE_BYTES(COLUMNS)),
		  *right = left + GEMM_ROWS * DEPTH;

		if (first >= end)
			return;
		if constexpr (END && !HELD)
			(void)left;
		else if constexpr (PASS == PASS_WEIGHTS)
			convolution_gemm_gather_taps<T, PACK, OF_LEFT>(
				left, a, rows + first % (2 * GEMM_ROWS), row, held_left);
		else
			convolution_gemm_gather_pixels<T, PASS, PACK, OF_LEFT>(left, a, rows, first,
									       end, held_left);
		if (END && !HELD_RIGHT)
			return;
		if (PASS == PASS_FORWARD)
			convolution_gemm_gather_filters<T, RIGHT, COLUMNS, OF_RIGHT>(right, a,
										     column, first,
										     end,
										     held_right);
		else if (PASS == PASS_DATA)
			convolution_gemm_gather_channels<T, RIGHT, COLUMNS, OF_RIGHT>(right, a,
										      column, first,
										      end,
										      held_right);
		else
			convolution_gemm_gather_gradients<T, RIGHT, COLUMNS, OF_RIGHT>(right, a,
										       column,
										       first, end,
										       held_right);
	};
	std::integral_constant<bool, false> begin_copies;
	std::integral_constant<bool, true> end_copies;

	/*
	 * The first iterations only copy. The loop body is not unrolled: four copies made this the
	 * largest code of all.
	 */
#pragma unroll 1
	for (int first = begin - (STAGES - 1) * DEPTH; first < end; first += DEPTH) {
		int from = to + 1 < STAGES ? to + 1 : 0;
		const T *left = (const T *)(gemm_memory + from * GEMM_STAGE_BYTES(COLUMNS));

		async_copy_wait<STAGES - 2>();
		/* the stage is loaded, and all warps are done with the previous one */
		__syncthreads();
		gather(begin_copies, first + (STAGES - 1) * DEPTH);
		async_copy_commit();
		if (PASS == PASS_WEIGHTS) {
			int next = first + (STAGES - 1) * DEPTH;

			/*
			 * Rarely, and for all warps at once, so that none waits for another's
			 * divisions.
			 */
			if (next % GEMM_ROWS == 0 && threadIdx.x < GEMM_ROWS) {
				next += GEMM_ROWS + (int)threadIdx.x;
				rows[next % (2 * GEMM_ROWS)] =
					convolution_gemm_row_pixel_of<PASS>(a, next, end);
			}
		}
		if (first >= begin)
			products.add(left, left + GEMM_ROWS * DEPTH);
		if constexpr (HELD || HELD_RIGHT)
			gather(end_copies, first + (STAGES - 1) * DEPTH);
		to = from;
	}
	products.store(tile_store<T, PASS>{ a, rows, row, column });
}

typedef void convolution_gemm_kernel(const convolution_gemm_arguments a);

static inline int convolution_gemm_ceiling(int64_t count, int size)
{
	return (int)((count + size - 1) / size);
}

/* Launches a kernel for tiles of `columns`, steps of `depth`: once, or per class of pixels. */
template <enum convolution_pass PASS>
static enum status convolution_gemm_launch(struct stream *stream, convolution_gemm_kernel *kernel,
					   const convolution_problem &p, int columns, int depth,
					   int stages, struct error *err)
{
	const convolution_shape &s = p.shape;
	int taps = (int)(s.kernel_height * s.kernel_width), stride = (int)s.stride;
	int classes = PASS == PASS_DATA ? stride * stride : 1, bytes, parts = 1;
	convolution_gemm_arguments a = {};
	cudaStream_t handle = cuda_stream_handle(stream);

	bytes = stages * GEMM_STAGE_BYTES(columns);
	if (cuda_stream_shared_memory(stream, (const void *)kernel, bytes, err) != STATUS_OK)
		return err->status;
	a.problem = p;
	for (int kind = 0; kind < classes; kind++) {
		a.row_width = p.out_width;
		a.row_height = p.out_height;
		a.taps = { 0, 0, 0, 0, (int)s.kernel_height, (int)s.kernel_width };
		a.columns = (int)(PASS == PASS_DATA ? s.channels : s.filters);
		a.depth = taps * (int)s.channels;
		a.rows = (int)kernel_convolution_out_pixels(&s);
		if (PASS == PASS_DATA) {
			a.taps = convolution_problem_class_taps_of(s, kind);
			a.row_width = convolution_gemm_ceiling((int)s.width - a.taps.x, stride);
			a.row_height = convolution_gemm_ceiling((int)s.height - a.taps.y, stride);
			a.rows = (int)s.batch * a.row_height * a.row_width;
			a.depth = a.taps.rows * a.taps.columns * (int)s.filters;
		}
		if (PASS == PASS_WEIGHTS) {
			int pixels = a.rows;

			a.rows = a.depth;
			a.depth = pixels;
			parts = (int)kernel_convolution_parts(&s);
		}
		if (a.rows == 0)
			continue;
		a.part = convolution_gemm_ceiling(convolution_gemm_ceiling(a.depth, parts), depth) *
			 depth;
		a.tap_columns = convolution_gemm_divider_of(
			a.taps.columns > 0 ? (unsigned)a.taps.columns : 1);
		a.width = convolution_gemm_divider_of((unsigned)a.row_width);
		a.height = convolution_gemm_divider_of((unsigned)a.row_height);
		a.depth_channels =
			convolution_gemm_divider_of(PASS == PASS_DATA ? s.filters : s.channels);
		a.column_tiles = convolution_gemm_divider_of(
			(unsigned)convolution_gemm_ceiling(a.columns, columns));
		kernel<<<dim3((unsigned)convolution_gemm_ceiling(a.rows, GEMM_ROWS) *
				      a.column_tiles.size,
			      1, (unsigned)parts),
			 GEMM_THREADS, bytes, handle>>>(a);
	}
	return STATUS_OK;
}

/* Calls launch() with the pass as a constant. */
template <typename Launch>
static enum status convolution_gemm_for_pass(enum convolution_pass pass, Launch launch)
{
	if (pass == PASS_FORWARD)
		return launch(std::integral_constant<convolution_pass, PASS_FORWARD>());
	if (pass == PASS_DATA)
		return launch(std::integral_constant<convolution_pass, PASS_DATA>());
	return launch(std::integral_constant<convolution_pass, PASS_WEIGHTS>());
}

#endif
