/*
 * Interface of the store that keeps a history. sqlite/ is the only engine; no file outside knows
 * SQL or its types.
 *
 * Functions read and write whole nights. The rules (which version of a run is kept, what is a
 * change) are in history.c and trend.c.
 *
 * Structs own their `char *`. Text from the store contains no control characters (text_harmless()).
 */
#ifndef GPUPROOF_HISTORY_STORE_H
#define GPUPROOF_HISTORY_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "result/metric.h"

struct store;

enum store_mode {
	STORE_READ,  /* must exist */
	STORE_WRITE, /* must exist */
	STORE_CREATE /* created if missing */
};

/*
 * Opens a history. Refuses a file of another program, of a newer gpuproof, or a damaged one;
 * upgrades an older one.
 */
enum status sqlite_store_open(struct store **out, const char *path, enum store_mode mode,
			      struct error *err);
void sqlite_store_close(struct store *store);
/* Format version that this program writes. */
size_t sqlite_store_version(void);

/*
 * Starts a transaction, after other writers have finished; a nested one can be undone alone.
 * sqlite_store_end() undoes it if `keep` is false or `err` has an error, and returns err->status.
 */
enum status sqlite_store_begin(struct store *store, struct error *err);
enum status sqlite_store_end(struct store *store, bool keep, struct error *err);

/* State of a device in one night. */
struct store_device {
	char *id;      /* "cuda:0" */
	char *machine; /* its UUID, or the host if it has none, as in struct history_series */
	char *model, *serial;
	char *slot; /* PCI address; "" */
};

struct store_figure {
	char *metric, *case_id;
	char *section, *point; /* of the case: "transfer:label", and case_point() */
	char *model, *machine, *unit;
	char *kind; /* figure_kind_name(); "": unknown */
	enum better better;
	bool headline;
	size_t epoch;            /* index into the night's epochs */
	double value, low, high; /* NaN: the case did not run, or failed */
	/*
	 * Marks a gap in an existing series (in all metrics of the case if `metric` is ""); creates
	 * no series.
	 */
	bool only_gap;
};

/* A run with everything that a history stores of it. */
struct store_night {
	char *run_id, *started, *host, *label, *state;
	char *tags;    /* "rack:7 site:b", unique, in the given order; "" */
	char *verdict; /* "ACCEPTED", "REJECTED", "INCONCLUSIVE"; "": no verdict */
	char *facts;   /* environment as "name=value" lines */
	int64_t day;   /* since 1970-01-01 */
	struct store_device *devices;
	size_t device_count;
	char **epochs; /* hardware, driver and config as "name=value" lines */
	size_t epoch_count;
	struct store_figure *figures;
	size_t figure_count, figure_capacity;
};

void store_night_release(struct store_night *night);

/* Id of the night of a run; 0: none. */
int64_t store_find_night(struct store *store, const char *run_id, struct error *err);
enum status store_read_night(struct store *store, int64_t id, struct store_night *out,
			     struct error *err);
/*
 * Adds a night whose run is not stored yet. STATUS_USAGE if the unit of a value differs from its
 * series.
 */
enum status store_add_night(struct store *store, const struct store_night *night,
			    struct error *err);
enum status store_remove_night(struct store *store, int64_t id, struct error *err);
/* Facts of a night; "" if it does not exist. The caller frees the string. */
char *store_nights_facts(struct store *store, int64_t night, struct error *err);

struct history_night {
	int64_t id, day;                                                /* day: since 1970-01-01 */
	char *run_id, *started, *host, *label, *state, *verdict, *tags; /* struct store_night */
	/* of a multi-node run: devices are "n1/cuda:0", and its host measured nothing */
	bool on_nodes;
};

struct history_nights {
	struct history_night *items; /* oldest first */
	size_t count, capacity;
};

enum status store_nights(struct store *store, struct history_nights *out, struct error *err);

/* Place of a machine in its last night; the host is the node in a multi-node run. */
struct history_place {
	char *machine, *host, *device, *slot, *serial; /* device: "cuda:0"; "" if unknown */
	char *tags;                                    /* of that night */
	char *host_before;                             /* the last different host; "": none */
	int64_t day;                                   /* day of its last night */
};

