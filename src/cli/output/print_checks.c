#include "cli/output/print_checks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "cli/output/table.h"

#define MOST_ROWS 20
#define FEWEST_COLUMNS 120 /* terminal width with room for all columns */

/* An allowed skip of a whole limit: rows with the same reason are merged. */
static bool print_checks_is_alike(const struct verdict_check *c, const struct verdict_check *other)
{
	return c->verdict == VERDICT_SKIP && other->verdict == VERDICT_SKIP && !*c->case_id &&
	       !*other->case_id && strcmp(c->reason, other->reason) == 0 &&
	       strcmp(c->machine, other->machine) == 0;
}

/*
 * "pcie, peer, memory": limits of all checks like the one at `at`; NULL: an earlier row has them.
 */
static char *print_checks_limits_alike(const struct verdicts *v, size_t at)
{
	struct text names = TEXT_EMPTY;

	/* Most checks are unlike all others; a fleet has 600,000. */
	if (!print_checks_is_alike(&v->checks[at], &v->checks[at]))
		return xstrdup(v->checks[at].limit);
	for (size_t i = 0; i < v->count; i++) {
		if (!print_checks_is_alike(&v->checks[i], &v->checks[at]))
			continue;
		if (i < at) {
			text_release(&names);
			return NULL;
		}
		text_addf(&names, "%s%s", names.length ? ", " : "", v->checks[i].limit);
	}
	return text_detach(&names);
}

/* The numbers, and the reason if the numbers do not explain it. */
static char *print_checks_result_of(const struct verdict_check *c)
{
	char *numbers = c->verdict == VERDICT_SKIP ? xstrdup("") : check_numbers(c), *out;
	bool both = *numbers && *c->reason;

	out = xasprintf("%s%s%s%s%s", *numbers && *c->metric ? c->metric : "",
			*numbers && *c->metric ? " " : "", numbers, both ? "; " : "", c->reason);
	free(numbers);
	return out;
}

/* True if five columns leave no room for the result: case, limit and result then share a column. */
static bool print_checks_is_narrow(void)
{
	return table_terminal_columns(stdout) < FEWEST_COLUMNS;
}

static void add_check_row(struct output_table *table, const struct verdict_check *c,
			  const char *limits)
{
	char *result = print_checks_result_of(c);
	char *device =
		xasprintf("%s%s%s", c->machine, *c->machine && *c->devices ? " " : "", c->devices);
	const char *where = *c->case_id ? c->case_id : device;
	char *narrow = xasprintf("%s%s%s: %s", where, *where ? ", " : "", limits, result);
	const char *columns[] = { verdict_name(c->verdict), *device ? device : "-",
				  *c->case_id ? c->case_id : "-", limits, result };

	if (print_checks_is_narrow())
		TABLE_ROW(table, verdict_name(c->verdict), narrow);
	else
		table_row(table, columns, ARRAY_SIZE(columns));
	free(result);
	free(device);
	free(narrow);
}

/* Adds the checks of one verdict in the order of the limits; false: the table is full. */
static void print_checks_add_verdict_rows(const struct verdicts *v, enum verdict verdict, bool all,
					  struct output_table *table, size_t *left_out)
{
	for (size_t i = 0; i < v->count; i++) {
		char *limits;

		if (v->checks[i].verdict != verdict)
			continue;
		limits = print_checks_limits_alike(v, i);
		if (limits && (all || table->count <= MOST_ROWS))
			add_check_row(table, &v->checks[i], limits);
		else if (limits)
			++*left_out;
		free(limits);
	}
}

/* True if one of the checks in `told` has the same limit. */
static bool was_told_before(const struct verdict_check *const *told, size_t count,
			    const struct verdict_check *c)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(told[i]->limit, c->limit) == 0 &&
		    strcmp(told[i]->bound_text, c->bound_text) == 0)
			return true;
	return false;
}

/*
 * Prints the origin of each limit once; without `all` only of those with checks that are not
 * accepted.
 */
static void print_origins(const struct verdicts *v, bool all)
{
	const struct verdict_check **told = xcalloc(v->count + 1, sizeof(*told));
	struct output_table table = TABLE_EMPTY;
	size_t shown = 0;

	for (size_t i = 0; i < v->count && (all || shown < MOST_ROWS); i++) {
		const struct verdict_check *c = &v->checks[i];
		bool origin = *c->bound_origin || *c->bound_text || *c->place;
		char *words;

		if ((c->accepted && !all) || !origin || was_told_before(told, shown, c))
			continue;
		told[shown++] = c;
		words = xasprintf("limit %s: %s%s(%s%s%s)", c->limit, c->bound_text,
				  *c->bound_text ? " " : "", c->place,
				  *c->place && *c->bound_origin ? "; " : "", c->bound_origin);
		TABLE_ROW(&table, words);
		free(words);
	}
	table_finish(&table, stdout);
	free(told);
}

void print_checks(const struct verdicts *v, bool all)
{
	static const enum verdict order[] = { VERDICT_FAIL, VERDICT_ERROR, VERDICT_INCONCLUSIVE,
					      VERDICT_SKIP, VERDICT_WARN,  VERDICT_PASS };
	struct output_table table = TABLE_EMPTY;
	size_t left_out = 0;

	if (print_checks_is_narrow())
		TABLE_ROW(&table, "VERDICT", "CASE, LIMIT: RESULT");
	else
		TABLE_ROW(&table, "VERDICT", "DEVICE", "CASE", "LIMIT", "RESULT");
	for (size_t i = 0; i < ARRAY_SIZE(order) && (all || order[i] != VERDICT_PASS); i++)
		print_checks_add_verdict_rows(v, order[i], all, &table, &left_out);
	if (table.count > 1)
		table_finish(&table, stdout);
	if (left_out)
		printf("and %zu more checks that did not pass; --all prints them\n", left_out);
	table_release(&table);
	print_origins(v, all);
}
