#include "cli/output/print.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "cli/output/table.h"

#define MOST_ROWS 20
#define FEWEST_COLUMNS 120 /* terminal width with room for all columns */

/* An allowed skip of a whole limit: rows with the same reason are merged. */
static bool print_verdicts_checks_is_alike(const struct verdict_check *c,
					   const struct verdict_check *other)
{
	return c->verdict == VERDICT_SKIP && other->verdict == VERDICT_SKIP && !*c->case_id &&
	       !*other->case_id && strcmp(c->reason, other->reason) == 0 &&
	       strcmp(c->machine, other->machine) == 0;
}

/*
 * "pcie, peer, memory": limits of all checks like the one at `at`; NULL: an earlier row has them.
 */
static char *print_verdicts_checks_limits_alike(const struct verdicts *v, size_t at)
{
	struct text names = TEXT_EMPTY;
	size_t first = at;

	/* Most checks are unlike all others; a fleet has 600,000. */
	if (!print_verdicts_checks_is_alike(&v->checks[at], &v->checks[at]))
		return xstrdup(v->checks[at].limit);
	/* The checks of a machine are consecutive; a delivery has many machines. */
	while (first > 0 && strcmp(v->checks[first - 1].machine, v->checks[at].machine) == 0)
		first--;
	for (size_t i = first;
	     i < v->count && strcmp(v->checks[i].machine, v->checks[at].machine) == 0; i++) {
		if (!print_verdicts_checks_is_alike(&v->checks[i], &v->checks[at]))
			continue;
		if (i < at) {
			text_release(&names);
			return NULL;
		}
		text_addf(&names, "%s%s", names.length ? ", " : "", v->checks[i].limit);
	}
	return text_detach(&names);
}

/* True if five columns leave no room for the result: case, limit and result then share a column. */
static bool print_verdicts_checks_is_narrow(void)
{
	return table_terminal_columns(stdout) < FEWEST_COLUMNS;
}

static void print_verdicts_add_check_row(struct output_table *table, const struct verdict_check *c,
					 const char *limits)
{
	/* The numbers, and the reason if the numbers do not explain it. */
	char *numbers = c->verdict == VERDICT_SKIP ? xstrdup("") : verdict_check_numbers(c);
	const char *metric = *numbers ? c->metric : "";
	char *result = xasprintf("%s%s%s%s%s", metric, *metric ? " " : "", numbers,
				 *numbers && *c->reason ? "; " : "", c->reason);
	char *device =
		xasprintf("%s%s%s", c->machine, *c->machine && *c->devices ? " " : "", c->devices);
	const char *where = *c->case_id ? c->case_id : device;
	char *narrow = xasprintf("%s%s%s: %s", where, *where ? ", " : "", limits, result);
	const char *columns[] = { verdict_fields_name(c->verdict), *device ? device : "-",
				  *c->case_id ? c->case_id : "-", limits, result };

	if (print_verdicts_checks_is_narrow())
		TABLE_ROW(table, verdict_fields_name(c->verdict), narrow);
	else
		table_row(table, columns, ARRAY_SIZE(columns));
	free(numbers);
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
		limits = print_verdicts_checks_limits_alike(v, i);
		if (limits && (all || table->count <= MOST_ROWS))
			print_verdicts_add_check_row(table, &v->checks[i], limits);
		else if (limits)
			++*left_out;
		free(limits);
	}
}

/*
 * Prints the origin of each limit once; without `all` only of those with checks that are not
 * accepted.
 */
