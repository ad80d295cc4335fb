/*
 * Compares two measurements of the same cases, each with one or several launches. A device is
 * compared with itself, found by UUID, else by its id.
 *
 * The ratio of the two values is oriented so that above 1 is worse; its 95 % interval covers
 * launches and sessions (shift.h). With a margin d: REGRESSED if the whole interval is above 1 + d,
 * IMPROVED if it is below 1 - d, UNCHANGED if two one-sided tests at 5 % place it within 1 +- d
 * (Schuirmann 1987), else INCONCLUSIVE. Exact metrics (kind.h) are compared by their worst launch,
 * without an interval.
 *
 * Without --margin, each metric gets its own: a change counts from COMPARE_MARGIN on, and UNCHANGED
 * covers the variation between sessions of such metrics (shift_margin()), at least COMPARE_MARGIN.
 * If sessions alone vary by more, a change counts beyond that larger margin. Metrics with a margin
 * above COMPARE_MARGIN_MOST are `grouped` unless they changed for certain: sessions cannot compare
 * them. All metrics of a GPU may shift together by up to SESSION_SHIFT between sessions; a change
 * counts beyond this common part.
 *
 * A comparison tests many metrics at once. A change is certain if it is significant among all of
 * them: at most one comparison in twenty reports a regression that is not real, and at most one an
 * improvement (Holm 1979). Host-bound metrics vary too much between sessions to be decided and get
 * a tenth of a share (HOST_WEIGHT). Other changes are "possible", as are changes with fewer than
 * four launches per side, and host-bound ones if the host itself was slower.
 */
#ifndef GPUPROOF_COMPARE_COMPARE_H
#define GPUPROOF_COMPARE_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

#include "history/history.h"
#include "judge/estimate/kind.h"
#include "result/result.h"

#define COMPARE_MARGIN 0.01
#define COMPARE_MARGIN_MOST 0.05
#define SESSION_SHIFT 0.01
#define COMPARE_ERROR 0.05 /* familywise error of a comparison, for either direction */

enum change {
	CHANGE_REGRESSED,
	CHANGE_INCONCLUSIVE,
	CHANGE_IMPROVED,
	CHANGE_UNCHANGED,
	CHANGE_NONE, /* nothing to compare: `reason` says why */
	CHANGE_COUNT
};
/* "REGRESSED", ..., "NOT COMPARED"; NULL-terminated */
extern const char *const change_names[CHANGE_COUNT + 1];
const char *compare_change_name(enum change change);

/* `char *` are owned. Standard deviations are ratios, NaN: unknown. */
struct comparison_row {
	char *case_id, *metric, *unit;
	char *point, *devices; /* of the case: case_point(), and "cuda:0,cuda:1" */
	char *devices_b;       /* the same GPUs in B, by UUID: "cuda:1,cuda:0" */
	enum figure_kind kind;
	enum change change;
	bool possible; /* not certain: `reason` says why */
	/* not decided, because it changed by no more than sessions vary; listed as one group */
	bool grouped;
	/* margin within which it is UNCHANGED, ratio - 1; NaN: exact, or no interval */
	double margin;
	double a, b; /* values of both sides */
	double ratio, low, high;
	double at_same_clock; /* ratio corrected to equal clocks; NaN: clocks unknown */
	/*
	 * host-bound metrics: ratio / ratio of the host reference; NaN: unknown, or not host-bound
	 */
	double at_same_host;
	size_t launches_a, launches_b;
	double launch_spread; /* standard deviation between launches, both sides */
	double visit_spread;  /* between sessions */
	size_t visit_nights;  /* nights of history that visit_spread comes from; 0: assumed */
	/* p-value of the change among all rows; NaN: no change */
	double probability;
	/* for a decision, if there is none; 0: no number is enough, or unknown */
	size_t launches_needed;
	bool wrong;   /* the new side has a wrong result */
	char only_in; /* 'A' or 'B': only this side has the case; 0: both do */
	char *reason;
};

