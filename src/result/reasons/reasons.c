#include "result/reasons/reasons.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "result/reasons/reason_words.h"
#include "result/verdict.h"

static const struct device_judgement *reasons_device_of(const struct verdicts *v,
							const struct verdict_check *c)
{
	for (size_t i = 0; i < v->device_count; i++)
		if (strcmp(v->devices[i].device, check_faulty_devices(c)) == 0 &&
		    strcmp(v->devices[i].machine, c->machine) == 0)
			return &v->devices[i];
	return NULL;
}

/* Wrong data are a single fault, whatever limits also cover the case. */
static enum aspect aspect_of_fault(const struct verdict_check *c)
{
	return c->wrong ? ASPECT_CORRECTNESS : c->aspect;
}

static void reasons_add(struct verdicts *v, const struct verdict_check *c, size_t checks)
{
	const char *devices = check_faulty_devices(c);
	const struct device_judgement *d =
		*devices && !strchr(devices, ',') ? reasons_device_of(v, c) : NULL;
	const char *serial = d && d->serial ? d->serial : "";
	struct verdict_reason *reason;

	ARRAY_GROW(v->reasons, v->reason_count, v->reason_capacity);
	reason = &v->reasons[v->reason_count++];
	*reason = (struct verdict_reason){ .verdict = c->verdict,
					   .accepted = c->accepted,
					   .wrong = c->wrong,
					   .aspect = aspect_of_fault(c),
					   .cause = c->cause,
					   .machine = xstrdup(c->machine),
					   .devices = xstrdup(devices),
					   .serial = xstrdup(serial),
					   .headline = reason_headline(c),
					   .text = reason_text(v, c, serial),
					   .remedy = reason_remedy(v, c),
					   .margin = c->margin,
					   .check = (size_t)(c - v->checks),
					   .checks = checks };
}

/* Sorts by device and aspect, worst first within each. */
static int reasons_by_subject(const void *a, const void *b)
{
	const struct verdict_check *p = *(const struct verdict_check *const *)a;
	const struct verdict_check *q = *(const struct verdict_check *const *)b;
	int order = strcmp(check_faulty_devices(p), check_faulty_devices(q));

	order = order ? order : strcmp(p->machine, q->machine);
	order = order ? order : (int)aspect_of_fault(p) - (int)aspect_of_fault(q);
	if (order)
		return order;
	return check_is_worse(p, q) ? -1 : check_is_worse(q, p) ? 1 : (p > q) - (p < q);
}

static bool reasons_share_subject(const struct verdict_check *a, const struct verdict_check *b)
{
	return aspect_of_fault(a) == aspect_of_fault(b) &&
	       strcmp(check_faulty_devices(a), check_faulty_devices(b)) == 0 &&
	       strcmp(a->machine, b->machine) == 0;
}

/* An allowed skip needs no reason. */
static bool needs_reason(const struct verdict_check *c)
{
	return c->verdict != VERDICT_PASS && !(c->verdict == VERDICT_SKIP && c->accepted);
}

static void explain_checks(struct verdicts *v)
{
	const struct verdict_check **sorted =
		xcalloc(v->count + 1, sizeof(const struct verdict_check *));
	size_t count = 0;

	for (size_t i = 0; i < v->count; i++)
		if (needs_reason(&v->checks[i]))
			sorted[count++] = &v->checks[i];
	if (count)
		qsort(sorted, count, sizeof(*sorted), reasons_by_subject);
	for (size_t i = 0, next; i < count; i = next) {
		for (next = i + 1; next < count; next++)
			if (!reasons_share_subject(sorted[i], sorted[next]))
				break;
		reasons_add(v, sorted[i], next - i);
	}
	free(sorted);
}

/* True if `d`, of the same machine as `other`, lacks the aspect for the same reason. */
static bool device_lacks_aspect(const struct device_judgement *d,
				const struct device_judgement *other,
				const struct aspect_judgement *missing)
{
	const struct aspect_judgement *a = device_aspect(d, missing->aspect);

	return a && aspect_is_missing(a) && strcmp(a->reason, missing->reason) == 0 &&
	       strcmp(d->machine, other->machine) == 0;
}

/*
 * Devices from `first` on that lack the aspect for the same reason; "" if an earlier device has
 * named them.
 */
static char *reasons_devices_without(const struct verdicts *v, size_t first,
				     const struct aspect_judgement *a)
{
	struct text devices = TEXT_EMPTY;

	for (size_t i = 0; i < first; i++)
		if (device_lacks_aspect(&v->devices[i], &v->devices[first], a))
			return xstrdup("");
	for (size_t i = first; i < v->device_count; i++)
		if (device_lacks_aspect(&v->devices[i], &v->devices[first], a))
			text_addf(&devices, "%s%s", devices.length ? "," : "",
				  v->devices[i].device);
	return text_detach(&devices);
}

