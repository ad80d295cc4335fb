/*
 * What a reader must know before trusting the figures: an unfinished run, throttling, errors of
 * memory and links.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "report/view.h"

static const char *cases(size_t n)
{
	return n == 1 ? "case" : "cases";
}

/*
 * NVML's throttle reasons that cost speed; idle, application clocks and display clocks do not
 * count.
 */
static const struct {
	int64_t bit;
	const char *words;
} throttles[] = {
	{ 0x04, "power cap" },
	{ 0x08, "hardware slowdown" },
	{ 0x20, "temperature, by software" },
	{ 0x40, "temperature, by hardware" },
	{ 0x80, "power brake" },
};

static void warn(struct tree *list, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void warn(struct tree *list, const char *format, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	tree_item_text(list, text);
}

static void warn_telemetry(const struct view *view, size_t s, struct tree *list)
{
	const struct view_source *source = &view->sources[s];
	size_t throttled = 0;
	int64_t bits = 0, ecc = 0, replays = 0;
	struct text reasons = TEXT_EMPTY;

	for (size_t i = 0; i < source->result->case_count; i++) {
		const struct case_result *c = &source->result->cases[i];
		int64_t own;

		if (strcmp(view_string(c->device), source->device) != 0)
			continue;
		own = case_throttle_reasons(c);
		throttled += own != 0;
		bits |= own;
		if (c->before.ecc_uncorrected >= 0 &&
		    c->after.ecc_uncorrected > c->before.ecc_uncorrected)
			ecc += c->after.ecc_uncorrected - c->before.ecc_uncorrected;
		if (c->before.pcie_replays >= 0 && c->after.pcie_replays > c->before.pcie_replays)
			replays += c->after.pcie_replays - c->before.pcie_replays;
	}
	for (size_t i = 0; i < ARRAY_SIZE(throttles); i++)
		if (bits & throttles[i].bit)
			text_addf(&reasons, "%s%s", reasons.length ? ", " : "", throttles[i].words);
	if (ecc)
		warn(list, "%s: %lld uncorrected memory errors (ECC) while the run went on.",
		     source->label, (long long)ecc);
	if (throttled)
		warn(list, "%s was throttled in %zu %s (%s): its clock was lower than it could be.",
		     source->label, throttled, cases(throttled), reasons.data);
	if (replays)
		warn(list, "%s: %lld PCIe replays while the run went on.", source->label,
		     (long long)replays);
	text_release(&reasons);
}

static void warn_device(const struct view_source *source, struct tree *list)
{
	const struct device_info *d = source->info;

	if (!d)
		return;
	if (d->ecc == 0)
		warn(list, "%s: ECC is off.", source->label);
	if (d->pcie_width && d->pcie_width < d->pcie_width_max)
		warn(list, "%s: PCIe link x%d, the device can do x%d.", source->label,
		     d->pcie_width, d->pcie_width_max);
}

/* One line for all of them: a CPU cut into eight shares is one fact. */
static void warn_host(const struct view *view, struct tree *list)
{
	struct text labels = TEXT_EMPTY;
	size_t count = 0;

	for (size_t s = 0; s < view->source_count; s++) {
		const struct view_source *source = &view->sources[s];

		if (source->info && strcmp(source->info->backend, "host") == 0)
			text_addf(&labels, "%s%s", count++ ? ", " : "", source->label);
	}
	if (count == 1)
		warn(list, "%s is a CPU: its numbers are the CPU's, not a GPU's.", labels.data);
	else if (count)
		warn(list, "%s are shares of a CPU: their numbers are the CPU's, not a GPU's.",
		     labels.data);
	text_release(&labels);
}

static void warn_unfinished(const struct view *view, struct tree *list)
{
	char letter[4];

	for (size_t r = 0; r < view->count; r++) {
		const char *state = view_string(view->results[r].state);

		if (strcmp(state, "complete") == 0)
			continue;
		warn(list, "The run%s%s %s before its end: cases may be missing.",
		     view->count > 1 ? " " : "", view->count > 1 ? view_letter(r, letter) : "",
		     strcmp(state, "interrupted") == 0 ? "was interrupted" : "stopped");
	}
}

static void warn_lost(const struct view *view, struct tree *list)
{
	char letter[4];

	for (size_t r = 0; r < view->count; r++) {
		const struct result *result = &view->results[r];

		for (size_t i = 0; i < result->preflight_count; i++)
			if (strcmp(result->preflight[i].subject, FINDING_LOST) == 0)
				warn(list, "%s%s%s", view->count > 1 ? view_letter(r, letter) : "",
				     view->count > 1 ? ": " : "", result->preflight[i].text);
	}
}

void view_warnings(const struct view *view, struct tree *page)
{
	struct tree *list = tree_list(page, "warnings");
	struct view_counts n;

	view_count(view, &n);
	warn_unfinished(view, list);
	warn_lost(view, list);
	warn_host(view, list);
	for (size_t s = 0; s < view->source_count; s++) {
		warn_telemetry(view, s, list);
		warn_device(&view->sources[s], list);
	}
	if (n.noisy)
		warn(list,
		     "%zu of %zu %s are noisy: their samples scatter or drift more than the limits "
		     "allow. They are "
		     "marked with ~.",
		     n.noisy, n.of[CASE_OK], cases(n.of[CASE_OK]));
	if (n.no_interval)
		warn(list, "%zu %s no interval: fewer than six independent samples.", n.no_interval,
		     n.no_interval == 1 ? "case has" : "cases have");
}
