#include "cli/print_comparison.h"

#include <math.h>
#include <stdio.h>

#include "base/units.h"
#include "cli/table.h"
#include "judge/estimate.h"

static void print_differences(const struct comparison *c)
{
	struct table table = TABLE_EMPTY;

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

static void add_row(struct table *table, const struct comparison_row *row)
{
	char word[48], a[48], b[48], ratio[64] = "", clock[48] = "", launches[48];

	snprintf(word, sizeof(word), "%s%s",
		 row->possible && row->change <= CHANGE_IMPROVED &&
				 row->change != CHANGE_INCONCLUSIVE
			 ? "possibly "
			 : "",
		 change_name(row->change));
	if (isfinite(row->ratio))
		snprintf(ratio, sizeof(ratio), "%.4f [%.4f, %.4f]", row->ratio, row->low,
			 row->high);
	if (isfinite(row->normalised))
		snprintf(clock, sizeof(clock), "%.4f", row->normalised);
	snprintf(launches, sizeof(launches), "%zu, %zu", row->launches_a, row->launches_b);
	table_row(table,
		  (const char *[]){ word, ratio, clock,
				    units_format(row->a, row->unit, a, sizeof(a)),
				    units_format(row->b, row->unit, b, sizeof(b)), launches,
				    row->case_id, *row->reason ? row->reason : row->metric },
		  8);
}

void print_comparison(const struct comparison *c, bool all)
{
	struct table table = TABLE_EMPTY;

	print_differences(c);
	for (size_t i = 0; i < c->fault_count; i++)
		printf("WRONG in B: %s\n", c->faults[i]);
	printf("%s; margin %.3g %%\n", c->sentence, 100 * c->margin);
	table_row(&table,
		  (const char *[]){ "", "B/A, > 1 worse", "AT SAME CLOCK", "A", "B", "LAUNCHES",
				    "CASE", "METRIC" },
		  8);
	for (size_t i = 0; i < c->count; i++)
		if (all || (c->rows[i].change != CHANGE_SAME))
			add_row(&table, &c->rows[i]);
	if (table.count > 1)
		table_print(&table, stdout);
	table_release(&table);
}

void print_compared(const struct result *a, const struct result *b)
{
	const struct comparison_input input = { .a = a,
						.b = b,
						.a_count = 1,
						.b_count = 1,
						.margin = COMPARE_MARGIN,
						.launch_spread = LAUNCH_SPREAD };
	struct comparison comparison;

	compare_results(&input, &comparison);
	print_comparison(&comparison, false);
	comparison_release(&comparison);
}
