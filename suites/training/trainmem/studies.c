#include "suites/training/trainmem/measure.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "kernels/generator.h"
#include "suites/shared/buffers.h"
#include "suites/shared/search_next.h"
#include "suites/training/models/reference/values.h"
#include "suites/training/trainmem/search.h"

/* Gradients of one step with fresh parameters, times the loss scale, without gaps. */
static enum status trainmem_studies_gradients_of(const struct trainmem_case *c, bool sums,
						 double **out, uint64_t *count, struct error *err)
{
	struct training_options own = c->options;
	const struct model *model;
	struct training t;
	size_t bytes = precision_bytes(c->setup.precision);
	double loss;
	char *raw;

	own.sums = sums;
	trainmem_training_open(&t, &c->setup, &own, c->run->devices[0], err);
	if (trainmem_training_first_step(&t, &loss, err) == STATUS_OK) {
		model = &t.network.model;
		raw = xmalloc(model->elements * bytes);
		*out = xcalloc(model->parameters, sizeof(**out));
		*count = 0;
		rank_team_fetch(&t.team, raw, t.network.gradients, model->elements * bytes, err);
		for (size_t l = 0; l < model->layers; l++)
			for (size_t i = 0; i < model->layer[l].tensors; i++) {
				const struct model_tensor *tensor = &model->layer[l].tensor[i];

				values_decode(*out + *count, raw + tensor->first * bytes,
					      c->setup.precision, tensor->count);
				*count += tensor->count;
			}
		free(raw);
	}
	trainmem_training_close(&t);
	return err->status;
}

struct accumulation_comparison {
	double ratio;    /* ratio of the summed gradient to the mean gradient, by projection */
	double residual; /* relative L2 norm of the difference after scaling by the ratio */
	double error;    /* relative L2 difference of the two */
};

static struct accumulation_comparison
trainmem_studies_accumulation_compare(const double *sums, const double *means, uint64_t count)
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

enum status study_accumulation(const struct trainmem_case *c, struct error *err)
{
	double parts = (double)setup_accumulate(&c->setup),
	       tolerance = verify_tolerance(&c->setup).gradient, *added = NULL, *mean = NULL;
	struct verify_check check = { .gradient_error = NAN };
	struct accumulation_comparison found;
	struct setup small;
	uint64_t count;

	if (trainmem_measure_check_step(c->run->devices[0], &c->setup, &c->options, c->verify_flops,
					&small, &check, err) != STATUS_OK ||
	    trainmem_studies_gradients_of(c, false, &mean, &count, err) != STATUS_OK ||
	    trainmem_studies_gradients_of(c, true, &added, &count, err) != STATUS_OK)
		goto out;
	found = trainmem_studies_accumulation_compare(added, mean, count);
	run_value(c->run, "trainmem.undivided_ratio", found.ratio);
	run_value(c->run, "trainmem.undivided_error", found.error);
	/*
	 * The sum must be the mean times the number of parts; otherwise the compared steps did not
	 * accumulate.
	 */
	if (fabs(found.ratio / parts - 1) <= tolerance && found.residual <= tolerance)
		run_verified(c->run,
			     "gradients of the mean against double precision; the summed gradients "
			     "are a multiple of the gradients of the mean",
			     check.gradient_error, verify_tolerance(&small).gradient);
	else
		error_set(err, STATUS_MISMATCH,
			  "summed gradients are %.6g times the gradients of the mean; expected %g, "
			  "and the remaining difference is %.3g",
			  found.ratio, parts, found.residual);
out:
	free(added);
	free(mean);
	return err->status;
}

struct clearing_outcome {
	int steps; /* completed before an allocation failed */
	bool fits; /* a step of the largest batch, afterwards */
	uint64_t reserved, reserved_cleared, free_bytes, largest_free;
};

/* Steps of batches from an eighth of the largest, in pseudorandom order; then the largest. */
static void trainmem_studies_clearing_run_batches(struct training *t, bool clear,
						  struct clearing_outcome *o, struct error *err)
{
	uint64_t most = t->setup.batch, unit = ALTERNATION_PARTS * setup_accumulate(&t->setup),
		 units = most / unit, least = units / 8 + 1;

