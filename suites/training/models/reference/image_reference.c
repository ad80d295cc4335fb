#include "suites/training/models/reference/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "suites/training/models/reference/values.h"

/* All tensors between x and y of one layer. */
struct image_inner {
	struct image_layer image;
	/*
	 * for each unit and the projection: output of the convolution, and of the operations after
	 * it
	 */
	double *z[IMAGE_MAX_UNITS + 1], *y[IMAGE_MAX_UNITS + 1];
};
#define PROJECTION IMAGE_MAX_UNITS

static uint64_t image_reference_elements_of(const struct mlp_reference *ref,
					    const struct image_unit *u)
{
	return ref->setup->batch * image_model_unit_width(u);
}

/* Element of the image that tap `tap` of output pixel (p, q) reads; -1: padding. */
static int64_t image_reference_pixel_at(const struct image_unit *u, unsigned p, unsigned q,
					unsigned tap)
{
	int64_t h = (int64_t)p * u->stride + tap / u->kernel - u->padding,
		w = (int64_t)q * u->stride + tap % u->kernel - u->padding;

	return h < 0 || w < 0 || h >= u->side || w >= u->side ? -1
							      : (h * u->side + w) * u->channels;
}

static uint64_t image_reference_unit_pixels(const struct image_unit *u)
{
	return (uint64_t)u->out_side * u->out_side;
}

static void image_reference_convolve(const struct mlp_reference *ref, size_t l,
				     const struct image_unit *u, const double *x, double *z)
{
	const double *w = model_reference_parameters(ref, l, u->tensor);
	uint64_t in = (uint64_t)u->side * u->side * u->channels,
		 pixels = image_reference_unit_pixels(u);
	unsigned depth = u->depthwise ? 1 : u->channels, taps = u->kernel * u->kernel;

	IN_PARALLEL
	for (uint64_t i = 0; i < ref->setup->batch * pixels; i++)
		for (unsigned tap = 0; tap < taps; tap++) {
			int64_t at =
				image_reference_pixel_at(u, (unsigned)(i % pixels / u->out_side),
							 (unsigned)(i % u->out_side), tap);

			for (unsigned f = 0; at >= 0 && f < u->filters; f++)
				z[i * u->filters + f] +=
					values_dot(x + i / pixels * in + at +
							   (u->depthwise ? f : 0),
						   w + ((uint64_t)f * taps + tap) * depth, depth);
		}
}

/* dw = gradient of one filter. */
static void image_reference_gradient_of_filter(const struct mlp_reference *ref,
					       const struct image_unit *u, const double *x,
					       const double *dz, unsigned f, double *dw)
{
	unsigned depth = u->depthwise ? 1 : u->channels, taps = u->kernel * u->kernel;
	uint64_t in = (uint64_t)u->side * u->side * u->channels;

	memset(dw, 0, (uint64_t)taps * depth * sizeof(*dw));
	for (uint64_t i = 0; i < ref->setup->batch * image_reference_unit_pixels(u); i++)
		for (unsigned tap = 0; tap < taps && dz[i * u->filters + f] != 0; tap++) {
			int64_t at = image_reference_pixel_at(
				u, (unsigned)(i % image_reference_unit_pixels(u) / u->out_side),
				(unsigned)(i % u->out_side), tap);

			if (at >= 0)
				values_add_scaled(dw + (uint64_t)tap * depth,
						  dz[i * u->filters + f],
						  x + i / image_reference_unit_pixels(u) * in + at +
							  (u->depthwise ? f : 0),
						  depth);
		}
}

/* dx += gradient of one image. */
static void image_reference_gradient_of_image(const struct image_unit *u, const double *w,
					      const double *dz, double *dx)
{
	unsigned depth = u->depthwise ? 1 : u->channels, taps = u->kernel * u->kernel;

	for (uint64_t i = 0; i < image_reference_unit_pixels(u); i++)
		for (unsigned tap = 0; tap < taps; tap++) {
			int64_t at = image_reference_pixel_at(u, (unsigned)(i / u->out_side),
							      (unsigned)(i % u->out_side), tap);

			for (unsigned f = 0; at >= 0 && f < u->filters; f++)
				values_add_scaled(dx + at + (u->depthwise ? f : 0),
						  dz[i * u->filters + f],
						  w + ((uint64_t)f * taps + tap) * depth, depth);
		}
}

