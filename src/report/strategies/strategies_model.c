/*
 * The model that a strategy trains, in words: times are compared only for equal models. Sections of a config may train the same model differently, or other models with the same parameters: their settings distinguish them.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "report/strategies/strategies.h"
#include "report/view/format.h"

#define WIDTHS_MOST 64

/* A setting of the case's section; NULL if the result has none. */
static const char *setting(const struct result *r, const struct case_result *c, const char *key)
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
static void add_widths(const char *list, struct text *out)
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

void strategies_layers(const struct result *r, const struct case_result *c, struct text *out)
{
	const struct case_parameter *width = case_parameter(c, "width");
	const char *layers = setting(r, c, "layers"), *depth = setting(r, c, "depth");

	if (width && width->number > 0 && depth)
		text_addf(out, "%s layers of %.0f", depth, width->number);
	else if (!width && layers)
		add_widths(layers, out);
}

/* Said where they are not as they mostly are. */
static void add_unusual(const struct result *r, const struct case_result *c, struct text *out)
{
	static const struct {
		const char *key, *usual, *words;
	} rows[] = {
		{ "optimizer", "adam", "optimizer" },
		{ "accumulate", "1", "accumulate" },
		{ "recompute", "none", "recompute" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *value = setting(r, c, rows[i].key);

		if (value && strcmp(value, rows[i].usual) != 0)
			text_addf(out, ", %s %s", rows[i].words, value);
	}
}

static void add_part(struct text *out, const char *part)
{
	text_addf(out, "%s%s", out->length && *part ? ", " : "", part);
}

/* The model by the case's parameters; `widths`: the width was added before. */
static char *trained(const struct case_result *c, const char *const *strategy_parameters,
		     bool widths)
{
	const char *without[16] = { "batch_mode" };
	const struct case_parameter *mode = case_parameter(c, "batch_mode"),
				    *devices = case_parameter(c, "devices");
	size_t count = 1;
	char *plain, *out;

	while (*strategy_parameters && count < ARRAY_SIZE(without) - 2)
		without[count++] = *strategy_parameters++;
	if (widths)
		without[count] = "width";
	plain = view_parameters(c, without);
	if (!mode || strcmp(view_string(mode->text), "weak") != 0)
		return plain;
	/* Times of other numbers of devices are of other batches. */
	out = xasprintf("%s for each of %s devices", plain,
			devices ? view_string(devices->text) : "several");
	free(plain);
	return out;
}

char *strategies_model(const struct view *view, size_t run, const struct case_result *c,
		       const char *const *strategy_parameters)
{
	const struct result *r = &view->results[run];
	struct text out = TEXT_EMPTY, layers = TEXT_EMPTY;
	char letter[4], *parameters;

	strategies_layers(r, c, &layers);
	parameters = trained(c, strategy_parameters, layers.length != 0);
	add_part(&out, view->count > 1 ? view_letter(run, letter) : "");
	add_part(&out, layers.length ? layers.data : "");
	add_part(&out, parameters);
	add_unusual(r, c, &out);
	/* Without settings only the section's name distinguishes other layers. */
	if (!setting(r, c, "layers"))
		add_part(&out, view_section(c));
	text_release(&layers);
	free(parameters);
	return text_detach(&out);
}
