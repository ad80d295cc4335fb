#include "report/view/presented.h"

#include <math.h>
#include <string.h>

#include "base/units.h"
#include "plan/metrics.h"
#include "plan/suite.h"
#include "report/view/suite_page.h"

struct presentation view_presentation(const struct view *view, const char *suite)
{
	const struct suite *known = suite_find(suite);

	for (size_t r = 0; view && r < view->count; r++) {
		const struct presentation *p = result_presentation(&view->results[r], suite);

		if (p) {
			struct presentation shown = *p;

			/* Earlier results have no such rows. */
			if (!shown.sheet && known)
				shown.sheet = known->sheet;
			return shown;
		}
	}
	return known ? suite_presentation(known) : (struct presentation){ .suite = suite };
}

struct suite_page presented_suite_page_of(const char *suite)
{
	const struct suite *known = suite_find(suite);

	return known && known->page ? *known->page : (struct suite_page){ 0 };
}

/*
 * A result that several programs' launches were put together in may lack a metric that this program
 * has.
 */
const struct metric *presented_metric(const struct view *view, const char *name)
{
	size_t length = strcspn(name, ".");

	for (size_t r = 0; view && r < view->count; r++) {
		for (size_t i = 0; i < view->results[r].presentation_count; i++) {
			const struct presentation *p = &view->results[r].presentations[i];
			const struct metric *m =
				strncmp(p->suite, name, length) == 0 && !p->suite[length]
					? presentation_metric(p, name)
					: NULL;

			if (m)
				return m;
		}
	}
	return schema_metric_find(name);
}

struct formatted presented_metric_title(const struct view *view, const char *name)
{
	const struct metric *m = presented_metric(view, name);

	return m && m->title ? format_text("%s", m->title) : format_metric(name);
}

const char *presented_unit(const struct view *view, const char *metric, const char *unit)
{
	size_t length = strcspn(view_string(metric), ".");

	if (!view || strcmp(view_string(unit), "B") != 0)
		return view_string(unit);
	for (size_t i = 0; i < view->suite_count; i++)
		if (view->binary[i] && strncmp(view->suites[i], metric, length) == 0 &&
		    !view->suites[i][length])
			return UNITS_BINARY;
	return unit;
}

const char *presented_case_unit(const struct view *view, const struct case_result *c,
				const struct metric_value *m)
{
	return presented_unit(view, m->name, case_metric_unit(c, m));
}

struct formatted presented_interval(const struct view *view, const struct case_result *c,
				    const struct metric_value *m)
{
	const struct metric *row = m->name ? presented_metric(view, m->name) : NULL;
	struct metric_value shown = *m;

	if (!row || !row->percent)
		return format_interval(m, presented_case_unit(view, c, m));
	shown.value *= 100;
	shown.low *= 100;
	shown.high *= 100;
	return format_interval(&shown, "%");
}

#define NO_INTERVAL (INTERVAL_LAUNCHES + 1)

static int presented_weakest_interval(const struct result *r, int weakest)
{
	for (size_t i = 0; i < r->case_count; i++)
		for (size_t j = 0; j < r->cases[i].metric_count; j++) {
			const struct metric_value *m = &r->cases[i].metrics[j];

			if (m->headline && isfinite(m->low) && (int)m->interval < weakest)
				weakest = (int)m->interval;
		}
	return weakest;
}

const char *presented_interval_words(const struct view *view)
{
	static const char *const words[] = {
		[INTERVAL_WITHIN] = "95\u00a0% interval within one process",
		[INTERVAL_TYPICAL] =
			"95\u00a0% interval between runs, typical of this kind of metric",
		[INTERVAL_LAUNCHES] = "95\u00a0% interval between runs, from several launches",
		[NO_INTERVAL] = "no interval: only single values"
	};
	int weakest = NO_INTERVAL;

	for (size_t i = 0; i < view->count; i++)
		weakest = presented_weakest_interval(&view->results[i], weakest);
	return words[weakest];
}

struct formatted presented_value(const struct view *view, const struct case_result *c,
				 const struct metric_value *m)
{
	const struct metric *row = m && m->name ? presented_metric(view, m->name) : NULL;

	return format_value(m, m ? presented_case_unit(view, c, m) : "", row && row->percent);
}

struct formatted presented_parameter(const struct view *view, const char *suite,
				     const struct case_parameter *p)
{
	const struct presentation shown = view_presentation(view, view_string(suite));
	const char *name = view_string(p->name), *value = view_string(p->text);

	for (const struct word_row *w = shown.words;
	     w && w->parameter && *value && strcmp(value, "-") != 0; w++) {
		const char *star = strchr(w->words, '*');

		if (strcmp(w->parameter, name) != 0)
			continue;
		if (strcmp(w->value, value) == 0)
			return format_text("%s", w->words);
		if (strcmp(w->value, "*") == 0 && star)
			return format_text("%.*s%.20s%s", (int)(star - w->words), w->words, value,
					   star + 1);
	}
	return format_parameter(p);
}

/* The parameter with a role that the case has, of several; NULL: none. */
static const struct role_row *presented_parameter_row(const struct view *view,
						      const struct case_result *c, enum role role)
{
	const struct presentation p = view_presentation(view, view_string(c->suite));

	for (const struct role_row *row = NULL; (row = presentation_role(&p, role, row));)
		if (case_parameter(c, row->name))
			return row;
	return NULL;
}

const struct metric_value *presented_role_metric(const struct view *view,
						 const struct case_result *c, enum role role)
{
	const struct presentation p = view_presentation(view, view_string(c->suite));
	const struct role_row *row = presentation_role(&p, role, NULL);

	return row ? case_metric(c, row->name) : NULL;
}

double presented_role_value(const struct view *view, const struct case_result *c, enum role role)
{
	const struct metric_value *m = presented_role_metric(view, c, role);

	return m ? m->value : NAN;
}

const struct case_parameter *presented_role_parameter(const struct view *view,
						      const struct case_result *c, enum role role)
{
	const struct role_row *row = presented_parameter_row(view, c, role);

	return row ? case_parameter(c, row->name) : NULL;
}

bool presented_role_holds(const struct view *view, const struct case_result *c, enum role role)
{
	const struct role_row *row = presented_parameter_row(view, c, role);
	const struct case_parameter *p = row ? case_parameter(c, row->name) : NULL;

	return p && row->value && strcmp(view_string(p->text), row->value) == 0;
}
