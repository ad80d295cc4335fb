/*
 * Evaluates a comparison as a whole: which changes are significant among all rows, the sentence,
 * the exit code.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "compare/comparing.h"

/* A tested row and its share of the error budget. */
struct tested_change {
	struct comparison_row *row;
	double weight;
};

static int whole_by_clearness(const void *a, const void *b)
{
	const struct tested_change *p = a, *q = b;
	double x = p->row->probability / p->weight, y = q->row->probability / q->weight;

	return (x > y) - (x < y);
}

static bool whole_row_is_changed(const struct comparison_row *row)
{
	return row->change == CHANGE_REGRESSED || row->change == CHANGE_IMPROVED;
}

/*
 * Weighted Holm step-down: the clearest change first, each against the error left to those not yet
 * certain. Sets `probability` to the adjusted p-value and withdraws changes that are too likely by
 * chance.
 */
static void whole_share_error(struct comparison *c, enum change change)
{
	struct tested_change *tested = xcalloc(c->count + 1, sizeof(*tested));
	double left = 0, highest = 0;
	size_t n = 0;

	for (size_t i = 0; i < c->count; i++) {
		double weight = figure_kind_is_of_host(c->rows[i].kind) ? HOST_WEIGHT : 1;

		/* The family whose error rate is controlled; other rows have no p-value. */
		if (c->rows[i].kind == FIGURE_EXACT || c->rows[i].change == CHANGE_NONE ||
		    !isfinite(c->rows[i].ratio))
			continue;
		left += weight;
		if (c->rows[i].change == change)
			tested[n++] = (struct tested_change){ &c->rows[i], weight };
	}
	qsort(tested, n, sizeof(*tested), whole_by_clearness);
	for (size_t i = 0; i < n; i++) {
		struct comparison_row *row = tested[i].row;

		highest = fmin(1, fmax(highest, row->probability * left / tested[i].weight));
		left -= tested[i].weight;
		row->probability = highest;
		if (highest <= COMPARE_ERROR || row->possible)
			continue;
		row->possible = true;
		free(row->reason);
		row->reason = xasprintf("not certain among %zu figures: by chance, %.0f %% of "
					"comparisons show such a change",
					c->count, 100 * highest);
	}
	free(tested);
}

/* A change of this ratio is always shown, however much sessions vary. */
#define FACTOR_SHOWN 2

/* Groups the rows whose metric varies too much between sessions and changed by no more. */
static void whole_group_rows(struct comparison *c)
{
	for (size_t i = 0; i < c->count; i++) {
		struct comparison_row *row = &c->rows[i];

		if (row->grouped && whole_row_is_changed(row) &&
		    (!row->possible ||
		     ((row->launches_a < FEWEST_LAUNCHES || row->launches_b < FEWEST_LAUNCHES) &&
		      fabs(log(row->ratio)) > log(FACTOR_SHOWN))))
			row->grouped = false;
		if (!row->grouped)
			continue;
		row->change = CHANGE_INCONCLUSIVE;
		row->possible = false;
		row->probability = NAN;
		row->launches_needed = 0;
		comparison_give_reason(row, "", "varies too much between sessions");
		c->grouped++;
	}
}

/*
 * Sorts the worst change first; within a verdict by the end of the interval nearest to 1, so that
 * the widest interval comes last.
 */
static int whole_by_change_and_ratio(const void *a, const void *b)
{
	const struct comparison_row *p = a, *q = b;
	double x, y;

	if (p->wrong != q->wrong)
		return p->wrong ? -1 : 1;
	if (p->change != q->change)
		return p->change < q->change ? -1 : 1;
	/* Certain before possible, both before rows that no launch decides. */
	if (p->possible != q->possible)
		return q->possible ? -1 : 1;
	if (p->grouped != q->grouped)
		return q->grouped ? -1 : 1;
	x = p->change == CHANGE_IMPROVED ? -p->high : p->low;
	y = q->change == CHANGE_IMPROVED ? -q->high : q->low;
	x = isnan(x) ? 0 : x;
	y = isnan(y) ? 0 : y;
	if (x != y)
		return x > y ? -1 : 1;
	return strcmp(p->case_id, q->case_id);
}

/* Appends "2 REGRESSED" to the text. */
static void whole_add_count(struct text *out, size_t count, const char *word)
{
	if (count)
		text_addf(out, "%s%zu %s", strchr(out->data, ':') ? ", " : ": ", count, word);
}

