/*
 * The results inside the page, so that a report can be compared again: small ones whole, large ones without raw samples,
 * the largest with metrics only. The page says which.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/view.h"

#define WHOLE_MOST (512u << 10)   /* bytes of JSON of all results together */
#define SUMMARY_MOST (768u << 10)

enum detail { DETAIL_WHOLE, DETAIL_SUMMARY, DETAIL_METRICS };

static const char *const notes[] = {
	[DETAIL_WHOLE] = "",
	[DETAIL_SUMMARY] = "Raw samples are left out of this page; the result file has them.",
	[DETAIL_METRICS] = "Raw samples, their statistics and telemetry are left out of this page; the result file has them.",
};

/* A shallow copy whose cases borrow all but what is left out. */
static char *to_json(const struct result *result, enum detail detail)
{
	struct result copy = *result;
	struct series *series = NULL;
	size_t count = 0, at = 0;
	char *json;

	if (detail == DETAIL_WHOLE)
		return result_to_json(result);
	copy.cases = xmalloc((copy.case_count + 1) * sizeof(*copy.cases));
	for (size_t i = 0; i < copy.case_count; i++)
		count += result->cases[i].series_count;
	series = xmalloc((count + 1) * sizeof(*series));
	for (size_t i = 0; i < copy.case_count; i++) {
		struct case_result *c = &copy.cases[i];

		*c = result->cases[i];
		if (detail == DETAIL_METRICS) {
			c->series_count = 0;
			telemetry_unknown(&c->before);
			telemetry_unknown(&c->after);
			continue;
		}
		for (size_t s = 0; s < c->series_count; s++) {
			series[at + s] = c->series[s];
			series[at + s].count = 0;
		}
		c->series = &series[at];
		at += c->series_count;
	}
	json = result_to_json(&copy);
	free(series);
	free(copy.cases);
	return json;
}

static size_t all_to_json(const struct view *view, enum detail detail, char **out)
{
	size_t total = 0;

	for (size_t r = 0; r < view->count; r++) {
		out[r] = to_json(&view->results[r], detail);
		total += strlen(out[r]);
	}
	return total;
}

/* A lower bound without writing anything: a sample takes at least ten bytes or so. */
static size_t sample_bytes(const struct view *view)
{
	size_t samples = 0;

	for (size_t r = 0; r < view->count; r++)
		for (size_t i = 0; i < view->results[r].case_count; i++)
			for (size_t s = 0; s < view->results[r].cases[i].series_count; s++)
				samples += view->results[r].cases[i].series[s].count;
	return 10 * samples;
}

static size_t case_total(const struct view *view)
{
	size_t total = 0;

	for (size_t r = 0; r < view->count; r++)
		total += view->results[r].case_count;
	return total;
}

#define CASE_BYTES_LEAST 800 /* of a case with its statistics and telemetry: no need to try what cannot fit */

void view_data(const struct view *view, struct tree *page)
{
	struct tree *list = tree_list(page, "data");
	char **json = xcalloc(view->count + 1, sizeof(*json));
	enum detail detail = sample_bytes(view) <= WHOLE_MOST ? DETAIL_WHOLE : DETAIL_SUMMARY;

	if (case_total(view) * CASE_BYTES_LEAST > SUMMARY_MOST)
		detail = DETAIL_METRICS;
	while (all_to_json(view, detail, json) > (detail == DETAIL_WHOLE ? WHOLE_MOST : SUMMARY_MOST) &&
	       detail != DETAIL_METRICS) {
		for (size_t r = 0; r < view->count; r++)
			free(json[r]);
		detail++;
	}
	for (size_t r = 0; r < view->count; r++) {
		struct tree *item = tree_item(list);

		tree_textf(item, "number", "%zu", r + 1);
		tree_text_owned(item, "json", json[r]);
	}
	tree_text(page, "data_note", notes[detail]);
	free(json);
}
