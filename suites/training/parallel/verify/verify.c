#include "suites/training/parallel/verify/verify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "suites/training/models/reference/reference.h"
#include "suites/training/models/reference/values.h"
#include "suites/training/parallel/trainer/trainer.h"
#include "suites/training/parallel/verify/compare.h"

/* The error of a small tensor varies more than that of all parameters together. */
#define TENSOR_HEADROOM 4

/* The tolerances below were determined with models of this many layers. */
#define TOLERANCE_LAYERS 5.0
#define TOLERANCE_SUM 512.0
#define TOLERANCE_BLOCK 1.5
#define TOLERANCE_CONVOLUTIONS 2
#define TENSOR_HEADROOM_CONVOLUTIONS 16

/*
 * Rounding flips at most one ReLU in a thousand (bf16), with pre-activations as small as the
 * rounding errors: measured 0 (fp32), 5e-6 (fp16) and 9e-5 (bf16) of a layer's norm in models of 4
 * layers, 7e-4 (bf16) in one of 32.
 */
#define MASKS_SHARE 0.25

/*
 * Gradients: measured with imposed masks 3e-7 (fp32), 3.4e-4 (tf32, fp16) and 3.2e-3 (bf16). Every
 * layer adds its rounding errors: 16 layers have twice the error of 4. In fp32 and fp64, where sums
 * are no more exact than their summands, the error also grows with the square root of the longest
 * sum. Loss: the error of one row is independent of the others'. A transformer's block rounds
 * twelve tensors where a linear layer rounds one: measured with 1, 4, 12 and 30 blocks 5.1e-7 to
 * 5.8e-7 (fp32), 7.2e-4, 9.0e-4, 1.3e-3, 1.6e-3 (fp16) and 5.9e-3, 7.2e-3, 1.0e-2, 1.3e-2 (bf16). A
 * ResNet 18 with 8 channels, whose last batch norms have 8 to 16 rows: 1.2e-6 (fp32), 2.0e-3 (fp16)
 * and 1.0e-2 (bf16), but 4e-2 and 3e-1 for the worst tensor with depthwise convolutions, whose
 * filters have nine weights.
 */
struct tolerance verify_tolerance(const struct setup *setup)
{
	static const struct {
		double gradient, loss, row_loss;
		bool sums_round;
	} base[PRECISION_COUNT] = {
		[PRECISION_FP64] = { 1e-12, 1e-13, 1e-13, true },
		[PRECISION_FP32] = { 1e-5, 1e-6, 4e-6, true },
		[PRECISION_TF32] = { 2e-3, 1e-5, 1e-3, false },
		[PRECISION_FP16] = { 2e-3, 1e-5, 1e-3, false },
		[PRECISION_BF16] = { 1e-2, 1e-4, 8e-3, false },
	};
	enum precision p = setup->precision;
	double depth = fmax(1, sqrt((double)setup->layers / TOLERANCE_LAYERS));
	double longest = (double)setup_widest(setup), gradient;
	bool images = setup_has_images(setup);

	if (setup->kind == MODEL_TRANSFORMER)
		depth *= TOLERANCE_BLOCK;
	if (images)
		depth *= TOLERANCE_CONVOLUTIONS;
	else
		longest = fmax(longest, (double)setup->batch);
	gradient = base[p].gradient * depth;
	if (base[p].sums_round)
		gradient *= fmax(1, sqrt(longest / TOLERANCE_SUM));
	return (struct tolerance){
		.gradient = gradient,
		.tensor = gradient * (images ? TENSOR_HEADROOM_CONVOLUTIONS : TENSOR_HEADROOM),
		.masks = gradient * MASKS_SHARE,
		.forward = gradient,
		.loss = depth * fmax(base[p].loss, base[p].row_loss / sqrt((double)setup->batch)),
	};
}

