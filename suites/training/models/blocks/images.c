#include "suites/training/models/blocks/blocks.h"

#include "kernels/convolution/convolution.h"
#include "kernels/convolution/pooling.h"
#include "kernels/layers/layers.h"
#include "kernels/training/training.h"

/* One forward or backward of a layer. */
struct image_pass {
	struct network *n;
	size_t layer;
	uint64_t row, rows;
	bool accumulate;
	struct image_layer image;
	struct kept_image *kept;
};

static struct image_pass image_pass_of(const struct pass *of)
{
	struct image_pass p = { .n = of->n,
				.layer = of->layer,
				.row = of->row,
				.rows = of->rows,
				.accumulate = of->accumulate,
				.kept = &of->n->images.kept[of->layer] };

	image_layer_of(of->n->setup, of->layer, &p.image);
	return p;
}

static void *image_weights(const struct image_pass *p, size_t tensor)
{
	return network_weights(p->n, p->layer, tensor);
}

static void *image_gradients(const struct image_pass *p, size_t tensor)
{
	return network_gradients(p->n, p->layer, tensor);
}

static struct convolution_shape image_convolution_shape(const struct setup *setup,
							const struct image_unit *u, uint64_t rows)
{
	return (struct convolution_shape){ .precision = setup->precision,
					   .batch = (unsigned)rows,
					   .height = u->side,
					   .width = u->side,
					   .channels = u->channels,
					   .filters = u->filters,
					   .kernel_height = u->kernel,
					   .kernel_width = u->kernel,
					   .stride = u->stride,
					   .padding = u->padding,
					   .depthwise = u->depthwise };
}

static struct pooling_shape image_pool_of(const struct image_pass *p)
{
	const struct image_unit *last = image_last(&p->image);

	return (struct pooling_shape){ .precision = setup_storage(p->n->setup),
				       .batch = (unsigned)p->rows,
				       .height = last->out_side,
				       .width = last->out_side,
				       .channels = last->filters,
				       .window = p->image.pool.window,
				       .stride = p->image.pool.stride,
				       .padding = p->image.pool.padding,
				       .average = p->image.pool.average };
}

static uint64_t image_unit_pixels(const struct image_pass *p, const struct image_unit *u)
{
	return p->rows * u->out_side * u->out_side;
}

/* Input of the pool, or the layer's output. */
static void *image_output_of(const struct image_pass *p)
{
	return p->image.pool.window ? p->kept->out : network_activation(p->n, p->layer + 1, p->row);
}

/* Output of unit `u`; its input is the output of the unit before it. */
static void *image_unit_output(const struct image_pass *p, size_t u)
{
	return u + 1 < p->image.units ? p->kept->unit[u].y : image_output_of(p);
}

static const void *image_unit_input(const struct image_pass *p, size_t u)
{
	return u > 0 ? image_unit_output(p, u - 1) : network_activation(p->n, p->layer, p->row);
}

/* Output of the ReLU that decides in backward: of this run or an imposed one. */
static const void *image_relu_decider(const struct image_pass *p, size_t decision, uint64_t width,
				      const void *own)
{
	const void *imposed = p->n->images.decisions[decision];

	return imposed ? network_element(p->n, (void *)imposed, p->row * width) : own;
}

static enum status image_record_decision(const struct image_pass *p, size_t decision,
					 uint64_t width, const void *output, struct error *err)
{
	void *to = p->n->images.record[decision];

	if (!to)
		return err->status;
	return network_copy(p->n, network_element(p->n, to, p->row * width), output,
			    p->rows * width * precision_bytes(p->n->setup->precision), err);
}

static enum status image_relu_backward(const struct image_pass *p, const void *y, void *dy,
				       uint64_t count, struct error *err)
{
	struct activation_backward_arguments a = { .x = y,
						   .dy = dy,
						   .dx = dy,
						   .activation = ACTIVATION_RELU,
						   .precision = setup_storage(p->n->setup),
						   .count = count };

	return network_launch(p->n, "activation_backward", &a, err);
}