	trainmem_training_reset(t, err);
	while (o->steps < CLEARING_STEPS && err->status == STATUS_OK) {
		uint64_t drawn = generator_bits(t->setup.seed, (uint64_t)o->steps);

		trainmem_training_set_batch(t, unit * (least + drawn % (units - least + 1)));
		o->steps += trainmem_training_step(t, err) == STATUS_OK;
	}
	if (trainmem_training_wait(t, err) != STATUS_OK)
		return;
	o->reserved = t->heap.reserved;
	heap_free_bytes(&t->heap, &o->free_bytes, &o->largest_free);
	if (clear)
		heap_trim(&t->heap);
	o->reserved_cleared = t->heap.reserved;
	trainmem_training_set_batch(t, most);
	trainmem_training_step(t, err);
	o->fits = trainmem_training_wait(t, err) == STATUS_OK;
}

static enum status clearing_study_one(const struct trainmem_case *c,
				      const struct training_options *options, bool clear,
				      struct clearing_outcome *o, struct error *err)
{
	struct error refused = ERROR_NONE;
	struct training t;

	*o = (struct clearing_outcome){ 0 };
	if (trainmem_training_open(&t, &c->setup, options, c->run->devices[0], &refused) ==
	    STATUS_OK)
		trainmem_studies_clearing_run_batches(&t, clear, o, &refused);
	o->reserved = o->reserved ? o->reserved : t.heap.reserved;
	trainmem_training_close(&t);
	return refused.status == STATUS_OK || refused.status == STATUS_NO_MEMORY
		       ? STATUS_OK
		       : error_set(err, refused.status, "%s", refused.message);
}

enum status study_clearing(const struct trainmem_case *c, struct error *err)
{
	struct run *run = c->run;
	struct training_options own = c->options;
	struct clearing_outcome kept, cleared;
	struct heap need;

	trainmem_training_plan(&c->setup, &own, &need);
	own.limit = (uint64_t)(CLEARING_ROOM * (double)need.reserved_peak);
	if (trainmem_measure_verify(c, err) != STATUS_OK ||
	    clearing_study_one(c, &own, false, &kept, err) != STATUS_OK ||
	    clearing_study_one(c, &own, true, &cleared, err) != STATUS_OK)
		return err->status;
	run_value(run, "trainmem.limit", (double)own.limit);
	run_value(run, "trainmem.reserved", (double)kept.reserved);
	if (kept.steps == CLEARING_STEPS)
		run_value(run, "trainmem.reserved_after", (double)cleared.reserved_cleared);
	else
		run_note(run, "Step %d of %d with varying batch sizes ran out of memory.",
			 kept.steps + 1, CLEARING_STEPS);
	run_value(run, "trainmem.fits_kept", kept.fits);
	run_value(run, "trainmem.fits_cleared", cleared.fits);
	if (kept.free_bytes)
		run_value(run, "trainmem.fragmentation",
			  1 - (double)kept.largest_free / (double)kept.free_bytes);
	return STATUS_OK;
}

#define DEVICES 2
/* Steps per device; the losses after them are compared. */
#define CHECKED_STEPS 4
/* Bytes of a request that shows that the other device can still allocate up to its limit. */
#define GRANTED_BYTES ((uint64_t)1 << 20)

struct logical {
	struct training devices[DEVICES];
	int active; /* the first alone, or both alternately */
};

static enum status trainmem_studies_logical_launch(void *state, unsigned batch, struct error *err)
{
	struct logical *l = state;

	for (unsigned i = 0; i < batch; i++)
		for (int d = 0; d < l->active; d++)
			trainmem_training_step(&l->devices[d], err);
	for (int d = 0; d < l->active; d++)
		trainmem_training_wait(&l->devices[d], err);
	return err->status;
}

static enum status trainmem_studies_logical_launch_alone(void *state, unsigned batch,
							 struct error *err)
{
	struct logical *l = state;

	l->active = 1;
	trainmem_studies_logical_launch(l, batch, err);
	l->active = DEVICES;
	return err->status;
}

/* Times steps of one alone and of both alternately. */
static enum status trainmem_studies_logical_time_both(struct run *run, struct logical *l,
						      struct error *err)
{
	static const char *const names[] = { "trainmem.step_time", "trainmem.plain_time",
					     "trainmem.slowdown" };
	struct stream *streams[DEVICES];
	struct workload both = { .state = l,
				 .launch = trainmem_studies_logical_launch,
				 .clock = CLOCK_HOST,
				 .streams = streams,
				 .stream_count = DEVICES,
				 .no_gate = true };
	struct workload workloads[] = { both, both };
	const struct series *series[3];

	for (int d = 0; d < DEVICES; d++)
		streams[d] = l->devices[d].team.streams[STREAM_COMPUTE];
	workloads[1].launch = trainmem_studies_logical_launch_alone;
	workloads[1].stream_count = 1;
	if (run_sample_interleaved(run, workloads, names, series, err) != STATUS_OK)
		return err->status;
	for (int i = 0; i < 3; i++)
		run_scaled(run, names[i], 1, series[i]);
	return STATUS_OK;
}

