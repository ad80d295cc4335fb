#include "kernels/convolution/pooling.h"

#include "kernels/launch/elements.h"
#include "device/host/host_kernel.h"
#include "kernels/stored.h"

static uint64_t pooling_host_element(const struct pooling_shape *s, unsigned n, int h, int w,
				     unsigned c)
{
	return (((uint64_t)n * s->height + (uint64_t)h) * s->width + (uint64_t)w) * s->channels + c;
}

static float pooling_host_value_at(const void *tensor, const struct pooling_shape *s, uint64_t at)
{
	return (float)stored_value(tensor, s->precision, at);
}

/* Index of the first maximum of a window. */
static uint64_t pooling_host_greatest(const struct pooling_shape *s, const void *x, unsigned n,
				      struct pooling_range h, struct pooling_range w, unsigned c)
{
	uint64_t best = pooling_host_element(s, n, h.first, w.first, c);
	float most = pooling_host_value_at(x, s, best);

	for (int i = h.first; i < h.end; i++)
		for (int j = w.first; j < w.end; j++) {
			uint64_t at = pooling_host_element(s, n, i, j, c);
			float v = pooling_host_value_at(x, s, at);

			if (v > most || (v != v && most == most)) {
				most = v;
				best = at;
			}
		}
	return best;
}

static float pooling_host_average(const struct pooling_shape *s, const void *x, unsigned n,
				  struct pooling_range h, struct pooling_range w, unsigned c)
{
	float sum = 0;

	for (int i = h.first; i < h.end; i++)
		for (int j = w.first; j < w.end; j++)
			sum += pooling_host_value_at(x, s, pooling_host_element(s, n, i, j, c));
	return sum / (float)((h.end - h.first) * (w.end - w.first));
}

/* Coordinates of an element of an image of `height` x `width`. */
struct position {
	unsigned n, h, w, c;
};

static struct position pooling_host_position_of(uint64_t i, unsigned height, unsigned width,
						unsigned channels)
{
	return (struct position){ .n = (unsigned)(i / channels / width / height),
				  .h = (unsigned)(i / channels / width % height),
				  .w = (unsigned)(i / channels % width),
				  .c = (unsigned)(i % channels) };
}

static void pooling_host_forward_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct pooling_forward_arguments *a = context;
	const struct pooling_shape *s = &a->shape;

	(void)part;
	for (uint64_t i = begin; i < end; i++) {
		struct position at =
			pooling_host_position_of(i, pooling_out(s, s->height),
						 pooling_out(s, s->width), s->channels);
		struct pooling_range h = pooling_window(s, (int)at.h, s->height),
				     w = pooling_window(s, (int)at.w, s->width);
		float y = s->average ? pooling_host_average(s, a->x, at.n, h, w, at.c)
				     : pooling_host_value_at(a->x, s,
							     pooling_host_greatest(s, a->x, at.n, h,
										   w, at.c));

		elements_store(a->y, s->precision, i, 1, &y);
	}
}

static enum status pooling_forward_run(struct stream *stream, const void *arguments,
				       struct error *err)
{
	struct pooling_forward_arguments a = *(const struct pooling_forward_arguments *)arguments;

	if (pooling_check(&a.shape, err) != STATUS_OK)
		return err->status;
	host_stream_parallel(stream, pooling_out_elements(&a.shape), 1024,
			     pooling_host_forward_slice, &a);
	return STATUS_OK;
}
HOST_KERNEL(pooling_forward)

static float pooling_host_gradient_of(const struct pooling_backward_arguments *a, uint64_t i)
{
	const struct pooling_shape *s = &a->shape;
	struct position at = pooling_host_position_of(i, s->height, s->width, s->channels);
	unsigned height = pooling_out(s, s->height), width = pooling_out(s, s->width);
	struct pooling_range down = pooling_windows_of(s, (int)at.h, (int)height),
			     across = pooling_windows_of(s, (int)at.w, (int)width);
	float sum = 0;

	for (int p = down.first; p < down.end; p++)
		for (int q = across.first; q < across.end; q++) {
			struct pooling_range h = pooling_window(s, p, s->height),
					     w = pooling_window(s, q, s->width);
			float dy = pooling_host_value_at(a->dy, s,
							 (((uint64_t)at.n * height + (uint64_t)p) *
								  width +
							  (uint64_t)q) * s->channels +
								 at.c);

			if (s->average)
				sum += dy / (float)((h.end - h.first) * (w.end - w.first));
			else if (pooling_host_greatest(s, a->x, at.n, h, w, at.c) == i)
				sum += dy;
		}
	return sum;
}

static void pooling_host_backward_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct pooling_backward_arguments *a = context;

	(void)part;
	for (uint64_t i = begin; i < end; i++) {
		float dx = pooling_host_gradient_of(a, i);

		elements_store(a->dx, a->shape.precision, i, 1, &dx);
	}
}

static enum status pooling_backward_run(struct stream *stream, const void *arguments,
					struct error *err)
{
	struct pooling_backward_arguments a = *(const struct pooling_backward_arguments *)arguments;

	if (pooling_check(&a.shape, err) != STATUS_OK)
		return err->status;
	host_stream_parallel(stream, pooling_in_elements(&a.shape), 1024,
			     pooling_host_backward_slice, &a);
	return STATUS_OK;
}
HOST_KERNEL(pooling_backward)
