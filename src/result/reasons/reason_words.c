/* Sentences of a reason: what happened, where, how much against which limit, what to do. */
#include "result/reasons/reason_words.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "device/xid.h"
#include "result/verdict.h"

#define MOST_NAMED 4      /* maximum devices named in one reason */
#define MOST_LAUNCHES 100 /* maximum launches that a remedy suggests */
#define QUANTITY 48       /* size of a value with its unit, in bytes */
#define FEWEST_LAUNCHES 2
#define MOST_TIMES 1.99 /* larger excess is given as a factor, not a percentage */

/* Adds "cuda:1", "cuda:0, cuda:1 and 6 more" or "the node", then " of n7.json". */
static void reason_words_add_names(struct text *out, const char *devices, const char *machine)
{
	size_t count = 0;

	for (const char *at = devices; *at; count++) {
		size_t length = strcspn(at, ",");

		if (count < MOST_NAMED) {
			text_add(out, !count                                 ? ""
				      : at[length] || count + 1 > MOST_NAMED ? ", "
									     : " and ");
			text_add_bytes(out, at, length);
		}
		at += length + (at[length] == ',');
	}
	if (count > MOST_NAMED)
		text_addf(out, " and %zu more", count - MOST_NAMED);
	if (!count)
		text_add(out, "the node");
	if (*machine)
		text_addf(out, " of %s", machine);
}

/*
 * Adds "GPU cuda:1, serial 1650," as the subject of a sentence; without `serial` it has no commas.
 */
void reason_words_add_subject(struct text *out, const char *devices, const char *machine,
			      const char *serial)
{
	bool several = strchr(devices, ',') != NULL;

	if (*devices)
		text_addf(out, "%s%s ", verdict_device_id_is_cpu(devices) ? "CPU" : "GPU",
			  several ? "s" : "");
	reason_words_add_names(out, devices, machine);
	if (*serial)
		text_addf(out, ", serial %s,", serial);
}

/* Adds the difference of `a` and `b` relative to the larger, in percent with two digits. */
static void reason_words_add_percent(struct text *out, double a, double b)
{
	double percent = 100 * (1 - fmin(a, b) / fmax(a, b));

	if (percent > 99)
		text_add(out, "more than 99 %");
	else
		text_addf(out, percent >= 9.5 ? "%.0f %%" : "%.2g %%", percent);
}

/* Comparative for a value: "slower", "faster", "higher", "lower". */
static const char *reason_words_comparative(const struct verdict_check *c, double than)
{
	bool less = c->value < than, time = strcmp(c->unit, "s") == 0;

	if (!time && !text_ends_with(c->unit, "/s"))
		return less ? "lower" : "higher";
	return less == time ? "faster" : "slower";
}

static const char *reason_words_brief_value(const struct verdict_check *c, double value,
					    char out[QUANTITY])
{
	if (verdict_check_counts(c))
		snprintf(out, QUANTITY, "%.0f", value);
	else
		units_brief(value, c->unit, out, QUANTITY);
	return out;
}

/* True if values below the bound violate it. */
static bool reason_words_bound_is_least(const struct verdict_check *c)
{
	if (c->comparison == AT_LEAST || c->comparison == AT_MOST)
		return c->comparison == AT_LEAST;
	return !(c->bound > c->reference);
}

static bool reason_words_is_comparison(const struct verdict_check *c)
{
	return (c->comparison == LIKE_IDENTICAL || c->comparison == LIKE_POPULATION ||
		c->comparison == LIKE_FLEET) &&
	       isfinite(c->reference) && c->reference > 0;
}

/* Adds "cuda:0", "the median of 7 identical GPUs" or "the median of 52 reference GPUs". */
static void reason_words_add_reference(struct text *out, const struct verdict_check *c)
{
	static const char *const kinds[] = { [LIKE_IDENTICAL] = "identical",
					     [LIKE_POPULATION] = "reference",
					     [LIKE_FLEET] = "identical" };
	const char *what = verdict_device_id_is_cpu(c->devices) ? "CPU" : "GPU";

	if (*c->reference_device)
		text_add(out, c->reference_device);
	else if (c->reference_count == 1)
		text_addf(out, "the only %s %s", kinds[c->comparison], what);
	else
		text_addf(out, "the median of %zu %s %ss", c->reference_count, kinds[c->comparison],
			  what);
}

