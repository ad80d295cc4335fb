/* Convolutions by the tensor cores of compute capability 9.0: see convolution_wgmma.cuh. */
#include "kernels/convolution/convolution_wgmma.h"

#include "kernels/convolution/convolution_wgmma.cuh"
#include "kernels/launch/cuda_kernel.h"

extern "C" bool convolution_wgmma_takes(const struct convolution_shape *s)
{
	return (s->precision == PRECISION_FP16 || s->precision == PRECISION_BF16) &&
	       !s->depthwise && s->channels % 8 == 0 && s->filters % 8 == 0 && s->stride <= 2;
}

static int ceiling(int count, int size)
{
	return (count + size - 1) / size;
}

/*
 * The boxes of `pixels` (a power of two) that cover the images with the fewest, the widest of
 * these.
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

static CUtensorMapDataType type_of(const convolution_problem &p)
{
	return p.shape.precision == PRECISION_FP16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
						   : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
}

/* Pixels of 64 channels in boxes, every `stride`-th of both directions. */
static bool encode_images(CUtensorMap *map, const convolution_problem &p, const void *images,
			  unsigned height, unsigned width, unsigned channels, const pixel_boxes &b,
			  unsigned stride)
{
	cuuint64_t line = (cuuint64_t)channels * 2;
	cuuint64_t sizes[4] = { channels, width, height, p.shape.batch };
	cuuint64_t strides[3] = { line, line * width, line * width * height };
	cuuint32_t box[4] = { CONVOLUTION_LINE, (cuuint32_t)b.width * stride,
			      (cuuint32_t)b.height * stride, (cuuint32_t)b.images };
	cuuint32_t steps[4] = { 1, stride, stride, 1 };

	return tensor_map(map, type_of(p), images, 4, sizes, strides, box, steps);
}

static bool encode_x(CUtensorMap *map, const convolution_problem &p, const pixel_boxes &b)
{
	const convolution_shape &s = p.shape;

	return encode_images(map, p, p.image, s.height, s.width, s.channels, b, s.stride);
}

static bool encode_dy(CUtensorMap *map, const convolution_problem &p, const pixel_boxes &b)
{
	return encode_images(map, p, p.gradient, p.out_height, p.out_width, p.shape.filters, b, 1);
}

/* One tap, 64 channels of `filters` filters. */
static bool encode_weights(CUtensorMap *map, const convolution_problem &p, unsigned filters)
{
	const convolution_shape &s = p.shape;
	cuuint64_t taps = (cuuint64_t)s.kernel_height * s.kernel_width;
	cuuint64_t sizes[3] = { s.channels, taps, s.filters };
	cuuint64_t strides[2] = { (cuuint64_t)s.channels * 2, taps * s.channels * 2 };
	cuuint32_t box[3] = { CONVOLUTION_LINE, 1, filters };

	return tensor_map(map, type_of(p), p.weights, 3, sizes, strides, box);
}

template <enum convolution_pass PASS>
static bool encode(convolution_maps *maps, const convolution_tiles &t, int columns)
{
	const convolution_problem &p = t.problem;

	if (PASS == PASS_FORWARD)
		return encode_x(&maps->left, p, t.boxes) &&
		       encode_weights(&maps->right, p, columns);
	if (PASS == PASS_DATA)
		return encode_dy(&maps->left, p, t.boxes) &&
		       encode_weights(&maps->right, p, CONVOLUTION_LINE);
	return encode_dy(&maps->left, p, t.boxes) && encode_x(&maps->right, p, t.boxes);
}

