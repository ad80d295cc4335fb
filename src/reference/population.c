#include "reference/population.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/embedded.h"
#include "base/memory.h"
#include "base/stats.h"
#include "base/text.h"
#include "base/units.h"
#include "plan/ini/document.h"

void population_release(struct population *p)
{
	for (size_t i = 0; i < p->card_count; i++) {
		struct population_card *card = &p->cards[i];

		free(card->id);
		free(card->model);
		free(card->measured);
		free(card->driver);
		free(card->place);
	}
	for (size_t i = 0; i < p->figure_count; i++) {
		struct population_figure *f = &p->figures[i];

		for (size_t k = 0; k < f->count; k++)
			free(f->values[k].cards);
		free(f->values);
		free(f->point);
		free(f->preheat);
		free(f->metric);
		free(f->unit);
	}
	free(p->cards);
	free(p->slots);
	free(p->figures);
	*p = (struct population){ 0 };
}

/* True if "a+b" or "a" names the GPU. */
static bool population_cards_include(const char *cards, const char *id)
{
	size_t length = strlen(id);

	for (const char *at = cards; at; at = strchr(at, '+') ? strchr(at, '+') + 1 : NULL)
		if (strcspn(at, "+") == length && strncmp(at, id, length) == 0)
			return true;
	return false;
}

void population_drop_values(struct population *p, const char *id)
{
	for (size_t i = 0; i < p->figure_count; i++) {
		struct population_figure *f = &p->figures[i];
		size_t kept = 0;

		for (size_t k = 0; k < f->count; k++) {
			if (population_cards_include(f->values[k].cards, id))
				free(f->values[k].cards);
			else
				f->values[kept++] = f->values[k];
		}
		f->count = kept;
	}
}

/* Slot of the GPU in the hash table, or a free one; there is always a free slot. */
static size_t *population_slot_of(const struct population *p, const char *id)
{
	uint64_t hash = text_hash(TEXT_HASH_START, id, strlen(id));
	size_t mask = p->slot_count - 1;

	for (size_t at = (size_t)(hash ^ hash >> 32) & mask;; at = (at + 1) & mask)
		if (!p->slots[at] || strcmp(p->cards[p->slots[at] - 1].id, id) == 0)
			return &p->slots[at];
}

const struct population_card *population_card(const struct population *p, const char *id)
{
	size_t found = p->slot_count ? *population_slot_of(p, id) : 0;

	return found ? &p->cards[found - 1] : NULL;
}

struct population_card *population_enter_card(struct population *p, const char *id)
{
	struct population_card *card = (struct population_card *)population_card(p, id);

	if (card)
		return card;
	if (2 * (p->card_count + 1) >= p->slot_count) {
		free(p->slots);
		p->slot_count = p->slot_count ? 4 * p->slot_count : 64;
		p->slots = xcalloc(p->slot_count, sizeof(*p->slots));
		for (size_t i = 0; i < p->card_count; i++)
			*population_slot_of(p, p->cards[i].id) = i + 1;
	}
	ARRAY_GROW(p->cards, p->card_count, p->card_capacity);
	*population_slot_of(p, id) = p->card_count + 1;
	card = &p->cards[p->card_count++];
	*card = (struct population_card){ .id = xstrdup(id),
					  .model = xstrdup(""),
					  .measured = xstrdup(""),
					  .driver = xstrdup(""),
					  .place = xstrdup("") };
	return card;
}

struct population_figure *population_enter_figure(struct population *p, const char *point,
						  const char *preheat, const char *metric,
						  const char *unit)
{
	struct population_figure *f;

	for (size_t i = 0; i < p->figure_count; i++) {
		f = &p->figures[i];
		if (strcmp(f->point, point) == 0 && strcmp(f->preheat, preheat) == 0 &&
		    strcmp(f->metric, metric) == 0)
			return f;
	}
	ARRAY_GROW(p->figures, p->figure_count, p->figure_capacity);
	f = &p->figures[p->figure_count++];
	*f = (struct population_figure){ .point = xstrdup(point),
					 .preheat = xstrdup(preheat),
					 .metric = xstrdup(metric),
					 .unit = xstrdup(unit) };
	return f;
}

struct population_value *population_append_value(struct population_figure *f, const char *cards,
						 double value)
{
	ARRAY_GROW(f->values, f->count, f->capacity);
	f->values[f->count] = (struct population_value){ xstrdup(cards), value, 0 };
	return &f->values[f->count++];
}

void population_set_value(struct population_figure *f, const char *cards, double value)
{
	for (size_t k = 0; k < f->count; k++)
		if (strcmp(f->values[k].cards, cards) == 0) {
			f->values[k].value = value;
			return;
		}
	population_append_value(f, cards, value);
}

