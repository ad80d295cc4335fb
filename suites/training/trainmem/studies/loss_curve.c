#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "kernels/generator.h"
#include "suites/training/trainmem/studies/studies.h"

/* Inputs that determine a sample's label: few, so that a few thousand samples suffice to learn. */
#define DECIDING_INPUTS 16
#define TENTHS 10

/* The class whose random linear function of the first inputs is largest. */
static int32_t teacher_label(const struct setup *setup, uint64_t row)
{
	uint64_t inputs = setup->widths[0], classes = setup->widths[setup->layers];
	uint64_t deciding = inputs < DECIDING_INPUTS ? inputs : DECIDING_INPUTS;
	uint64_t data = setup_seed(setup, TENSOR_INPUT, 0),
		 teacher = setup_seed(setup, TENSOR_LABELS, 0);
	double best = -INFINITY;
	int32_t label = 0;

	for (uint64_t c = 0; c < classes; c++) {
		double score = 0;

		for (uint64_t i = 0; i < deciding; i++)
			score += (double)generator_uniform(teacher, c * deciding + i) *
				 (double)generator_uniform(data, row * inputs + i);
		if (score > best) {
			best = score;
			label = (int32_t)c;
		}
	}
	return label;
}

/* Replaces the samples by [row, row + batch). */
static enum status loss_curve_next_samples(struct training *t, uint64_t row, int32_t *labels,
					   struct error *err)
{
	struct network *n = &t->network;
	struct stream *stream = t->team.streams[STREAM_COMPUTE];

	for (uint64_t i = 0; i < t->setup.batch; i++)
		labels[i] = teacher_label(&t->setup, row + i);
	if (network_fill_input(n, n->activations[0], row, t->setup.batch, err) != STATUS_OK)
		return err->status;
	return backend_copy(stream, n->labels, labels, t->setup.batch * sizeof(*labels), err);
}

static enum status train(struct training *t, uint64_t updates, double tenths[TENTHS],
			 struct error *err)
{
	int32_t *labels = xcalloc(t->setup.batch, sizeof(*labels));
	uint64_t counts[TENTHS] = { 0 };
	enum status status = training_reset(t, err);

	for (uint64_t i = 0; i < updates && status == STATUS_OK; i++) {
		uint64_t tenth = i * TENTHS / updates;
		double loss = 0;

		status = loss_curve_next_samples(t, i * t->setup.batch, labels, err);
		if (status == STATUS_OK)
			status = training_step(t, err);
		/* Waits, so that the labels may be changed. */
		if (status == STATUS_OK)
			status = training_loss(t, &loss, err);
		tenths[tenth] += loss;
		counts[tenth]++;
	}
	for (int i = 0; i < TENTHS; i++)
		tenths[i] /= (double)counts[i];
	free(labels);
	return status;
}

static enum status curve(struct device *device, const struct setup *setup,
			 const struct training_options *options, uint64_t updates,
			 double tenths[TENTHS], struct error *err)
{
	struct training_options own = *options;
	struct training t;
	struct heap need;

	training_plan(setup, options, &need);
	own.reserve = need.reserved_peak;
	if (training_open(&t, setup, &own, device, err) == STATUS_OK)
		train(&t, updates, tenths, err);
	training_close(&t);
	return err->status;
}

static double loss_curve_largest_difference(const double *a, const double *b)
{
	double largest = 0;

	for (int i = 0; i < TENTHS; i++)
		largest = fmax(largest, fabs(a[i] / b[i] - 1));
	return largest;
}

/* Checks that the loss fell below that of a guess among all classes. */
static enum status check_learnt(const struct setup *setup, const double *tenths, struct error *err)
{
	double last = tenths[TENTHS - 1], guess = log((double)setup->widths[setup->layers]);

	if (isfinite(last) && last < tenths[0] && last < guess)
		return STATUS_OK;
	return error_set(err, STATUS_MISMATCH,
			 "training did not converge: the loss changed from %.6g to %.6g; a "
			 "random guess has %.6g",
			 tenths[0], last, guess);
}

enum status study_loss_curve(struct run *run, const struct setup *setup,
			     const struct trainmem_options *options,
			     const struct loss_curve_options *o, struct error *err)
{
	double found[TENTHS] = { 0 }, fp32[TENTHS] = { 0 };
	uint64_t updates = o->samples / setup->batch;
	struct setup trained = *setup, exact;

	trained.rate = o->rate;
	if (updates < 2 * TENTHS)
		return error_set(err, STATUS_UNSUPPORTED,
				 "curve_samples = %llu batches; at least %d are needed",
				 (unsigned long long)updates, 2 * TENTHS);
	if (curve(run->devices[0], &trained, &options->training, updates, found, err) != STATUS_OK)
		return err->status;
	run_value(run, "trainmem.updates", (double)updates);
	run_value(run, "trainmem.loss_first", found[0]);
	run_value(run, "trainmem.loss_half", found[TENTHS / 2 - 1]);
	run_value(run, "trainmem.loss_final", found[TENTHS - 1]);
	if (setup->precision != PRECISION_FP32) {
		exact = trained;
		setup_set_training(&exact, "fp32");
		exact.loss_scale = 1;
		if (curve(run->devices[0], &exact, &options->training, updates, fp32, err) !=
		    STATUS_OK)
			return err->status;
		run_value(run, "trainmem.loss_final_fp32", fp32[TENTHS - 1]);
		run_value(run, "trainmem.loss_difference",
			  loss_curve_largest_difference(found, fp32));
	}
	if (check_learnt(setup, found, err) == STATUS_OK)
		run_verified(run, "the loss on samples not seen before fell", NAN, NAN);
	return err->status;
}
