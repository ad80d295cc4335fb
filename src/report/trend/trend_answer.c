#include "report/trend/trend_answer.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/text.h"
#include "report/view/view.h"

struct answering {
	const struct trend_rows *rows;
	const struct history_nights *nights;
	struct tree *tree;
};

/* "2 new changes for the worse", "1 warning": `word` gets its plural s after `head` characters. */
static void add_count(struct text *out, size_t count, const char *one, const char *many)
{
	if (count)
		text_addf(out, "%s%zu %s", out->length ? ", " : "", count, count == 1 ? one : many);
}

/* If no series has enough nights there is no answer, and no tick. */
static bool nothing_known(const struct answering *p)
{
	return p->rows->summary.young == p->rows->summary.series;
}

static void answer_word(const struct answering *p)
{
	const struct trend_summary *s = &p->rows->summary;
	bool unknown = nothing_known(p);

	tree_text(p->tree, "verdict_kind",
		  s->worse      ? "failed"
		  : s->warnings ? "error"
		  : unknown     ? "skipped"
				: "ok");
	tree_text(p->tree, "verdict_symbol",
		  s->worse      ? "✗"
		  : s->warnings ? "!"
		  : unknown     ? "○"
				: "✓");
	tree_text(p->tree, "verdict_word",
		  !p->nights->count ? "No nights"
		  : s->worse        ? "Changed for the worse"
		  : s->warnings     ? "Warning"
		  : unknown         ? "Too few nights to tell"
				    : "Nothing new for the worse");
}

static void sentence(const struct answering *p, const char *news, const char *last)
{
	const struct trend_summary *s = &p->rows->summary;
	const char *nights = p->nights->count == 1 ? "night" : "nights";

	if (nothing_known(p))
		tree_textf(p->tree, "verdict",
			   "%zu series over %zu %s up to %s: too few to tell. A change can show "
			   "after %d nights with the same hardware, driver and config.",
			   s->series, p->nights->count, nights, last, TREND_LEAST_NIGHTS);
	else if (s->young)
		tree_textf(p->tree, "verdict",
			   "%s, in %zu series over %zu %s up to %s. %zu of %zu series: fewer than "
			   "%d nights, too few to tell.",
			   news, s->series, p->nights->count, nights, last, s->young, s->series,
			   TREND_LEAST_NIGHTS);
	else
		tree_textf(p->tree, "verdict", "%s, in %zu series over %zu %s up to %s.", news,
			   s->series, p->nights->count, nights, last);
}

static void answer(const struct answering *p)
{
	const struct trend_summary *s = &p->rows->summary;
	struct text text = TEXT_EMPTY;
	char last[16] = "–";

	if (p->nights->count)
		history_date(p->rows->last, last);
	add_count(&text, s->worse, "new change for the worse", "new changes for the worse");
	add_count(&text, s->warnings, "warning", "warnings");
	add_count(&text, s->improved, "improvement", "improvements");
	add_count(&text, s->fresh - s->worse - s->improved, "change without a better direction",
		  "changes without a better direction");
	sentence(p, text.length ? text.data : "No new change", last);
	answer_word(p);
	text_release(&text);
}

static void tiles(const struct answering *p)
{
	const struct trend_summary *s = &p->rows->summary;
	struct tree *list = tree_list(p->tree, "tiles");

	view_tile(list, "failed", "✗", s->worse, "new, worse");
	view_tile(list, "error", "!", s->warnings, "warnings");
	view_tile(list, "ok", "✓", s->improved, "improvements");
	view_tile(list, "skipped", "○", s->acknowledged, "acknowledged");
	view_tile(list, "skipped", "○", s->recovered, "recovered");
	view_tile(list, "skipped", "○", s->young, "too few nights");
}

void trend_answer(const struct trend_rows *rows, const struct history_nights *nights,
		  struct tree *tree)
{
	const struct answering p = { rows, nights, tree };

	answer(&p);
	tiles(&p);
}
