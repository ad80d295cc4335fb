#include "report/view/page_answer.h"

static void page_answer_set(struct tree *map, const char *kind, const char *symbol,
			    const char *word)
{
	tree_text(map, "verdict_kind", kind);
	tree_text(map, "verdict_symbol", symbol);
	tree_text(map, "verdict_word", word);
}

void page_answer_show(const struct page_answer *a, struct tree *map)
{
	if (a->found) {
		page_answer_set(map, "failed", "✗", a->found_word);
	} else if (a->warned) {
		page_answer_set(map, "error", "!", a->warned_word);
	} else if (!a->compared) {
		page_answer_set(map, "skipped", "○", a->nothing);
	} else if (a->compared < a->total) {
		tree_text(map, "verdict_kind", "skipped");
		tree_text(map, "verdict_symbol", "○");
		tree_textf(map, "verdict_word", "%s in %zu of %zu %s", a->good, a->compared,
			   a->total, a->things);
	} else {
		page_answer_set(map, "ok", "✓", a->good);
	}
}
