#include "suites/training/parallel/verify/compare.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "suites/training/models/reference/threads.h"

/* Elements compared at a time. */
#define PIECE (UINT64_C(1) << 20)

static double verify_compare_ratio_of(const struct difference_part *s)
{
	if (s->difference == 0)
		return 0;
	return s->expected > 0 ? sqrt(s->difference / s->expected) : INFINITY;
}

/*
 * Partial sums of a piece, each computed in order by one thread: the result does not depend on the
 * number of threads.
 */
#define PARTS 64

static void difference_add_piece(struct difference_part *s, const double *run,
				 const double *expected, uint64_t count)
{
	struct difference_part parts[PARTS] = { 0 };

	IN_PARALLEL
	for (uint64_t p = 0; p < PARTS; p++) {
		double difference = 0, sum = 0;

		for (uint64_t i = count * p / PARTS; i < count * (p + 1) / PARTS; i++) {
			double d = run[i] - expected[i];

			difference += d * d;
			sum += expected[i] * expected[i];
		}
		parts[p] = (struct difference_part){ difference, sum };
	}
	for (int p = 0; p < PARTS; p++) {
		s->difference += parts[p].difference;
		s->expected += parts[p].expected;
	}
}

/* Two arrays that are copied to the host piece by piece. */
struct sources {
	gradient_source *run, *expected;
	void *run_context, *expected_context;
	double *run_values, *expected_values; /* PIECE each */
};

static enum status verify_compare_squares_on_host(void *context, uint64_t first, uint64_t count,
						  struct difference_part *out, struct error *err)
{
	struct sources *s = context;

	for (uint64_t done = 0; done < count; done += PIECE) {
		uint64_t piece = count - done < PIECE ? count - done : PIECE;

		if (s->run(s->run_context, first + done, piece, s->run_values, err) != STATUS_OK ||
		    s->expected(s->expected_context, first + done, piece, s->expected_values,
				err) != STATUS_OK)
			return err->status;
		difference_add_piece(out, s->run_values, s->expected_values, piece);
	}
	return STATUS_OK;
}

struct verify_comparison {
	gradient_squares *squares;
	void *context;
	struct difference_part all;
	struct verify_difference *out;
};

static enum status compare_tensor(struct verify_comparison *c, const struct model_tensor *t,
				  size_t layer, struct error *err)
{
	struct difference_part tensor = { 0, 0 };
	double ratio;

	if (c->squares(c->context, t->first, t->count, &tensor, err) != STATUS_OK)
		return err->status;
	c->all.difference += tensor.difference;
	c->all.expected += tensor.expected;
	ratio = verify_compare_ratio_of(&tensor);
	/* Written so that NaN counts as the worst. */
	if (!(ratio <= c->out->worst)) {
		c->out->worst = ratio;
		c->out->worst_layer = layer;
		c->out->worst_tensor = t->name;
	}
	return STATUS_OK;
}

enum status compare_tensors(const struct model *model, gradient_squares *squares, void *context,
			    struct verify_difference *out, struct error *err)
{
	struct verify_comparison c = { .squares = squares, .context = context, .out = out };
	enum status status = STATUS_OK;

	*out = (struct verify_difference){ 0 };
	for (size_t l = 0; l < model->layers && status == STATUS_OK; l++) {
		const struct model_layer *layer = &model->layer[l];

		for (size_t t = 0; t < layer->tensors && status == STATUS_OK; t++)
			status = compare_tensor(&c, &layer->tensor[t], l, err);
	}
	out->overall = verify_compare_ratio_of(&c.all);
	return status;
}

enum status compare_gradients(const struct model *model, gradient_source *run, void *run_context,
			      gradient_source *expected, void *expected_context,
			      struct verify_difference *out, struct error *err)
{
	struct sources sources = {
		.run = run,
		.expected = expected,
		.run_context = run_context,
		.expected_context = expected_context,
		.run_values = xmalloc(PIECE * sizeof(double)),
		.expected_values = xmalloc(PIECE * sizeof(double)),
	};
	enum status status =
		compare_tensors(model, verify_compare_squares_on_host, &sources, out, err);

	free(sources.run_values);
	free(sources.expected_values);
	return status;
}

enum status compare_judge(const struct verify_difference *d, double loss, double expected_loss,
			  const struct tolerance *tolerance, const char *than,
			  struct verify_check *check, struct error *err)
{
	check->gradient_error = d->overall;
	check->loss_error = fabs(loss - expected_loss) / fabs(expected_loss);
	check->loss = loss;
	if (!(check->loss_error <= tolerance->loss))
		return error_set(err, STATUS_MISMATCH,
				 "loss %.9g, %s %.9g: relative difference %.2e, allowed %.2e", loss,
				 than, expected_loss, check->loss_error, tolerance->loss);
	if (!(d->overall <= tolerance->gradient))
		return error_set(err, STATUS_MISMATCH,
				 "gradients differ from the %s by %.2e (relative L2), allowed "
				 "%.2e; worst: %s of layer %zu, %.2e",
				 than, d->overall, tolerance->gradient, d->worst_tensor,
				 d->worst_layer + 1, d->worst);
	if (!(d->worst <= tolerance->tensor))
		return error_set(err, STATUS_MISMATCH,
				 "gradient of the %s of layer %zu differs from the %s by %.2e "
				 "(relative L2), allowed %.2e",
				 d->worst_tensor, d->worst_layer + 1, than, d->worst,
				 tolerance->tensor);
	return STATUS_OK;
}