template <enum convolution_pass PASS>
static convolution_tiles cut_tiles(const convolution_problem &p, int columns)
{
	const convolution_shape &s = p.shape;
	bool of_image = PASS == PASS_DATA, sums_pixels = PASS == PASS_WEIGHTS;
	convolution_tiles t = {};
	int boxes;

	t.problem = p;
	t.pixel_width = of_image ? (int)s.width : p.out_width;
	t.pixel_height = of_image ? (int)s.height : p.out_height;
	/* Boxes of the pixels of one class, for the gradient of the data. */
	t.boxes = choose_boxes(ceiling(t.pixel_width, of_image ? s.stride : 1),
			       ceiling(t.pixel_height, of_image ? s.stride : 1), (int)s.batch,
			       sums_pixels ? CONVOLUTION_LINE : CONVOLUTION_ROWS);
	boxes = t.boxes.across * t.boxes.down * t.boxes.deep;
	t.column_tiles = ceiling(PASS == PASS_FORWARD ? s.filters : s.channels, columns);
	t.row_tiles = sums_pixels ? ceiling(s.filters, CONVOLUTION_ROWS) : boxes;
	t.inner = ceiling(of_image ? s.filters : s.channels, CONVOLUTION_LINE);
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
	const int bytes = CONVOLUTION_SHARED_BYTES(COLUMNS);
	cudaStream_t handle = cuda_stream_handle(stream);
	convolution_tiles t = cut_tiles<PASS>(p, COLUMNS);
	int most = cuda_stream_multiprocessors(stream), blocks = most < t.tiles ? most : t.tiles;
	convolution_maps maps;

	if (!encode<PASS>(&maps, t, COLUMNS))
		return error_set(err, STATUS_DEVICE,
				 "convolution: the driver refuses a tensor map");
	cudaFuncSetAttribute((const void *)convolution_wgmma<T, PASS, COLUMNS>,
			     cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
	convolution_wgmma<T, PASS, COLUMNS>
		<<<blocks, CONVOLUTION_THREADS, bytes, handle>>>(t, maps);
	return cuda_check_launch("convolution", err);
}

/*
 * The columns of tiles that take the shortest time: rounds of tiles on all multiprocessors, each as
 * long as the lines that it reads, the 128 of the left operand and its columns. 140 tiles of
 * 256 columns would leave most of 132 multiprocessors idle in the second round.
 */
template <enum convolution_pass PASS>
static int choose_columns(const convolution_problem &p, int multiprocessors)
{
	int result = (int)(PASS == PASS_FORWARD ? p.shape.filters : p.shape.channels), best = 64;
	int64_t least = INT64_MAX;

	for (int columns = 64; columns <= 256 && columns < 2 * result; columns *= 2) {
		int tiles = cut_tiles<PASS>(p, columns).tiles;
		int64_t time =
			(int64_t)ceiling(tiles, multiprocessors) * (CONVOLUTION_ROWS + columns);

		if (time <= least)
			best = columns;
		least = time < least ? time : least;
	}
	return best;
}

template <typename T, enum convolution_pass PASS>
static enum status launch_columns(struct stream *stream, const convolution_problem &p,
				  struct error *err)
{
	switch (choose_columns<PASS>(p, cuda_stream_multiprocessors(stream))) {
	case 64:
		return launch<T, PASS, 64>(stream, p, err);
	case 128:
		return launch<T, PASS, 128>(stream, p, err);
	default:
		return launch<T, PASS, 256>(stream, p, err);
	}
}

template <enum convolution_pass PASS>
static enum status launch_pass(struct stream *stream, const convolution_problem &p,
			       struct error *err)
{
	return p.shape.precision == PRECISION_FP16
		       ? launch_columns<half, PASS>(stream, p, err)
		       : launch_columns<__nv_bfloat16, PASS>(stream, p, err);
}

extern "C" enum status convolution_wgmma_forward(struct stream *stream,
						 const struct convolution_forward_arguments *a,
						 struct error *err)
{
	convolution_problem p = convolution_problem_of(&a->shape);

	p.image = a->x;
	p.weights = a->w;
	p.out = a->y;
	if (launch_pass<PASS_FORWARD>(stream, p, err) != STATUS_OK)
		return err->status;
	return cuda_check_path("convolution_forward", "WGMMA", err);
}

extern "C" enum status
convolution_wgmma_data_gradient(struct stream *stream,
				const struct convolution_data_gradient_arguments *a,
				struct error *err)
{
	convolution_problem p = convolution_problem_of(&a->shape);

	p.gradient = a->dy;
	p.weights = a->w;
	p.out = a->dx;
	if (launch_pass<PASS_DATA>(stream, p, err) != STATUS_OK)
		return err->status;
	return cuda_check_path("convolution_data_gradient", "WGMMA", err);
}

extern "C" enum status
convolution_wgmma_weight_parts(struct stream *stream,
			       const struct convolution_weight_gradient_arguments *a,
			       struct error *err)
{
	convolution_problem p = convolution_problem_of(&a->shape);

	p.image = a->x;
	p.gradient = a->dy;
	p.parts = a->scratch;
	return launch_pass<PASS_WEIGHTS>(stream, p, err);
}
