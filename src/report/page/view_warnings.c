/*
 * Warnings before the figures: an unfinished run, throttling, errors of
 * memory and links.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/page/view_sections.h"
#include "report/view/presented.h"

/* Launches of both sides, before a change is more than possible (compare/compare.h). */
#define ENOUGH_LAUNCHES 4

#define NAMED 8 /* devices that a warning names; the rest is counted */

static void view_warnings_add(struct tree *list, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void view_warnings_add(struct tree *list, const char *format, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	tree_item_text(list, text);
}

/* "A: " before what is said of one of several runs. */
static struct formatted view_warnings_run(const struct view *view, size_t run)
{
	return view->count > 1 ? format_text("%s: ", view_letter(run).text) : format_text("");
}

/* Conditions seen by the cases on one device. */
struct seen {
	size_t throttled;
	int64_t reasons, ecc, replays;
};

static int64_t view_warnings_counter_rise(int64_t before, int64_t after)
{
	return before >= 0 && after > before ? after - before : 0;
}

static void view_warnings_add_seen(struct seen *seen, const struct case_result *c)
{
	int64_t own = case_throttle_reasons(c);

	seen->throttled += own != 0;
	seen->reasons |= own;
	seen->ecc +=
		view_warnings_counter_rise(c->before.ecc_uncorrected, c->after.ecc_uncorrected);
	seen->replays += view_warnings_counter_rise(c->before.pcie_replays, c->after.pcie_replays);
}

/* A case has readings of its first device; a long one has curves of all its devices. */
static void view_warnings_add_curves(struct seen *seen, const struct watch *w)
{
	int64_t reasons = 0;

	for (size_t q = 0; q < w->quantity_count; q++)
		for (size_t i = 0; i < w->quantities[q].highest_count; i++)
			if (strcmp(w->quantities[q].name, "throttle_reasons") == 0 &&
			    w->quantities[q].highest[i] > 0)
				reasons |= (int64_t)w->quantities[q].highest[i] & THROTTLE_SLOWS;
	seen->throttled += reasons != 0;
	seen->reasons |= reasons;
	seen->ecc += (int64_t)watch_counter_growth(w, "ecc_uncorrected");
	seen->replays += (int64_t)watch_counter_growth(w, "pcie_replays");
}

/* An item for each source. malloc'ed. */
static struct seen *view_warnings_seen_on_sources(const struct view *view)
{
	struct seen *seen = xcalloc(view->source_count + 1, sizeof(*seen));

	for (size_t r = 0; r < view->count; r++)
		for (size_t i = 0; i < view->results[r].case_count; i++) {
			const struct case_result *c = &view->results[r].cases[i];

			view_warnings_add_seen(&seen[view_source_of(view, r, c)], c);
			for (size_t w = 0; w < c->watch_count; w++)
				if (strcmp(view_string(c->watches[w].device),
					   view_string(c->device)) != 0)
					view_warnings_add_curves(
						&seen[view_source_named(view, r,
									c->watches[w].device)],
						&c->watches[w]);
		}
	return seen;
}

/* One line for all devices that were throttled for the same reasons. */
static void view_warnings_throttled(const struct view *view, const struct seen *seen,
				    int64_t reasons, struct tree *list)
{
	struct text devices = TEXT_EMPTY;
	char *words = result_throttle_page_words(reasons);
	size_t count = 0, total = 0;

	for (size_t s = 0; s < view->source_count; s++) {
		if (!seen[s].throttled || seen[s].reasons != reasons)
			continue;
		if (count < NAMED)
			text_addf(&devices, "%s%s", count ? ", " : "", view->sources[s].label);
		count++;
		total += seen[s].throttled;
	}
	if (count > NAMED)
		text_addf(&devices, " and %zu more devices", count - NAMED);
	view_warnings_add(list, "%s %s throttled in %zu %s (%s): %s clock was lower than possible.",
			  devices.data, count == 1 ? "was" : "were", total, format_cases(total),
			  words, count == 1 ? "its" : "their");
	text_release(&devices);
	free(words);
}

/* `seen`: on every source. */
static void view_warnings_telemetry(const struct view *view, const struct seen *seen, size_t s,
				    struct tree *list)
{
	const char *label = view->sources[s].label;
	bool told = false;

	if (seen[s].ecc)
		view_warnings_add(list, "%s: %lld uncorrected memory errors (ECC) during the run.",
				  label, (long long)seen[s].ecc);
	for (size_t i = 0; i < s && !told; i++)
		told = seen[i].throttled && seen[i].reasons == seen[s].reasons;
	if (seen[s].throttled && !told)
		view_warnings_throttled(view, seen, seen[s].reasons, list);
	if (seen[s].replays)
		view_warnings_add(list, "%s: %lld PCIe replays during the run.", label,
				  (long long)seen[s].replays);
}

static void view_warnings_device(const struct view_source *source, struct tree *list)
{
	const struct device_info *d = source->info;

	if (!d)
		return;
	if (d->ecc == 0)
		view_warnings_add(list, "%s: ECC is off.", source->label);
	if (d->pcie_width && d->pcie_width < d->pcie_width_max)
		view_warnings_add(list, "%s: PCIe link x%d, the device supports x%d.",
				  source->label, d->pcie_width, d->pcie_width_max);
}

/* One line for all of them: a CPU cut into eight shares is one fact. */
static void view_warnings_host(const struct view *view, struct tree *list)
{
	struct text labels = TEXT_EMPTY;
	size_t count = 0;

	for (size_t s = 0; s < view->source_count; s++) {
		const struct view_source *source = &view->sources[s];

		if (source->info && device_is_host(source->info))
			text_addf(&labels, "%s%s", count++ ? ", " : "", source->label);
	}
	if (count == 1)
		view_warnings_add(list, "%s is a CPU, so its figures do not describe a GPU.",
				  labels.data);
	else if (count)
		view_warnings_add(list,
				  "%s are a CPU or parts of one, so their figures do not describe "
				  "a "
				  "GPU.",
				  labels.data);
	text_release(&labels);
}

static void view_warnings_unfinished(const struct view *view, struct tree *list)
{
	for (size_t r = 0; r < view->count; r++) {
		const char *state = view_string(view->results[r].state);

		if (strcmp(state, "complete") == 0)
			continue;
		view_warnings_add(list, "The run%s%s %s before its end: cases may be missing.",
				  view->count > 1 ? " " : "",
				  view->count > 1 ? view_letter(r).text : "",
				  strcmp(state, "interrupted") == 0 ? "was interrupted"
								    : "stopped");
	}
}

static void view_warnings_lost(const struct view *view, struct tree *list)
{
	for (size_t r = 0; r < view->count; r++) {
		const struct result *result = &view->results[r];

		for (size_t i = 0; i < result->preflight_count; i++)
			if (strcmp(result->preflight[i].topic, FINDING_LOST) == 0)
				view_warnings_add(list, "%s%s", view_warnings_run(view, r).text,
						  result->preflight[i].text);
		for (size_t i = 0; i < result->case_count; i++)
			for (size_t l = 0; l < result->cases[i].lost_count; l++)
				view_warnings_add(list,
						  "%sA worker process died, but no case was lost: "
						  "%s.",
						  view_warnings_run(view, r).text,
						  result->cases[i].lost[l].reason);
	}
}

void view_warnings_launches(const struct view *view, struct tree *page)
{
	size_t least = SIZE_MAX, most = 1;

	for (size_t r = 0; r < view->count; r++) {
		/* The fewest and the most launches of a headline metric: cases differ. */
		for (size_t c = 0; c < view->results[r].case_count; c++)
			for (size_t m = 0; m < view->results[r].cases[c].metric_count; m++) {
				const struct metric_value *metric =
					&view->results[r].cases[c].metrics[m];
				size_t launches = metric->launch_count ? metric->launch_count : 1;

				if (!metric->headline ||
				    view->results[r].cases[c].status != CASE_OK)
					continue;
				least = launches < least ? launches : least;
				most = launches > most ? launches : most;
			}
	}
	least = least == SIZE_MAX ? 1 : least;
	tree_flag(page, "launched_once", most == 1);
	tree_text(page, "interval_of", presented_interval_words(view));
	tree_text(page, "value_of",
		  most == 1    ? "the median of its samples"
		  : least == 1 ? "the median of its samples, or of several launches their "
				 "Hodges-Lehmann estimate"
			       : "the Hodges-Lehmann estimate of its launches");
	tree_flag(page, "launched_enough", least >= ENOUGH_LAUNCHES);
	if (view->count > 1 || least == most)
		tree_textf(page, "launches", "%zu", least);
	else
		tree_textf(page, "launches", "%zu to %zu", least, most);
}

/* Launches from which their range is worth a word, and the range: of the median. */
#define HOST_LAUNCHES 3
#define HOST_RANGE 0.1

/* No figure that the host times repeats better than the host's own work. */
static void view_warnings_host_varies(const struct view *view, struct tree *list)
{
	struct formatted low, high;

	for (size_t r = 0; r < view->count; r++) {
		const struct metric_value *work =
			result_yardstick(&view->results[r], "host.multiply");
		double least = INFINITY, most = 0;

		for (size_t l = 0; work && l < work->launch_count; l++) {
			least = fmin(least, work->launches[l]);
			most = fmax(most, work->launches[l]);
		}
		if (!work || work->launch_count < HOST_LAUNCHES ||
		    !(most - least > HOST_RANGE * work->value))
			continue;
		low = format_rounded(least, "s");
		high = format_rounded(most, "s");
		view_warnings_add(list,
				  "%sThe host took %s to %s for the same multiplication in %zu "
				  "launches. Figures that depend on the host, such as call times, "
				  "vary "
				  "by the same ratio.",
				  view_warnings_run(view, r).text, low.text, high.text,
				  work->launch_count);
	}
}

/* This page has a column for each device: on many nodes the page of nodes answers first. */
static void view_warnings_point_to_fleet(const struct view *view, struct tree *list)
{
	size_t nodes = view->count == 1 ? view->results[0].node_count : 0;

	if (nodes > NODES_NAMED)
		view_warnings_add(list,
				  "The run is on %zu nodes: gpuproof report --fleet shows the "
				  "suspect "
				  "nodes first, and each figure over all devices.",
				  nodes);
}

/* Wrong words that the run made itself are no fault of the device. */
static void view_warnings_injected(const struct view *view, struct tree *list)
{
	double injected = 0, wrong = 0;
	size_t count = 0;

	/* The answer of the page says it. */
	if (view->count == 1 && view_is_selftest(view->results, &injected))
		return;
	injected = 0;
	for (size_t r = 0; r < view->count; r++)
		for (size_t i = 0; i < view->results[r].case_count; i++) {
			const struct case_result *c = &view->results[r].cases[i];
			struct injected_faults faults = case_injected_faults(c);

			if (!(faults.injected > 0))
				continue;
			injected += faults.injected;
			wrong += faults.wrong;
			count++;
		}
	if (count)
		view_warnings_add(list,
				  "gpuproof injected %.0f wrong words in %zu %s (key inject) to "
				  "test "
				  "detection; it found %.0f wrong words in these cases.",
				  injected, count, format_cases(count), wrong);
}

void view_warnings(const struct view *view, struct tree *page)
{
	struct tree *list = tree_list(page, "warnings");
	struct seen *seen = view_warnings_seen_on_sources(view);
	struct view_counts n;

	view_count(view, &n);
	view_warnings_point_to_fleet(view, list);
	view_warnings_injected(view, list);
	view_warnings_unfinished(view, list);
	view_warnings_lost(view, list);
	view_warnings_host(view, list);
	view_warnings_host_varies(view, list);
	for (size_t s = 0; s < view->source_count; s++) {
		view_warnings_telemetry(view, seen, s, list);
		view_warnings_device(&view->sources[s], list);
	}
	if (n.unsettled)
		view_warnings_add(list,
				  "%zu of %zu %s not settled: the values still changed at the end. "
				  "Such "
				  "figures are never headlines and never pass a limit. Increase "
				  "settle_time or preheat.",
				  n.unsettled, n.of[CASE_OK],
				  n.unsettled == 1 ? "cases has" : "cases have");
	if (2 * n.noisy > n.of[CASE_OK])
		view_warnings_add(list,
				  "The machine was not quiet: %zu of %zu %s more than the config "
				  "allows. Their intervals are wider for it.",
				  n.noisy, n.of[CASE_OK],
				  n.noisy == 1 && n.of[CASE_OK] == 1 ? "case varies"
								     : "cases vary");
	if (n.no_interval)
		view_warnings_add(list,
				  "%zu %s no interval: fewer than six independent samples, or a "
				  "drift "
				  "that the samples do not cover.",
				  n.no_interval, n.no_interval == 1 ? "case has" : "cases have");
	free(seen);
}
