/*
 * Implicit-GEMM convolution with WGMMA, sm_90a.
 *
 * A tile's pixels are a box of an image: width x height x images. TMA loads the box of the image
 * that a filter tap reads, 64 channels at a time, and fills padding with zeros: no im2col buffer.
 * TMA also applies the stride. A line in shared memory has 64 channels of a pixel.
 *
 *	forward:  128 pixels x COLUMNS filters,  k: taps x channels; both operands run along k
 *	data:     128 pixels x COLUMNS channels, k: taps x filters; of dy, the weights across
 *	weights:  128 filters x COLUMNS channels of a tap, k: pixels, 64 at a time; both across
 *
 * For TF32 a line has 32 channels, and TMA rounds to TF32. Its operands in shared memory must run
 * along k. The data gradient is therefore computed transposed, with the weights read across from
 * shared memory to registers; the weight gradient is not implemented here.
 *
 *	data, TF32:  128 channels x COLUMNS pixels
 *
 * As in the GEMM kernel, a block is persistent and computes one tile after another; one thread
 * copies, STAGES ahead, and two groups of four warps multiply, each half of the tile's rows.
 */
#ifndef GPUPROOF_KERNELS_CONVOLUTION_WGMMA_CUH
#define GPUPROOF_KERNELS_CONVOLUTION_WGMMA_CUH

#include "kernels/convolution/convolution_problem.cuh"
#include "kernels/gemm/tma.cuh"
#include "kernels/gemm/mma.cuh"
#include "kernels/gemm/wgmma.cuh"

#define CONVOLUTION_THREADS 384
#define CONVOLUTION_STAGES 4
#define CONVOLUTION_ROWS 128
#define CONVOLUTION_LINE_BYTES 128
#define CONVOLUTION_LINE_OF(T) (CONVOLUTION_LINE_BYTES / (int)sizeof(T))
#define CONVOLUTION_LINE 64 /* 16-bit elements */
/*
 * 64 lines: what one group multiplies of the left operand, and one copy of an operand read across
 * its lines.
 */
#define CONVOLUTION_BLOCK_BYTES (64 * CONVOLUTION_LINE_BYTES)
#define CONVOLUTION_LEFT_BYTES (CONVOLUTION_ROWS * CONVOLUTION_LINE_BYTES)
/* A right operand read across its lines is copied in whole blocks. */
#define CONVOLUTION_BLOCKS(columns) (((columns) + CONVOLUTION_LINE - 1) / CONVOLUTION_LINE)
#define CONVOLUTION_STAGE_BYTES(pass, columns)                      \
	(CONVOLUTION_LEFT_BYTES +                                   \
	 ((pass) == PASS_FORWARD ? (columns)*CONVOLUTION_LINE_BYTES \
				 : CONVOLUTION_BLOCKS(columns) * CONVOLUTION_BLOCK_BYTES))
#define CONVOLUTION_SHARED_BYTES(pass, columns) \
	(CONVOLUTION_STAGES * CONVOLUTION_STAGE_BYTES(pass, columns) + 1024)

/* Transposed data gradient in TF32: rows of tiles are channels, columns pixels. */
#define CONVOLUTION_TURNED(T, PASS) (sizeof(T) == 4 && (PASS) == PASS_DATA)
/* A copy of its weights: 32 channels of 32 filters. */
#define CONVOLUTION_TURNED_LINE 32
#define CONVOLUTION_TURNED_BYTES (CONVOLUTION_TURNED_LINE * CONVOLUTION_LINE_BYTES)

/* Shape of the boxes of pixels, and the number that covers the images. */
struct pixel_boxes {
	int width, height, images;
	int across, down, deep;
};

struct convolution_tiles {
	convolution_problem problem;
	pixel_boxes boxes; /* of the pixels that the pass writes; weights: that it sums over */
	int pixel_width, pixel_height;
	int column_tiles;      /* of filters or channels; transposed: of boxes */
	int row_tiles;         /* of boxes; weights: of filters; transposed: of channels */
	int inner;             /* channels or filters summed over, in steps of a line */
	int parts, part_steps; /* weights: parts of the sum, and steps per part */
	int tiles;
};

struct convolution_maps {
	CUtensorMap left, right;
};

/* First pixel of a box. */
struct box_place {
	int w, h, n;

	__device__ __forceinline__ box_place(const pixel_boxes &b, int box)
	{
		w = box % b.across * b.width;
		h = box / b.across % b.down * b.height;
		n = box / b.across / b.down * b.images;
	}
};