/* True for a check of one direction of a link between two devices. */
static bool reason_words_is_of_pair(const struct verdict_check *c)
{
	const char *comma = strchr(c->devices, ',');

	return c->aspect == ASPECT_LINK && *c->task_group && !*c->variant && comma &&
	       !strchr(comma + 1, ',') && !verdict_check_is_of_node(c);
}

static const char *reason_words_task_of(const struct verdict_check *c)
{
	return *c->task ? c->task : c->metric;
}

/* Variants of one group of tasks: those that are as bad as the worst check, and all. */
struct variants {
	const char **bad, **all; /* from malloc(); reason_words_variants_release() */
	size_t bad_count, all_count;
};

/* `names` has room for one more. */
static void reason_words_variants_add(const char **names, size_t *count, const char *name)
{
	for (size_t i = 0; i < *count; i++)
		if (strcmp(names[i], name) == 0)
			return;
	names[(*count)++] = name;
}

static void reason_words_variants_release(struct variants *e)
{
	free(e->bad);
	free(e->all);
}

static struct variants reason_words_variants(const struct reason_checks *g)
{
	const struct verdict_check *worst = g->checks[0];
	struct variants e = { .bad = xcalloc(g->count, sizeof(*e.bad)),
			      .all = xcalloc(g->count, sizeof(*e.all)) };

	for (size_t i = 0; i < g->count && *worst->task_group; i++) {
		const struct verdict_check *c = g->checks[i];
		/* The direction of a link between two devices is their order. */
		const char *variant = *c->variant                  ? c->variant
				      : reason_words_is_of_pair(c) ? c->devices
								   : "";

		if (!*variant || strcmp(c->task_group, worst->task_group) != 0 ||
		    c->verdict == VERDICT_SKIP)
			continue;
		reason_words_variants_add(e.all, &e.all_count, variant);
		if (c->verdict == worst->verdict && c->accepted == worst->accepted)
			reason_words_variants_add(e.bad, &e.bad_count, variant);
	}
	return e;
}

/* Number of variants that are as bad as the worst check. */
static size_t reason_words_bad_variants(const struct reason_checks *g)
{
	struct variants e = reason_words_variants(g);

	reason_words_variants_release(&e);
	return e.bad_count;
}

/* Adds "FP16", or "cuda:1 to cuda:0" for the devices of a pair. */
static void reason_words_add_variant(struct text *out, const char *variant)
{
	const char *comma = strchr(variant, ',');

	if (comma)
		text_addf(out, "%.*s to %s", (int)(comma - variant), variant, comma + 1);
	else
		text_add(out, variant);
}

/* Adds "FP16 GEMM", "all 4 GEMM types" or "2 of 4 GEMM types, FP16 and BF16". */
static void reason_words_add_task(struct text *out, const struct reason_checks *g)
{
	const struct verdict_check *worst = g->checks[0];
	struct variants e = reason_words_variants(g);

	if (e.bad_count < 2) {
		text_add(out, reason_words_task_of(worst));
		if (reason_words_is_of_pair(worst)) {
			text_add(out, " from ");
			reason_words_add_variant(out, worst->devices);
		}
	} else if (e.bad_count == e.all_count && e.all_count == 2)
		text_addf(out, "both %s", worst->task_group);
	else if (e.bad_count == e.all_count)
		text_addf(out, "all %zu %s", e.all_count, worst->task_group);
	else
		text_addf(out, "%zu of %zu %s", e.bad_count, e.all_count, worst->task_group);
	for (size_t i = 0; e.bad_count >= 2 && i < e.bad_count && e.bad_count < e.all_count; i++) {
		text_add(out, i && i + 1 == e.bad_count ? " and " : ", ");
		reason_words_add_variant(out, e.bad[i]);
	}
	reason_words_variants_release(&e);
}

/* Adds "FP16 worst: " before the numbers of one of several variants. */
static void reason_words_add_worst(struct text *out, const struct reason_checks *g)
{
	const struct verdict_check *c = g->checks[0];

	if (reason_words_bad_variants(g) < 2)
		return;
	reason_words_add_variant(out, *c->variant                  ? c->variant
				      : reason_words_is_of_pair(c) ? c->devices
								   : reason_words_task_of(c));
	text_add(out, " worst: ");
}

