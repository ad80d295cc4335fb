#include "report/fleet/fleet_page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "report/acceptance/acceptance.h"
#include "report/page/html.h"
#include "report/page/settings.h"
#include "report/page/view_sections.h"
#include "report/template/template.h"
#include "report/view/format.h"
#include "report/view/view.h"

static void fleet_set_answer(const struct fleet_page *fleet, struct tree *page)
{
	const struct verdicts *v = fleet->result->judgement;

	tree_text(page, "verdict_kind", v ? verdicts_kind(v) : "skipped");
	tree_text(page, "verdict_symbol", v ? verdicts_symbol(v) : "○");
	tree_text(page, "verdict_word", v ? verdicts_word(v) : "NOT JUDGED");
	view_text(page, "verdict",
		  v ? v->sentence : "No limits were applied. For a verdict: run with --check.");
	view_text(page, "limits_source", v ? v->limits : "");
}

/* Appends "2 nodes failed" to the text. */
static void fleet_add_count(struct text *out, size_t count, const char *words)
{
	if (count)
		text_addf(out, "%s%zu node%s %s", out->length ? ", " : "", count,
			  text_plural(count), words);
}

static void fleet_set_counts(const struct fleet_page *fleet, const struct fleet_nodes *nodes,
			     struct tree *page)
{
	size_t failed = 0, lost = result_lost_nodes(fleet->result), open = 0, cleared = 0;
	struct text out = TEXT_EMPTY;

	for (size_t i = 0; i < nodes->count; i++) {
		const struct fleet_node *n = &nodes->items[i];
		bool fails = n->wrong_cases || (n->worst && n->worst->verdict == VERDICT_FAIL);

		if (n->node->status != NODE_OK)
			continue;
		failed += fails;
		open += !fails && fleet_node_is_suspect(n);
		cleared += fleet_node_is_cleared(n);
	}
	fleet_add_count(&out, failed, "failed");
	fleet_add_count(&out, lost, "not complete");
	fleet_add_count(&out, open, "with errors or open checks");
	fleet_add_count(&out, cleared, "judged without a failure");
	fleet_add_count(&out, nodes->count - failed - lost - open - cleared,
			"complete, not judged");
	tree_text_owned(page, "counts", text_detach(&out));
}

static struct tree *fleet_page_tree(const struct fleet_page *fleet, const char *own_title)
{
	const struct result *r = fleet->result;
	const struct view view = { .results = r, .count = 1 };
	struct tree *page = tree_new(TREE_MAP);
	const char *asked = report_setting(r, "title");
	struct fleet_nodes nodes;
	char *title = own_title || *asked
			      ? xstrdup(own_title ? own_title : asked)
			      : xasprintf("%s%s%zu nodes", view_string(r->label),
					  *view_string(r->label) ? ", " : "", r->node_count);

	view_text(page, "title", title);
	free(title);
	view_runs(&view, page);
	fleet_nodes_collect(&nodes, r);
	fleet_set_answer(fleet, page);
	fleet_set_counts(fleet, &nodes, page);
	/* "1,000 nodes, 8,000 devices, 480,000 cases; took 12 min" */
	tree_textf(page, "scope", "%s nodes, %s devices, %s cases; took %s",
		   format_count((double)r->node_count).text,
		   format_count((double)r->device_count).text,
		   format_count((double)r->case_count).text, format_seconds(r->seconds).text);
	tree_text(page, "run_page", fleet->run_page ? fleet->run_page : "");
	tree_text(page, "acceptance_page", fleet->acceptance_page ? fleet->acceptance_page : "");
	fleet_nodes_show(&nodes, r, page);
	fleet_pairs(&nodes, r, page);
	fleet_scaling(&nodes, r, page);
	fleet_nodes_release(&nodes);
	fleet_figures(r, page);
	fleet_cost(r, page);
	view_environment(&view, page);
	return page;
}

enum status fleet_page_render(const struct fleet_page *fleet, const struct report_options *options,
			      struct text *html, struct error *err)
{
	struct tree *page;
	enum status status;

	if (!fleet->result->node_count)
		return error_set(err, STATUS_USAGE,
				 "the result is of one machine, not of a run on several nodes");
	page = fleet_page_tree(fleet, options->title);
	tree_flag(page, "charts_folder", false);
	status = html_render("fleet", options, page, html, err);
	tree_free(page);
	return status;
}

enum status fleet_page_write(const struct fleet_page *fleet, const struct report_options *options,
			     struct error *err)
{
	struct text html = TEXT_EMPTY;
	enum status status = fleet_page_render(fleet, options, &html, err);

	if (status == STATUS_OK)
		status = html_publish(options, &html, err);
	text_release(&html);
	return status;
}
