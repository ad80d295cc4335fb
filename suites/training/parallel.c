/*
 * One training step of a model (models/model.h), divided over devices by every strategy in
 * parallel/modes/mode_*.c. A split is timed only after its results were found equal to those of one
 * device.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "measure/run.h"
#include "plan/suite.h"
#include "suites/training/models/buffer_alias.h"
#include "suites/training/models/image_model.h"
#include "suites/training/models/model_keys.h"
#include "suites/training/models/segments.h"
#include "suites/training/parallel/baseline_cache.h"
#include "suites/training/parallel/memory_classes.h"
#include "suites/training/parallel/measure.h"
#include "suites/training/parallel/modes/modes.h"
#include "suites/training/parallel/outcome.h"
#include "suites/training/parallel/derived.h"
#include "suites/training/parallel/ranks/connection_cache.h"
#include "suites/training/models/setup.h"
#include "suites/training/parallel/setup_case.h"
#include "suites/shared/convolutions.h"
#include "suites/shared/estimate.h"
#include "suites/shared/sustained.h"
#include "suites/training/pages/pages.h"

enum study { STUDY_STEP, STUDY_BATCH };
static const char *const studies[] = { "step", "largest_batch", NULL };

static const char *const loss_places[] = { "server", "replica", NULL };

static const char *const overlaps[] = { "on", "off", NULL };

static const char *const launches[] = { "stream", "graph", NULL };

static const struct key keys[] = {
	MODEL_KEYS("mlp: linear layers and ReLUs; transformer: decoder, not with dp_naive; "
		   "convnet: convolutions and pooling; resnet. convnet and resnet work only with "
		   "single, ddp and zero1 to zero3",
		   true),
	{ .name = "studies",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "step",
	  .choices = studies,
	  .parameter = "study",
	  .help = "step: time one training step; largest_batch: search for the largest global "
		  "batch whose step fits every device" },
	SEARCH_KEYS,
	SUSTAINED_KEY,
	{ .name = "width",
	  .type = KEY_INTEGER,
	  .list = true,
	  .fallback = "0",
	  .min = 0,
	  .max = 1e6,
	  .help = "width of an MLP of `depth` equal layers; 0: the widths in `layers`" },
	{ .name = "depth",
	  .type = KEY_INTEGER,
	  .fallback = "4",
	  .min = 1,
	  .max = SETUP_MAX_LAYERS,
	  .help = "number of layers of an MLP whose width is set with `width`" },
	PRECISION_KEY,
	BATCH_KEY("samples per step: of all devices together (batch_mode = strong) or of each "
		  "device (weak)"),
	BATCH_MODE_KEY,
	{ .name = "modes",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "single, ddp, layer_split",
	  .choices = mode_names,
	  .parameter = "mode",
	  .help = "how a step is split: ddp, zero1 to zero3 and dp_naive split the batch; tensor "
		  "splits the width; tensor_sequence also the rows; pipelines split the depth; "
		  "hybrid combines all three" },
	{ .name = "devices",
	  .type = KEY_INTEGER,
	  .list = true,
	  .fallback = "1,2,4",
	  .min = 1,
	  .max = NODE_DEVICES_MOST,
	  .help = "number of devices; single always uses one device, other strategies at least "
		  "two" },
	{ .name = "nodes",
	  .type = KEY_INTEGER,
	  .list = true,
	  .fallback = "1",
	  .min = 1,
	  .max = 65536,
	  .word = "all",
	  .help = "number of nodes that run one step together, with all their devices. In hybrid, "
		  "tensor ranks are neighbours, and data ranks are farthest apart; 1: each node "
		  "separately, with the number of devices in `devices`" },
	{ .name = "microbatches",
	  .type = KEY_INTEGER,
	  .list = true,
	  .fallback = "1,4",
	  .min = 1,
	  .max = 1024,
	  .help = "number of micro-batches per step in layer_split (1: naive pipeline), gpipe, "
		  "1f1b and hybrid" },
	{ .name = "wgrad_microbatches",
	  .type = KEY_INTEGER,
	  .fallback = "0",
	  .min = 0,
	  .max = 1024,
	  .help = "mlp in gpipe, 1f1b, 1f1b_eager, hybrid: micro-batches per weight-gradient GEMM. "
		  "0: 1, 2 or 4: enough for 2048 rows, at most a quarter of `microbatches`, and 1 "
		  "with recompute" },
	{ .name = "bucket",
	  .type = KEY_SIZE,
	  .list = true,
	  .fallback = "25MiB",
	  .min = 1,
	  .max = 0x1p40,
	  .help = "gradient bytes per all-reduce or reduce-scatter in ddp, zero1 and zero2; the "
		  "first and the last bucket of ddp are smaller" },
	{ .name = "overlap",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "on",
	  .choices = overlaps,
	  .help = "ddp, tensor: on: GEMMs run while devices reduce gradients or outputs; off: "
		  "GEMMs wait for the reduction" },
	{ .name = "hybrid",
	  .type = KEY_TEXT,
	  .list = true,
	  .fallback = "2x2x2",
	  .help = "hybrid: grids, as data x tensor x pipeline; `devices` must list the number of "
		  "ranks of each grid" },
	{ .name = "accumulate",
	  .type = KEY_INTEGER,
	  .fallback = "1",
	  .min = 1,
	  .max = 1024,
	  .help = "gradient accumulation: number of parts of a device's batch that are computed "
		  "before one update; works with single, ddp, zero1, and tensor with a "
		  "transformer" },
	{ .name = "recompute",
	  .type = KEY_TEXT,
	  .fallback = "none",
	  .help = "activations that the backward pass recomputes: none; sqrt or segments:4: all "
		  "outputs inside a segment; layer: all inside a layer (saves no memory in an "
		  "MLP); pointwise: outputs of norms and GELU (transformer)" },
	{ .name = "loss_chunks",
	  .type = KEY_INTEGER,
	  .fallback = "0",
	  .min = 0,
	  .max = 1024,
	  .help = "transformer, not with tensor_sequence: number of chunks in which the head "
		  "computes logits, losses and gradients; 1: all rows at once; 0: chosen to save "
		  "memory, with chunks of at least 4096 rows" },
	ALIASING_KEY,
	{ .name = "search_time",
	  .type = KEY_DURATION,
	  .fallback = "100ms",
	  .min = 0,
	  .max = 60,
	  .help = "time to search for the fastest algorithm of each GEMM shape; from 500ms on, the "
		  "GPU is under continuous load, as in a step. A tenth of this time is used to "
		  "compare the engines of cuDNN for each pass of a convolution. 0: no search; "
		  "the library chooses GEMMs, and convolutions are built-in" },
	{ .name = "collective_multiprocessors",
	  .type = KEY_INTEGER,
	  .fallback = "-1",
	  .min = -1,
	  .max = 1024,
	  .help = "upper limit for the multiprocessors that collectives use; concurrent GEMMs "
		  "leave them free; 0: no limit; -1: chosen by strategy" },
	{ .name = "transport",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "auto",
	  .choices = transport_names,
	  .help = "how ranks exchange data: nccl, peer_copy or host_copy; on the CPU "
		  "shared_memory; auto: the first available, but peer_copy between pipeline "
		  "stages" },
	{ .name = "launch",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "stream",
	  .choices = launches,
	  .help = "stream: submit each operation separately; graph: capture the step once and "
		  "launch it as one CUDA graph (single, ddp)" },
	{ .name = "loss_on",
	  .type = KEY_CHOICE,
	  .fallback = "server",
	  .choices = loss_places,
	  .help = "dp_naive: server: the first device computes the loss of all rows; replica: each "
		  "device computes the loss of its own rows" },
	OPTIMIZER_KEY(false),
	{ .name = "learning_rate",
	  .type = KEY_REAL,
	  .fallback = "0",
	  .min = 0,
	  .max = 1e3,
	  .help = "learning rate; 0: derived from the widths, and the test then requires that the "
		  "loss falls" },
	{ .name = "momentum",
	  .type = KEY_REAL,
	  .fallback = "0.9",
	  .min = 0,
	  .max = 1,
	  .help = "momentum coefficient of optimizer = momentum" },
	{ .name = "loss_scale",
	  .type = KEY_TEXT,
	  .fallback = "dynamic",
	  .help = "loss scale for fp16: dynamic (adjusted on the device), none, or a number" },
	{ .name = "timeline",
	  .type = KEY_BOOL,
	  .fallback = "no",
	  .help = "record one more step with the time of each operation, for the timeline in the "
		  "report" },
	VERIFY_KEY("1e9"),
	/*
	 * A sample's first step starts on idle devices, and its end waits for all streams: about 60
	 * us on two H200s. So a sample contains more short steps than in other suites.
	 */
	{ .name = "sample_time",
	  .type = KEY_DURATION,
	  .fallback = "5 ms",
	  .min = 1e-6,
	  .max = 10,
	  .help = "minimum duration of a sample; several short steps form one sample. zero1 and "
		  "zero2 use at least four steps per sample, because the end of a step overlaps "
		  "the next" },
	{ .name = "iterations",
	  .type = KEY_INTEGER,
	  .fallback = "0",
	  .min = 0,
	  .max = 1e6,
	  .help = "number of samples per series; 0: the stop rule decides" },
	{ 0 },
};