/* Adds " is", and "up to" before the number of the worst of several variants. */
static void reason_words_add_is(struct text *out, const struct reason_checks *g)
{
	text_addf(out, " %s ", strchr(g->devices, ',') ? "are" : "is");
	if (reason_words_bad_variants(g) > 1)
		text_add(out, "up to ");
}

/* Adds "is 16 % slower than cuda:0 in FP16 GEMM". */
static void reason_words_add_comparison(struct text *out, const struct reason_checks *g)
{
	const struct verdict_check *c = g->checks[0];

	reason_words_add_is(out, g);
	reason_words_add_percent(out, c->value, c->reference);
	text_addf(out, " %s than ", reason_words_comparative(c, c->reference));
	reason_words_add_reference(out, c);
	text_add(out, " in ");
	reason_words_add_task(out, g);
}

/* Adds "9.3 % below", "25 % above", "at 3 times" or "outside" before "the limit". */
static void reason_words_add_distance(struct text *out, const struct verdict_check *c)
{
	if (verdict_check_counts(c) || !(c->bound > 0) || !(c->value > 0))
		text_add(out, "outside");
	else if (c->value < c->bound) {
		reason_words_add_percent(out, c->value, c->bound);
		text_add(out, " below");
	} else if (c->value > MOST_TIMES * c->bound) {
		text_addf(out, "at %.0f times", c->value / c->bound);
	} else {
		text_addf(out, "%.2g %% above", 100 * (c->value / c->bound - 1));
	}
}

/* Adds "is 9.3 % below the limit in copies from the host". */
static void reason_words_add_violation(struct text *out, const struct reason_checks *g)
{
	text_addf(out, " %s ", strchr(g->devices, ',') ? "are" : "is");
	reason_words_add_distance(out, g->checks[0]);
	text_add(out, " the limit in ");
	reason_words_add_task(out, g);
}

static void reason_words_add_violation_numbers(struct text *out, const struct reason_checks *g)
{
	const struct verdict_check *c = g->checks[0];
	char value[QUANTITY], bound[QUANTITY];

	text_add(out, " (");
	reason_words_add_worst(out, g);
	text_addf(out, "%s; limit at %s %s", reason_words_brief_value(c, c->value, value),
		  c->comparison == AT_LEAST ? "least" : "most",
		  reason_words_brief_value(c, c->bound, bound));
	text_addf(out, "%s%s)", strchr(c->bound_text, '*') ? " = " : "",
		  strchr(c->bound_text, '*') ? c->bound_text : "");
}

/* "1 of 3 ends": tells which end of the interval violates which limit, and by how much. */
static void reason_words_add_undecided(struct text *out, const struct verdict_check *c)
{
	double low = isfinite(c->deciding_low) ? c->deciding_low : c->low;
	double high = isfinite(c->deciding_high) ? c->deciding_high : c->high;
	bool least = reason_words_bound_is_least(c),
	     good = least ? c->value >= c->bound : c->value <= c->bound;
	char value[QUANTITY], end[QUANTITY], bound[QUANTITY];
	double wrong = least ? low : high;

	text_addf(out, " measured %s in %s, ", reason_words_brief_value(c, c->value, value),
		  reason_words_task_of(c));
	if (good) {
		text_addf(out, "but the %s end of the 95 %% interval, %s, is ",
			  least ? "low" : "high", reason_words_brief_value(c, wrong, end));
		reason_words_add_percent(out, wrong, c->bound);
		text_addf(out, " %s the limit of %s", least ? "below" : "above",
			  reason_words_brief_value(c, c->bound, bound));
	} else {
		text_addf(out,
			  "%s the limit of %s, but the %s end of the 95 %% interval, %s, meets it",
			  least ? "below" : "above", reason_words_brief_value(c, c->bound, bound),
			  least ? "high" : "low",
			  reason_words_brief_value(c, least ? high : low, end));
	}
	if (!reason_words_is_comparison(c))
		return;
	text_add(out, " (");
	reason_words_add_percent(out, c->bound, c->reference);
	text_addf(out, " %s ", reason_words_bound_is_least(c) ? "below" : "above");
	reason_words_add_reference(out, c);
	text_add_char(out, ')');
}

