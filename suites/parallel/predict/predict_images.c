#include "suites/parallel/predict/predict_images.h"

#include "suites/models/image_model.h"

static double convolution(const struct work *w, const char *pass, const struct image_unit *u,
			  double rows)
{
	return curves_convolution(w->curves, pass, u->depthwise, rows * image_unit_flops(u));
}

/* A kernel that reads and writes `tensors` outputs of the unit. */
static double pass(const struct work *w, double tensors, const struct image_unit *u, double rows)
{
	return curves_memory(w->curves, tensors * rows * (double)image_unit_width(u) *
						(double)precision_bytes(w->setup->precision));
}

/* A norm reads its input for the statistics, and again; bias and ReLU are in place. */
static double unit_forward(const struct work *w, const struct image_unit *u, double rows)
{
	return convolution(w, "forward", u, rows) + pass(w, u->norm ? 3 : 2, u, rows);
}

/*
 * A norm's gradient reads the output's and its own input twice; a ReLU masks in place. Then the
 * gradient of the weights.
 */
static double unit_backward(const struct work *w, const struct image_unit *u, double rows)
{
	return convolution(w, "weight_gradient", u, rows) + pass(w, u->norm ? 6 : 3, u, rows);
}

double images_forward_time(const struct work *w, size_t l, double rows)
{
	struct image_layer layer;
	double seconds = 0;

	image_layer_of(w->setup, l, &layer);
	for (size_t u = 0; u < layer.units; u++)
		seconds += unit_forward(w, &layer.unit[u], rows);
	if (layer.projects)
		seconds += unit_forward(w, &layer.projection, rows);
	if (layer.residual)
		seconds += pass(w, 3, image_last(&layer), rows);
	return layer.pool.window ? seconds + pass(w, 1, image_last(&layer), rows) : seconds;
}

double images_backward_time(const struct work *w, size_t l, double rows)
{
	struct image_layer layer;
	double seconds = setup_recomputes_blocks(w->setup) ? images_forward_time(w, l, rows) : 0;

	image_layer_of(w->setup, l, &layer);
	for (size_t u = 0; u < layer.units; u++) {
		seconds += unit_backward(w, &layer.unit[u], rows);
		if (u > 0)
			seconds += convolution(w, "data_gradient", &layer.unit[u], rows);
	}
	if (layer.projects)
		seconds += unit_backward(w, &layer.projection, rows);
	if (layer.residual)
		seconds += pass(w, 3, image_last(&layer), rows);
	return layer.pool.window ? seconds + pass(w, 2, image_last(&layer), rows) : seconds;
}

double images_input_time(const struct work *w, size_t l, double rows)
{
	struct image_layer layer;
	double seconds;

	if (l == 0)
		return 0;
	image_layer_of(w->setup, l, &layer);
	seconds = convolution(w, "data_gradient", &layer.unit[0], rows);
	if (layer.projects)
		seconds += convolution(w, "data_gradient", &layer.projection, rows);
	return seconds;
}
