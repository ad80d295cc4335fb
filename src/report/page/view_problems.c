/* Cases that are no results: wrong ones, errors, and those that were not run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/page/view_sections.h"
#include "result/outcome.h"

static void view_problems_add(const struct view *view, size_t run, const struct case_result *c,
			      struct tree *list)
{
	struct tree *problem = tree_item(list);
	char *devices = view_all_devices(view, c);

	tree_text(problem, "kind", c->status == CASE_FAILED ? "failed" : "error");
	tree_text(problem, "symbol", format_status_symbol(c->status));
	tree_text(problem, "word", format_status_word(c->status));
	view_text(problem, "id", c->id);
	view_text(problem, "where",
		  view->count > 1 ? view->sources[view_source_of(view, run, c)].label : devices);
	view_text(problem, "reason",
		  *view_string(c->reason) ? c->reason : "no reason was recorded");
	view_text(problem, "method", c->verification.done ? c->verification.method : "");
	tree_textf(problem, "error", isfinite(c->verification.error) ? "error %s, allowed %s" : "",
		   format_scaled(c->verification.error, 1).text,
		   format_scaled(c->verification.tolerance, 1).text);
	view_text(problem, "notes", c->notes);
	tree_text(problem, "after", c->seconds > 0 ? format_seconds(c->seconds).text : "");
	free(devices);
}

void view_problems(const struct view *view, struct tree *page)
{
	static const enum case_status order[] = { CASE_FAILED, CASE_ERROR };
	struct tree *list = tree_list(page, "problems");
	double injected;

	/* True if a self-test made every wrong result; its cases have the details. */
	if (view->count == 1 && view_is_selftest(view->results, &injected))
		return;
	for (size_t s = 0; s < ARRAY_SIZE(order); s++)
		for (size_t r = 0; r < view->count; r++)
			for (size_t i = 0; i < view->results[r].case_count; i++)
				if (view->results[r].cases[i].status == order[s])
					view_problems_add(view, r, &view->results[r].cases[i],
							  list);
}

/* Cases that were not run for the same reason, whichever device it names. */
struct skip_group {
	char *common;       /* the reason, of "the device" */
	const char *reason; /* of the first case */
	const char *suite;
	bool several; /* reasons, each of its own device */
	struct tree *map, *ids;
};

struct skip_groups {
	struct tree *list;
	struct skip_group *items;
	size_t count, capacity;
};

static struct skip_group *view_problems_skip_group_of(struct skip_groups *groups,
						      const struct case_result *c)
{
	const char *reason = view_string(c->reason), *suite = view_string(c->suite);
	char *common = result_outcome_case_common_reason(c);
	struct skip_group *group;

	for (size_t g = 0; g < groups->count; g++) {
		group = &groups->items[g];
		if (strcmp(group->common, common) == 0 && strcmp(group->suite, suite) == 0) {
			group->several |= strcmp(group->reason, reason) != 0;
			free(common);
			return group;
		}
	}
	ARRAY_GROW(groups->items, groups->count, groups->capacity);
	group = &groups->items[groups->count++];
	*group = (struct skip_group){
		.common = common, .reason = reason, .suite = suite, .map = tree_item(groups->list)
	};
	group->ids = tree_list(group->map, "ids");
	return group;
}

void view_problems_skipped(const struct view *view, struct tree *page)
{
	struct skip_groups groups = { .list = tree_list(page, "skipped") };
	size_t unreached = 0, total = 0;

	for (size_t r = 0; r < view->count; r++) {
		const struct result *result = &view->results[r];

		if (result->planned > result->case_count)
			unreached += result->planned - result->case_count;
		for (size_t i = 0; i < result->case_count; i++)
			if (result->cases[i].status == CASE_SKIPPED) {
				char *id = format_cut(view_string(result->cases[i].id),
						      FORMAT_LONGEST);

				tree_item_text(view_problems_skip_group_of(&groups,
									   &result->cases[i])
						       ->ids,
					       id);
				free(id);
				total++;
			}
	}
	total += unreached;
	tree_textf(page, "skipped_count", "%zu %s", total, format_cases(total));
	for (size_t g = 0; g < groups.count; g++) {
		const char *reason =
			groups.items[g].several ? groups.items[g].common : groups.items[g].reason;

		view_text(groups.items[g].map, "suite", groups.items[g].suite);
		view_text(groups.items[g].map, "reason",
			  *reason ? reason : "no reason was recorded");
		tree_textf(groups.items[g].map, "count", "%zu", groups.items[g].ids->count);
		free(groups.items[g].common);
	}
	tree_textf(page, "unreached", unreached ? "%zu more %s planned but not reached." : "",
		   unreached, unreached == 1 ? "case was" : "cases were");
	tree_flag(page, "has_skipped", groups.count || unreached);
	free(groups.items);
}
