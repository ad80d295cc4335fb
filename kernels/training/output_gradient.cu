/*
 * output_gradient: see training.h. A block processes a strip of columns and some of the rows, tile
 * by tile. For the transposed copy, a tile is read along the rows and written along the columns,
 * through shared memory. Sums are float within a tile and double between tiles, in a fixed order.
 */
#include "device/cuda/cuda_kernel.h"
#include "kernels/storage.cuh"
#include "kernels/training/training.h"

#define THREADS 256
#define WARP 32
/* Columns of a strip whose tiles pass through shared memory, and rows of such a tile. */
#define TILE 64
/*
 * Rows in flight per thread: with fewer, packs of narrow elements wait for memory half of the time.
 */
#define UNDER_WAY 4

/* Partition of the sums: `parts` ranges of `rows_per_part` rows, in whole tiles. */
struct output_gradient_cut {
	unsigned parts;
	uint64_t rows_per_part;
};

static struct output_gradient_cut output_gradient_cut_rows(uint64_t rows, unsigned tile)
{
	uint64_t tiles = (rows + tile - 1) / tile;
	uint64_t each = (tiles + OUTPUT_GRADIENT_PARTS - 1) / OUTPUT_GRADIENT_PARTS;
	struct output_gradient_cut cut = { (unsigned)((tiles + each - 1) / each), each * tile };

	return cut;
}

/*
 * A tile: LANES threads side by side with V columns each; GROUPS rows at once, EACH times without
 * waiting.
 */
template <int V, bool TRANSPOSES> struct layout {
	static const int LANES = TRANSPOSES ? TILE / V : WARP;
	static const int GROUPS = THREADS / LANES;
	static const int STRIP = LANES * V;
	static const int ROWS = TRANSPOSES ? TILE : GROUPS * UNDER_WAY;
	static const int EACH = ROWS / GROUPS < UNDER_WAY ? ROWS / GROUPS : UNDER_WAY;
};

/* ReLU mask: the gradient becomes zero where the output is not positive. */
template <typename T, int V>
static __device__ __forceinline__ void output_gradient_mask_pack(pack<T, V> *gradient,
								 const pack<T, V> *output)
{
#pragma unroll
	for (int k = 0; k < V; k++) {
		typename math_of<T>::type y;

		storage_to_math(&y, output->v[k]);
		if (!(y > 0))
			storage_from_math(&gradient->v[k], (typename math_of<T>::type)0);
	}
}

/* Rows first, first + GROUPS, ... below `end`, EACH of them, masked; zero beyond. */
template <typename T, int V, int GROUPS, int EACH>
static __device__ __forceinline__ void output_gradient_read_rows(pack<T, V> *v, T *dy, const T *y,
								 uint64_t first, uint64_t end,
								 uint64_t column, uint64_t columns)
{
	pack<T, V> output[EACH];
	uint64_t at = first * columns + column;

#pragma unroll
	for (int i = 0; i < EACH; i++) {
#pragma unroll
		for (int k = 0; k < V; k++)
			storage_from_math(&v[i].v[k], (typename math_of<T>::type)0);
		if (first + i * GROUPS < end && column < columns)
			v[i] = *reinterpret_cast<const pack<T, V> *>(dy + at +
								     i * GROUPS * columns);
	}
	if (!y)
		return;
#pragma unroll
	for (int i = 0; i < EACH; i++)
		if (first + i * GROUPS < end && column < columns)
			output[i] = *reinterpret_cast<const pack<T, V> *>(y + at +
									  i * GROUPS * columns);
#pragma unroll
	for (int i = 0; i < EACH; i++)
		if (first + i * GROUPS < end && column < columns) {
			output_gradient_mask_pack<T, V>(&v[i], &output[i]);
			*reinterpret_cast<pack<T, V> *>(dy + at + i * GROUPS * columns) = v[i];
		}
}