#define COMPARE_MISSING "-"
struct difference {
	char *name, *a,
		*b; /* "driver", "580.65", "580.95"; COMPARE_MISSING: that side has no value */
};

/* One metric of the host reference (measure/yardstick.h) on both sides. */
struct yardstick_row {
	char *name, *unit;
	double a, b, ratio;
};

struct comparison {
	struct comparison_row *rows; /* worst first */
	size_t count, capacity;
	struct difference *differences; /* between the environments of both sides */
	size_t difference_count, difference_capacity;
	/* wrong results, memory errors and Xid errors of the new side, in words */
	char **faults;
	size_t fault_count, fault_capacity;
	bool data_fault; /* one of them is a wrong result or an uncorrected memory error */
	struct yardstick_row *yardstick; /* none: a side has none */
	size_t yardstick_count;
	/* geometric mean over the host reference; above 1: host of B was slower; NaN: unknown */
	double host_ratio;
	char *host_finding; /* message about a shift common to the host-bound metrics; "" */
	bool turns;         /* launches were interleaved: A B B A */
	/*
	 * Lag-1 autocorrelation of consecutive launches (interleaved: of the differences of their
	 * pairs) over all rows; NaN: too few.
	 */
	double resemblance;
	size_t resemblance_series; /* number of series it comes from */
	size_t counts[CHANGE_COUNT];
	size_t possible; /* rows that are REGRESSED or IMPROVED, but not certain */
	size_t grouped;  /* rows too variable between sessions; they count as INCONCLUSIVE */
	double margin;   /* smallest change that counts */
	bool automatic;  /* UNCHANGED uses each row's own margin */
	bool same_run;   /* both sides are the same run: nothing was compared */
	/* median ratio of the GPU-bound metrics; NaN: too few, or interleaved */
	double session_shift;
	char *name_a, *name_b; /* names of the sides in messages */
	char *sentence;
	/* how many launches per side would decide how many of the inconclusive rows; "": none */
	char *advice;
};

struct comparison_input {
	const struct result *a, *b; /* launches of either side; a: before, b: after */
	size_t a_count, b_count;
	double margin;               /* 0: each metric has its own */
	const char *name_a, *name_b; /* names of the sides in messages; NULL: "A", "B" */
	double launch_spread;        /* between launches; 0: the spread of the metric's kind */
	bool all_metrics;            /* compare all metrics, not only headlines */
	/* launches i of A and B ran one after the other (compare_taken_in_turns()) */
	bool turns;
	struct store *history; /* source of the variation between sessions; NULL: assumed by kind */
};

/* Returns STATUS_OK, or the error of reading the history; `out` is then released. */
enum status compare_results(const struct comparison_input *input, struct comparison *out,
			    struct error *err);
void compare_json_comparison_release(struct comparison *comparison);

/*
 * True if two results of the same machine with the same number of launches overlap in time: `run
 * --against` made them.
 */
bool compare_taken_in_turns(const struct result *a, const struct result *b);

/*
 * For --fail-on regression: 5 a wrong result or an uncorrected memory error on the new side, 1 a
 * certain regression or an Xid error, 4 when a regression cannot be ruled out, a case is missing or
 * nothing can be compared, else 0. Grouped figures are
 * left out.
 */
int compare_whole_gate(const struct comparison *comparison);
/*
 * Exit code for --fail-on certain: as compare_whole_gate(), except that inconclusive and possible
 * rows give 0. 4 if something was not compared.
 */
int compare_whole_gate_certain(const struct comparison *comparison);
/* True if the two sides have no metric in common. */
bool compare_whole_is_empty(const struct comparison *comparison);

/* Compares the environments: model, driver, facts, settings, clocks (compare_environment.c). */
void compare_environments(const struct comparison_input *input, struct comparison *out);

char *comparison_to_json(const struct comparison *comparison); /* the caller frees the string */

#endif