enum status verify_fetch(struct rank_team *team, const void *array, enum precision precision,
			 uint64_t count, double *out, struct error *err)
{
	uint64_t bytes = count * precision_bytes(precision);
	void *raw = xmalloc(bytes);

	if (err->status == STATUS_OK && rank_team_fetch(team, raw, array, bytes, err) == STATUS_OK)
		values_decode(out, raw, precision, count);
	free(raw);
	return err->status;
}

/* Fetches which outputs of a layer passed the ReLU in the run: 1 or 0 per element. */
static enum status verify_fetch_mask(struct trainer *t, const void *activations, uint64_t count,
				     unsigned char **out, struct error *err)
{
	double *values = xmalloc(count * sizeof(*values));

	*out = xmalloc(count);
	if (verify_fetch(t->team, activations, t->setup->precision, count, values, err) ==
	    STATUS_OK)
		for (uint64_t i = 0; i < count; i++)
			(*out)[i] = values[i] > 0;
	free(values);
	return err->status;
}

/* Fetches the run's outputs inside convolutional layers; freed by the caller. */
static enum status verify_fetch_imposed(struct trainer *t, const struct collection *c,
					struct mlp_reference *ref, struct error *err)
{
	const struct setup *s = t->setup;

	for (size_t d = 0; d < image_model_decisions(s); d++) {
		uint64_t count = s->batch * image_model_decision_width(s, d);
		double *values = xmalloc(count * sizeof(*values));

		ref->imposed[d] = values;
		verify_fetch(t->team, c->decisions[d], s->precision, count, values, err);
	}
	return err->status;
}

/* The reference imposes the run's decisions, so wrong decisions are detected only here. */
static enum status verify_judge_masks(const struct mlp_reference *reference,
				      const struct tolerance *tolerance, struct verify_check *check,
				      struct error *err)
{
	check->mask_error = reference->mask_error;
	if (!(reference->forward_error <= tolerance->forward))
		return error_set(err, STATUS_MISMATCH,
				 "ReLU outputs of a convolutional layer differ from the "
				 "double-precision reference by %.2e (relative L2), allowed %.2e",
				 reference->forward_error, tolerance->forward);
	if (reference->mask_error <= tolerance->masks)
		return STATUS_OK;
	return error_set(err, STATUS_MISMATCH,
			 "ReLU inputs whose sign differs from the double-precision reference are "
			 "%.2e of a layer (relative L2), allowed %.2e",
			 reference->mask_error, tolerance->masks);
}

static enum status verify_against_reference(struct trainer *t, const struct collection *c,
					    double loss, struct verify_check *check,
					    struct error *err)
{
	struct tolerance tolerance = verify_tolerance(t->setup);
	struct gradients run = { t->team, c->gradients, t->setup, 1, NULL };
	unsigned char *masks[SETUP_MAX_LAYERS + 1] = { 0 };
	struct mlp_reference reference;
	struct verify_difference difference;

	if (trainer_scale(t, &run.scale, err) != STATUS_OK)
		return err->status;
	model_reference_open(&reference, t->setup);
	for (size_t l = 1; l < t->setup->layers; l++)
		if (setup_is_masked(t->setup, l))
			verify_fetch_mask(t, c->activations[l],
					  t->setup->batch * t->setup->widths[l], &masks[l], err);
	if (verify_fetch_imposed(t, c, &reference, err) == STATUS_OK) {
		model_reference_step(&reference, (const unsigned char *const *)masks);
		verify_compare_gradients(&t->network.model, &run,
					 &(struct gradients){ .setup = t->setup,
							      .on_host = reference.gradients },
					 false, &difference, err);
	}
	if (err->status == STATUS_OK &&
	    verify_compare_judge(&difference, loss, reference.loss, &tolerance,
				 "double-precision reference", check, err) == STATUS_OK)
		verify_judge_masks(&reference, &tolerance, check, err);
	for (size_t l = 0; l <= SETUP_MAX_LAYERS; l++)
		free(masks[l]);
	for (size_t d = 0; d < IMAGE_MAX_DECISIONS; d++)
		free((void *)reference.imposed[d]);
	model_reference_close(&reference);
	return err->status;
}