/* Adds rows [row, end) of a tile to the sums, and copies them to shared memory. */
template <typename T, int V, bool TRANSPOSES>
static __device__ __forceinline__ void
output_gradient_read_tile(T (*tile)[TILE + 1], double *sum, T *dy, const T *y, uint64_t row,
			  uint64_t end, uint64_t column, uint64_t columns)
{
	typedef typename math_of<T>::type math;
	typedef layout<V, TRANSPOSES> L;
	int lane = threadIdx.x % L::LANES;
	math run[V] = { 0 };

#pragma unroll 1
	for (int first = 0; first < L::ROWS; first += L::GROUPS * L::EACH) {
		int r = first + threadIdx.x / L::LANES;
		pack<T, V> v[L::EACH];

		output_gradient_read_rows<T, V, L::GROUPS, L::EACH>(v, dy, y, row + r, end, column,
								    columns);
#pragma unroll
		for (int i = 0; i < L::EACH; i++)
#pragma unroll
			for (int k = 0; k < V; k++) {
				math x;

				storage_to_math(&x, v[i].v[k]);
				run[k] += x;
				if (TRANSPOSES)
					tile[r + i * L::GROUPS][lane * V + k] = v[i].v[k];
			}
	}
#pragma unroll
	for (int k = 0; k < V; k++)
		sum[k] += run[k];
}

/* Writes a tile's columns from `column` on, V rows of each per thread. */
template <typename T, int V>
static __device__ __forceinline__ void
output_gradient_write_tile(const T (*tile)[TILE + 1], T *transposed, uint64_t ld, uint64_t row,
			   uint64_t end, uint64_t column, uint64_t columns)
{
	const int LANES = layout<V, true>::LANES, GROUPS = layout<V, true>::GROUPS;
	uint64_t first = row + threadIdx.x % LANES * V;

#pragma unroll 4
	for (int c = threadIdx.x / LANES; c < TILE && column + c < columns; c += GROUPS) {
		pack<T, V> out;

#pragma unroll
		for (int k = 0; k < V; k++)
			out.v[k] = tile[threadIdx.x % LANES * V + k][c];
		if (first + V <= end)
			*reinterpret_cast<pack<T, V> *>(transposed + (column + c) * ld + first) =
				out;
		else
			for (int k = 0; first + k < end; k++)
				transposed[(column + c) * ld + first + k] = out.v[k];
	}
}

/*
 * Adds the sums of a strip's columns (`columns` of them exist) over the groups of rows: several
 * threads per column add a range of groups, then one adds their sums.
 */
template <int STRIP, int GROUPS>
static __device__ __forceinline__ void output_gradient_join_groups(double (*joined)[STRIP],
								   double *out, uint64_t columns)
{
	const int STRETCHES = THREADS / STRIP, EACH = GROUPS / STRETCHES;
	unsigned column = threadIdx.x % STRIP, stretch = threadIdx.x / STRIP;
	double total = 0;

	__syncthreads();
	for (int g = 0; g < EACH; g++)
		total += joined[stretch * EACH + g][column];
	__syncthreads();
	joined[stretch][column] = total;
	__syncthreads();
	if (stretch != 0 || column >= columns)
		return;
	for (int s = 1; s < STRETCHES; s++)
		total += joined[s][column];
	out[column] = total;
}

template <typename T, int V, bool TRANSPOSES>
static __global__ void __launch_bounds__(THREADS)
	output_gradient(T *dy, const T *y, T *transposed, uint64_t ld, double *parts, uint64_t rows,
			uint64_t columns, uint64_t rows_per_part)
{
	typedef layout<V, TRANSPOSES> L;
	__shared__ T tile[TRANSPOSES ? TILE : 1][TILE + 1];
	__shared__ double joined[L::GROUPS][L::STRIP];
	uint64_t strip = (uint64_t)blockIdx.x * L::STRIP;
	uint64_t column = strip + threadIdx.x % L::LANES * V;
	uint64_t begin = blockIdx.y * rows_per_part;
	uint64_t end = begin + rows_per_part < rows ? begin + rows_per_part : rows;
	double sum[V] = { 0 };

	for (uint64_t row = begin; row < end; row += L::ROWS) {
		output_gradient_read_tile<T, V, TRANSPOSES>(tile, sum, dy, y, row, end, column,
							    columns);
		if (!TRANSPOSES)
			continue;
		__syncthreads();
		output_gradient_write_tile<T, V>(tile, transposed, ld, row, end, strip, columns);
		__syncthreads();
	}
	if (!parts)
		return;
#pragma unroll
	for (int k = 0; k < V; k++)
		joined[threadIdx.x / L::LANES][threadIdx.x % L::LANES * V + k] = sum[k];
	output_gradient_join_groups<L::STRIP, L::GROUPS>(joined,
							 parts + blockIdx.y * columns + strip,
							 columns - strip);
}

