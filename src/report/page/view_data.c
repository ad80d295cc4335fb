/*
 * The results inside the page, so that a report can be compared again: whole while they are small,
 * else without raw samples, else as a summary of each case's metrics, of many results of its main
 * one. The page says which.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/page/view_sections.h"
#include "report/view/view.h"
#include "result/json/json_writer.h"

enum detail { DETAIL_WHOLE, DETAIL_NO_SAMPLES, DETAIL_SUMMARY, DETAIL_HEADLINES };

/*
 * Bytes of JSON of all results together: pages are mailed and kept by the thousand, and one of a
 * usual run shall stay below 200 KB.
 */
static const size_t most_bytes[] = {
	[DETAIL_WHOLE] = 1 << 16,
	[DETAIL_NO_SAMPLES] = 1 << 16,
	[DETAIL_SUMMARY] = 1 << 16,
	[DETAIL_HEADLINES] = SIZE_MAX,
};

/* One alone keeps its summary, whatever its size. */
static size_t page_data_most_of(const struct view *view, enum detail detail)
{
	return view->count == 1 && detail == DETAIL_SUMMARY ? SIZE_MAX : most_bytes[detail];
}

static const char *const notes[] = {
	[DETAIL_WHOLE] = "",
	[DETAIL_NO_SAMPLES] =
		"This page holds its result without the raw samples; the result file has them.",
	[DETAIL_SUMMARY] = "This page holds the medians and intervals of its cases; the rest is in "
			   "the result file.",
	[DETAIL_HEADLINES] = "This page holds median and interval of each case's main figure; the "
			     "rest is in the result files.",
};

/* A shallow copy whose series have no samples. */
static char *page_data_without_samples(const struct result *result)
{
	struct result copy = *result;
	struct series *series = NULL;
	size_t count = 0, at = 0;
	char *json;

	copy.samples_left_out = true;
	for (size_t i = 0; i < copy.case_count; i++)
		count += result->cases[i].series_count;
	series = xmalloc((count + 1) * sizeof(*series));
	copy.cases = xmalloc((copy.case_count + 1) * sizeof(*copy.cases));
	for (size_t i = 0; i < copy.case_count; i++) {
		struct case_result *c = &copy.cases[i];

		*c = result->cases[i];
		for (size_t s = 0; s < c->series_count; s++) {
			series[at + s] = c->series[s];
			series[at + s].count = 0;
		}
		c->series = &series[at];
		at += c->series_count;
	}
	json = result_to_json_line(&copy);
	free(series);
	free(copy.cases);
	return json;
}

/* More only say how a median was divided. */
static double nine_digits(double value)
{
	char text[32];

	snprintf(text, sizeof(text), "%.9g", value);
	return isfinite(value) ? strtod(text, NULL) : value;
}

/* "transfer.bandwidth": [value, low, high, n] */
static void summarise_metric(struct json_writer *w, const struct metric_value *m)
{
	writer_key(w, view_string(m->name));
	writer_open(w, '[');
	writer_real(w, nine_digits(m->value));
	writer_real(w, nine_digits(m->low));
	writer_real(w, nine_digits(m->high));
	writer_unsigned(w, m->n);
	writer_close(w, ']');
}

static char *view_summary_json(const struct result *result, bool headlines_only)
{
	struct json_writer w = { .expand = 0 };

	writer_open(&w, '{');
	writer_text_member(&w, "format", "gpuproof-summary");
	writer_key(&w, "version");
	writer_unsigned(&w, 1);
	writer_text_member(&w, "run", result->run_id);
	writer_key(&w, "cases");
	writer_open(&w, '[');
	for (size_t i = 0; i < result->case_count; i++) {
		const struct case_result *c = &result->cases[i];

		writer_open(&w, '{');
		writer_text_member(&w, "id", c->id);
		writer_text_member(&w, "status", case_status_name(c->status));
		writer_key(&w, "metrics");
		writer_open(&w, '{');
		for (size_t m = 0; m < c->metric_count; m++)
			if (c->metrics[m].headline || !headlines_only)
				summarise_metric(&w, &c->metrics[m]);
		writer_close(&w, '}');
		writer_close(&w, '}');
	}
	writer_close(&w, ']');
	writer_close(&w, '}');
	return writer_finish(&w);
}

static char *page_data_to_json(const struct result *result, enum detail detail)
{
	switch (detail) {
	case DETAIL_WHOLE:
		return result_to_json_line(result);
	case DETAIL_NO_SAMPLES:
		return page_data_without_samples(result);
	case DETAIL_SUMMARY:
		return view_summary_json(result, false);
	case DETAIL_HEADLINES:
		break;
	}
	return view_summary_json(result, true);
}

static size_t page_data_all_to_json(const struct view *view, enum detail detail, char **out)
{
	size_t total = 0;

	for (size_t r = 0; r < view->count; r++) {
		out[r] = page_data_to_json(&view->results[r], detail);
		total += strlen(out[r]);
	}
	return total;
}

/* Bytes that the document takes at least, to save writing what cannot fit. */
static size_t page_data_least_bytes(const struct view *view, enum detail detail)
{
	size_t samples = 0, cases = 0;

	for (size_t r = 0; r < view->count; r++) {
		cases += view->results[r].case_count;
		for (size_t i = 0; i < view->results[r].case_count; i++)
			for (size_t s = 0; s < view->results[r].cases[i].series_count; s++)
				samples += view->results[r].cases[i].series[s].count;
	}
	return detail >= DETAIL_SUMMARY
		       ? 0
		       : 1000 * cases + (detail == DETAIL_WHOLE ? 10 * samples : 0);
}

void view_data(const struct view *view, struct tree *page)
{
	struct tree *list = tree_list(page, "data");
	char **json = xcalloc(view->count + 1, sizeof(*json));
	enum detail detail = DETAIL_WHOLE;

	for (;; detail++) {
		if (page_data_least_bytes(view, detail) > page_data_most_of(view, detail))
			continue;
		if (page_data_all_to_json(view, detail, json) <= page_data_most_of(view, detail))
			break;
		for (size_t r = 0; r < view->count; r++)
			free(json[r]);
	}
	for (size_t r = 0; r < view->count; r++) {
		struct tree *item = tree_item(list);

		tree_textf(item, "number", "%zu", r + 1);
		tree_text_owned(item, "json", json[r]);
	}
	tree_text(page, "data_note", notes[detail]);
	free(json);
}
