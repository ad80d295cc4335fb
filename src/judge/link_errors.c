/*
 * Errors that NVLink corrected, per link, between the findings before and after a run. Healthy
 * links have some: in an acceptance of 25 s each link of two H100s had 15 to 80 CRC errors, and no
 * replay or recovery; two H200s counted 645 errors of all kinds on 36 links, up to 182 in one case.
 * That is no base rate of a model, so a link is only warned of, and only if it stands out in two
 * ways: by far more than healthy GPUs had, and by far more than the other links of the node.
 * test_link_errors.c has the rate of false alarms. PCIe replays are judged as well.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/stats.h"
#include "judge/judging.h"

#define TIMES_OTHERS 30 /* the median of all links of the node, plus one */
#define FLOOR_SECONDS 20.0

static const struct {
	const char *topic, *what;
	double floor; /* in the first FLOOR_SECONDS; it grows with the time of the run */
} kinds[] = {
	{ FINDING_NVLINK_CRC, "CRC errors", 1000 },
	{ FINDING_NVLINK_REPLAYS, "replays", 1000 },
	/* The link is trained anew, which stops all transfers for a moment. */
	{ FINDING_NVLINK_RECOVERIES, "recoveries", 10 },
};

/* Errors of one link during the run. */
struct link_growth {
	const struct finding *f;
	size_t link;
	double errors;
};

/* All links of the result of which both values are known; a counter that was reset is not. */
static struct link_growth *link_errors_links_of(const struct result *r, const char *topic,
						size_t *count)
{
	struct link_growth *links = NULL;
	size_t capacity = 0;

	*count = 0;
	for (size_t i = 0; i < r->postflight_count; i++) {
		const struct finding *after = &r->postflight[i], *before = NULL;

		for (size_t k = 0; k < r->preflight_count && !before; k++)
			if (strcmp(after->topic, topic) == 0 &&
			    strcmp(r->preflight[k].topic, topic) == 0 &&
			    strcmp(r->preflight[k].device, after->device) == 0)
				before = &r->preflight[k];
		for (size_t k = 0; before && k < after->count && k < before->count; k++) {
			if (before->counts[k] < 0 || after->counts[k] < before->counts[k])
				continue;
			ARRAY_GROW(links, *count, capacity);
			links[(*count)++] = (struct link_growth){
				after, k, (double)(after->counts[k] - before->counts[k])
			};
		}
	}
	return links;
}

static double link_errors_seconds_of_run(const struct result *r)
{
	double first = INFINITY, last = 0;

	for (size_t i = 0; i < r->case_count; i++) {
		const struct case_result *c = &r->cases[i];

		first = fmin(first, c->started_seconds);
		last = fmax(last, c->started_seconds + c->seconds);
	}
	return last > first ? last - first : 0;
}

/* True if another link of the same GPU is worse. */
static bool link_errors_is_outdone(const struct link_growth *links, size_t count,
				   const struct link_growth *link)
{
	for (size_t i = 0; i < count; i++)
		if (links[i].f == link->f &&
		    (links[i].errors > link->errors ||
		     (links[i].errors == link->errors && links[i].link < link->link)))
			return true;
	return false;
}

/* Increase of the replays of device `id` during a case. */
static double link_errors_case_replays(const struct case_result *c, const char *id)
{
	if (c->device && strcmp(c->device, id) == 0)
		return c->before.pcie_replays >= 0 && c->after.pcie_replays > c->before.pcie_replays
			       ? (double)(c->after.pcie_replays - c->before.pcie_replays)
			       : 0;
	for (size_t i = 0; i < c->watch_count; i++)
		if (strcmp(c->watches[i].device, id) == 0)
			return watch_counter_growth(&c->watches[i], "pcie_replays");
	return 0;
}

/*
 * A PCIe link repeats a packet that arrived damaged. The standard allows one wrong bit in 10^12,
 * which is one in two seconds at the full rate of 16 lanes of generation 5. A run may have twice as
 * many, and ten: a link at the standard's rate exceeds that in less than one run of 10^5.
 */
#define REPLAYS_ALLOWED 10.0
#define REPLAYS_PER_SECOND 1.0

static void link_errors_judge_replays(const struct result *r, struct verdicts *verdicts)
{
	double allowed = REPLAYS_ALLOWED + REPLAYS_PER_SECOND * link_errors_seconds_of_run(r);

	for (size_t d = 0; d < r->device_count; d++) {
		double replays = 0;

		for (size_t i = 0; i < r->case_count; i++)
			replays += link_errors_case_replays(&r->cases[i], r->devices[d].id);
		if (replays <= allowed)
			continue;
		run_findings_add(verdicts, r, NULL, r->devices[d].id, ASPECT_CONDITION,
				 VERDICT_WARN, CAUSE_PCIE_DEGRADED,
				 "%.0f PCIe replays during the run; up to %.0f are normal", replays,
				 allowed);
	}
}

void judge_link_errors(const struct result *r, struct verdicts *verdicts)
{
	double time = 1 + link_errors_seconds_of_run(r) / FLOOR_SECONDS;

	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		size_t count;
		struct link_growth *links = link_errors_links_of(r, kinds[k].topic, &count);
		double *values = xcalloc(count + 1, sizeof(*values)), median;

		for (size_t i = 0; i < count; i++)
			values[i] = links[i].errors;
		median = count ? median_of(values, count) : 0;
		for (size_t i = 0; i < count; i++) {
			const struct link_growth *l = &links[i];

			if (l->errors < kinds[k].floor * time ||
			    l->errors < TIMES_OTHERS * (median + 1) ||
			    link_errors_is_outdone(links, count, l) ||
			    !result_device(r, l->f->device))
				continue;
			run_findings_add(verdicts, r, NULL, l->f->device, ASPECT_CONDITION,
					 VERDICT_WARN, CAUSE_NVLINK_DEGRADED,
					 "NVLink link %zu had %.0f %s during the run; the median "
					 "link of this node had %.0f",
					 l->link, l->errors, kinds[k].what, median);
		}
		free(values);
		free(links);
	}
	link_errors_judge_replays(r, verdicts);
}