/* Second pass of the sums: a row of JOIN_GROUPS threads per column. */
#define JOIN_COLUMNS 32
#define JOIN_GROUPS 8

template <typename T>
static __global__ void output_gradient_join_parts(T *out, const double *parts, unsigned count,
						  uint64_t columns, double beta)
{
	__shared__ double joined[JOIN_GROUPS][JOIN_COLUMNS];
	uint64_t column = (uint64_t)blockIdx.x * JOIN_COLUMNS + threadIdx.x;
	double total = 0, before = 0;

	for (unsigned p = threadIdx.y; p < count && column < columns; p += JOIN_GROUPS)
		total += parts[p * columns + column];
	joined[threadIdx.y][threadIdx.x] = total;
	__syncthreads();
	if (threadIdx.y != 0 || column >= columns)
		return;
	for (int g = 1; g < JOIN_GROUPS; g++)
		total += joined[g][threadIdx.x];
	if (beta != 0) /* as in BLAS, beta 0 does not read the output */
		storage_to_math(&before, out[column]);
	storage_from_math(&out[column], beta != 0 ? beta * before + total : total);
}

/* Returns the number of partial sums. */
template <typename T, int V, bool TRANSPOSES>
static unsigned output_gradient_launch_pass(const struct output_gradient_arguments *a,
					    cudaStream_t stream)
{
	typedef layout<V, TRANSPOSES> L;
	struct output_gradient_cut cut = output_gradient_cut_rows(a->rows, L::ROWS);
	dim3 grid(storage_grid_for(a->columns, L::STRIP), cut.parts);

	output_gradient<T, V, TRANSPOSES>
		<<<grid, THREADS, 0, stream>>>((T *)a->dy, (const T *)a->y, (T *)a->transposed,
					       a->ld, a->sum ? (double *)a->scratch : nullptr,
					       a->rows, a->columns, cut.rows_per_part);
	return cut.parts;
}

template <typename T, int V>
static unsigned output_gradient_launch_packs(const struct output_gradient_arguments *a,
					     cudaStream_t stream)
{
	return a->transposed ? output_gradient_launch_pass<T, V, true>(a, stream)
			     : output_gradient_launch_pass<T, V, false>(a, stream);
}

template <typename T>
static void launch_output_gradient(const struct output_gradient_arguments *a, cudaStream_t stream)
{
	const int V = 16 / sizeof(T);
	bool packs = storage_packs_aligned(a->dy, a->y, a->transposed) && a->columns % V == 0 &&
		     (!a->transposed || a->ld % V == 0);
	unsigned parts = packs ? output_gradient_launch_packs<T, V>(a, stream)
			       : output_gradient_launch_packs<T, 1>(a, stream);

	if (a->sum)
		output_gradient_join_parts<T><<<storage_grid_for(a->columns, JOIN_COLUMNS),
						dim3(JOIN_COLUMNS, JOIN_GROUPS), 0, stream>>>(
			(T *)a->sum, (const double *)a->scratch, parts, a->columns, a->beta);
}

extern "C" enum status kernel_cuda_output_gradient(struct stream *stream, const void *arguments,
						   struct error *err)
{
	const struct output_gradient_arguments *a =
		(const struct output_gradient_arguments *)arguments;
	cudaStream_t handle = cuda_stream_handle(stream);

	if (a->rows == 0 || a->columns == 0)
		return STATUS_OK;
#define CALL(T) launch_output_gradient<T>(a, handle)
	FOR_STORAGE(a->precision, CALL)
#undef CALL
	return cuda_device_check_launch("output_gradient", err);
}
