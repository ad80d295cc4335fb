/*
 * A summary for a pull request, a ticket or a job's page: problems first. Text from outside is put
 * into code spans.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/units.h"
#include "export/escape.h"
#include "export/export.h"
#include "result/outcome.h"
#include "result/verdict.h"

#define LONGEST_TEXT 300
#define MOST_BYTES (1 << 20)
#define TAIL 500 /* kept for what says that rows are left out */

struct page {
	struct text *out;
	size_t start;
	size_t left_out; /* rows of the current table */
};

static void cell(struct text *row, const char *text)
{
	text_add(row, " ");
	escape_markdown(row, text, LONGEST_TEXT);
	text_add(row, " |");
}

/* A cell of our own words. */
static void word(struct text *row, const char *text)
{
	text_addf(row, " %s |", *text ? text : "–");
}

static bool fits(const struct page *page, size_t bytes)
{
	return page->out->length - page->start + bytes + TAIL < MOST_BYTES;
}

/* Appends a row, unless the page would get too long; empties `row`. */
static void end_row(struct page *page, struct text *row)
{
	/* Nothing after the first row that did not fit: what is shown is the beginning. */
	if (!page->left_out && fits(page, row->length + 2))
		text_addf(page->out, "|%s\n", row->data);
	else
		page->left_out++;
	text_release(row);
}

static void begin_table(struct page *page, const char *title, const char *header)
{
	page->left_out = 0;
	if (!fits(page, 1000))
		return;
	text_addf(page->out, "\n### %s\n\n| %s |\n|", title, header);
	text_add(page->out, " --- |");
	for (const char *p = header; *p; p++)
		if (*p == '|')
			text_add(page->out, " --- |");
	text_add_char(page->out, '\n');
}

static void end_table(struct page *page)
{
	if (page->left_out && fits(page, 0))
		text_addf(page->out, "\n%zu more rows are left out.\n", page->left_out);
}

static void add_summary(struct page *page, const struct export_input *input)
{
	const struct result *r = input->result;

	text_add(page->out, "## gpuproof\n\n");
	if (r->judgement)
		text_addf(page->out, "**%s**\n\n", r->judgement->sentence);
	else
		text_add(page->out,
			 "**Nothing was judged**: these are figures without a verdict.\n\n");
	text_addf(page->out,
		  "%zu of %zu cases were run: %zu OK, %zu wrong results, %zu errors, %zu "
		  "skipped.\n",
		  r->case_count, r->planned > r->case_count ? r->planned : r->case_count,
		  result_count(r, CASE_OK), result_count(r, CASE_FAILED),
		  result_count(r, CASE_ERROR), result_count(r, CASE_SKIPPED));
	if (result_memory_errors(r))
		text_addf(page->out, "\n**%" PRIu64 " uncorrected memory errors (ECC)**\n",
			  result_memory_errors(r));
}

static void add_checks(struct page *page, const struct verdicts *verdicts)
{
	static const enum verdict order[] = { VERDICT_FAIL, VERDICT_ERROR, VERDICT_INCONCLUSIVE,
					      VERDICT_WARN };
	size_t open =
		verdicts->count - verdicts->counts[VERDICT_PASS] - verdicts->counts[VERDICT_SKIP];

	if (!open)
		return;
	begin_table(page, "Checks that did not pass",
		    "verdict | cause | limit | case | numbers | reason | at");
	for (size_t o = 0; o < ARRAY_SIZE(order); o++)
		for (size_t i = 0; i < verdicts->count; i++) {
			const struct verdict_check *check = &verdicts->checks[i];
			struct text row = TEXT_EMPTY;
			char *numbers;

			if (check->verdict != order[o])
				continue;
			numbers = check_numbers(check);
			word(&row, verdict_name(check->verdict));
			word(&row, cause_name(check->cause));
			cell(&row, check->limit);
			cell(&row, check->case_id);
			word(&row, numbers);
			cell(&row, check->reason);
			cell(&row, check->place);
			end_row(page, &row);
			free(numbers);
		}
	end_table(page);
}

/* A row per device that something was promised of or judged on, a column per aspect. */
static void add_aspects(struct page *page, const struct verdicts *v)
{
	begin_table(page, "Judged by device",
		    "device | memory | link | products | correctness | condition");
	for (size_t i = 0; i < v->device_count; i++) {
		const struct device_judgement *d = &v->devices[i];
		struct text row = TEXT_EMPTY;

		cell(&row, d->device);
		for (int a = ASPECT_NONE + 1; a < ASPECT_COUNT; a++) {
			const struct aspect_judgement *aspect = device_aspect(d, (enum aspect)a);

			word(&row, !aspect          ? "–"
				   : aspect->judged ? verdict_name(aspect->verdict)
						    : "not judged");
		}
		end_row(page, &row);
	}
	end_table(page);
}

