/*
 * Memory of a training step by class, the cost of reducing it, and the largest step that fits. The
 * step is that of the suite `parallel` on one device.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "kernels/attention/attention.h"
#include "plan/suite.h"
#include "suites/training/models/image_model.h"
#include "suites/training/models/model_keys.h"
#include "suites/training/parallel/modes/modes.h"
#include "suites/training/parallel/setup_case.h"
#include "suites/shared/estimate.h"
#include "suites/training/pages/pages.h"
#include "suites/training/trainmem/measure.h"
#include "suites/training/trainmem/outcome.h"
#include "suites/training/trainmem/search.h"

enum study {
	STUDY_STEP,
	STUDY_BATCH,
	STUDY_WIDTH,
	STUDY_ALTERNATING,
	STUDY_CHECKERBOARD,
	STUDY_LOGICAL,
	STUDY_ACCUMULATION,
	STUDY_LOSS_CURVE,
	STUDY_CLEARING,
	STUDY_REMEDIES
};
static const char *const studies[] = { "step",
				       "largest_batch",
				       "largest_width",
				       "alternating",
				       "checkerboard",
				       "logical_devices",
				       "accumulation",
				       "loss_curve",
				       "clearing",
				       "remedies",
				       NULL };
static const char *const activations[] = { "in_place", "out_of_place", NULL };
static const char *const losses[] = { "device", "host", NULL };
static const char *const offloads[] = { "none", "host", "as_needed", NULL };
enum { OFFLOAD_NONE, OFFLOAD_HOST, OFFLOAD_AS_NEEDED };
static const char *const limiters[] = { "allocator", "filler", NULL };

static const struct key keys[] = {
	MODEL_KEYS("mlp; transformer, convnet and resnet only in the studies step, largest_batch "
		   "and alternating",
		   false),
	{ .name = "studies",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "step",
	  .choices = studies,
	  .parameter = "study",
	  .help = "step: memory of one step; largest_batch, largest_width: search by trial; "
		  "alternating, checkerboard: fragmentation; logical_devices: two allocators on "
		  "one GPU; accumulation: sum of gradients without division; loss_curve: training "
		  "until the loss falls; clearing: emptying the cache; remedies: ways to make a "
		  "step fit that ran out of memory" },
	PRECISION_KEY,
	BATCH_KEY("samples per step; the study largest_batch does not use it"),
	OPTIMIZER_KEY(true),
	{ .name = "allocator",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "arena",
	  .choices = policy_names,
	  .help = "allocator of the step: arena: one allocation for all; malloc, async: one "
		  "allocation per tensor and step; caching: freed blocks are kept (PyTorch); bfc, "
		  "bfc_growth: best fit in one region or in growing regions (TensorFlow)" },
	{ .name = "segments",
	  .type = KEY_INTEGER,
	  .list = true,
	  .fallback = "0",
	  .min = 0,
	  .max = SETUP_MAX_LAYERS,
	  .help = "activation checkpointing: number of segments, whose inner outputs are "
		  "recomputed; 0: keep all outputs. Models other than mlp accept 0 or the number "
		  "of layers" },
	{ .name = "accumulate",
	  .type = KEY_INTEGER,
	  .list = true,
	  .fallback = "1",
	  .min = 1,
	  .max = 1024,
	  .help = "gradient accumulation: number of parts of the batch that are computed before "
		  "one update" },
	{ .name = "activation",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "in_place",
	  .choices = activations,
	  .help = "in_place: ReLU overwrites its input; out_of_place: it writes to a separate "
		  "buffer" },
	{ .name = "offload",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "none",
	  .choices = offloads,
	  .help = "host: store the outputs for the backward pass in pinned host memory; as_needed: "
		  "only the outputs that do not fit into `pool`" },
	{ .name = "pool",
	  .type = KEY_PERCENT,
	  .list = true,
	  .fallback = "75 %",
	  .min = 0.01,
	  .max = 1,
	  .help = "offload = as_needed: memory for tensors / memory of a step without swapping" },
	{ .name = "losses",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "device",
	  .choices = losses,
	  .help = "device: losses stay on the device; host: copy the losses of every step to the "
		  "host and wait for the copy" },
	SEARCH_KEYS,
	{ .name = "limit_by",
	  .type = KEY_CHOICE,
	  .fallback = "allocator",
	  .choices = limiters,
	  .help = "allocator: gpuproof's allocator refuses memory beyond the limit; filler: "
		  "gpuproof fills the rest of the GPU's memory, and the GPU itself refuses (not on "
		  "the CPU)" },
	{ .name = "max_width",
	  .type = KEY_INTEGER,
	  .fallback = "131072",
	  .min = 64,
	  .max = 1e6,
	  .help = "upper end of the search for the largest width" },
	{ .name = "loss_scale",
	  .type = KEY_REAL,
	  .fallback = "1024",
	  .min = 1,
	  .max = 65536,
	  .help = "loss scale for fp16_mixed and fp16_storage: factor that keeps small gradients "
		  "from underflow" },
	{ .name = "curve_samples",
	  .type = KEY_INTEGER,
	  .fallback = "131072",
	  .min = 100,
	  .max = 1e9,
	  .help = "loss_curve: number of training samples; each is used once" },
	{ .name = "curve_rate",
	  .type = KEY_REAL,
	  .fallback = "0.001",
	  .min = 1e-9,
	  .max = 10,
	  .help = "loss_curve: learning rate" },
	ALIASING_KEY,
	VERIFY_KEY("1e8"),
	{ 0 },
};

static const char *const axes[] = { "studies",   "precision",   "batch",      "optimizer",
				    "allocator", "segments",    "accumulate", "activation",
				    "offload",   "pool",        "losses",     "memory_limit",
				    "model",     "convolution", "aliasing",   NULL };

static enum status trainmem_setup_of_case(struct setup *setup, const struct plan_case *c,
					  struct error *err)
{
	*setup = (struct setup){ .mode = mode_find("single"),
				 .ranks = 1,
				 .microbatches = 1,
				 .beta1 = 0.9,
				 .beta2 = 0.999,
				 .epsilon = 1e-8,
				 .rate_chosen = true,
				 .loss_scale = 1 };
	setup_set_training(setup, case_text_or(c, "precision", "fp32"));
	if (setup_case_read_model(setup, c, err) != STATUS_OK)
		return err->status;
	setup->batch = (uint64_t)case_integer_or(c, "batch", 8) * setup_sample_rows(setup);
	setup->optimizer = (enum optimizer)case_integer_or(c, "optimizer", OPTIMIZER_ADAM);
	setup->segments = (uint64_t)case_integer_or(c, "segments", 0);
	setup->accumulate = (uint64_t)case_integer_or(c, "accumulate", 1);
	setup->no_aliasing = case_integer_or(c, "aliasing", 0) != 0;
	setup->momentum = setup->optimizer == OPTIMIZER_MOMENTUM ? 0.9 : 0;
	if (setup->precision == PRECISION_FP16)
		setup->loss_scale = section_real(c->section, "loss_scale");
	setup_fit_mode(setup);
	setup->rate = setup_safe_rate(setup);
	return STATUS_OK;
}

/*
 * The step's options. With a pool, sets how many outputs are swapped so that the step fits into it;
 * false: the pool is too small even so.
 */
