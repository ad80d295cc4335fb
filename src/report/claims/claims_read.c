/* Files of claims (claims.h), read as configs are: sections with tables of keys. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/input.h"
#include "base/memory.h"
#include "plan/ini/hint.h"
#include "plan/limits/limit.h"
#include "plan/resolve.h"
#include "report/claims/claims.h"

#define FILE_MOST_BYTES ((size_t)1 << 20)

#define COMPLEMENT "1 - "
#define OVER " / "
#define AT " at "

static const char *const devices[] = { "any", "gpu", "nvlink", NULL };
static const char *const better[] = { "none", "higher", "lower", NULL };
static const char *const across[] = { "one", "models", "versions", "machines", NULL };

static const struct key guide_keys[] = {
	{ .name = "title", .type = KEY_TEXT, .help = "heading of the guide's table on the page" },
	{ .name = "about", .type = KEY_TEXT, .help = "subject of the guide" },
	{ 0 },
};
static const struct key claim_keys[] = {
	{ .name = "text", .type = KEY_TEXT, .help = "the claim, in your own words" },
	{ .name = "source",
	  .type = KEY_TEXT,
	  .help = "section or page of the guide that makes the claim" },
	{ .name = "prediction", .type = KEY_TEXT, .help = "value that formulas predict" },
	{ .name = "devices", .type = KEY_CHOICE, .choices = devices, .fallback = "any" },
	{ .name = "untestable", .type = KEY_TEXT, .fallback = "" },
	{ 0 },
};
static const struct key measure_keys[] = {
	{ .name = "what", .type = KEY_TEXT, .help = "the measured quantity, in words" },
	{ .name = "value", .type = KEY_TEXT, .help = "METRIC at POINT / METRIC at POINT" },
	{ .name = "min", .type = KEY_TEXT, .fallback = "" },
	{ .name = "max", .type = KEY_TEXT, .fallback = "" },
	{ .name = "better", .type = KEY_CHOICE, .choices = better, .fallback = "none" },
	{ .name = "across", .type = KEY_CHOICE, .choices = across, .fallback = "one" },
	{ .name = "count_failed", .type = KEY_BOOL, .fallback = "no" },
	{ .name = "optional", .type = KEY_BOOL, .fallback = "no" },
	{ .name = "yes_no", .type = KEY_BOOL, .fallback = "no" },
	{ 0 },
};
static const struct section_kind kinds[] = {
	{ "guide", true, guide_keys },
	{ "points", false, NULL },
	{ "claim", true, claim_keys },
	{ "measure", true, measure_keys },
	{ 0 },
};

struct claims_reading {
	struct claim_group *group;
	const struct schema *schema;
	struct document *document;
	const struct document_section *own; /* which is read */
	const struct section *section;      /* the same, typed */
};

/* A copy of `text` that lives as long as the group. */
static const char *claims_read_keep_text(struct claim_group *group, const char *text)
{
	ARRAY_GROW(group->texts, group->text_count, group->text_capacity);
	return group->texts[group->text_count++] = xstrdup(text);
}

static const char *claims_read_text_of(struct claims_reading *r, const char *key)
{
	return claims_read_keep_text(r->group, section_text(r->section, key));
}

/* Reports an invalid value of a key. */
static void claims_read_bad_value(struct claims_reading *r, const char *key, const char *why)
{
	const struct entry *entry = document_section_entry(r->own, key);

	document_problem(r->document, entry->place, "[measure %s] %s = %.100s: %s", r->own->name,
			 key, entry->value, why);
}

/* The conditions of a point with values as results have them: "label:small, size:64MiB". */
static enum status claims_read_point(struct claims_reading *r, struct limit *limit,
				     const char *name, const char **where, struct error *err)
{
	const struct document_section *points = document_find(r->document, "points", "", "");
	const struct entry *point = document_section_entry(points, name);
	size_t count = points ? points->count : 0;
	const char **names = xcalloc(count + 1, sizeof(*names));
	struct text text = TEXT_EMPTY;

	for (size_t i = 0; i < count; i++)
		names[i] = points->entries[i].key;
	if (!point || !point->value)
		error_set(err, STATUS_USAGE, "[points] has no '%.60s'%s", name,
			  hint_for(name, names).text);
	else
		plan_limit_conditions_read(limit, point->value, err);
	for (size_t i = 0; err->status == STATUS_OK && i < limit->condition_count; i++) {
		const struct condition *c = &limit->conditions[i];

		if (c->test != CONDITION_IS || c->word_count != 1)
			error_set(err, STATUS_USAGE, "'%.60s' accepts only one value here",
				  c->name);
		else
			text_addf(&text, "%s%s:%s", i ? ", " : "", c->name, c->words[0]);
	}
	*where = claims_read_keep_text(r->group, text.data ? text.data : "");
	text_release(&text);
	free(names);
	return err->status;
}

