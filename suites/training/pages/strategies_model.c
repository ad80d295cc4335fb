/*
 * The model that a strategy trains, in words: times are compared only between equal models.
 * Sections of a config may train the same model differently, or different models with the same
 * parameters: their settings distinguish them.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "suites/training/pages/strategies.h"
#include "report/view/format.h"

#define WIDTHS_MOST 64

/* A setting of the case's section; NULL if the result has none. */
static const char *case_section_setting(const struct result *r, const struct case_result *c,
					const char *key)
{
	const char *label = view_string(c->label);
	char *section = xasprintf("suite %s%s%s", view_string(c->suite), *label ? " " : "", label);
	const char *value = NULL;

	for (size_t i = 0; i < r->setting_count && !value; i++)
		if (strcmp(view_string(r->settings[i].section), section) == 0 &&
		    strcmp(view_string(r->settings[i].key), key) == 0)
			value = view_string(r->settings[i].value);
	free(section);
	return value;
}

/* "8 layers of 8192" of "8192, 8192, ..."; "1000-2000-10" where widths differ. */
static void strategy_model_add_widths(const char *list, struct text *out)
{
	const char *words[WIDTHS_MOST];
	size_t lengths[WIDTHS_MOST], count = 0, same = 1;

	for (const char *at = list; *at && count < WIDTHS_MOST; at += strspn(at, ", ")) {
		words[count] = at;
		lengths[count] = strcspn(at, ", ");
		same += count && lengths[count] == lengths[0] &&
			memcmp(words[count], words[0], lengths[0]) == 0;
		at += lengths[count++];
	}
	if (count > 2 && same == count) {
		text_addf(out, "%zu layers of %.*s", count - 1, (int)lengths[0], words[0]);
		return;
	}
	for (size_t i = 0; i < count; i++)
		text_addf(out, "%s%.*s", i ? "-" : "", (int)lengths[i], words[i]);
}

/* Settings that determine the size of a model; parameters if they vary. */
#define MODEL_SIZES \
	"blocks", "hidden", "heads", "sequence", "vocabulary", "channels", "image", "classes"

/* Sizes by kind of model. */
static bool strategy_model_has_size(const char *model, const char *size)
{
	static const char *const of_transformers[] = { "hidden", "heads", "sequence", "vocabulary",
						       NULL };

	return strcmp(size, "blocks") == 0 ||
	       view_listed(size, of_transformers) == (strcmp(model, "transformer") == 0);
}

/* "blocks 12, hidden 768, heads 12" of this model; "0" means that gpuproof chose. */
static void strategy_model_add_sizes(const struct result *r, const struct case_result *c,
				     const char *model, struct text *out)
{
	static const char *const sizes[] = { MODEL_SIZES };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		const struct case_parameter *varied = case_parameter(c, sizes[i]);
		const char *value =
			varied ? view_string(varied->text) : case_section_setting(r, c, sizes[i]);

		if (value && strcmp(value, "0") != 0 && strategy_model_has_size(model, sizes[i]))
			text_addf(out, "%s%s %s", out->length ? ", " : "", sizes[i], value);
	}
}

void strategies_layers(const struct view *view, size_t run, const struct case_result *c,
		       struct text *out)
{
	const struct result *r = &view->results[run];
	const struct case_parameter *width = strategies_width(c),
				    *model = case_parameter(c, "model");
	const char *layers = case_section_setting(r, c, "layers"),
		   *depth = case_section_setting(r, c, "depth");

	if (model && strcmp(view_string(model->text), "mlp") != 0)
		strategy_model_add_sizes(r, c, view_string(model->text), out);
	else if (width && width->number > 0 && depth)
		text_addf(out, "%s layers of %.0f", depth, width->number);
	else if (!width && layers)
		strategy_model_add_widths(layers, out);
}

/* Settings are named if they differ from the usual value. */
static void add_unusual(const struct result *r, const struct case_result *c, struct text *out)
{
	static const char *const usual[][2] = { { "optimizer", "adam" },
						{ "accumulate", "1" },
						{ "loss_chunks", "0" },
						{ "recompute", "none" } };

	for (size_t i = 0; i < ARRAY_SIZE(usual); i++) {
		const char *value = case_section_setting(r, c, usual[i][0]);

		if (value && strcmp(value, usual[i][1]) != 0)
			text_addf(out, ", %s %s", usual[i][0], value);
	}
}

static void model_add_part(struct text *out, const char *part)
{
	text_addf(out, "%s%s", out->length && *part ? ", " : "", part);
}

/* The model, from the case's parameters; `widths`: the width was already added. */
static char *model_trained_words(const struct view *view, const struct case_result *c, bool widths)
{
	static const char *const strategy[] = { STRATEGY_PARAMETERS, "batch_mode", NULL };
	static const char *const sizes[] = { STRATEGY_PARAMETERS, "batch_mode", "width",
					     MODEL_SIZES, NULL };
	const struct case_parameter *devices = case_parameter(c, "devices");
	char *plain = view_parameters(view, c, widths ? sizes : strategy), *out;

	if (!strategies_scales_weakly(c))
		return plain;
	/* Times with other numbers of devices have other batches. */
	out = xasprintf("%s for each of %s devices", plain,
			devices ? view_string(devices->text) : "several");
	free(plain);
	return out;
}

char *strategies_model(const struct view *view, size_t run, const struct case_result *c)
{
	const struct result *r = &view->results[run];
	struct text out = TEXT_EMPTY, layers = TEXT_EMPTY;
	char *parameters;

	strategies_layers(view, run, c, &layers);
	parameters = model_trained_words(view, c, layers.length != 0);
	model_add_part(&out, layers.length ? layers.data : "");
	model_add_part(&out, parameters);
	add_unusual(r, c, &out);
	/* Without settings, only the section's name distinguishes other layers. */
	if (!case_section_setting(r, c, "layers"))
		model_add_part(&out, view_section(c));
	text_release(&layers);
	free(parameters);
	return text_detach(&out);
}
