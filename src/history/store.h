/*
 * The store that keeps a history: what an engine does. sqlite/ is the only one; no file
 * outside knows its language or its types.
 *
 * Verbs read and write whole nights. Rules about them (which version of a run stays, what is a
 * change) are in the files that use them: history.c, baseline.c, trend.c.
 *
 * Ownership: `char *` belong to the struct they are in. Text that was read is harmless on a
 * terminal (text_harmless()).
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
	STORE_CREATE /* is made when there is none */
};

/*
 * A file of another program, of a newer gpuproof, or damaged is refused; an older one is brought to
 * the newest version.
 */
enum status store_open(struct store **out, const char *path, enum store_mode mode,
		       struct error *err);
void store_close(struct store *store);
/* Version of the files that this program writes. */
size_t store_version(void);

/*
 * A transaction, which waits for other writers; a second one within it can be undone alone. With
 * `keep` false, or after an error in `err`, store_end() undoes it. Returns err->status.
 */
enum status store_begin(struct store *store, struct error *err);
enum status store_end(struct store *store, bool keep, struct error *err);

/* A device as it was in one night. */
struct store_device {
	char *id;      /* "cuda:0" */
	char *machine; /* its UUID, or the host where it has none: struct history_series */
	char *model, *serial;
	char *slot; /* PCI address; "" */
};

struct store_figure {
	char *metric, *case_id;
	char *section, *point; /* of the case: "transfer:label", case_point() */
	char *model, *machine, *unit;
	char *kind; /* what decides it: figure_kind_name(); "": unknown */
	enum better better;
	bool headline;
	size_t epoch;            /* index into the night's */
	double value, low, high; /* NaN: the case did not run or failed */
	/*
	 * A gap in a series that is there, of all metrics of the case where `metric` is ""; it
	 * begins no series.
	 */
	bool only_gap;
};

/* One run with all that a history keeps of it. */
struct store_night {
	char *run_id, *started, *host, *label, *state;
	char *tags;    /* "rack:7 site:b", each once, in the order they were given; "" */
	char *verdict; /* "ACCEPTED", "REJECTED", "INCONCLUSIVE"; "": nothing was judged */
	char *facts;   /* of the environment: "name=value" lines */
	int64_t day;   /* since 1970-01-01 */
	struct store_device *devices;
	size_t device_count;
	char **epochs; /* hardware, driver and config as "name=value" lines */
	size_t epoch_count;
	struct store_figure *figures;
	size_t figure_count, figure_capacity;
};

void store_night_release(struct store_night *night);

/* The id of the night of a run; 0: there is none. */
int64_t store_find_night(struct store *store, const char *run_id, struct error *err);
enum status store_read_night(struct store *store, int64_t id, struct store_night *out,
			     struct error *err);
/* Its run must not be there. A figure in another unit than its series is STATUS_USAGE. */
enum status store_add_night(struct store *store, const struct store_night *night,
			    struct error *err);
enum status store_remove_night(struct store *store, int64_t id, struct error *err);
/* The facts of a night. The caller frees it; "" when there is no such night. */
char *store_facts(struct store *store, int64_t night, struct error *err);

struct history_night {
	int64_t id, day;                                                /* day: since 1970-01-01 */
	char *run_id, *started, *host, *label, *state, *verdict, *tags; /* struct store_night */
	bool on_nodes; /* of several: devices are "n1/cuda:0", and its host measures none */
};

struct history_nights {
	struct history_night *items; /* the oldest first */
	size_t count, capacity;
};

enum status store_nights(struct store *store, struct history_nights *out, struct error *err);

/* The place of a machine in its last night; of a run on several nodes its host is the node. */
struct history_place {
	char *machine, *host, *device, *slot, *serial; /* device: "cuda:0"; "" where unknown */
	char *tags;                                    /* of that night */
	char *host_before; /* the last one that was another; "": it was always there */
	int64_t day;       /* of its last night */
};

struct history_places {
	struct history_place *items; /* by machine */
	size_t count, capacity;
};

enum status store_places(struct store *store, struct history_places *out, struct error *err);

struct history_point {
	int64_t night, day, epoch;
	uint64_t config;         /* a hash; 0: unknown */
	double value, low, high; /* value NaN: the case did not run or failed */
};

