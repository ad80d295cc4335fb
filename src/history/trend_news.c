#include "history/trend_news.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define RECENT_NIGHTS 10
#define MOST_DIFFERENCES 12

bool trend_count(struct trend_summary *summary, const struct trend *trend)
{
	summary->series++;
	summary->warnings += trend->warning;
	summary->young += trend->count < TREND_LEAST_NIGHTS && !trend->warning;
	for (size_t i = 0; i < trend->change_count; i++) {
		const struct trend_change *c = &trend->changes[i];

		summary->fresh += c->state == TREND_NEW;
		summary->worse += c->state == TREND_NEW && c->worse;
		summary->improved += c->state == TREND_NEW && c->improved;
		summary->acknowledged += c->state == TREND_ACKNOWLEDGED;
		summary->recovered += c->state == TREND_RECOVERED;
	}
	return trend->warning || trend->change_count;
}

bool trend_starts_anew(const struct history_series *s, const struct history_point **before,
		       const struct history_point **after)
{
	int64_t epoch = s->points[s->count - 1].epoch;
	size_t first = s->count - 1;

	while (first && s->points[first - 1].epoch == epoch)
		first--;
	if (!first || s->count - first > RECENT_NIGHTS)
		return false;
	/* Two jobs take turns, or something was undone. */
	for (size_t i = 0; i < first; i++)
		if (s->points[i].epoch == epoch)
			return false;
	*before = &s->points[first - 1];
	*after = &s->points[first];
	return true;
}

/* The line "name=..." of facts; NULL: there is none. */
static const char *fact_line(const char *facts, const char *line)
{
	size_t name = strcspn(line, "=") + 1;

	for (const char *p = facts; *p; p += strcspn(p, "\n"), p += *p == '\n')
		if (strncmp(p, line, name) == 0)
			return p;
	return NULL;
}

static void add_difference(struct fact_differences *out, const char *line, const char *other)
{
	size_t name = strcspn(line, "=");
	size_t length = strcspn(line, "\n"), other_length = other ? strcspn(other, "\n") : 0;

	if (!other || name >= length ||
	    (other_length == length && strncmp(line, other, length) == 0))
		return;
	ARRAY_GROW(out->items, out->count, out->capacity);
	out->items[out->count++] =
		(struct fact_difference){ xstrndup(line, name),
					  xstrndup(line + name + 1, length - name - 1),
					  xstrndup(other + name + 1, other_length - name - 1) };
}

enum status history_differences(struct store *history, int64_t before, int64_t after,
				struct fact_differences *out, struct error *err)
{
	char *a = store_facts(history, before, err), *b = store_facts(history, after, err);

	for (const char *line = a; line && b && *line && out->count < MOST_DIFFERENCES;) {
		add_difference(out, line, fact_line(b, line));
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	free(a);
	free(b);
	return err->status;
}

void fact_differences_release(struct fact_differences *differences)
{
	for (size_t i = 0; i < differences->count; i++) {
		free(differences->items[i].name);
		free(differences->items[i].before);
		free(differences->items[i].after);
	}
	free(differences->items);
	memset(differences, 0, sizeof(*differences));
}

char *trend_warning_words(size_t beyond, double beyond_by, double band)
{
	return xasprintf("WARNING: %zu of the last 3 nights beyond the band (±%.1f %%), the last "
			 "of them %.1f %% %s the median",
			 beyond, 100 * band, 100 * fabs(beyond_by),
			 beyond_by < 0 ? "below" : "above");
}

static bool named_before(const struct history_nights *nights, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (strcmp(nights->items[i].host, nights->items[index].host) == 0)
			return true;
	return false;
}

char *history_hosts(const struct history_nights *nights)
{
	const char *names[2] = { "", "" };
	size_t count = 0;

	for (size_t i = 0; i < nights->count; i++) {
		if (!*nights->items[i].host || named_before(nights, i))
			continue;
		if (count < ARRAY_SIZE(names))
			names[count] = nights->items[i].host;
		count++;
	}
	if (count > 2)
		return xasprintf("%s and %zu others", names[0], count - 1);
	return xasprintf("%s%s%s", names[0], count == 2 ? " and " : "", names[1]);
}

size_t history_missed(const struct history_nights *nights, int64_t *missed)
{
	int64_t *days = xcalloc(nights->count + 1, sizeof(*days));
	size_t found;

	for (size_t i = 0; i < nights->count; i++)
		days[i] = nights->items[i].day;
	found = missed_nights(days, nights->count, missed, MOST_MISSED);
	free(days);
	return found < MOST_MISSED ? found : MOST_MISSED;
}
