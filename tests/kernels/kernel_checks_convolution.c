/* Convolutions and their gradients against their definition in double. */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "kernel_checks.h"
#include "kernels/convolution/convolution.h"

/*
 * batch, height, width, channels, filters, kernel, stride, padding, depthwise. The last one has so
 * many taps that a part of the weights' sum has more than 256 pixels.
 */
#define SHAPE(n, h, w, c, f, r, s, t, p, d)                  \
	{                                                    \
		PRECISION_FP32, n, h, w, c, f, r, s, t, p, d \
	}
/* Workspace and number of a library's engines. */
#define LIBRARY_BYTES (UINT64_C(64) << 20)
#define LIBRARY_ENGINES 3
/* Relative rounding by a library: TF32 may be truncated, parts of narrow sums stored as narrow. */
static const double library_rounding[PRECISION_COUNT] = {
	[PRECISION_TF32] = 0x1.01p-9, [PRECISION_FP16] = 0x1p-10, [PRECISION_BF16] = 0x1p-7
};
static const struct convolution_shape shapes[] = {
	SHAPE(1, 1, 1, 1, 1, 1, 1, 1, 0, 0),      SHAPE(2, 5, 7, 3, 5, 3, 3, 1, 1, 0),
	SHAPE(1, 9, 6, 5, 2, 2, 3, 2, 0, 0),      SHAPE(3, 6, 6, 8, 16, 3, 3, 1, 1, 0),
	SHAPE(2, 11, 13, 24, 8, 3, 3, 2, 1, 0),   SHAPE(2, 7, 6, 72, 136, 3, 3, 1, 1, 0),
	SHAPE(2, 8, 12, 136, 72, 1, 1, 1, 0, 0),  SHAPE(2, 7, 7, 64, 264, 3, 1, 2, 1, 0),
	SHAPE(1, 9, 10, 264, 64, 3, 3, 1, 1, 0),  SHAPE(5, 12, 10, 16, 24, 5, 5, 1, 2, 0),
	SHAPE(2, 9, 9, 16, 16, 7, 7, 2, 3, 0),    SHAPE(2, 8, 8, 6, 6, 3, 3, 3, 1, 0),
	SHAPE(2, 21, 18, 3, 64, 7, 7, 2, 3, 0),   SHAPE(3, 9, 11, 70, 131, 3, 3, 1, 1, 0),
	SHAPE(2, 12, 10, 68, 132, 3, 3, 2, 1, 0), SHAPE(2, 6, 7, 20, 12, 1, 1, 2, 0, 0),
	SHAPE(1, 5, 140, 2, 24, 3, 3, 1, 1, 0),   SHAPE(2, 7, 9, 5, 5, 3, 3, 1, 1, 1),
	SHAPE(2, 9, 8, 30, 24, 3, 3, 1, 1, 0),    SHAPE(1, 30, 31, 3, 64, 11, 11, 4, 2, 0),
	SHAPE(2, 11, 8, 40, 40, 5, 3, 2, 2, 1),   SHAPE(2, 17, 16, 264, 4, 7, 7, 1, 3, 0),
};

/*
 * Values to compare: the tensors as double, and for each result its magnitude, the sum of absolute
 * terms.
 */
struct convolution_data {
	struct convolution_shape shape;
	struct tensor x, w, y, dy, dx, dw;
	double *x_was, *w_was, *dy_was;
	double *y_sum, *dx_sum, *dw_sum, *y_magnitude, *dx_magnitude, *dw_magnitude;
};

static double *decoded(const struct tensor *t)
{
	double *values = xcalloc(t->count, sizeof(*values));

	for (size_t i = 0; i < t->count; i++)
		values[i] = tensor_was(t, i);
	return values;
}

static void add_term(double *sum, double *magnitude, size_t at, double term)
{
	sum[at] += term;
	magnitude[at] += fabs(term);
}

