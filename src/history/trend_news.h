/*
 * News in the trends of a history, for terminal and page: counts, series that start anew, and which
 * facts about the machine differ between two nights.
 */
#ifndef GPUPROOF_HISTORY_TREND_NEWS_H
#define GPUPROOF_HISTORY_TREND_NEWS_H

#include "history/trend.h"

struct trend_summary {
	size_t series, fresh, warnings, acknowledged, recovered; /* `fresh`: new changes */
	size_t worse, improved; /* of the new ones; the rest has no direction */
	size_t young; /* with fewer than TREND_LEAST_NIGHTS nights: nothing can be said of these */
};

/* Adds the trend of a series' current epoch. True when there is something to say about it. */
bool trend_count(struct trend_summary *summary, const struct trend *trend);

/*
 * The first point of the series' last epoch and the one before it. False when there was no other
 * epoch, the last one is ten nights old, or it was there before.
 */
bool trend_starts_anew(const struct history_series *series, const struct history_point **before,
		       const struct history_point **after);

struct fact_difference {
	char *name, *before, *after;
};

struct fact_differences {
	struct fact_difference *items;
	size_t count, capacity;
};

/* Facts that both nights have and that differ: the first twelve. */
enum status history_differences(struct store *history, int64_t before, int64_t after,
				struct fact_differences *out, struct error *err);
void fact_differences_release(struct fact_differences *differences);

/*
 * "WARNING: 2 of the last 3 nights beyond the band, the last by ..."; malloc'ed. For a trend that
 * warns.
 */
char *trend_warning_words(size_t beyond, double beyond_by, double band);

/*
 * The machines: "node1", "node1 and node2", "node1 and 4 others"; "" when no night names one.
 * malloc'ed.
 */
char *history_hosts(const struct history_nights *nights);

#define MOST_MISSED 400 /* that are listed */
/* The days without a night; `missed` has room for MOST_MISSED. Returns how many there are in it. */
size_t history_missed(const struct history_nights *nights, int64_t *missed);

#endif
