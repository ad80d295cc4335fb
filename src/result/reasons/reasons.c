#include "result/reasons/reasons.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "result/reasons/reason_words.h"
#include "result/verdict.h"

/* A check and its faulty devices; cuda:1,cuda:0 is the same link as cuda:0,cuda:1. */
struct faulty_check {
	const struct verdict_check *check;
	char *devices;
};

/* The caller frees the names, in an order that does not depend on the direction of a pair. */
static char *reasons_subject_of(const struct verdict_check *c)
{
	const char *devices = verdict_check_faulty_devices(c), *comma = strchr(devices, ',');
	size_t first = comma ? (size_t)(comma - devices) : 0,
	       second = comma ? strlen(comma + 1) : 0;

	if (!comma || strchr(comma + 1, ',') || first < second ||
	    (first == second && strcmp(devices, comma + 1) < 0))
		return xstrdup(devices);
	return xasprintf("%s,%.*s", comma + 1, (int)first, devices);
}

/* Wrong data are a single fault, whatever limits also cover the case. */
static enum aspect reasons_aspect_of_fault(const struct verdict_check *c)
{
	return c->wrong ? ASPECT_CORRECTNESS : c->aspect;
}

/*
 * An allowed skip needs no reason, and neither does an undecided limit that can only warn: it asks
 * for no action.
 */
static bool needs_reason(const struct verdict_check *c)
{
	return c->verdict != VERDICT_PASS &&
	       !(c->accepted && (c->verdict == VERDICT_SKIP || c->verdict == VERDICT_INCONCLUSIVE));
}

/* Adds the reason of these checks of one subject, worst first; some may have passed. */
static void reasons_add(struct verdicts *v, const struct faulty_check *faulty, size_t count)
{
	const struct verdict_check **checks = xcalloc(count, sizeof(const struct verdict_check *)),
				   *worst = faulty[0].check;
	struct reason_checks g = { checks, count, faulty[0].devices };
	const char *serial = "";
	struct verdict_reason *reason;
	size_t bad = 0;

	for (size_t i = 0; i < v->device_count; i++)
		if (strcmp(v->devices[i].device, faulty[0].devices) == 0 &&
		    strcmp(v->devices[i].machine, worst->machine) == 0 && v->devices[i].serial)
			serial = v->devices[i].serial;

	for (size_t i = 0; i < count; i++) {
		checks[i] = faulty[i].check;
		bad += needs_reason(checks[i]);
	}
	ARRAY_GROW(v->reasons, v->reason_count, v->reason_capacity);
	reason = &v->reasons[v->reason_count++];
	*reason = (struct verdict_reason){ .verdict = worst->verdict,
					   .accepted = worst->accepted,
					   .wrong = worst->wrong,
					   .aspect = reasons_aspect_of_fault(worst),
					   .cause = worst->cause,
					   .machine = xstrdup(worst->machine),
					   .devices = xstrdup(faulty[0].devices),
					   .serial = xstrdup(serial),
					   .headline = reason_words_headline(&g),
					   .text = reason_words_text(v, &g, serial),
					   .remedy = reason_words_remedy(v, worst),
					   .margin = worst->margin,
					   .check = (size_t)(worst - v->checks),
					   .checks = bad };
	free(checks);
}

static int reasons_by_group(const void *left, const void *right)
{
	const struct faulty_check *a = left, *b = right;
	int order = strcmp(a->devices, b->devices);

	return order ? order
		     : (int)reasons_aspect_of_fault(a->check) -
			       (int)reasons_aspect_of_fault(b->check);
}

/* Sorts by device and aspect, worst first within each. */
static int reasons_by_subject(const void *a, const void *b)
{
	const struct verdict_check *p = ((const struct faulty_check *)a)->check;
	const struct verdict_check *q = ((const struct faulty_check *)b)->check;
	int order = reasons_by_group(a, b);

	if (order)
		return order;
	if (needs_reason(p) != needs_reason(q))
		return needs_reason(p) ? -1 : 1;
	return verdict_check_is_worse(p, q)   ? -1
	       : verdict_check_is_worse(q, p) ? 1
					      : (p > q) - (p < q);
}

#define CENTER_PAIRS_LEAST 3

static bool reasons_is_of_two_devices(const struct faulty_check *f)
{
	const char *comma = strchr(f->devices, ',');

	return f->check->aspect == ASPECT_LINK && comma && !strchr(comma + 1, ',');
}