static enum status image_residual_add(const struct image_pass *p, const void *a, const void *b,
				      void *y, uint64_t count, struct error *err)
{
	struct residual_add_arguments sum = {
		.a = a, .b = b, .y = y, .precision = setup_storage(p->n->setup), .count = count
	};

	return network_launch(p->n, "residual_add", &sum, err);
}

/* Computes statistics separately for each group of rows; then y, with the ReLU after the norm. */
static enum status image_batch_norm(const struct image_pass *p, const struct image_unit *u,
				    const struct kept_unit *kept, const void *residual, void *y,
				    struct error *err)
{
	uint64_t groups = p->n->images.norm_groups, elements = image_unit_pixels(p, u) * u->filters;
	float *statistics = kept->statistics;

	for (uint64_t g = 0; g < groups; g++) {
		struct batch_norm_forward_arguments a = {
			.x = network_element(p->n, kept->z, g * elements / groups),
			.gamma = image_weights(p, u->tensor + 1),
			.beta = image_weights(p, u->tensor + 2),
			.residual = residual ? network_element(p->n, (void *)residual,
							       g * elements / groups)
					     : NULL,
			.y = network_element(p->n, y, g * elements / groups),
			.mean = statistics + 2 * g * u->filters,
			.rstd = statistics + (2 * g + 1) * u->filters,
			.scratch = p->n->images.norm_sums,
			.precision = setup_storage(p->n->setup),
			.rows = image_unit_pixels(p, u) / groups,
			.columns = u->filters,
			.epsilon = (float)IMAGE_NORM_EPSILON,
			.relu = u->relu || residual,
		};

		network_launch(p->n, "batch_norm_forward", &a, err);
	}
	return err->status;
}

/* `relu`: dy is the gradient of the ReLU after the norm. */
static enum status image_batch_norm_backward(const struct image_pass *p, const struct image_unit *u,
					     const struct kept_unit *kept, bool relu,
					     const void *dy, void *dx, struct error *err)
{
	uint64_t groups = p->n->images.norm_groups, elements = image_unit_pixels(p, u) * u->filters;
	float *statistics = kept->statistics;

	for (uint64_t g = 0; g < groups; g++) {
		uint64_t first = g * elements / groups;
		struct batch_norm_backward_arguments a = {
			.x = network_element(p->n, kept->z, first),
			.dy = network_element(p->n, (void *)dy, first),
			.gamma = image_weights(p, u->tensor + 1),
			.beta = relu ? image_weights(p, u->tensor + 2) : NULL,
			.mean = statistics + 2 * g * u->filters,
			.rstd = statistics + (2 * g + 1) * u->filters,
			.dx = network_element(p->n, dx, first),
			.dgamma = image_gradients(p, u->tensor + 1),
			.dbeta = image_gradients(p, u->tensor + 2),
			.scratch = p->n->images.norm_sums,
			.precision = setup_storage(p->n->setup),
			.rows = image_unit_pixels(p, u) / groups,
			.columns = u->filters,
			.keep = p->accumulate || g > 0 ? 1 : 0,
		};

		network_launch(p->n, "batch_norm_backward", &a, err);
	}
	return err->status;
}

/* One pass of a unit's convolution; it overwrites one of the three tensors. */
static enum status image_convolve(const struct image_pass *p, const struct image_unit *u,
				  struct kept_unit *kept, enum convolution_pass pass, const void *x,
				  void *w, const void *y, struct error *err)
{
	const struct convolution_shape shape = image_convolution_shape(p->n->setup, u, p->rows);
	const struct convolution_tensors tensors = { (void *)x, w, (void *)y, NULL };

	return network_convolve(p->n, kept->tuned, &shape, pass, &tensors, err);
}

/*
 * Computes the convolution, then bias and ReLU in place, or the norm with its ReLU into y.
 * `residual` (or NULL): added to the norm before a ReLU.
 */
