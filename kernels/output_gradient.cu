/*
 * output_gradient: see training.h. A block takes a strip of TILE columns and some of the rows, tile by tile: what it
 * reads along the rows it writes along the columns through shared memory. Sums are float within a tile and double
 * between tiles, in one fixed order.
 */
#include "device/cuda/cuda_kernel.h"
#include "kernels/storage.cuh"
#include "kernels/training.h"

#define THREADS 256
#define TILE 64

/* What the sums are made of: `parts` ranges of `rows_per_part` rows, whole tiles each. */
struct output_gradient_cut {
	unsigned parts;
	uint64_t rows_per_part;
};

static struct output_gradient_cut cut_rows(uint64_t rows)
{
	uint64_t tiles = (rows + TILE - 1) / TILE;
	uint64_t each = (tiles + OUTPUT_GRADIENT_PARTS - 1) / OUTPUT_GRADIENT_PARTS;
	struct output_gradient_cut cut = { (unsigned)((tiles + each - 1) / each), each * TILE };

	return cut;
}

/* A thread's V columns of one tile: LANES threads side by side, GROUPS rows at once. */
template <typename T, int V> struct layout {
	static const int LANES = TILE / V, GROUPS = THREADS / LANES;
};

template <typename T, int V>
static __device__ __forceinline__ void read_row(typename math_of<T>::type *v, T *dy, const T *y,
						uint64_t column, uint64_t columns)
{
	load_pack<V>(v, dy, column, columns, true);
	if (y) {
		typename math_of<T>::type output[V];

		load_pack<V>(output, y, column, columns, true);
#pragma unroll
		for (int k = 0; k < V; k++)
			v[k] = output[k] > 0 ? v[k] : (typename math_of<T>::type)0;
		store_pack<V>(dy, v, column, columns, true);
	}
}

/* Rows [row, end) of a tile: to shared memory, and into the sums. */
template <typename T, int V>
static __device__ __forceinline__ void read_tile(T (*tile)[TILE + 1], double *sum, T *dy,
						 const T *y, uint64_t row, uint64_t end,
						 uint64_t column, uint64_t columns, bool transposes)
{
	typedef typename math_of<T>::type math;
	const int LANES = layout<T, V>::LANES, GROUPS = layout<T, V>::GROUPS;
	int lane = threadIdx.x % LANES;
	math run[V] = { 0 };

#pragma unroll 4
	for (int r = threadIdx.x / LANES; r < TILE; r += GROUPS) {
		math v[V] = { 0 };

		if (row + r < end && column < columns)
			read_row<T, V>(v, dy + (row + r) * columns,
				       y ? y + (row + r) * columns : nullptr, column, columns);
#pragma unroll
		for (int k = 0; k < V; k++) {
			run[k] += v[k];
			if (transposes)
				from_math(&tile[r][lane * V + k], v[k]);
		}
	}
#pragma unroll
	for (int k = 0; k < V; k++)
		sum[k] += run[k];
}

/* A tile's columns from `column` on, V rows of each by one thread. */
template <typename T, int V>
static __device__ __forceinline__ void write_tile(const T (*tile)[TILE + 1], T *transposed,
						  uint64_t ld, uint64_t row, uint64_t end,
						  uint64_t column, uint64_t columns)
{
	const int LANES = layout<T, V>::LANES, GROUPS = layout<T, V>::GROUPS;
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
 * The sums of a strip's columns, of which `columns` exist, over the groups of rows: QUARTERS threads for each column
 * add up a stretch of the groups, then one of them their sums.
 */
#define QUARTERS (THREADS / TILE)

template <int GROUPS>
static __device__ __forceinline__ void join_groups(double (*joined)[TILE], double *out,
						   uint64_t columns)
{
	const int EACH = GROUPS / QUARTERS;
	unsigned column = threadIdx.x % TILE, quarter = threadIdx.x / TILE;
	double total = 0;

	__syncthreads();
	for (int g = 0; g < EACH; g++)
		total += joined[quarter * EACH + g][column];
	__syncthreads();
	joined[quarter][column] = total;
	__syncthreads();
	if (quarter != 0 || column >= columns)
		return;
	for (int q = 1; q < QUARTERS; q++)
		total += joined[q][column];
	out[column] = total;
}

template <typename T, int V>
static __global__ void __launch_bounds__(THREADS)
	output_gradient(T *dy, const T *y, T *transposed, uint64_t ld, double *parts, uint64_t rows,
			uint64_t columns, uint64_t rows_per_part)
{
	__shared__ T tile[TILE][TILE + 1];
	__shared__ double joined[layout<T, V>::GROUPS][TILE];
	const int LANES = layout<T, V>::LANES;
	uint64_t strip = (uint64_t)blockIdx.x * TILE, column = strip + threadIdx.x % LANES * V;
	uint64_t begin = blockIdx.y * rows_per_part;
	uint64_t end = begin + rows_per_part < rows ? begin + rows_per_part : rows;
	double sum[V] = { 0 };

	for (uint64_t row = begin; row < end; row += TILE) {
		read_tile<T, V>(tile, sum, dy, y, row, end, column, columns, transposed != nullptr);
		if (!transposed)
			continue;
		__syncthreads();
		write_tile<T, V>(tile, transposed, ld, row, end, strip, columns);
		__syncthreads();
	}
	if (!parts)
		return;
#pragma unroll
	for (int k = 0; k < V; k++)
		joined[threadIdx.x / LANES][threadIdx.x % LANES * V + k] = sum[k];
	join_groups<layout<T, V>::GROUPS>(joined, parts + blockIdx.y * columns + strip,
					  columns - strip);
}

/* Second pass of the sums: a row of JOIN_GROUPS threads for each column. */
#define JOIN_COLUMNS 32
#define JOIN_GROUPS 8

template <typename T>
static __global__ void join_parts(T *out, const double *parts, unsigned count, uint64_t columns,
				  double beta)
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
		to_math(&before, out[column]);
	from_math(&out[column], beta != 0 ? beta * before + total : total);
}

template <typename T, int V>
static void launch_pass(const struct output_gradient_arguments *a,
			const struct output_gradient_cut *cut, cudaStream_t stream)
{
	dim3 grid(grid_for(a->columns, TILE), cut->parts);

	output_gradient<T, V><<<grid, THREADS, 0, stream>>>(
		(T *)a->dy, (const T *)a->y, (T *)a->transposed, a->ld,
		a->sum ? (double *)a->scratch : nullptr, a->rows, a->columns, cut->rows_per_part);
}

template <typename T>
static void launch_output_gradient(const struct output_gradient_arguments *a, cudaStream_t stream)
{
	const int V = 16 / sizeof(T);
	struct output_gradient_cut cut = cut_rows(a->rows);

	if (packs_aligned(a->dy, a->y, a->transposed) && a->columns % V == 0 &&
	    (!a->transposed || a->ld % V == 0))
		launch_pass<T, V>(a, &cut, stream);
	else
		launch_pass<T, 1>(a, &cut, stream);
	if (a->sum)
		join_parts<T><<<grid_for(a->columns, JOIN_COLUMNS), dim3(JOIN_COLUMNS, JOIN_GROUPS),
				0, stream>>>((T *)a->sum, (const double *)a->scratch, cut.parts,
					     a->columns, a->beta);
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
	return cuda_check_launch("output_gradient", err);
}
