#include "report/claims/claims_expression.h"

#include <stdlib.h>
#include <string.h>

#include "base/former_names.h"
#include "base/memory.h"
#include "base/text.h"
#include "plan/ini/hint.h"
#include "plan/limits/limit.h"

#define COMPLEMENT "1 - "
#define OVER " / "
#define AT " at "
#define MOST_METRICS 512

static const struct metric *find_metric(const struct schema *schema, const char *name,
					const struct suite **suite)
{
	for (const struct suite *const *s = schema->suites; *s; s++)
		for (const struct metric *m = (*s)->metrics; m && m->name; m++)
			if (strcmp(m->name, name) == 0) {
				*suite = *s;
				return m;
			}
	return NULL;
}

static enum status unknown_metric(const struct schema *schema, const char *name, struct error *err)
{
	const char *names[MOST_METRICS];
	size_t n = 0;

	for (const struct suite *const *s = schema->suites; *s; s++)
		for (const struct metric *m = (*s)->metrics;
		     m && m->name && n + 1 < ARRAY_SIZE(names); m++)
			names[n++] = m->name;
	names[n] = NULL;
	return error_set(err, STATUS_USAGE,
			 "there is no metric '%.60s'%s; gpuproof list metrics shows all", name,
			 hint_for(name, names).text);
}

/* The conditions of a point with values as results have them: "label:small, size:64MiB". */
static enum status canonical_where(const struct limit *limit, struct text *out, struct error *err)
{
	for (size_t i = 0; i < limit->condition_count; i++) {
		const struct condition *c = &limit->conditions[i];

		if (c->test != CONDITION_IS || c->word_count != 1)
			return error_set(err, STATUS_USAGE, "'%.60s' takes one value here",
					 c->name);
		text_addf(out, "%s%s:%s", i ? ", " : "", c->name, c->words[0]);
	}
	return STATUS_OK;
}

static enum status read_point(struct claim_term *term, struct claim_group *group,
			      const struct suite *suite, const struct claim_point *point,
			      struct error *err)
{
	struct limit limit = { .suite = suite };
	struct text where = TEXT_EMPTY;

	if (conditions_read(&limit, point->where, err) == STATUS_OK &&
	    canonical_where(&limit, &where, err) == STATUS_OK)
		term->where = claim_group_keep(group, where.data ? where.data : "");
	limit_release(&limit);
	text_release(&where);
	if (err->status != STATUS_OK)
		error_prefix(err, "point %.60s = %.200s", point->name, point->where);
	return err->status;
}

static enum status find_point(const struct claim_points *points, const char *name,
			      const struct claim_point **found, struct error *err)
{
	const char **names = xcalloc(points->count + 1, sizeof(*names));

	*found = NULL;
	for (size_t i = 0; i < points->count; i++) {
		names[i] = points->items[i].name;
		if (strcmp(names[i], name) == 0)
			*found = &points->items[i];
	}
	if (!*found)
		error_set(err, STATUS_USAGE, "[points] before this line has no '%.60s'%s", name,
			  hint_for(name, names).text);
	free(names);
	return err->status;
}

static enum status read_term(struct claim_term *term, struct claim_group *group,
			     const struct schema *schema, const struct claim_points *points,
			     const char *text, struct error *err)
{
	const char *at = strstr(text, AT);
	char *name = text_trimmed(text, at ? (size_t)(at - text) : strlen(text));
	char *point_name = at ? text_trimmed(at + strlen(AT), strlen(at + strlen(AT))) : NULL;
	const struct suite *suite = NULL;
	const struct metric *metric =
		find_metric(schema, current_name(NAME_METRIC, "", name), &suite);
	const struct claim_point *point = NULL;

	*term = (struct claim_term){ NULL, "" };
	if (!metric)
		unknown_metric(schema, name, err);
	else if (!point_name || find_point(points, point_name, &point, err) == STATUS_OK)
		term->metric = metric->name;
	if (term->metric && point)
		read_point(term, group, suite, point, err);
	free(name);
	free(point_name);
	return err->status;
}

enum status claim_value_read(struct claim_measure *measure, struct claim_group *group,
			     const struct schema *schema, const struct claim_points *points,
			     const char *text, struct error *err)
{
	struct claim_term *const terms[] = { &measure->a, &measure->b, &measure->c };
	size_t count = 0;

	measure->complement = text_starts_with(text, COMPLEMENT);
	for (const char *p = text + (measure->complement ? strlen(COMPLEMENT) : 0); p;) {
		const char *over = strstr(p, OVER);
		char *term = text_trimmed(p, over ? (size_t)(over - p) : strlen(p));

		if (count == ARRAY_SIZE(terms))
			error_set(err, STATUS_USAGE, "a quotient has %zu terms at most", count);
		else
			read_term(terms[count++], group, schema, points, term, err);
		free(term);
		p = over && err->status == STATUS_OK ? over + strlen(OVER) : NULL;
	}
	return err->status;
}

enum status claim_bound_read(const struct claim_measure *measure, const struct schema *schema,
			     const char *text, double *bound, struct error *err)
{
	const struct suite *suite;
	const bool ratio =
		measure->b.metric || measure->complement || measure->across != CLAIM_ONE_RESULT;
	const struct metric quotient = { "the quotient", "1", BETTER_NONE, 0, "" };
	struct bound read = { 0 };

	if (bound_read(&read, text,
		       ratio ? &quotient : find_metric(schema, measure->a.metric, &suite),
		       err) == STATUS_OK &&
	    read.kind != BOUND_ABSOLUTE)
		error_set(err, STATUS_USAGE, "a claim is held against a number");
	*bound = read.factor;
	free(read.text);
	free(read.spec);
	free(read.place);
	return err->status;
}
