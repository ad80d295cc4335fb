/*
 * Counters of faults (memory errors, Xid, PCIe replays) that moved during a case, or between two.
 */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "judge/judging.h"

/*
 * Counters of faults, and what it means when one of them moved during a case. Not NVLink's: it
 * counts corrected replays, of which two healthy H200s had 1 to 19 in most cases of an acceptance
 * run. They are in the telemetry.
 */
static const struct {
	size_t offset;
	enum verdict verdict;
	enum cause cause;
	const char *what;
} counters[] = {
	{ offsetof(struct telemetry, ecc_uncorrected), VERDICT_FAIL, CAUSE_GPU_MEMORY_ERROR,
	  "uncorrected memory errors (ECC)" },
	{ offsetof(struct telemetry, xid_errors), VERDICT_FAIL, CAUSE_GPU_CRITICAL_ERROR,
	  "critical errors of the GPU (Xid; the kernel's log says which)" },
	{ offsetof(struct telemetry, ecc_corrected), VERDICT_WARN, CAUSE_GPU_MEMORY_ERROR,
	  "corrected memory errors (ECC)" },
	{ offsetof(struct telemetry, pcie_replays), VERDICT_WARN, CAUSE_LINK_DEGRADED,
	  "PCIe replays" },
};

/* Takes over `reason`. `n` is of the counter; `device` NULL: the case's first. */
static void tell_counter(const struct result *result, const struct case_result *c,
			 const char *device, size_t n, char *reason, struct verdicts *verdicts)
{
	bool fails = counters[n].verdict == VERDICT_FAIL;
	struct verdict_check *check = judging_finding(verdicts, result, c, device, ASPECT_CONDITION,
						      counters[n].verdict, fails, reason);

	check->cause = counters[n].cause;
	check->accepted = !fails;
}

static int64_t counter_of(const struct telemetry *telemetry, size_t offset)
{
	return *(const int64_t *)(const void *)((const char *)telemetry + offset);
}

/*
 * Counters of a case's first device that moved between two readings; `when` is "during the case".
 */
static void judge_readings(const struct result *result, const struct case_result *c,
			   const struct telemetry *first, const struct telemetry *last,
			   const char *when, struct verdicts *verdicts)
{
	for (size_t i = 0; i < ARRAY_SIZE(counters); i++) {
		int64_t before = counter_of(first, counters[i].offset);
		int64_t after = counter_of(last, counters[i].offset);

		if (before >= 0 && after > before)
			tell_counter(result, c, NULL, i,
				     xasprintf("%s %s: %" PRId64, counters[i].what, when,
					       after - before),
				     verdicts);
	}
}

/* The lowest and the highest of a counter that only grows. */
static bool grew(const struct time_quantity *q, double *by)
{
	double low = (double)NAN, high = (double)NAN;

	for (size_t i = 0; i < q->highest_count; i++) {
		low = fmin(low, q->highest[i]);
		high = fmax(high, q->highest[i]);
	}
	*by = high - low;
	return *by > 0;
}

/* Fault counters of a soak on all devices but the first, which judge_readings() compares. */
static void judge_watches(const struct result *result, const struct case_result *c,
			  struct verdicts *verdicts)
{
	static const char *const names[] = { "ecc_uncorrected", "xid_errors", "ecc_corrected",
					     "pcie_replays" };

	for (size_t i = 1; i < c->watch_count; i++) {
		const struct watch *t = &c->watches[i];

		for (size_t q = 0; q < t->quantity_count; q++) {
			double by;

			for (size_t n = 0; n < ARRAY_SIZE(names); n++) {
				if (strcmp(t->quantities[q].name, names[n]) != 0 ||
				    !grew(&t->quantities[q], &by))
					continue;
				tell_counter(result, c, t->device, n,
					     xasprintf("%s during the case: %.0f", counters[n].what,
						       by),
					     verdicts);
			}
		}
	}
}

/* A case and the latest before it with the same first device. */
struct gap {
	const struct case_result *c, *before; /* before: NULL: there is none */
};

static int by_start(const void *a, const void *b)
{
	const struct case_result *p = ((const struct gap *)a)->c, *q = ((const struct gap *)b)->c;

	if (p->started_seconds != q->started_seconds)
		return p->started_seconds < q->started_seconds ? -1 : 1;
	return (p > q) - (p < q);
}

static int by_device(const void *a, const void *b)
{
	int order = strcmp(((const struct gap *)a)->c->device, ((const struct gap *)b)->c->device);

	return order ? order : by_start(a, b);
}

/*
 * Faults counted between two cases of a device: opening a context, filling memory and verifying are
 * work too. Of pooled launches a case's last reading is of the last one, and the next case's first
 * of the first: such readings decrease, and every launch is covered by a case's own two readings.
 */
static void judge_gaps(const struct result *result, struct verdicts *verdicts)
{
	struct gap *gaps = xcalloc(result->case_count + 1, sizeof(*gaps));
	size_t count = 0;

	for (size_t i = 0; i < result->case_count; i++)
		if (result->cases[i].device)
			gaps[count++].c = &result->cases[i];
	qsort(gaps, count, sizeof(*gaps), by_device);
	for (size_t i = 1; i < count; i++)
		if (strcmp(gaps[i - 1].c->device, gaps[i].c->device) == 0)
			gaps[i].before = gaps[i - 1].c;
	qsort(gaps, count, sizeof(*gaps), by_start);
	for (size_t i = 0; i < count; i++)
		if (gaps[i].before)
			judge_readings(result, gaps[i].c, &gaps[i].before->after,
				       &gaps[i].c->before,
				       "before the case, since the one before it", verdicts);
	free(gaps);
}

void judge_fault_counters(const struct result *result, struct verdicts *verdicts)
{
	for (size_t i = 0; i < result->case_count; i++) {
		const struct case_result *c = &result->cases[i];

		judge_readings(result, c, &c->before, &c->after, "during the case", verdicts);
		judge_watches(result, c, verdicts);
	}
	judge_gaps(result, verdicts);
}