/* Runs a step up to the optimizer and collects all its results on rank 0. */
static enum status verify_step_and_collect(struct trainer *t, struct collection *c, double *loss,
					   struct error *err)
{
	if (verify_collect_prepare(t, c, err) != STATUS_OK ||
	    trainer_step(t, STEP_COMPUTE | STEP_COMMUNICATE, err) != STATUS_OK ||
	    trainer_loss(t, loss, err) != STATUS_OK)
		return err->status;
	return verify_collect_all(c, err);
}

enum status verify_reference(const struct setup *setup, struct rank_team *team,
			     struct verify_check *check, struct error *err)
{
	struct collection collection = { 0 };
	struct trainer t = { 0 };
	uint64_t sum;
	double loss;

	trainer_open(&t, setup, team, err);
	rank_team_phase(team, "reference", err);
	if (err->status == STATUS_OK)
		verify_step_and_collect(&t, &collection, &loss, err);
	values_share_threads(1); /* the other ranks wait */
	if (err->status == STATUS_OK && team->world->rank == 0)
		verify_against_reference(&t, &collection, loss, check, err);
	world_agree(team->world, err->status, err);
	values_share_threads(team->world->size);
	if (rank_team_phase(team, "updates", err) == STATUS_OK)
		verify_compare_update(&t, err);
	if (rank_team_phase(team, "replicas", err) == STATUS_OK)
		verify_replicas(&t, &sum, err);
	if (err->status != STATUS_OK)
		rank_team_abandon(team);
	verify_collect_release(&collection);
	trainer_close(&t);
	return err->status;
}

/*
 * The single device uses the ReLU decisions of the split: a flipped one is rounding, not an error
 * of the split. Its batch norms use the statistics of each rank's rows.
 */
static enum status verify_step_with_masks(struct trainer *single, const struct collection *c,
					  struct error *err)
{
	struct network *n = &single->network;
	enum status status;

	for (size_t l = 1; l < single->setup->layers; l++)
		if (setup_is_masked(single->setup, l))
			n->masks[l] = c->activations[l];
	memcpy(n->images.decisions, c->decisions, sizeof(n->images.decisions));
	n->images.norm_groups = setup_norm_groups(single->setup);
	status = trainer_step(single, STEP_COMPUTE, err);
	for (size_t l = 1; l < single->setup->layers; l++)
		n->masks[l] = n->activations[l];
	memset(n->images.decisions, 0, sizeof(n->images.decisions));
	n->images.norm_groups = 1;
	return status;
}

static enum status verify_single_alike(struct trainer *t, struct trainer *single,
				       const struct collection *c, double loss,
				       struct verify_check *check, struct error *err)
{
	struct tolerance tolerance = verify_tolerance(t->setup);
	struct gradients run = { t->team, c->gradients, t->setup, 1, NULL },
			 expected = { t->team, single->network.gradients, single->setup, 1, NULL };
	struct verify_difference difference;
	double expected_loss;

	if (verify_step_with_masks(single, c, err) != STATUS_OK ||
	    trainer_loss(single, &expected_loss, err) != STATUS_OK ||
	    trainer_scale(t, &run.scale, err) != STATUS_OK ||
	    trainer_scale(single, &expected.scale, err) != STATUS_OK ||
	    verify_compare_gradients(&t->network.model, &run, &expected, true, &difference, err) !=
		    STATUS_OK)
		return err->status;
	return verify_compare_judge(&difference, loss, expected_loss, &tolerance, "single device",
				    check, err);
}

enum status verify_against_single(struct trainer *t, struct trainer *single,
				  struct verify_check *check, struct error *err)
{
	struct collection collection = { 0 };
	double loss;
	enum status status = verify_step_and_collect(t, &collection, &loss, err);

	if (status == STATUS_OK && t->team->world->rank == 0)
		status = verify_single_alike(t, single, &collection, loss, check, err);
	status = world_agree(t->team->world, status, err);
	if (status != STATUS_OK && status != STATUS_NO_MEMORY)
		rank_team_abandon(t->team);
	verify_collect_release(&collection);
	return status;
}