/* Takes ownership of `devices`. */
static void reasons_add_missing(struct verdicts *v, char *devices, const char *machine,
				const struct aspect_judgement *a)
{
	struct text headline = TEXT_EMPTY;
	struct verdict_reason *reason;
	char *text;

	text_addf(&headline, "%s of ", aspect_name(a->aspect));
	reason_add_subject(&headline, devices, machine, "");
	text_add(&headline, " was not judged");
	text = xasprintf("%s: %s.", headline.data, a->reason);
	text[0] = (char)toupper((unsigned char)text[0]);
	ARRAY_GROW(v->reasons, v->reason_count, v->reason_capacity);
	reason = &v->reasons[v->reason_count++];
	*reason = (struct verdict_reason){
		.verdict = VERDICT_SKIP,
		.aspect = a->aspect,
		.cause = a->measured ? CAUSE_NOT_JUDGED : CAUSE_NOT_MEASURED,
		.machine = xstrdup(machine),
		.devices = devices,
		.serial = xstrdup(""),
		.headline = text_detach(&headline),
		.text = text,
		.remedy = xstrdup(a->measured ? "Add a limit for it (gpuproof help limits), or "
						"compare with a known-good run: min = 0.97 * "
						"baseline, and --baseline RESULT."
					      : "Run a config that measures it on this device, "
						"such as acceptance."),
		.margin = (double)NAN,
		.check = v->count,
	};
}

static int reason_rank(const struct verdict_reason *r)
{
	static const int rank[VERDICT_COUNT] = { [VERDICT_FAIL] = 5,
						 [VERDICT_ERROR] = 4,
						 [VERDICT_INCONCLUSIVE] = 3,
						 [VERDICT_SKIP] = 2,
						 [VERDICT_WARN] = 1 };

	/* Only a warning was at stake, and not even that is certain. */
	if (r->verdict == VERDICT_INCONCLUSIVE && r->accepted)
		return 0;
	/* A warning counts as a failure with --strict. */
	if (r->verdict == VERDICT_WARN && !r->accepted)
		return 10 + rank[VERDICT_FAIL];
	return (r->wrong                                  ? 100
		: r->cause == CAUSE_GPU_UNCORRECTED_ERROR ? 50
							  : 0) +
	       (r->accepted ? 0 : 10) + rank[r->verdict];
}

static int reasons_worst_first(const void *a, const void *b)
{
	const struct verdict_reason *p = a, *q = b;
	int order = reason_rank(q) - reason_rank(p);
	double m = isfinite(p->margin) ? p->margin : INFINITY;
	double n = isfinite(q->margin) ? q->margin : INFINITY;

	if (order || m != n)
		return order ? order : m < n ? -1 : 1;
	return (p->check > q->check) - (p->check < q->check);
}

/* If limits match no case, there is nothing to explain and nothing is accepted. */
static void explain_nothing(struct verdicts *v)
{
	struct verdict_reason *reason;

	for (size_t i = 0; i < v->count; i++)
		if (v->checks[i].comparison != NO_COMPARISON &&
		    v->checks[i].verdict != VERDICT_SKIP)
			return;
	if (!v->count || v->reason_count)
		return;
	ARRAY_GROW(v->reasons, v->reason_count, v->reason_capacity);
	reason = &v->reasons[v->reason_count++];
	*reason = (struct verdict_reason){
		.verdict = VERDICT_SKIP,
		.cause = CAUSE_NOT_JUDGED,
		.machine = xstrdup(""),
		.devices = xstrdup(""),
		.serial = xstrdup(""),
		.headline = xstrdup("no limit covers what was measured"),
		.text = xasprintf("No limit of %s covers what was measured.",
				  v->limits ? v->limits : "the config"),
		.remedy = xstrdup("Add a limit for it (gpuproof help limits), or judge by limits "
				  "that do: gpuproof check RESULT --limits FILE."),
		.margin = (double)NAN,
		.check = v->count,
	};
}

void verdicts_explain(struct verdicts *v)
{
	verdicts_drop_reasons(v);
	explain_checks(v);
	for (size_t d = 0; d < v->device_count; d++) {
		for (size_t i = 0; i < v->devices[d].aspect_count; i++) {
			const struct aspect_judgement *a = &v->devices[d].aspects[i];
			char *devices;

			if (!aspect_is_missing(a))
				continue;
			devices = reasons_devices_without(v, d, a);
			if (*devices)
				reasons_add_missing(v, devices, v->devices[d].machine, a);
			else
				free(devices);
		}
	}
	explain_nothing(v);
	if (v->reason_count)
		qsort(v->reasons, v->reason_count, sizeof(*v->reasons), reasons_worst_first);
}
