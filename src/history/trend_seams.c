
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "history/trend_news.h"

char *seam_what(struct store *history, int64_t epoch_before, int64_t epoch, struct error *err)
{
	char *before = store_epoch_facts(history, epoch_before, err);
	char *after = store_epoch_facts(history, epoch, err);
	struct fact_differences found = { 0 };
	struct text out = TEXT_EMPTY;

	fact_differences_of(before, after, &found);
	for (size_t i = 0; i < found.count; i++) {
		const char *between = out.length ? ", " : "";

		/* A hash is not informative. */
		if (strcmp(found.items[i].name, "config") == 0)
			text_addf(&out, "%sanother config", between);
		else
			text_addf(&out, "%s%s %s", between, found.items[i].name,
				  found.items[i].after);
	}
	if (!out.length)
		text_add(&out, "other hardware, driver or config");
	fact_differences_release(&found);
	free(before);
	free(after);
	return text_detach(&out);
}

const struct trend_change *seam_change(const struct trend *t, const struct trend_seam *seam)
{
	for (size_t i = 0; seam->differs && i < t->change_count; i++)
		if (t->changes[i].found == FOUND_AT_SEAM && t->changes[i].at == seam->at)
			return &t->changes[i];
	return NULL;
}

static struct seam_group *seam_group_of(struct seam_groups *groups, const struct trend_seam *seam,
					char *what)
{
	struct seam_group *g;

	for (size_t i = 0; i < groups->count; i++) {
		g = &groups->items[i];
		if (g->day == seam->day && strcmp(g->what, what) == 0) {
			free(what);
			return g;
		}
	}
	ARRAY_GROW(groups->items, groups->count, groups->capacity);
	g = &groups->items[groups->count++];
	*g = (struct seam_group){ .day = seam->day,
				  .night = seam->night,
				  .night_before = seam->night_before,
				  .what = what };
	return g;
}

static struct seam_part *trend_seams_part_of(struct seam_group *g, const char *metric)
{
	for (size_t i = 0; i < g->part_count; i++)
		if (strcmp(g->parts[i].metric, metric) == 0)
			return &g->parts[i];
	ARRAY_GROW(g->parts, g->part_count, g->part_capacity);
	g->parts[g->part_count] =
		(struct seam_part){ .metric = xstrdup(metric), .least = INFINITY, .most = 0 };
	return &g->parts[g->part_count++];
}

static void seam_group_add_series(struct seam_group *g, const struct history_series *s,
				  const struct trend_change *change)
{
	g->series++;
	if (!change || change->state == TREND_RECOVERED) {
		g->alike++;
	} else if (change->state == TREND_NEW) {
		struct seam_part *p = trend_seams_part_of(g, s->metric);
		double percent = trend_percent(change);

		g->worse += change->worse;
		p->worse += change->worse;
		p->improved += change->improved;
		p->other += !change->worse && !change->improved;
		p->least = fmin(p->least, percent);
		p->most = fmax(p->most, percent);
	}
}

enum status seam_groups_add(struct seam_groups *groups, struct store *history,
			    const struct history_series *s, const struct trend *t,
			    struct error *err)
{
	for (size_t i = 0; i < t->seam_count && err->status == STATUS_OK; i++) {
		const struct trend_seam *seam = &t->seams[i];
		const struct trend_change *change = seam_change(t, seam);
		bool open = change && change->state == TREND_NEW;

		if (open || trend_seam_is_recent(t, seam))
			seam_group_add_series(seam_group_of(groups, seam,
							    seam_what(history, seam->epoch_before,
								      seam->epoch, err)),
					      s, change);
	}
	return err->status;
}

void seam_groups_release(struct seam_groups *groups)
{
	for (size_t i = 0; i < groups->count; i++) {
		struct seam_group *g = &groups->items[i];

		for (size_t k = 0; k < g->part_count; k++)
			free(g->parts[k].metric);
		free(g->parts);
		free(g->what);
	}
	free(groups->items);
	memset(groups, 0, sizeof(*groups));
}

static void trend_seams_add_count(struct text *out, size_t count, const struct seam_part *p,
				  const char *word, const char **between)
{
	if (!count)
		return;
	text_addf(out, "%s%zu %s ", *between, count, p->metric);
	if (p->most - p->least >= 0.1)
		text_addf(out, "%.1f to %.1f %% %s", p->least, p->most, word);
	else
		text_addf(out, "%.1f %% %s", p->most, word);
	*between = ", ";
}

char *seam_group_words(const struct seam_group *g)
{
	struct text out = TEXT_EMPTY;
	const char *between = " ";
	char date[16];

	history_date(g->day, date);
	text_addf(&out, "since %s (%s):", g->what, date);
	for (size_t i = 0; i < g->part_count; i++)
		trend_seams_add_count(&out, g->parts[i].worse, &g->parts[i], "worse", &between);
	for (size_t i = 0; i < g->part_count; i++)
		trend_seams_add_count(&out, g->parts[i].improved, &g->parts[i], "better", &between);
	for (size_t i = 0; i < g->part_count; i++)
		trend_seams_add_count(&out, g->parts[i].other, &g->parts[i], "away", &between);
	if (g->alike)
		text_addf(&out, "%s%zu of %zu series: no clear difference",
			  g->part_count ? "; " : " ", g->alike, g->series);
	else if (!g->part_count)
		text_addf(&out, " %zu series, all changes acknowledged", g->series);
	return text_detach(&out);
}