static enum status image_forward_unit(const struct image_pass *p, const struct image_unit *u,
				      struct kept_unit *kept, const void *x, const void *residual,
				      void *y, struct error *err)
{
	struct bias_relu_arguments bias = {
		.y = y,
		.bias = u->norm ? NULL : image_weights(p, u->tensor + 1),
		.precision = setup_storage(p->n->setup),
		.rows = image_unit_pixels(p, u),
		.columns = u->filters,
		.relu = u->relu,
	};

	image_convolve(p, u, kept, PASS_FORWARD, x, image_weights(p, u->tensor),
		       u->norm ? kept->z : y, err);
	if (!u->norm)
		network_launch(p->n, "bias_relu", &bias, err);
	else
		image_batch_norm(p, u, kept, residual, y, err);
	if (u->relu)
		image_record_decision(p, u->decision, image_unit_width(u), y, err);
	return err->status;
}

static enum status image_forward_inside(const struct image_pass *p, struct error *err)
{
	const void *shortcut = p->image.residual ? image_unit_input(p, 0) : NULL;

	/* y = relu(y + input or its projection), which uses a buffer that backward needs later. */
	if (p->image.projects) {
		shortcut = p->n->images.gradient[0];
		image_forward_unit(p, &p->image.projection, &p->kept->projection,
				   image_unit_input(p, 0), NULL, p->n->images.gradient[0], err);
	}
	for (size_t u = 0; u < p->image.units; u++)
		image_forward_unit(p, &p->image.unit[u], &p->kept->unit[u], image_unit_input(p, u),
				   u + 1 == p->image.units ? shortcut : NULL,
				   image_unit_output(p, u), err);
	if (!p->image.residual)
		return err->status;
	return image_record_decision(p, p->image.decision, image_unit_width(image_last(&p->image)),
				     image_output_of(p), err);
}

enum status images_forward(const struct pass *of, struct error *err)
{
	const struct image_pass p = image_pass_of(of);
	struct pooling_forward_arguments pool = { .shape = image_pool_of(&p),
						  .x = p.kept->out,
						  .y = network_activation(p.n, p.layer + 1,
									  p.row) };

	image_forward_inside(&p, err);
	return p.image.pool.window ? network_launch(p.n, "pooling_forward", &pool, err)
				   : err->status;
}

/*
 * Turns dy into the gradient of the convolution's output (or writes that to dz), then computes the
 * gradient of its weights.
 */
static enum status image_backward_unit(const struct image_pass *p, const struct image_unit *u,
				       struct kept_unit *kept, const void *x, const void *y,
				       void *dy, void *dz, struct error *err)
{
	bool imposed = u->relu && p->n->images.decisions[u->decision];
	const void *mask =
		u->relu ? image_relu_decider(p, u->decision, image_unit_width(u), y) : NULL;
	struct output_gradient_arguments bias = {
		.dy = dy,
		.y = mask,
		.sum = u->norm ? NULL : image_gradients(p, u->tensor + 1),
		.beta = p->accumulate ? 1 : 0,
		.scratch = p->n->images.bias_sums,
		.precision = setup_storage(p->n->setup),
		.rows = image_unit_pixels(p, u),
		.columns = u->filters,
	};

	if (u->norm && imposed)
		image_relu_backward(p, mask, dy, image_unit_pixels(p, u) * u->filters, err);
	if (u->norm)
		image_batch_norm_backward(p, u, kept, u->relu && !imposed, dy, dz, err);
	else
		network_launch(p->n, "output_gradient", &bias, err);
	return image_convolve(p, u, kept, p->accumulate ? PASS_WEIGHTS_ADD : PASS_WEIGHTS, x,
			      image_gradients(p, u->tensor), dz, err);
}

static void *image_other_buffer(const struct image_pass *p, const void *buffer)
{
	void *const *gradient = p->n->images.gradient;

	return buffer == gradient[0] ? gradient[1] : gradient[0];
}

/* Backward from the gradient of the last unit's output, whose memory may be changed. */
static enum status image_backward_units(const struct image_pass *p, void *dy, struct error *err)
{
	for (size_t u = p->image.units; u-- > 0;) {
		const struct image_unit *unit = &p->image.unit[u];
		/* The shortcut reads it as well. */
		bool shared = p->image.residual && u + 1 == p->image.units;
		void *dz = shared ? image_other_buffer(p, dy) : dy;

		image_backward_unit(p, unit, &p->kept->unit[u], image_unit_input(p, u),
				    image_unit_output(p, u), dy, dz, err);
		dy = u > 0 ? image_other_buffer(p, dz) : dz;
		if (u > 0)
			image_convolve(p, unit, &p->kept->unit[u], PASS_DATA, dy,
				       image_weights(p, unit->tensor), dz, err);
	}
	p->n->images.first = dy;
	return err->status;
}

