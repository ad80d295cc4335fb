/* Pooling and its gradient against their definition in double: windows scatter their gradient. */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "kernel_checks.h"
#include "kernels/convolution/pooling.h"

static const struct pooling_shape shapes[] = {
	{ PRECISION_FP32, 1, 1, 1, 1, 1, 1, 0, 0 },   { PRECISION_FP32, 2, 6, 8, 5, 2, 2, 0, 0 },
	{ PRECISION_FP32, 3, 9, 7, 16, 3, 2, 1, 0 },  { PRECISION_FP32, 2, 7, 7, 64, 7, 1, 0, 0 },
	{ PRECISION_FP32, 1, 10, 12, 9, 3, 1, 2, 0 }, { PRECISION_FP32, 2, 11, 11, 3, 2, 5, 1, 0 },
};

/* One window: what forward stores, and where its gradient goes. */
static void add_window(const struct pooling_shape *s, const struct tensor *x, double dy, size_t n,
		       long h0, long w0, size_t c, double *y, double *dx, double *magnitude)
{
	size_t inside[64], count = 0, best = 0;
	double sum = 0;

	for (long h = h0; h < h0 + (long)s->window; h++)
		for (long w = w0; w < w0 + (long)s->window; w++)
			if (h >= 0 && w >= 0 && h < (long)s->height && w < (long)s->width)
				inside[count++] =
					((n * s->height + (size_t)h) * s->width + (size_t)w) *
						s->channels +
					c;
	for (size_t i = 0; i < count; i++) {
		sum += tensor_was(x, inside[i]);
		if (tensor_was(x, inside[i]) > tensor_was(x, inside[best]))
			best = i;
	}
	*y = s->average ? sum / (double)count : tensor_was(x, inside[best]);
	for (size_t i = 0; i < count; i++)
		if (s->average || i == best) {
			dx[inside[i]] += s->average ? dy / (double)count : dy;
			magnitude[inside[i]] += fabs(dy);
		}
}

static void check_shape(struct bench *b, const struct pooling_shape *s)
{
	size_t in = pooling_in_elements(s), out = pooling_out_elements(s);
	size_t height = pooling_out(s, s->height), width = pooling_out(s, s->width);
	double *dx_expected = xcalloc(2 * in, sizeof(double)), *magnitude = dx_expected + in, y;
	struct tensor x, result, dy, dx;

	tensor_make(b, &x, s->precision, in, 71, 1);
	tensor_make(b, &result, s->precision, out, 72, 1);
	tensor_make(b, &dy, s->precision, out, 73, 1);
	tensor_make(b, &dx, s->precision, in, 74, 1);
	bench_launch(b, "pooling_forward",
		     &(struct pooling_forward_arguments){ *s, x.device, result.device });
	bench_launch(b, "pooling_backward",
		     &(struct pooling_backward_arguments){ *s, x.device, dy.device, dx.device });
	tensor_fetch(b, &result, "pooling_forward");
	tensor_fetch(b, &dx, "pooling_backward");
	for (size_t i = 0; i < out && bench_ok(b); i++) {
		size_t c = i % s->channels, q = i / s->channels % width,
		       p = i / s->channels / width % height, n = i / s->channels / width / height;

		add_window(s, &x, tensor_was(&dy, i), n, (long)(p * s->stride) - (long)s->padding,
			   (long)(q * s->stride) - (long)s->padding, c, &y, dx_expected, magnitude);
		compare(b->err, "pooling_forward", s->precision, i, tensor_now(&result, i), y,
			s->average ? 0x1p-18 + 1.01 * element_rounding(s->precision, y) : 0);
	}
	for (size_t i = 0; i < in && bench_ok(b); i++)
		compare(b->err, "pooling_backward", s->precision, i, tensor_now(&dx, i),
			dx_expected[i],
			0x1p-20 * magnitude[i] +
				1.01 * element_rounding(s->precision, dx_expected[i]));
	tensor_free(&x);
	tensor_free(&result);
	tensor_free(&dy);
	tensor_free(&dx);
	free(dx_expected);
}

enum status check_pooling(struct device *device, struct error *err)
{
	static const enum precision precisions[] = { PRECISION_FP32, PRECISION_FP16,
						     PRECISION_BF16 };

	for (size_t i = 0; i < 6 * ARRAY_SIZE(shapes); i++) {
		struct pooling_shape s = shapes[i / 6];
		struct bench b;

		s.precision = precisions[i % 3];
		s.average = i % 6 >= 3;
		bench_open(&b, device, err);
		check_shape(&b, &s);
		if (err->status != STATUS_OK)
			error_prefix(err, "%u x %u x %u x %u, window %u, stride %u, padding %u, %s",
				     s.batch, s.height, s.width, s.channels, s.window, s.stride,
				     s.padding, s.average ? "average" : "greatest");
		if (bench_close(&b) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}
