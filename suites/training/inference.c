/*
 * The forward pass of a multilayer perceptron on one and on several devices. Every device has the
 * whole model and its own rows, so nothing is communicated. A sample ends when the last device has
 * finished.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "measure/run.h"
#include "plan/suite.h"
#include "suites/training/models/gemm/layer.h"
#include "suites/training/models/model_keys.h"
#include "suites/training/models/network.h"
#include "suites/training/models/reference/values.h"
#include "suites/training/parallel/modes/modes.h"
#include "suites/shared/estimate.h"
#include "suites/shared/words.h"

static const struct key keys[] = {
	LAYERS_KEY,
	PRECISION_KEY,
	BATCH_KEY("samples per pass: of all devices together (batch_mode = strong) or of each "
		  "device (weak)"),
	BATCH_MODE_KEY,
	{ .name = "devices",
	  .type = KEY_INTEGER,
	  .list = true,
	  .fallback = "1, 2, 4, 8",
	  .min = 1,
	  .max = 64,
	  .help = "number of devices that run the forward pass at the same time" },
	{ 0 },
};

static const char *const axes[] = { "precision", "batch", "batch_mode", "devices", NULL };

static const struct metric metrics[] = {
	{ "inference.throughput", "samples/s", BETTER_HIGHER, 1,
	  "samples per second, sum of all devices" },
	{ "inference.time", "s", BETTER_LOWER, 0,
	  "time of a forward pass, until the slowest device has finished" },
	{ "inference.time_alone", "s", BETTER_NONE, 0,
	  "time of the forward pass on the first device alone, measured in the same case; strong: "
	  "with the whole batch; weak: with the batch of one device" },
	{ "inference.speedup", "1", BETTER_HIGHER, 0,
	  "speed-up: samples per second / samples per second of one device" },
	{ "inference.efficiency", "1", BETTER_HIGHER, 0, "speed-up / number of devices",
	  .percent = true },
	{ "inference.error", "1", BETTER_LOWER, 0,
	  "relative L2 error of the outputs against double precision", METRIC_EXACT },
	{ 0 },
};

static const struct figure_row figures[] = {
	{ .metric = "inference.throughput",
	  .kind = "lines",
	  .axis = "devices",
	  .logarithmic = true,
	  .facets = { "precision", "batch" } },
	{ .metric = "inference.efficiency", .kind = "bars", .reference = 1 },
	{ 0 },
};

static const struct word_row words[] = {
	PRECISION_WORDS,
	{ "batch_mode", "weak", "one batch per device" },
	{ 0 },
};

/* Rows at the start and at the end of a device's part that the CPU recomputes. */
#define CHECKED_ROWS 4

struct forward {
	struct device *device;
	struct stream *stream;
	struct setup setup;
	uint64_t first, rows; /* of the whole batch */
	struct arena arena;
	struct network network;
	void *outputs[2]; /* the layers alternate between the two */
};

static enum status inference_setup_from_case(struct setup *setup, const struct plan_case *c,
					     struct error *err)
{
	*setup = (struct setup){
		.mode = mode_find("single"), .ranks = 1, .microbatches = 1, .loss_scale = 1
	};
	if (setup_widths(setup, c->section, err) != STATUS_OK)
		return err->status;
	setup_set_training(setup, case_text(c, "precision"));
	setup->batch = (uint64_t)case_integer(c, "batch");
	setup_fit_mode(setup);
	return STATUS_OK;
}

static uint64_t inference_widest_output(const struct setup *setup)
{
	uint64_t widest = 0;

	for (size_t l = 1; l <= setup->layers; l++)
		widest = setup->widths[l] > widest ? setup->widths[l] : widest;
	return widest;
}

static enum status inference_open_forward(struct forward *f, struct device *device,
					  const struct setup *setup, uint64_t first, uint64_t rows,
					  struct error *err)
{
	struct network *n = &f->network;
	uint64_t bytes = rows * inference_widest_output(setup) * precision_bytes(setup->precision);

