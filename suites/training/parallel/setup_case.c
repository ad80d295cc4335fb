#include "suites/training/parallel/setup_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "kernels/training/loss_scale.h"
#include "plan/suite.h"
#include "suites/training/models/image_model.h"
#include "suites/training/parallel/modes/modes.h"
#include "suites/training/models/setup.h"

int64_t setup_case_width(const struct plan_case *c)
{
	return case_integer_or(c, "width", 0);
}

static enum status setup_case_read_layers(struct setup *setup, const struct plan_case *c,
					  struct error *err)
{
	const struct section *section = c->section;
	int64_t width = setup_case_width(c);

	if (width > 0) {
		setup->layers = (size_t)section_integer(section, "depth");
		for (size_t l = 0; l <= setup->layers; l++)
			setup->widths[l] = (uint64_t)width;
		return width > 1 ? STATUS_OK
				 : error_set(err, STATUS_USAGE,
					     "%s: width: 1; the last width is the number of "
					     "classes and must be at least 2",
					     section_setting(section, "width")->origin);
	}

	return setup_widths(setup, section, err);
}

/* The models to which a key belongs. */
#define KIND(kind) (1u << MODEL_##kind)
static const struct model_key {
	const char *name;
	unsigned kinds;
	const char *models;
} model_keys[] = {
	{ "layers", KIND(MLP), "mlp" },
	{ "width", KIND(MLP), "mlp" },
	{ "depth", KIND(MLP), "mlp" },
	{ "hidden", KIND(TRANSFORMER), "transformer" },
	{ "heads", KIND(TRANSFORMER), "transformer" },
	{ "sequence", KIND(TRANSFORMER), "transformer" },
	{ "vocabulary", KIND(TRANSFORMER), "transformer" },
	{ "loss_chunks", KIND(TRANSFORMER), "transformer" },
	{ "blocks", KIND(TRANSFORMER) | KIND(CONVNET) | KIND(RESNET),
	  "transformer, convnet and resnet" },
	{ "image", KIND(CONVNET) | KIND(RESNET), "convnet and resnet" },
	{ "channels", KIND(CONVNET) | KIND(RESNET), "convnet and resnet" },
	{ "classes", KIND(CONVNET) | KIND(RESNET), "convnet and resnet" },
	{ "convolution", KIND(CONVNET) | KIND(RESNET), "convnet and resnet" },
	{ 0 },
};

/* Refuses a key that has no effect on any model of the section. */
static enum status setup_case_check_keys(const struct section *section, struct error *err)
{
	const struct setting *models = section_setting(section, "model");
	unsigned kinds = 0;

	for (size_t i = 0; i < models->count; i++)
		kinds |= 1u << models->values[i].integer;
	for (size_t i = 0; i < section->count; i++) {
		const struct setting *setting = &section->settings[i];
		const struct model_key *key = model_keys;
		struct text text = TEXT_EMPTY;
		bool usual;

		while (key->name && strcmp(key->name, setting->key->name) != 0)
			key++;
		if (!key->name || key->kinds & kinds)
			continue;
		/* The effective config of a resumed run contains defaults explicitly. */
		for (size_t v = 0; v < setting->count; v++)
			text_addf(&text, "%s%s", v ? "," : "", setting->values[v].text);
		usual = text.data && setting->key->fallback &&
			strcmp(text.data, setting->key->fallback) == 0;
		text_release(&text);
		if (!usual)
			return error_set(err, STATUS_USAGE,
					 "%s: %s applies only to model = %s, but model is %s",
					 setting->origin, key->name, key->models,
					 models->values[0].text);
	}
	return STATUS_OK;
}

/* Columns of a head if `heads` is 0, as usual for models of these hidden sizes. */
#define HEAD_USUAL 128
#define HEAD_USUAL_NARROW 64
#define HEAD_NARROW_UP_TO 1024

static enum status setup_case_transformer_read(struct setup *setup, const struct plan_case *c,
					       struct error *err)
{
	const struct section *section = c->section;
	struct transformer_shape shape = {
		.hidden =
			(uint64_t)case_integer_or(c, "hidden", section_integer(section, "hidden")),
		.heads = (uint64_t)section_integer(section, "heads"),
		.sequence = (uint64_t)case_integer_or(c, "sequence",
						      section_integer(section, "sequence")),
		.vocabulary = (uint64_t)section_integer(section, "vocabulary"),
	};
	uint64_t blocks = setup_size_or(section, "blocks", 2);
	uint64_t usual = shape.hidden > HEAD_NARROW_UP_TO ? HEAD_USUAL : HEAD_USUAL_NARROW;

