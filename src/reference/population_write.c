/* From struct population to the text of a file. */
#include <stdlib.h>

#include "base/memory.h"
#include "base/units.h"
#include "reference/population.h"

static void write_card(struct text *out, const struct population_card *card)
{
	text_addf(out, "\n[card %s]\nmodel = %s\nmeasured = %s\n", card->id, card->model,
		  card->measured);
	if (*card->driver)
		text_addf(out, "driver = %s\n", card->driver);
	text_addf(out, "launches = %zu\n", card->launches);
}

static void write_heading(struct text *out, const char *section, size_t number,
			  const struct population_figure *f)
{
	text_addf(out, "\n[%s %zu]\ncase = %s\n", section, number, f->point);
	if (*f->preheat)
		text_addf(out, "preheat = %s\n", f->preheat);
	text_addf(out, "metric = %s\nunit = %s\n", f->metric, f->unit);
}

static void write_values(struct text *out, const struct population_figure *f, size_t *number)
{
	char value[48];
	size_t written = 0;

	for (size_t k = 0; k < f->count; k++) {
		if (!*f->values[k].cards)
			continue;
		if (!written++)
			write_heading(out, "figure", ++*number, f);
		text_addf(out, "%s = %s\n", f->values[k].cards,
			  units_format(f->values[k].value, f->unit, value, sizeof(value)));
	}
}

static void write_kinds(struct text *out, const struct population_figure *f, size_t *number)
{
	char value[48], spread[32];

	for (size_t k = 0; k < f->count; k++) {
		const struct population_value *v = &f->values[k];

		if (*v->cards)
			continue;
		write_heading(out, "kinds", ++*number, f);
		text_addf(out, "model = %s\nmeasured = %s\n", v->model, v->measured);
		if (*v->driver)
			text_addf(out, "driver = %s\n", v->driver);
		text_addf(out, "cards = %zu x %s\nspread = %s\norigin = %s\n", v->count,
			  units_format(v->value, f->unit, value, sizeof(value)),
			  units_percent(v->spread, spread, sizeof(spread)), v->origin);
	}
}

char *population_to_text(const struct population *p)
{
	struct text out = TEXT_EMPTY;
	size_t figures = 0, kinds = 0;

	text_add(&out, "; What good cards measured with gpuproof (gpuproof help good-cards).\n");
	if (p->without_shipped)
		text_add(&out, "\n[population]\nshipped = no\n");
	for (size_t i = 0; i < p->card_count; i++)
		write_card(&out, &p->cards[i]);
	for (size_t i = 0; i < p->figure_count; i++)
		write_values(&out, &p->figures[i], &figures);
	for (size_t i = 0; i < p->figure_count; i++)
		write_kinds(&out, &p->figures[i], &kinds);
	return text_detach(&out);
}