static bool trainmem_options_from_case(const struct plan_case *c, const struct setup *setup,
				       struct training_options *options)
{
	struct training_options plain = { .policy = POLICY_ARENA };
	struct setup all = trainmem_measure_plain_setup(setup);
	struct heap kept;

	*options = (struct training_options){
		.policy = (enum policy)case_integer_or(c, "allocator", POLICY_ARENA),
		.offload = case_integer_or(c, "offload", 0) == OFFLOAD_HOST,
		.out_of_place = case_integer_or(c, "activation", 0) != 0,
		.reports = case_integer_or(c, "losses", 0) != 0
	};
	if (!case_find_value(c, "pool"))
		return true;
	plain.policy = options->policy;
	trainmem_training_plan(&all, &plain, &kept);
	options->limit = (uint64_t)(case_value(c, "pool")->real * (double)kept.reserved_peak);
	return trainmem_training_swap_to_fit(setup, options, options->limit);
}

/* Drops the axes that a study does not vary. False: this point of the sweep duplicates another. */
static bool trainmem_drop_axes(struct plan_case *point, enum study study)
{
	static const char *const unused[][12] = {
		[STUDY_STEP] = { "memory_limit" },
		[STUDY_BATCH] = { "batch", "losses" },
		[STUDY_WIDTH] = { "losses" },
		[STUDY_ALTERNATING] = { "memory_limit", "segments", "offload", "losses" },
		[STUDY_CHECKERBOARD] = { "memory_limit", "precision", "batch", "optimizer",
					 "segments", "accumulate", "activation", "offload",
					 "losses", "model", "convolution" },
		[STUDY_LOGICAL] = { "memory_limit", "losses" },
		[STUDY_ACCUMULATION] = { "memory_limit", "losses", "optimizer" },
		[STUDY_LOSS_CURVE] = { "memory_limit", "losses", "segments", "offload",
				       "accumulate", "activation" },
		[STUDY_CLEARING] = { "memory_limit", "segments", "offload", "losses" },
		[STUDY_REMEDIES] = { "batch", "segments", "offload", "losses" },
	};
	enum model_kind kind = (enum model_kind)case_integer_or(point, "model", MODEL_MLP);

	for (size_t i = 0; i < 12 && unused[study][i]; i++)
		if (!plan_drop_axis(point, unused[study][i]))
			return false;
	if (case_find_value(point, "convolution") && kind != MODEL_CONVNET &&
	    kind != MODEL_RESNET && !plan_drop_axis(point, "convolution"))
		return false;
	if (kind != MODEL_TRANSFORMER && !plan_drop_axis(point, "aliasing"))
		return false;
	/* Each value occurs once, so nothing is lost. */
	if (case_integer_or(point, "aliasing", 1) == 0)
		plan_drop_axis(point, "aliasing");
	if (case_find_value(point, "model") && kind == MODEL_MLP)
		plan_drop_axis(point, "model");
	return (study == STUDY_STEP && case_integer_or(point, "offload", 0) == OFFLOAD_AS_NEEDED) ||
	       plan_drop_axis(point, "pool");
}