static const char *const axes[] = { "nodes",      "precision",    "batch",        "modes",
				    "devices",    "microbatches", "bucket",       "hybrid",
				    "batch_mode", "width",        "transport",    "launch",
				    "overlap",    "model",        "convolution",  "hidden",
				    "sequence",   "studies",      "memory_limit", "aliasing",
				    NULL };

/* Time to prepare and compare a library's engines for the passes of a convolution. */
#define CONVOLUTION_SECONDS 0.5

static bool training_parallel_convolves_by_library(const struct setup *setup,
						   const struct section *section,
						   const struct device_info *info)
{
	return setup_has_images(setup) && info->capabilities & DEVICE_HAS_CONVOLUTIONS &&
	       section_real(section, "search_time") > 0;
}

/*
 * Time in addition to samples: starting ranks, the reference, the search, the first steps; several
 * ranks measure two more series.
 */
static double training_parallel_setup_seconds(const struct setup *setup,
					      const struct section *section,
					      const struct device_info *info)
{
	int64_t iterations = section_integer(section, "iterations");
	double samples =
		(double)(iterations > 0 ? iterations : section_integer(section, "min_samples"));
	double step =
		model_flops(setup) / shared_estimate_flops(info, setup->precision) / setup->ranks;
	double reference = fmin(model_flops(setup), section_real(section, "verify_flops")) / 2e9;
	double search = (setup->ranks > 1 ? 12 : 5) * section_real(section, "search_time");
	double engines = training_parallel_convolves_by_library(setup, section, info)
				 ? CONVOLUTION_SECONDS * (double)image_model_decisions(setup)
				 : 0;
	/*
	 * Step times under a power limit vary, so they usually need all of max_time; short steps
	 * share a sample.
	 */
	double enough = samples * fmax(4 * step, section_real(section, "sample_time"));
	double series = fmax(samples * step, fmin(enough, section_real(section, "max_time")));
	double load = sustained_seconds(section, info);

	return 0.2 + 0.1 * setup->ranks + reference + search + engines + 12 * step +
	       (setup->ranks > 1 ? 3 : 1) * fmax(series, load);
}