/*
 * A tile of the result. `kind`: for the weight gradient the tap; for the data gradient the class of
 * pixels (class_taps).
 */
struct tile_place {
	int column, row, kind, part;
};

template <enum convolution_pass PASS>
static __device__ __forceinline__ tile_place place_of(const convolution_tiles &t, int tile)
{
	const convolution_shape &s = t.problem.shape;
	tile_place at = { tile % t.column_tiles, tile / t.column_tiles, 0, 0 };
	int taps = s.kernel_height * s.kernel_width;

	if (PASS == PASS_DATA) { /* tiles sorted by class: classes take different times */
		at.kind = at.row / t.row_tiles;
		at.row %= t.row_tiles;
	}
	if (PASS == PASS_WEIGHTS) {
		at.kind = at.row % taps;
		at.part = at.row / taps % t.parts;
		at.row = at.row / taps / t.parts;
	}
	return at;
}

template <enum convolution_pass PASS>
static __device__ __forceinline__ int steps_of(const convolution_tiles &t, const tile_place &at)
{
	const convolution_shape &s = t.problem.shape;
	int boxes = t.boxes.across * t.boxes.down * t.boxes.deep, first = at.part * t.part_steps;

	if (PASS == PASS_FORWARD)
		return (int)(s.kernel_height * s.kernel_width) * t.inner;
	if (PASS == PASS_DATA) {
		class_taps taps = class_taps_of(s, at.kind);

		return taps.rows * taps.columns * t.inner;
	}
	return boxes - first < t.part_steps ? (boxes > first ? boxes - first : 0) : t.part_steps;
}

template <typename T, enum convolution_pass PASS, int COLUMNS>
static __device__ __forceinline__ void copy_step(const convolution_tiles &t,
						 const convolution_maps &maps, const tile_place &at,
						 int step, char *left, uint64_t *full)
{
	const convolution_shape &s = t.problem.shape;
	char *right = left + CONVOLUTION_LEFT_BYTES;
	int width = s.kernel_width, stride = s.stride, padding = s.padding;

	if (PASS == PASS_WEIGHTS) {
		box_place box(t.boxes, at.part * t.part_steps + step);

		for (int i = 0; i < CONVOLUTION_ROWS / CONVOLUTION_LINE; i++)
			tma_load(left + i * CONVOLUTION_BLOCK_BYTES, &maps.left,
				 at.row * CONVOLUTION_ROWS + i * CONVOLUTION_LINE, box.w, box.h,
				 box.n, full);
		for (int i = 0; i < CONVOLUTION_BLOCKS(COLUMNS); i++)
			tma_load(right + i * CONVOLUTION_BLOCK_BYTES, &maps.right,
				 at.column * COLUMNS + i * CONVOLUTION_LINE,
				 box.w * stride + at.kind % width - padding,
				 box.h * stride + at.kind / width - padding, box.n, full);
		return;
	}
	const bool TURNED = CONVOLUTION_TURNED(T, PASS);
	box_place box(t.boxes, TURNED ? at.column : at.row);
	int tap = step / t.inner, inner = step % t.inner * CONVOLUTION_LINE_OF(T);

	if (PASS == PASS_FORWARD) {
		tma_load(left, &maps.left, inner, box.w * stride + tap % width - padding,
			 box.h * stride + tap / width - padding, box.n, full);
		tma_load(right, &maps.right, inner, tap, at.column * COLUMNS, full);
		return;
	}
	class_taps taps = class_taps_of(s, at.kind);
	int r = taps.row + tap / taps.columns * stride,
	    c = taps.column + tap % taps.columns * stride;

	tma_load(TURNED ? right : left, TURNED ? &maps.right : &maps.left, inner,
		 box.w + (taps.x + padding - c) / stride, box.h + (taps.y + padding - r) / stride,
		 box.n, full);
	for (int i = 0; i < (TURNED ? CONVOLUTION_ROWS / CONVOLUTION_TURNED_LINE
				    : CONVOLUTION_BLOCKS(COLUMNS));
	     i++)
		if (TURNED)
			tma_load(left + i * CONVOLUTION_TURNED_BYTES, &maps.left,
				 at.row * CONVOLUTION_ROWS + i * CONVOLUTION_TURNED_LINE,
				 r * width + c, inner, full);
		else
			tma_load(right + i * CONVOLUTION_BLOCK_BYTES, &maps.right,
				 at.column * COLUMNS + i * CONVOLUTION_LINE, r * width + c, inner,
				 full);
}