struct history_places {
	struct history_place *items; /* by machine */
	size_t count, capacity;
};

enum status store_nights_places(struct store *store, struct history_places *out, struct error *err);

struct history_point {
	int64_t night, day, epoch;
	int minute;              /* of the day, UTC, at which the run started */
	uint64_t config;         /* a hash; 0: unknown */
	double value, low, high; /* value NaN: the case did not run, or failed */
};

struct history_series {
	int64_t id;
	char *metric, *case_id, *section, *point, *model, *machine, *unit;
	char *kind; /* kind in its last night, as in struct store_figure */
	enum better better;
	struct history_point *points; /* oldest first */
	size_t count, capacity;
};

struct history_filter {
	const char *metric, *case_id; /* substrings; NULL: all */
	bool exact;                   /* match the whole metric and the whole case */
	int64_t series;               /* 0: all */
	/* not only headline metrics; implied by a metric or a series */
	bool all_metrics;
	size_t nights;   /* only the last n days with a run; 0: all */
	const char *tag; /* only nights with this tag; NULL: all */
};

typedef void history_series_fn(void *context, const struct history_series *series);

/* Calls `visit` for each series with points, by case and metric. */
enum status store_each_series(struct store *store, const struct history_filter *filter,
			      history_series_fn *visit, void *context, struct error *err);

/*
 * Calls `visit` for each series of the filter without its points, by id; ignores `nights` and
 * `tag`.
 */
enum status store_series_each_name(struct store *store, const struct history_filter *filter,
				   history_series_fn *visit, void *context, struct error *err);
/* Id here of the series that has `id` in the history `from`. Found by name: ids differ. 0: none. */
int64_t store_find_series(struct store *store, struct store *from, int64_t id, struct error *err);
typedef void store_point_fn(void *context, int64_t series, int64_t night, int64_t epoch,
			    double value);
/*
 * Calls `visit` for each measured value, series by series, with the nights in any order. The filter
 * selects the same series as in store_series_each_name(). For histories too large for
 * store_each_series(): a million values per second.
 */
enum status store_series_each_point(struct store *store, const struct history_filter *filter,
				    store_point_fn *visit, void *context, struct error *err);
/* "name=value" lines of an epoch; "" if it does not exist. The caller frees the string. */
char *store_series_epoch_facts(struct store *store, int64_t epoch, struct error *err);

/* User decision on a change or a finding (triage.h). */
enum triage {
	TRIAGE_NONE, /* a plain note, or an acknowledgement without a state */
	TRIAGE_OPEN, /* reverts earlier decisions */
	TRIAGE_FIXED,
	TRIAGE_EXPECTED,
	TRIAGE_FALSE_ALARM,
	TRIAGE_TRACKED,
	TRIAGE_WONTFIX,
	TRIAGE_STATES
};
const char *store_notes_triage_word(enum triage state); /* "fixed"; "" */

struct history_note {
	int64_t id, day, series; /* series 0: not for a single series */
	bool acknowledges;       /* acknowledges the change of that day */
	char *text, *written;
	/* of a decision; NULL is written as "" */
	enum triage state;
	char *by, *ticket;
	int64_t until;                           /* last day of its validity; 0: unlimited */
	char *host, *machine, *case_id, *metric; /* subject of the decision; "": any */
};

struct history_notes {
	struct history_note *items;
	size_t count, capacity;
	/* borrowed, set by the caller: places of machines, for decisions on a host */
	const struct history_places *places;
};

enum status store_notes(struct store *store, struct history_notes *out, struct error *err);
/* Adds a note; ignores `note->id`. STATUS_USAGE if the series does not exist. */
enum status store_add_note(struct store *store, const struct history_note *note, struct error *err);

/* Removes the nights before `day`, and series without points; `removed`: number of nights. */
enum status store_nights_prune(struct store *store, int64_t day, size_t *removed,
			       struct error *err);

/* Days with a four-digit year: 0001-01-01 to 9999-12-31. Other days in the file are damage. */
#define FIRST_DAY INT64_C(-719162)
#define LAST_DAY INT64_C(2932896)

#endif