struct history_series {
	int64_t id;
	char *metric, *case_id, *section, *point, *model, *machine, *unit;
	char *kind; /* of its last night, as in struct store_figure */
	enum better better;
	struct history_point *points; /* the oldest first */
	size_t count, capacity;
};

struct history_filter {
	const char *metric, *case_id; /* part of; NULL: all */
	bool exact;                   /* the whole metric and the whole case */
	int64_t series;               /* 0: all */
	/* not only each suite's main figure, as for a metric and a series */
	bool all_metrics;
	size_t nights;   /* of the last n; 0: all */
	const char *tag; /* nights that have it; NULL: all */
};

typedef void history_series_fn(void *context, const struct history_series *series);

/* Calls `visit` for each series that has points, by case and metric. */
enum status store_each_series(struct store *store, const struct history_filter *filter,
			      history_series_fn *visit, void *context, struct error *err);

/* The series of a filter without points, by id; `nights` and `tag` of the filter do not count. */
enum status store_each_name(struct store *store, const struct history_filter *filter,
			    history_series_fn *visit, void *context, struct error *err);
typedef void store_point_fn(void *context, int64_t series, int64_t night, int64_t epoch,
			    double value);
/*
 * Calls `visit` for each measured value of the series that store_each_name() visits, by series and
 * in no order of nights. Where a history is too large for store_each_series(): a million a second.
 */
enum status store_each_point(struct store *store, const struct history_filter *filter,
			     store_point_fn *visit, void *context, struct error *err);
/* The "name=value" lines of an epoch. The caller frees it; "" when there is no such epoch. */
char *store_epoch_facts(struct store *store, int64_t epoch, struct error *err);

/* A decision of a person about a change or a finding (triage.h). */
enum triage {
	TRIAGE_NONE, /* a plain note, or an acknowledgement without a state */
	TRIAGE_OPEN, /* takes earlier decisions back */
	TRIAGE_FIXED,
	TRIAGE_EXPECTED,
	TRIAGE_FALSE_ALARM,
	TRIAGE_TRACKED,
	TRIAGE_WONTFIX,
	TRIAGE_STATES
};
const char *triage_word(enum triage state); /* "fixed"; "" */
/* TRIAGE_NONE: no such word, as of a newer version; it closes nothing. */
enum triage triage_of_word(const char *word);

struct history_note {
	int64_t id, day, series; /* series 0: not about one series */
	bool acknowledges;       /* the change of that day */
	char *text, *written;
	/* of a decision; NULL as "" when written */
	enum triage state;
	char *by, *ticket;
	int64_t until;                           /* the last day that it holds; 0: for ever */
	char *host, *machine, *case_id, *metric; /* what it is about; "": any */
};

struct history_notes {
	struct history_note *items;
	size_t count, capacity;
	/* borrowed, to be set by who has them: where machines are, for decisions about a host */
	const struct history_places *places;
};

enum status store_notes(struct store *store, struct history_notes *out, struct error *err);
/* `note->id` does not count; a series that is not there is STATUS_USAGE. */
enum status store_add_note(struct store *store, const struct history_note *note, struct error *err);

/* Removes the nights before `day`, and what has no points any more; `removed` nights. */
enum status store_prune(struct store *store, int64_t day, size_t *removed, struct error *err);

/* A baseline is a name with documents in order. */
struct baseline_info {
	char *name, *saved;
	size_t results;
};

struct baseline_list {
	struct baseline_info *items; /* by name */
	size_t count, capacity;
};

enum status store_baselines(struct store *store, struct baseline_list *out, struct error *err);
/* Appends a document. */
enum status store_add_document(struct store *store, const char *baseline, size_t position,
			       const char *saved, const char *document, struct error *err);
typedef enum status store_document_fn(void *context, const char *document, struct error *err);
/* Calls `visit` for each document in order, until one fails. */
enum status store_each_document(struct store *store, const char *baseline, store_document_fn *visit,
				void *context, struct error *err);
enum status store_remove_baseline(struct store *store, const char *baseline, bool *was_there,
				  struct error *err);

/*
 * Days that dates of four digits have: 0001-01-01 to 9999-12-31. A night of another day is damage.
 */
#define FIRST_DAY INT64_C(-719162)
#define LAST_DAY INT64_C(2932896)

#endif