	*f = (struct forward){ .device = device, .setup = *setup, .first = first, .rows = rows };
	f->setup.batch = rows;
	arena_init(&f->arena, device);
	if (backend_stream_create(device, false, &f->stream, err) != STATUS_OK ||
	    network_open_state(n, &f->setup, f->stream, &f->arena, err) != STATUS_OK ||
	    arena_alloc(&f->arena, MEMORY_ACTIVATIONS, bytes, &f->outputs[0], err) != STATUS_OK ||
	    arena_alloc(&f->arena, MEMORY_ACTIVATIONS, bytes, &f->outputs[1], err) != STATUS_OK ||
	    network_reset(n, err) != STATUS_OK)
		return err->status;
	for (size_t l = 0; l < f->setup.layers; l++) {
		n->activations[l + 1] = f->outputs[l % 2];
		n->kept[l + 1] = rows;
		n->wgrad_layouts[l] = WGRAD_DIRECT;
		n->fusions[l] = FUSION_OFF;
	}
	if (network_fill_input(n, n->activations[0], first, rows, err) != STATUS_OK)
		return err->status;
	return backend_stream_synchronize(f->stream, err);
}

static void inference_close_forward(struct forward *f)
{
	if (f->stream)
		backend_stream_synchronize(f->stream, NULL);
	arena_release(&f->arena);
	backend_stream_destroy(f->stream);
}

static enum status inference_launch(void *state, unsigned batch, struct error *err)
{
	struct forward *f = state;

	for (unsigned i = 0; i < batch; i++)
		for (size_t l = 0; l < f->setup.layers; l++)
			if (gemm_layer_forward(&f->network, l, 0, f->rows, err) != STATUS_OK)
				return err->status;
	return STATUS_OK;
}

/* Reads `count` stored numbers from the device and converts them to doubles. */
static enum status inference_fetch(struct forward *f, const void *from, uint64_t count, double *to,
				   struct error *err)
{
	enum precision precision = setup_storage(&f->setup);
	size_t bytes = count * precision_bytes(precision);
	void *raw = xmalloc(bytes);

	if (backend_copy(f->stream, raw, from, bytes, err) == STATUS_OK &&
	    backend_stream_synchronize(f->stream, err) == STATUS_OK)
		values_decode(to, raw, precision, count);
	free(raw);
	return err->status;
}

/* Computes one row through all layers in double precision, with the device's weights. */
static enum status inference_reference_row(struct forward *f, double *const weights[],
					   double *const biases[], uint64_t row, double *logits,
					   struct error *err)
{
	const struct setup *s = &f->setup;
	uint64_t most = inference_widest_output(s) > s->widths[0] ? inference_widest_output(s)
								  : s->widths[0];
	double *x = xcalloc(most, sizeof(*x)), *y = xcalloc(most, sizeof(*y));

	if (inference_fetch(f, network_activation(&f->network, 0, row), s->widths[0], x, err) ==
	    STATUS_OK) {
		for (size_t l = 0; l < s->layers; l++) {
			double *next = x;

			for (uint64_t o = 0; o < s->widths[l + 1]; o++) {
				double sum = biases[l][o];

				for (uint64_t i = 0; i < s->widths[l]; i++)
					sum += weights[l][o * s->widths[l] + i] * x[i];
				y[o] = l + 1 == s->layers || sum > 0 ? sum : 0;
			}
			x = y;
			y = next;
		}
		memcpy(logits, x, s->widths[s->layers] * sizeof(*logits));
	}
	free(x);
	free(y);
	return err->status;
}

static enum status inference_compare_rows(struct forward *f, double *const weights[],
					  double *const biases[], double *error, struct error *err)
{
	uint64_t classes = f->setup.widths[f->setup.layers];
	double *expected = xcalloc(classes, sizeof(double)),
	       *found = xcalloc(classes, sizeof(double)), difference = 0, square = 0;

	for (uint64_t i = 0; i < 2 * CHECKED_ROWS && err->status == STATUS_OK; i++) {
		uint64_t row = i < CHECKED_ROWS ? i % f->rows : f->rows - 1 - i % f->rows;

		if (inference_reference_row(f, weights, biases, row, expected, err) != STATUS_OK ||
		    inference_fetch(f, network_activation(&f->network, f->setup.layers, row),
				    classes, found, err) != STATUS_OK)
			break;
		for (uint64_t c = 0; c < classes; c++) {
			difference += pow(found[c] - expected[c], 2);
			square += expected[c] * expected[c];
		}
	}
	*error = sqrt(difference / square);
	free(expected);
	free(found);
	return err->status;
}

