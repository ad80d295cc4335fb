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

static struct image_pass blocks_images_pass_of(const struct pass *of)
{
	struct image_pass p = { .n = of->n,
				.layer = of->layer,
				.row = of->row,
				.rows = of->rows,
				.accumulate = of->accumulate,
				.kept = &of->n->images.kept[of->layer] };

	image_model_layer_of(of->n->setup, of->layer, &p.image);
	return p;
}

static struct pooling_shape blocks_images_pool_of(const struct image_pass *p)
{
	const struct image_unit *last = image_model_last(&p->image);

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

static uint64_t blocks_images_unit_pixels(const struct image_pass *p, const struct image_unit *u)
{
	return p->rows * u->out_side * u->out_side;
}

/* Input of the pool, or the layer's output. */
static void *blocks_images_output_of(const struct image_pass *p)
{
	return p->image.pool.window ? p->kept->out : network_activation(p->n, p->layer + 1, p->row);
}

/* Output of unit `u`; its input is the output of the unit before it. */
static void *blocks_images_unit_output(const struct image_pass *p, size_t u)
{
	return u + 1 < p->image.units ? p->kept->unit[u].y : blocks_images_output_of(p);
}

static const void *blocks_images_unit_input(const struct image_pass *p, size_t u)
{
	return u > 0 ? blocks_images_unit_output(p, u - 1)
		     : network_activation(p->n, p->layer, p->row);
}

/* Output of the ReLU that decides in backward: of this run or an imposed one. */
static const void *blocks_images_relu_decider(const struct image_pass *p, size_t decision,
					      uint64_t width, const void *own)
{
	const void *imposed = p->n->images.decisions[decision];

	return imposed ? network_element(p->n, (void *)imposed, p->row * width) : own;
}

static enum status blocks_images_record_decision(const struct image_pass *p, size_t decision,
						 uint64_t width, const void *output,
						 struct error *err)
{
	void *to = p->n->images.record[decision];

