#include "cli/output/print.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/output/table.h"

#define CLOCK_WORTH_TELLING 0.005 /* difference between the two ratios that deserves a column */
#define LONGEST_VALUE 32 /* of a value of the environment; a build's settings have 100 characters */
#define MOST_DIFFERENCES 20

/* Truncates `text` at a character of UTF-8. */
static const char *print_comparison_shorten(const char *text, char out[LONGEST_VALUE + 4])
{
	size_t length = strlen(text), cut = LONGEST_VALUE - 3;

	if (length <= LONGEST_VALUE)
		return text;
	while (cut && ((unsigned char)text[cut] & 0xc0) == 0x80)
		cut--;
	snprintf(out, LONGEST_VALUE + 4, "%.*s...", (int)cut, text);
	return out;
}

static void print_comparison_differences(const struct comparison *c, bool all)
{
	struct output_table table = TABLE_EMPTY;
	size_t shown = all || c->difference_count <= MOST_DIFFERENCES ? c->difference_count
								      : MOST_DIFFERENCES;

	if (!c->difference_count)
		return;
	printf("\nThe environments differ in:\n");
	TABLE_ROW(&table, "", c->name_a, c->name_b);
	for (size_t i = 0; i < shown; i++) {
		char a[LONGEST_VALUE + 4], b[LONGEST_VALUE + 4];

		TABLE_ROW(&table, c->differences[i].name,
			  print_comparison_shorten(c->differences[i].a, a),
			  print_comparison_shorten(c->differences[i].b, b));
	}
	table_finish(&table, stdout);
	if (shown < c->difference_count)
		printf("and %zu more; --all lists them\n", c->difference_count - shown);
}

static bool print_comparison_is_change(const struct comparison_row *row)
{
	return row->change == CHANGE_REGRESSED || row->change == CHANGE_IMPROVED;
}

/* Number of digits that the interval justifies. */
static const char *print_comparison_ratio_text(const struct comparison_row *row, char *out,
					       size_t size)
{
	double half = (row->high - row->low) / 2 / row->ratio;
	int digits = half > 0.1 ? 2 : half > 0.01 ? 3 : 4;

	if (!isfinite(row->ratio))
		return "";
	if (row->low == row->high)
		snprintf(out, size, "%.4g", row->ratio);
	else
		snprintf(out, size, "%.*f [%.*f, %.*f]", digits, row->ratio, digits, row->low,
			 digits, row->high);
	return out;
}

static const char *print_comparison_short_ratio(double ratio, char *out, size_t size)
{
	if (!isfinite(ratio))
		return "";
	snprintf(out, size, "%.3f", ratio);
	return out;
}

static int print_comparison_by_case(const void *a, const void *b)
{
	return strcmp((*(const struct comparison_row *const *)a)->case_id,
		      (*(const struct comparison_row *const *)b)->case_id);
}

/* By row: true if its case has other rows. The caller frees the array. */
static bool *print_comparison_rows_of_several(const struct comparison *c)
{
	const struct comparison_row **rows = xcalloc(c->count + 1, sizeof(*rows));
	bool *several = xcalloc(c->count + 1, sizeof(*several));

	for (size_t i = 0; i < c->count; i++)
		rows[i] = &c->rows[i];
	qsort(rows, c->count, sizeof(*rows), print_comparison_by_case);
	for (size_t i = 1; i < c->count; i++)
		if (print_comparison_by_case(&rows[i - 1], &rows[i]) == 0)
			several[rows[i - 1] - c->rows] = several[rows[i] - c->rows] = true;
	free(rows);
	return several;
}