/* Error of the outputs of the rows at both ends of this device's part. */
static enum status inference_output_error(struct forward *f, double *error, struct error *err)
{
	const struct setup *s = &f->setup;
	double *weights[SETUP_MAX_LAYERS] = { NULL }, *biases[SETUP_MAX_LAYERS] = { NULL };

	*error = NAN;
	for (size_t l = 0; l < s->layers && err->status == STATUS_OK; l++) {
		char *at = f->network.layer_weights[l];
		uint64_t count = s->widths[l] * s->widths[l + 1];

		weights[l] = xcalloc(count, sizeof(double));
		biases[l] = xcalloc(s->widths[l + 1], sizeof(double));
		if (inference_fetch(f, at, count, weights[l], err) == STATUS_OK)
			inference_fetch(f, network_weights(&f->network, l, LINEAR_BIAS),
					s->widths[l + 1], biases[l], err);
	}
	if (err->status == STATUS_OK)
		inference_compare_rows(f, weights, biases, error, err);
	for (size_t l = 0; l < s->layers; l++) {
		free(weights[l]);
		free(biases[l]);
	}
	return err->status;
}

static enum status inference_verify(struct run *run, struct forward *f, struct error *err)
{
	/* Rounding of each layer's outputs and of FP32 sums. */
	static const double units[PRECISION_COUNT] = {
		[PRECISION_FP64] = 1e-14, [PRECISION_FP32] = 1e-5, [PRECISION_TF32] = 4e-3,
		[PRECISION_FP16] = 4e-3,  [PRECISION_BF16] = 3e-2,
	};
	double error = NAN, tolerance = units[f->setup.precision] * sqrt((double)f->setup.layers),
	       worst;
	enum status status = inference_launch(f, 1, err);

	if (status == STATUS_OK)
		status = inference_output_error(f, &error, err);
	/* NaN counts as a difference. */
	if (status == STATUS_OK && !(error <= tolerance))
		status = error_set(err, STATUS_MISMATCH,
				   "outputs of rows %llu to %llu differ from double precision by "
				   "%.3g (relative L2); tolerance %.3g",
				   (unsigned long long)f->first,
				   (unsigned long long)(f->first + f->rows - 1), error, tolerance);
	if (world_agree(run->world, status, err) != STATUS_OK)
		return err->status;
	worst = world_max(run->world, error);
	run_value(run, "inference.error", worst);
	run_verified(run, "outputs of 8 rows per device against double precision", worst,
		     tolerance);
	return STATUS_OK;
}

static enum status inference_time_forward(struct run *run, struct forward *f, const char *name,
					  struct series *out, struct error *err)
{
	const struct series *series = NULL;
	struct workload w = { .state = f,
			      .launch = inference_launch,
			      .clock = CLOCK_DEVICE,
			      .streams = &f->stream,
			      .stream_count = 1,
			      .commands = (unsigned)(2 * f->setup.layers) };
	enum status status = run_sample(run, &w, name, &series, err);

	if (series)
		*out = *series;
	return status;
}

/* Times the first device alone, with the rows of one device; the others wait. */
static enum status inference_time_alone(struct run *run, const struct setup *setup, uint64_t rows,
					struct series *alone, bool *known, struct error *err)
{
	struct run own = *run;
	struct error mine = ERROR_NONE;
	struct forward f = { 0 };
	enum status status = STATUS_OK;

	own.sampler.world = NULL;
	if (run->world->rank == 0) {
		if (inference_open_forward(&f, run->devices[0], setup, 0, rows, &mine) == STATUS_OK)
			inference_time_forward(&own, &f, "inference.time_alone", alone, &mine);
		inference_close_forward(&f);
		status = mine.status;
	}
	*known = status == STATUS_OK;
	world_broadcast(run->world, 0, known, sizeof(*known));
	if (status == STATUS_NO_MEMORY) {
		run_note(run,
			 "There is no comparison with a single device, which has too little "
			 "memory: %s.",
			 mine.message);
		status = STATUS_OK;
	}
	if (status != STATUS_OK)
		error_set(err, status, "single device: %s", mine.message);
	return world_agree(run->world, status, err);
}