static void image_reference_convolve_backward(const struct mlp_reference *ref, size_t l,
					      const struct image_unit *u, const double *x,
					      const double *dz, double *dx)
{
	uint64_t in = (uint64_t)u->side * u->side * u->channels;
	double *dw = model_reference_gradients(ref, l, u->tensor),
	       *w = model_reference_parameters(ref, l, u->tensor);

	IN_PARALLEL
	for (unsigned f = 0; f < u->filters; f++)
		image_reference_gradient_of_filter(ref, u, x, dz, f,
						   dw + f * image_model_unit_depth(u));
	if (!dx)
		return;
	IN_PARALLEL
	for (uint64_t r = 0; r < ref->setup->batch; r++)
		image_reference_gradient_of_image(u, w, dz + r * image_model_unit_width(u),
						  dx + r * in);
}

/* Rows that share the statistics of a batch norm: the rows of one forward on one device. */
static uint64_t image_reference_rows_together(const struct setup *s)
{
	return s->batch / ((uint64_t)s->ranks * setup_accumulate(s) * setup_norm_groups(s));
}

/* One channel of one group of rows: `count` pixels from `first`, `stride` apart. */
struct channel {
	uint64_t first, count, stride;
	double mean, rstd;
};

static struct channel image_reference_channel_of(const struct mlp_reference *ref,
						 const struct image_unit *u, const double *z,
						 uint64_t group, unsigned c)
{
	uint64_t rows = image_reference_rows_together(ref->setup);
	struct channel ch = { .first = group * rows * image_model_unit_width(u) + c,
			      .count = rows * image_reference_unit_pixels(u),
			      .stride = u->filters };
	double square = 0;

	for (uint64_t i = 0; i < ch.count; i++)
		ch.mean += z[ch.first + i * ch.stride] / (double)ch.count;
	for (uint64_t i = 0; i < ch.count; i++)
		square += pow(z[ch.first + i * ch.stride] - ch.mean, 2) / (double)ch.count;
	ch.rstd = 1 / sqrt(square + IMAGE_NORM_EPSILON);
	return ch;
}

static void image_reference_batch_norm(const struct mlp_reference *ref, size_t l,
				       const struct image_unit *u, const double *z, double *y)
{
	const double *scale = model_reference_parameters(ref, l, u->tensor + 1),
		     *shift = model_reference_parameters(ref, l, u->tensor + 2);
	uint64_t groups = ref->setup->batch / image_reference_rows_together(ref->setup);

	IN_PARALLEL
	for (unsigned c = 0; c < u->filters; c++)
		for (uint64_t g = 0; g < groups; g++) {
			struct channel ch = image_reference_channel_of(ref, u, z, g, c);

			for (uint64_t i = 0; i < ch.count; i++) {
				uint64_t at = ch.first + i * ch.stride;

				y[at] = (z[at] - ch.mean) * ch.rstd * scale[c] + shift[c];
			}
		}
}

static void image_reference_batch_norm_backward(const struct mlp_reference *ref, size_t l,
						const struct image_unit *u, const double *z,
						double *dy)
{
	const double *scale = model_reference_parameters(ref, l, u->tensor + 1);
	double *dscale = model_reference_gradients(ref, l, u->tensor + 1),
	       *dshift = model_reference_gradients(ref, l, u->tensor + 2);
	uint64_t groups = ref->setup->batch / image_reference_rows_together(ref->setup);

	IN_PARALLEL
	for (unsigned c = 0; c < u->filters; c++) {
		dscale[c] = dshift[c] = 0;
		for (uint64_t g = 0; g < groups; g++) {
			struct channel ch = image_reference_channel_of(ref, u, z, g, c);
			double sum = 0, product = 0;

			/* Replaces dy by dz; adds to the gradients of scale and shift. */
			for (uint64_t i = 0; i < ch.count; i++) {
				uint64_t at = ch.first + i * ch.stride;

				sum += dy[at];
				product += dy[at] * (z[at] - ch.mean) * ch.rstd;
			}
			for (uint64_t i = 0; i < ch.count; i++) {
				uint64_t at = ch.first + i * ch.stride;
				double n = (z[at] - ch.mean) * ch.rstd;

				dy[at] = scale[c] * ch.rstd *
					 (dy[at] - (sum + n * product) / (double)ch.count);
			}
			dscale[c] += product;
			dshift[c] += sum;
		}
	}
}

/* In place; after the comparison, the run's output replaces the reference's. */
static void image_reference_relu(struct mlp_reference *ref, size_t decision, double *y,
				 uint64_t count)
{
	const double *imposed = ref->imposed[decision];
	double all = 0, difference = 0;

	for (uint64_t i = 0; i < count; i++) {
		y[i] = y[i] > 0 ? y[i] : 0;
		if (!imposed)
			continue;
		all += y[i] * y[i];
		difference += (y[i] - imposed[i]) * (y[i] - imposed[i]);
		y[i] = imposed[i];
	}
	/* Written so that NaN counts as a difference. */
	if (imposed && !(sqrt(difference / all) <= ref->forward_error))
		ref->forward_error = difference > 0 || all > 0 ? sqrt(difference / all) : 0;
}