/* All three passes visit the same triples of an input, a weight and an output. */
static void add_pixel(struct convolution_data *d, size_t out, size_t in, unsigned tap)
{
	const struct convolution_shape *s = &d->shape;
	unsigned depth = kernel_convolution_depth(s), taps = s->kernel_height * s->kernel_width;

	for (unsigned f = 0; f < s->filters; f++)
		for (unsigned c = 0; c < depth; c++) {
			size_t y = out * s->filters + f,
			       x = in * s->channels + (s->depthwise ? f : c),
			       w = ((size_t)f * taps + tap) * depth + c;

			add_term(d->y_sum, d->y_magnitude, y, d->x_was[x] * d->w_was[w]);
			add_term(d->dx_sum, d->dx_magnitude, x, d->dy_was[y] * d->w_was[w]);
			add_term(d->dw_sum, d->dw_magnitude, w, d->dy_was[y] * d->x_was[x]);
		}
}

static void make_reference(struct convolution_data *d)
{
	const struct convolution_shape *s = &d->shape;
	unsigned height = kernel_convolution_out_height(s), width = kernel_convolution_out_width(s);

	for (size_t out = 0; out < kernel_convolution_out_pixels(s); out++)
		for (unsigned tap = 0; tap < s->kernel_height * s->kernel_width; tap++) {
			long h = (long)(out / width % height * s->stride + tap / s->kernel_width) -
				 (long)s->padding,
			     w = (long)(out % width * s->stride + tap % s->kernel_width) -
				 (long)s->padding;

			if (h >= 0 && w >= 0 && h < (long)s->height && w < (long)s->width)
				add_pixel(d, out,
					  (out / width / height * s->height + (size_t)h) *
							  s->width +
						  (size_t)w,
					  tap);
		}
}

/* `product`: the rounding of a product of two elements, relative: TF32 rounds both to 2^-11. */
static void check_all(struct bench *b, const char *what, const struct tensor *t, const double *sum,
		      const double *magnitude, double terms, double keep, double product)
{
	for (size_t i = 0; i < t->count && bench_ok(b); i++) {
		double expected = sum[i] + (keep != 0 ? keep * tensor_was(t, i) : 0);

		compare(b->err, what, t->precision, i, tensor_now(t, i), expected,
			((terms + 8) * 0x1p-24 + product) * (magnitude[i] + fabs(expected)) +
				1.01 * element_rounding(t->precision, expected));
	}
}

/*
 * Launches a pass whose result `t` is, with what was uploaded in it. False where the algorithm is
 * not written for it, which the chosen one always is.
 */
static bool launch(struct bench *b, const struct convolution_shape *s, const char *kernel,
		   const void *arguments, struct tensor *t)
{
	struct error refusal = ERROR_NONE;

	tensor_restore(b, t);
	if (!bench_ok(b))
		return false;
	backend_launch(b->stream, kernel, arguments, &refusal);
	backend_stream_synchronize(b->stream, &refusal);
	if (refusal.status == STATUS_UNSUPPORTED && s->algorithm != CONVOLUTION_CHOSEN)
		return false;
	if (refusal.status != STATUS_OK)
		*b->err = refusal;
	tensor_fetch(b, t, kernel);
	return true;
}

/* All passes by one algorithm. */
static void check_passes(struct bench *b, struct convolution_data *d, float *scratch, float keep)
{
	const struct convolution_shape s = d->shape;
	double taps = (double)s.kernel_height * s.kernel_width,
	       product = s.precision == PRECISION_TF32 ? 0x1.01p-10 : 0;

	if (launch(b, &s, "convolution_forward",
		   &(struct convolution_forward_arguments){ s, d->x.device, d->w.device,
							    d->y.device },
		   &d->y))
		check_all(b, "convolution_forward", &d->y, d->y_sum, d->y_magnitude,
			  taps * kernel_convolution_depth(&s), 0, product);
	if (launch(b, &s, "convolution_data_gradient",
		   &(struct convolution_data_gradient_arguments){ s, d->dy.device, d->w.device,
								  d->dx.device },
		   &d->dx))
		check_all(b, "convolution_data_gradient", &d->dx, d->dx_sum, d->dx_magnitude,
			  taps * s.filters, 0, product);
	if (launch(b, &s, "convolution_weight_gradient",
		   &(struct convolution_weight_gradient_arguments){ s, d->x.device, d->dy.device,
								    d->dw.device, scratch, keep },
		   &d->dw))
		check_all(b, "convolution_weight_gradient", &d->dw, d->dw_sum, d->dw_magnitude,
			  (double)kernel_convolution_out_pixels(&s), (double)keep, product);
	if (b->err->status != STATUS_OK)
		error_prefix(b->err, "%s", kernel_convolution_algorithm_name(s.algorithm));
}

