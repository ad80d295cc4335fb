#include "history/trend_news.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

#define MOST_DIFFERENCES 12
#define LEAST_PROBABILITY 1e-9 /* the model is not good enough for smaller ones */

bool trend_news_count(struct trend_summary *summary, const struct trend *trend)
{
	summary->series++;
	summary->warnings += trend->warning;
	summary->young += trend_is_young(trend) && !trend->warning && !trend->change_count;
	trend_news_count_changes(summary, trend);
	return trend->warning || trend->change_count;
}

void trend_news_count_changes(struct trend_summary *summary, const struct trend *trend)
{
	for (size_t i = 0; i < trend->change_count; i++) {
		const struct trend_change *c = &trend->changes[i];

		summary->fresh += c->state == TREND_NEW;
		summary->worse += c->state == TREND_NEW && c->worse;
		summary->improved += c->state == TREND_NEW && c->improved;
		summary->acknowledged += c->state == TREND_ACKNOWLEDGED;
		summary->recovered += c->state == TREND_RECOVERED;
	}
}

/* The line "name=..." of the facts; NULL: none. */
static const char *trend_news_fact_line(const char *facts, const char *line)
{
	size_t name = strcspn(line, "=") + 1;

	for (const char *p = facts; *p; p += strcspn(p, "\n"), p += *p == '\n')
		if (strncmp(p, line, name) == 0)
			return p;
	return NULL;
}

/* Adds the first facts that both have and that differ. */
static void trend_news_fact_differences_of(const char *before, const char *after,
					   struct fact_differences *out)
{
	for (const char *line = before; *line && out->count < MOST_DIFFERENCES;) {
		const char *other = trend_news_fact_line(after, line);
		size_t name = strcspn(line, "="), length = strcspn(line, "\n");
		size_t other_length = other ? strcspn(other, "\n") : 0;

		/* If a name occurs twice, the first counts. */
		if (trend_news_fact_line(before, line) == line && other && name < length &&
		    (other_length != length || strncmp(line, other, length) != 0)) {
			ARRAY_GROW(out->items, out->count, out->capacity);
			out->items[out->count++] = (struct fact_difference){
				xstrndup(line, name), xstrndup(line + name + 1, length - name - 1),
				xstrndup(other + name + 1, other_length - name - 1)
			};
		}
		line += length + (line[length] == '\n');
	}
}

enum status trend_news_differences(struct store *history, int64_t before, int64_t after,
				   struct fact_differences *out, struct error *err)
{
	char *a = store_nights_facts(history, before, err),
	     *b = store_nights_facts(history, after, err);

	if (a && b)
		trend_news_fact_differences_of(a, b, out);
	free(a);
	free(b);
	return err->status;
}

void trend_news_fact_differences_release(struct fact_differences *differences)
{
	for (size_t i = 0; i < differences->count; i++) {
		free(differences->items[i].name);
		free(differences->items[i].before);
		free(differences->items[i].after);
	}
	free(differences->items);
	memset(differences, 0, sizeof(*differences));
}

#define LOOKED_AT 10 /* nights */

static const struct history_night *trend_news_night_before(const struct history_nights *nights,
							   size_t of)
{
	for (size_t i = of; i-- > 0;)
		if (strcmp(nights->items[i].host, nights->items[of].host) == 0)
			return &nights->items[i];
	return NULL;
}

/* A new driver starts an epoch, which is reported with the comparison of its levels. */
static void trend_news_drop_drivers(struct fact_differences *d)
{
	size_t kept = 0;

	for (size_t i = 0; i < d->count; i++) {
		struct fact_difference *x = &d->items[i];

		if (strcasestr(x->name, "driver")) {
			free(x->name);
			free(x->before);
			free(x->after);
		} else {
			d->items[kept++] = *x;
		}
	}
	d->count = kept;
}

size_t trend_news_environment(struct store *history, const struct history_nights *nights,
			      struct environment_change out[MOST_ENVIRONMENT], struct error *err)
{
	size_t first = nights->count > LOOKED_AT ? nights->count - LOOKED_AT : 0, count = 0;