bool population_text_fits(const char *text)
{
	size_t length = strlen(text);

	if (!length || length > 180 || !text_is_utf8(text, length) || strchr(" \t;#\"'", *text) ||
	    strchr(" \t", text[length - 1]))
		return false;
	for (const char *p = text; *p; p += text_utf8_sequence(p, strlen(p)))
		if (text_is_harmful(p, text_utf8_sequence(p, strlen(p))) ||
		    (*p == ';' && strchr(" \t", p[-1])))
			return false;
	return true;
}

bool population_id_fits(const char *id)
{
	return strlen(id) <= 44 && population_text_fits(id) && !strpbrk(id, " \t+=:[]");
}

static void population_shipped_read_all(struct population *p, struct error *err)
{
	for (const struct embedded_file *file = embedded_population; file->name; file++)
		population_read(p, file->name, (const char *)file->data, file->size, true, err);
}

static struct population shipped;

/* An invalid shipped file is a bug: a test reads every one. */
static void population_load_shipped(void)
{
	struct error err = ERROR_NONE;

	population_shipped_read_all(&shipped, &err);
	if (err.status != STATUS_OK)
		population_release(&shipped);
}

const struct population *population_shipped(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, population_load_shipped);
	return &shipped;
}

static enum status population_load_file(struct population *p, const char *path, struct error *err)
{
	/* "./quick" is a file, "quick" an embedded config. */
	char *file = xasprintf("%s%s", strchr(path, '/') ? "" : "./", path);
	struct ini_source source;
	enum status status = document_read_source_open(&source, file, NULL, err);

	if (status == STATUS_OK)
		status = population_read(p, path, source.data, source.length, false, err);
	else
		error_prefix(err, "%s", path);
	document_read_source_close(&source);
	free(file);
	return status;
}

enum status population_load_own(struct population *p, const char *path, struct error *err)
{
	*p = (struct population){ 0 };
	return access(path, F_OK) == 0 ? population_load_file(p, path, err) : STATUS_OK;
}

enum status population_load(struct population *p, const char *own, struct error *err)
{
	struct population site = { 0 };

	*p = (struct population){ 0 };
	if (own && population_load_file(&site, own, err) != STATUS_OK) {
		population_release(&site);
		return err->status;
	}
	if (!site.without_shipped)
		population_shipped_read_all(p, err);
	if (own && err->status == STATUS_OK)
		population_load_file(p, own, err);
	population_release(&site);
	if (err->status != STATUS_OK)
		population_release(p);
	return err->status;
}

static void population_write_figure(struct text *out, const struct population_figure *f,
				    size_t *number)
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
	for (size_t i = 0; i < p->card_count; i++) {
		const struct population_card *card = &p->cards[i];

		text_addf(&out, "\n[card %s]\nmodel = %s\nmeasured = %s\n", card->id, card->model,
			  card->measured);
		if (*card->driver)
			text_addf(&out, "driver = %s\n", card->driver);
		text_addf(&out, "launches = %zu\n", card->launches);
	}
	for (size_t i = 0; i < p->figure_count; i++)
		population_write_figure(&out, &p->figures[i], &figures);
	return text_detach(&out);
}

struct sample_gathering {
	const struct population *p;
	const char *model;
	const char *const *without;
	struct population_sample *out;
	size_t capacity;
	bool *counted; /* flag by the GPU's index in the population */
};

/* Number of GPUs in "a" or "a+b"; 0: one is of another model, unknown or excluded. */
static size_t
population_sample_cards_of(const struct sample_gathering *g, const char *cards,
			   const struct population_card *found[POPULATION_MOST_DEVICES])
{
	size_t n = 0;

	for (const char *at = cards; at && n < POPULATION_MOST_DEVICES;) {
		size_t length = strcspn(at, "+");
		char *id = xstrndup(at, length);
		bool fits;

		found[n] = population_card(g->p, id);
		fits = found[n] && strcmp(found[n]->model, g->model) == 0;
		for (const char *const *w = g->without; fits && w && *w; w++)
			fits = strcmp(*w, id) != 0;
		free(id);
		if (!fits)
			return 0;
		n++;
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
			if (!*g->out->first || strcmp(found[i]->measured, g->out->first) < 0)
				snprintf(g->out->first, sizeof(g->out->first), "%.15s",
					 found[i]->measured);
			if (strcmp(found[i]->measured, g->out->last) > 0)
				snprintf(g->out->last, sizeof(g->out->last), "%.15s",
					 found[i]->measured);
			if (*found[i]->driver && strcmp(g->out->driver, found[i]->driver) != 0)
				snprintf(g->out->driver, sizeof(g->out->driver), "%.63s",
					 *g->out->driver ? "several drivers" : found[i]->driver);
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
