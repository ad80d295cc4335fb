/*
 * A comparison as a whole: which of its changes hold among all rows, what it comes to, its exit
 * code.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "judge/compare/comparing.h"

/* A tested row and its share of the error. */
struct tested {
	struct comparison_row *row;
	double weight;
};

static int by_clearness(const void *a, const void *b)
{
	const struct tested *p = a, *q = b;
	double x = p->row->probability / p->weight, y = q->row->probability / q->weight;

	return (x > y) - (x < y);
}

/*
 * True if the row belongs to the family whose error rate is controlled; a row without such a change
 * has no probability.
 */
static bool is_tested(const struct comparison_row *row)
{
	return row->kind != FIGURE_EXACT && row->change != CHANGE_NONE && isfinite(row->ratio);
}

/*
 * Holm's step-down with weights: the clearest first, each against the error left to those that are
 * not yet certain. Sets `probability` to what it is among all rows, and takes back what is too
 * likely.
 */
static void share_error(struct comparison *c, enum change change)
{
	struct tested *tested = xcalloc(c->count + 1, sizeof(*tested));
	double left = 0, highest = 0;
	size_t n = 0;

	for (size_t i = 0; i < c->count; i++) {
		double weight = c->rows[i].kind == FIGURE_HOST ? HOST_WEIGHT : 1;

		if (!is_tested(&c->rows[i]))
			continue;
		left += weight;
		if (c->rows[i].change == change)
			tested[n++] = (struct tested){ &c->rows[i], weight };
	}
	qsort(tested, n, sizeof(*tested), by_clearness);
	for (size_t i = 0; i < n; i++) {
		struct comparison_row *row = tested[i].row;

		highest = fmin(1, fmax(highest, row->probability * left / tested[i].weight));
		left -= tested[i].weight;
		row->probability = highest;
		if (highest <= COMPARE_ERROR || row->possible)
			continue;
		row->possible = true;
		free(row->reason);
		row->reason = xasprintf("one of %zu figures, by chance once in %.0f comparisons",
					c->count, fmax(1, 1 / highest));
	}
	free(tested);
}

/* The worst change first; within a word, the largest ratio. */
static int by_weight(const void *a, const void *b)
{
	const struct comparison_row *p = a, *q = b;
	double x = isnan(p->ratio) ? 0 : p->ratio, y = isnan(q->ratio) ? 0 : q->ratio;

	if (p->wrong != q->wrong)
		return p->wrong ? -1 : 1;
	if (p->change != q->change)
		return p->change < q->change ? -1 : 1;
	/* Certain before possible. */
	if (p->possible != q->possible)
		return q->possible ? -1 : 1;
	if (x != y)
		return x > y ? -1 : 1;
	return strcmp(p->case_id, q->case_id);
}

static char *sentence(const struct comparison *c)
{
	static const char *const words[CHANGE_COUNT] = { "regressed", "inconclusive", "improved",
							 "the same", "not compared" };
	struct text out = TEXT_EMPTY;
	size_t one_sided = 0;

	for (size_t i = 0; i < c->count; i++)
		one_sided += c->rows[i].only_in != 0;
	text_addf(&out, "%zu comparison%s", c->count, c->count == 1 ? "" : "s");
	for (int i = 0; i < CHANGE_COUNT; i++)
		if (c->counts[i])
			text_addf(&out, "%s %zu %s", i && strchr(out.data, ':') ? "," : ":",
				  c->counts[i], words[i]);
	if (one_sided == c->counts[CHANGE_NONE] && one_sided)
		text_add(&out, " (only in one of the runs)");
	else if (one_sided)
		text_addf(&out, " (%zu only in one of the runs)", one_sided);
	if (c->possible)
		text_addf(&out, "; %zu of the changes %s only possible", c->possible,
			  c->possible == 1 ? "is" : "are");
	return text_detach(&out);
}

static int by_size(const void *a, const void *b)
{
	const size_t *p = a, *q = b;

	return (*p > *q) - (*p < *q);
}

/* Launches that decide half of the figures that any number of launches decides. */
static char *advice(const struct comparison *c)
{
	size_t *needed = xcalloc(c->count + 1, sizeof(*needed));
	size_t decidable = 0, few = 0, launches, decided = 0;

	for (size_t i = 0; i < c->count; i++) {
		const struct comparison_row *row = &c->rows[i];
		bool open = row->change == CHANGE_INCONCLUSIVE || row->possible;

		if (open && row->change != CHANGE_NONE && row->kind != FIGURE_EXACT)
			few += row->launches_a < FEWEST_LAUNCHES ||
			       row->launches_b < FEWEST_LAUNCHES;
		if (row->change == CHANGE_INCONCLUSIVE && row->launches_needed > row->launches_b)
			needed[decidable++] = row->launches_needed;
	}
	qsort(needed, decidable, sizeof(*needed), by_size);
	launches = decidable ? needed[(decidable - 1) / 2] : 0;
	while (decided < decidable && needed[decided] <= launches)
		decided++;
	free(needed);
	if (few)
		return xasprintf("to decide more, repeat both with --launches %d: fewer than %d "
				 "show nothing of their own spread",
				 FEWEST_LAUNCHES + 1, FEWEST_LAUNCHES);
	if (!decided)
		return xstrdup("");
	return xasprintf("to decide %zu of the %zu inconclusive, repeat both with --launches %zu",
			 decided, c->counts[CHANGE_INCONCLUSIVE], launches);
}

void compare_whole(struct comparison *out)
{
	share_error(out, CHANGE_REGRESSED);
	share_error(out, CHANGE_IMPROVED);
	if (out->count)
		qsort(out->rows, out->count, sizeof(*out->rows), by_weight);
	for (size_t i = 0; i < out->count; i++) {
		const struct comparison_row *row = &out->rows[i];

		out->counts[row->change]++;
		out->possible += row->possible && (row->change == CHANGE_REGRESSED ||
						   row->change == CHANGE_IMPROVED);
	}
	out->sentence = sentence(out);
	out->advice = advice(out);
}

int comparison_gate(const struct comparison *c)
{
	bool regressed = false, open = c->count == 0;

	if (c->fault_count)
		return 5;
	for (size_t i = 0; i < c->count; i++) {
		const struct comparison_row *row = &c->rows[i];

		if (row->wrong)
			return 5;
		if (row->change == CHANGE_REGRESSED && !row->possible)
			regressed = true;
		else if (row->change == CHANGE_NONE || row->possible || row->high > 1 + c->margin)
			open = open || row->change != CHANGE_SAME;
	}
	return regressed ? 1 : open ? 4 : 0;
}

int comparison_gate_certain(const struct comparison *c)
{
	int code = comparison_gate(c);

	if (code != 4)
		return code;
	return c->count == 0 || c->counts[CHANGE_NONE] ? 4 : 0;
}
