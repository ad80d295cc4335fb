/* Parses a file into struct population. */
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/former_names.h"
#include "base/memory.h"
#include "base/units.h"
#include "plan/ini/ini.h"
#include "reference/population.h"

/* Values outside indicate a wrong unit. */
#define LEAST_RATE 1
#define MOST_RATE 1e18

enum section { SECTION_NONE, SECTION_POPULATION, SECTION_CARD, SECTION_FIGURE };

/* Keys of [figure] that precede its values. */
struct heading {
	char *point, *preheat, *metric, *unit;
};

struct population_reading {
	struct population *p;
	struct error *err;
	const char *name;
	bool shipped;
	enum section section;
	size_t header; /* line of the section header */
	char *id;      /* of the GPU */
	struct heading heading;
	struct population_figure *figure; /* set when its values start */
};

__attribute__((format(printf, 3, 4))) static void
population_read_fail(struct population_reading *r, size_t line, const char *format, ...)
{
	char message[600];
	va_list ap;

	va_start(ap, format);
	vsnprintf(message, sizeof(message), format, ap);
	va_end(ap);
	error_set(r->err, STATUS_USAGE, "%s:%zu: %s", r->name, line, message);
}

static void population_read_set_text(char **member, const char *value)
{
	free(*member);
	*member = xstrdup(value);
}

static void population_read_heading_release(struct heading *h)
{
	free(h->point);
	free(h->preheat);
	free(h->metric);
	free(h->unit);
	*h = (struct heading){ 0 };
}

/* "2026-11-20" */
static bool population_read_is_day(const char *text)
{
	for (size_t i = 0; i < 10; i++)
		if (i == 4 || i == 7 ? text[i] != '-' : !isdigit((unsigned char)text[i]))
			return false;
	return text[10] == '\0';
}

/* Checks that the keys of a [figure] are complete, then adds it to the population. */
static bool population_read_begin_values(struct population_reading *r, size_t line)
{
	const struct heading *h = &r->heading;

	if (r->figure)
		return true;
	if (!h->point || !h->metric || !h->unit)
		population_read_fail(
			r, line, "case, metric and unit must come before the values of a [figure]");
	else if (strcmp(h->unit, "B/s") != 0 && strcmp(h->unit, "FLOP/s") != 0)
		population_read_fail(r, line,
				     "unit = %.30s is not allowed; a population contains "
				     "only "
				     "rates, in B/s or FLOP/s",
				     h->unit);
	else
		r->figure = population_enter_figure(r->p, h->point, h->preheat ? h->preheat : "",
						    h->metric, h->unit);
	if (r->figure && strcmp(r->figure->unit, h->unit) != 0) {
		population_read_fail(r, line,
				     "%.60s of %.60s has another unit (%s) in an earlier "
				     "[figure]",
				     h->metric, h->point, r->figure->unit);
		r->figure = NULL;
	}
	return r->figure != NULL;
}

static double population_read_value_of_file(struct population_reading *r, size_t line,
					    const char *key, const char *text)
{
	struct error err = ERROR_NONE;
	double value = NAN;

	if (units_parse_quantity(text, r->heading.unit, &value, &err) != STATUS_OK)
		population_read_fail(r, line, "%.100s: %s", key, err.message);
	else if (!(value >= LEAST_RATE && value <= MOST_RATE))
		population_read_fail(r, line,
				     "%.100s = %.60s is not a rate of 1 to 1e18 "
				     "%s",
				     key, text, r->heading.unit);
	else
		return value;
	return NAN;
}