/* True if the device, whose name has that length, is one of the two. */
static bool reasons_pair_has_device(const struct faulty_check *pair, const char *device,
				    size_t length)
{
	const char *comma = strchr(pair->devices, ',');

	return ((size_t)(comma - pair->devices) == length &&
		strncmp(pair->devices, device, length) == 0) ||
	       (strlen(comma + 1) == length && strncmp(comma + 1, device, length) == 0);
}

/* True if the device is one end of each link of the machine that fails, and of several. */
static bool reasons_is_center_of_links(const struct faulty_check *sorted, size_t count,
				       const char *device, size_t length)
{
	const char *last = "";
	size_t pairs = 0;

	for (size_t i = 0; i < count; i++) {
		const struct faulty_check *f = &sorted[i];

		if (f->check->verdict != VERDICT_FAIL || !reasons_is_of_two_devices(f))
			continue;
		if (!reasons_pair_has_device(f, device, length))
			return false;
		pairs += strcmp(f->devices, last) != 0;
		last = f->devices;
	}
	return pairs >= CENTER_PAIRS_LEAST;
}

/*
 * If all links of the machine that fail share one device, it is at fault and not the other ends: it
 * becomes the subject of the checks of all its links. False: there is none.
 */
static bool reasons_find_center(struct faulty_check *sorted, size_t count)
{
	const struct faulty_check *f = sorted, *end = sorted + count;
	const char *second;
	size_t length;
	char *center;

	while (f < end && (f->check->verdict != VERDICT_FAIL || !reasons_is_of_two_devices(f)))
		f++;
	if (f == end)
		return false;
	second = strchr(f->devices, ',') + 1;
	length = (size_t)(second - f->devices - 1);
	if (reasons_is_center_of_links(sorted, count, f->devices, length))
		center = xstrndup(f->devices, length);
	else if (reasons_is_center_of_links(sorted, count, second, strlen(second)))
		center = xstrdup(second);
	else
		return false;
	for (size_t k = 0; k < count; k++)
		if (reasons_is_of_two_devices(&sorted[k]) &&
		    reasons_pair_has_device(&sorted[k], center, strlen(center))) {
			free(sorted[k].devices);
			sorted[k].devices = xstrdup(center);
		}
	free(center);
	return true;
}

/* True for the median of several devices if each of them fails in this aspect on its own. */
static bool reasons_is_told_by_devices(const struct faulty_check *sorted, size_t count,
				       const struct faulty_check *of_node)
{
	bool all = verdict_check_is_of_node(of_node->check) && strchr(of_node->devices, ',');

	for (const char *at = of_node->devices; all && *at;) {
		size_t length = strcspn(at, ",");
		char *name = xasprintf("%.*s", (int)length, at);
		struct faulty_check key = { of_node->check, name };
		const struct faulty_check *found =
			bsearch(&key, sorted, count, sizeof(*sorted), reasons_by_group);

		while (found > sorted && reasons_by_group(&found[-1], &key) == 0)
			found--;
		all = found && found->check->verdict == VERDICT_FAIL;
		free(name);
		at += length + (at[length] == ',');
	}
	return all;
}

/* Adds the reasons of a machine, whose checks are those from `first` on. */
static void reasons_explain_machine(struct verdicts *v, size_t first, size_t count)
{
	struct faulty_check *sorted = xcalloc(count, sizeof(*sorted));

	for (size_t i = 0; i < count; i++)
		sorted[i] = (struct faulty_check){ &v->checks[first + i],
						   reasons_subject_of(&v->checks[first + i]) };
	qsort(sorted, count, sizeof(*sorted), reasons_by_subject);
	if (reasons_find_center(sorted, count))
		qsort(sorted, count, sizeof(*sorted), reasons_by_subject);
	for (size_t i = 0, next; i < count; i = next) {
		for (next = i + 1; next < count; next++)
			if (reasons_by_group(&sorted[i], &sorted[next]) != 0)
				break;
		if (needs_reason(sorted[i].check) &&
		    !reasons_is_told_by_devices(sorted, count, &sorted[i]))
			reasons_add(v, &sorted[i], next - i);
	}
	for (size_t i = 0; i < count; i++)
		free(sorted[i].devices);
	free(sorted);
}