static enum study training_parallel_study_of(const struct plan_case *c)
{
	return (enum study)case_integer(c, "studies");
}

static const char *training_parallel_refusal(const struct setup *setup, char *text, size_t size)
{
	if (setup->kind == MODEL_TRANSFORMER && setup_transformer_refusal(setup, text, size))
		return setup_transformer_refusal(setup, text, size);
	if (setup_has_images(setup) && image_model_setup_refusal(setup, text, size))
		return image_model_setup_refusal(setup, text, size);
	if (setup->accumulate > 1 && !setup->mode->accumulates)
		return setup->mode->microbatched ? "a pipeline accumulates over its micro-batches: "
						   "set microbatches instead of accumulate"
						 : "accumulate works with single, ddp and zero1; "
						   "for tensor parallelism use hybrid = 1xNx1";
	/* A block is recomputed from its own weights only, which backward has. */
	if (setup->segments > 0 && !setup->mode->recomputes && !setup_recomputes_blocks(setup))
		return "recompute does not work with zero3, which frees the weights before the "
		       "backward pass, or with tensor: use hybrid = 1xNx1";
	if (setup->pointwise && setup->kind != MODEL_TRANSFORMER)
		return "recompute = pointwise works only with model = transformer";
	if (setup->loss_chunks > 1 && setup->mode->sequence)
		return "loss_chunks does not work with tensor_sequence, which splits the rows "
		       "itself";
	if (setup->no_overlap && !setup->mode->overlaps)
		return "overlap = off works only with ddp and tensor";
	if (setup->graph && !setup->mode->recordable)
		return "launch = graph works only with single and ddp";
	return setup->mode->refusal(setup);
}

