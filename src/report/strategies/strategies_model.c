/*
 * The model that a strategy trains, in words: times are compared only for equal models. Sections of
 * a config may train the same model differently, or other models with the same parameters: their
 * settings distinguish them.
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
static const char *setting(const struct result *r, const struct case_result *c,
			   const struct role_row *key)
{
	const char *label = view_string(c->label);
	char *section = xasprintf("suite %s%s%s", view_string(c->suite), *label ? " " : "", label);
	const char *value = NULL;

	for (size_t i = 0; key && i < r->setting_count && !value; i++)
		if (strcmp(view_string(r->settings[i].section), section) == 0 &&
		    strcmp(view_string(r->settings[i].key), key->name) == 0)
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

/*
 * "blocks 12, hidden 768, heads 12", of this model: those that vary as the case has them; "0" is by
 * the others.
 */
static void add_sizes(const struct presentation *p, const struct result *r,
		      const struct case_result *c, const char *model, struct text *out)
{
	for (const struct role_row *row = NULL;
	     (row = presentation_role(p, ROLE_MODEL_SIZE, row));) {
		const struct case_parameter *varied = case_parameter(c, row->name);
		const char *value = varied ? view_string(varied->text) : setting(r, c, row);

		if (value && strcmp(value, "0") != 0 &&
		    (!row->value || strcmp(row->value, model) == 0))
			text_addf(out, "%s%s %s", out->length ? ", " : "", row->name, value);
	}
}

void strategies_layers(const struct view *view, size_t run, const struct case_result *c,
		       struct text *out)
{
	const struct presentation p = view_presentation(view, view_string(c->suite));
	const struct case_parameter *width = view_role_parameter(view, c, ROLE_WIDTH),
				    *layered = view_role_parameter(view, c, ROLE_LAYERED);
	const char *layers = setting(&view->results[run], c,
				     presentation_role(&p, ROLE_LAYERS, NULL)),
		   *depth =
			   setting(&view->results[run], c, presentation_role(&p, ROLE_DEPTH, NULL));

	if (layered && !view_role_holds(view, c, ROLE_LAYERED))
		add_sizes(&p, &view->results[run], c, layered->text, out);
	else if (width && width->number > 0 && depth)
		text_addf(out, "%s layers of %.0f", depth, width->number);
	else if (!width && layers)
		add_widths(layers, out);
}

/* Said where they are not as they mostly are. */
static void add_unusual(const struct presentation *p, const struct result *r,
			const struct case_result *c, struct text *out)
{
	for (const struct role_row *row = NULL; (row = presentation_role(p, ROLE_UNUSUAL, row));) {
		const char *value = setting(r, c, row);

		if (value && row->value && strcmp(value, row->value) != 0)
			text_addf(out, ", %s %s", row->name, value);
	}
}

static void add_part(struct text *out, const char *part)
{
	text_addf(out, "%s%s", out->length && *part ? ", " : "", part);
}

/* The model by the case's parameters; `widths`: the width was added before. */
static char *trained(const struct view *view, const struct case_result *c, bool widths)
{
	const struct case_parameter *devices = view_role_parameter(view, c, ROLE_RANKS);
	const char *without[STRATEGY_PARAMETERS], *suite = view_string(c->suite);
	char *plain, *out;

	strategies_parameters(view, suite, without);
	strategies_add_role(view, suite, ROLE_BATCH_PER_DEVICE, without);
	if (widths) {
		strategies_add_role(view, suite, ROLE_WIDTH, without);
		strategies_add_role(view, suite, ROLE_MODEL_SIZE, without);
	}
	plain = view_parameters(view, c, without);
	if (!view_role_holds(view, c, ROLE_BATCH_PER_DEVICE))
		return plain;
	/* Times of other numbers of devices are of other batches. */
	out = xasprintf("%s for each of %s devices", plain,
			devices ? view_string(devices->text) : "several");
	free(plain);
	return out;
}

char *strategies_model(const struct view *view, size_t run, const struct case_result *c)
{
	const struct presentation p = view_presentation(view, view_string(c->suite));
	const struct result *r = &view->results[run];
	struct text out = TEXT_EMPTY, layers = TEXT_EMPTY;
	char letter[4], *parameters;

	strategies_layers(view, run, c, &layers);
	parameters = trained(view, c, layers.length != 0);
	add_part(&out, view->count > 1 ? view_letter(run, letter) : "");
	add_part(&out, layers.length ? layers.data : "");
	add_part(&out, parameters);
	add_unusual(&p, r, c, &out);
	/* Without settings only the section's name distinguishes other layers. */
	if (!setting(r, c, presentation_role(&p, ROLE_LAYERS, NULL)))
		add_part(&out, view_section(c));
	text_release(&layers);
	free(parameters);
	return text_detach(&out);
}