/* Reason and number of launches; also the metric if the case has `several` rows. */
static char *print_comparison_row_note(const struct comparison_row *row, bool several)
{
	struct text out = TEXT_EMPTY;

	if (several)
		text_add(&out, row->metric);
	if (row->change != CHANGE_UNCHANGED && *row->reason)
		text_addf(&out, "%s%s", out.length ? "; " : "", row->reason);
	if (row->launches_needed)
		text_addf(&out, "%s%zu launches would decide", out.length ? "; " : "",
			  row->launches_needed);
	if (row->launches_a != row->launches_b)
		text_addf(&out, "%s%zu launches of A and %zu of B", out.length ? "; " : "",
			  row->launches_a, row->launches_b);
	return text_detach(&out);
}

/* `whole`: shows the case with its devices. */
static void print_comparison_add_row(struct output_table *table, const struct comparison_row *row,
				     bool several, bool whole)
{
	char word[48], a[48], b[48], ratio[64], clock[48], host[48];
	char *note = print_comparison_row_note(row, several);

	snprintf(word, sizeof(word), "%s%s",
		 row->possible && print_comparison_is_change(row) ? "possibly " : "",
		 compare_change_name(row->change));
	TABLE_ROW(table, word, whole ? row->case_id : row->point,
		  print_comparison_ratio_text(row, ratio, sizeof(ratio)),
		  fabs(row->at_same_clock / row->ratio - 1) > CLOCK_WORTH_TELLING
			  ? print_comparison_short_ratio(row->at_same_clock, clock, sizeof(clock))
			  : "",
		  print_comparison_short_ratio(row->at_same_host, host, sizeof(host)),
		  units_format(row->a, row->unit, a, sizeof(a)),
		  units_format(row->b, row->unit, b, sizeof(b)), note);
	free(note);
}

static void print_comparison_rows(const struct comparison *c, bool all)
{
	static const size_t optional[] = { 7, 4, 3 }; /* columns that only some comparisons fill */
	bool *several = print_comparison_rows_of_several(c), differ = false;
	struct output_table table = TABLE_EMPTY;

	for (size_t i = 1; i < c->count; i++)
		differ = differ || strcmp(c->rows[i].devices, c->rows[0].devices) != 0;
	TABLE_ROW(&table, "", "CASE", "RATIO (> 1: B WORSE)", "AT SAME CLOCK", "AT SAME HOST",
		  c->name_a, c->name_b, "");
	for (size_t i = 0; i < c->count; i++) {
		const struct comparison_row *row = &c->rows[i];

		if (all || print_comparison_is_change(row) || row->change == CHANGE_NONE ||
		    row->wrong)
			print_comparison_add_row(&table, row, several[i], differ);
	}
	if (table.count > 1) {
		for (size_t i = 0; i < ARRAY_SIZE(optional); i++)
			table_drop_if_empty(&table, optional[i]);
		if (!differ && *c->rows[0].devices)
			printf("all of %s\n", c->rows[0].devices);
		table_finish(&table, stdout);
	}
	table_release(&table);
	free(several);
}

static void print_comparison_host(const struct comparison *c)
{
	if (fabs(log(c->session_shift)) > SESSION_SHIFT / 2)
		printf("median ratio of all GPU metrics: %.3g, above 1 if %s is slower. Sessions "
		       "differ by up to %.3g %%; only changes beyond this common part count\n",
		       c->session_shift, c->name_b, 100 * SESSION_SHIFT);
	if (*c->host_finding)
		printf("%s\n", c->host_finding);
	if (!c->yardstick_count)
		return;
	printf("host reference, ratio %s / %s:", c->name_b, c->name_a);
	for (size_t i = 0; i < c->yardstick_count; i++)
		printf("%s %s %.3g", i ? "," : "", c->yardstick[i].name, c->yardstick[i].ratio);
	printf("; together %.3g\n", c->host_ratio);
}