/* On the first n devices of one backend; `first` is the backend's first device. */
static enum status training_parallel_plan_on(struct plan *plan, struct plan_case *point,
					     const struct setup *setup, size_t first,
					     struct error *err)
{
	const struct device_info *info = &plan->devices[first];
	char text[200] = "";
	const char *reason = training_parallel_refusal(setup, text, sizeof(text));

	if (!reason && plan_backend_devices(plan, first) >= (size_t)setup->ranks) {
		if (!(info->capabilities & precision_capability(setup->precision)))
			snprintf(text, sizeof(text), "%s does not support %s", info->id,
				 setup_training_name(setup));
		else if (setup->ranks > 1 && !(info->capabilities & DEVICE_HAS_COLLECTIVES))
			snprintf(text, sizeof(text), "%s does not support collectives", info->id);
		reason = *text ? text : NULL;
	}
	if (!reason) {
		bool step = training_parallel_study_of(point) == STUDY_STEP;

		point->device_bytes = step ? memory_classes_footprint(setup) : 0;
		/* The largest workspace of the search, and of the chosen engines. */
		if (step && training_parallel_convolves_by_library(setup, point->section, info))
			point->device_bytes += 2 * CONVOLUTION_WORKSPACE_BYTES;
		/* A few trials. Each trial writes the whole memory. */
		point->setup_seconds =
			step ? training_parallel_setup_seconds(setup, point->section, info)
			     : 3 + 0.5 * setup->ranks +
					(double)info->memory_bytes /
						(device_is_host(info) ? 20e9 : 100e9);
	}
	return plan->group.nodes ? plan_add_group(plan, point, reason, err)
				 : plan_add_ranks(plan, point, first, setup->ranks, reason, err);
}

/*
 * Drops the axes that this case does not vary, and usual values. False: the combination duplicates
 * one that is planned with another value of a meaningless axis.
 */