/* Parses "GPU-a" or "GPU-a+GPU-b"; each needs an earlier [card] section. */
static bool population_read_cards_are_known(struct population_reading *r, size_t line,
					    const char *cards)
{
	size_t count = 0;

	for (const char *at = cards; at; count++) {
		size_t length = strcspn(at, "+");
		char *id = xstrndup(at, length);
		bool known = population_card(r->p, id) != NULL;

		if (!known)
			population_read_fail(r, line,
					     "the section [card %.60s] must come before this line",
					     id);
		free(id);
		if (!known)
			return false;
		at = at[length] ? at + length + 1 : NULL;
	}
	if (count <= POPULATION_MOST_DEVICES)
		return true;
	population_read_fail(r, line, "%.100s: a value must belong to one GPU or to two", cards);
	return false;
}

static void population_read_add_value(struct population_reading *r, size_t line, const char *cards,
				      const char *text)
{
	double value;

	if (!population_read_begin_values(r, line) ||
	    !population_read_cards_are_known(r, line, cards))
		return;
	value = population_read_value_of_file(r, line, cards, text);
	if (!isnan(value))
		population_append_value(r->figure, cards, value)->line = line;
}

static int population_read_by_cards(const void *a, const void *b)
{
	const struct population_value *p = *(const struct population_value *const *)a;
	const struct population_value *q = *(const struct population_value *const *)b;
	int order = strcmp(p->cards, q->cards);

	return order ? order : (p->line > q->line) - (p->line < q->line);
}

/* Checks that the section that ends here is complete. */
static void population_read_finish_section(struct population_reading *r)
{
	const struct population_card *card;

	if (r->err->status != STATUS_OK)
		return;
	if (r->section == SECTION_CARD) {
		card = population_card(r->p, r->id);
		if (!*card->model || !*card->measured)
			population_read_fail(r, r->header,
					     "[card %.60s] needs the keys model and "
					     "measured",
					     r->id);
	} else if (r->section == SECTION_FIGURE && !r->figure) {
		population_read_fail(r, r->header, "the [figure] has no values");
	} else if (r->section == SECTION_FIGURE) {
		const struct population_figure *f = r->figure;
		const struct population_value **sorted = xcalloc(f->count + 1, sizeof(*sorted));

		/* Each GPU may have one value per [figure]. */
		for (size_t k = 0; k < f->count; k++)
			sorted[k] = &f->values[k];
		qsort(sorted, f->count, sizeof(*sorted), population_read_by_cards);
		for (size_t k = 1; k < f->count; k++)
			if (strcmp(sorted[k - 1]->cards, sorted[k]->cards) == 0)
				population_read_fail(r, sorted[k]->line,
						     "%.100s is repeated; each GPU must "
						     "have "
						     "one value",
						     sorted[k]->cards);
		free(sorted);
	}
}

static void population_read_begin_card(struct population_reading *r, size_t line, const char *id)
{
	const struct population_card *there = population_card(r->p, id);
	struct population_card *card;

	population_read_set_text(&r->id, id);
	if (!population_id_fits(id) || (there && text_starts_with(there->place, r->name))) {
		population_read_fail(r, line,
				     there ? "[card %.60s] is repeated"
					   : "'%.60s' is not a valid GPU name",
				     id);
		r->section = SECTION_NONE;
		return;
	}
	/* The GPU is known from another file: replaces its values. */
	if (there)
		population_drop_values(r->p, id);
	card = population_enter_card(r->p, id);
	card->launches = 1;
	card->shipped = r->shipped;
	free(card->place);
	card->place = xasprintf("%s:%zu", r->name, line);
}

static void population_read_on_section(void *context, size_t line, const char *name)
{
	static const struct {
		const char *prefix;
		enum section section;
	} kinds[] = { { "card ", SECTION_CARD }, { "figure ", SECTION_FIGURE } };
	struct population_reading *r = context;

	population_read_finish_section(r);
	population_read_heading_release(&r->heading);
	r->figure = NULL;
	r->header = line;
	r->section = strcmp(name, "population") == 0 ? SECTION_POPULATION : SECTION_NONE;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (text_starts_with(name, kinds[i].prefix))
			r->section = kinds[i].section;
	if (r->section == SECTION_CARD)
		population_read_begin_card(r, line, name + strlen("card "));
	else if (r->section == SECTION_NONE)
		population_read_fail(r, line,
				     "unknown section [%.60s]; sections: [population], "
				     "[card ID] and [figure NAME]",
				     name);
}