	for (size_t i = nights->count; i-- > first && count < MOST_ENVIRONMENT;) {
		const struct history_night *before = trend_news_night_before(nights, i);
		struct environment_change *c = &out[MOST_ENVIRONMENT - 1 - count];

		*c = (struct environment_change){ .day = nights->items[i].day };
		if (before)
			trend_news_differences(history, before->id, nights->items[i].id, &c->facts,
					       err);
		trend_news_drop_drivers(&c->facts);
		if (c->facts.count)
			count++;
		else
			trend_news_fact_differences_release(&c->facts);
	}
	memmove(out, &out[MOST_ENVIRONMENT - count], count * sizeof(*out));
	return count;
}

const char *trend_news_direction(enum better better, double ratio)
{
	if (better == BETTER_NONE)
		return ratio > 1 ? "more" : "less";
	return ratio > 1 ? "worse" : "better";
}

const char *trend_news_found_name(enum change_found found)
{
	static const char *const names[] = { "by nights", "at a seam", "suddenly", "in the pool" };

	return names[found];
}

char *trend_news_found_words(const struct trend_change *c)
{
	if (c->found == FOUND_BY_NIGHTS)
		return xasprintf("odds over 10^%d to 1", trend_odds_power(c));
	return xasprintf("%s (p %s %.0e)",
			 c->found == FOUND_AT_SEAM   ? "at a change of driver, config or hardware"
			 : c->found == FOUND_IN_POOL ? "on all GPUs of the pool"
						     : "far beyond the variation between runs",
			 c->probability < LEAST_PROBABILITY ? "<" : "=",
			 fmax(c->probability, LEAST_PROBABILITY));
}

char *trend_news_seam_words(const struct trend_seam *seam, enum better better)
{
	double half = 100 * expm1(level_half(&seam->shift));
	char date[32];

	history_moment(seam->day, seam->minute, date);
	if (isnan(half))
		return xasprintf("new statistics since %s, because hardware, driver or config "
				 "changed; too few runs to compare the levels",
				 date);
	return xasprintf("new statistics since %s, because hardware, driver or config changed; "
			 "level %.1f %% (±%.1f) %s: no clear difference",
			 date, 100 * fabs(expm1(seam->shift.value)), half,
			 trend_news_direction(better, seam->ratio));
}

char *trend_news_warning_words(size_t beyond, double beyond_by, double band)
{
	return xasprintf("WARNING: %zu of the last 3 runs are outside the usual range (±%.1f %%); "
			 "the last of them is %.1f %% %s the median",
			 beyond, 100 * band, 100 * fabs(beyond_by),
			 beyond_by < 0 ? "below" : "above");
}

char *trend_news_hosts(const struct history_nights *nights)
{
	const char *names[2] = { "", "" };
	size_t count = 0;

	for (size_t i = 0; i < nights->count; i++) {
		if (!*nights->items[i].host || trend_news_night_before(nights, i))
			continue;
		if (count < ARRAY_SIZE(names))
			names[count] = nights->items[i].host;
		count++;
	}
	if (count > 2)
		return xasprintf("%s and %zu others", names[0], count - 1);
	return xasprintf("%s%s%s", names[0], count == 2 ? " and " : "", names[1]);
}

size_t trend_news_missed(const struct history_nights *nights, int64_t *missed)
{
	int64_t *days = xcalloc(nights->count + 1, sizeof(*days));
	size_t found;

	for (size_t i = 0; i < nights->count; i++)
		days[i] = nights->items[i].day;
	found = trend_missed_nights(days, nights->count, missed, MOST_MISSED);
	free(days);
	return found < MOST_MISSED ? found : MOST_MISSED;
}

char *trend_news_seam_what(struct store *history, int64_t epoch_before, int64_t epoch,
			   struct error *err)
{
	char *before = store_series_epoch_facts(history, epoch_before, err);
	char *after = store_series_epoch_facts(history, epoch, err);
	struct fact_differences found = { 0 };
	struct text out = TEXT_EMPTY;

