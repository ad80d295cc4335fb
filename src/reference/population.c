#include "reference/population.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/embedded.h"
#include "base/memory.h"
#include "base/text.h"
#include "plan/ini/source.h"

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
static bool cards_include(const char *cards, const char *id)
{
	size_t length = strlen(id);

	for (const char *at = cards; at; at = strchr(at, '+') ? strchr(at, '+') + 1 : NULL)
		if (strcspn(at, "+") == length && strncmp(at, id, length) == 0)
			return true;
	return false;
}

static void drop_values(struct population_figure *f, const char *id)
{
	size_t kept = 0;

	for (size_t k = 0; k < f->count; k++) {
		if (cards_include(f->values[k].cards, id))
			free(f->values[k].cards);
		else
			f->values[kept++] = f->values[k];
	}
	f->count = kept;
}

void population_drop_values(struct population *p, const char *id)
{
	for (size_t i = 0; i < p->figure_count; i++)
		drop_values(&p->figures[i], id);
}

static size_t population_hash_of(const char *id)
{
	uint64_t hash = text_hash(TEXT_HASH_START, id, strlen(id));

	return (size_t)(hash ^ hash >> 32);
}

/* Slot of the GPU in the hash table, or a free one; there is always a free slot. */
static size_t *population_slot_of(const struct population *p, const char *id)
{
	size_t mask = p->slot_count - 1;

	for (size_t at = population_hash_of(id) & mask;; at = (at + 1) & mask)
		if (!p->slots[at] || strcmp(p->cards[p->slots[at] - 1].id, id) == 0)
			return &p->slots[at];
}

const struct population_card *population_card(const struct population *p, const char *id)
{
	size_t found = p->slot_count ? *population_slot_of(p, id) : 0;

	return found ? &p->cards[found - 1] : NULL;
}

struct population_card *population_add_card(struct population *p, const char *id)
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

struct population_figure *population_add_figure(struct population *p, const char *point,
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

static void read_shipped(struct population *p, struct error *err)
{
	for (const struct embedded_file *file = embedded_population; file->name; file++)
		population_read(p, file->name, (const char *)file->data, file->size, true, err);
}

static struct population shipped;

/* An invalid shipped file is a bug: a test reads every one. */
static void population_read_shipped(void)
{
	struct error err = ERROR_NONE;

	read_shipped(&shipped, &err);
	if (err.status != STATUS_OK)
		population_release(&shipped);
}

const struct population *population_shipped(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, population_read_shipped);
	return &shipped;
}

static enum status population_read_file(struct population *p, const char *path, struct error *err)
{
	/* "./quick" is a file, "quick" an embedded config. */
	char *file = xasprintf("%s%s", strchr(path, '/') ? "" : "./", path);
	struct ini_source source;
	enum status status = source_open(&source, file, NULL, err);

	if (status == STATUS_OK)
		status = population_read(p, path, source.data, source.length, false, err);
	else
		error_prefix(err, "%s", path);
	source_close(&source);
	free(file);
	return status;
}

enum status population_load_own(struct population *p, const char *path, struct error *err)
{
	*p = (struct population){ 0 };
	return access(path, F_OK) == 0 ? population_read_file(p, path, err) : STATUS_OK;
}

enum status population_load(struct population *p, const char *own, struct error *err)
{
	struct population site = { 0 };

	*p = (struct population){ 0 };
	if (own && population_read_file(&site, own, err) != STATUS_OK) {
		population_release(&site);
		return err->status;
	}
	if (!site.without_shipped)
		read_shipped(p, err);
	if (own && err->status == STATUS_OK)
		population_read_file(p, own, err);
	population_release(&site);
	if (err->status != STATUS_OK)
		population_release(p);
	return err->status;
}
