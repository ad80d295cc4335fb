/* Collects the reference values that a device is compared with. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/stats.h"
#include "reference/population.h"

struct sample_gathering {
	const struct population *p;
	const char *model;
	const char *const *without;
	struct population_sample *out;
	size_t capacity;
	bool *counted; /* flag by the GPU's index in the population */
};

static void sample_add_date(struct population_sample *out, const char *measured, const char *driver)
{
	if (!*out->first || strcmp(measured, out->first) < 0)
		snprintf(out->first, sizeof(out->first), "%.15s", measured);
	if (strcmp(measured, out->last) > 0)
		snprintf(out->last, sizeof(out->last), "%.15s", measured);
	if (!*driver || strcmp(out->driver, driver) == 0)
		return;
	snprintf(out->driver, sizeof(out->driver), "%.63s",
		 *out->driver ? "several drivers" : driver);
}

static bool population_sample_left_out(const struct sample_gathering *g, const char *id)
{
	for (const char *const *w = g->without; w && *w; w++)
		if (strcmp(*w, id) == 0)
			return true;
	return false;
}

/* Number of GPUs in "a" or "a+b"; 0: one is of another model, unknown or excluded. */
static size_t
population_sample_cards_of(const struct sample_gathering *g, const char *cards,
			   const struct population_card *found[POPULATION_MOST_DEVICES])
{
	size_t n = 0;

	for (const char *at = cards; at && n < POPULATION_MOST_DEVICES;) {
		size_t length = strcspn(at, "+");
		char *id = xstrndup(at, length);

		found[n] = population_card(g->p, id);
		if (!found[n] || strcmp(found[n]->model, g->model) != 0 ||
		    population_sample_left_out(g, id)) {
			free(id);
			return 0;
		}
		n++;
		free(id);
		at = at[length] ? at + length + 1 : NULL;
	}
	return n;
}

static void population_sample_add_cards(struct sample_gathering *g,
					const struct population_value *v)
{
	const struct population_card *found[POPULATION_MOST_DEVICES];
	size_t n = population_sample_cards_of(g, v->cards, found);

	for (size_t i = 0; i < n; i++) {
		bool *counted = &g->counted[found[i] - g->p->cards];

		if (!*counted) {
			*counted = true;
			g->out->cards++;
			g->out->own += !found[i]->shipped;
			sample_add_date(g->out, found[i]->measured, found[i]->driver);
		}
	}
	if (!n)
		return;
	ARRAY_GROW(g->out->values, g->out->count, g->capacity);
	g->out->values[g->out->count++] = v->value;
}

struct population_sample population_sample(const struct population *p, const char *model,
					   const char *point, const char *preheat,
					   const char *metric, const char *const *without)
{
	struct population_sample out = { 0 };
	struct sample_gathering g = { .p = p,
				      .model = model,
				      .without = without,
				      .out = &out,
				      .counted = xcalloc(p->card_count + 1, sizeof(*g.counted)) };

	for (size_t i = 0; i < p->figure_count; i++) {
		const struct population_figure *f = &p->figures[i];

		if (strcmp(f->point, point) != 0 || strcmp(f->preheat, preheat) != 0 ||
		    strcmp(f->metric, metric) != 0)
			continue;
		for (size_t k = 0; k < f->count; k++)
			population_sample_add_cards(&g, &f->values[k]);
	}
	free(g.counted);
	if (out.count)
		qsort(out.values, out.count, sizeof(*out.values), compare_doubles);
	return out;
}

void population_sample_release(struct population_sample *sample)
{
	free(sample->values);
	*sample = (struct population_sample){ 0 };
}