template <typename T, enum convolution_pass PASS, int COLUMNS>
static __device__ __forceinline__ void
convolution_produce(const convolution_tiles &t, const convolution_maps &maps, char *stages,
		    uint64_t *full, uint64_t *empty)
{
	pipeline_state<CONVOLUTION_STAGES> r;

	for (int tile = blockIdx.x; tile < t.tiles; tile += gridDim.x) {
		tile_place at = place_of<PASS>(t, tile);
		int steps = steps_of<PASS>(t, at);

		for (int step = 0; step < steps; step++) {
			mbarrier_wait(&empty[r.stage], r.phase ^ 1);
			mbarrier_expect_tx(&full[r.stage], CONVOLUTION_STAGE_BYTES(PASS, COLUMNS));
			copy_step<T, PASS, COLUMNS>(
				t, maps, at, step,
				stages + r.stage * CONVOLUTION_STAGE_BYTES(PASS, COLUMNS),
				&full[r.stage]);
			r.advance();
		}
	}
}

/*
 * Multiplies one line deep. An instruction is 32 bytes deep along a line; across lines, 16 lines
 * are 2,048 bytes.
 */
template <typename T, enum convolution_pass PASS, int COUNT>
static __device__ __forceinline__ void multiply_step(float (&d)[COUNT], const char *left,
						     const char *right, bool keep)
{
	uint64_t a = operand_descriptor(left, 16, 1024),
		 b = operand_descriptor(right, PASS == PASS_FORWARD ? 16 : CONVOLUTION_BLOCK_BYTES,
					1024);

#pragma unroll
	for (int i = 0; i < CONVOLUTION_LINE_BYTES / 32; i++) {
		if constexpr (PASS == PASS_FORWARD)
			multiply_kk(T(), d, a + (i * 32 >> 4), b + (i * 32 >> 4), keep || i > 0);
		else if constexpr (PASS == PASS_DATA)
			multiply_km(T(), d, a + (i * 32 >> 4), b + (i * 2048 >> 4), keep || i > 0);
		else
			multiply_mm(T(), d, a + (i * 2048 >> 4), b + (i * 2048 >> 4),
				    keep || i > 0);
	}
}

/*
 * Loads the left operand of a transposed step: weights stored as filters x channels, 32 of each per
 * copy; the 16 channels of this warp for all 32 filters.
 */
static __device__ __forceinline__ void load_turned(unsigned (&a)[16], const char *left)
{
	int warp = threadIdx.x / 32 - 4, lane = threadIdx.x % 32;
	int channel = warp % 2 * 16 + lane / 4;
	const char *copy = left + warp / 2 * CONVOLUTION_TURNED_BYTES;

#pragma unroll
	for (int i = 0; i < 16; i++) {
		int filter = i / 4 * 8 + i % 4 / 2 * 4 + lane % 4, c = channel + i % 2 * 8;

		a[i] = *reinterpret_cast<const unsigned *>(copy + filter * CONVOLUTION_LINE_BYTES +
							   (c / 4 ^ filter % 8) * 16 + c % 4 * 4);
	}
}

template <int COUNT>
static __device__ __forceinline__ void multiply_turned(float (&d)[COUNT], const unsigned (&a)[16],
						       const char *right, bool keep)
{
	uint64_t b = operand_descriptor(right, 16, 1024);

#pragma unroll
	for (int i = 0; i < CONVOLUTION_LINE_BYTES / 32; i++)
		multiply_held_tf32(d, a + i * 4, b + (i * 32 >> 4), keep || i > 0);
}

static __device__ __forceinline__ unsigned stored_pair(half, float x, float y)
{
	half2 pair = __floats2half2_rn(x, y);

	return *reinterpret_cast<unsigned *>(&pair);
}
static __device__ __forceinline__ unsigned stored_pair(__nv_bfloat16, float x, float y)
{
	__nv_bfloat162 pair = __floats2bfloat162_rn(x, y);

	return *reinterpret_cast<unsigned *>(&pair);
}

/* Tile row h of the thread's two rows, which are 8 apart. */
static __device__ __forceinline__ int tile_row(int h)
{
	return (threadIdx.x / 128 - 1) * 64 + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4 +
	       h * 8;
}

