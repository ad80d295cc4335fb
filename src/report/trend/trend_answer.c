#include "report/trend/trend_answer.h"

#include <ctype.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/text.h"
#include "report/page/view_sections.h"
#include "report/view/page_answer.h"
#include "report/view/view.h"

struct answering {
	const struct trend_rows *rows;
	const struct history_nights *nights;
	struct tree *tree;
};

/* "2 new changes for the worse", "1 warning": `word` gets its plural s after `head` characters. */
static void trend_add_count(struct text *out, size_t count, const char *one, const char *many)
{
	if (count)
		text_addf(out, "%s%zu %s", out->length ? ", " : "", count, count == 1 ? one : many);
}

/* If no series has enough nights there is no answer, and no tick. */
static bool trend_nothing_known(const struct answering *p)
{
	return p->rows->summary.young == p->rows->summary.series &&
	       !trend_pools_tell(&p->rows->pools);
}

static void answer_word(const struct answering *p)
{
	const struct trend_summary *s = &p->rows->summary;
	size_t unknown = s->young + p->rows->silent;
	const struct page_answer answer = {
		.found = s->worse,
		.found_word = "Changed for the worse",
		.warned = s->warnings,
		.warned_word = "Warning",
		.compared = trend_nothing_known(p) ? 0 : s->series - unknown,
		.total = s->series,
		.good = "Nothing new for the worse",
		.things = "series",
		.nothing = p->nights->count ? "Cannot tell yet" : "No nights",
	};

	page_answer_show(&answer, p->tree);
}

static void trend_set_sentence(const struct answering *p, const char *news, const char *last)
{
	const struct trend_summary *s = &p->rows->summary;
	const char *nights = p->nights->count == 1 ? "night" : "nights";
	struct text out = TEXT_EMPTY;

	if (trend_nothing_known(p))
		text_addf(&out,
			  "%zu series over %zu %s up to %s: cannot tell yet. A change can be found "
			  "after %d nights with the same hardware, driver and config; one of "
			  "%.0f\u00a0%% and more at once.",
			  s->series, p->nights->count, nights, last, TREND_LEAST_NIGHTS,
			  100 * TREND_SUDDEN);
	else
		text_addf(&out, "%s, in %zu series over %zu %s up to %s.", news, s->series,
			  p->nights->count, nights, last);
	if (s->young && !trend_nothing_known(p))
		text_addf(&out, " %zu of %zu series: fewer than %d nights: cannot tell yet.",
			  s->young, s->series, TREND_LEAST_NIGHTS);
	if (p->rows->silent)
		text_addf(&out, " %zu of %zu series have no figure in the last night.",
			  p->rows->silent, s->series);
	tree_text_owned(p->tree, "verdict", text_detach(&out));
}

static void trend_set_answer(const struct answering *p)
{
	const struct trend_summary *s = &p->rows->summary;
	struct text text = TEXT_EMPTY;
	char last[16] = "–";

	if (p->nights->count)
		history_date(p->rows->last, last);
	trend_add_count(&text, s->worse, "new change for the worse", "new changes for the worse");
	trend_add_count(&text, s->warnings, "warning", "warnings");
	trend_add_count(&text, s->improved, "improvement", "improvements");
	trend_add_count(&text, s->fresh - s->worse - s->improved,
			"change without a better direction", "changes without a better direction");
	trend_set_sentence(p, text.length ? text.data : "No new change", last);
	answer_word(p);
	text_release(&text);
}

/* Changes that coincide with another driver, config or hardware, and changes of pools. */
static void trend_add_seams(const struct answering *p)
{
	struct tree *list = tree_list(p->tree, "since");

	for (size_t i = 0; i < p->rows->seams.count; i++) {
		char *words = seam_group_words(&p->rows->seams.items[i]);

		words[0] = (char)toupper((unsigned char)words[0]);
		tree_item_text(list, view_string(words));
		free(words);
	}
	for (size_t i = 0; i < p->rows->pools.count;) {
		char *words = trend_pool_words(&p->rows->pools, &i);

		tree_item_text(list, view_string(words));
		free(words);
	}
}

void trend_answer(const struct trend_rows *rows, const struct history_nights *nights,
		  struct tree *tree)
{
	const struct answering p = { rows, nights, tree };

	trend_set_answer(&p);
	trend_add_seams(&p);
}