enum shape { SHAPE_WORDS, SHAPE_COMPARISON, SHAPE_BOUND, SHAPE_UNDECIDED, SHAPE_NODE };

static enum shape reason_words_shape(const struct verdict_check *c)
{
	bool numbers = isfinite(c->value) && isfinite(c->bound);
	double low = isfinite(c->deciding_low) ? c->deciding_low : c->low;
	double high = isfinite(c->deciding_high) ? c->deciding_high : c->high;

	if (c->verdict == VERDICT_INCONCLUSIVE)
		return c->cause == CAUSE_UNDECIDED && numbers && low < c->bound && high >= c->bound
			       ? SHAPE_UNDECIDED
			       : SHAPE_WORDS;
	if (!numbers || c->wrong || c->verdict == VERDICT_ERROR)
		return SHAPE_WORDS;
	if (reason_words_is_comparison(c))
		return SHAPE_COMPARISON;
	if (c->comparison != AT_LEAST && c->comparison != AT_MOST)
		return SHAPE_WORDS;
	return *c->case_id ? SHAPE_BOUND : SHAPE_NODE;
}

/* A check with a textual reason: findings, errors, wrong results. */
static void reason_words_add_words(struct text *out, const struct verdict_check *c)
{
	if (*c->case_id && c->comparison != NO_COMPARISON)
		text_addf(out, " %s: %s", reason_words_task_of(c),
			  *c->reason ? c->reason : cause_meaning(c->cause));
	else
		text_addf(out, ": %s", *c->reason ? c->reason : cause_meaning(c->cause));
	if (*c->case_id)
		text_addf(out, " (%s)", c->case_id);
}

static void reason_words_add_node(struct text *out, const struct verdict_check *c)
{
	char value[QUANTITY], bound[QUANTITY];

	text_addf(out, ": %s is %s; the limit is at %s %s", c->metric,
		  reason_words_brief_value(c, c->value, value),
		  c->comparison == AT_LEAST ? "least" : "most",
		  reason_words_brief_value(c, c->bound, bound));
	if (*c->reason)
		text_addf(out, " (%s)", c->reason);
}

/* True if the reason is shorter and says more than the meaning of the cause. */
static bool reason_words_says_more(const struct verdict_check *c)
{
	/* A limit on the node, or one that matches no case. */
	if (c->verdict == VERDICT_ERROR && !*c->case_id && *c->reason)
		return true;
	if (c->comparison != NO_COMPARISON || !*c->reason)
		return false;
	return c->cause == CAUSE_GPU_UNCORRECTED_ERROR || c->cause == CAUSE_GPU_CRITICAL_ERROR ||
	       c->cause == CAUSE_GPU_RECOVERY || c->cause == CAUSE_PCIE_DEGRADED ||
	       c->cause == CAUSE_NVLINK_DEGRADED || c->cause == CAUSE_LINK_DEGRADED;
}

/* True for a case that an identical device ran. */
static bool reason_words_is_skipped_alone(const struct verdict_check *c)
{
	return *c->case_id && *c->reason && c->cause == CAUSE_NOT_MEASURED &&
	       c->verdict == VERDICT_FAIL;
}

/*
 * True for a case that crashed, was skipped, reads too high or escaped its limit: its task and
 * reason say more than the cause.
 */
static bool reason_words_is_of_case(const struct verdict_check *c)
{
	return reason_words_is_skipped_alone(c) ||
	       (*c->case_id && *c->reason &&
		(c->cause == CAUSE_CASE_ERROR || c->cause == CAUSE_READS_HIGH ||
		 (c->cause == CAUSE_NOT_JUDGED && c->verdict == VERDICT_INCONCLUSIVE)));
}