/* Stores a thread's sums: per 8 columns, two neighbours in each of its rows. */
template <int COLUMNS>
static __device__ __forceinline__ void store_parts(const convolution_tiles &t, const tile_place &at,
						   const float (&d)[COLUMNS / 2])
{
	const convolution_shape &s = t.problem.shape;
	int taps = s.kernel_height * s.kernel_width;
	int column = at.column * COLUMNS + threadIdx.x % 4 * 2;

#pragma unroll
	for (int h = 0; h < 2; h++) {
		int row = at.row * CONVOLUTION_ROWS + tile_row(h);
		float *sums = t.problem.parts +
			      (((int64_t)at.part * s.filters + row) * taps + at.kind) * s.channels;

#pragma unroll
		for (int i = 0; i < COLUMNS / 8; i++)
			if (row < (int)s.filters && column + i * 8 < (int)s.channels)
				*reinterpret_cast<float2 *>(sums + column + i * 8) =
					make_float2(d[4 * i + 2 * h], d[4 * i + 2 * h + 1]);
	}
}

/* Pixel of the result with number `row` in a box; -1 outside of the images. */
template <enum convolution_pass PASS>
static __device__ __forceinline__ int pixel_of(const convolution_tiles &t, int kind, int in_box,
					       int row)
{
	const convolution_shape &s = t.problem.shape;
	box_place box(t.boxes, in_box);
	int w = box.w + row % t.boxes.width, h = box.h + row / t.boxes.width % t.boxes.height,
	    n = box.n + row / t.boxes.width / t.boxes.height;

	if (PASS == PASS_DATA) {
		w = w * (int)s.stride + kind % (int)s.stride;
		h = h * (int)s.stride + kind / (int)s.stride;
	}
	if (w >= t.pixel_width || h >= t.pixel_height || n >= (int)s.batch)
		return -1;
	return (n * t.pixel_height + h) * t.pixel_width + w;
}

/* Stores the sums of a row of the tile, `line`, from `column` on: 16 bytes per thread. */
template <typename T, int COLUMNS>
static __device__ __forceinline__ void store_line(T *line, int column, int end, int h,
						  const float (&d)[COLUMNS / 2])
{
	column += threadIdx.x % 4 * 8;
#pragma unroll
	for (int i = 0; i < COLUMNS / 8; i += 4) {
		unsigned v[4];

#pragma unroll
		for (int k = 0; k < 4; k++)
			v[k] = stored_pair(T(), d[4 * (i + k) + 2 * h], d[4 * (i + k) + 2 * h + 1]);
		exchange_pairs(v);
		if (column + i * 8 < end)
			*reinterpret_cast<uint4 *>(line + column + i * 8) =
				make_uint4(v[0], v[1], v[2], v[3]);
	}
}
/* For FP32: 8 bytes per thread. */
template <int COLUMNS>
static __device__ __forceinline__ void store_floats(float *line, int column, int end, int h,
						    const float (&d)[COLUMNS / 2])
{
	column += threadIdx.x % 4 * 2;
#pragma unroll
	for (int i = 0; i < COLUMNS / 8; i++)
		if (column + i * 8 < end)
			*reinterpret_cast<float2 *>(line + column + i * 8) =
				make_float2(d[4 * i + 2 * h], d[4 * i + 2 * h + 1]);
}

template <typename T, enum convolution_pass PASS, int COLUMNS>
static __device__ __forceinline__ void
store_pixels(const convolution_tiles &t, const tile_place &at, const float (&d)[COLUMNS / 2])
{
	const convolution_shape &s = t.problem.shape;
	int columns = PASS == PASS_FORWARD ? s.filters : s.channels;

#pragma unroll
	for (int h = 0; h < 2; h++) {
		int pixel = pixel_of<PASS>(t, at.kind, at.row, tile_row(h));
		T *line = (T *)t.problem.out + (int64_t)pixel * columns;
		int end = pixel >= 0 ? columns : 0;

		if constexpr (sizeof(T) == 4)
			store_floats<COLUMNS>(line, at.column * COLUMNS, end, h, d);
		else
			store_line<T, COLUMNS>(line, at.column * COLUMNS, end, h, d);
	}
}

/* Synchronises all threads that multiply. */
static __device__ __forceinline__ void multipliers_wait(void)
{
	asm volatile("bar.sync 1, 256;" ::: "memory");
}

