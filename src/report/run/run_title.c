/* The title of a run's page: its finding. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "reference/gpu.h"
#include "report/run/run_figures.h"
#include "report/view/format.h"
#include "result/verdict.h"

#define TITLE_LONGEST 160
#define TITLE_FIGURES 2

void run_title_add_machine(struct text *out, const struct result *r)
{
	const char *name = r->device_count ? r->devices[0].name : "No device";
	bool same = true;

	for (size_t i = 1; i < r->device_count; i++)
		same = same && strcmp(r->devices[i].name, name) == 0;
	if (!same)
		text_addf(out, "%zu GPUs", r->device_count);
	else if (r->device_count > 1 && !device_is_host(r->devices))
		text_addf(out, "%zu × %s", r->device_count, name);
	else
		text_add(out, name);
}

static bool devices_are_identical(const struct result *r)
{
	for (size_t i = 1; i < r->device_count; i++)
		if (strcmp(r->devices[i].name, r->devices[0].name) != 0)
			return false;
	return true;
}

/* ": cuda:5 is 15 % slower than the other 7 in FP32 GEMM"; false: no device stands out. */
static bool run_title_add_outlier(struct text *out, const struct view *view,
				  const struct headline_shares *shares)
{
	struct headline_outlier most = { 0 }, one;

	for (size_t i = 0; devices_are_identical(view->results) && i < shares->quantity_count; i++)
		if (headline_outlier(shares, view, &shares->quantities[i], &one) &&
		    one.below > most.below)
			most = one;
	if (!most.quantity)
		return false;
	text_addf(out, ": %s is %.0f %% slower than ", view->sources[most.source].label,
		  100 * most.below);
	if (most.others == 1)
		text_add(out, "the other one");
	else
		text_addf(out, "the other %zu", most.others);
	text_addf(out, " in %s", most.quantity->title);
	return true;
}

/* The worst device's share of the highest quantity of a group; NULL: none. */
static const struct headline_share *highest_share_of_group(const struct headline_shares *shares,
							   const char *group)
{
	const struct headline_share *best = NULL;

	for (size_t i = 0; i < shares->quantity_count; i++) {
		const struct headline_quantity *q = &shares->quantities[i];

		if (q->worst && strcmp(q->quantity->group, group) == 0 &&
		    (!best || shares->items[q->worst - 1].value > best->value))
			best = &shares->items[q->worst - 1];
	}
	return best;
}

/* ": STREAM triad at 91 % of the data sheet, FP16 GEMM, tensor cores at 77 %" */
static bool title_add_shares(struct text *out, const struct headline_shares *shares)
{
	const char *done[TITLE_FIGURES] = { NULL };
	size_t count = 0;

	for (const struct quantity *q = quantities; q->name && count < TITLE_FIGURES; q++) {
		const struct headline_share *share;

		if (count && strcmp(done[count - 1], q->group) == 0)
			continue;
		share = highest_share_of_group(shares, q->group);
		if (!share)
			continue;
		done[count] = q->group;
		text_addf(out, "%s%s at %.0f %%%s", count ? ", " : ": ", share->title,
			  100 * share->share, count ? "" : " of the data sheet");
		count++;
	}
	return count != 0;
}

static bool run_title_add_bad(struct text *out, const struct view_counts *n)
{
	size_t planned = n->total + n->unreached;

	if (n->of[CASE_FAILED])
		text_addf(out, ": %zu wrong %s in %zu cases", n->of[CASE_FAILED],
			  n->of[CASE_FAILED] == 1 ? "result" : "results", planned);
	else if (n->of[CASE_ERROR])
		text_addf(out, ": %zu of %zu cases ended in an error", n->of[CASE_ERROR], planned);
	else if (!n->of[CASE_OK])
		text_add(out, ": nothing was measured");
	else
		return false;
	return true;
}

char *run_title(const struct view *view, const struct headline_shares *shares)
{
	const struct result *r = view->results;
	struct text out = TEXT_EMPTY;
	struct view_counts n;
	double injected;
	char *cut;

	view_count(view, &n);
	if (*view_string(r->label))
		text_addf(&out, "%s, ", r->label);
	run_title_add_machine(&out, r);
	if (view_is_selftest(r, &injected))
		text_addf(&out, ": self-test found all %.0f injected errors", injected);
	else if (!run_title_add_bad(&out, &n) && !run_title_add_outlier(&out, view, shares) &&
		 !title_add_shares(&out, shares))
		text_addf(&out, ": %zu %s measured", n.of[CASE_OK],
			  n.of[CASE_OK] == 1 ? "case" : "cases");
	cut = format_cut(out.data, TITLE_LONGEST);
	text_release(&out);
	return cut;
}