	if (shape.heads == 0)
		shape.heads = shape.hidden > usual ? shape.hidden / usual : 1;
	if (shape.hidden % shape.heads)
		return error_set(err, STATUS_USAGE,
				 "%s: hidden: %llu is not divisible by heads = %llu",
				 section_setting(section, "hidden")->origin,
				 (unsigned long long)shape.hidden, (unsigned long long)shape.heads);
	if (blocks > SETUP_MAX_LAYERS - 2)
		return error_set(err, STATUS_USAGE,
				 "%s: blocks: %llu; allowed for model = transformer: 1 to %d",
				 section_setting(section, "blocks")->origin,
				 (unsigned long long)blocks, SETUP_MAX_LAYERS - 2);
	setup_transformer(setup, blocks, &shape);
	return STATUS_OK;
}

enum status setup_case_read_model(struct setup *setup, const struct plan_case *c, struct error *err)
{
	enum model_kind kind = (enum model_kind)case_integer_or(c, "model", MODEL_MLP);

	if (setup_case_check_keys(c->section, err) != STATUS_OK)
		return err->status;
	switch (kind) {
	case MODEL_MLP:
		return setup_case_read_layers(setup, c, err);
	case MODEL_TRANSFORMER:
		return setup_case_transformer_read(setup, c, err);
	default:
		return image_model_setup_read(setup, c->section, kind,
					      case_integer_or(c, "convolution", 0) != 0, err);
	}
}

static void setup_case_read_optimizer(struct setup *setup, const struct section *section)
{
	setup->optimizer = (enum optimizer)section_integer(section, "optimizer");
	setup->momentum =
		setup->optimizer == OPTIMIZER_MOMENTUM ? section_real(section, "momentum") : 0;
	setup->beta1 = 0.9;
	setup->beta2 = 0.999;
	setup->epsilon = 1e-8;
	setup->rate = section_real(section, "learning_rate");
	setup->rate_chosen = setup->rate == 0;
	if (setup->rate_chosen)
		setup->rate = setup_safe_rate(setup);
}

/* Keeps small gradients representable in FP16; the other formats have FP32's exponent range. */
static enum status setup_case_read_loss_scale(struct setup *setup, const struct section *section,
					      struct error *err)
{
	const char *text = section_text(section, "loss_scale");
	char *end;
	double number = strtod(text, &end);

	setup->loss_scale = 1;
	if (strcmp(text, "dynamic") == 0) {
		setup->dynamic_scale = setup->precision == PRECISION_FP16;
		setup->loss_scale = setup->dynamic_scale ? LOSS_SCALE_START : 1;
		return STATUS_OK;
	}
	if (strcmp(text, "none") == 0)
		return STATUS_OK;
	if (end == text || *end || !(number >= LOSS_SCALE_LEAST && number <= LOSS_SCALE_MOST))
		return error_set(err, STATUS_USAGE,
				 "%s: loss_scale: '%s'; allowed: dynamic, none, or %g to %.0f",
				 section_setting(section, "loss_scale")->origin, text,
				 LOSS_SCALE_LEAST, LOSS_SCALE_MOST);
	if (setup->precision == PRECISION_FP16)
		setup->loss_scale = number;
	return STATUS_OK;
}

/* Number of segments of layers; 0: no recomputation. */
static enum status setup_case_read_recompute(struct setup *setup, const struct section *section,
					     struct error *err)
{
	const char *text = section_text(section, "recompute");
	unsigned segments;
	char rest;

	if (strcmp(text, "none") == 0)
		setup->segments = 0;
	else if (strcmp(text, "pointwise") == 0)
		setup->pointwise = true;
	else if (strcmp(text, "layer") == 0)
		setup->segments = setup->layers;
	else if (strcmp(text, "sqrt") == 0)
		setup->segments = (uint64_t)lround(sqrt((double)setup->layers));
	else if (sscanf(text, "segments:%u%c", &segments, &rest) == 1 && segments >= 1 &&
		 segments <= SETUP_MAX_LAYERS)
		setup->segments = segments;
	else
		return error_set(err, STATUS_USAGE,
				 "%s: recompute: '%s'; allowed: none, pointwise, layer, sqrt, or "
				 "segments:1 to segments:%d",
				 section_setting(section, "recompute")->origin, text,
				 SETUP_MAX_LAYERS);
	return STATUS_OK;
}

/* The grid determines the number of devices, which the config must select. */
static enum status setup_case_read_grid(struct setup *setup, const struct plan_case *c,
					struct error *err)
{
	const struct setting *devices = section_setting(c->section, "devices"),
			     *nodes = section_setting(c->section, "nodes"),
			     *grids = section_setting(c->section, "hybrid");
	const char *text = case_text(c, "hybrid");
	struct grid *g = &setup->grid;