static bool training_parallel_drop_axes(struct plan_case *point, const struct setup *setup)
{
	bool transformer = setup->kind == MODEL_TRANSFORMER, images = setup_has_images(setup);
	const struct section *section = point->section;
	const struct {
		const char *name;
		bool varies;
	} axes_used[] = {
		{ "microbatches", setup->mode->microbatched },
		{ "bucket", setup->mode->bucketed },
		{ "hidden", transformer && section_setting(section, "hidden")->count > 1 },
		{ "sequence", transformer && section_setting(section, "sequence")->count > 1 },
		{ "convolution", images },
		{ "width", setup_case_width(point) > 0 },
		{ "transport", setup->ranks > 1 },
		{ "overlap", setup->no_overlap },
		{ "aliasing", !setup->no_aliasing || buffer_alias_changes(setup) },
		{ "hybrid", setup->mode->gridded },
	};

	plan_unname_usual(point, "convolution", "plain");
	plan_unname_usual(point, "width", "0");
	/* While the axis aliasing, which has the same words, is there. */
	plan_unname_usual(point, "overlap", "on");
	for (size_t i = 0; i < ARRAY_SIZE(axes_used); i++)
		if (!axes_used[i].varies && !plan_drop_axis(point, axes_used[i].name))
			return false;
	/* Each value occurs once, so nothing is lost. */
	if (setup->kind == MODEL_MLP)
		plan_drop_axis(point, "model");
	if (!setup->graph)
		plan_drop_axis(point, "launch");
	if (!setup->no_aliasing)
		plan_drop_axis(point, "aliasing");
	plan_unname_usual(point, "aliasing", "on");
	if (setup->ranks > 1 && setup->transport == TRANSPORT_AUTO)
		plan_drop_axis(point, "transport");
	return true;
}

/* Drops axes that the study does not vary. False: this point duplicates another. */
static bool training_parallel_drop_study(struct plan_case *point)
{
	static const char *const of_step[] = { "memory_limit" };
	static const char *const of_batch[] = { "batch", "batch_mode" };
	bool step = training_parallel_study_of(point) == STUDY_STEP;
	const char *const *unused = step ? of_step : of_batch;
	size_t count = step ? ARRAY_SIZE(of_step) : ARRAY_SIZE(of_batch);

	for (size_t i = 0; i < count; i++)
		if (!plan_drop_axis(point, unused[i]))
			return false;
	plan_unname_usual(point, "studies", "step");
	return true;
}

/* A group size that no grid of the config fills is reported once. */
static enum status training_parallel_skip_grids(struct plan *plan, const struct plan_case *point,
						const struct setup *setup, struct error *err)
{
	const struct setting *grids = section_setting(point->section, "hybrid");
	char reason[96];

	if (case_value(point, "hybrid") != grids->values)
		return STATUS_OK;
	for (size_t i = 0; i < grids->count; i++) {
		struct grid g;

		if (model_setup_grid_parse(grids->values[i].text, &g) &&
		    g.data * g.tensor * g.pipeline == setup->ranks)
			return STATUS_OK;
	}
	snprintf(reason, sizeof(reason),
		 "the group has %d devices, and no grid in hybrid has this number", setup->ranks);
	return plan_add_group(plan, point, reason, err);
}

static enum status training_parallel_expand(struct plan *plan, struct plan_case *point,
					    struct error *err)
{
	uint64_t limit;
	struct setup setup;

