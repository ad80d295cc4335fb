/* From the text of a file to struct population. */
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

/* Others are slips of a unit. */
#define LEAST_RATE 1
#define MOST_RATE 1e18

enum section { SECTION_NONE, SECTION_POPULATION, SECTION_CARD, SECTION_FIGURE, SECTION_KINDS };

/* Keys of [figure] and [kinds] that precede their values. */
struct heading {
	char *point, *preheat, *metric, *unit;
	char *model, *measured, *driver, *origin, *cards;
	double spread;
};

struct reading {
	struct population *p;
	struct error *err;
	const char *name;
	bool shipped;
	enum section section;
	size_t header; /* line of the section */
	char *id;      /* of the card */
	struct heading heading;
	struct population_figure *figure; /* once its values begin */
};

static void complain(struct reading *r, size_t line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void complain(struct reading *r, size_t line, const char *format, ...)
{
	char message[600];
	va_list ap;

	va_start(ap, format);
	vsnprintf(message, sizeof(message), format, ap);
	va_end(ap);
	error_set(r->err, STATUS_USAGE, "%s:%zu: %s", r->name, line, message);
}

static void take(char **member, const char *value)
{
	free(*member);
	*member = xstrdup(value);
}

static void heading_release(struct heading *h)
{
	char *texts[] = { h->point,    h->preheat, h->metric, h->unit, h->model,
			  h->measured, h->driver,  h->origin, h->cards };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		free(texts[i]);
	*h = (struct heading){ .spread = NAN };
}

/* "2026-11-20" */
static bool is_day(const char *text)
{
	for (size_t i = 0; i < 10; i++)
		if (i == 4 || i == 7 ? text[i] != '-' : !isdigit((unsigned char)text[i]))
			return false;
	return text[10] == '\0';
}

static bool is_rate(const char *unit)
{
	return strcmp(unit, "B/s") == 0 || strcmp(unit, "FLOP/s") == 0;
}

/* Checks that a figure's heading is complete, and then adds it to the population. */
static bool begin_values(struct reading *r, size_t line)
{
	const struct heading *h = &r->heading;

	if (r->figure)
		return true;
	if (!h->point || !h->metric || !h->unit)
		complain(r, line, "case, metric and unit must be before the values of a figure");
	else if (!is_rate(h->unit))
		complain(r, line, "unit = %.30s: populations are of rates, B/s or FLOP/s", h->unit);
	else
		r->figure = population_add_figure(r->p, h->point, h->preheat ? h->preheat : "",
						  h->metric, h->unit);
	if (r->figure && strcmp(r->figure->unit, h->unit) != 0) {
		complain(r, line, "%.60s of %.60s is in %s elsewhere", h->metric, h->point,
			 r->figure->unit);
		r->figure = NULL;
	}
	return r->figure != NULL;
}

static double read_value(struct reading *r, size_t line, const char *key, const char *text)
{
	struct error err = ERROR_NONE;
	double value = NAN;

	if (units_parse_quantity(text, r->heading.unit, &value, &err) != STATUS_OK)
		complain(r, line, "%.100s: %s", key, err.message);
	else if (!(value >= LEAST_RATE && value <= MOST_RATE))
		complain(r, line, "%.100s = %.60s: a rate of 1 to 1e18 %s", key, text,
			 r->heading.unit);
	else
		return value;
	return NAN;
}

/* "GPU-a" or "GPU-a+GPU-b", each of which needs a [card] section before. */
static bool cards_are_known(struct reading *r, size_t line, const char *cards)
{
	size_t count = 0;

	for (const char *at = cards; at; count++) {
		size_t length = strcspn(at, "+");
		char *id = xstrndup(at, length);
		bool known = population_card(r->p, id) != NULL;

		if (!known)
			complain(r, line, "there is no [card %.60s] before this line", id);
		free(id);
		if (!known)
			return false;
		at = at[length] ? at + length + 1 : NULL;
	}
	if (count <= POPULATION_MOST_DEVICES)
		return true;
	complain(r, line, "%.100s: a value is of one card or of two", cards);
	return false;
}

static void add_value(struct reading *r, size_t line, const char *cards, const char *text)
{
	double value;

	if (!begin_values(r, line) || !cards_are_known(r, line, cards))
		return;
	value = read_value(r, line, cards, text);
	if (!isnan(value))
		population_append_value(r->figure, cards, value)->line = line;
}

/* "36 x 4.48 TB/s" */
static void add_kind(struct reading *r, const char *text)
{
	const struct heading *h = &r->heading;
	char *times = strstr(text, " x ");
	char *number = times ? xstrndup(text, (size_t)(times - text)) : NULL;
	struct error err = ERROR_NONE;
	int64_t count = 0;
	double value = NAN;

	if (!times || units_parse_integer(number, &count, &err) != STATUS_OK || count < 1 ||
	    count > 1000000)
		complain(r, r->header, "cards: '%.60s' is not like 36 x 4.48 TB/s", text);
	else
		value = read_value(r, r->header, "cards", times + strlen(" x "));
	free(number);
	if (isnan(value))
		return;
	ARRAY_GROW(r->figure->values, r->figure->count, r->figure->capacity);
	r->figure->values[r->figure->count++] =
		(struct population_value){ .cards = xstrdup(""),
					   .value = value,
					   .count = (size_t)count,
					   .spread = h->spread,
					   .model = xstrdup(h->model),
					   .measured = xstrdup(h->measured),
					   .driver = xstrdup(h->driver ? h->driver : ""),
					   .origin = xstrdup(h->origin),
					   .shipped = r->shipped };
}

static void finish_kinds(struct reading *r)
{
	const struct heading *h = &r->heading;

	if (!begin_values(r, r->header))
		return;
	if (!h->model || !h->cards || !h->origin || !h->measured || isnan(h->spread)) {
		complain(r, r->header, "[kinds] needs model, measured, cards, spread and origin");
		return;
	}
	for (const char *at = h->cards; at && r->err->status == STATUS_OK;) {
		const char *comma = strchr(at, ',');
		char *one = text_trimmed(at, comma ? (size_t)(comma - at) : strlen(at));

		add_kind(r, one);
		free(one);
		at = comma ? comma + 1 : NULL;
	}
}

static int by_cards(const void *a, const void *b)
{
	const struct population_value *p = *(const struct population_value *const *)a;
	const struct population_value *q = *(const struct population_value *const *)b;
	int order = strcmp(p->cards, q->cards);

	return order ? order : (p->line > q->line) - (p->line < q->line);
}

/* A card counts once in a figure. */
static void check_figure(struct reading *r)
{
	const struct population_figure *f = r->figure;
	const struct population_value **sorted = xcalloc(f->count + 1, sizeof(*sorted));

	for (size_t k = 0; k < f->count; k++)
		sorted[k] = &f->values[k];
	qsort(sorted, f->count, sizeof(*sorted), by_cards);
	for (size_t k = 1; k < f->count; k++)
		if (*sorted[k]->cards && strcmp(sorted[k - 1]->cards, sorted[k]->cards) == 0)
			complain(r, sorted[k]->line, "%.100s is repeated: a card counts once",
				 sorted[k]->cards);
	free(sorted);
}

/* Checks that the section that ends here is complete. */
static void finish_section(struct reading *r)
{
	const struct population_card *card;

	if (r->err->status != STATUS_OK)
		return;
	if (r->section == SECTION_CARD) {
		card = population_card(r->p, r->id);
		if (!*card->model || !*card->measured)
			complain(r, r->header, "[card %.60s] needs model and measured", r->id);
	} else if (r->section == SECTION_FIGURE && !r->figure) {
		complain(r, r->header, "the figure has no values");
	} else if (r->section == SECTION_FIGURE) {
		check_figure(r);
	} else if (r->section == SECTION_KINDS) {
		finish_kinds(r);
	}
}

static void begin_card(struct reading *r, size_t line, const char *id)
{
	const struct population_card *there = population_card(r->p, id);
	struct population_card *card;

	take(&r->id, id);
	if (!population_id_fits(id) || (there && text_starts_with(there->place, r->name))) {
		complain(r, line, there ? "a second [card %.60s]" : "'%.60s' is no name of a card",
			 id);
		r->section = SECTION_NONE;
		return;
	}
	/* The card is in another file: its values are replaced. */
	if (there)
		population_drop_values(r->p, id);
	card = population_add_card(r->p, id);
	card->launches = 1;
	card->shipped = r->shipped;
	free(card->place);
	card->place = xasprintf("%s:%zu", r->name, line);
}

static void on_section(void *context, size_t line, const char *name)
{
	static const struct {
		const char *prefix;
		enum section section;
	} kinds[] = { { "card ", SECTION_CARD },
		      { "figure ", SECTION_FIGURE },
		      { "kinds ", SECTION_KINDS } };
	struct reading *r = context;

	finish_section(r);
	heading_release(&r->heading);
	r->figure = NULL;
	r->header = line;
	r->section = strcmp(name, "population") == 0 ? SECTION_POPULATION : SECTION_NONE;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (text_starts_with(name, kinds[i].prefix))
			r->section = kinds[i].section;
	if (r->section == SECTION_CARD)
		begin_card(r, line, name + strlen("card "));
	else if (r->section == SECTION_NONE)
		complain(r, line,
			 "there is no section [%.60s]; there are [population], [card ID], [figure "
			 "NAME] and [kinds NAME]",
			 name);
}

static void on_population(struct reading *r, size_t line, const char *key, const char *value)
{
	if (strcmp(key, "shipped") != 0)
		complain(r, line, "[population] has no key '%.60s'; keys: shipped", key);
	else if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
		complain(r, line, "shipped = %.60s: yes or no", value);
	else
		r->p->without_shipped = strcmp(value, "no") == 0;
}

static void on_card(struct reading *r, size_t line, const char *key, const char *value)
{
	struct population_card *card = &r->p->cards[population_card(r->p, r->id) - r->p->cards];
	struct error err = ERROR_NONE;
	int64_t launches = 0;

	if (strcmp(key, "model") == 0)
		take(&card->model, value);
	else if (strcmp(key, "driver") == 0)
		take(&card->driver, value);
	else if (strcmp(key, "measured") == 0 && is_day(value))
		take(&card->measured, value);
	else if (strcmp(key, "measured") == 0)
		complain(r, line, "measured = %.60s: a day like 2026-11-20", value);
	else if (strcmp(key, "launches") != 0)
		complain(r, line,
			 "[card] has no key '%.60s'; keys: model, measured, driver, launches", key);
	else if (units_parse_integer(value, &launches, &err) != STATUS_OK || launches < 1 ||
		 launches > 1000000)
		complain(r, line, "launches = %.60s: a number from 1 to 1000000", value);
	else
		card->launches = (size_t)launches;
}

static char **heading_member(struct reading *r, const char *key)
{
	struct heading *h = &r->heading;
	const struct {
		const char *key;
		char **member;
		bool of_kinds;
	} members[] = { { "case", &h->point, false },    { "preheat", &h->preheat, false },
			{ "metric", &h->metric, false }, { "unit", &h->unit, false },
			{ "model", &h->model, true },    { "measured", &h->measured, true },
			{ "driver", &h->driver, true },  { "origin", &h->origin, true },
			{ "cards", &h->cards, true } };

	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (strcmp(members[i].key, key) == 0 &&
		    (!members[i].of_kinds || r->section == SECTION_KINDS))
			return members[i].member;
	return NULL;
}

static void on_heading(struct reading *r, size_t line, const char *key, const char *value)
{
	char **member = heading_member(r, key);
	struct error err = ERROR_NONE;

	if (member && r->figure)
		complain(r, line, "%s must be before the values", key);
	else if (member && strcmp(key, "measured") == 0 && !is_day(value))
		complain(r, line, "measured = %.60s: a day like 2026-11-20", value);
	else if (member)
		take(member,
		     member == &r->heading.metric ? current_name(NAME_METRIC, "", value) : value);
	else if (r->section == SECTION_FIGURE)
		add_value(r, line, key, value);
	else if (strcmp(key, "spread") != 0)
		complain(r, line, "[kinds] has no key '%.60s'", key);
	else if (units_parse_percent(value, &r->heading.spread, &err) != STATUS_OK)
		complain(r, line, "spread: %s", err.message);
	else if (!(r->heading.spread < 0.5))
		complain(r, line, "spread = %.60s: below 50 %%", value);
}

static void on_entry(void *context, size_t line, const char *key, const char *value)
{
	struct reading *r = context;

	if (r->err->status != STATUS_OK)
		return;
	if (!*value)
		complain(r, line, "%.60s: a value is missing", key);
	else if (strcmp(key, "cards") != 0 && !population_text_fits(value))
		complain(r, line, "%.60s: '%.60s' is no text of one line and 180 bytes at most",
			 key, value);
	else if (r->section == SECTION_POPULATION)
		on_population(r, line, key, value);
	else if (r->section == SECTION_CARD)
		on_card(r, line, key, value);
	else if (r->section != SECTION_NONE)
		on_heading(r, line, key, value);
	else
		complain(r, line, "'%.60s' is before any section", key);
}

static void on_problem(void *context, size_t line, const char *message)
{
	complain(context, line, "%s", message);
}

enum status population_read(struct population *p, const char *name, const char *text, size_t length,
			    bool shipped, struct error *err)
{
	struct reading r = { .p = p, .err = err, .name = name, .shipped = shipped };
	const struct ini_sink sink = {
		.context = &r, .section = on_section, .entry = on_entry, .problem = on_problem
	};

	r.heading.spread = NAN;
	ini_read(text, length, &sink);
	finish_section(&r);
	heading_release(&r.heading);
	free(r.id);
	return err->status;
}