enum status images_backward(const struct pass *of, void *dy, struct error *err)
{
	const struct image_pass p = image_pass_of(of);
	struct images *images = &p.n->images;
	uint64_t width = image_unit_width(image_last(&p.image));
	struct pooling_backward_arguments pool = {
		.shape = image_pool_of(&p),
		.x = image_relu_decider(&p, image_last_decision(&p.image), width, p.kept->out),
		.dy = dy,
		.dx = images->pooled
	};

	if (setup_recomputes_blocks(p.n->setup))
		image_forward_inside(&p, err);
	if (p.image.pool.window) {
		network_launch(p.n, "pooling_backward", &pool, err);
		dy = images->pooled;
	}
	if (!p.image.residual)
		return image_backward_units(&p, dy, err);
	image_relu_backward(&p,
			    image_relu_decider(&p, p.image.decision, width, image_output_of(&p)),
			    dy, p.rows * width, err);
	image_backward_units(&p, dy, err);
	images->shortcut = dy;
	if (!p.image.projects)
		return err->status;
	return image_backward_unit(&p, &p.image.projection, &p.kept->projection,
				   image_unit_input(&p, 0), NULL, dy, dy, err);
}

enum status images_input_gradient(const struct pass *of, void *dx, struct error *err)
{
	const struct image_pass p = image_pass_of(of);
	const struct images *images = &p.n->images;
	const void *shortcut = images->shortcut;
	void *other = image_other_buffer(&p, images->first);

	image_convolve(&p, &p.image.unit[0], &p.kept->unit[0], PASS_DATA, dx,
		       image_weights(&p, p.image.unit[0].tensor), images->first, err);
	if (!p.image.residual)
		return err->status;
	if (p.image.projects) {
		image_convolve(&p, &p.image.projection, &p.kept->projection, PASS_DATA, other,
			       image_weights(&p, p.image.projection.tensor), shortcut, err);
		shortcut = other;
	}
	return image_residual_add(&p, dx, shortcut, dx, p.rows * p.n->setup->widths[p.layer], err);
}

static void image_keep_tensor(struct kept_tensor *out, size_t *count, void *place, uint64_t bytes)
{
	out[(*count)++] = (struct kept_tensor){ place, bytes };
}

static void image_keep_unit(const struct network *n, const struct image_unit *u,
			    struct kept_unit *kept, uint64_t rows, struct kept_tensor *out,
			    size_t *count)
{
	if (!u->norm)
		return;
	image_keep_tensor(out, count, &kept->z,
			  rows * image_unit_width(u) * precision_bytes(n->setup->precision));
	image_keep_tensor(out, count, &kept->statistics,
			  2 * setup_norm_groups(n->setup) * u->filters * sizeof(float));
}

size_t images_kept(struct network *n, size_t l, uint64_t rows, struct kept_tensor *out)
{
	struct kept_image *kept = &n->images.kept[l];
	size_t bytes = precision_bytes(n->setup->precision), count = 0;
	struct image_layer image;

	if (setup_layer_kind(n->setup, l) != LAYER_CONVOLUTION)
		return 0;
	image_layer_of(n->setup, l, &image);
	for (size_t u = 0; u < image.units; u++) {
		image_keep_unit(n, &image.unit[u], &kept->unit[u], rows, out, &count);
		if (u + 1 < image.units)
			image_keep_tensor(out, &count, &kept->unit[u].y,
					  rows * image_unit_width(&image.unit[u]) * bytes);
	}
	if (image.projects)
		image_keep_unit(n, &image.projection, &kept->projection, rows, out, &count);
	if (image.pool.window)
		image_keep_tensor(out, &count, &kept->out,
				  rows * image_unit_width(image_last(&image)) * bytes);
	return count;
}

/* Sizes of the buffers that layers share: elements of a row, or of all rows. */
struct most {
	uint64_t gradient, pooled, filters, weight_sums;
};