	if (!model_setup_grid_parse(text, g))
		return error_set(err, STATUS_USAGE,
				 "%s: hybrid: '%s'; allowed: data x tensor x pipeline such as "
				 "2x2x2, each at most %d",
				 grids->origin, text, NODE_DEVICES_MOST);
	for (size_t i = 0; i < devices->count; i++)
		if (devices->values[i].integer == g->data * g->tensor * g->pipeline)
			return STATUS_OK;
	/* The devices of groups of nodes are known only after the nodes connect. */
	for (size_t i = 0; i < nodes->count; i++)
		if (nodes->values[i].integer != 1)
			return STATUS_OK;
	return error_set(err, STATUS_USAGE,
			 "%s: hybrid: %s needs %d devices; add this number to `devices`",
			 grids->origin, text, g->data * g->tensor * g->pipeline);
}

enum status setup_case_limit(const struct plan_case *c, uint64_t *bytes, struct error *err)
{
	const char *text = case_text(c, "memory_limit");
	struct error wrong = ERROR_NONE;

	*bytes = 0;
	if (strcmp(text, "none") == 0)
		return STATUS_OK;
	if (units_parse_size(text, bytes, &wrong) == STATUS_OK && *bytes > 0)
		return STATUS_OK;
	return error_set(err, STATUS_USAGE,
			 "%s: memory_limit: \"%s\"; allowed: none, or a size such as 11264MiB",
			 section_setting(c->section, "memory_limit")->origin, text);
}

/* Rows are multiples of this, so that no trial is slow because of misalignment. */
#define LEAST_ROWS 8

uint64_t setup_case_least(const struct setup *setup)
{
	uint64_t samples = setup->kind == MODEL_TRANSFORMER ? 1 : LEAST_ROWS;

	return samples * (uint64_t)setup->ranks * setup->microbatches * setup_accumulate(setup);
}

void setup_case_batch(struct setup *setup, const struct plan_case *c, uint64_t samples)
{
	uint64_t asked = (uint64_t)section_integer(c->section, "wgrad_microbatches");

	setup->batch = samples * setup_sample_rows(setup);
	setup_fit_mode(setup);
	if (asked == 0)
		asked = setup_usual_wgrad_microbatches(setup);
	setup->wgrad_microbatches = asked < setup->microbatches ? asked : setup->microbatches;
}

enum status setup_from_case(struct setup *setup, const struct plan_case *c, struct error *err)
{
	uint64_t samples;

	*setup = (struct setup){ .microbatches = 1 };
	setup_set_training(setup, case_text(c, "precision"));
	if (setup_case_read_model(setup, c, err) != STATUS_OK)
		return err->status;
	setup->mode = mode_find(case_text(c, "modes"));
	setup->ranks = (int)case_integer(c, "devices");
	setup->weak = case_integer_or(c, "batch_mode", 0) != 0;
	if (setup_case_read_loss_scale(setup, c->section, err) != STATUS_OK)
		return err->status;
	if (setup->mode->microbatched)
		setup->microbatches = (uint64_t)case_integer(c, "microbatches");
	if (setup->mode->bucketed)
		setup->bucket_bytes = (uint64_t)case_integer(c, "bucket");
	setup->no_overlap = setup->ranks > 1 && case_integer_or(c, "overlap", 0) != 0;
	setup->no_aliasing = case_integer_or(c, "aliasing", 0) != 0;
	setup->loss_on_server = section_integer(c->section, "loss_on") == 0;
	setup->accumulate = (uint64_t)section_integer(c->section, "accumulate");
	setup->loss_chunks = (uint64_t)section_integer(c->section, "loss_chunks");
	if (setup_case_read_recompute(setup, c->section, err) != STATUS_OK ||
	    (setup->mode->gridded && setup_case_read_grid(setup, c, err) != STATUS_OK))
		return err->status;
	samples = (uint64_t)case_integer_or(c, "batch", 0) *
		  (uint64_t)(setup->weak ? setup->ranks : 1);
	setup_case_batch(setup, c, samples > 0 ? samples : setup_case_least(setup));
	setup->search_seconds = section_real(c->section, "search_time");
	setup->collective_multiprocessors =
		section_integer(c->section, "collective_multiprocessors");
	setup->transport = (enum transport)case_integer_or(c, "transport", 0);
	setup->graph = case_integer_or(c, "launch", 0) != 0;
	setup_case_read_optimizer(setup, c->section);
	return STATUS_OK;
}
