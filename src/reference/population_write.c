/* Writes struct population as the content of a file. */
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

static void write_figure(struct text *out, const struct population_figure *f, size_t *number)
{
	char value[48];

	if (!f->count)
		return;
	text_addf(out, "\n[figure %zu]\ncase = %s\n", ++*number, f->point);
	if (*f->preheat)
		text_addf(out, "preheat = %s\n", f->preheat);
	text_addf(out, "metric = %s\nunit = %s\n", f->metric, f->unit);
	for (size_t k = 0; k < f->count; k++)
		text_addf(out, "%s = %s\n", f->values[k].cards,
			  units_format(f->values[k].value, f->unit, value, sizeof(value)));
}

char *population_to_text(const struct population *p)
{
	struct text out = TEXT_EMPTY;
	size_t figures = 0;

	text_add(&out, "; Reference GPUs, measured with gpuproof (gpuproof help good-cards).\n");
	if (p->without_shipped)
		text_add(&out, "\n[population]\nshipped = no\n");
	for (size_t i = 0; i < p->card_count; i++)
		write_card(&out, &p->cards[i]);
	for (size_t i = 0; i < p->figure_count; i++)
		write_figure(&out, &p->figures[i], &figures);
	return text_detach(&out);
}
