/*
 * News in the trends of a history, for terminal and page: counts, and which facts about the machine
 * differ between two nights.
 */
#ifndef GPUPROOF_HISTORY_TREND_NEWS_H
#define GPUPROOF_HISTORY_TREND_NEWS_H

#include "history/trend.h"

struct trend_summary {
	size_t series, fresh, warnings, acknowledged, recovered; /* `fresh`: new changes */
	size_t worse, improved; /* of the new ones; the rest has no direction */
	size_t young; /* trend_is_young() and nothing found: nothing can be said of these */
};

/* Adds the trend of a series' current epoch. True when there is something to say about it. */
bool trend_count(struct trend_summary *summary, const struct trend *trend);
/* The changes alone, as of a pool, which is no series more. */
void trend_count_changes(struct trend_summary *summary, const struct trend *trend);

struct fact_difference {
	char *name, *before, *after;
};

struct fact_differences {
	struct fact_difference *items;
	size_t count, capacity;
};

/* Facts ("name=value" lines) that both have and that differ: adds the first twelve. */
void fact_differences_of(const char *before, const char *after, struct fact_differences *out);
/* The same of two nights. */
enum status history_differences(struct store *history, int64_t before, int64_t after,
				struct fact_differences *out, struct error *err);
void fact_differences_release(struct fact_differences *differences);

/* Facts that differ between a night and the one before it on its host. */
struct environment_change {
	int64_t day;
	struct fact_differences facts; /* fact_differences_release() */
};
#define MOST_ENVIRONMENT 5
/*
 * Facts that changed in the last ten nights, except those that begin an epoch: the last
 * MOST_ENVIRONMENT changes, the oldest first. Returns how many.
 */
size_t history_environment(struct store *history, const struct history_nights *nights,
			   struct environment_change out[MOST_ENVIRONMENT], struct error *err);

/* "by nights", "at a seam", "suddenly", "in the pool" */
const char *trend_found_name(enum change_found found);
/* How it was found: "odds over 10^6 to 1", "far beyond ... (p = 2e-07)"; malloc'ed. */
char *trend_found_words(const struct trend_change *change);
/* A seam without a change: "starts anew 2026-11-02: levels 0.3 % (±1.2) better"; malloc'ed. */
char *trend_seam_words(const struct trend_seam *seam, enum better better);

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

/*
 * Changes that came with a driver, config or hardware, over all series: for each seam how many
 * series of which metric are worse or better since. trend_seams.c
 */

/* Series of one metric at one seam. */
struct seam_part {
	char *metric;
	size_t worse, improved, other; /* other: another level, of a metric without a direction */
	double least, most;            /* per cent, of those */
};

struct seam_group {
	int64_t day, night, night_before;
	char *what; /* "driver 590.10"; "another config" */
	struct seam_part *parts;
	size_t part_count, part_capacity;
	/* series; those with an open change for the worse; without a clear difference */
	size_t series, worse, alike;
};

struct seam_groups {
	struct seam_group *items; /* by day */
	size_t count, capacity;
};

/*
 * Adds the seams of a trend that are SEAM_RECENT nights old at most or have an open change. Reads
 * what differs from the store.
 */
enum status seam_groups_add(struct seam_groups *groups, struct store *history,
			    const struct history_series *series, const struct trend *trend,
			    struct error *err);
void seam_groups_release(struct seam_groups *groups);

/* The change at a seam; NULL: no clear difference. */
const struct trend_change *seam_change(const struct trend *trend, const struct trend_seam *seam);

/*
 * "since driver 590.10 (2026-10-26): 8 matmul.throughput 10.0 % worse; 33 series: no clear
 * difference"; malloc'ed.
 */
char *seam_group_words(const struct seam_group *group);
/* "driver 590.10" of two epochs; malloc'ed. */
char *seam_what(struct store *history, int64_t epoch_before, int64_t epoch, struct error *err);

#endif