/*
 * Checksums of this rank's parameters and gradients; 0 for parts that it does not share with the
 * others.
 */
struct verify_sums {
	uint64_t parameters, gradients;
	/*
	 * Replicated tensors of tensor-parallel ranks: biases of row-parallel layers, and whole
	 * layers.
	 */
	uint64_t shared_parameters, shared_gradients;
};

/* Checksums of tensors that every tensor-parallel rank has whole. */
static enum status verify_checksum_shared(struct trainer *t, const void *array, uint64_t *sum,
					  struct error *err)
{
	const struct network *n = &t->network;
	size_t bytes = precision_bytes(t->setup->precision);

	for (size_t l = n->partition.first; l < n->partition.last; l++)
		for (size_t i = 0; i < n->local.layer[l].tensors; i++) {
			const struct model_tensor *tensor = &n->local.layer[l].tensor[i];
			uint64_t one;

			if (tensor->part.whole_rows > 0)
				continue;
			if (rank_team_checksum(t->team, (const char *)array + tensor->first * bytes,
					       tensor->count * bytes, &one, err) != STATUS_OK)
				return err->status;
			*sum = *sum * 31 + one;
		}
	return STATUS_OK;
}

static enum status verify_checksum(struct trainer *t, uint64_t own, struct verify_sums *sums,
				   struct error *err)
{
	const struct network *n = &t->network;
	size_t stored = precision_bytes(t->setup->precision);
	bool replicas = t->mode->replicated || t->mode->gridded;

	if (n->partition.parts > 1 &&
	    (verify_checksum_shared(t, n->weights, &sums->shared_parameters, err) != STATUS_OK ||
	     verify_checksum_shared(t, n->gradients, &sums->shared_gradients, err) != STATUS_OK))
		return err->status;
	if (!replicas)
		return STATUS_OK;
	if (!model_parameter_shard_is_whole(&n->shard))
		return rank_team_checksum(t->team, n->weights, n->shard.weights * stored,
					  &sums->parameters, err);
	sums->parameters = own;
	return rank_team_checksum(t->team, n->gradients, n->shard.gradients * stored,
				  &sums->gradients, err);
}

/*
 * The first rank whose data must equal those of `rank`: all data, or only the tensors that every
 * part of a layer has.
 */
static int verify_replica_of(const struct trainer *t, int rank, bool shared)
{
	struct grid_place place = model_setup_grid_place(t->setup, rank);

	if (!t->mode->gridded)
		return 0;
	if (shared)
		place.part = 0;
	else
		place.data = 0;
	return model_setup_grid_rank(t->setup, place);
}

static enum status verify_sums_alike(const struct trainer *t, const struct verify_sums *all,
				     int rank, struct error *err)
{
	int whole = verify_replica_of(t, rank, false), part = verify_replica_of(t, rank, true),
	    replica = whole;
	bool parameters = all[rank].parameters == all[whole].parameters;
	bool gradients = all[rank].gradients == all[whole].gradients;

	if (parameters && gradients) {
		replica = part;
		parameters = all[rank].shared_parameters == all[part].shared_parameters;
		gradients = all[rank].shared_gradients == all[part].shared_gradients;
	}
	if (parameters && gradients)
		return STATUS_OK;
	return error_set(err, STATUS_MISMATCH,
			 "the %s of ranks %d and %d differ after a step; replicas must stay "
			 "bitwise equal",
			 parameters ? "gradients" : "parameters", rank, replica);
}

enum status verify_replicas(struct trainer *t, uint64_t *sum, struct error *err)
{
	const struct parameter_shard *h = &t->network.shard;
	bool masters = setup_has_master(t->setup) && h->master > 0;
	size_t bytes = precision_bytes(masters ? setup_master(t->setup) : t->setup->precision);
	struct verify_sums mine = { 0 }, *all;

