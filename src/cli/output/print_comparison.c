#include "cli/output/print_comparison.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/output/table.h"
#include "judge/estimate/launch_spread.h"

#define CLOCK_WORTH_TELLING 0.005 /* how far the ratio at the same clock is from the ratio */

static void print_differences(const struct comparison *c)
{
	struct output_table table = TABLE_EMPTY;

	if (!c->difference_count)
		return;
	printf("The measurements differ in:\n");
	table_row(&table, (const char *[]){ "", "A", "B" }, 3);
	for (size_t i = 0; i < c->difference_count; i++)
		table_row(&table,
			  (const char *[]){ c->differences[i].name, c->differences[i].a,
					    c->differences[i].b },
			  3);
	table_print(&table, stdout);
	table_release(&table);
	printf("\n");
}

/* Columns after word, case, ratio and values, where they hold something. */
struct columns {
	bool clock, host, notes;
	const char *devices; /* of all cases; NULL: they differ */
};

static bool is_change(const struct comparison_row *row)
{
	return row->change == CHANGE_REGRESSED || row->change == CHANGE_IMPROVED;
}

static bool is_shown(const struct comparison_row *row, bool all)
{
	return all || is_change(row) || row->change == CHANGE_NONE || row->wrong;
}

/* Digits that the interval leaves a meaning to. */
static const char *ratio_text(const struct comparison_row *row, char *out, size_t size)
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

static const char *short_ratio(double ratio, char *out, size_t size)
{
	if (!isfinite(ratio))
		return "";
	snprintf(out, size, "%.3f", ratio);
	return out;
}

static int by_case(const void *a, const void *b)
{
	return strcmp((*(const struct comparison_row *const *)a)->case_id,
		      (*(const struct comparison_row *const *)b)->case_id);
}

/* By row: whether its case has others. Malloc'ed. */
static bool *rows_of_several(const struct comparison *c)
{
	const struct comparison_row **rows = xcalloc(c->count + 1, sizeof(*rows));
	bool *several = xcalloc(c->count + 1, sizeof(*several));

	for (size_t i = 0; i < c->count; i++)
		rows[i] = &c->rows[i];
	qsort(rows, c->count, sizeof(*rows), by_case);
	for (size_t i = 1; i < c->count; i++)
		if (by_case(&rows[i - 1], &rows[i]) == 0)
			several[rows[i - 1] - c->rows] = several[rows[i] - c->rows] = true;
	free(rows);
	return several;
}

/* Reason, number of launches; the metric if a case has `several` rows. */
static char *note_of(const struct comparison_row *row, bool several)
{
	struct text out = TEXT_EMPTY;

	if (several)
		text_add(&out, row->metric);
	if (row->change != CHANGE_SAME && *row->reason)
		text_addf(&out, "%s%s", out.length ? "; " : "", row->reason);
	if (row->launches_needed)
		text_addf(&out, "%s%zu launches would tell", out.length ? "; " : "",
			  row->launches_needed);
	if (row->launches_a != row->launches_b)
		text_addf(&out, "%s%zu and %zu launches", out.length ? "; " : "", row->launches_a,
			  row->launches_b);
	return text_detach(&out);
}

static bool clock_matters(const struct comparison_row *row)
{
	return fabs(row->at_same_clock / row->ratio - 1) > CLOCK_WORTH_TELLING;
}

static struct columns columns_of(const struct comparison *c, const bool *several, bool all)
{
	struct columns columns = { 0 };

	for (size_t i = 0; i < c->count; i++) {
		const struct comparison_row *row = &c->rows[i];

		if (!i)
			columns.devices = row->devices;
		else if (columns.devices && strcmp(row->devices, columns.devices) != 0)
			columns.devices = NULL;
		if (is_shown(row, all)) {
			char *note = columns.notes ? NULL : note_of(row, several[i]);

			columns.notes = columns.notes || *note;
			columns.host = columns.host || isfinite(row->at_same_host);
			columns.clock = columns.clock || clock_matters(row);
			free(note);
		}
	}
	return columns;
}

static void add_heading(struct output_table *table, const struct columns *columns)
{
	const char *cells[TABLE_MAX_COLUMNS] = { "", "CASE", "B/A, > 1 WORSE" };
	size_t n = 3;

	if (columns->clock)
		cells[n++] = "AT SAME CLOCK";
	if (columns->host)
		cells[n++] = "AT SAME HOST";
	cells[n++] = "A";
	cells[n++] = "B";
	if (columns->notes)
		cells[n++] = "";
	table_row(table, cells, n);
}

