/* Convolutions with the tensor cores of compute capability 9.0: see convolution_wgmma.cuh. */
#include "kernels/convolution/convolution_wgmma.cuh"

#include "device/cuda/cuda_kernel.h"

bool convolution_wgmma_takes(const convolution_shape &s, enum convolution_pass pass)
{
	unsigned piece = 16 / (unsigned)precision_bytes(s.precision);

	return (s.precision == PRECISION_FP16 || s.precision == PRECISION_BF16 ||
		(s.precision == PRECISION_TF32 && pass != PASS_WEIGHTS)) &&
	       !s.depthwise && s.channels % piece == 0 && s.filters % piece == 0 && s.stride <= 2;
}

static int ceiling(int count, int size)
{
	return (count + size - 1) / size;
}

/*
 * Shape of boxes of `pixels` (a power of two) that cover the images with the fewest boxes; the
 * widest of these.
 */
static pixel_boxes choose_boxes(int width, int height, int images, int pixels)
{
	pixel_boxes best = {};
	int64_t fewest = INT64_MAX;

	for (int w = pixels; w > 0; w /= 2)
		for (int h = pixels / w; h > 0; h /= 2) {
			pixel_boxes b = { w, h, pixels / w / h, 0, 0, 0 };
			int64_t count;

			b.across = ceiling(width, b.width);
			b.down = ceiling(height, b.height);
			b.deep = ceiling(images, b.images);
			count = (int64_t)b.across * b.down * b.deep;
			if (count < fewest)
				best = b;
			fewest = count < fewest ? count : fewest;
		}
	return best;
}

/* TMA copies to TF32 round the stored FP32. */
static CUtensorMapDataType type_of(const convolution_problem &p)
{
	return p.shape.precision == PRECISION_FP16   ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
	       : p.shape.precision == PRECISION_BF16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
						     : CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;
}

/* TMA map: a line of channels of pixels in boxes, with `stride` in both directions. */
template <typename T>
static bool encode_images(CUtensorMap *map, const convolution_problem &p, const void *images,
			  unsigned height, unsigned width, unsigned channels, const pixel_boxes &b,
			  unsigned stride)
{
	cuuint64_t line = (cuuint64_t)channels * sizeof(T);
	cuuint64_t sizes[4] = { channels, width, height, p.shape.batch };
	cuuint64_t strides[3] = { line, line * width, line * width * height };
	cuuint32_t box[4] = { CONVOLUTION_LINE_OF(T), (cuuint32_t)b.width * stride,
			      (cuuint32_t)b.height * stride, (cuuint32_t)b.images };
	cuuint32_t steps[4] = { 1, stride, stride, 1 };

	return tensor_map(map, type_of(p), images, 4, sizes, strides, box, steps);
}

template <typename T>
static bool encode_x(CUtensorMap *map, const convolution_problem &p, const pixel_boxes &b)
{
	const convolution_shape &s = p.shape;

	return encode_images<T>(map, p, p.image, s.height, s.width, s.channels, b, s.stride);
}

template <typename T>
static bool encode_dy(CUtensorMap *map, const convolution_problem &p, const pixel_boxes &b)
{
	return encode_images<T>(map, p, p.gradient, p.out_height, p.out_width, p.shape.filters, b,
				1);
}

/* TMA map: one tap, a line of channels of `filters` filters. */
template <typename T>
static bool encode_weights(CUtensorMap *map, const convolution_problem &p, unsigned filters)
{
	const convolution_shape &s = p.shape;
	cuuint64_t taps = (cuuint64_t)s.kernel_height * s.kernel_width;
	cuuint64_t sizes[3] = { s.channels, taps, s.filters };
	cuuint64_t strides[2] = { (cuuint64_t)s.channels * sizeof(T),
				  taps * s.channels * sizeof(T) };
	cuuint32_t box[3] = { CONVOLUTION_LINE_OF(T), 1, filters };

	return tensor_map(map, type_of(p), p.weights, 3, sizes, strides, box);
}

template <typename T, enum convolution_pass PASS>
static bool encode(convolution_maps *maps, const convolution_tiles &t, int columns)
{
	const convolution_problem &p = t.problem;

	if (PASS == PASS_FORWARD)
		return encode_x<T>(&maps->left, p, t.boxes) &&
		       encode_weights<T>(&maps->right, p, columns);
	if (CONVOLUTION_TURNED(T, PASS))
		return encode_weights<T>(&maps->left, p, CONVOLUTION_TURNED_LINE) &&
		       encode_dy<T>(&maps->right, p, t.boxes);
	if (PASS == PASS_DATA)
		return encode_dy<T>(&maps->left, p, t.boxes) &&
		       encode_weights<T>(&maps->right, p, CONVOLUTION_LINE);
	return encode_dy<T>(&maps->left, p, t.boxes) && encode_x<T>(&maps->right, p, t.boxes);
}

