#include "report/claims/claims_read.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/input.h"
#include "base/memory.h"
#include "base/text.h"
#include "plan/ini/ini.h"
#include "report/claims/claims_expression.h"

#define FILE_MOST_BYTES ((size_t)1 << 20)
/*
 * More claims and points than any guide has: the time for a hostile file does not grow with the
 * square of its size.
 */
#define MOST_CLAIMS 500

enum claims_section { SECTION_NONE, SECTION_GUIDE, SECTION_POINTS, SECTION_CLAIM, SECTION_MEASURE };
static const char *const section_names[] = { NULL, "guide", "points", "claim", "measure" };

/* Entries of a [measure], which are read together when the section ends. */
struct pending {
	char *text;
	size_t line;
};

struct reading {
	struct claim_group *group;
	const struct schema *schema;
	const char *name;
	struct error *err;
	enum claims_section section;
	size_t header; /* line of the section */
	struct claim_points points;
	size_t claim_lines[MOST_CLAIMS];
	struct claim *claim; /* of the section */
	struct claim_measure *measure;
	const char *measure_ids[MOST_CLAIMS * CLAIM_MEASURES];
	size_t measure_count;
	struct pending value, min, max;
	struct text keys; /* of the section so far, one a line */
};

static void complain(struct reading *r, size_t line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void complain(struct reading *r, size_t line, const char *format, ...)
{
	char message[900];
	va_list ap;

	va_start(ap, format);
	vsnprintf(message, sizeof(message), format, ap);
	va_end(ap);
	error_set(r->err, STATUS_USAGE, "%s:%zu: %s", r->name, line, message);
}

const char *claim_group_keep(struct claim_group *group, const char *text)
{
	ARRAY_GROW(group->texts, group->text_count, group->text_capacity);
	return group->texts[group->text_count++] = xstrdup(text);
}

static void read_bound(struct reading *r, const char *key, const struct pending *written,
		       double *bound)
{
	struct error err = ERROR_NONE;

	if (written->text &&
	    claim_bound_read(r->measure, r->schema, written->text, bound, &err) != STATUS_OK)
		complain(r, written->line, "%s = %.60s: %s", key, written->text, err.message);
}

static void finish_measure(struct reading *r)
{
	struct claim_measure *m = r->measure;
	struct error err = ERROR_NONE;

	if (!m->what || !r->value.text)
		complain(r, r->header, "[measure] needs what and value");
	else if (claim_value_read(m, r->group, r->schema, &r->points, r->value.text, &err) !=
		 STATUS_OK)
		complain(r, r->value.line, "value = %.100s: %s", r->value.text, err.message);
	if (r->err->status != STATUS_OK)
		return;
	read_bound(r, "min", &r->min, &m->low);
	read_bound(r, "max", &r->max, &m->high);
	if (m->low > m->high)
		complain(r, r->min.line, "min = %.60s: above max = %.60s", r->min.text,
			 r->max.text);
	if (m->across == CLAIM_MODELS && (!m->b.metric || m->c.metric))
		complain(r, r->value.line, "value = %.100s: across = models needs two terms",
			 r->value.text);
}

static void release_pending(struct reading *r)
{
	free(r->value.text);
	free(r->min.text);
	free(r->max.text);
	r->value = r->min = r->max = (struct pending){ 0 };
}

static void finish_section(struct reading *r)
{
	const struct claim *c = r->claim;

	if (r->err->status != STATUS_OK)
		;
	else if (r->section == SECTION_GUIDE && (!r->group->title || !r->group->guide))
		complain(r, r->header, "[guide] needs title and about");
	else if (r->section == SECTION_CLAIM && (!c->claim || !c->source || !c->prediction))
		complain(r, r->header, "[claim] needs text, source and prediction");
	else if (r->section == SECTION_MEASURE)
		finish_measure(r);
	release_pending(r);
}

static struct claim *find_claim(const struct reading *r, const char *id, size_t length)
{
	for (size_t i = 0; i < r->group->count; i++)
		if (strlen(r->group->claims[i].id) == length &&
		    memcmp(r->group->claims[i].id, id, length) == 0)
			return &r->group->claims[i];
	return NULL;
}

static void begin_claim(struct reading *r, size_t line, const char *id)
{
	struct claim_group *g = r->group;

	if (find_claim(r, id, strlen(id)))
		complain(r, line, "a second [claim %s]", id);
	else if (g->count == MOST_CLAIMS)
		complain(r, line, "there are more than %d claims", MOST_CLAIMS);
	else {
		ARRAY_GROW(g->claims, g->count, g->capacity);
		r->claim_lines[g->count] = line;
		r->claim = &g->claims[g->count++];
		*r->claim = (struct claim){ .id = claim_group_keep(g, id) };
	}
}

/* "A1.2" is a measure of the claim A1. */
static void begin_measure(struct reading *r, size_t line, const char *id)
{
	const char *dot = strrchr(id, '.');
	struct claim *claim = dot ? find_claim(r, id, (size_t)(dot - id)) : NULL;
	size_t count = 0;

	for (size_t i = 0; i < r->measure_count; i++)
		if (strcmp(r->measure_ids[i], id) == 0)
			complain(r, line, "a second [measure %s]", id);
	while (claim && count < CLAIM_MEASURES && claim->measures[count].what)
		count++;
	if (!claim)
		complain(r, line,
			 "[measure %s] is of no [claim] before this line: CLAIM.NUMBER, as A1.1",
			 id);
	else if (count == CLAIM_MEASURES)
		complain(r, line, "[claim %s] has more than %d measures", claim->id,
			 CLAIM_MEASURES);
	if (r->err->status != STATUS_OK)
		return;
	r->measure = &claim->measures[count];
	r->measure->low = -HUGE_VAL;
	r->measure->high = HUGE_VAL;
	r->measure_ids[r->measure_count++] = claim_group_keep(r->group, id);
}

static bool is_id(const char *id)
{
	size_t length = 0;

	for (; id[length]; length++)
		if (!isalnum((unsigned char)id[length]) && !strchr("_-.", id[length]))
			return false;
	return length > 0;
}

static enum claims_section section_of(const char *header, const char **id)
{
	for (size_t i = 1; i < ARRAY_SIZE(section_names); i++) {
		size_t length = strlen(section_names[i]);

		if (strncmp(header, section_names[i], length) == 0 &&
		    (header[length] == ' ' || !header[length])) {
			*id = header + length + strspn(header + length, " ");
			return (enum claims_section)i;
		}
	}
	return SECTION_NONE;
}

static void on_section(void *context, size_t line, const char *header)
{
	struct reading *r = context;
	const char *id = "";

	finish_section(r);
	if (r->err->status != STATUS_OK)
		return;
	r->section = section_of(header, &id);
	r->header = line;
	text_reset(&r->keys);
	if (r->section == SECTION_NONE)
		complain(r, line,
			 "[%.60s] is not a section of claims; sections: [guide ID], [points], "
			 "[claim ID], [measure ID]",
			 header);
	else if (r->section == SECTION_POINTS ? *id : !is_id(id))
		complain(r, line, "[%.60s]: %s", header,
			 r->section == SECTION_POINTS
				 ? "[points] takes no name"
				 : "an id of letters, digits, '_', '-' and '.' is needed");
	else if (r->section == SECTION_GUIDE && r->group->id)
		complain(r, line, "a second [guide]: a file holds the claims of one");
	else if (r->section == SECTION_POINTS && r->points.count)
		complain(r, line, "a second [points]");
	else if (r->section == SECTION_GUIDE)
		r->group->id = claim_group_keep(r->group, id);
	else if (r->section == SECTION_CLAIM)
		begin_claim(r, line, id);
	else if (r->section == SECTION_MEASURE)
		begin_measure(r, line, id);
}

static void unknown_key(struct reading *r, size_t line, const char *key, const char *const *keys)
{
	char *instead = text_instead(key, keys);

	complain(r, line, "[%s] has no key '%.60s'%s", section_names[r->section], key, instead);
	free(instead);
}

/* False: the section has the key already, which is reported. */
static bool is_new_key(struct reading *r, size_t line, const char *key)
{
	char *as_line = xasprintf("\n%s\n", key);
	bool again = r->keys.data && strstr(r->keys.data, as_line);

	if (again)
		complain(r, line, "[%s] has '%.60s' a second time", section_names[r->section], key);
	text_add(&r->keys, as_line);
	free(as_line);
	return !again;
}

/* Index of the value among the words; 0 where it is none, which is reported. */
static int choice(struct reading *r, size_t line, const char *key, const char *value,
		  const char *const *words)
{
	struct text list = TEXT_EMPTY;

	for (int i = 0; words[i]; i++)
		if (strcmp(words[i], value) == 0)
			return i;
	for (int i = 0; words[i]; i++)
		text_addf(&list, "%s%s", i ? ", " : "", words[i]);
	complain(r, line, "%s = %.60s: one of %s", key, value, list.data);
	text_release(&list);
	return 0;
}

static void on_guide(struct reading *r, size_t line, const char *key, const char *value)
{
	static const char *const keys[] = { "title", "about", NULL };

	if (strcmp(key, "title") == 0)
		r->group->title = claim_group_keep(r->group, value);
	else if (strcmp(key, "about") == 0)
		r->group->guide = claim_group_keep(r->group, value);
	else
		unknown_key(r, line, key, keys);
}

static void on_point(struct reading *r, size_t line, const char *name, const char *where)
{
	struct claim_points *points = &r->points;

	if (!is_id(name))
		complain(r, line,
			 "'%.60s': the name of a point has letters, digits, '_', '-' and '.' only",
			 name);
	else if (points->count == MOST_CLAIMS)
		complain(r, line, "there are more than %d points", MOST_CLAIMS);
	if (r->err->status != STATUS_OK)
		return;
	ARRAY_GROW(points->items, points->count, points->capacity);
	points->items[points->count++] = (struct claim_point){ claim_group_keep(r->group, name),
							       claim_group_keep(r->group, where) };
}

static void on_claim(struct reading *r, size_t line, const char *key, const char *value)
{
	static const char *const keys[] = { "text",    "source",     "prediction",
					    "devices", "untestable", NULL };
	static const char *const devices[] = { "any", "gpu", "nvlink", NULL };
	struct claim *c = r->claim;

	if (strcmp(key, "text") == 0)
		c->claim = claim_group_keep(r->group, value);
	else if (strcmp(key, "source") == 0)
		c->source = claim_group_keep(r->group, value);
	else if (strcmp(key, "prediction") == 0)
		c->prediction = claim_group_keep(r->group, value);
	else if (strcmp(key, "untestable") == 0)
		c->untestable = claim_group_keep(r->group, value);
	else if (strcmp(key, "devices") == 0)
		c->on = (enum claim_on)choice(r, line, key, value, devices);
	else
		unknown_key(r, line, key, keys);
}

static void on_measure(struct reading *r, size_t line, const char *key, const char *value)
{
	static const char *const keys[] = { "what",         "value",    "min",    "max", "across",
					    "count_failed", "optional", "yes_no", NULL };
	static const char *const across[] = { "one", "models", "versions", "machines", NULL };
	static const char *const yes[] = { "no", "yes", NULL };
	struct claim_measure *m = r->measure;

	if (strcmp(key, "what") == 0)
		m->what = claim_group_keep(r->group, value);
	else if (strcmp(key, "value") == 0)
		r->value = (struct pending){ xstrdup(value), line };
	else if (strcmp(key, "min") == 0)
		r->min = (struct pending){ xstrdup(value), line };
	else if (strcmp(key, "max") == 0)
		r->max = (struct pending){ xstrdup(value), line };
	else if (strcmp(key, "across") == 0)
		m->across = (enum claim_across)choice(r, line, key, value, across);
	else if (strcmp(key, "count_failed") == 0)
		m->even_failed = choice(r, line, key, value, yes);
	else if (strcmp(key, "optional") == 0)
		m->where_possible = choice(r, line, key, value, yes);
	else if (strcmp(key, "yes_no") == 0)
		m->yes_no = choice(r, line, key, value, yes);
	else
		unknown_key(r, line, key, keys);
}

static void on_entry(void *context, size_t line, const char *key, const char *value)
{
	struct reading *r = context;

	if (r->err->status != STATUS_OK)
		return;
	if (r->section == SECTION_NONE)
		complain(r, line, "'%.60s' is before any section", key);
	else if (!*value)
		complain(r, line, "%.60s: a value is missing", key);
	else if (!is_new_key(r, line, key))
		;
	else if (r->section == SECTION_GUIDE)
		on_guide(r, line, key, value);
	else if (r->section == SECTION_POINTS)
		on_point(r, line, key, value);
	else if (r->section == SECTION_CLAIM)
		on_claim(r, line, key, value);
	else
		on_measure(r, line, key, value);
}

static void on_problem(void *context, size_t line, const char *message)
{
	complain(context, line, "%s", message);
}

/* Each claim is decided by a measure, or says why none can. */
static void check_claims(struct reading *r)
{
	for (size_t i = 0; i < r->group->count; i++) {
		const struct claim *c = &r->group->claims[i];
		bool decided = false;

		for (size_t k = 0; k < CLAIM_MEASURES; k++)
			decided = decided || claim_is_decisive(&c->measures[k]);
		if (decided == (c->untestable != NULL))
			complain(r, r->claim_lines[i],
				 "[claim %s] needs a [measure] with min or max, or else untestable",
				 c->id);
	}
	if (!r->group->id || !r->group->count)
		complain(r, 1, "a file of claims needs a [guide] and a [claim]");
}

enum status claims_read(struct claim_group *group, const struct schema *schema, const char *name,
			const char *text, size_t length, struct error *err)
{
	struct reading r = { .group = group, .schema = schema, .name = name, .err = err };
	const struct ini_sink sink = {
		.context = &r, .section = on_section, .entry = on_entry, .problem = on_problem
	};

	*group = (struct claim_group){ 0 };
	ini_read(text, length, &sink);
	finish_section(&r);
	if (err->status == STATUS_OK)
		check_claims(&r);
	free(r.points.items);
	text_release(&r.keys);
	if (err->status != STATUS_OK)
		claim_group_release(group);
	return err->status;
}

void claim_group_release(struct claim_group *group)
{
	for (size_t i = 0; i < group->text_count; i++)
		free(group->texts[i]);
	free(group->texts);
	free(group->claims);
	*group = (struct claim_group){ 0 };
}

static struct claim_group *add_group(struct claim_set *set)
{
	set->groups = xrealloc(set->groups, set->count + 1, sizeof(*set->groups));
	set->groups[set->count] = (struct claim_group){ 0 };
	return &set->groups[set->count++];
}

static void read_file(struct claim_set *set, const char *path, struct error *err)
{
	struct text text = TEXT_EMPTY;

	if (input_read_file(path, "claims", FILE_MOST_BYTES, &text, err) == STATUS_OK)
		claims_read(add_group(set), &schema_program, path, text.data ? text.data : "",
			    text.length, err);
	text_release(&text);
}

enum status claims_load(struct claim_set *set, const char *file, struct error *err)
{
	*set = (struct claim_set){ 0 };
	if (file)
		read_file(set, file, err);
	for (const struct embedded_file *f = embedded_claims;
	     !file && f->name && err->status == STATUS_OK; f++)
		claims_read(add_group(set), &schema_program, f->name, (const char *)f->data,
			    f->size, err);
	if (err->status != STATUS_OK)
		claims_release(set);
	return err->status;
}

void claims_release(struct claim_set *set)
{
	for (size_t i = 0; i < set->count; i++)
		claim_group_release(&set->groups[i]);
	free(set->groups);
	*set = (struct claim_set){ 0 };
}
