#include "report/fleet/fleet_page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/stats.h"
#include "base/units.h"
#include "report/acceptance/acceptance.h"
#include "report/chart/chart.h"
#include "report/page/html.h"
#include "report/page/view_sections.h"
#include "report/template/template.h"
#include "report/view/presented.h"

static void fleet_page_set_answer(const struct fleet_page *fleet, struct tree *page)
{
	const struct verdicts *v = fleet->result->judgement;

	tree_text(page, "verdict_kind", v ? view_verdict_kind_of(v) : "skipped");
	tree_text(page, "verdict_symbol", v ? view_verdict_symbol(v) : "○");
	tree_text(page, "verdict_word", v ? verdicts_word(v) : "NOT JUDGED");
	view_text(page, "verdict",
		  v ? v->sentence : "No limits were applied. For a verdict: run with --check.");
	view_text(page, "limits_source", v ? v->limits : "");
}

/* Appends "2 nodes failed" to the text. */
static void fleet_page_add_count(struct text *out, size_t count, const char *words)
{
	if (count)
		format_list(out, "%zu node%s %s", count, text_plural(count), words);
}

static void fleet_page_set_counts(const struct fleet_page *fleet, const struct fleet_nodes *nodes,
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
	fleet_page_add_count(&out, failed, "failed");
	fleet_page_add_count(&out, lost, "not complete");
	fleet_page_add_count(&out, open, "with errors or open checks");
	fleet_page_add_count(&out, cleared, "judged, and no check failed");
	fleet_page_add_count(&out, nodes->count - failed - lost - open - cleared,
			     "complete, not judged");
	tree_text_owned(page, "counts", text_detach(&out));
}

/* GPUs that a node before has as well: nodes that share a GPU are simulated. */
static size_t fleet_page_count_shared(const struct result *r)
{
	struct text_index seen = { 0 };
	size_t shared = 0;

	for (size_t i = 0; i < r->device_count; i++) {
		const struct device_info *d = &r->devices[i];

		if (!*view_string(d->uuid))
			continue;
		if (text_index_find(&seen, d->uuid, "") != SIZE_MAX)
			shared++;
		else
			*text_index_at(&seen, d->uuid, "") = i;
	}
	text_index_release(&seen);
	return shared;
}

/* Names the devices as what they are, and says which figures are no GPU's or no node's own. */
static void fleet_page_set_devices(const struct result *r, struct tree *page)
{
	size_t hosts = 0, shared = fleet_page_count_shared(r);
	struct text models = TEXT_EMPTY;

	view_add_devices(&models, r);
	view_text_owned(page, "models", text_detach(&models));
	for (size_t i = 0; i < r->device_count; i++)
		hosts += device_is_host(&r->devices[i]);
	if (hosts && hosts == r->device_count)
		tree_text(page, "not_gpus", "No GPU was measured: all devices are CPUs.");
	else if (hosts)
		tree_textf(page, "not_gpus", "%zu of %zu devices are CPUs.", hosts,
			   r->device_count);
	else
		tree_textf(page, "not_gpus",
			   shared ? "%zu of %zu GPUs also belong to another node: these nodes are "
				    "simulated, and no figure describes a single node."
				  : "",
			   shared, r->device_count);
}

#define MOST_NAMED 3 /* suspect nodes in the title */

/* "2 of 64 nodes are suspect: n041 (FAIL, copies from the host), n023 (LOST)"; malloc'ed. */
static char *fleet_page_title(const struct fleet_page *fleet, const struct fleet_nodes *nodes,
			      const char *own)
{
	const struct result *r = fleet->result;
	const char *asked = own ? own : report_setting(r, "title");
	struct text out = TEXT_EMPTY;
	size_t suspects = 0, cleared = 0;

	if (*asked)
		return xstrdup(asked);
	for (size_t i = 0; i < nodes->count; i++) {
		suspects += fleet_node_is_suspect(&nodes->items[i]);
		cleared += fleet_node_is_cleared(&nodes->items[i]);
	}
	text_addf(&out, "%s%s", view_string(r->label), *view_string(r->label) ? ": " : "");
	if (!suspects) {
		text_addf(&out, "%zu nodes, %s", nodes->count,
			  cleared == nodes->count ? "none suspect"
			  : cleared               ? "not all judged"
						  : "not judged");
		return text_detach(&out);
	}
	text_addf(&out, "%zu of %zu nodes %s suspect: ", suspects, nodes->count,
		  suspects == 1 ? "is" : "are");
	for (size_t i = 0; i < suspects && i < MOST_NAMED; i++) {
		const struct fleet_node *n = nodes->by_need[i];
		const char *what = n->worst ? n->worst->task : "";

		text_addf(&out, "%s%s (%s%s%s)", i ? ", " : "", n->node->name, fleet_node_word(n),
			  *what ? ", " : "", what);
	}
	if (suspects > MOST_NAMED)
		text_addf(&out, " and %zu more", suspects - MOST_NAMED);
	return text_detach(&out);
}

static struct tree *fleet_page_tree(const struct fleet_page *fleet, const char *own_title)
{
	const struct result *r = fleet->result;
	const struct view view = { .results = r, .count = 1 };
	struct tree *page = tree_new(TREE_MAP);
	struct fleet_nodes nodes;

	view_environment_runs(&view, page);
	fleet_nodes_collect(&nodes, r);
	fleet_page_set_answer(fleet, page);
	fleet_page_set_counts(fleet, &nodes, page);
	fleet_page_set_devices(r, page);
	/* "1,000 nodes, 8,000 devices, 480,000 cases; took 12 min" */
	tree_textf(page, "scope", "%s nodes, %s devices, %s cases; took %s",
		   format_count((double)r->node_count).text,
		   format_count((double)r->device_count).text,
		   format_count((double)r->case_count).text, format_seconds(r->seconds).text);
	tree_text(page, "run_page", fleet->run_page ? fleet->run_page : "");
	tree_text(page, "acceptance_page", fleet->acceptance_page ? fleet->acceptance_page : "");
	fleet_figures(&nodes, r, page);
	fleet_nodes_show(&nodes, r, page);
	view_text_owned(page, "title", fleet_page_title(fleet, &nodes, own_title));
	fleet_pairs(&nodes, r, page);
	fleet_nodes_release(&nodes);
	view_environment(&view, page);
	return page;
}

enum status fleet_page_write(const struct fleet_page *fleet, const struct report_options *options,
			     struct error *err)
{
	struct tree *page;

	if (!fleet->result->node_count)
		return error_set(err, STATUS_USAGE,
				 "the result is from one machine, not from a multi-node run");
	page = fleet_page_tree(fleet, options->title);
	tree_flag(page, "charts_folder", false);
	return html_write("fleet", options, page, err);
}