/* The checks of a machine are consecutive. Most machines of a delivery need no reason. */
static void reasons_explain_checks(struct verdicts *v)
{
	for (size_t i = 0, next; i < v->count; i = next) {
		bool needed = false;

		for (next = i;
		     next < v->count && strcmp(v->checks[next].machine, v->checks[i].machine) == 0;
		     next++)
			needed = needed || needs_reason(&v->checks[next]);
		if (needed)
			reasons_explain_machine(v, i, next - i);
	}
}

/* True if `d`, of the same machine as `other`, lacks the aspect for the same reason. */
static bool reasons_device_lacks_aspect(const struct device_judgement *d,
					const struct device_judgement *other,
					const struct aspect_judgement *missing)
{
	const struct aspect_judgement *a = verdict_device_aspect(d, missing->aspect);

	return a && verdict_aspect_is_missing(a) && strcmp(a->reason, missing->reason) == 0 &&
	       strcmp(d->machine, other->machine) == 0;
}

/* Names all devices that lack the aspect for the same reason; `first` is the first of them. */
static void reasons_add_missing(struct verdicts *v, size_t first, const struct aspect_judgement *a)
{
	const char *machine = v->devices[first].machine;
	struct text headline = TEXT_EMPTY, names = TEXT_EMPTY;
	struct verdict_reason *reason;
	char *text, *devices;

	for (size_t i = 0; i < v->device_count; i++) {
		if (!reasons_device_lacks_aspect(&v->devices[i], &v->devices[first], a))
			continue;
		if (i < first) /* which has named this device too */
			return;
		text_addf(&names, "%s%s", names.length ? "," : "", v->devices[i].device);
	}
	devices = text_detach(&names);
	text_addf(&headline, "%s of ", aspect_name(a->aspect));
	reason_words_add_subject(&headline, devices, machine, "");
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
		.remedy = xstrdup(a->measured ? "Add a limit for this aspect (gpuproof help "
						"limits), or compare with a known-good run: min = "
						"0.97 * baseline, and --baseline RESULT."
					      : "Run a config that measures this aspect on the "
						"device, such as acceptance."),
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

	/* A warning counts as a failure with --strict. */
	if (r->verdict == VERDICT_WARN && !r->accepted)
		return 10 + rank[VERDICT_FAIL];
	return (r->wrong                                  ? 100
		: r->cause == CAUSE_GPU_UNCORRECTED_ERROR ? 50
							  : 0) +
	       (r->accepted ? 0 : 10) + rank[r->verdict];
}

/* If limits match no case, there is nothing to explain and nothing is accepted. */
static void reasons_explain_nothing(struct verdicts *v)
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
		.headline = xstrdup("no limit covers a measured value"),
		.text = xasprintf("No limit of %s covers a measured value.",
				  v->limits ? v->limits : "the config"),
		.remedy = xstrdup("Add a limit (gpuproof help limits), or check against limits "
				  "that cover the values: gpuproof check RESULT --limits FILE."),
		.margin = (double)NAN,
		.check = v->count,
	};
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

void reasons_verdicts_explain(struct verdicts *v)
{
	verdicts_drop_reasons(v);
	reasons_explain_checks(v);
	for (size_t d = 0; d < v->device_count; d++) {
		for (size_t i = 0; i < v->devices[d].aspect_count; i++) {
			const struct aspect_judgement *a = &v->devices[d].aspects[i];

			if (verdict_aspect_is_missing(a))
				reasons_add_missing(v, d, a);
		}
	}
	reasons_explain_nothing(v);
	if (v->reason_count)
		qsort(v->reasons, v->reason_count, sizeof(*v->reasons), reasons_worst_first);
}

#define MOST_IN_SENTENCE 4

void reasons_add_worst(const struct verdicts *v, struct text *out)
{
	size_t open = 0;

	for (size_t i = 0; i < v->reason_count && !v->reasons[i].accepted; i++) {
		/* The sentence already names aspects that were not judged. */
		if (i && v->reasons[i].check == v->count)
			continue;
		if (open++ < MOST_IN_SENTENCE)
			text_addf(out, "%s%s",
				  open == 1   ? " Worst: "
				  : open == 2 ? ". Also: "
					      : "; ",
				  v->reasons[i].headline);
	}
	if (open > MOST_IN_SENTENCE)
		text_addf(out, "; and %zu more reason%s", open - MOST_IN_SENTENCE,
			  text_plural(open - MOST_IN_SENTENCE));
	if (open)
		text_add_char(out, '.');
}