/* "5 launches of each, interleaved; autocorrelation of launches: 0.40" */
static void print_comparison_launches(const struct comparison *c)
{
	size_t least = SIZE_MAX, most = 0;

	for (size_t i = 0; i < c->count; i++) {
		const struct comparison_row *row = &c->rows[i];
		size_t few = row->launches_a < row->launches_b ? row->launches_a : row->launches_b;
		size_t many = row->launches_a > row->launches_b ? row->launches_a : row->launches_b;

		if (!few)
			continue;
		least = few < least ? few : least;
		most = many > most ? many : most;
	}
	if (!most)
		return;
	printf("%zu", least);
	if (most != least)
		printf(" to %zu", most);
	printf(" launch%s per side%s", most == 1 ? "" : "es",
	       c->turns && most > 1 ? ", alternating" : "");
	if (!isnan(c->resemblance))
		printf("; autocorrelation of launches: %.2f, over %zu series", c->resemblance,
		       c->resemblance_series);
	printf("\n");
}

/* "24 metrics (alloc.latency, ...) vary by up to 1.5 times between sessions: ..." */
static void print_comparison_grouped(const struct comparison *c)
{
	struct text metrics = TEXT_EMPTY;
	double most = 1;

	for (size_t i = 0; i < c->count; i++) {
		const struct comparison_row *row = &c->rows[i];

		if (!row->grouped)
			continue;
		most = fmax(most, row->high / row->ratio);
		if (!metrics.length || !strstr(metrics.data, row->metric))
			text_addf(&metrics, "%s%s", metrics.length ? ", " : "", row->metric);
	}
	if (c->grouped)
		printf("%zu value%s (%s) not compared, because sessions differ by a factor of up "
		       "to %.2g. To compare them: gpuproof run A --against B\n",
		       c->grouped, c->grouped == 1 ? "" : "s", metrics.data, most);
	text_release(&metrics);
}

struct range {
	double least, most;
	size_t nights; /* nights of the history that it comes from; 0: assumed */
};

static struct range print_comparison_margins_of(const struct comparison *c, enum figure_kind kind)
{
	struct range range = { INFINITY, 0, 0 };

	for (size_t i = 0; i < c->count; i++) {
		const struct comparison_row *row = &c->rows[i];

		if (row->kind != kind || row->grouped || isnan(row->margin))
			continue;
		range.least = fmin(range.least, row->margin);
		range.most = fmax(range.most, row->margin);
		range.nights = row->visit_nights > range.nights ? row->visit_nights : range.nights;
	}
	return range;
}

/* "margin 1 %, UNCHANGED within: 1 % (bandwidth), 1.7 to 2.1 % (step; 12 nights)" */
static void print_comparison_margins(const struct comparison *c)
{
	size_t n = 0;

	printf("margin %.3g %%", 100 * c->margin);
	for (int kind = 0; c->automatic && kind < FIGURE_KINDS; kind++) {
		struct range range = print_comparison_margins_of(c, (enum figure_kind)kind);

		if (!(range.most > 0))
			continue;
		printf("%s%.2g", n++ ? ", " : "; UNCHANGED if within ", 100 * range.least);
		if (range.most > 1.05 * range.least)
			printf(" to %.2g", 100 * range.most);
		printf(" %% (%s", figure_kind_name((enum figure_kind)kind));
		if (range.nights)
			printf("; %zu nights", range.nights);
		printf(")");
	}
	printf("\n");
}

void print_comparison(const struct comparison *c, bool all)
{
	size_t hidden = c->counts[CHANGE_INCONCLUSIVE] + c->counts[CHANGE_UNCHANGED];

	printf("%s\n", c->sentence);
	if (c->same_run)
		return;
	for (size_t i = 0; i < c->fault_count; i++)
		printf("WRONG in %s: %s\n", c->name_b, c->faults[i]);
	print_comparison_rows(c, all);
	print_comparison_grouped(c);
	print_comparison_launches(c);
	print_comparison_margins(c);
	if (*c->advice)
		printf("%s\n", c->advice);
	print_comparison_host(c);
	if (hidden && !all)
		printf("--all also lists unchanged and inconclusive cases\n");
	print_comparison_differences(c, all);
}