static void image_reference_relu_backward(const double *y, double *dy, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		if (!(y[i] > 0))
			dy[i] = 0;
}

/* Windows of one layer's pool, indexed by output pixel and channel. */
struct window {
	uint64_t image; /* first element of the image */
	unsigned down, across, height, width, channel;
};

static struct window image_reference_window_of(const struct image_layer *image, uint64_t i)
{
	const struct image_pool *pool = &image->pool;
	const struct image_unit *last = image_model_last(image);
	uint64_t pixel = i / last->filters;
	int down = (int)(pixel / pool->out_side % pool->out_side * pool->stride) -
		   (int)pool->padding,
	    across = (int)(pixel % pool->out_side * pool->stride) - (int)pool->padding;
	struct window w = { .image = pixel / pool->out_side / pool->out_side *
				     image_model_unit_width(last),
			    .down = down > 0 ? (unsigned)down : 0,
			    .across = across > 0 ? (unsigned)across : 0,
			    .channel = (unsigned)(i % last->filters) };

	w.height = (unsigned)fmin(down + (int)pool->window, last->out_side) - w.down;
	w.width = (unsigned)fmin(across + (int)pool->window, last->out_side) - w.across;
	return w;
}

/* Element of pixel `k` of a window, row by row. */
static uint64_t image_reference_element_of(const struct image_layer *image, const struct window *w,
					   unsigned k)
{
	const struct image_unit *last = image_model_last(image);

	return w->image +
	       ((uint64_t)(w->down + k / w->width) * last->out_side + w->across + k % w->width) *
		       last->filters +
	       w->channel;
}

static uint64_t image_reference_pooled_elements(const struct mlp_reference *ref,
						const struct image_layer *image)
{
	return ref->setup->batch * image->pool.out_side * image->pool.out_side *
	       image_model_last(image)->filters;
}

/* The pixel of window `i` that passes: the first of the greatest. */
static uint64_t image_reference_chosen_of(const struct image_layer *image, uint64_t i,
					  const double *x)
{
	struct window w = image_reference_window_of(image, i);
	unsigned best = 0;

	for (unsigned k = 1; k < w.height * w.width; k++)
		if (x[image_reference_element_of(image, &w, k)] >
		    x[image_reference_element_of(image, &w, best)])
			best = k;
	return image_reference_element_of(image, &w, best);
}

static void image_reference_pool(const struct mlp_reference *ref, const struct image_layer *image,
				 const double *x, double *y)
{
	for (uint64_t i = 0; i < image_reference_pooled_elements(ref, image); i++) {
		struct window w = image_reference_window_of(image, i);
		unsigned size = w.height * w.width;

		y[i] = image->pool.average ? 0 : x[image_reference_chosen_of(image, i, x)];
		for (unsigned k = 0; k < size && image->pool.average; k++)
			y[i] += x[image_reference_element_of(image, &w, k)] / size;
	}
}

static void image_reference_forward_unit(struct mlp_reference *ref, size_t l,
					 const struct image_unit *u, struct image_inner *in,
					 size_t index, const double *x)
{
	double *z = in->z[index] = xcalloc(image_reference_elements_of(ref, u), sizeof(double)),
	       *y = in->y[index] = xcalloc(image_reference_elements_of(ref, u), sizeof(double));

	image_reference_convolve(ref, l, u, x, z);
	if (u->norm)
		image_reference_batch_norm(ref, l, u, z, y);
	else {
		const double *bias = model_reference_parameters(ref, l, u->tensor + 1);

		for (uint64_t i = 0; i < image_reference_elements_of(ref, u); i++)
			y[i] = z[i] + bias[i % u->filters];
	}
	if (u->relu)
		image_reference_relu(ref, u->decision, y, image_reference_elements_of(ref, u));
}

static void image_reference_compute_inner(struct mlp_reference *ref, size_t l,
					  struct image_inner *in)
{
	const double *x = ref->activations[l], *shortcut = x;
	double *y;

