/*
 * Markdown export: a summary for a pull request, a ticket or a job's page, problems first.
 * Untrusted text is in code spans.
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
#define TAIL 500 /* reserved for the note that rows are left out */

struct markdown_page {
	struct text *out;
	size_t start;
	size_t left_out; /* of the current table */
};

static bool markdown_row_fits(const struct markdown_page *page, size_t bytes)
{
	return page->out->length - page->start + bytes + TAIL < MOST_BYTES;
}

/*
 * Adds a row unless the page would get too long. `kinds`: 'c' for each cell with untrusted text,
 * 'w' with the program's own.
 */
static void markdown_add_row(struct markdown_page *page, const char *kinds,
			     const char *const *cells)
{
	struct text row = TEXT_EMPTY;

	for (; *kinds; kinds++, cells++) {
		text_add_char(&row, ' ');
		if (*kinds == 'c')
			escape_markdown(&row, *cells, LONGEST_TEXT);
		else
			text_add(&row, **cells ? *cells : "–");
		text_add(&row, " |");
	}
	/*
	 * Nothing follows the first row that did not fit, so that the shown rows are the beginning.
	 */
	if (!page->left_out && markdown_row_fits(page, row.length + 2))
		text_addf(page->out, "|%s\n", row.data);
	else
		page->left_out++;
	text_release(&row);
}
#define CELLS(...) ((const char *const[]){ __VA_ARGS__ })

static void markdown_begin_table(struct markdown_page *page, const char *title, const char *header)
{
	page->left_out = 0;
	if (!markdown_row_fits(page, 1000))
		return;
	text_addf(page->out, "\n### %s\n\n| %s |\n|", title, header);
	text_add(page->out, " --- |");
	for (const char *p = header; *p; p++)
		if (*p == '|')
			text_add(page->out, " --- |");
	text_add_char(page->out, '\n');
}

static void markdown_end_table(struct markdown_page *page)
{
	if (page->left_out && markdown_row_fits(page, 0))
		text_addf(page->out, "\n%zu more rows are left out.\n", page->left_out);
}

static void markdown_add_summary(struct markdown_page *page, const struct result *r)
{
	text_add(page->out, "## gpuproof\n\n");
	if (r->judgement)
		text_addf(page->out, "**%s**\n\n", r->judgement->sentence);
	else
		text_add(page->out, "**Nothing was judged**: no limits were applied, so there is "
				    "no verdict.\n\n");
	text_addf(page->out,
		  "%zu of %zu cases ran: %zu OK, %zu wrong results, %zu errors; %zu skipped.\n",
		  r->case_count - result_outcome_count(r, CASE_SKIPPED),
		  r->planned > r->case_count ? r->planned : r->case_count,
		  result_outcome_count(r, CASE_OK), result_outcome_count(r, CASE_FAILED),
		  result_outcome_count(r, CASE_ERROR), result_outcome_count(r, CASE_SKIPPED));
	if (result_outcome_memory_errors(r))
		text_addf(page->out, "\n**%" PRIu64 " uncorrected memory errors (ECC)**\n",
			  result_outcome_memory_errors(r));
}

static void markdown_add_checks(struct markdown_page *page, const struct verdicts *verdicts)
{
	static const enum verdict order[] = { VERDICT_FAIL, VERDICT_ERROR, VERDICT_INCONCLUSIVE,
					      VERDICT_WARN };
	size_t open =
		verdicts->count - verdicts->counts[VERDICT_PASS] - verdicts->counts[VERDICT_SKIP];

	if (!open)
		return;
	markdown_begin_table(page, "Checks that did not pass",
			     "verdict | cause | limit | case | numbers | reason | at");
	for (size_t o = 0; o < ARRAY_SIZE(order); o++)
		for (size_t i = 0; i < verdicts->count; i++) {
			const struct verdict_check *check = &verdicts->checks[i];
			char *numbers;

			if (check->verdict != order[o])
				continue;
			numbers = verdict_check_numbers(check);
			markdown_add_row(page, "wwccwcc",
					 CELLS(verdict_fields_name(check->verdict),
					       cause_name(check->cause), check->limit,
					       check->case_id, numbers, check->reason,
					       check->place));
			free(numbers);
		}
	markdown_end_table(page);
}

/* One row per device with promised or judged aspects, one column per aspect. */
static void markdown_add_aspects(struct markdown_page *page, const struct verdicts *v)
{
	markdown_begin_table(page, "Verdict by device and aspect",
			     "device | memory | link | gemm | correctness | condition");
	for (size_t i = 0; i < v->device_count; i++) {
		const struct device_judgement *d = &v->devices[i];
		const char *cells[ASPECT_COUNT] = { d->device };

		for (int a = ASPECT_NONE + 1; a < ASPECT_COUNT; a++) {
			const struct aspect_judgement *aspect =
				verdict_device_aspect(d, (enum aspect)a);

			cells[a - ASPECT_NONE] = !aspect ? "–"
						 : aspect->judged
							 ? verdict_fields_name(aspect->verdict)
							 : "not judged";
		}
		markdown_add_row(page, "cwwwww", cells);
	}
	markdown_end_table(page);
}