/* Losses after some steps of the first alone or of both alternately. */
static void trainmem_studies_logical_losses(struct logical *l, int devices, double out[DEVICES],
					    struct error *err)
{
	l->active = devices;
	for (int d = 0; d < devices; d++)
		trainmem_training_reset(&l->devices[d], err);
	trainmem_studies_logical_launch(l, CHECKED_STEPS, err);
	for (int d = 0; d < devices; d++)
		trainmem_training_loss(&l->devices[d], &out[d], err);
}

static enum status trainmem_studies_logical_check_losses(struct logical *l, struct error *err)
{
	double alone[DEVICES], both[DEVICES];

	trainmem_studies_logical_losses(l, 1, alone, err);
	trainmem_studies_logical_losses(l, DEVICES, both, err);
	for (int d = 0; d < DEVICES && err->status == STATUS_OK; d++)
		if (!isfinite(alone[0]) || fabs(both[d] - alone[0]) > 1e-6 * fabs(alone[0]))
			error_set(err, STATUS_MISMATCH,
				  "logical device %d reaches a loss of %.9g while the other "
				  "logical device is active, but %.9g alone",
				  d, both[d], alone[0]);
	return err->status;
}

/*
 * The first requests more than its limit; then the second must be able to allocate and use memory.
 */
static enum status trainmem_studies_logical_ask_beyond(struct logical *l, bool *isolated,
						       struct error *err)
{
	struct heap *first = &l->devices[0].heap, *second = &l->devices[1].heap;
	struct error no = ERROR_NONE, yes = ERROR_NONE;
	struct buffer buffer = { .device = l->devices[1].team.device,
				 .allocator = ALLOCATOR_DEVICE,
				 .bytes = GRANTED_BYTES };
	struct stream *stream = l->devices[1].team.streams[STREAM_COMPUTE];
	uint64_t seed = l->devices[1].setup.seed;
	void *memory;

	*isolated =
		heap_take(first, MEMORY_TRANSIENT, first->limit, &memory, &no) == STATUS_NO_MEMORY;
	if (heap_take(second, MEMORY_TRANSIENT, GRANTED_BYTES, &buffer.memory, &yes) != STATUS_OK) {
		*isolated = false;
		return STATUS_OK;
	}
	if (buffer_fill(&buffer, stream, seed, err) == STATUS_OK)
		buffer_check(&buffer, stream, 0, GRANTED_BYTES, seed, err);
	heap_give(second, MEMORY_TRANSIENT, buffer.memory, GRANTED_BYTES);
	return err->status;
}

enum status study_logical(const struct trainmem_case *c, struct error *err)
{
	struct training_options own = c->options;
	struct logical l = { .active = DEVICES };
	struct heap need;
	bool isolated;
	int opened = 0;

	trainmem_training_plan(&c->setup, &own, &need);
	own.limit = own.reserve = need.reserved_peak + LOGICAL_MARGIN;
	while (opened < DEVICES && err->status == STATUS_OK)
		trainmem_training_open(&l.devices[opened++], &c->setup, &own, c->run->devices[0],
				       err);
	if (err->status == STATUS_OK &&
	    trainmem_studies_logical_check_losses(&l, err) == STATUS_OK &&
	    trainmem_studies_logical_ask_beyond(&l, &isolated, err) == STATUS_OK &&
	    trainmem_studies_logical_time_both(c->run, &l, err) == STATUS_OK &&
	    trainmem_studies_logical_check_losses(&l, err) == STATUS_OK) {
		run_value(c->run, "trainmem.isolated", isolated);
		run_value(c->run, "trainmem.reserved",
			  (double)(l.devices[0].heap.reserved_peak +
				   l.devices[1].heap.reserved_peak));
		run_value(c->run, "trainmem.limit", (double)l.devices[0].heap.limit);
		run_verified(c->run,
			     "both logical devices reach the same loss as alone, and memory of the "
			     "second keeps its data when a request of the first fails",
			     NAN, NAN);
	}
	while (opened > 0)
		trainmem_training_close(&l.devices[--opened]);
	return err->status;
}

/* Inputs that determine a sample's label: few, so that a few thousand samples suffice to learn. */
#define DECIDING_INPUTS 16
#define TENTHS 10

/* The class whose random linear function of the first inputs is largest. */
static int32_t trainmem_studies_teacher_label(const struct setup *setup, uint64_t row)
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