/* A pass by engines of the library, which may have none for a shape. */
static void check_library(struct bench *b, struct convolution_data *d, enum convolution_pass pass)
{
	const struct convolution_shape *s = &d->shape;
	const struct {
		const char *name;
		struct tensor *result;
		const double *sum, *magnitude;
		double terms;
		struct convolution_tensors tensors;
	} passes[] = {
		[PASS_FORWARD] = { "library, forward",
				   &d->y,
				   d->y_sum,
				   d->y_magnitude,
				   s->kernel_height * s->kernel_width * kernel_convolution_depth(s),
				   { d->x.device, d->w.device, d->y.device } },
		[PASS_DATA] = { "library, data_gradient",
				&d->dx,
				d->dx_sum,
				d->dx_magnitude,
				s->kernel_height * s->kernel_width * s->filters,
				{ d->dx.device, d->w.device, d->dy.device } },
		[PASS_WEIGHTS] = { "library, weight_gradient",
				   &d->dw,
				   d->dw_sum,
				   d->dw_magnitude,
				   (double)kernel_convolution_out_pixels(s),
				   { d->x.device, d->dw.device, d->dy.device } },
	};
	struct convolution_tensors tensors = passes[pass].tensors;
	struct convolution_engines *engines = NULL;
	struct error refusal = ERROR_NONE;

	if (backend_convolution_open(b->stream, s, pass, LIBRARY_BYTES, LIBRARY_ENGINES, &engines,
				     &refusal) != STATUS_OK &&
	    refusal.status != STATUS_UNSUPPORTED)
		*b->err = refusal;
	for (unsigned i = 0; engines && i < engines->count && bench_ok(b); i++) {
		refusal = (struct error)ERROR_NONE;
		tensor_restore(b, passes[pass].result);
		tensors.workspace = bench_upload(b, NULL, engines->engines[i].workspace_bytes + 1);
		backend_convolution_run(engines, i, &tensors, &refusal);
		backend_stream_synchronize(b->stream, &refusal);
		if (refusal.status == STATUS_UNSUPPORTED)
			continue;
		if (refusal.status != STATUS_OK)
			*b->err = refusal;
		tensor_fetch(b, passes[pass].result, passes[pass].name);
		check_all(b, passes[pass].name, passes[pass].result, passes[pass].sum,
			  passes[pass].magnitude, passes[pass].terms, 0,
			  library_rounding[s->precision]);
		if (b->err->status != STATUS_OK)
			error_prefix(b->err, "%s", engines->engines[i].name);
	}
	backend_convolution_close(engines);
}

