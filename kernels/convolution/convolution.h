/*
 * Implicit-GEMM 2-D convolution with its gradients (no im2col buffer), and pooling. Images are
 * batch x height x width x channels; weights are filters x kernel_height x kernel_width x channels,
 * without the last dimension for a depthwise convolution, where filter c reads only channel c.
 * Precisions: FP32, TF32 (stored as FP32; computed as FP32 on the host, for depthwise, and without
 * TF32 tensor cores), FP16, BF16; sums are FP32. Every sum has a fixed order.
 */
#ifndef GPUPROOF_KERNELS_CONVOLUTION_CONVOLUTION_H
#define GPUPROOF_KERNELS_CONVOLUTION_CONVOLUTION_H

#include "kernels/kernel.h"

/*
 * Kernel and columns of its tiles; sums differ only in their order. CONVOLUTION_CHOSEN: the
 * launcher's estimate of the fastest. Any other may return STATUS_UNSUPPORTED for a shape, pass or
 * device that it does not support.
 */
enum convolution_algorithm {
	CONVOLUTION_CHOSEN,
	CONVOLUTION_SIMT_64,
	CONVOLUTION_SIMT_128,
	CONVOLUTION_MMA_64,
	CONVOLUTION_MMA_128,
	CONVOLUTION_MMA_ROWS,
	CONVOLUTION_ALGORITHMS
};
static inline const char *kernel_convolution_algorithm_name(enum convolution_algorithm algorithm)
{
	static const char *const names[] = {
		"chosen",       "SIMT, 64 wide", "SIMT, 128 wide",
		"MMA, 64 wide", "MMA, 128 wide", "MMA, rows of images"
	};

	return names[algorithm];
}

/* y from x and w; dx from dy and w; dw from x and dy, which the last one adds to dw. */
enum convolution_pass { PASS_FORWARD, PASS_DATA, PASS_WEIGHTS, PASS_WEIGHTS_ADD };

struct convolution_shape {
	enum precision precision;
	unsigned batch, height, width, channels;
	unsigned filters; /* depthwise: equal to channels */
	unsigned kernel_height, kernel_width;
	unsigned stride, padding; /* in both directions */
	int depthwise;
	enum convolution_algorithm algorithm;
};

static inline unsigned kernel_convolution_out_height(const struct convolution_shape *s)
{
	return (s->height + 2 * s->padding - s->kernel_height) / s->stride + 1;
}
static inline unsigned kernel_convolution_out_width(const struct convolution_shape *s)
{
	return (s->width + 2 * s->padding - s->kernel_width) / s->stride + 1;
}
static inline uint64_t kernel_convolution_out_pixels(const struct convolution_shape *s)
{
	return (uint64_t)s->batch * kernel_convolution_out_height(s) *
	       kernel_convolution_out_width(s);
}
/* Number of channels that a filter reads. */
static inline unsigned kernel_convolution_depth(const struct convolution_shape *s)
{
	return s->depthwise ? 1 : s->channels;
}
static inline uint64_t kernel_convolution_weights(const struct convolution_shape *s)
{
	return (uint64_t)s->filters * s->kernel_height * s->kernel_width *
	       kernel_convolution_depth(s);
}
/* Floating-point operations of each of the three passes. */
static inline double kernel_convolution_operations(const struct convolution_shape *s)
{
	return 2.0 * (double)kernel_convolution_out_pixels(s) *
	       (double)kernel_convolution_weights(s);
}

/* "convolution_forward": y = x * w (a cross-correlation, as usual in machine learning). */
struct convolution_forward_arguments {
	struct convolution_shape shape;
	const void *x, *w;
	void *y;
};

/* "convolution_data_gradient": dx from dy and w. */
struct convolution_data_gradient_arguments {
	struct convolution_shape shape;
	const void *dy, *w;
	void *dx;
};