/* Mean loss of each tenth of a training whose every step has new samples. */
static enum status trainmem_studies_loss_curve_train(const struct trainmem_case *c,
						     const struct setup *setup, uint64_t updates,
						     double tenths[TENTHS], struct error *err)
{
	uint64_t counts[TENTHS] = { 0 }, batch = setup->batch;
	int32_t *labels = xcalloc(batch, sizeof(*labels));
	struct training t;

	trainmem_training_open(&t, setup, &c->options, c->run->devices[0], err);
	trainmem_training_reset(&t, err);
	for (uint64_t i = 0; i < updates && err->status == STATUS_OK; i++) {
		uint64_t tenth = i * TENTHS / updates, row = i * batch;
		struct network *n = &t.network;
		double loss = 0;

		for (uint64_t r = 0; r < batch; r++)
			labels[r] = trainmem_studies_teacher_label(setup, row + r);
		if (network_fill_input(n, n->activations[0], row, batch, err) == STATUS_OK)
			network_copy(n, n->labels, labels, batch * sizeof(*labels), err);
		trainmem_training_step(&t, err);
		/* Waits, so that the labels may be changed. */
		trainmem_training_loss(&t, &loss, err);
		tenths[tenth] += loss;
		counts[tenth]++;
	}
	for (int i = 0; i < TENTHS; i++)
		tenths[i] /= (double)counts[i];
	free(labels);
	trainmem_training_close(&t);
	return err->status;
}

/* Checks that the loss fell below that of a guess among all classes. */
static enum status trainmem_studies_check_learnt(const struct setup *setup, const double *tenths,
						 struct error *err)
{
	double last = tenths[TENTHS - 1], guess = log((double)setup->widths[setup->layers]);

	if (isfinite(last) && last < tenths[0] && last < guess)
		return STATUS_OK;
	return error_set(err, STATUS_MISMATCH,
			 "training did not converge: the loss changed from %.6g to %.6g; a random "
			 "guess has a loss of %.6g",
			 tenths[0], last, guess);
}

enum status study_loss_curve(const struct trainmem_case *c, struct error *err)
{
	struct run *run = c->run;
	const struct section *section = run->c->section;
	double found[TENTHS] = { 0 }, fp32[TENTHS] = { 0 }, largest = 0;
	uint64_t updates = (uint64_t)section_integer(section, "curve_samples") / c->setup.batch;
	struct setup trained = c->setup;

	trained.rate = section_real(section, "curve_rate");
	if (updates < 2 * TENTHS)
		return error_set(err, STATUS_UNSUPPORTED,
				 "curve_samples = %llu batches; at least %d batches are needed",
				 (unsigned long long)updates, 2 * TENTHS);
	if (trainmem_studies_loss_curve_train(c, &trained, updates, found, err) != STATUS_OK)
		return err->status;
	run_value(run, "trainmem.updates", (double)updates);
	run_value(run, "trainmem.loss_first", found[0]);
	run_value(run, "trainmem.loss_half", found[TENTHS / 2 - 1]);
	run_value(run, "trainmem.loss_final", found[TENTHS - 1]);
	if (trained.precision != PRECISION_FP32) {
		setup_set_training(&trained, "fp32");
		trained.loss_scale = 1;
		if (trainmem_studies_loss_curve_train(c, &trained, updates, fp32, err) != STATUS_OK)
			return err->status;
		for (int i = 0; i < TENTHS; i++)
			largest = fmax(largest, fabs(found[i] / fp32[i] - 1));
		run_value(run, "trainmem.loss_final_fp32", fp32[TENTHS - 1]);
		run_value(run, "trainmem.loss_difference", largest);
	}
	if (trainmem_studies_check_learnt(&c->setup, found, err) == STATUS_OK)
		run_verified(run, "the loss on samples not used before fell", NAN, NAN);
	return err->status;
}

/*
 * A batch exceeds the plan's prediction by this fraction, because trials determine their own
 * budgets.
 */
#define BEYOND 100

struct remedy_attempt {
	const struct trainmem_case *c;
	struct trial_request request;
	uint64_t step, most, budget;
	enum phase at_most; /* of a refusal */
};

static bool trainmem_studies_remedies_plan_passes(const void *attempt, uint64_t batch)
{
	const struct remedy_attempt *a = attempt;
	struct setup s = a->c->setup;

	s.batch = batch;
	return trainmem_training_refused_in(&s, &a->c->options, a->budget) > a->at_most;
}

/*
 * A batch beyond the smallest whose plan fails in phase `at_most` or before; 0: none.
 * *smallest: the latter.
 */