	trend_news_fact_differences_of(before, after, &found);
	for (size_t i = 0; i < found.count; i++) {
		const char *between = out.length ? ", " : "";

		/* A hash is not informative. */
		if (strcmp(found.items[i].name, "config") == 0)
			text_addf(&out, "%sa change of config", between);
		else
			text_addf(&out, "%s%s %s", between, found.items[i].name,
				  found.items[i].after);
	}
	if (!out.length)
		text_add(&out, "a change of hardware, driver or config");
	trend_news_fact_differences_release(&found);
	free(before);
	free(after);
	return text_detach(&out);
}

static struct seam_group *trend_news_seam_group_of(struct seam_groups *groups,
						   const struct trend_seam *seam, char *what)
{
	struct seam_group *g;

	for (size_t i = 0; i < groups->count; i++) {
		g = &groups->items[i];
		if (g->day == seam->day && g->minute == seam->minute &&
		    strcmp(g->what, what) == 0) {
			free(what);
			return g;
		}
	}
	ARRAY_GROW(groups->items, groups->count, groups->capacity);
	g = &groups->items[groups->count++];
	*g = (struct seam_group){ .day = seam->day,
				  .minute = seam->minute,
				  .night = seam->night,
				  .night_before = seam->night_before,
				  .what = what };
	return g;
}

enum status trend_news_seam_groups_add(struct seam_groups *groups, struct store *history,
				       const struct history_series *s, const struct trend *t,
				       struct error *err)
{
	for (size_t i = 0; i < t->seam_count && err->status == STATUS_OK; i++) {
		const struct trend_seam *seam = &t->seams[i];
		const struct trend_change *change = NULL; /* NULL: no clear difference */
		bool open;
		struct seam_group *g;
		struct seam_part *p;
		double percent;

		for (size_t k = 0; seam->differs && k < t->change_count && !change; k++)
			if (t->changes[k].found == FOUND_AT_SEAM && t->changes[k].at == seam->at)
				change = &t->changes[k];
		open = change && change->state == TREND_NEW;
		if (!open && !trend_seam_is_recent(t, seam))
			continue;
		g = trend_news_seam_group_of(groups, seam,
					     trend_news_seam_what(history, seam->epoch_before,
								  seam->epoch, err));
		g->series++;
		g->alike += !change || change->state == TREND_RECOVERED;
		if (!open)
			continue;
		p = g->parts;
		while (p < g->parts + g->part_count && strcmp(p->metric, s->metric) != 0)
			p++;
		if (p == g->parts + g->part_count) {
			ARRAY_GROW(g->parts, g->part_count, g->part_capacity);
			p = &g->parts[g->part_count++];
			*p = (struct seam_part){ .metric = xstrdup(s->metric), .least = INFINITY };
		}
		percent = trend_percent(change);
		g->worse += change->worse;
		p->worse += change->worse;
		p->improved += change->improved;
		p->other += !change->worse && !change->improved;
		p->least = fmin(p->least, percent);
		p->most = fmax(p->most, percent);
	}
	return err->status;
}

void trend_news_seam_groups_release(struct seam_groups *groups)
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

static void trend_news_seams_add_count(struct text *out, size_t count, const struct seam_part *p,
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

char *trend_news_seam_group_words(const struct seam_group *g)
{
	struct text out = TEXT_EMPTY;
	const char *between = " ";
	char date[32];

	history_moment(g->day, g->minute, date);
	text_addf(&out, "since %s (%s):", g->what, date);
	for (size_t i = 0; i < g->part_count; i++)
		trend_news_seams_add_count(&out, g->parts[i].worse, &g->parts[i], "worse",
					   &between);
	for (size_t i = 0; i < g->part_count; i++)
		trend_news_seams_add_count(&out, g->parts[i].improved, &g->parts[i], "better",
					   &between);
	for (size_t i = 0; i < g->part_count; i++)
		trend_news_seams_add_count(&out, g->parts[i].other, &g->parts[i], "away", &between);
	if (g->alike)
		text_addf(&out, "%s%zu of %zu series without a clear difference",
			  g->part_count ? "; " : " ", g->alike, g->series);
	else if (!g->part_count)
		text_addf(&out, " %zu series; all changes are acknowledged", g->series);
	return text_detach(&out);
}
