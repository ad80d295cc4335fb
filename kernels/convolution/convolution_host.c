/* Convolutions on the CPU: a slice of output lines per thread, loops along channels or filters. */
#include "kernels/convolution/convolution.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "kernels/launch/elements.h"
#include "device/host/host_kernel.h"

/* A tensor as FP32: in place, or a converted copy that close_tensor() frees. */
static const float *convolution_host_open_tensor(const void *tensor, enum precision precision,
						 uint64_t count, float **copy)
{
	*copy = precision_bytes(precision) == 2 ? xmalloc((count + 1) * sizeof(**copy)) : NULL;
	return elements_open(tensor, precision, 0, count, *copy);
}

/* One pass, with its inputs and weights in FP32. */
struct pass {
	struct convolution_shape shape;
	/* weights of the forward pass: taps x channels x filters */
	const float *images, *gradients, *weights;
	void *out;
	float keep;
};

HOST_VECTORISED
static void convolution_host_add_scaled(float *sum, const float *x, float factor, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		sum[i] += factor * x[i];
}

HOST_VECTORISED
static void convolution_host_add_products(float *sum, const float *x, const float *y,
					  uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		sum[i] += x[i] * y[i];
}

/* The pixel of an image that tap (r, s) of output pixel (p, q) reads; NULL in the padding. */
static const float *convolution_host_pixel_of(const struct pass *a, unsigned n, unsigned p,
					      unsigned q, unsigned r, unsigned s)
{
	const struct convolution_shape *c = &a->shape;
	int64_t h = (int64_t)p * c->stride + r - c->padding,
		w = (int64_t)q * c->stride + s - c->padding;

	if (h < 0 || w < 0 || h >= c->height || w >= c->width)
		return NULL;
	return a->images +
	       (((uint64_t)n * c->height + (uint64_t)h) * c->width + (uint64_t)w) * c->channels;
}

static void convolution_host_forward_pixel(const struct pass *a, float *sum, unsigned n, unsigned p,
					   unsigned q)
{
	const struct convolution_shape *c = &a->shape;
	unsigned depth = kernel_convolution_depth(c);

	memset(sum, 0, c->filters * sizeof(*sum));
	for (unsigned r = 0; r < c->kernel_height; r++)
		for (unsigned s = 0; s < c->kernel_width; s++) {
			const float *x = convolution_host_pixel_of(a, n, p, q, r, s),
				    *w = a->weights +
					 (uint64_t)(r * c->kernel_width + s) * depth * c->filters;

			if (x && c->depthwise)
				convolution_host_add_products(sum, x, w, c->filters);
			for (unsigned k = 0; x && !c->depthwise && k < depth; k++)
				convolution_host_add_scaled(sum, w + (uint64_t)k * c->filters, x[k],
							    c->filters);
		}
}

static void convolution_host_forward_slice(void *context, unsigned part, uint64_t begin,
					   uint64_t end)
{
	const struct pass *a = context;
	unsigned height = kernel_convolution_out_height(&a->shape),
		 width = kernel_convolution_out_width(&a->shape), filters = a->shape.filters;
	float *sum = xmalloc((filters + 1) * sizeof(*sum));

	(void)part;
	for (uint64_t i = begin; i < end; i++) {
		convolution_host_forward_pixel(a, sum, (unsigned)(i / width / height),
					       (unsigned)(i / width % height),
					       (unsigned)(i % width));
		elements_store(a->out, a->shape.precision, i * filters, filters, sum);
	}
	free(sum);
}

/* Transposes filters x taps x channels to taps x channels x filters. */
static float *convolution_host_turned_weights(const struct convolution_shape *s, const float *w)
{
	uint64_t line = (uint64_t)s->kernel_height * s->kernel_width * kernel_convolution_depth(s);
	float *turned = xmalloc((line * s->filters + 1) * sizeof(*turned));

	for (uint64_t f = 0; f < s->filters; f++)
		for (uint64_t i = 0; i < line; i++)
			turned[i * s->filters + f] = w[f * line + i];
	return turned;
}