	*in = (struct image_inner){ 0 };
	image_model_layer_of(ref->setup, l, &in->image);
	for (size_t u = 0; u < in->image.units; u++)
		image_reference_forward_unit(ref, l, &in->image.unit[u], in, u,
					     u > 0 ? in->y[u - 1] : x);
	if (!in->image.residual)
		return;
	if (in->image.projects) {
		image_reference_forward_unit(ref, l, &in->image.projection, in, PROJECTION, x);
		shortcut = in->y[PROJECTION];
	}
	y = in->y[in->image.units - 1];
	for (uint64_t i = 0; i < image_reference_elements_of(ref, image_model_last(&in->image));
	     i++)
		y[i] += shortcut[i];
	image_reference_relu(ref, in->image.decision, y,
			     image_reference_elements_of(ref, image_model_last(&in->image)));
}

static void image_reference_release_inner(struct image_inner *in)
{
	for (size_t u = 0; u <= IMAGE_MAX_UNITS; u++) {
		free(in->z[u]);
		free(in->y[u]);
	}
}

void image_reference_forward(struct mlp_reference *ref, size_t l)
{
	struct image_inner in;
	const double *out;

	image_reference_compute_inner(ref, l, &in);
	out = in.y[in.image.units - 1];
	if (in.image.pool.window)
		image_reference_pool(ref, &in.image, out, ref->activations[l + 1]);
	else
		memcpy(ref->activations[l + 1], out,
		       image_reference_elements_of(ref, image_model_last(&in.image)) *
			       sizeof(*out));
	image_reference_release_inner(&in);
}

/* Replaces dy by dz; dx += gradient of the unit's input (NULL: not computed). */
static void image_reference_backward_unit(const struct mlp_reference *ref, size_t l,
					  const struct image_unit *u, const struct image_inner *in,
					  size_t index, const double *x, double *dy, double *dx)
{
	if (u->relu)
		image_reference_relu_backward(in->y[index], dy,
					      image_reference_elements_of(ref, u));
	if (u->norm)
		image_reference_batch_norm_backward(ref, l, u, in->z[index], dy);
	else {
		double *dbias = model_reference_gradients(ref, l, u->tensor + 1);

		memset(dbias, 0, u->filters * sizeof(*dbias));
		for (uint64_t i = 0; i < image_reference_elements_of(ref, u); i++)
			dbias[i % u->filters] += dy[i];
	}
	image_reference_convolve_backward(ref, l, u, x, dy, dx);
}

/* dx += gradient of the shortcut, computed from the gradient of the sum. */
static void image_reference_backward_shortcut(const struct mlp_reference *ref, size_t l,
					      const struct image_inner *in, const double *dy,
					      double *dx)
{
	uint64_t count = image_reference_elements_of(ref, image_model_last(&in->image));
	double *own;

	if (!in->image.projects) {
		for (uint64_t i = 0; i < count && dx; i++)
			dx[i] += dy[i];
		return;
	}
	own = xcalloc(count, sizeof(double));
	memcpy(own, dy, count * sizeof(*own));
	image_reference_backward_unit(ref, l, &in->image.projection, in, PROJECTION,
				      ref->activations[l], own, dx);
	free(own);
}

void image_reference_backward(struct mlp_reference *ref, size_t l, const double *dy, double *dx)
{
	struct image_inner in;
	const double *out;
	uint64_t count;
	double *d;

	image_reference_compute_inner(ref, l, &in);
	out = in.y[in.image.units - 1];
	count = image_reference_elements_of(ref, image_model_last(&in.image));
	d = xcalloc(count, sizeof(double));
	if (in.image.pool.window) {
		for (uint64_t i = 0; i < image_reference_pooled_elements(ref, &in.image); i++) {
			struct window w = image_reference_window_of(&in.image, i);
			unsigned size = w.height * w.width;

			if (!in.image.pool.average)
				d[image_reference_chosen_of(&in.image, i, out)] += dy[i];
			for (unsigned k = 0; k < size && in.image.pool.average; k++)
				d[image_reference_element_of(&in.image, &w, k)] += dy[i] / size;
		}
	} else
		memcpy(d, dy, count * sizeof(*d));
	if (in.image.residual) {
		image_reference_relu_backward(out, d, count);
		image_reference_backward_shortcut(ref, l, &in, d, dx);
	}
	for (size_t u = in.image.units; u-- > 0;) {
		double *next =
			u > 0 ? xcalloc(image_reference_elements_of(ref, &in.image.unit[u - 1]),
					sizeof(double))
			      : NULL;

		image_reference_backward_unit(ref, l, &in.image.unit[u], &in, u,
					      u > 0 ? in.y[u - 1] : ref->activations[l], d,
					      u > 0 ? next : dx);
		free(d);
		d = next;
	}
	image_reference_release_inner(&in);
}