/* Adds " in FP16 GEMM and BF16 GEMM": the tasks with wrong results, as far as they are known. */
static void reason_words_add_wrong_tasks(struct text *out, const struct reason_checks *g)
{
	const char **tasks = xcalloc(g->count, sizeof(*tasks));
	size_t count = 0;

	for (size_t i = 0; i < g->count; i++)
		if (g->checks[i]->wrong && *g->checks[i]->task)
			reason_words_variants_add(tasks, &count, g->checks[i]->task);
	for (size_t i = 0; i < count; i++)
		text_addf(out, "%s%s", !i ? " in " : i + 1 < count ? ", " : " and ", tasks[i]);
	free(tasks);
}

/* Adds " (undecided: limit 10 %)". */
static void reason_words_add_open_limit(struct text *out, const struct verdict_check *c)
{
	text_add(out, " (undecided");
	if (reason_words_is_comparison(c)) {
		text_add(out, ": limit ");
		reason_words_add_percent(out, c->bound, c->reference);
	}
	text_add_char(out, ')');
}

/* Adds " in FP16 GEMM: REASON", for a case that crashed or that only this device skipped. */
static void reason_words_add_case(struct text *out, const struct reason_checks *g)
{
	text_add(out, " in ");
	reason_words_add_task(out, g);
	text_addf(out, ": %s", g->checks[0]->reason);
}

char *reason_words_headline(const struct reason_checks *g)
{
	const struct verdict_check *c = g->checks[0];
	enum shape shape = reason_words_shape(c);
	struct text out = TEXT_EMPTY;

	reason_words_add_subject(&out, g->devices, c->machine, "");
	switch (shape) {
	case SHAPE_COMPARISON:
	case SHAPE_BOUND:
	case SHAPE_UNDECIDED:
		if (reason_words_is_comparison(c))
			reason_words_add_comparison(&out, g);
		else
			reason_words_add_violation(&out, g);
		if (shape == SHAPE_UNDECIDED)
			reason_words_add_open_limit(&out, c);
		break;
	case SHAPE_NODE:
	case SHAPE_WORDS:
		if (c->wrong && c->cause == CAUSE_GPU_WRONG_RESULT) {
			text_add(&out, " computed or copied wrong data");
			reason_words_add_wrong_tasks(&out, g);
		} else if (reason_words_is_of_case(c))
			reason_words_add_case(&out, g);
		else if (reason_words_says_more(c))
			text_addf(&out, ": %s", c->reason);
		else
			text_addf(&out, ": %s", cause_meaning(c->cause));
		break;
	}
	return text_detach(&out);
}

/* True if another check of the same case also finds it slow. */
static bool reason_words_check_agrees(const struct verdict_check *other,
				      const struct verdict_check *c)
{
	bool warns = other->comparison == LIKE_POPULATION && other->verdict == VERDICT_WARN;

	return (other->verdict == VERDICT_FAIL || warns) && other->comparison != LIKE_IDENTICAL &&
	       strcmp(other->case_id, c->case_id) == 0 && strcmp(other->metric, c->metric) == 0 &&
	       strcmp(other->machine, c->machine) == 0;
}

/*
 * Adds what else finds a device slow that is worse than identical ones; two of them alone cannot
 * tell which one is at fault.
 */
static void reason_words_add_which(struct text *out, const struct verdicts *v,
				   const struct verdict_check *c)
{
	if (c->comparison != LIKE_IDENTICAL || c->verdict != VERDICT_FAIL)
		return;
	for (size_t i = 0; i < v->count; i++) {
		const struct verdict_check *other = &v->checks[i];

		if (!reason_words_check_agrees(other, c))
			continue;
		if (reason_words_is_comparison(other)) {
			text_add(out, " It is also ");
			reason_words_add_percent(out, other->value, other->reference);
			text_addf(out, " %s than ",
				  reason_words_comparative(other, other->reference));
			reason_words_add_reference(out, other);
			text_add_char(out, '.');
		} else {
			char bound[QUANTITY];

			text_add(out, " It is also ");
			reason_words_add_distance(out, other);
			text_addf(out, " the fixed limit of %s.",
				  reason_words_brief_value(other, other->bound, bound));
		}
		return;
	}
	if (*c->reference_device)
		text_add(out, " A comparison of two devices cannot prove which one is at fault; "
			      "most likely it is the slower one.");
}