static uint64_t convolution_host_image_elements(const struct convolution_shape *s)
{
	return (uint64_t)s->batch * s->height * s->width * s->channels;
}

static enum status convolution_forward_run(struct stream *stream, const void *arguments,
					   struct error *err)
{
	const struct convolution_forward_arguments a =
		*(const struct convolution_forward_arguments *)arguments;
	const struct convolution_shape *s = &a.shape;
	float *x, *w, *turned;
	struct pass pass = { .shape = *s, .out = a.y };

	if (kernel_convolution_check(s, err) != STATUS_OK)
		return err->status;
	if (s->algorithm != CONVOLUTION_CHOSEN)
		return kernel_convolution_refuse(s, err);
	pass.images = convolution_host_open_tensor(a.x, s->precision,
						   convolution_host_image_elements(s), &x);
	turned = convolution_host_turned_weights(
		s,
		convolution_host_open_tensor(a.w, s->precision, kernel_convolution_weights(s), &w));
	pass.weights = turned;
	host_stream_parallel(stream, kernel_convolution_out_pixels(s),
			     1 + ELEMENTS_GRAIN / (kernel_convolution_weights(s) + 1),
			     convolution_host_forward_slice, &pass);
	free(x);
	free(w);
	free(turned);
	return STATUS_OK;
}
HOST_KERNEL(convolution_forward)

/* Index of the output pixel whose tap `tap` reads coordinate `at`; -1: none. */
static int64_t convolution_host_reader(unsigned at, unsigned tap, unsigned out,
				       const struct convolution_shape *s)
{
	int64_t distance = (int64_t)at + s->padding - tap;

	return distance < 0 || distance % s->stride || distance / s->stride >= out
		       ? -1
		       : distance / s->stride;
}

static void convolution_host_data_pixel(const struct pass *a, float *sum, unsigned n, unsigned h,
					unsigned w)
{
	const struct convolution_shape *c = &a->shape;
	unsigned out_height = kernel_convolution_out_height(c),
		 out_width = kernel_convolution_out_width(c), depth = kernel_convolution_depth(c),
		 taps = c->kernel_height * c->kernel_width;

	memset(sum, 0, c->channels * sizeof(*sum));
	for (unsigned t = 0; t < taps; t++) {
		int64_t p = convolution_host_reader(h, t / c->kernel_width, out_height, c),
			q = convolution_host_reader(w, t % c->kernel_width, out_width, c);
		const float *dy;

		if (p < 0 || q < 0)
			continue;
		dy = a->gradients +
		     (((uint64_t)n * out_height + (uint64_t)p) * out_width + (uint64_t)q) *
			     c->filters;
		for (uint64_t f = 0; f < c->filters; f++) {
			const float *line = a->weights + (f * taps + t) * depth;

			if (c->depthwise)
				sum[f] += dy[f] * *line;
			else
				convolution_host_add_scaled(sum, line, dy[f], depth);
		}
	}
}

static void convolution_host_data_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct pass *a = context;
	unsigned height = a->shape.height, width = a->shape.width, channels = a->shape.channels;
	float *sum = xmalloc((channels + 1) * sizeof(*sum));

	(void)part;
	for (uint64_t i = begin; i < end; i++) {
		convolution_host_data_pixel(a, sum, (unsigned)(i / width / height),
					    (unsigned)(i / width % height), (unsigned)(i % width));
		elements_store(a->out, a->shape.precision, i * channels, channels, sum);
	}
	free(sum);
}

static enum status convolution_data_gradient_run(struct stream *stream, const void *arguments,
						 struct error *err)
{
	const struct convolution_data_gradient_arguments a =
		*(const struct convolution_data_gradient_arguments *)arguments;
	const struct convolution_shape *s = &a.shape;
	struct pass pass = { .shape = *s, .out = a.dx };
	float *dy, *w;

