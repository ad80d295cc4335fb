#include "history/history_spread.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "history/trend.h"
#include "stats/difference.h"

struct pooling {
	const char *machine;
	double squares;
	size_t nights, freedom;
};

/* Sum of squares about the mean of the nights since the last change, winsorized. */
static double winsorized_squares(const struct trend *t, size_t begin)
{
	size_t n = t->count - begin;
	double *logs = xmalloc(n * sizeof(*logs)), distance, mean, squares;

	for (size_t i = 0; i < n; i++)
		logs[i] = log(t->points[begin + i]->value);
	distance = n > 2 ? outlier_distance(logs, n, 0) : INFINITY;
	/* If most nights are equal, do not winsorize. */
	if (!(distance > 0))
		distance = INFINITY;
	squares = winsorized_sum_of_squares(logs, n, distance, &mean);
	free(logs);
	return squares;
}

static void spread_pool_series(void *context, const struct history_series *s)
{
	struct pooling *p = context;
	struct trend *trends;
	size_t count;

	if (p->machine && strcmp(p->machine, s->machine) != 0)
		return;
	count = trend_of_series(s, NULL, NULL, &trends);
	for (size_t i = 0; i < count; i++) {
		const struct trend *t = &trends[i];
		size_t begin = t->change_count ? t->changes[t->change_count - 1].at : 0;

		begin = begin < t->begin ? t->begin : begin;
		if (t->epoch != s->points[s->count - 1].epoch || t->count - begin < 2)
			continue;
		p->squares += winsorized_squares(t, begin);
		p->nights += t->count - begin;
		p->freedom += t->count - begin - 1;
	}
	trends_release(trends, count);
}

enum status history_spread(struct store *history, const char *metric, const char *case_id,
			   const char *machine, struct night_spread *out, struct error *err)
{
	const struct history_filter filter = {
		.metric = metric, .case_id = case_id, .exact = true, .all_metrics = true
	};
	struct pooling p = { .machine = machine };

	store_each_series(history, &filter, spread_pool_series, &p, err);
	*out = (struct night_spread){ p.freedom ? sqrt(p.squares / (double)p.freedom) : NAN,
				      p.nights };
	return err->status;
}