static void check_shape(struct bench *b, const struct convolution_shape *s, float keep)
{
	size_t in = (size_t)s->batch * s->height * s->width * s->channels,
	       out = kernel_convolution_out_pixels(s) * s->filters,
	       weights = kernel_convolution_weights(s);
	float *scratch = bench_upload(b, NULL, kernel_convolution_scratch_bytes(s));
	enum precision stored = s->precision == PRECISION_TF32 ? PRECISION_FP32 : s->precision;
	struct convolution_data d = { .shape = *s };

	tensor_make(b, &d.x, stored, in, 61, 1);
	tensor_make(b, &d.w, stored, weights, 62, 1);
	tensor_make(b, &d.y, stored, out, 63, 1);
	tensor_make(b, &d.dy, stored, out, 64, 1);
	tensor_make(b, &d.dx, stored, in, 65, 1);
	tensor_make(b, &d.dw, stored, weights, 66, 1);
	d.x_was = decoded(&d.x);
	d.w_was = decoded(&d.w);
	d.dy_was = decoded(&d.dy);
	d.y_sum = xcalloc(2 * (in + out + weights), sizeof(double));
	d.dx_sum = d.y_sum + out;
	d.dw_sum = d.dx_sum + in;
	d.y_magnitude = d.dw_sum + weights;
	d.dx_magnitude = d.y_magnitude + out;
	d.dw_magnitude = d.dx_magnitude + in;
	make_reference(&d);
	for (int i = 0; i < CONVOLUTION_ALGORITHMS && bench_ok(b); i++) {
		d.shape.algorithm = (enum convolution_algorithm)i;
		check_passes(b, &d, scratch, keep);
	}
	for (int pass = PASS_FORWARD; pass <= PASS_WEIGHTS && bench_ok(b); pass++)
		if (b->device->info.capabilities & DEVICE_HAS_CONVOLUTIONS)
			check_library(b, &d, (enum convolution_pass)pass);
	tensor_free(&d.x);
	tensor_free(&d.w);
	tensor_free(&d.y);
	tensor_free(&d.dy);
	tensor_free(&d.dx);
	tensor_free(&d.dw);
	free(d.x_was);
	free(d.w_was);
	free(d.dy_was);
	free(d.y_sum);
}

enum status check_convolution(struct device *device, struct error *err)
{
	static const enum precision precisions[] = { PRECISION_FP32, PRECISION_TF32, PRECISION_FP16,
						     PRECISION_BF16 };

	for (size_t i = 0; i < ARRAY_SIZE(shapes) * ARRAY_SIZE(precisions); i++) {
		struct convolution_shape s = shapes[i / ARRAY_SIZE(precisions)];
		struct bench b;

		if (kernel_checks_small && i / ARRAY_SIZE(precisions) % 3 != 0)
			continue;
		s.precision = precisions[i % ARRAY_SIZE(precisions)];
		bench_open(&b, device, err);
		check_shape(&b, &s, i / ARRAY_SIZE(precisions) % 2 ? 0.5f : 0);
		if (err->status != STATUS_OK)
			error_prefix(err,
				     "%s, %u x %u x %u x %u to %u, kernel %u x %u, stride %u, "
				     "padding %u%s",
				     precision_name(s.precision), s.batch, s.height, s.width,
				     s.channels, s.filters, s.kernel_height, s.kernel_width,
				     s.stride, s.padding, s.depthwise ? ", depthwise" : "");
		if (bench_close(&b) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

/* Shapes that make no sense are refused. */
enum status check_convolution_refuses(struct device *device, struct error *err)
{
	static const struct convolution_shape wrong[] = {
		SHAPE(1, 4, 4, 8, 8, 7, 7, 1, 1, 0),        /* kernel beyond the padded image */
		SHAPE(1, 4, 4, 8, 8, 3, 3, 0, 1, 0),        /* no stride */
		SHAPE(1, 4, 4, 8, 16, 3, 3, 1, 1, 1),       /* depthwise with more filters */
		SHAPE(1, 20, 20, 8, 8, 12, 12, 1, 1, 1),    /* depthwise with more than 121 taps */
		SHAPE(1, 1, 1, 1u << 29, 1, 1, 1, 1, 0, 0), /* pixels of 2 GiB */
		{ PRECISION_FP64, 1, 4, 4, 8, 8, 3, 3, 1, 1, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct error refusal = ERROR_NONE;
		struct bench b;

		bench_open(&b, device, &refusal);
		bench_launch(&b, "convolution_forward",
			     &(struct convolution_forward_arguments){ .shape = wrong[i] });
		bench_close(&b);
		if (refusal.status != STATUS_UNSUPPORTED)
			return error_set(err, STATUS_MISMATCH, "shape %zu: status %d, \"%s\"", i,
					 (int)refusal.status, refusal.message);
	}
	return STATUS_OK;
}