template <typename T, enum convolution_pass PASS>
static convolution_tiles cut_tiles(const convolution_problem &p, int columns)
{
	const convolution_shape &s = p.shape;
	const bool TURNED = CONVOLUTION_TURNED(T, PASS);
	bool of_image = PASS == PASS_DATA, sums_pixels = PASS == PASS_WEIGHTS;
	convolution_tiles t = {};
	int boxes;

	t.problem = p;
	t.pixel_width = of_image ? (int)s.width : p.out_width;
	t.pixel_height = of_image ? (int)s.height : p.out_height;
	/* For the data gradient, boxes of the pixels of one class. */
	t.boxes = choose_boxes(ceiling(t.pixel_width, of_image ? s.stride : 1),
			       ceiling(t.pixel_height, of_image ? s.stride : 1), (int)s.batch,
			       sums_pixels ? CONVOLUTION_LINE
			       : TURNED    ? columns
					   : CONVOLUTION_ROWS);
	boxes = t.boxes.across * t.boxes.down * t.boxes.deep;
	t.column_tiles = ceiling(PASS == PASS_FORWARD ? s.filters : s.channels, columns);
	t.row_tiles = sums_pixels ? ceiling(s.filters, CONVOLUTION_ROWS) : boxes;
	if (TURNED) {
		t.column_tiles = boxes;
		t.row_tiles = ceiling(s.channels, CONVOLUTION_ROWS);
	}
	t.inner = ceiling(of_image ? s.filters : s.channels, CONVOLUTION_LINE_OF(T));
	t.parts = sums_pixels ? (int)convolution_parts(&s) : 1;
	t.part_steps = ceiling(boxes, t.parts);
	t.tiles = t.column_tiles * t.row_tiles * t.parts;
	if (sums_pixels)
		t.tiles *= (int)(s.kernel_height * s.kernel_width);
	if (of_image)
		t.tiles *= (int)(s.stride * s.stride);
	return t;
}

template <typename T, enum convolution_pass PASS, int COLUMNS>
static enum status launch(struct stream *stream, const convolution_problem &p, struct error *err)
{
	const int bytes = CONVOLUTION_SHARED_BYTES(PASS, COLUMNS);
	cudaStream_t handle = cuda_stream_handle(stream);
	convolution_tiles t = cut_tiles<T, PASS>(p, COLUMNS);
	int most = cuda_stream_multiprocessors(stream), blocks = most < t.tiles ? most : t.tiles;
	convolution_maps maps;

	if (!encode<T, PASS>(&maps, t, COLUMNS))
		return error_set(err, STATUS_DEVICE,
				 "convolution: the driver refuses a tensor map");
	if (cuda_shared_memory(stream, (const void *)convolution_wgmma<T, PASS, COLUMNS>, bytes,
			       err) != STATUS_OK)
		return err->status;
	convolution_wgmma<T, PASS, COLUMNS>
		<<<blocks, CONVOLUTION_THREADS, bytes, handle>>>(t, maps);
	return cuda_check_launch("convolution", err);
}

/*
 * Tile columns with the shortest time: rounds of tiles over all multiprocessors, each as long as
 * the lines that it reads, the 128 of the left operand and its columns. 140 tiles of 256 columns
 * would leave most of 132 multiprocessors idle in the second round.
 */
template <typename T, enum convolution_pass PASS>
static int choose_columns(const convolution_problem &p, int multiprocessors)
{
	int most = (int)(PASS == PASS_FORWARD ? p.shape.filters : p.shape.channels), best = 64;
	int64_t least = INT64_MAX;

	if (CONVOLUTION_TURNED(T, PASS))
		most = 256;
	for (int columns : { 64, 96, 128, 192, 256 }) {
		/* Boxes of pixels that are columns have power-of-two sizes. */
		if (columns >= 2 * most || (CONVOLUTION_TURNED(T, PASS) && columns % 96 == 0))
			continue;
		int tiles = cut_tiles<T, PASS>(p, columns).tiles;
		int64_t time =
			(int64_t)ceiling(tiles, multiprocessors) * (CONVOLUTION_ROWS + columns);

		if (time <= least)
			best = columns;
		least = time < least ? time : least;
	}
	return best;
}

template <typename T, enum convolution_pass PASS>
static enum status launch_columns(struct stream *stream, const convolution_problem &p, int columns,
				  struct error *err)
{
	if (columns == 0)
		columns = choose_columns<T, PASS>(p, cuda_stream_multiprocessors(stream));
	if constexpr (!CONVOLUTION_TURNED(T, PASS)) {
		if (columns == 96)
			return launch<T, PASS, 96>(stream, p, err);
		if (columns == 192)
			return launch<T, PASS, 192>(stream, p, err);
	}
	return columns == 64    ? launch<T, PASS, 64>(stream, p, err)
	       : columns == 128 ? launch<T, PASS, 128>(stream, p, err)
	       : columns == 256 ? launch<T, PASS, 256>(stream, p, err)
				: convolution_refuse(&p.shape, err);
}

template <typename T>
static enum status launch_pass(struct stream *stream, const convolution_problem &p,
			       enum convolution_pass pass, int columns, struct error *err)
{
	if (pass == PASS_FORWARD)
		return launch_columns<T, PASS_FORWARD>(stream, p, columns, err);
	if (pass == PASS_DATA)
		return launch_columns<T, PASS_DATA>(stream, p, columns, err);
	if constexpr (sizeof(T) == 2)
		return launch_columns<T, PASS_WEIGHTS>(stream, p, columns, err);
	return convolution_refuse(&p.shape, err);
}

enum status convolution_by_wgmma(struct stream *stream, const convolution_problem &p,
				 enum convolution_pass pass, int columns, struct error *err)
{
	return p.shape.precision == PRECISION_FP16
		       ? launch_pass<half>(stream, p, pass, columns, err)
	       : p.shape.precision == PRECISION_BF16
		       ? launch_pass<__nv_bfloat16>(stream, p, pass, columns, err)
		       : launch_pass<float>(stream, p, pass, columns, err);
}