static uint64_t trainmem_studies_smallest_refused(struct remedy_attempt *a, enum phase at_most,
						  uint64_t *smallest)
{
	uint64_t passes;

	a->at_most = at_most;
	passes =
		search_next_largest_fit(trainmem_studies_remedies_plan_passes, a, a->step, a->most);
	*smallest = passes + a->step <= a->most ? passes + a->step : 0;
	return (*smallest + *smallest / BEYOND + a->step - 1) / a->step * a->step;
}

static enum status trainmem_studies_remedies_try_step(struct remedy_attempt *a,
						      const struct setup *setup, bool offload,
						      struct trial *trial, struct error *err)
{
	a->request.setup = *setup;
	a->request.options.offload = offload;
	return search_trial(a->c->run, &a->request, trial, err);
}

enum {
#define X(name, help) REMEDY_##name,
	REMEDIES(X)
#undef X
		REMEDY_COUNT
};
#define X(name, help) { "trainmem.backward_" #name, "trainmem.forward_" #name },
static const char *const metrics[][2] = { REMEDIES(X) };
#undef X

/* First the batch itself, which must fail in that phase; then with each remedy. */
static enum status trainmem_studies_try_remedies(struct remedy_attempt *a, uint64_t batch,
						 enum phase phase, struct error *err)
{
	bool forward = phase == PHASE_FORWARD;
	struct run *run = a->c->run;
	struct setup s = a->c->setup;
	struct trial trial;

	s.batch = batch;
	if (trainmem_studies_remedies_try_step(a, &s, false, &trial, err) != STATUS_OK)
		return err->status;
	if (trial.fits || trial.phase != phase) {
		run_note(run,
			 "A batch of %llu was expected to run out of memory in the %s phase, but "
			 "%s%s.",
			 (unsigned long long)batch, phase_names[phase],
			 trial.fits ? "fits" : "ran out of memory in ",
			 trial.fits ? "" : phase_names[trial.phase]);
		return STATUS_OK;
	}
	run_value(run, forward ? "trainmem.refused_batch_forward" : "trainmem.refused_batch",
		  (double)batch);
	for (int r = 0; r < REMEDY_COUNT; r++) {
		struct setup with = s;

		if (r == REMEDY_halved)
			with.batch /= 2;
		if (r == REMEDY_checkpointed)
			with.segments = (uint64_t)fmax(2, round(sqrt((double)s.layers)));
		if (r == REMEDY_accumulated)
			with.accumulate = 2 * setup_accumulate(&s);
		if (trainmem_studies_remedies_try_step(a, &with, r == REMEDY_offloaded, &trial,
						       err) != STATUS_OK)
			return err->status;
		run_value(run, metrics[r][forward], trial.fits);
	}
	return STATUS_OK;
}

enum status study_remedies(const struct trainmem_case *c, struct error *err)
{
	struct remedy_attempt a = {
		.c = c,
		.step = 16 * setup_accumulate(&c->setup),
		.most = (uint64_t)section_integer(c->run->c->section, "max_batch"),
	};
	uint64_t in_backward, in_forward, backward, forward;
	struct trial look;

	if (search_trial_request(c, &a.request, err) != STATUS_OK ||
	    search_trial(c->run, &a.request, &look, err) != STATUS_OK)
		return err->status;
	a.request.only_look = false;
	a.budget = look.budget;
	run_value(c->run, "trainmem.budget", (double)look.budget);
	if (!look.budget)
		return error_set(err, STATUS_UNSUPPORTED,
				 "no memory is left for tensors in the free memory of the device");
	backward = trainmem_studies_smallest_refused(&a, PHASE_BACKWARD, &in_backward);
	forward = trainmem_studies_smallest_refused(&a, PHASE_FORWARD, &in_forward);
	if (!backward)
		return error_set(err, STATUS_UNSUPPORTED,
				 "the largest batch, %llu, does not run out of memory; increase "
				 "max_batch",
				 (unsigned long long)a.most);
	if (((backward < in_forward || !forward) &&
	     trainmem_studies_try_remedies(&a, backward, PHASE_BACKWARD, err) != STATUS_OK) ||
	    (forward &&
	     trainmem_studies_try_remedies(&a, forward, PHASE_FORWARD, err) != STATUS_OK))
		return err->status;
	run_verified(c->run,
		     "the loss falls in every step that fits; after each failure, memory was "
		     "allocated, filled by a kernel, and every byte checked",
		     NAN, NAN);
	return STATUS_OK;
}