static void population_read_on_card(struct population_reading *r, size_t line, const char *key,
				    const char *value)
{
	struct population_card *card = &r->p->cards[population_card(r->p, r->id) - r->p->cards];
	struct error err = ERROR_NONE;
	int64_t launches = 0;

	if (strcmp(key, "model") == 0)
		population_read_set_text(&card->model, value);
	else if (strcmp(key, "driver") == 0)
		population_read_set_text(&card->driver, value);
	else if (strcmp(key, "measured") == 0 && population_read_is_day(value))
		population_read_set_text(&card->measured, value);
	else if (strcmp(key, "measured") == 0)
		population_read_fail(r, line,
				     "measured = %.60s is not a date; write it as 2026-11-20",
				     value);
	else if (strcmp(key, "launches") != 0)
		population_read_fail(r, line,
				     "unknown key '%.60s' in [card]; keys: model, "
				     "measured, "
				     "driver, launches",
				     key);
	else if (units_parse_integer(value, &launches, &err) != STATUS_OK || launches < 1 ||
		 launches > 1000000)
		population_read_fail(r, line,
				     "launches = %.60s is not a number from 1 to "
				     "1000000",
				     value);
	else
		card->launches = (size_t)launches;
}

static void population_read_on_figure(struct population_reading *r, size_t line, const char *key,
				      const char *value)
{
	struct heading *h = &r->heading;
	const struct {
		const char *key;
		char **member;
	} members[] = { { "case", &h->point },
			{ "preheat", &h->preheat },
			{ "metric", &h->metric },
			{ "unit", &h->unit } };

	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		if (strcmp(members[i].key, key) != 0)
			continue;
		if (r->figure)
			population_read_fail(r, line, "%s must come before the values", key);
		else
			population_read_set_text(members[i].member,
						 members[i].member == &h->metric
							 ? former_name_current(NAME_METRIC, "",
									       value)
							 : value);
		return;
	}
	population_read_add_value(r, line, key, value);
}

static void population_read_on_entry(void *context, size_t line, const char *key, const char *value)
{
	struct population_reading *r = context;

	if (r->err->status != STATUS_OK)
		return;
	if (!*value)
		population_read_fail(r, line, "%.60s: missing value", key);
	else if (!population_text_fits(value))
		population_read_fail(r, line,
				     "%.60s: '%.60s' is too long or has several lines; "
				     "write "
				     "one line of at most 180 bytes",
				     key, value);
	else if (r->section == SECTION_POPULATION) {
		if (strcmp(key, "shipped") != 0)
			population_read_fail(r, line,
					     "unknown key '%.60s' in [population]; keys: shipped",
					     key);
		else if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
			population_read_fail(r, line, "shipped = %.60s is not yes or no", value);
		else
			r->p->without_shipped = strcmp(value, "no") == 0;
	} else if (r->section == SECTION_CARD)
		population_read_on_card(r, line, key, value);
	else if (r->section != SECTION_NONE)
		population_read_on_figure(r, line, key, value);
	else
		population_read_fail(r, line, "'%.60s' comes before the first section", key);
}

static void population_read_on_problem(void *context, size_t line, const char *message)
{
	population_read_fail(context, line, "%s", message);
}

enum status population_read(struct population *p, const char *name, const char *text, size_t length,
			    bool shipped, struct error *err)
{
	struct population_reading r = { .p = p, .err = err, .name = name, .shipped = shipped };
	const struct ini_sink sink = { .context = &r,
				       .section = population_read_on_section,
				       .entry = population_read_on_entry,
				       .problem = population_read_on_problem };

	ini_read(text, length, &sink);
	population_read_finish_section(&r);
	population_read_heading_release(&r.heading);
	free(r.id);
	return err->status;
}
