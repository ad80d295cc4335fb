#include "history/fleet/trend_pool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/stats.h"
#include "base/text.h"
#include "history/trend_levels.h"
#include "judge/estimate/kind.h"
#include "stats/pool.h"

static const char *trend_pool_text(const char *s)
{
	return s ? s : "";
}

static struct trend_pool *trend_pool_of_series(struct trend_pools *pools,
					       const struct history_series *s)
{
	struct trend_pool *p;

	for (size_t i = 0; i < pools->count; i++) {
		p = &pools->items[i];
		if (!strcmp(p->series.metric, s->metric) &&
		    !strcmp(p->series.section, trend_pool_text(s->section)) &&
		    !strcmp(p->series.case_id, trend_pool_text(s->point)) &&
		    !strcmp(p->series.model, trend_pool_text(s->model)))
			return p;
	}
	ARRAY_GROW(pools->items, pools->count, pools->capacity);
	p = &pools->items[pools->count++];
	*p = (struct trend_pool){ .series = { .metric = xstrdup(s->metric),
					      .case_id = xstrdup(trend_pool_text(s->point)),
					      .section = xstrdup(trend_pool_text(s->section)),
					      .model = xstrdup(trend_pool_text(s->model)),
					      .unit = xstrdup(trend_pool_text(s->unit)),
					      .kind = xstrdup(trend_pool_text(s->kind)),
					      .better = s->better } };
	return p;
}

void trend_pools_add(struct trend_pools *pools, const struct history_series *s)
{
	enum figure_kind kind = figure_kind_named(trend_pool_text(s->kind));
	struct trend_pool *p;
	size_t gpu = 0;

	/* The host determines such metrics, not the GPU. */
	if (!s->model || !*s->model || (kind < FIGURE_KINDS && figure_kind_repeat(kind).states))
		return;
	p = trend_pool_of_series(pools, s);
	for (size_t i = 0; i < s->count; i++) {
		if (!(s->points[i].value > 0) || !isfinite(s->points[i].value))
			continue;
		while (gpu < p->gpus && strcmp(p->machines[gpu], trend_pool_text(s->machine)) != 0)
			gpu++;
		if (gpu == p->gpus) {
			ARRAY_GROW(p->machines, p->gpus, p->gpu_capacity);
			p->machines[p->gpus++] = xstrdup(trend_pool_text(s->machine));
		}
		ARRAY_GROW(p->nights, p->count, p->capacity);
		p->nights[p->count++] = (struct trend_pool_night){ s->points[i], gpu };
	}
}

static int trend_pool_by_day(const void *left, const void *right)
{
	const struct trend_pool_night *a = left, *b = right;

	if (a->point.day != b->point.day)
		return a->point.day < b->point.day ? -1 : 1;
	return (a->point.night > b->point.night) - (a->point.night < b->point.night);
}

/* Counts GPUs with one of the last `nights`; SIZE_MAX: all GPUs. */
static size_t trend_pool_gpus_of_last(const struct trend_pool *p, size_t nights, size_t *days)
{
	bool *seen = xcalloc(p->gpus + 1, sizeof(*seen));
	size_t count = 0;

	*days = 0;
	for (size_t i = p->count; i-- > 0;) {
		*days += i + 1 == p->count || p->nights[i].point.day != p->nights[i + 1].point.day;
		if (*days > nights)
			break;
		count += !seen[p->nights[i].gpu];
		seen[p->nights[i].gpu] = true;
	}
	free(seen);
	return count;
}

static bool trend_pool_is_pool(struct trend_pool *p)
{
	size_t days, gpus, kept = 0;
	struct history_point last;

	if (!p->count)
		return false;
	/* Keep the nights of the last config within the last POOL_DAYS. */
	qsort(p->nights, p->count, sizeof(*p->nights), trend_pool_by_day);
	last = p->nights[p->count - 1].point;
	for (size_t i = 0; i < p->count; i++)
		if (p->nights[i].point.config == last.config &&
		    p->nights[i].point.day > last.day - POOL_DAYS)
			p->nights[kept++] = p->nights[i];
	p->count = kept;
	gpus = trend_pool_gpus_of_last(p, SIZE_MAX, &days);
	if (gpus < POOL_LEAST || (double)p->count > POOL_FILLED * (double)(gpus * days))
		return false;
	p->young = days < TREND_LEAST_NIGHTS;
	p->recent = trend_pool_gpus_of_last(p, POOL_RECENT, &days);
	return true;
}

/* Returns the logarithms; in `drawn` outliers are winsorized. */
static struct pool_night *trend_pool_nights_of(const struct trend_pool *p,
					       struct pool_night **drawn)
{
	struct pool_night *out = xcalloc(p->count, sizeof(*out));
	/* Distances of the nights from the median of their GPU. */
	double *off = xcalloc(p->count, sizeof(*off)), *own = xcalloc(p->count, sizeof(*own));
	double most;