	/* Checksum of this rank's memory that training changes. */
	if (rank_team_checksum(t->team, masters ? t->network.master : t->network.weights,
			       (masters ? h->master : h->weights) * bytes, sum, err) == STATUS_OK)
		verify_checksum(t, *sum, &mine, err);
	if (world_agree(t->team->world, err->status, err) != STATUS_OK)
		return err->status;
	all = xcalloc((size_t)t->team->world->size, sizeof(*all));
	world_gather(t->team->world, &mine, all, sizeof(mine));
	for (int rank = 1; rank < t->team->world->size && err->status == STATUS_OK; rank++)
		verify_sums_alike(t, all, rank, err);
	free(all);
	return err->status;
}

/* A graph recording is always ended, even if the recorded work has failed. */
enum status verify_recorded_open(struct verify_recorded *r, struct trainer *t, unsigned parts,
				 struct error *err)
{
	struct stream *compute = trainer_stream(t);
	uint64_t updates = t->network.updates;
	struct error ignored = ERROR_NONE;
	enum status status, ended;

	*r = (struct verify_recorded){ .trainer = t, .parts = parts };
	if (backend_graph_begin(compute, err) != STATUS_OK)
		return err->status;
	status = trainer_enqueue(t, parts, err);
	ended = backend_graph_end(compute, &r->graph, status == STATUS_OK ? err : &ignored);
	/* Nothing has been updated yet. */
	t->network.updates = updates;
	if (ended != STATUS_OK)
		r->graph = NULL;
	return status == STATUS_OK ? ended : status;
}

enum status verify_recorded_launch(struct verify_recorded *r, unsigned steps, struct error *err)
{
	struct trainer *t = r->trainer;

	for (unsigned i = 0; i < steps; i++) {
		if (backend_graph_launch(r->graph, trainer_stream(t), err) != STATUS_OK)
			return err->status;
		t->network.updates += (r->parts & STEP_UPDATE) != 0;
	}
	return STATUS_OK;
}

void verify_recorded_close(struct verify_recorded *r)
{
	backend_graph_destroy(r->graph);
	*r = (struct verify_recorded){ 0 };
}

struct trace {
	uint64_t parameters;
	double loss;
};

static enum status verify_trainer_trace(struct trainer *t, struct trace *out, struct error *err)
{
	memset(out, 0, sizeof(*out));
	if (verify_replicas(t, &out->parameters, err) != STATUS_OK)
		return err->status;
	return trainer_loss(t, &out->loss, err);
}

static enum status verify_recorded_steps_by_graph(struct trainer *t, unsigned steps,
						  struct trace *out, struct error *err)
{
	struct verify_recorded r = { 0 };
	struct world *world = t->team->world;
	enum status status = trainer_reset(t, err);

	if (status == STATUS_OK)
		status = world_agree(world, verify_recorded_open(&r, t, STEP_ALL, err), err);
	if (status == STATUS_OK)
		status = world_agree(world, verify_recorded_launch(&r, steps, err), err);
	if (status == STATUS_OK)
		status = world_agree(world, rank_team_synchronize(t->team, err), err);
	verify_recorded_close(&r);
	return status == STATUS_OK ? verify_trainer_trace(t, out, err) : status;
}

enum status recorded_verify(struct trainer *t, unsigned steps, struct error *err)
{
	struct trace calls, graph;
	enum status status = STATUS_OK;

	trainer_reset(t, err);
	t->network.by_host = true;
	for (unsigned i = 0; i < steps; i++)
		trainer_step(t, STEP_ALL, err);
	t->network.by_host = false;
	if (err->status != STATUS_OK || verify_trainer_trace(t, &calls, err) != STATUS_OK ||
	    verify_recorded_steps_by_graph(t, steps, &graph, err) != STATUS_OK)
		return err->status;
	if (calls.parameters != graph.parameters || calls.loss != graph.loss)
		status = error_set(err, STATUS_MISMATCH,
				   "%u steps with and without a graph: parameters %s, loss %.17g "
				   "and %.17g",
				   steps,
				   calls.parameters == graph.parameters ? "are equal" : "differ",
				   graph.loss, calls.loss);
	return world_agree(t->team->world, status, err);
}