/* Stores the channels of the pixels whose indices are in `pixels`. */
template <int COLUMNS>
static __device__ __forceinline__ void store_turned(const convolution_tiles &t,
						    const tile_place &at, const int *pixels,
						    const float (&d)[COLUMNS / 2])
{
	int channels = t.problem.shape.channels;

#pragma unroll
	for (int i = 0; i < COLUMNS / 2; i++) {
		int pixel = pixels[i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2],
		    channel = at.row * CONVOLUTION_ROWS + tile_row(i / 2 % 2);

		if (pixel >= 0 && channel < channels)
			((float *)t.problem.out)[(int64_t)pixel * channels + channel] = d[i];
	}
}

template <typename T, enum convolution_pass PASS, int COLUMNS>
static __device__ __forceinline__ void convolution_consume(const convolution_tiles &t, char *stages,
							   uint64_t *full, uint64_t *empty,
							   int *pixels)
{
	const bool TURNED = CONVOLUTION_TURNED(T, PASS);
	int group = threadIdx.x / 128 - 1;
	pipeline_state<CONVOLUTION_STAGES> r;
	float d[COLUMNS / 2];

	for (int tile = blockIdx.x; tile < t.tiles; tile += gridDim.x) {
		tile_place at = place_of<PASS>(t, tile);
		int steps = steps_of<PASS>(t, at), last = 0;

		if (TURNED) {
			int row = threadIdx.x - 128;

			multipliers_wait(); /* the previous tile is stored */
			if (row < COLUMNS)
				pixels[row] = pixel_of<PASS>(t, at.kind, at.column, row);
		}
		for (int step = 0; step < steps; step++) {
			const char *left =
				stages + r.stage * CONVOLUTION_STAGE_BYTES(PASS, COLUMNS);

			mbarrier_wait(&full[r.stage], r.phase);
			if constexpr (TURNED) {
				unsigned a[16];

				/* The other group multiplies while this one loads. */
				load_turned(a, left);
				wgmma_begin();
				multiply_turned(d, a, left + CONVOLUTION_LEFT_BYTES, step > 0);
				wgmma_commit();
				wgmma_wait<0>();
				accumulators_fence(d);
				consumer_release(&empty[r.stage]);
				r.advance();
				continue;
			}
			wgmma_begin();
			if constexpr (!TURNED)
				multiply_step<T, PASS>(d, left + group * CONVOLUTION_BLOCK_BYTES,
						       left + CONVOLUTION_LEFT_BYTES, step > 0);
			wgmma_commit();
			wgmma_wait<1>();
			if (step > 0)
				consumer_release(&empty[last]);
			last = r.stage;
			r.advance();
		}
		wgmma_wait<0>();
		accumulators_fence(d);
		if (!TURNED && steps > 0)
			consumer_release(&empty[last]);
		if (steps == 0) /* a part without pixels */
#pragma unroll
			for (int i = 0; i < COLUMNS / 2; i++)
				d[i] = 0;
		if (TURNED)
			multipliers_wait(); /* `pixels` is filled */
		if constexpr (PASS == PASS_WEIGHTS)
			store_parts<COLUMNS>(t, at, d);
		else if constexpr (TURNED)
			store_turned<COLUMNS>(t, at, pixels, d);
		else
			store_pixels<T, PASS, COLUMNS>(t, at, d);
	}
}

template <typename T, enum convolution_pass PASS, int COLUMNS>
static __global__ void __launch_bounds__(CONVOLUTION_THREADS, 1)
	convolution_wgmma(const __grid_constant__ convolution_tiles t,
			  const __grid_constant__ convolution_maps maps)
{
	extern __shared__ char convolution_memory[];
	__shared__ uint64_t full[CONVOLUTION_STAGES], empty[CONVOLUTION_STAGES];
	__shared__ int pixels[CONVOLUTION_TURNED(T, PASS) ? COLUMNS : 1];
	/* The swizzle counts lines from multiples of 1,024 bytes. */
	char *stages =
		convolution_memory + (1024 - shared_address(convolution_memory) % 1024) % 1024;

	if (threadIdx.x == 0) {
		for (int i = 0; i < CONVOLUTION_STAGES; i++) {
			mbarrier_init(&full[i], 1);
			mbarrier_init(&empty[i], 8); /* each warp that multiplies */
		}
		mbarriers_publish();
	}
	__syncthreads();
	if (threadIdx.x < 128) {
		asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
		if (threadIdx.x == 0)
			convolution_produce<T, PASS, COLUMNS>(t, maps, stages, full, empty);
	} else {
		asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
		convolution_consume<T, PASS, COLUMNS>(t, stages, full, empty, pixels);
	}
}

#endif