/* "METRIC", "METRIC at POINT" */
static enum status claims_read_term(struct claims_reading *r, struct claim_term *term,
				    const char *text, struct error *err)
{
	const char *at = strstr(text, AT);
	char *name = text_trimmed(text, at ? (size_t)(at - text) : strlen(text));
	char *point = at ? text_trimmed(at + strlen(AT), strlen(at + strlen(AT))) : NULL;
	struct limit limit = { 0 };

	*term = (struct claim_term){ NULL, "" };
	if (limit_read_metric(&limit, r->schema, name, err) == STATUS_OK) {
		term->metric = limit.metric->name;
		if (!limit.suite)
			error_set(err, STATUS_USAGE,
				  "the metric belongs to nodes, but no case has one");
		else if (point &&
			 claims_read_point(r, &limit, point, &term->where, err) != STATUS_OK)
			error_prefix(err, "%.60s", point);
	}
	limit_release(&limit);
	free(name);
	free(point);
	return err->status;
}

static void claims_file_read_value(struct claims_reading *r, struct claim_measure *m)
{
	const char *text = section_text(r->section, "value");
	struct error err = ERROR_NONE;
	size_t count = 0;

	m->complement = text_starts_with(text, COMPLEMENT);
	for (const char *p = text + (m->complement ? strlen(COMPLEMENT) : 0); p;) {
		const char *over = strstr(p, OVER);
		char *term = text_trimmed(p, over ? (size_t)(over - p) : strlen(p));

		if (count == CLAIM_TERMS)
			error_set(&err, STATUS_USAGE, "a quotient has at most %d terms",
				  CLAIM_TERMS);
		else
			claims_read_term(r, &m->terms[count++], term, &err);
		free(term);
		p = over && err.status == STATUS_OK ? over + strlen(OVER) : NULL;
	}
	if (err.status == STATUS_OK && m->across == CLAIM_MODELS && count != 2)
		error_set(&err, STATUS_USAGE, "across = models needs two terms");
	if (err.status != STATUS_OK)
		claims_read_bad_value(r, "value", err.message);
}

/*
 * Reads a bound in the unit of the measure, whose terms and `across` are set. `none`: the value if
 * the key is absent.
 */
static double claims_read_bound(struct claims_reading *r, const struct claim_measure *m,
				const char *key, double none)
{
	static const struct metric quotient = { "the quotient", "1", BETTER_NONE, 0, "" };
	bool ratio = m->terms[1].metric || m->complement || m->across != CLAIM_ONE_RESULT;
	const char *text = section_text(r->section, key);
	struct limit limit = { .metric = &quotient };
	struct error err = ERROR_NONE;

	if (!*text)
		return none;
	if (!ratio)
		limit_read_metric(&limit, r->schema, m->terms[0].metric, &err);
	if (plan_limit_bound_read(&limit.min, text, limit.metric, &err) == STATUS_OK &&
	    limit.min.kind != BOUND_ABSOLUTE)
		error_set(&err, STATUS_USAGE, "a claim compares its measures with numbers only");
	if (err.status != STATUS_OK)
		claims_read_bad_value(r, key, err.message);
	none = limit.min.factor;
	limit_release(&limit);
	return none;
}

static void claims_read_guide(struct claims_reading *r)
{
	struct claim_group *g = r->group;

	if (g->id)
		document_problem(r->document, r->own->place,
				 "second [guide]; a file contains the claims of one guide");
	g->id = claims_read_keep_text(g, r->own->name);
	g->title = claims_read_text_of(r, "title");
	g->guide = claims_read_text_of(r, "about");
}

static void read_claim(struct claims_reading *r)
{
	struct claim_group *g = r->group;
	struct claim *c;

	ARRAY_GROW(g->claims, g->count, g->capacity);
	c = &g->claims[g->count++];
	*c = (struct claim){
		.id = claims_read_keep_text(g, r->own->name),
		.claim = claims_read_text_of(r, "text"),
		.source = claims_read_text_of(r, "source"),
		.prediction = claims_read_text_of(r, "prediction"),
		.untestable = claims_read_text_of(r, "untestable"),
		.on = (enum claim_on)section_integer(r->section, "devices"),
	};
	if (!*c->untestable)
		c->untestable = NULL;
}