static void trainmem_unname_usual(struct plan_case *point)
{
	static const char *const usual[][2] = {
		{ "optimizer", "adam" },      { "segments", "0" },   { "accumulate", "1" },
		{ "activation", "in_place" }, { "offload", "none" }, { "losses", "device" },
		{ "convolution", "plain" },   { "aliasing", "on" },
	};

	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
		plan_unname_usual(point, usual[i][0], usual[i][1]);
}

/*
 * Seconds in addition to the samples: the reference, the processes, the steps of the memory
 * account.
 */
static double trainmem_setup_seconds(const struct setup *setup, const struct plan_case *point,
				     enum study study, const struct device_info *info)
{
	double reference =
		3 * fmin(model_flops(setup), section_real(point->section, "verify_flops")) / 2e9;
	bool host = device_is_host(info);
	double process = host ? 0.1 : 0.6;

	if (study == STUDY_CHECKERBOARD)
		return 0.05;
	if (study == STUDY_LOSS_CURVE)
		return 2 * section_real(point->section, "curve_samples") *
		       (2e-6 + model_flops(setup) / (double)setup->batch /
				       shared_estimate_flops(info, setup->precision));
	if (study == STUDY_CLEARING)
		return 2 * CLEARING_STEPS * model_flops(setup) /
		       shared_estimate_flops(info, setup->precision);
	if (study == STUDY_BATCH || study == STUDY_WIDTH || study == STUDY_REMEDIES)
		return (study == STUDY_REMEDIES ? 12 : 3) * process +
		       (double)info->memory_bytes / (host ? 20e9 : 100e9);
	return 0.1 + reference + process +
	       20 * model_flops(setup) / shared_estimate_flops(info, setup->precision);
}

static const char *trainmem_refusal(const struct plan_case *point, const struct setup *setup,
				    const struct training_options *o, bool pool_fits,
				    enum study study, const struct device_info *info)
{
	static char text[200];
	bool swaps = case_integer_or(point, "offload", 0) == OFFLOAD_AS_NEEDED;
	bool offload = o->offload && !swaps, inside = setup->kind != MODEL_MLP;
	/* This suite implements its own checkpointing in segments. */
	struct setup kept = *setup;