static enum status inference_run(struct run *run, struct error *err)
{
	uint64_t ranks = (uint64_t)run->world->size, rank = (uint64_t)run->world->rank, rows;
	bool weak = case_integer(run->c, "batch_mode") != 0, known = false;
	struct series all = { 0 }, alone = { 0 };
	struct error mine = ERROR_NONE;
	struct forward f = { 0 };
	struct setup setup;

	if (inference_setup_from_case(&setup, run->c, err) != STATUS_OK)
		return err->status;
	setup.seed = setup_data_seed(run->run_seed, &setup);
	rows = weak ? setup.batch : setup.batch / ranks;
	if (ranks > 1 &&
	    inference_time_alone(run, &setup, setup.batch, &alone, &known, err) != STATUS_OK)
		return err->status;
	inference_open_forward(&f, run->devices[0], &setup, rank * rows, rows, &mine);
	if (mine.status != STATUS_OK)
		error_set(err, mine.status, "%s", mine.message);
	if (world_agree(run->world, mine.status, err) == STATUS_OK &&
	    inference_verify(run, &f, err) == STATUS_OK &&
	    inference_time_forward(run, &f, "inference.time", &all, err) == STATUS_OK) {
		double samples = (double)(rows * ranks);

		run_duration(run, "inference.time", &all);
		run_rate(run, "inference.throughput", samples, &all);
		if (known && run->world->rank == 0) {
			double gain = alone.statistics.median * samples / (double)setup.batch;

			run_duration(run, "inference.time_alone", &alone);
			run_rate(run, "inference.speedup", gain, &all);
			run_rate(run, "inference.efficiency", gain / (double)ranks, &all);
		}
	}
	inference_close_forward(&f);
	return err->status;
}

static enum status inference_expand(struct plan *plan, struct plan_case *point, struct error *err)
{
	int ranks = (int)case_integer(point, "devices");
	bool weak = case_integer(point, "batch_mode") != 0;
	uint64_t weights = 0, element;
	struct setup setup;

	if (inference_setup_from_case(&setup, point, err) != STATUS_OK)
		return err->status;
	/* Strong and weak scaling are the same case on one device. */
	if (ranks == 1 && weak)
		return STATUS_OK;
	plan_unname_usual(point, "batch_mode", "strong");
	for (size_t l = 0; l < setup.layers; l++)
		weights += (setup.widths[l] + 1) * setup.widths[l + 1];
	/* Weights and, as in struct network, gradients and FP32 master weights. */
	element = precision_bytes(setup.precision);
	point->device_bytes =
		weights * (2 * element + (setup_has_master(&setup) ? 4 : 0)) +
		setup.batch * (setup.widths[0] + 2 * inference_widest_output(&setup)) * element;
	for (size_t i = 0; i < plan->device_count; i++) {
		const char *reason = NULL;

		if (!plan_first_of_backend(plan, i))
			continue;
		if (!(plan->devices[i].capabilities & precision_capability(setup.precision)))
			reason = "the device does not support this precision";
		else if (!weak && setup.batch % (uint64_t)ranks)
			reason = "the batch is not divisible by the number of devices";
		point->setup_seconds =
			0.5 + 10 * model_flops(&setup) /
				      shared_estimate_flops(&plan->devices[i], setup.precision);
		if (plan_add_ranks(plan, point, i, ranks, reason, err) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

static const struct aspect_row aspects[] = {
	{ "inference.error", NULL, NULL, ASPECT_CORRECTNESS },
	{ 0 },
};

const struct suite suite_inference = {
	.name = "inference",
	.summary = "forward pass on one device, and on several devices at the same time",
	.keys = keys,
	.axes = axes,
	.metrics = metrics,
	.figures = figures,
	.words = words,
	.aspects = aspects,
	.processes = SUITE_PROCESS_PER_DEVICE,
	.expand = inference_expand,
	.run = inference_run,
};