/* "41 figures: 1 REGRESSED, 15 UNCHANGED, 25 not comparable between sessions" */
static char *whole_sentence(const struct comparison *c)
{
	struct text out = TEXT_EMPTY;
	size_t one_sided = 0;

	if (c->same_run)
		return xasprintf("%s and %s are the same run, so there is nothing to compare",
				 c->name_a, c->name_b);
	for (size_t i = 0; i < c->count; i++)
		one_sided += c->rows[i].only_in != 0;
	text_addf(&out, "%zu figure%s", c->count, c->count == 1 ? "" : "s");
	for (int i = 0; i < CHANGE_COUNT; i++)
		whole_add_count(&out, c->counts[i] - (i == CHANGE_INCONCLUSIVE ? c->grouped : 0),
				compare_change_name((enum change)i));
	if (one_sided == c->counts[CHANGE_NONE] && one_sided)
		text_add(&out, " (each in only one of the runs)");
	else if (one_sided)
		text_addf(&out, " (%zu of them in only one of the runs)", one_sided);
	whole_add_count(&out, c->grouped, "not comparable between sessions");
	if (c->possible)
		text_addf(&out, "; %zu of the changes %s only possible", c->possible,
			  c->possible == 1 ? "is" : "are");
	return text_detach(&out);
}

static int whole_by_size(const void *a, const void *b)
{
	const size_t *p = a, *q = b;

	return (*p > *q) - (*p < *q);
}

/* Number of launches that would decide half of the rows that launches can decide. */
static char *whole_advice(const struct comparison *c)
{
	size_t *needed = xcalloc(c->count + 1, sizeof(*needed));
	size_t decidable = 0, few = 0, launches, decided = 0;

	for (size_t i = 0; i < c->count; i++) {
		const struct comparison_row *row = &c->rows[i];
		bool open = (row->change == CHANGE_INCONCLUSIVE && !row->grouped) || row->possible;

		if (open && row->change != CHANGE_NONE && row->kind != FIGURE_EXACT)
			few += row->launches_a < FEWEST_LAUNCHES ||
			       row->launches_b < FEWEST_LAUNCHES;
		if (row->change == CHANGE_INCONCLUSIVE && row->launches_needed > row->launches_b)
			needed[decidable++] = row->launches_needed;
	}
	qsort(needed, decidable, sizeof(*needed), whole_by_size);
	launches = decidable ? needed[(decidable - 1) / 2] : 0;
	while (decided < decidable && needed[decided] <= launches)
		decided++;
	free(needed);
	if (few)
		return xasprintf("to decide more figures, repeat both with --launches %d; fewer "
				 "than %d launches do not show how launches vary",
				 FEWEST_LAUNCHES + 1, FEWEST_LAUNCHES);
	if (!decided)
		return xstrdup("");
	return xasprintf("to decide %zu of the %zu inconclusive figures, repeat both with "
			 "--launches %zu",
			 decided, c->counts[CHANGE_INCONCLUSIVE] - c->grouped, launches);
}

void compare_whole(struct comparison *out)
{
	whole_share_error(out, CHANGE_REGRESSED);
	whole_share_error(out, CHANGE_IMPROVED);
	whole_group_rows(out);
	if (out->count)
		qsort(out->rows, out->count, sizeof(*out->rows), whole_by_change_and_ratio);
	for (size_t i = 0; i < out->count; i++) {
		const struct comparison_row *row = &out->rows[i];

		out->counts[row->change]++;
		out->possible += row->possible && whole_row_is_changed(row);
	}
	out->sentence = whole_sentence(out);
	out->advice = whole_advice(out);
}

int compare_whole_gate(const struct comparison *c)
{
	bool regressed = false, open = c->count == c->grouped;

	if (c->data_fault)
		return 5;
	for (size_t i = 0; i < c->count; i++) {
		const struct comparison_row *row = &c->rows[i];

		if (row->wrong)
			return 5;
		regressed = regressed || (row->change == CHANGE_REGRESSED && !row->possible);
		/* The row may still be a regression. */
		open = open || row->change == CHANGE_NONE || row->possible ||
		       (row->change == CHANGE_INCONCLUSIVE && !row->grouped &&
			row->high > 1 + fmax(row->margin, c->margin));
	}
	return regressed || c->fault_count ? 1 : open ? 4 : 0;
}

bool compare_whole_is_empty(const struct comparison *c)
{
	return c->counts[CHANGE_NONE] == c->count;
}

int compare_whole_gate_certain(const struct comparison *c)
{
	int code = compare_whole_gate(c);

	if (code != 4)
		return code;
	return c->count == c->grouped || c->counts[CHANGE_NONE] ? 4 : 0;
}