static void add_row(struct output_table *table, const struct comparison_row *row, bool several,
		    const struct columns *columns)
{
	const char *cells[TABLE_MAX_COLUMNS];
	char word[48], a[48], b[48], ratio[64], clock[48], host[48];
	size_t n = 0;
	char *note = note_of(row, several);

	snprintf(word, sizeof(word), "%s%s", row->possible && is_change(row) ? "possibly " : "",
		 change_name(row->change));
	cells[n++] = word;
	cells[n++] = columns->devices ? row->point : row->case_id;
	cells[n++] = ratio_text(row, ratio, sizeof(ratio));
	if (columns->clock)
		cells[n++] = clock_matters(row)
				     ? short_ratio(row->at_same_clock, clock, sizeof(clock))
				     : "";
	if (columns->host)
		cells[n++] = short_ratio(row->at_same_host, host, sizeof(host));
	cells[n++] = units_format(row->a, row->unit, a, sizeof(a));
	cells[n++] = units_format(row->b, row->unit, b, sizeof(b));
	if (columns->notes)
		cells[n++] = note;
	table_row(table, cells, n);
	free(note);
}

static void print_rows(const struct comparison *c, bool all)
{
	bool *several = rows_of_several(c);
	struct columns columns = columns_of(c, several, all);
	struct output_table table = TABLE_EMPTY;

	add_heading(&table, &columns);
	for (size_t i = 0; i < c->count; i++)
		if (is_shown(&c->rows[i], all))
			add_row(&table, &c->rows[i], several[i], &columns);
	if (table.count > 1) {
		if (columns.devices && *columns.devices)
			printf("all of %s\n", columns.devices);
		table_print(&table, stdout);
	}
	table_release(&table);
	free(several);
}

static void print_host(const struct comparison *c)
{
	if (*c->host_finding)
		printf("%s\n", c->host_finding);
	if (!c->yardstick_count)
		return;
	printf("The host's yardstick, B/A:");
	for (size_t i = 0; i < c->yardstick_count; i++)
		printf("%s %s %.3g", i ? "," : "", c->yardstick[i].name, c->yardstick[i].ratio);
	printf("; together %.3g\n", c->host_ratio);
}

/* "5 launches of each, in turns; those in a row are correlated by 0.40" */
static void print_launches(const struct comparison *c)
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
	printf(" launch%s of each%s", most == 1 ? "" : "es",
	       c->turns && most > 1 ? ", in turns" : "");
	if (!isnan(c->resemblance))
		printf("; correlation of launches in a row: %.2f, over %zu series", c->resemblance,
		       c->resemblance_series);
	printf("\n");
}

/* Advice on how to decide the inconclusive ones. */
static void print_needed(const struct comparison *c)
{
	size_t host = 0, enough = 0, hopeless = 0, least = SIZE_MAX, most = 0;

	for (size_t i = 0; i < c->count; i++) {
		const struct comparison_row *row = &c->rows[i];

		if (row->change != CHANGE_INCONCLUSIVE)
			continue;
		if (row->launches_needed) {
			enough++;
			least = row->launches_needed < least ? row->launches_needed : least;
			most = row->launches_needed > most ? row->launches_needed : most;
		} else if (!c->turns && (row->kind == FIGURE_HOST || row->kind == FIGURE_CPU)) {
			host++;
		} else {
			hopeless++;
		}
	}
	if (enough) {
		printf("of the inconclusive: %zu would be decided by %zu", enough, least);
		printf(most > least ? " to %zu launches of each\n" : " launches of each\n", most);
	}
	if (host)
		printf("of the inconclusive: %zu are decided by the host, which differs more from "
		       "visit to visit; run --against measures both in one visit\n",
		       host);
	if (hopeless)
		printf("of the inconclusive: %zu have too few launches to tell%s\n", hopeless,
		       c->turns ? ", or scatter too much" : ", or differ more from visit to visit");
}

void print_comparison(const struct comparison *c, bool all)
{
	size_t hidden = c->counts[CHANGE_INCONCLUSIVE] + c->counts[CHANGE_SAME];

	print_differences(c);
	for (size_t i = 0; i < c->fault_count; i++)
		printf("WRONG in B: %s\n", c->faults[i]);
	print_host(c);
	printf("%s; margin %.3g %%\n", c->sentence, 100 * c->margin);
	print_launches(c);
	print_needed(c);
	print_rows(c, all);
	if (hidden && !all)
		printf("(--all lists what is the same or inconclusive, too)\n");
}

enum status print_compared(const struct result *a, const struct result *b, struct error *err)
{
	const struct comparison_input input = { .a = a,
						.b = b,
						.a_count = 1,
						.b_count = 1,
						.margin = COMPARE_MARGIN,
						.launch_spread = LAUNCH_SPREAD,
						.turns = true };
	struct comparison comparison;

	if (compare_results(&input, &comparison, err) != STATUS_OK)
		return err->status;
	print_comparison(&comparison, false);
	comparison_release(&comparison);
	return STATUS_OK;
}