	for (size_t i = 0; i < p->count; i++)
		out[i] = (struct pool_night){ p->nights[i].gpu, p->nights[i].point.day,
					      log(p->nights[i].point.value) };
	for (size_t gpu = 0; gpu < p->gpus; gpu++) {
		size_t n = 0;

		for (size_t i = 0; i < p->count; i++)
			if (out[i].gpu == gpu)
				own[n++] = out[i].log;
		for (size_t i = 0; n && i < p->count; i++)
			if (out[i].gpu == gpu)
				off[i] = out[i].log - median_of(own, n);
	}
	most = fmax(POOL_WILD * robust_deviation(off, p->count, 0), log1p(POOL_WILD_LEAST));
	*drawn = xcalloc(p->count, sizeof(**drawn));
	for (size_t i = 0; i < p->count; i++) {
		(*drawn)[i] = out[i];
		(*drawn)[i].log += fmax(-most, fmin(most, off[i])) - off[i];
	}
	free(off);
	free(own);
	return out;
}

struct pool_search {
	struct trend_pool *pool;
	const struct pool_night *nights; /* drawn in */
	const struct pool_night *raw;
	double typical;
	size_t pools;
};

static struct pool_step trend_pool_step_between(const struct pool_search *s, size_t from, size_t at,
						size_t end, size_t without)
{
	const struct pool_input in = { .nights = s->nights + from,
				       .count = end - from,
				       .gpus = s->pool->gpus,
				       .at = at - from,
				       .typical = s->typical,
				       .without = without };

	return stats_pool_step_at(&in);
}

/* CHANGE_MIN_SEGMENT nights on either side. */
static bool trend_pool_split_is_tried(const struct pool_search *s, size_t from, size_t at,
				      size_t end)
{
	size_t before = 0, after = 0;

	if (s->nights[at].day == s->nights[at - 1].day)
		return false;
	for (size_t i = at; i-- > from && before < CHANGE_MIN_SEGMENT;)
		before += i == from || s->nights[i].day != s->nights[i - 1].day;
	for (size_t i = at; i < end && after < CHANGE_MIN_SEGMENT; i++)
		after += s->nights[i].day != s->nights[i - 1].day;
	return before >= CHANGE_MIN_SEGMENT && after >= CHANGE_MIN_SEGMENT;
}

static void trend_pool_add_change(const struct pool_search *s, size_t at,
				  const struct pool_step *step, double probability)
{
	struct trend *t = &s->pool->trend;
	struct trend_change *c = &t->changes[t->change_count++];

	*c = (struct trend_change){ .found = FOUND_IN_POOL,
				    .at = at,
				    .day = t->points[at]->day,
				    .minute = -1,
				    .night = t->points[at]->night,
				    .night_before = t->points[at - 1]->night,
				    .odds = NAN,
				    .probability = probability };
	trend_set_levels(c, s->pool->series.better, step->level, step->level + step->shift.value);
}

/* Adds the changes among the nights [from, end), oldest first. */
static void trend_pool_divide(const struct pool_search *s, size_t from, size_t end)
{
	struct pool_step best = { .shift = { .value = 0 } };
	struct pool_search raw = *s;
	double least = 1;
	size_t at = from, tried = 0;

	for (size_t i = from + 1; i < end; i++) {
		struct pool_step now;
		double probability;

		if (!trend_pool_split_is_tried(s, from, i, end))
			continue;
		tried++;
		now = trend_pool_step_between(s, from, i, end, SIZE_MAX);
		probability = 2 * level_probability(&now.shift, 0);
		if (probability < least) {
			least = probability;
			best = now;
			at = i;
		}
	}
	if (at == from || fabs(best.shift.value) < log1p(CHANGE_MAGNITUDE) ||
	    least * (double)(tried * s->pools) > POOL_FALSE)
		return;
	/* The step must remain without any single GPU. */
	for (size_t gpu = 0; gpu < s->pool->gpus; gpu++) {
		struct level_shift rest = trend_pool_step_between(s, from, at, end, gpu).shift;

		if (rest.value / best.shift.value < 0.5 || level_probability(&rest, 0) > POOL_REST)
			return;
	}
	trend_pool_divide(s, from, at);
	raw.nights = s->raw;
	best = trend_pool_step_between(&raw, from, at, end, SIZE_MAX);
	trend_pool_add_change(s, at, &best, least);
	trend_pool_divide(s, at, end);
}