	if (!to)
		return err->status;
	return network_copy(p->n, network_element(p->n, to, p->row * width), output,
			    p->rows * width * precision_bytes(p->n->setup->precision), err);
}

static enum status blocks_images_relu_backward(const struct image_pass *p, const void *y, void *dy,
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

/* Computes statistics separately for each group of rows; then y, with the ReLU after the norm. */
static enum status blocks_images_batch_norm(const struct image_pass *p, const struct image_unit *u,
					    const struct kept_unit *kept, const void *residual,
					    void *y, struct error *err)
{
	uint64_t groups = p->n->images.norm_groups,
		 elements = blocks_images_unit_pixels(p, u) * u->filters;
	float *statistics = kept->statistics;

	for (uint64_t g = 0; g < groups; g++) {
		struct batch_norm_forward_arguments a = {
			.x = network_element(p->n, kept->z, g * elements / groups),
			.gamma = network_weights(p->n, p->layer, u->tensor + 1),
			.beta = network_weights(p->n, p->layer, u->tensor + 2),
			.residual = residual ? network_element(p->n, (void *)residual,
							       g * elements / groups)
					     : NULL,
			.y = network_element(p->n, y, g * elements / groups),
			.mean = statistics + 2 * g * u->filters,
			.rstd = statistics + (2 * g + 1) * u->filters,
			.scratch = p->n->images.norm_sums,
			.precision = setup_storage(p->n->setup),
			.rows = blocks_images_unit_pixels(p, u) / groups,
			.columns = u->filters,
			.epsilon = (float)IMAGE_NORM_EPSILON,
			.relu = u->relu || residual,
		};

		network_launch(p->n, "batch_norm_forward", &a, err);
	}
	return err->status;
}

/*
 * `relu`: dy is the gradient of the ReLU after the norm. `y` (or NULL): output of the ReLU after
 * the sum of a residual block; dy becomes the gradient of the sum.
 */
static enum status blocks_images_batch_norm_backward(const struct image_pass *p,
						     const struct image_unit *u,
						     const struct kept_unit *kept, bool relu,
						     const void *y, void *dy, void *dx,
						     struct error *err)
{
	const void *addend = p->n->images.addend;
	uint64_t groups = p->n->images.norm_groups,
		 elements = blocks_images_unit_pixels(p, u) * u->filters;
	float *statistics = kept->statistics;

	for (uint64_t g = 0; g < groups; g++) {
		uint64_t first = g * elements / groups;
		struct batch_norm_backward_arguments a = {
			.x = network_element(p->n, kept->z, first),
			.dy = network_element(p->n, dy, first),
			.gamma = network_weights(p->n, p->layer, u->tensor + 1),
			.beta = relu ? network_weights(p->n, p->layer, u->tensor + 2) : NULL,
			.y = y ? network_element(p->n, (void *)y, first) : NULL,
			.other = y && addend ? network_element(p->n, (void *)addend, first) : NULL,
			.sum = network_element(p->n, dy, first),
			.mean = statistics + 2 * g * u->filters,
			.rstd = statistics + (2 * g + 1) * u->filters,
			.dx = network_element(p->n, dx, first),
			.dgamma = network_gradients(p->n, p->layer, u->tensor + 1),
			.dbeta = network_gradients(p->n, p->layer, u->tensor + 2),
			.scratch = p->n->images.norm_sums,
			.precision = setup_storage(p->n->setup),
			.rows = blocks_images_unit_pixels(p, u) / groups,
			.columns = u->filters,
			.keep = p->accumulate || g > 0 ? 1 : 0,
		};

		network_launch(p->n, "batch_norm_backward", &a, err);
	}
	if (y)
		p->n->images.addend = NULL;
	return err->status;
}

/* One pass of a unit's convolution; it overwrites one of the three tensors. */
static enum status blocks_images_convolve(const struct image_pass *p, const struct image_unit *u,
					  struct kept_unit *kept, enum convolution_pass pass,
					  const void *x, void *w, const void *y, struct error *err)
{
	const struct convolution_shape shape = image_model_unit_shape(p->n->setup, u, p->rows);
	const struct convolution_tensors tensors = { (void *)x, w, (void *)y, NULL };

	return network_convolve(p->n, kept->tuned, &shape, pass, &tensors, err);
}

/*
 * Computes the convolution, then bias and ReLU in place, or the norm with its ReLU into y.
 * `residual` (or NULL): added to the norm before a ReLU.
 */
static enum status blocks_images_forward_unit(const struct image_pass *p,
					      const struct image_unit *u, struct kept_unit *kept,
					      const void *x, const void *residual, void *y,
					      struct error *err)
{
	struct bias_relu_arguments bias = {
		.y = y,
		.bias = u->norm ? NULL : network_weights(p->n, p->layer, u->tensor + 1),
		.precision = setup_storage(p->n->setup),
		.rows = blocks_images_unit_pixels(p, u),
		.columns = u->filters,
		.relu = u->relu,
	};

	blocks_images_convolve(p, u, kept, PASS_FORWARD, x,
			       network_weights(p->n, p->layer, u->tensor), u->norm ? kept->z : y,
			       err);
	if (!u->norm)
		network_launch(p->n, "bias_relu", &bias, err);
	else
		blocks_images_batch_norm(p, u, kept, residual, y, err);
	if (u->relu)
		blocks_images_record_decision(p, u->decision, image_model_unit_width(u), y, err);
	return err->status;
}

static enum status blocks_images_forward_inside(const struct image_pass *p, struct error *err)
{
	const void *shortcut = p->image.residual ? blocks_images_unit_input(p, 0) : NULL;

	/* y = relu(y + input or its projection), which uses a buffer that backward needs later. */
	if (p->image.projects) {
		shortcut = p->kept->gradient[0];
		blocks_images_forward_unit(p, &p->image.projection, &p->kept->projection,
					   blocks_images_unit_input(p, 0), NULL,
					   p->kept->gradient[0], err);
	}
	for (size_t u = 0; u < p->image.units; u++)
		blocks_images_forward_unit(p, &p->image.unit[u], &p->kept->unit[u],
					   blocks_images_unit_input(p, u),
					   u + 1 == p->image.units ? shortcut : NULL,
					   blocks_images_unit_output(p, u), err);
	if (!p->image.residual)
		return err->status;
	return blocks_images_record_decision(p, p->image.decision,
					     image_model_unit_width(image_model_last(&p->image)),
					     blocks_images_output_of(p), err);
}

enum status blocks_images_forward(const struct pass *of, struct error *err)
{
	const struct image_pass p = blocks_images_pass_of(of);
	struct pooling_forward_arguments pool = { .shape = blocks_images_pool_of(&p),
						  .x = p.kept->out,
						  .y = network_activation(p.n, p.layer + 1,
									  p.row) };

	blocks_images_forward_inside(&p, err);
	return p.image.pool.window ? network_launch(p.n, "pooling_forward", &pool, err)
				   : err->status;
}

/*
 * Turns dy into the gradient of the convolution's output (or writes that to dz), then computes the
 * gradient of its weights. `sum` (or NULL): output of the ReLU after the sum of a residual block.
 */
static enum status blocks_images_backward_unit(const struct image_pass *p,
					       const struct image_unit *u, struct kept_unit *kept,
					       const void *x, const void *y, const void *sum,
					       void *dy, void *dz, struct error *err)
{
	bool imposed = u->relu && p->n->images.decisions[u->decision];
	const void *mask =
		u->relu ? blocks_images_relu_decider(p, u->decision, image_model_unit_width(u), y)
			: NULL;
	struct output_gradient_arguments bias = {
		.dy = dy,
		.y = mask,
		.sum = u->norm ? NULL : network_gradients(p->n, p->layer, u->tensor + 1),
		.beta = p->accumulate ? 1 : 0,
		.scratch = p->n->images.bias_sums,
		.precision = setup_storage(p->n->setup),
		.rows = blocks_images_unit_pixels(p, u),
		.columns = u->filters,
	};

	if (u->norm && imposed)
		blocks_images_relu_backward(p, mask, dy,
					    blocks_images_unit_pixels(p, u) * u->filters, err);
	if (u->norm)
		blocks_images_batch_norm_backward(p, u, kept, u->relu && !imposed, sum, dy, dz,
						  err);
	else
		network_launch(p->n, "output_gradient", &bias, err);
	return blocks_images_convolve(p, u, kept, p->accumulate ? PASS_WEIGHTS_ADD : PASS_WEIGHTS,
				      x, network_gradients(p->n, p->layer, u->tensor), dz, err);
}

static void *blocks_images_other_buffer(const struct image_pass *p, const void *buffer)
{
	void *const *gradient = p->kept->gradient;

	return buffer == gradient[0] ? gradient[1] : gradient[0];
}

/*
 * Backward from the gradient of the output of the last unit or of the residual block's ReLU, whose
 * memory may be changed.
 */
static enum status blocks_images_backward_units(const struct image_pass *p, void *dy,
						struct error *err)
{
	for (size_t u = p->image.units; u-- > 0;) {
		const struct image_unit *unit = &p->image.unit[u];
		/* The shortcut reads it as well. */
		bool shared = p->image.residual && u + 1 == p->image.units;
		void *dz = shared ? blocks_images_other_buffer(p, dy) : dy;
		const void *sum = shared ? blocks_images_relu_decider(p, p->image.decision,
								      image_model_unit_width(unit),
								      blocks_images_output_of(p))
					 : NULL;

		blocks_images_backward_unit(p, unit, &p->kept->unit[u],
					    blocks_images_unit_input(p, u),
					    blocks_images_unit_output(p, u), sum, dy, dz, err);
		dy = u > 0 ? blocks_images_other_buffer(p, dz) : dz;
		if (u > 0)
			blocks_images_convolve(p, unit, &p->kept->unit[u], PASS_DATA, dy,
					       network_weights(p->n, p->layer, unit->tensor), dz,
					       err);
	}
	p->n->images.first = dy;
	return err->status;
}

enum status blocks_images_backward(const struct pass *of, void *dy, struct error *err)
{
	const struct image_pass p = blocks_images_pass_of(of);
	struct images *images = &p.n->images;
	uint64_t width = image_model_unit_width(image_model_last(&p.image));
	struct pooling_backward_arguments pool = {
		.shape = blocks_images_pool_of(&p),
		.x = blocks_images_relu_decider(&p, image_model_last_decision(&p.image), width,
						p.kept->out),
		.dy = dy,
		.dx = p.kept->pooled
	};

	if (setup_recomputes_blocks(p.n->setup))
		blocks_images_forward_inside(&p, err);
	if (p.image.pool.window) {
		network_launch(p.n, "pooling_backward", &pool, err);
		dy = p.kept->pooled;
	}
	blocks_images_backward_units(&p, dy, err);
	images->shortcut = dy;
	if (!p.image.projects)
		return err->status;
	return blocks_images_backward_unit(&p, &p.image.projection, &p.kept->projection,
					   blocks_images_unit_input(&p, 0), NULL, NULL, dy, dy,
					   err);
}

/*
 * True if backward of the layer below adds the shortcut's gradient. The buffer of that gradient is
 * free only afterwards, unless the caller manages the memory of gradients or forward is recomputed.
 */
static bool blocks_images_below_adds(const struct network *n, size_t layer)
{
	struct image_layer below;

	image_model_layer_of(n->setup, layer - 1, &below);
	return below.residual && !below.pool.window && n->transient[0] &&
	       !setup_recomputes_blocks(n->setup);
}

enum status blocks_images_input_gradient(const struct pass *of, void *dx, struct error *err)
{
	const struct image_pass p = blocks_images_pass_of(of);
	struct images *images = &p.n->images;
	const void *shortcut = images->shortcut;
	struct residual_add_arguments sum = { .a = dx,
					      .y = dx,
					      .precision = setup_storage(p.n->setup),
					      .count = p.rows * p.n->setup->widths[p.layer] };
	void *other = blocks_images_other_buffer(&p, images->first);

	blocks_images_convolve(&p, &p.image.unit[0], &p.kept->unit[0], PASS_DATA, dx,
			       network_weights(p.n, p.layer, p.image.unit[0].tensor), images->first,
			       err);
	if (!p.image.residual)
		return err->status;
	if (p.image.projects) {
		blocks_images_convolve(&p, &p.image.projection, &p.kept->projection, PASS_DATA,
				       other,
				       network_weights(p.n, p.layer, p.image.projection.tensor),
				       shortcut, err);
		shortcut = other;
	}
	if (blocks_images_below_adds(p.n, p.layer)) {
		images->addend = shortcut;
		return err->status;
	}
	sum.b = shortcut;
	return network_launch(p.n, "residual_add", &sum, err);
}

static void blocks_images_keep_tensor(struct kept_tensor *out, size_t *count, void *place,
				      uint64_t bytes)
{
	out[(*count)++] = (struct kept_tensor){ place, bytes };
}

static void blocks_images_keep_unit(const struct network *n, const struct image_unit *u,
				    struct kept_unit *kept, uint64_t rows, struct kept_tensor *out,
				    size_t *count)
{
	if (!u->norm)
		return;
	blocks_images_keep_tensor(out, count, &kept->z,
				  rows * image_model_unit_width(u) *
					  precision_bytes(n->setup->precision));
	blocks_images_keep_tensor(out, count, &kept->statistics,
				  2 * setup_norm_groups(n->setup) * u->filters * sizeof(float));
}

size_t blocks_images_kept(struct network *n, size_t l, uint64_t rows, struct kept_tensor *out)
{
	struct kept_image *kept = &n->images.kept[l];
	size_t bytes = precision_bytes(n->setup->precision), count = 0;
	struct image_layer image;

	if (model_layer_kind(n->setup, l) != LAYER_CONVOLUTION)
		return 0;
	image_model_layer_of(n->setup, l, &image);
	for (size_t u = 0; u < image.units; u++) {
		blocks_images_keep_unit(n, &image.unit[u], &kept->unit[u], rows, out, &count);
		if (u + 1 < image.units)
			blocks_images_keep_tensor(out, &count, &kept->unit[u].y,
						  rows * image_model_unit_width(&image.unit[u]) *
							  bytes);
	}
	if (image.projects)
		blocks_images_keep_unit(n, &image.projection, &kept->projection, rows, out, &count);
	if (image.pool.window)
		blocks_images_keep_tensor(out, &count, &kept->out,
					  rows * image_model_unit_width(image_model_last(&image)) *
						  bytes);
	return count;
}