/* Adds the limit and by how much it was missed. */
static void reason_words_add_facts(struct text *out, const struct reason_checks *g)
{
	const struct verdict_check *c = g->checks[0];

	switch (reason_words_shape(c)) {
		char value[QUANTITY], reference[QUANTITY];

	case SHAPE_COMPARISON:
		reason_words_add_comparison(out, g);
		/* Adds " (550 TFLOP/s against 658 TFLOP/s; limit 10 %)". */
		text_add(out, " (");
		reason_words_add_worst(out, g);
		text_addf(out, "%s against %s; limit ",
			  reason_words_brief_value(c, c->value, value),
			  reason_words_brief_value(c, c->reference, reference));
		reason_words_add_percent(out, c->bound, c->reference);
		text_add_char(out, ')');
		break;
	case SHAPE_BOUND:
		reason_words_add_violation(out, g);
		reason_words_add_violation_numbers(out, g);
		break;
	case SHAPE_UNDECIDED:
		reason_words_add_undecided(out, c);
		break;
	case SHAPE_NODE:
		reason_words_add_node(out, c);
		break;
	case SHAPE_WORDS:
		if (reason_words_is_skipped_alone(c)) {
			reason_words_add_case(out, g);
			text_addf(out, " (%s)", c->case_id);
		} else {
			reason_words_add_words(out, c);
		}
		break;
	}
}

char *reason_words_text(const struct verdicts *v, const struct reason_checks *g, const char *serial)
{
	const struct verdict_check *c = g->checks[0];
	enum shape shape = reason_words_shape(c);
	struct text out = TEXT_EMPTY;

	reason_words_add_subject(&out, g->devices, c->machine, serial);
	/* A colon follows: removes the comma after a serial number. */
	if (*serial && (shape == SHAPE_NODE ||
			(shape == SHAPE_WORDS && !(*c->case_id && c->comparison != NO_COMPARISON))))
		out.data[--out.length] = '\0';
	reason_words_add_facts(&out, g);
	if (!text_ends_with(out.data, "."))
		text_add_char(&out, '.');
	if (shape == SHAPE_UNDECIDED && reason_words_bad_variants(g) > 1) {
		text_add(&out, " It is undecided in ");
		reason_words_add_task(&out, g);
		text_add_char(&out, '.');
	}
	if (reason_words_is_skipped_alone(c))
		text_add(&out, " Each GPU must run what an identical GPU runs.");
	reason_words_add_which(&out, v, c);
	if (c->warns_only && c->comparison == LIKE_POPULATION)
		text_add(&out, " There are too few reference GPUs to reject it.");
	*out.data = (char)toupper((unsigned char)*out.data); /* "the node" */
	return text_detach(&out);
}

char *reason_words_remedy(const struct verdicts *v, const struct verdict_check *c)
{
	bool undecided = reason_words_shape(c) == SHAPE_UNDECIDED;
	struct text out = TEXT_EMPTY;

	if (reason_words_is_skipped_alone(c))
		text_add(&out, "Repeat the case alone on this GPU. Return this GPU if it skips "
			       "the case again.");
	else if (undecided) {
		double high = isfinite(c->deciding_high) ? c->deciding_high : c->high;
		double half = log(high / c->value), distance = fabs(log(c->value / c->bound));
		/* After these launches, the interval is narrow enough at the same variation. */
		double wanted =
			ceil((double)(c->launches ? c->launches : 1) * pow(half / distance, 2));
		size_t launches = wanted < FEWEST_LAUNCHES  ? FEWEST_LAUNCHES
				  : wanted <= MOST_LAUNCHES ? (size_t)wanted
							    : 0;

		if (!launches)
			text_add(&out,
				 "The value is so close to the limit that more launches cannot "
				 "decide. Compare with more reference GPUs, or change the limit.");
		else if (v->repeat && *v->repeat)
			text_addf(&out, "To decide, run on the idle node: %s --launches %zu",
				  v->repeat, launches);
		else
			text_addf(&out, "Measure again on the idle node with %zu launches.",
				  launches);
	} else
		text_add(&out, c->xid ? xid_action((int64_t)c->xid) : cause_action(c->cause));
	if (!undecided && c->verdict == VERDICT_INCONCLUSIVE && v->repeat && *v->repeat)
		text_addf(&out, " Then run: %s", v->repeat);
	return text_detach(&out);
}
