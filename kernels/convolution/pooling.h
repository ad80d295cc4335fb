/*
 * Pooling of images, batch x height x width x channels: "pooling_forward" and "pooling_backward". A
 * window that extends into the padding uses only the pixels of the image, also for the average.
 * Precisions: FP32 (and TF32), FP16, BF16; sums are FP32, in a fixed order. The padding must be
 * smaller than the window.
 */
#ifndef GPUPROOF_KERNELS_CONVOLUTION_POOLING_H
#define GPUPROOF_KERNELS_CONVOLUTION_POOLING_H

#include "kernels/kernel.h"

struct pooling_shape {
	enum precision precision;
	unsigned batch, height, width, channels;
	unsigned window, stride, padding; /* in both directions */
	int average;                      /* else maximum; NaN counts as larger than any number */
};

static inline unsigned pooling_out(const struct pooling_shape *s, unsigned size)
{
	return (size + 2 * s->padding - s->window) / s->stride + 1;
}
static inline uint64_t pooling_in_elements(const struct pooling_shape *s)
{
	return (uint64_t)s->batch * s->height * s->width * s->channels;
}
static inline uint64_t pooling_out_elements(const struct pooling_shape *s)
{
	return (uint64_t)s->batch * pooling_out(s, s->height) * pooling_out(s, s->width) *
	       s->channels;
}

struct pooling_forward_arguments {
	struct pooling_shape shape;
	const void *x;
	void *y;
};

/*
 * dx from dy. If several pixels of a window are maximal, the first in row order gets the gradient.
 */
struct pooling_backward_arguments {
	struct pooling_shape shape;
	const void *x, *dy;
	void *dx;
};

/* STATUS_OK if the kernels support this shape. */
static inline enum status pooling_check(const struct pooling_shape *s, struct error *err)
{
	if (s->precision == PRECISION_FP64 || s->precision >= PRECISION_COUNT)
		return error_set(err, STATUS_UNSUPPORTED, "pooling is not written for %s",
				 precision_name(s->precision));
	if (s->stride == 0 || s->window == 0 || s->padding >= s->window ||
	    s->window > s->height + 2 * s->padding || s->window > s->width + 2 * s->padding)
		return error_set(err, STATUS_UNSUPPORTED,
				 "pooling: window %u, stride %u, padding %u on an image of %u x "
				 "%u; allowed: a stride of at least 1, a padding below the window, "
				 "a window up to the padded image",
				 s->window, s->stride, s->padding, s->height, s->width);
	if ((uint64_t)s->height * s->width > INT32_MAX ||
	    pooling_in_elements(s) > (uint64_t)INT32_MAX * s->batch ||
	    pooling_out_elements(s) > (uint64_t)INT32_MAX * s->batch)
		return error_set(err, STATUS_UNSUPPORTED,
				 "pooling: an image of %u x %u x %u, or its result, has more than "
				 "2^31 - 1 elements",
				 s->height, s->width, s->channels);
	return STATUS_OK;
}

/* The pixels [first, end) of an image of `size` in window `out`. */
struct pooling_range {
	int first, end;
};

#ifdef __CUDACC__
__host__ __device__
#endif
	static inline struct pooling_range
	pooling_window(const struct pooling_shape *s, int out, unsigned size)
{
	int first = out * (int)s->stride - (int)s->padding, end = first + (int)s->window;
	struct pooling_range range;

	range.first = first > 0 ? first : 0;
	range.end = end < (int)size ? end : (int)size;
	return range;
}

/* The windows [first, end) of `count` that contain pixel `at`. */
#ifdef __CUDACC__
__host__ __device__
#endif
	static inline struct pooling_range
	pooling_windows_of(const struct pooling_shape *s, int at, int count)
{
	int last = (at + (int)s->padding) / (int)s->stride,
	    before = at + (int)s->padding - (int)s->window;
	struct pooling_range range;

	range.first = before < 0 ? 0 : before / (int)s->stride + 1;
	range.end = last + 1 < count ? last + 1 : count;
	return range;
}

#endif