	if (!plan_takes_nodes(plan, point) ||
	    (plan->group.nodes &&
	     !plan_replace_axis(plan, point, "devices", (int64_t)plan_backend_devices(plan, 0))))
		return STATUS_OK;
	if (setup_case_limit(point, &limit, err) != STATUS_OK)
		return err->status;
	if (!training_parallel_drop_study(point))
		return STATUS_OK;
	if (setup_from_case(&setup, point, err) != STATUS_OK)
		return err->status;
	/*
	 * Not an error: the product of the axes contains these combinations, but the config did not
	 * ask for them: keys of different models, and one device with several ranks' modes. Strong
	 * and weak scaling are the same case on one device.
	 */
	if ((setup.mode == mode_find("single")) != (setup.ranks == 1) ||
	    (setup.kind != MODEL_MLP && setup_case_width(point) > 0) ||
	    (setup.ranks == 1 && setup.weak))
		return STATUS_OK;
	if (training_parallel_study_of(point) == STUDY_STEP)
		plan_unname_usual(point, "batch_mode", "strong");
	if (!training_parallel_drop_axes(point, &setup))
		return STATUS_OK;
	if (setup.mode->gridded &&
	    setup.grid.data * setup.grid.tensor * setup.grid.pipeline != setup.ranks)
		return plan->group.nodes ? training_parallel_skip_grids(plan, point, &setup, err)
					 : STATUS_OK;
	for (size_t i = 0; i < plan->device_count; i++)
		if (plan_first_of_backend(plan, i) && (i == 0 || !plan->group.nodes) &&
		    training_parallel_plan_on(plan, point, &setup, i, err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

static enum status training_parallel_run(struct run *run, struct error *err)
{
	const struct section *section = run->c->section;
	struct measure_options options = { .verify_flops = section_real(section, "verify_flops"),
					   .timeline = section_integer(section, "timeline") != 0,
					   .iterations = section_integer(section, "iterations") };
	struct largest_options largest = {
		.reserve = (uint64_t)section_integer(section, "memory_reserve"),
		.most = (uint64_t)section_integer(section, "max_batch"),
	};
	struct setup setup;

	if (setup_from_case(&setup, run->c, err) != STATUS_OK)
		return err->status;
	setup.seed = setup_data_seed(run->run_seed, &setup);
	if (training_parallel_study_of(run->c) == STUDY_STEP)
		return parallel_measure_setup(run, &setup, &options, err);
	options.largest = &largest;
	return setup_case_limit(run->c, &largest.capacity, err) == STATUS_OK
		       ? parallel_measure_setup(run, &setup, &options, err)
		       : err->status;
}

static void training_parallel_derive(struct run *run, const struct result *all)
{
	struct error ignored = ERROR_NONE;
	const struct metric_value *rate = case_metric(run->result, "parallel.flops");
	struct highest_rates rates;
	struct setup setup;
	double share, width;

	if (!case_metric(run->result, "parallel.step_time") ||
	    setup_from_case(&setup, run->c, &ignored) != STATUS_OK)
		return;
	rates = parallel_derived_highest_rates_find(all, run->result->device, &setup);
	share = rate ? rate->value / setup.ranks / rates.gemm : NAN;
	if (isfinite(share)) {
		run_value(run, "parallel.mfu", share);
		/* Recomputation is work of the device, not of the model. */
		run_value(run, "parallel.hfu",
			  share * (1 + segments_recompute_flops(&setup) / model_flops(&setup)));
	}
	width = parallel_derived_critical_width(&setup, &rates);
	if (setup.kind == MODEL_MLP && setup.ranks > 1 && isfinite(width)) {
		run_value(run, "parallel.critical_batch", width / setup.ranks);
		run_value(run, "parallel.critical_width", width);
	}
}

static void *training_parallel_open_state(void)
{
	struct parallel_state *state = xcalloc(1, sizeof(*state));

	*state = (struct parallel_state){ connection_cache_open(), baseline_cache_open() };
	return state;
}

static void training_parallel_close_state(void *memory)
{
	struct parallel_state *state = memory;

	connection_cache_close(state->connections);
	baseline_cache_close(state->baselines);
	free(state);
}

const struct suite suite_parallel = {
	.name = "parallel",
	.summary = "one training step (MLP, transformer, convnet, ResNet) split over devices: "
		   "time, memory, idle time",
	.keys = keys,
	.axes = axes,
	.metrics = parallel_metrics,
	.figures = parallel_figures,
	.tables = parallel_tables,
	.words = parallel_words,
	.roles = parallel_roles,
	.page = &parallel_page,
	.sheet = parallel_sheet,
	.processes = SUITE_PROCESS_PER_DEVICE,
	.groups = SUITE_OF_NODES,
	.expand = training_parallel_expand,
	.run = training_parallel_run,
	.derive = training_parallel_derive,
	.open_state = training_parallel_open_state,
	.close_state = training_parallel_close_state,
};
