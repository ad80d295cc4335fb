#include "history/trend_internal.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

static struct trend_epoch *epoch_of(struct trend_epoch *epochs, size_t *count,
				    const struct history_series *s, size_t night)
{
	const struct history_point *p = &s->points[night];

	for (size_t i = *count; i-- > 0;)
		if (epochs[i].epoch == p->epoch)
			return &epochs[i];
	epochs[*count] = (struct trend_epoch){ .epoch = p->epoch,
					       .config = p->config,
					       .points = xcalloc(s->count, sizeof(void *)),
					       .first = night,
					       .before = NO_EPOCH };
	return &epochs[(*count)++];
}

static size_t trend_epochs_count_seams(const struct history_series *s)
{
	size_t changes = 1;

	for (size_t i = 1; i < s->count; i++)
		changes += s->points[i].epoch != s->points[i - 1].epoch;
	return changes;
}

size_t trend_epochs(const struct history_series *s, struct trend_epoch **epochs)
{
	size_t count = 0;

	*epochs = xcalloc(trend_epochs_count_seams(s), sizeof(**epochs));
	for (size_t i = 0; i < s->count; i++) {
		struct trend_epoch *e = epoch_of(*epochs, &count, s, i);

		e->last = i;
		e->gaps = isnan(s->points[i].value) ? e->gaps + 1 : 0;
		/*
		 * Zero has no logarithm, and a metric that can be zero has no ratio. An imported
		 * file may contain infinity.
		 */
		if (s->points[i].value > 0 && isfinite(s->points[i].value))
			e->points[e->count++] = &s->points[i];
	}
	return count;
}

void trend_epochs_release(struct trend_epoch *epochs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(epochs[i].points);
	free(epochs);
}

/*
 * True if another epoch has nights before and after the last ones of `i`: two jobs fill the
 * history.
 */
static bool took_turns(const struct trend_epoch *epochs, size_t count, size_t i)
{
	for (size_t j = 0; j < count; j++)
		if (j != i && epochs[j].first < epochs[i].last && epochs[j].last > epochs[i].first)
			return true;
	return false;
}

static size_t epoch_predecessor(const struct trend_epoch *epochs, size_t count, size_t of)
{
	size_t same = NO_EPOCH, any = NO_EPOCH;

	for (size_t i = 0; i < of; i++) {
		const struct trend_epoch *e = &epochs[i];

		if (e->last > epochs[of].first || e->followed)
			continue;
		if (e->config == epochs[of].config &&
		    (same == NO_EPOCH || epochs[same].last < e->last))
			same = i;
		if (any == NO_EPOCH || epochs[any].last < e->last)
			any = i;
	}
	if (same != NO_EPOCH)
		return same;
	return any != NO_EPOCH && !took_turns(epochs, count, any) ? any : NO_EPOCH;
}

void trend_epochs_link(struct trend_epoch *epochs, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		epochs[i].before = epoch_predecessor(epochs, count, i);
		if (epochs[i].before != NO_EPOCH)
			epochs[epochs[i].before].followed = true;
	}
}

double *trend_epoch_logs(const struct trend_epoch *e)
{
	double *logs = xmalloc((e->count + 1) * sizeof(*logs));

	for (size_t i = 0; i < e->count; i++)
		logs[i] = log(e->points[i]->value);
	return logs;
}
