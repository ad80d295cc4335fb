/* The reasons of the verdict as the page's first words: the sentences that every output has. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "report/acceptance/acceptance.h"
#include "report/view/view.h"

#define MOST_REASONS 8

static bool remedy_was_given(const struct verdicts *v, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (strcmp(v->reasons[k].remedy, v->reasons[i].remedy) == 0)
			return true;
	return false;
}

/*
 * Reasons come worst first. On a page that does not accept, those that need no action would only
 * hide the others.
 */
static size_t reasons_to_show(const struct verdicts *v)
{
	size_t count = v->reason_count < MOST_REASONS ? v->reason_count : MOST_REASONS;

	while (count > 1 && !v->reasons[0].accepted && v->reasons[count - 1].accepted &&
	       v->reasons[count - 1].verdict == VERDICT_INCONCLUSIVE)
		count--;
	return count;
}

void acceptance_reasons(const struct acceptance *a, struct tree *page)
{
	const struct verdicts *v = a->result->judgement;
	struct tree *items = tree_list(page, "reasons");
	size_t shown = reasons_to_show(v);
	const char *config, *limits;
	uint64_t hash;

	view_text(page, "headline",
		  v->reason_count && !v->reasons[0].accepted ? v->reasons[0].headline : "");
	for (size_t i = 0; i < shown; i++) {
		const struct verdict_reason *r = &v->reasons[i];
		struct tree *item = tree_item(items);

		tree_text(item, "symbol", acceptance_symbol(r->verdict));
		tree_text(item, "word", verdict_name(r->verdict));
		view_text(item, "text", r->text);
		view_text(item, "remedy", remedy_was_given(v, i) ? "" : r->remedy);
		tree_text(item, "cause", cause_name(r->cause));
		if (r->checks > 1)
			tree_textf(item, "more", "%zu checks", r->checks);
		else
			tree_text(item, "more", "");
	}
	tree_flag(page, "has_reasons", shown != 0);
	if (v->reason_count > shown)
		tree_textf(page, "more_reasons", "%zu more reason%s: gpuproof check --all",
			   v->reason_count - shown, v->reason_count - shown == 1 ? "" : "s");
	else
		tree_text(page, "more_reasons", "");
	/* Identifies configuration and limits on paper, where they are not printed. */
	config = view_string(a->result->config_text);
	limits = view_string(a->result->judgement->limits_text);
	hash = text_hash(TEXT_HASH_START, config, strlen(config));
	hash = text_hash(hash, limits, strlen(limits));
	tree_textf(page, "fingerprint", "%016" PRIx64, hash);
}