static void print_verdicts_origins(const struct verdicts *v, bool all)
{
	const struct verdict_check **told = xcalloc(v->count + 1, sizeof(*told));
	struct output_table table = TABLE_EMPTY;
	size_t shown = 0;

	for (size_t i = 0; i < v->count && (all || shown < MOST_ROWS); i++) {
		const struct verdict_check *c = &v->checks[i];
		bool origin = *c->bound_origin || *c->bound_text || *c->place;
		size_t before = 0; /* checks with the same limit */
		char *words;

		while (before < shown && (strcmp(told[before]->limit, c->limit) != 0 ||
					  strcmp(told[before]->bound_text, c->bound_text) != 0))
			before++;
		if ((c->accepted && !all) || !origin || before < shown)
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

static void print_verdicts_checks(const struct verdicts *v, bool all)
{
	static const enum verdict order[] = { VERDICT_FAIL, VERDICT_ERROR, VERDICT_INCONCLUSIVE,
					      VERDICT_SKIP, VERDICT_WARN,  VERDICT_PASS };
	struct output_table table = TABLE_EMPTY;
	size_t left_out = 0;

	if (print_verdicts_checks_is_narrow())
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
	print_verdicts_origins(v, all);
}

#define MOST_SHOWN 50
#define INDENT 13 /* after the name of the verdict */

static void print_verdicts_name(enum verdict verdict)
{
	static const char *const colours[VERDICT_COUNT] = { "\033[32m", "\033[33m", "\033[31m",
							    "\033[33m", "",         "\033[31m" };
	const char *on = table_is_coloured() ? colours[verdict] : "";

	printf("%s%-12s%s ", on, verdict_fields_name(verdict), *on ? "\033[0m" : "");
}

/* Prints the text, whose first line starts at column `indent`, and continues it there. */
static void verdicts_print_folded(size_t indent, const char *text)
{
	size_t columns = table_terminal_columns(stdout);

	table_print_folded(text, indent, (columns > 2 * INDENT ? columns : 80) - indent, stdout);
}

/* True if the aspect was judged or promised on any device. */
static bool print_verdicts_in_play(const struct verdicts *v, enum aspect aspect)
{
	for (size_t i = 0; i < v->device_count; i++) {
		const struct aspect_judgement *k = verdict_device_aspect(&v->devices[i], aspect);

		if (k && (k->promised || k->judged))
			return true;
	}
	return false;
}

/* One row per device, one column per aspect; blank if neither promised nor judged. */
static void print_verdicts_aspects(const struct verdicts *v)
{
	bool shown[ASPECT_COUNT] = { false }, any = false;
	size_t width = 10;

	for (int k = ASPECT_NONE + 1; k < ASPECT_COUNT; k++) {
		shown[k] = print_verdicts_in_play(v, (enum aspect)k);
		any = any || shown[k];
	}
	if (!any)
		return;
	for (size_t i = 0; i < v->device_count; i++) {
		size_t own = strlen(v->devices[i].device) + strlen(v->devices[i].machine) + 1;

		width = own > width ? own : width;
	}
	printf("  %-*s", (int)width, "");
	for (int k = ASPECT_NONE + 1; k < ASPECT_COUNT; k++)
		if (shown[k])
			printf(" %-12s", aspect_name((enum aspect)k));
	printf("\n");
	for (size_t i = 0; i < v->device_count; i++) {
		const struct device_judgement *d = &v->devices[i];
		/* "cuda:0", or "n7.json cuda:0" with several machines. */
		char *title = xasprintf("%s%s%s", d->machine, *d->machine ? " " : "", d->device);

		printf("  %-*s", (int)width, title);
		free(title);
		for (int k = ASPECT_NONE + 1; k < ASPECT_COUNT; k++) {
			const struct aspect_judgement *j = verdict_device_aspect(d, (enum aspect)k);

			if (shown[k])
				printf(" %-12s", !j            ? ""
						 : j->judged   ? verdict_fields_name(j->verdict)
						 : j->promised ? "NOT JUDGED"
							       : "-");
		}
		printf("\n");
	}
}

/* In bold and colour on a terminal. */
static void print_verdicts_sentence(const struct verdicts *v)
{
	const char *on = !table_is_coloured()                     ? ""
			 : verdicts_accepted(v)                   ? "\033[1;32m"
			 : v->wrong || v->overall == VERDICT_FAIL ? "\033[1;31m"
								  : "\033[1;33m";

	fputs(on, stdout);
	verdicts_print_folded(0, v->sentence);
	fputs(*on ? "\033[0m" : "", stdout);
}

static void print_verdicts_reasons(const struct verdicts *v, bool all)
{
	size_t shown = v->reason_count > MOST_SHOWN && !all ? MOST_SHOWN : v->reason_count;

	for (size_t i = 0; i < shown; i++) {
		const struct verdict_reason *r = &v->reasons[i];
		const char *cause = cause_name(r->cause);
		size_t same = 0; /* the first reason with this remedy, which prints it */

		while (strcmp(v->reasons[same].remedy, r->remedy) != 0)
			same++;
		print_verdicts_name(r->verdict);
		verdicts_print_folded(INDENT, r->text);
		if (*r->remedy && same == i) {
			printf("%*s", INDENT, "");
			verdicts_print_folded(INDENT, r->remedy);
		}
		/* Names of causes are short. */
		if (r->checks > 1)
			printf("%*scause: %s; %zu checks\n", INDENT, "", cause, r->checks);
		else if (*cause)
			printf("%*scause: %s\n", INDENT, "", cause);
	}
	if (shown < v->reason_count)
		printf("and %zu more reasons; --all prints them\n", v->reason_count - shown);
}

/*
 * The verdict, the checks, each reason with its limit and the next step, and the verdict again: a
 * terminal shows the end of a long output.
 */
void print_verdicts(const struct verdicts *v, bool all)
{
	if (v->reason_count)
		print_verdicts_sentence(v);
	print_verdicts_checks(v, all);
	printf("limits: %s; checks:", v->limits ? v->limits : "");
	for (int i = 0; i < VERDICT_COUNT; i++)
		if (v->counts[i])
			printf(" %zu %s", v->counts[i], verdict_fields_name((enum verdict)i));
	printf("%s\n", v->count ? "\nValues in [brackets] are one-sided 95 % bounds." : " none");
	print_verdicts_aspects(v);
	print_verdicts_reasons(v, all);
	print_verdicts_sentence(v);
}