/* "A1.2" is a measure of the claim A1. */
static void claims_read_measure(struct claims_reading *r)
{
	const char *id = r->own->name, *dot = strrchr(id, '.');
	size_t length = dot ? (size_t)(dot - id) : 0, count = 0;
	struct claim *c = NULL;
	struct claim_measure *m;

	for (size_t i = 0; i < r->group->count; i++)
		if (strlen(r->group->claims[i].id) == length &&
		    memcmp(r->group->claims[i].id, id, length) == 0)
			c = &r->group->claims[i];
	while (c && count < CLAIM_MEASURES && c->measures[count].what)
		count++;
	if (!c || count == CLAIM_MEASURES) {
		document_problem(r->document, r->own->place,
				 c ? "[measure %s]: a claim has at most %d measures"
				   : "[measure %s] does not belong to a [claim] above; write "
				     "CLAIM.NUMBER, such as A1.1",
				 id, CLAIM_MEASURES);
		return;
	}
	m = &c->measures[count];
	m->what = claims_read_text_of(r, "what");
	m->across = (enum claim_across)section_integer(r->section, "across");
	m->even_failed = section_integer(r->section, "count_failed");
	m->where_possible = section_integer(r->section, "optional");
	m->yes_no = section_integer(r->section, "yes_no");
	claims_file_read_value(r, m);
	if (r->document->problem_count)
		return;
	m->better = (enum claim_better)section_integer(r->section, "better");
	m->low = claims_read_bound(r, m, "min", -HUGE_VAL);
	m->high = claims_read_bound(r, m, "max", HUGE_VAL);
	if (m->low > m->high)
		claims_read_bad_value(r, "min", "min is above max");
}

static void claims_read_section(struct claims_reading *r)
{
	struct section section;

	section_resolve(&section, r->schema, r->document, r->own);
	r->section = &section;
	if (!r->document->problem_count && strcmp(section.kind, "guide") == 0)
		claims_read_guide(r);
	else if (!r->document->problem_count && strcmp(section.kind, "claim") == 0)
		read_claim(r);
	else if (!r->document->problem_count)
		claims_read_measure(r);
	section_release(&section);
}

/* Each claim needs a measure that decides it, or the reason why none can. */
static void claims_read_check(const struct claim_group *g, struct document *d)
{
	for (size_t i = 0; i < g->count && !d->problem_count; i++) {
		const struct claim *c = &g->claims[i];
		bool decided = false;

		for (size_t k = 0; k < CLAIM_MEASURES; k++)
			decided = decided || claim_is_decisive(&c->measures[k]);
		if (decided == (c->untestable != NULL))
			document_problem(d, document_find(d, "claim", c->id, "")->place,
					 "[claim %s] needs a [measure] with min or max, or the key "
					 "untestable",
					 c->id);
	}
	if (!d->problem_count && (!g->id || !g->count))
		document_problem(d, (struct ini_place){ 0, 1 },
				 "a claims file needs a [guide] and a [claim]");
}

enum status claims_read(struct claim_group *group, const struct schema *schema, const char *name,
			const char *text, size_t length, struct error *err)
{
	struct schema own = *schema;
	struct document d;
	struct text problems = TEXT_EMPTY;
	struct claims_reading r = { .group = group, .schema = &own, .document = &d };

	*group = (struct claim_group){ 0 };
	own.kinds = kinds;
	document_init(&d, schema->suites);
	d.kinds = kinds;
	document_read_text(&d, name, text, length);
	for (size_t i = 0; i < d.section_count && !d.problem_count; i++) {
		r.own = &d.sections[i];
		if (strcmp(r.own->kind, "points") != 0)
			claims_read_section(&r);
	}
	claims_read_check(group, &d);
	document_problems(&d, &problems);
	if (d.problem_count) {
		error_set(err, STATUS_USAGE, "%.*s", (int)strcspn(problems.data, "\n"),
			  problems.data);
		claims_read_group_release(group);
	}
	text_release(&problems);
	document_release(&d);
	return err->status;
}

void claims_read_group_release(struct claim_group *group)
{
	for (size_t i = 0; i < group->text_count; i++)
		free(group->texts[i]);
	free(group->texts);
	free(group->claims);
	*group = (struct claim_group){ 0 };
}

enum status claims_read_load(struct claim_set *set, const char *file, struct error *err)
{
	struct text text = TEXT_EMPTY;
	struct embedded_file own[2] = { { .name = file } };

	*set = (struct claim_set){ 0 };
	if (file && input_read_file(file, "claims", FILE_MOST_BYTES, &text, err) == STATUS_OK) {
		own[0].data = (const unsigned char *)(text.data ? text.data : "");
		own[0].size = text.length;
	}
	for (const struct embedded_file *f = file ? own : embedded_claims;
	     f->name && err->status == STATUS_OK; f++) {
		set->groups = xrealloc(set->groups, set->count + 1, sizeof(*set->groups));
		claims_read(&set->groups[set->count++], &schema_program, f->name,
			    (const char *)f->data, f->size, err);
	}
	text_release(&text);
	if (err->status != STATUS_OK)
		claims_read_release(set);
	return err->status;
}

void claims_read_release(struct claim_set *set)
{
	for (size_t i = 0; i < set->count; i++)
		claims_read_group_release(&set->groups[i]);
	free(set->groups);
	*set = (struct claim_set){ 0 };
}