	kept.segments = 0;
	if (inside && study != STUDY_STEP && study != STUDY_BATCH && study != STUDY_ALTERNATING)
		return "this study needs model = mlp; other models support step, largest_batch and "
		       "alternating";
	if (inside && (swaps || offload))
		return "offload works only with model = mlp, because layers of other models keep "
		       "more than their output";
	if (setup->kind == MODEL_TRANSFORMER &&
	    setup_transformer_refusal(&kept, text, sizeof(text)))
		return setup_transformer_refusal(&kept, text, sizeof(text));
	if (setup_has_images(setup) && setup->precision == PRECISION_FP64)
		return "convolutions are not implemented in fp64";
	if (swaps && study != STUDY_STEP)
		return "offload = as_needed works only in the study step";
	if (swaps && setup->segments > 0)
		return "offload = as_needed and recompute exclude each other";
	if (!pool_fits)
		return "the pool is too small even if every possible output is swapped";
	if (o->policy == POLICY_ASYNC && !(info->capabilities & DEVICE_HAS_POOLS))
		return "the device has no stream-ordered memory pool";
	if (!(info->capabilities & precision_capability(setup->precision)))
		return "the device does not support this precision";
	if (offload && setup->segments > 0)
		return "offload = host and recompute exclude each other";
	if (setup->batch / setup_sample_rows(setup) % setup_accumulate(setup))
		return "the batch is not divisible by accumulate";
	if (study == STUDY_ACCUMULATION && setup_accumulate(setup) == 1)
		return "the study accumulation needs accumulate = 2 or more";
	if (study == STUDY_REMEDIES && o->policy == POLICY_ARENA)
		return "an arena is allocated before the forward pass, so it fails as a whole; "
		       "choose another allocator to see where memory runs out";
	if ((study == STUDY_ALTERNATING || study == STUDY_CLEARING) &&
	    setup->batch / setup_sample_rows(setup) % (ALTERNATION_PARTS * setup_accumulate(setup)))
		return "an eighth of the batch is not divisible by accumulate";
	return NULL;
}

/*
 * Memory of the host cannot be filled: it grants memory that others freed, and pages that have no
 * physical memory before use.
 */
static const char *trainmem_limit_refusal(const struct plan_case *point,
					  const struct device_info *info)
{
	if (strcmp(case_text_or(point, "memory_limit", "none"), "none") == 0 ||
	    section_integer(point->section, "limit_by") != LIMIT_BY_FILLER ||
	    !(info->capabilities & DEVICE_SHARES_HOST_MEMORY))
		return NULL;
	return "gpuproof does not fill the memory of the host; to emulate a smaller GPU, use "
	       "limit_by = allocator";
}

/* Plans a case on each device with the memory of a step there. */
static enum status trainmem_expand(struct plan *plan, struct plan_case *point, struct error *err)
{
	enum study study = (enum study)case_integer(point, "studies");
	struct training_options options, plain = { .policy = POLICY_ARENA };
	struct setup setup, all;
	struct heap need, kept;
	bool pool_fits;
	uint64_t limit;

