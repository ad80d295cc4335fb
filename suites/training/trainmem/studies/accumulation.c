#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "suites/training/models/reference/values.h"
#include "suites/training/trainmem/check.h"
#include "suites/training/trainmem/studies/studies.h"

/* The values of all tensors, without the gaps between them. */
static double *gradients_pack(const struct model *model, const char *raw, enum precision precision,
			      uint64_t *count)
{
	double *all = xcalloc(model->parameters, sizeof(*all));

	*count = 0;
	for (size_t l = 0; l < model->layers; l++)
		for (size_t i = 0; i < model->layer[l].tensors; i++) {
			const struct model_tensor *t = &model->layer[l].tensor[i];

			values_decode(all + *count, raw + t->first * precision_bytes(precision),
				      precision, t->count);
			*count += t->count;
		}
	return all;
}

/* Gradients of one step with fresh parameters, times the loss scale. */
static enum status accumulation_gradients_of(struct device *device, const struct setup *setup,
					     const struct training_options *options, double **out,
					     uint64_t *count, struct error *err)
{
	struct training_options own = *options;
	struct training t;
	struct heap need;
	size_t bytes = precision_bytes(setup->precision);
	void *raw;

	training_plan(setup, options, &need);
	own.reserve = need.reserved_peak;
	if (training_open(&t, setup, &own, device, err) == STATUS_OK &&
	    training_reset(&t, err) == STATUS_OK && training_step(&t, err) == STATUS_OK &&
	    training_wait(&t, err) == STATUS_OK) {
		raw = xmalloc(t.network.model.elements * bytes);
		if (team_fetch(&t.team, raw, t.network.gradients, t.network.model.elements * bytes,
			       err) == STATUS_OK)
			*out = gradients_pack(&t.network.model, raw, setup->precision, count);
		free(raw);
	}
	training_close(&t);
	return err->status;
}

struct accumulation_comparison {
	double ratio;    /* ratio of the summed gradient to the mean gradient, by projection */
	double residual; /* relative L2 norm of the difference after scaling by the ratio */
	double error;    /* relative L2 difference of the two */
};

static struct accumulation_comparison accumulation_compare(const double *sums, const double *means,
							   uint64_t count)
{
	double product = 0, square = 0, sum_square = 0, left = 0, difference = 0;
	struct accumulation_comparison c;

	for (uint64_t i = 0; i < count; i++) {
		product += sums[i] * means[i];
		square += means[i] * means[i];
		sum_square += sums[i] * sums[i];
	}
	c.ratio = product / square;
	for (uint64_t i = 0; i < count; i++) {
		left += pow(sums[i] - c.ratio * means[i], 2);
		difference += pow(sums[i] - means[i], 2);
	}
	c.residual = sqrt(left / sum_square);
	c.error = sqrt(difference / square);
	return c;
}

/*
 * The sum must be the mean times the number of parts; otherwise the compared steps did not
 * accumulate.
 */
static enum status accumulation_judge(const struct setup *setup,
				      const struct accumulation_comparison *c, struct error *err)
{
	double parts = (double)setup_accumulate(setup),
	       tolerance = verify_tolerance(setup).gradient;

	if (fabs(c->ratio / parts - 1) <= tolerance && c->residual <= tolerance)
		return STATUS_OK;
	return error_set(err, STATUS_MISMATCH,
			 "summed gradients are %.6g times the gradients of the mean of %g "
			 "parts; remaining difference %.3g",
			 c->ratio, parts, c->residual);
}

enum status study_accumulation(struct run *run, const struct setup *setup,
			       const struct trainmem_options *options, struct error *err)
{
	struct training_options sums = options->training;
	struct verify_check check = { .gradient_error = NAN };
	double *added = NULL, *mean = NULL;
	struct setup small;
	struct accumulation_comparison c;
	uint64_t count;

	sums.sums = true;
	if (check_step(run->devices[0], setup, &options->training, options->verify_flops, &small,
		       &check, err) == STATUS_OK &&
	    accumulation_gradients_of(run->devices[0], setup, &options->training, &mean, &count,
				      err) == STATUS_OK &&
	    accumulation_gradients_of(run->devices[0], setup, &sums, &added, &count, err) ==
		    STATUS_OK) {
		c = accumulation_compare(added, mean, count);
		run_value(run, "trainmem.undivided_ratio", c.ratio);
		run_value(run, "trainmem.undivided_error", c.error);
		if (accumulation_judge(setup, &c, err) == STATUS_OK)
			run_verified(run,
				     "gradients of the mean against double precision; summed "
				     "gradients are a multiple of them",
				     check.gradient_error, verify_tolerance(&small).gradient);
	}
	free(added);
	free(mean);
	return err->status;
}
