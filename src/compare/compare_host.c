/*
 * The host's part in a comparison: the host reference on both sides, and a common shift of the
 * host-bound metrics, reported once instead of per metric.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/stats.h"
#include "base/text.h"
#include "compare/comparing.h"
#include "judge/judge.h"

#define FEWEST_FIGURES 5
#define COMMON_SHARE \
	0.75 /* share of the metrics that must shift in one direction, beyond the margin */
#define COMMON_SHIFT 0.05 /* smaller shifts do not indicate another state of the host */

/*
 * Logs of one metric of the host reference in all launches of a side. Appends to `out`, which has
 * room, and returns their number.
 */
static size_t compare_host_yardstick_logs(const struct result *results, size_t count,
					  const char *name, double *out)
{
	size_t n = 0;

	for (size_t r = 0; r < count; r++) {
		const struct metric_value *m = result_yardstick(&results[r], name);
		const double *values = m && m->launch_count ? m->launches : m ? &m->value : NULL;
		size_t launches = m && m->launch_count ? m->launch_count : m != NULL;

		for (size_t l = 0; l < launches; l++)
			if (values[l] > 0 && isfinite(values[l]))
				out[n++] = log(values[l]);
	}
	return n;
}

static size_t compare_host_most_launches(const struct result *results, size_t count)
{
	size_t n = 0;

	for (size_t r = 0; r < count; r++)
		for (size_t i = 0; i < results[r].yardstick_count; i++)
			n += results[r].yardstick[i].launch_count + 1;
	return n;
}

/*
 * Compares medians over launches: one launch disturbed by another tenant must not count. False if a
 * side lacks the metric.
 */
static bool compare_host_quantity(const struct comparison_input *in, const struct metric_value *m,
				  struct yardstick_row *row)
{
	double *a = xmalloc((compare_host_most_launches(in->a, in->a_count) + 1) * sizeof(*a));
	double *b = xmalloc((compare_host_most_launches(in->b, in->b_count) + 1) * sizeof(*b));
	size_t a_count = compare_host_yardstick_logs(in->a, in->a_count, m->name, a);
	size_t b_count = compare_host_yardstick_logs(in->b, in->b_count, m->name, b);
	bool both = a_count && b_count;

	if (both)
		*row = (struct yardstick_row){ .name = xstrdup(m->name),
					       .unit = xstrdup(m->unit),
					       .a = exp(median_of(a, a_count)),
					       .b = exp(median_of(b, b_count)) };
	if (both)
		row->ratio = row->b / row->a;
	free(a);
	free(b);
	return both;
}

static void compare_host_yardsticks(struct comparing *k)
{
	const struct result *first = &k->input->a[0];
	struct comparison *out = k->out;
	double sum = 0;

	out->yardstick = xcalloc(first->yardstick_count + 1, sizeof(*out->yardstick));
	for (size_t i = 0; i < first->yardstick_count; i++)
		out->yardstick_count +=
			compare_host_quantity(k->input, &first->yardstick[i],
					      &out->yardstick[out->yardstick_count]);
	for (size_t i = 0; i < out->yardstick_count; i++)
		sum += log(out->yardstick[i].ratio);
	if (out->yardstick_count)
		out->host_ratio = exp(sum / (double)out->yardstick_count);
}

struct common {
	size_t count, worse, better; /* host-bound metrics; of these, changed beyond the margin */
	double shift;                /* median of their ratios */
};

static bool compare_host_decides_row(const struct comparison_row *row)
{
	return (figure_kind_is_of_host(row->kind) || row->kind == FIGURE_CPU_WORK) &&
	       row->ratio > 0;
}

static struct common compare_host_common_shift(const struct comparison *c)
{
	double *logs = xmalloc((c->count + 1) * sizeof(*logs));
	struct common common = { 0 };

	for (size_t i = 0; i < c->count; i++) {
		const struct comparison_row *row = &c->rows[i];

		if (!compare_host_decides_row(row))
			continue;
		common.worse += row->ratio > 1 + c->margin;
		common.better += row->ratio < 1 - c->margin;
		logs[common.count++] = log(row->ratio);
	}
	common.shift = exp(median_of(logs, common.count));
	free(logs);
	return common;
}

static bool compare_host_is_common(const struct common *common)
{
	size_t same = common->shift > 1 ? common->worse : common->better;

	return common->count >= FEWEST_FIGURES &&
	       (double)same >= COMMON_SHARE * (double)common->count &&
	       fabs(log(common->shift)) > COMMON_SHIFT;
}

static void compare_host_tell_common(struct comparison *c, const struct common *common)
{
	bool slower = common->shift > 1;
	struct text text = TEXT_EMPTY;

	text_addf(&text, "%zu of %zu host-bound figures are %s in %s, median %.3g times: ",
		  slower ? common->worse : common->better, common->count,
		  slower ? "slower" : "faster", c->name_b,
		  slower ? common->shift : 1 / common->shift);
	if (isnan(c->host_ratio))
		text_add(&text, "the host was in another state, or the driver or kernel changed; "
				"no host reference was recorded to tell which");
	else if (log(c->host_ratio) / log(common->shift) > 0.5)
		/* The reference moved in the same direction by a large part of the shift. */
		text_addf(&text,
			  "the host was in another state: its reference is %.3g times as "
			  "slow",
			  c->host_ratio);
	else
		text_addf(&text,
			  "the cause is not the host, whose reference is %.3g times as slow; "
			  "possible causes are driver, kernel, a library, or variation between "
			  "sessions",
			  c->host_ratio);
	free(c->host_finding);
	c->host_finding = text_detach(&text);
}

/* Marks a change as possible if the host slowed down by as much. */
static void compare_host_doubt_change(struct comparison *c, struct comparison_row *row, bool common)
{
	bool worse = row->change == CHANGE_REGRESSED, better = row->change == CHANGE_IMPROVED;
	bool left = worse ? row->low > (1 + c->margin) * c->host_ratio
			  : row->high < (1 - c->margin) * c->host_ratio;

	if (!(worse || better) || row->possible)
		return;
	if (isnan(c->host_ratio) ? !common : left)
		return;
	row->possible = true;
	free(row->reason);
	row->reason = isnan(c->host_ratio)
			      ? xstrdup("most other host-bound figures changed as well")
			      : xasprintf("the host was %.3g times as slow", c->host_ratio);
}

void compare_hosts(struct comparing *k)
{
	struct comparison *c = k->out;
	struct common common;
	bool shared;

	compare_host_yardsticks(k);
	common = compare_host_common_shift(c);
	/* Another machine has another host, and other devices. */
	shared = !k->input->turns && compare_host_is_common(&common) &&
		 judge_same_machine(&k->input->a[0], &k->input->b[0]);
	if (shared)
		compare_host_tell_common(c, &common);
	for (size_t i = 0; i < c->count; i++) {
		if (!compare_host_decides_row(&c->rows[i]))
			continue;
		c->rows[i].at_same_host = c->rows[i].ratio / c->host_ratio;
		if (!k->input->turns)
			compare_host_doubt_change(c, &c->rows[i], shared);
	}
}