	if (kernel_convolution_check(s, err) != STATUS_OK)
		return err->status;
	if (s->algorithm != CONVOLUTION_CHOSEN)
		return kernel_convolution_refuse(s, err);
	pass.gradients =
		convolution_host_open_tensor(a.dy, s->precision,
					     kernel_convolution_out_pixels(s) * s->filters, &dy);
	pass.weights =
		convolution_host_open_tensor(a.w, s->precision, kernel_convolution_weights(s), &w);
	host_stream_parallel(stream, (uint64_t)s->batch * s->height * s->width,
			     1 + ELEMENTS_GRAIN / (kernel_convolution_weights(s) + 1),
			     convolution_host_data_slice, &pass);
	free(dy);
	free(w);
	return STATUS_OK;
}
HOST_KERNEL(convolution_data_gradient)

/* Gradient of filter f, taps x channels. */
static void convolution_host_filter_gradient(const struct pass *a, float *sum, unsigned f)
{
	const struct convolution_shape *c = &a->shape;
	unsigned height = kernel_convolution_out_height(c), width = kernel_convolution_out_width(c),
		 depth = kernel_convolution_depth(c), taps = c->kernel_height * c->kernel_width;

	memset(sum, 0, (uint64_t)taps * depth * sizeof(*sum));
	for (uint64_t i = 0; i < kernel_convolution_out_pixels(c); i++) {
		float dy = a->gradients[i * c->filters + f];

		for (unsigned t = 0; t < taps; t++) {
			const float *x =
				convolution_host_pixel_of(a, (unsigned)(i / width / height),
							  (unsigned)(i / width % height),
							  (unsigned)(i % width),
							  t / c->kernel_width, t % c->kernel_width);

			if (x)
				convolution_host_add_scaled(sum + (uint64_t)t * depth,
							    x + (c->depthwise ? f : 0), dy, depth);
		}
	}
}

static void convolution_host_weight_slice(void *context, unsigned part, uint64_t begin,
					  uint64_t end)
{
	const struct pass *a = context;
	uint64_t line = kernel_convolution_weights(&a->shape) / a->shape.filters;
	float *sum = xmalloc(2 * (line + 1) * sizeof(*sum));

	(void)part;
	for (uint64_t f = begin; f < end; f++) {
		convolution_host_filter_gradient(a, sum, (unsigned)f);
		if (a->keep != 0)
			convolution_host_add_scaled(sum,
						    elements_open(a->out, a->shape.precision,
								  f * line, line, sum + line),
						    a->keep, line);
		elements_store(a->out, a->shape.precision, f * line, line, sum);
	}
	free(sum);
}

static enum status convolution_weight_gradient_run(struct stream *stream, const void *arguments,
						   struct error *err)
{
	const struct convolution_weight_gradient_arguments a =
		*(const struct convolution_weight_gradient_arguments *)arguments;
	const struct convolution_shape *s = &a.shape;
	struct pass pass = { .shape = *s, .out = a.dw, .keep = a.keep };
	float *x, *dy;

	if (kernel_convolution_check(s, err) != STATUS_OK)
		return err->status;
	if (s->algorithm != CONVOLUTION_CHOSEN)
		return kernel_convolution_refuse(s, err);
	pass.images = convolution_host_open_tensor(a.x, s->precision,
						   convolution_host_image_elements(s), &x);
	pass.gradients =
		convolution_host_open_tensor(a.dy, s->precision,
					     kernel_convolution_out_pixels(s) * s->filters, &dy);
	host_stream_parallel(stream, s->filters,
			     1 + ELEMENTS_GRAIN / (kernel_convolution_out_pixels(s) *
							   s->kernel_height * s->kernel_width *
							   kernel_convolution_depth(s) +
						   1),
			     convolution_host_weight_slice, &pass);
	free(x);
	free(dy);
	return STATUS_OK;
}
HOST_KERNEL(convolution_weight_gradient)