static void raise_to(uint64_t *most, uint64_t value)
{
	*most = value > *most ? value : *most;
}

/* `inside`: the unit's gradient is stored in a buffer inside the layer. */
static void image_measure_unit(struct most *most, const struct setup *setup,
			       const struct image_unit *u, bool inside)
{
	const struct convolution_shape shape = image_convolution_shape(setup, u, 1);

	if (inside)
		raise_to(&most->gradient, image_unit_width(u));
	raise_to(&most->filters, u->filters);
	raise_to(&most->weight_sums, kernel_convolution_scratch_bytes(&shape));
}

static struct most image_measure_buffers(const struct setup *setup)
{
	struct most most = { 0 };

	for (size_t l = 0; l < image_layers(setup); l++) {
		struct image_layer image;

		image_layer_of(setup, l, &image);
		for (size_t u = 0; u < image.units; u++)
			image_measure_unit(&most, setup, &image.unit[u],
					   image.units > 1 || image.residual);
		if (image.projects) {
			image_measure_unit(&most, setup, &image.projection, true);
			raise_to(&most.gradient, setup->widths[l]);
		}
		if (image.pool.window)
			raise_to(&most.pooled, image_unit_width(image_last(&image)));
	}
	return most;
}

enum status images_scratch_open(struct network *n, struct error *err)
{
	const struct most most = image_measure_buffers(n->setup);
	size_t bytes = precision_bytes(n->setup->precision);
	struct images *i = &n->images;

	i->norm_groups = setup_norm_groups(n->setup);
	for (int b = 0; b < 2 && most.gradient > 0; b++)
		arena_alloc(n->arena, MEMORY_TRANSIENT, n->step_rows * most.gradient * bytes,
			    &i->gradient[b], err);
	arena_alloc(n->arena, MEMORY_TRANSIENT, n->step_rows * most.pooled * bytes, &i->pooled,
		    err);
	arena_alloc(n->arena, MEMORY_WORKSPACE, layers_batch_norm_scratch_bytes(most.filters),
		    &i->norm_sums, err);
	arena_alloc(n->arena, MEMORY_WORKSPACE, kernel_training_scratch_bytes(most.filters),
		    &i->bias_sums, err);
	i->workspace_bytes = most.weight_sums;
	return arena_alloc(n->arena, MEMORY_WORKSPACE, most.weight_sums, &i->workspace, err);
}

#define KEPT_ALIGN 256

static uint64_t kept_aligned(uint64_t bytes)
{
	return (bytes + KEPT_ALIGN - 1) / KEPT_ALIGN * KEPT_ALIGN;
}

/* Layers that are recomputed share one block of memory. */
static enum status image_open_in_turn(struct network *n, struct error *err)
{
	struct kept_tensor kept[LAYER_MAX_KEPT];
	uint64_t most = 0;
	char *block;

	for (size_t l = 0; l < image_layers(n->setup); l++) {
		uint64_t bytes = 0;

		for (size_t i = images_kept(n, l, n->step_rows, kept); i-- > 0;)
			bytes += kept_aligned(kept[i].bytes);
		raise_to(&most, bytes);
	}
	if (arena_alloc(n->arena, MEMORY_ACTIVATIONS, most, &block, err) != STATUS_OK)
		return err->status;
	for (size_t l = 0; l < image_layers(n->setup); l++) {
		char *next = block;

		for (size_t i = images_kept(n, l, n->step_rows, kept); i-- > 0;) {
			kept_place(&kept[i], next);
			next += kept_aligned(kept[i].bytes);
		}
	}
	return STATUS_OK;
}

enum status images_open(struct network *n, struct error *err)
{
	struct kept_tensor kept[LAYER_MAX_KEPT];

	images_scratch_open(n, err);
	if (setup_recomputes_blocks(n->setup))
		return image_open_in_turn(n, err);
	for (size_t l = 0; l < image_layers(n->setup); l++)
		for (size_t i = images_kept(n, l, n->step_rows, kept); i-- > 0;)
			arena_alloc(n->arena, MEMORY_ACTIVATIONS, kept[i].bytes, kept[i].place,
				    err);
	return err->status;
}