	if (setup_case_limit(point, &limit, err) != STATUS_OK)
		return err->status;
	if (!trainmem_drop_axes(point, study))
		return STATUS_OK;
	trainmem_unname_usual(point);
	if (trainmem_setup_of_case(&setup, point, err) != STATUS_OK)
		return err->status;
	pool_fits = trainmem_options_from_case(point, &setup, &options);
	if (study == STUDY_BATCH || study == STUDY_REMEDIES)
		setup.batch = 8 * setup_accumulate(&setup) * setup_sample_rows(&setup);
	all = trainmem_measure_plain_setup(&setup);
	trainmem_training_plan(&setup, &options, &need);
	trainmem_training_plan(&all, &plain, &kept);
	point->device_bytes =
		need.reserved_peak > kept.reserved_peak ? need.reserved_peak : kept.reserved_peak;
	if (study == STUDY_CHECKERBOARD)
		point->device_bytes = trainmem_heap_fragment_bytes(FRAGMENT_PIECE_BYTES);
	if (study == STUDY_LOGICAL)
		point->device_bytes = 2 * (need.reserved_peak + LOGICAL_MARGIN);
	if (study == STUDY_BATCH || study == STUDY_WIDTH || study == STUDY_REMEDIES)
		point->device_bytes = 0;
	for (size_t i = 0; i < plan->device_count; i++) {
		const struct device_info *info = &plan->devices[i];
		const char *reason = NULL;

		if (study != STUDY_CHECKERBOARD || options.policy == POLICY_ASYNC)
			reason = trainmem_refusal(point, &setup, &options, pool_fits, study, info);
		reason = reason ? reason : trainmem_limit_refusal(point, info);
		point->setup_seconds = trainmem_setup_seconds(&setup, point, study, info);
		if (plan_add(plan, point, &i, 1, reason, err) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

static enum status trainmem_run_search(const struct trainmem_case *c, struct error *err)
{
	struct run *run = c->run;
	bool batch = case_integer(run->c, "studies") == STUDY_BATCH;
	uint64_t capacity, total = 0, unused, sequences = UINT64_MAX,
			   most = (uint64_t)section_integer(run->c->section,
							    batch ? "max_batch" : "max_width");
	struct search search;

	if (c->setup.kind == MODEL_TRANSFORMER)
		sequences = ATTENTION_HEADS_MAX / c->setup.transformer.heads *
			    setup_accumulate(&c->setup);
	if (setup_case_limit(run->c, &capacity, err) != STATUS_OK ||
	    backend_device_memory(run->devices[0], &unused, &total, err) != STATUS_OK)
		return err->status;
	if (capacity > total)
		return error_set(err, STATUS_UNSUPPORTED,
				 "the device has less memory than memory_limit");
	if (search_largest(c, batch ? SEARCH_BATCH : SEARCH_WIDTH,
			   most < sequences ? most : sequences, &search, err) != STATUS_OK)
		return err->status;
	trainmem_outcome_record_search(run, &search);
	run_verified(run,
		     "two steps of every trial, in which the loss fell; after a failure, memory "
		     "was allocated, filled by a kernel, and every byte checked",
		     NAN, NAN);
	return STATUS_OK;
}

static enum status trainmem_run_checkerboard(const struct trainmem_case *c, struct error *err)
{
	struct fragments f;

	if (trainmem_heap_fragment_checkerboard(c->run->devices[0], c->options.policy,
						FRAGMENT_PIECE_BYTES, &f, err) != STATUS_OK)
		return err->status;
	trainmem_outcome_record_fragments(c->run, &f);
	run_verified(c->run,
		     "both ends of the remaining blocks, checked after further requests for memory",
		     NAN, NAN);
	return STATUS_OK;
}

static enum status trainmem_run(struct run *run, struct error *err)
{
	static enum status (*const run_study[])(const struct trainmem_case *c,
						struct error *err) = {
		[STUDY_STEP] = trainmem_measure_step,
		[STUDY_BATCH] = trainmem_run_search,
		[STUDY_WIDTH] = trainmem_run_search,
		[STUDY_ALTERNATING] = trainmem_measure_alternating,
		[STUDY_CHECKERBOARD] = trainmem_run_checkerboard,
		[STUDY_LOGICAL] = study_logical,
		[STUDY_ACCUMULATION] = study_accumulation,
		[STUDY_LOSS_CURVE] = study_loss_curve,
		[STUDY_CLEARING] = study_clearing,
		[STUDY_REMEDIES] = study_remedies,
	};
	struct trainmem_case c = { .run = run,
				   .verify_flops = section_real(run->c->section, "verify_flops") };

	if (trainmem_setup_of_case(&c.setup, run->c, err) != STATUS_OK)
		return err->status;
	c.setup.seed = setup_data_seed(run->run_seed, &c.setup);
	if (!trainmem_options_from_case(run->c, &c.setup, &c.options))
		return error_set(err, STATUS_UNSUPPORTED, "the pool is too small for one step");
	return run_study[case_integer(run->c, "studies")](&c, err);
}

static const struct aspect_row aspects[] = {
	{ "trainmem.gradient_error", NULL, NULL, ASPECT_CORRECTNESS },
	{ 0 },
};

const struct suite suite_trainmem = {
	.name = "trainmem",
	.summary = "memory of a training step: where it goes, what the ways to save memory cost, "
		   "which sizes fit",
	.keys = keys,
	.axes = axes,
	.metrics = trainmem_metrics,
	.figures = trainmem_figures,
	.tables = trainmem_tables,
	.words = trainmem_words,
	.roles = trainmem_roles,
	.page = &trainmem_page,
	.aspects = aspects,
	.processes = SUITE_ONE_PROCESS,
	.fresh_processes = true,
	.expand = trainmem_expand,
	.run = trainmem_run,
};