static void trend_pool_find(struct trend_pool *p, size_t pools, const struct history_notes *notes)
{
	enum figure_kind kind = figure_kind_named(p->series.kind);
	struct pool_night *drawn, *raw = trend_pool_nights_of(p, &drawn);
	const struct pool_search s = { p, drawn, raw, figure_kind_session_spread(kind), pools };
	struct trend *t = &p->trend;
	size_t from, middle;

	t->points = xcalloc(p->count + 1, sizeof(void *));
	t->changes = xcalloc(p->count / CHANGE_MIN_SEGMENT + 1, sizeof(*t->changes));
	for (size_t i = 0; i < p->count; i++)
		t->points[t->count++] = &p->nights[i].point;
	trend_pool_divide(&s, 0, p->count);
	/* Variation between GPUs: their levels in the last nights after the last change. */
	from = t->change_count ? t->changes[t->change_count - 1].at : 0;
	middle = from + (t->count - from) / 2;
	p->apart =
		middle > from
			? expm1(trend_pool_step_between(&s, from, middle, t->count, SIZE_MAX).apart)
			: (double)NAN;
	trend_find_states(t, &p->series, notes, p->nights[p->count - 1].point.day);
	free(drawn);
	free(raw);
}

static void trend_pool_release(struct trend_pool *p)
{
	char *const texts[] = { p->series.metric, p->series.case_id, p->series.section,
				p->series.model,  p->series.unit,    p->series.kind };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		free(texts[i]);
	for (size_t i = 0; i < p->gpus; i++)
		free(p->machines[i]);
	free(p->machines);
	free(p->nights);
	free(p->trend.points);
	free(p->trend.changes);
}

static int trend_pool_by_model(const void *left, const void *right)
{
	const struct trend_pool *a = left, *b = right;
	int order = strcmp(a->series.model, b->series.model);

	if (!order)
		order = strcmp(a->series.case_id, b->series.case_id);
	return order ? order : strcmp(a->series.metric, b->series.metric);
}

void trend_pools_find(struct trend_pools *pools, const struct history_notes *notes)
{
	size_t kept = 0;

	for (size_t i = 0; i < pools->count; i++) {
		if (trend_pool_is_pool(&pools->items[i]))
			pools->items[kept++] = pools->items[i];
		else
			trend_pool_release(&pools->items[i]);
	}
	pools->count = kept;
	if (kept)
		qsort(pools->items, kept, sizeof(*pools->items), trend_pool_by_model);
	for (size_t i = 0; i < kept; i++)
		trend_pool_find(&pools->items[i], kept, notes);
}

void trend_pools_release(struct trend_pools *pools)
{
	for (size_t i = 0; i < pools->count; i++)
		trend_pool_release(&pools->items[i]);
	free(pools->items);
	memset(pools, 0, sizeof(*pools));
}

/* Adds "; stream/triad bandwidth 3.0 % worse since 2026-02-20" for each open change. */
static size_t trend_pool_add_changes(struct text *out, const struct trend_pool *p)
{
	size_t open = 0;

	for (size_t i = 0; i < p->trend.change_count; i++) {
		const struct trend_change *c = &p->trend.changes[i];
		char date[16];

		if (c->state != TREND_NEW)
			continue;
		open++;
		history_date(c->day, date);
		text_addf(out, "; %s %s %.1f %% %s since %s", p->series.case_id, p->series.metric,
			  trend_percent(c),
			  c->worse      ? "worse"
			  : c->improved ? "better"
					: "away",
			  date);
	}
	return open;
}

bool trend_pools_tell(const struct trend_pools *pools)
{
	for (size_t i = 0; i < pools->count; i++)
		if (!pools->items[i].young)
			return true;
	return false;
}

char *trend_pool_words(const struct trend_pools *pools, size_t *next)
{
	const struct trend_pool *first = &pools->items[*next], *p = first;
	struct text out = TEXT_EMPTY, changes = TEXT_EMPTY;
	size_t recent = 0, gpus = 0, figures = 0, open = 0, young = 0;
	double most = 0;
	int64_t since = first->nights[0].point.day;
	char date[16];

	for (; *next < pools->count && !strcmp(p->series.model, first->series.model);
	     p = &pools->items[++*next], figures++) {
		recent = p->recent > recent ? p->recent : recent;
		gpus = p->gpus > gpus ? p->gpus : gpus;
		most = fmax(most, p->apart);
		since = p->nights[0].point.day < since ? p->nights[0].point.day : since;
		open += trend_pool_add_changes(&changes, p);
		young += p->young;
	}
	history_date(since, date);
	text_addf(&out, "Pool of %zu GPUs", recent);
	if (gpus > recent)
		text_addf(&out, " in the last %d days (%zu since %s)", POOL_RECENT, gpus, date);
	text_addf(&out, ", %s: %zu metric%s, GPUs %.1f %% apart%s", first->series.model, figures,
		  figures == 1 ? "" : "s", 100 * most, figures == 1 ? "" : " at most");
	text_add(&out, open     ? changes.data
		       : !young ? "; no change common to these GPUs"
				: "; too few days to find a change common to these GPUs");
	text_release(&changes);
	return text_detach(&out);
}
