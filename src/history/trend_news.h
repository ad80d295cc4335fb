/*
 * News in the trends of a history, for terminal and page: counts, and changed facts of the machine
 * between two nights.
 */
#ifndef GPUPROOF_HISTORY_TREND_NEWS_H
#define GPUPROOF_HISTORY_TREND_NEWS_H

#include "history/trend.h"

struct trend_summary {
	size_t series, fresh, warnings, acknowledged, recovered; /* `fresh`: new changes */
	size_t worse, improved; /* of the new ones; the others have no direction */
	size_t young;           /* trend_is_young() without any change: not decidable yet */
};

/* Counts the trend of a series' current epoch. True if there is something to report. */
bool trend_news_count(struct trend_summary *summary, const struct trend *trend);
/* Counts only the changes, for a pool, which is not a further series. */
void trend_news_count_changes(struct trend_summary *summary, const struct trend *trend);

struct fact_difference {
	char *name, *before, *after;
};

struct fact_differences {
	struct fact_difference *items;
	size_t count, capacity;
};

/* Adds the first twelve facts ("name=value" lines) that both nights have and that differ. */
enum status trend_news_differences(struct store *history, int64_t before, int64_t after,
				   struct fact_differences *out, struct error *err);
void trend_news_fact_differences_release(struct fact_differences *differences);

/* Facts that differ between a night and the previous one of its host. */
struct environment_change {
	int64_t day;
	struct fact_differences facts; /* trend_news_fact_differences_release() */
};
#define MOST_ENVIRONMENT 5
/*
 * Facts that changed in the last ten nights, except those that start an epoch: the last
 * MOST_ENVIRONMENT changes, oldest first. Returns their number.
 */
size_t trend_news_environment(struct store *history, const struct history_nights *nights,
			      struct environment_change out[MOST_ENVIRONMENT], struct error *err);

/* "worse", "better"; "more", "less" of a metric without a direction. `ratio`: of a change */
const char *trend_news_direction(enum better better, double ratio);
/* "by nights", "at a seam", "suddenly", "in the pool" */
const char *trend_news_found_name(enum change_found found);
/*
 * Evidence for a change: "odds over 10^6 to 1", "far beyond ... (p = 2e-07)"; the caller frees the
 * string.
 */
char *trend_news_found_words(const struct trend_change *change);
/*
 * A seam without a change: "new statistics since 2026-11-02, because ..."; the caller frees
 * the string.
 */
char *trend_news_seam_words(const struct trend_seam *seam, enum better better);

/*
 * Warning of a trend: "WARNING: 2 of the last 3 runs beyond the band, the last by ..."; the
 * caller frees the string.
 */
char *trend_news_warning_words(size_t beyond, double beyond_by, double band);

/*
 * Hosts: "node1", "node1 and node2", "node1 and 4 others"; "" if no night names one. The caller
 * frees the string.
 */
char *trend_news_hosts(const struct history_nights *nights);

#define MOST_MISSED 400 /* maximum number of listed days */
/* Stores the days without a night in `missed` (room for MOST_MISSED); returns their number. */
size_t trend_news_missed(const struct history_nights *nights, int64_t *missed);

/*
 * Changes that coincide with a new driver, config or hardware, over all series: for each seam, how
 * many series of each metric became worse or better.
 */

/* Series of one metric at one seam. */
struct seam_part {
	char *metric;
	size_t worse, improved, other; /* other: changed level of a metric without a direction */
	double least, most;            /* range of the changes, in percent */
};

struct seam_group {
	int64_t day, night, night_before;
	int minute; /* as that of a change */
	char *what; /* "driver 590.10"; "another config" */
	struct seam_part *parts;
	size_t part_count, part_capacity;
	/* series; of these, with an open regression; without a clear difference */
	size_t series, worse, alike;
};

struct seam_groups {
	struct seam_group *items; /* by day */
	size_t count, capacity;
};

/*
 * Adds the seams of a trend that are at most SEAM_RECENT nights old or have an open change. Reads
 * the differing facts from the store.
 */
enum status trend_news_seam_groups_add(struct seam_groups *groups, struct store *history,
				       const struct history_series *series,
				       const struct trend *trend, struct error *err);
void trend_news_seam_groups_release(struct seam_groups *groups);

/*
 * "since driver 590.10 (2026-10-26): 8 matmul.throughput 10.0 % worse; 33 series: no clear
 * difference"; the caller frees the string.
 */
char *trend_news_seam_group_words(const struct seam_group *group);
/* "driver 590.10", the difference of two epochs; the caller frees the string. */
char *trend_news_seam_what(struct store *history, int64_t epoch_before, int64_t epoch,
			   struct error *err);

#endif