static void markdown_add_problems(struct markdown_page *page, const struct result *r)
{
	static const enum case_status order[] = { CASE_FAILED, CASE_ERROR };

	if (!result_outcome_count(r, CASE_FAILED) && !result_outcome_count(r, CASE_ERROR))
		return;
	markdown_begin_table(page, "Wrong results and errors", "status | case | reason");
	for (size_t o = 0; o < ARRAY_SIZE(order); o++)
		for (size_t i = 0; i < r->case_count; i++) {

			if (r->cases[i].status != order[o])
				continue;
			markdown_add_row(page, "wcc",
					 CELLS(case_status_name(r->cases[i].status), r->cases[i].id,
					       r->cases[i].reason));
		}
	markdown_end_table(page);
}

static void markdown_add_figures(struct markdown_page *page, const struct result *r)
{
	static const char *const better[] = { "higher", "lower", "–" };

	markdown_begin_table(page, "Main metrics",
			     "case | metric | value | 95 % interval | n | better | noisy");
	for (size_t i = 0; i < r->case_count; i++) {
		const struct case_result *c = &r->cases[i];

		for (size_t j = 0; c->status == CASE_OK && j < c->metric_count; j++) {
			const struct metric_value *m = &c->metrics[j];
			const struct series *s = m->series ? case_series(c, m->series) : NULL;
			const char *unit = case_unit(c, m);
			char value[64], low[64], high[64], interval[140] = "", number[24];

			if (!m->headline)
				continue;
			units_format(m->value, unit, value, sizeof(value));
			if (isfinite(m->low) && isfinite(m->high))
				snprintf(interval, sizeof(interval), "%s to %s",
					 units_format(m->low, unit, low, sizeof(low)),
					 units_format(m->high, unit, high, sizeof(high)));
			snprintf(number, sizeof(number), "%zu", m->n);
			markdown_add_row(page, "ccccwwc",
					 CELLS(c->id, m->name, value, interval, number,
					       better[m->better],
					       s && s->statistics.noisy ? s->statistics.noise
									: ""));
		}
	}
	markdown_end_table(page);
}

/* Their metrics are not headlines. */
static void markdown_add_unsettled(struct markdown_page *page, const struct result *r)
{
	bool any = false;

	for (size_t i = 0; i < r->case_count; i++)
		for (size_t s = 0; s < r->cases[i].series_count; s++)
			any = any || r->cases[i].series[s].unsettled;
	if (!any)
		return;
	markdown_begin_table(page, "Not settled: the level still changed at the end of sampling",
			     "case | metric | value | change");
	for (size_t i = 0; i < r->case_count; i++) {
		const struct case_result *c = &r->cases[i];

		for (size_t j = 0; c->status == CASE_OK && j < c->metric_count; j++) {
			const struct metric_value *m = &c->metrics[j];
			const struct series *series = m->series ? case_series(c, m->series) : NULL;
			char value[64], drift[32];

			if (!case_is_unsettled(c, m))
				continue;
			units_format(m->value, case_unit(c, m), value, sizeof(value));
			snprintf(drift, sizeof(drift), "%+.1f %%",
				 series ? 100 * series->statistics.drift : (double)NAN);
			markdown_add_row(page, "cccc",
					 CELLS(c->id, m->name, value, series ? drift : ""));
		}
	}
	markdown_end_table(page);
}

static void markdown_add_devices(struct markdown_page *page, const struct result *r)
{
	markdown_begin_table(page, "Devices", "device | model | UUID | memory");
	for (size_t i = 0; i < r->device_count; i++) {
		const struct device_info *d = &r->devices[i];
		char memory[48];

		markdown_add_row(page, "cccw",
				 CELLS(d->id, d->name, d->uuid,
				       d->memory_bytes ? units_format((double)d->memory_bytes, "B",
								      memory, sizeof(memory))
						       : ""));
	}
	markdown_end_table(page);
}

static void markdown_add_environment(struct markdown_page *page, const struct result *r)
{
	const char *const own[][2] = { { "run", r->run_id },
				       { "label", r->label },
				       { "started", r->started },
				       { "state", r->state },
				       { "gpuproof", r->gpuproof_version },
				       { "repeat with", r->command } };

	markdown_begin_table(page, "Environment", "fact | value");
	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		markdown_add_row(page, "cc", own[i]);
	for (size_t i = 0; i < r->environment_count; i++)
		if (strcmp(r->environment[i].name, "gpuproof") != 0)
			markdown_add_row(page, "cc",
					 CELLS(r->environment[i].name, r->environment[i].value));
	markdown_end_table(page);
}

static void write_markdown(const struct result *r, struct text *out)
{
	struct markdown_page page = { .out = out, .start = out->length };
	const struct verdicts *v = r->judgement;

	markdown_add_summary(&page, r);
	if (v) {
		/* The worst check of each device and aspect as sentences. */
		markdown_begin_table(&page, "Reasons", "verdict | reason | what to do");
		for (size_t i = 0; i < v->reason_count; i++)
			markdown_add_row(&page, "wcc",
					 CELLS(verdict_fields_name(v->reasons[i].verdict),
					       v->reasons[i].text, v->reasons[i].remedy));
		markdown_end_table(&page);
		markdown_add_aspects(&page, v);
		markdown_add_checks(&page, v);
	}
	markdown_add_problems(&page, r);
	markdown_add_figures(&page, r);
	markdown_add_unsettled(&page, r);
	markdown_add_devices(&page, r);
	markdown_add_environment(&page, r);
}

const struct exporter export_markdown = { write_markdown, NULL };