/*
 * "convolution_weight_gradient": dw = keep * dw + gradient from x and dy. The sum over the pixels
 * is split into kernel_convolution_parts(), which are added in FP32 in `scratch` of
 * kernel_convolution_scratch_bytes().
 */
struct convolution_weight_gradient_arguments {
	struct convolution_shape shape;
	const void *x, *dy;
	void *dw;
	float *scratch;
	float keep;
};

/*
 * Enough parts for about 256 blocks of 128 taps and channels x 128 filters, two per multiprocessor:
 * one or two tiles over all pixels would leave most of a GPU idle. Independent of the batch, so
 * that the scratch is, too.
 */
static inline unsigned kernel_convolution_parts(const struct convolution_shape *s)
{
	uint64_t taps = (uint64_t)s->kernel_height * s->kernel_width * kernel_convolution_depth(s),
		 blocks = ((taps + 127) / 128) * ((s->filters + 127) / 128);

	if (s->depthwise) /* few channels per part */
		return 64;
	return blocks == 0 || blocks > 256 ? 1 : (unsigned)(256 / blocks);
}
static inline uint64_t kernel_convolution_scratch_bytes(const struct convolution_shape *s)
{
	return kernel_convolution_parts(s) * kernel_convolution_weights(s) * sizeof(float);
}

#define CONVOLUTION_DEPTHWISE_TAPS 121 /* 11 x 11 */
#define CONVOLUTION_MOST \
	(INT32_MAX - 1024) /* maximum number of weights, of pixels, and of bytes of a tensor */

static inline enum status kernel_convolution_refuse(const struct convolution_shape *s,
						    struct error *err)
{
	return error_set(err, STATUS_UNSUPPORTED,
			 "convolution: algorithm \"%s\" is not written for this shape and device",
			 kernel_convolution_algorithm_name(s->algorithm));
}

/* STATUS_OK if the kernels support this shape. */
static inline enum status kernel_convolution_check(const struct convolution_shape *s,
						   struct error *err)
{
	if (s->precision == PRECISION_FP64 || s->precision >= PRECISION_COUNT)
		return error_set(err, STATUS_UNSUPPORTED, "convolution is not written for %s",
				 precision_name(s->precision));
	if (s->stride == 0 || s->kernel_height == 0 || s->kernel_width == 0 ||
	    s->kernel_height > s->height + 2 * s->padding ||
	    s->kernel_width > s->width + 2 * s->padding)
		return error_set(err, STATUS_UNSUPPORTED,
				 "convolution: kernel %u x %u, stride %u on an image of %u x %u "
				 "with padding %u; allowed: a stride of at least 1, and kernels of "
				 "1 x 1 up to the padded image",
				 s->kernel_height, s->kernel_width, s->stride, s->height, s->width,
				 s->padding);
	if (s->depthwise && s->filters != s->channels)
		return error_set(err, STATUS_UNSUPPORTED,
				 "convolution: depthwise with %u filters; allowed: as many as "
				 "channels, %u",
				 s->filters, s->channels);
	if (s->depthwise && s->kernel_height * s->kernel_width > CONVOLUTION_DEPTHWISE_TAPS)
		return error_set(err, STATUS_UNSUPPORTED,
				 "convolution: depthwise kernel of %u x %u; allowed: %d taps",
				 s->kernel_height, s->kernel_width, CONVOLUTION_DEPTHWISE_TAPS);
	if (kernel_convolution_weights(s) > CONVOLUTION_MOST ||
	    kernel_convolution_out_pixels(s) > CONVOLUTION_MOST ||
	    (uint64_t)s->batch * s->height * s->width > CONVOLUTION_MOST ||
	    (uint64_t)s->channels * precision_bytes(s->precision) > CONVOLUTION_MOST)
		return error_set(err, STATUS_UNSUPPORTED,
				 "convolution: more than %d weights, pixels or bytes of a pixel",
				 CONVOLUTION_MOST);
	return STATUS_OK;
}

#endif