static void add_problems(struct page *page, const struct result *r)
{
	static const enum case_status order[] = { CASE_FAILED, CASE_ERROR };

	if (!result_count(r, CASE_FAILED) && !result_count(r, CASE_ERROR))
		return;
	begin_table(page, "Wrong results and errors", "status | case | reason");
	for (size_t o = 0; o < ARRAY_SIZE(order); o++)
		for (size_t i = 0; i < r->case_count; i++) {
			struct text row = TEXT_EMPTY;

			if (r->cases[i].status != order[o])
				continue;
			word(&row, case_status_name(r->cases[i].status));
			cell(&row, r->cases[i].id);
			cell(&row, r->cases[i].reason);
			end_row(page, &row);
		}
	end_table(page);
}

static void add_figure(struct page *page, const struct case_result *c, const struct metric_value *m,
		       const char *unit)
{
	static const char *const better[] = { "higher", "lower", "–" };
	const struct series *series = m->series ? case_series(c, m->series) : NULL;
	struct text row = TEXT_EMPTY, interval = TEXT_EMPTY;
	char value[64], high[64];

	cell(&row, c->id);
	cell(&row, m->name);
	cell(&row, units_format(m->value, unit, value, sizeof(value)));
	if (isfinite(m->low) && isfinite(m->high))
		text_addf(&interval, "%s to %s", units_format(m->low, unit, value, sizeof(value)),
			  units_format(m->high, unit, high, sizeof(high)));
	cell(&row, interval.data);
	text_addf(&row, " %zu |", m->n);
	word(&row, better[m->better]);
	cell(&row, series && series->statistics.noisy ? series->statistics.noise : "");
	end_row(page, &row);
	text_release(&interval);
}

/* Their figures are no headlines. */
static void add_unsettled(struct page *page, const struct result *r)
{
	begin_table(page, "Not settled: the level still changed at the end",
		    "case | metric | value | change");
	for (size_t i = 0; i < r->case_count; i++) {
		const struct case_result *c = &r->cases[i];

		for (size_t j = 0; c->status == CASE_OK && j < c->metric_count; j++) {
			const struct metric_value *m = &c->metrics[j];
			const struct series *series = m->series ? case_series(c, m->series) : NULL;
			struct text row = TEXT_EMPTY;
			char value[64];

			if (!case_is_unsettled(c, m))
				continue;
			cell(&row, c->id);
			cell(&row, m->name);
			cell(&row, units_format(m->value, m->unit, value, sizeof(value)));
			snprintf(value, sizeof(value), "%+.1f %%",
				 series ? 100 * series->statistics.drift : (double)NAN);
			cell(&row, series ? value : "");
			end_row(page, &row);
		}
	}
	end_table(page);
}

static bool has_unsettled(const struct result *r)
{
	for (size_t i = 0; i < r->case_count; i++)
		for (size_t s = 0; s < r->cases[i].series_count; s++)
			if (r->cases[i].series[s].unsettled)
				return true;
	return false;
}

static void add_figures(struct page *page, const struct result *r)
{
	begin_table(page, "Main figures",
		    "case | metric | value | 95 % interval | n | better | noisy");
	for (size_t i = 0; i < r->case_count; i++)
		for (size_t j = 0; r->cases[i].status == CASE_OK && j < r->cases[i].metric_count;
		     j++)
			if (r->cases[i].metrics[j].headline)
				add_figure(page, &r->cases[i], &r->cases[i].metrics[j],
					   case_unit(&r->cases[i], &r->cases[i].metrics[j]));
	end_table(page);
}

static void add_devices(struct page *page, const struct result *r)
{
	begin_table(page, "Devices", "device | model | UUID | memory");
	for (size_t i = 0; i < r->device_count; i++) {
		const struct device_info *d = &r->devices[i];
		struct text row = TEXT_EMPTY;
		char memory[48];

		cell(&row, d->id);
		cell(&row, d->name);
		cell(&row, d->uuid);
		word(&row, d->memory_bytes ? units_format((double)d->memory_bytes, "B", memory,
							  sizeof(memory))
					   : "");
		end_row(page, &row);
	}
	end_table(page);
}

static void add_fact(struct page *page, const char *name, const char *value)
{
	struct text row = TEXT_EMPTY;

	cell(&row, name);
	cell(&row, value);
	end_row(page, &row);
}

static void add_environment(struct page *page, const struct result *r)
{
	begin_table(page, "Environment", "fact | value");
	add_fact(page, "run", r->run_id);
	add_fact(page, "label", r->label);
	add_fact(page, "started", r->started);
	add_fact(page, "state", r->state);
	add_fact(page, "gpuproof", r->gpuproof_version);
	add_fact(page, "repeat with", r->command);
	for (size_t i = 0; i < r->environment_count; i++)
		if (strcmp(r->environment[i].name, "gpuproof") != 0)
			add_fact(page, r->environment[i].name, r->environment[i].value);
	end_table(page);
}

static void write_markdown(const struct export_input *input, struct text *out)
{
	struct page page = { .out = out, .start = out->length };

	add_summary(&page, input);
	if (input->result->judgement) {
		add_aspects(&page, input->result->judgement);
		add_checks(&page, input->result->judgement);
	}
	add_problems(&page, input->result);
	add_figures(&page, input->result);
	if (has_unsettled(input->result))
		add_unsettled(&page, input->result);
	add_devices(&page, input->result);
	add_environment(&page, input->result);
}

const struct exporter export_markdown = { write_markdown, NULL };
