/*
 * Compares two measurements of the same cases, each of one or several launches. A device is
 * compared with itself, found by UUID, else by its id.
 *
 * The ratio divides the two values, oriented so that above 1 is worse, with a 95 % interval of
 * launches and sessions (shift.h). With a margin d: REGRESSED when all of it is above 1 + d,
 * IMPROVED when all of it is below 1 - d, UNCHANGED when two tests of 5 % find it above 1 - d and
 * below 1 + d (Schuirmann 1987), else INCONCLUSIVE. What no launch changes (kind.h) is compared by
 * its worst launch, without an interval.
 *
 * The margin is found for each figure, unless it is given: a change counts from COMPARE_MARGIN on,
 * and UNCHANGED is said within what sessions of such figures differ by (shift_margin()), at least
 * COMPARE_MARGIN. Where sessions alone differ by more than that, a change counts beyond the same
 * margin. Figures with more than COMPARE_MARGIN_MOST are `grouped` unless they changed for certain:
 * sessions do not compare them. All figures of a GPU may differ together by up to SESSION_SHIFT
 * from session to session; a change counts beyond that common part.
 *
 * A comparison reads many intervals at once. A change is certain where it holds among all of them:
 * of all changes for the worse together, and of all for the better, at most one comparison in
 * twenty has one that is none (Holm 1979; host-bound figures, which visits differ too much in to be
 * decided, take a tenth of a share: HOST_WEIGHT). Others are "possible", as are those of fewer than
 * four launches a side, and those of figures that the host decides when the host itself was slower.
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
#define COMPARE_ERROR 0.05 /* of a comparison as a whole, on either side */

enum change {
	CHANGE_REGRESSED,
	CHANGE_INCONCLUSIVE,
	CHANGE_IMPROVED,
	CHANGE_UNCHANGED,
	CHANGE_NONE, /* there is nothing to compare: `reason` says why */
	CHANGE_COUNT
};
const char *change_name(enum change change); /* "REGRESSED", ..., "NOT COMPARED" */

/* `char *` are owned. Standard deviations are ratios, NaN: unknown. */
struct comparison_row {
	char *case_id, *metric, *unit;
	char *point, *devices; /* of the case: case_point(), "cuda:0,cuda:1" */
	char *devices_b;       /* the same cards in B, by UUID: "cuda:1,cuda:0" */
	enum figure_kind kind;
	enum change change;
	bool possible; /* a change, but not certain: `reason` says why */
	bool grouped;  /* sessions differ too much to compare it, and it changed by no more */
	/* UNCHANGED is said within it, a ratio less 1; NaN: exact, or there is no interval */
	double margin;
	double a, b; /* values of both sides */
	double ratio, low, high;
	double at_same_clock; /* the ratio, had both run at the same clock; NaN: clocks unknown */
	/*
	 * of figures that the host decides: over the yardstick's; NaN: no yardstick, another kind
	 */
	double at_same_host;
	size_t launches_a, launches_b;
	double launch_spread; /* between launches, both sides */
	double visit_spread;  /* between sessions */
	size_t visit_nights;  /* of the history it was learnt from; 0: assumed */
	/* that a comparison without any change shows one as clear as this; NaN: no change */
	double probability;
	/* for an answer, where there is none; 0: no number of them is enough, or unknown */
	size_t launches_needed;
	bool wrong;   /* a wrong result on the new side */
	char only_in; /* 'A', 'B': the other side does not have this case; 0: both have it */
	char *reason;
};

#define COMPARE_MISSING "-"
struct difference {
	char *name, *a, *b; /* "driver", "580.65", "580.95"; COMPARE_MISSING: that side has none */
};

/* One quantity of the host's yardstick (measure/yardstick.h) on both sides. */
struct yardstick_row {
	char *name, *unit;
	double a, b, ratio;
};

struct comparison {
	struct comparison_row *rows; /* the worst first */
	size_t count, capacity;
	struct difference *differences; /* between the environments */
	size_t difference_count, difference_capacity;
	/* wrong results, memory errors and Xid errors of the new side, in words */
	char **faults;
	size_t fault_count, fault_capacity;
	bool data_fault; /* one of them is a wrong result or an uncorrected memory error */
	struct yardstick_row *yardstick; /* none: a side has none */
	size_t yardstick_count;
	/* of all of them: geometric mean; above 1: B's host was slower; NaN: unknown */
	double host_ratio;
	char *host_finding; /* a shift common to the figures that the host decides; "" */
	bool turns;         /* launches were taken in turns: A B B A */
	/*
	 * Lag-1 correlation of launches in a row, of turns of their pairs' differences, over all
	 * rows; NaN: too few.
	 */
	double resemblance;
	size_t resemblance_series; /* that it is from */
	size_t counts[CHANGE_COUNT];
	size_t possible; /* rows that are REGRESSED or IMPROVED, but not certain */
	size_t grouped;  /* rows, all counted as INCONCLUSIVE */
	double margin;   /* from which on a change counts */
	bool automatic;  /* UNCHANGED within each row's own margin */
	bool same_run;   /* both sides are one run: nothing was compared */
	/* median of the figures that the GPU decides, as a ratio; NaN: too few, or turns */
	double session_shift;
	char *name_a, *name_b; /* of the sides, for people */
	char *sentence;
	/* how many launches of each would decide how many of what is open; "": there is no such */
	char *advice;
};

struct comparison_input {
	const struct result *a, *b; /* launches; a: before, b: after */
	size_t a_count, b_count;
	double margin;               /* 0: each figure's own */
	const char *name_a, *name_b; /* of the sides, for people; NULL: "A", "B" */
	double launch_spread;        /* typical between launches; 0: as for the figure's kind */
	bool all_metrics;            /* not only each suite's main figure */
	/* launch i of A and of B followed each other (compare_taken_in_turns()) */
	bool turns;
	struct store *history; /* for the spread between sessions; NULL: assumed by kind */
};

/* STATUS_OK, or what reading the history failed by; `out` is then released. */
enum status compare_results(const struct comparison_input *input, struct comparison *out,
			    struct error *err);
void comparison_release(struct comparison *comparison);

/*
 * True if two results of the same machine with as many launches each overlap in time: `run
 * --against` made them.
 */
bool compare_taken_in_turns(const struct result *a, const struct result *b);

/*
 * For --fail-on regression: 5 a wrong result or an uncorrected memory error on the new side, 1 a
 * certain regression or an Xid error, 4 when a regression cannot be ruled out, a case is missing or
 * nothing can be compared, else 0. Grouped figures are
 * left out.
 */
int comparison_gate(const struct comparison *comparison);
/*
 * For --fail-on certain: the same, but what is inconclusive or only possible is 0: 4 where
 * something was not compared.
 */
int comparison_gate_certain(const struct comparison *comparison);
/* True if not a single figure is on both sides. */
bool comparison_is_empty(const struct comparison *comparison);

/* Environments: model, driver, facts, settings, clocks (compare_environment.c). */
void compare_environments(const struct comparison_input *input, struct comparison *out);

char *comparison_to_json(const struct comparison *comparison); /* the caller frees it */

#endif
