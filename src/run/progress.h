/*
 * Progress of a run on stderr. On a terminal: one line, redrawn. Otherwise: a line per finished
 * case, and one per reason for skipped cases. Quiet: only problems.
 */
#ifndef GPUPROOF_RUN_PROGRESS_H
#define GPUPROOF_RUN_PROGRESS_H

#include <stdbool.h>

#include "base/text.h"
#include "plan/plan.h"
#include "result/result.h"

/* Cases skipped for the same reason. */
struct progress_skipped {
	char *reason, *id; /* reason, for any device; id of the first case */
	size_t count;      /* not yet reported */
	bool told;         /* the reason was printed: later cases are counted at the end */
};

struct progress {
	bool quiet, terminal;
	size_t number, total;  /* settled cases, all cases of the plan */
	double estimate_begun; /* initial value of estimate_left */
	double estimate_left;  /* seconds, by the plan */
	double estimate_settled,
		/* of cases settled in this process: shows the accuracy of the estimates */
		seconds_settled;
	const struct plan_case *current;
	double current_began;
	double median, half_width; /* of the current series; NaN: not yet known */
	char part[32];             /* phase of the current case: "set-up"; "": unknown */
	size_t samples;            /* of the current series */
	double shown_left;         /* displayed remaining seconds, smoothed; NaN: not yet known */
	double shown_at;
	double next_draw;
	bool drawn;                     /* a line on the terminal must be cleared */
	int drawn_width, drawn_columns; /* width of that line, and of the terminal at that time */
	double line_at;                 /* time of the last permanent line */
	struct progress_skipped *skipped;
	size_t skipped_count, skipped_capacity;
};

/* done[i]: case i needs no more work. */
void progress_begin(struct progress *progress, const struct plan *plan, const bool *done,
		    bool quiet);
void progress_started(struct progress *progress, const struct plan_case *c);
void progress_sampled(struct progress *progress, size_t samples, double median, double half_width);
/*
 * Redraws the line for the current window size. `part`: phase of the case in flight; another
 * process may write it meanwhile.
 */
void progress_tick(struct progress *progress, const char *part);
void progress_settled(struct progress *progress, const struct plan_case *c,
		      const struct case_result *result);
/* Prints a permanent line, even when quiet. */
void progress_note(struct progress *progress, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Clears the line, reports skipped cases, and releases memory. */
void progress_end(struct progress *progress);

/*
 * Remaining seconds for display: follows the estimate with a time constant of PROGRESS_DAMPING
 * seconds, so that one slow case does not make it jump; counts down between calls. `now`: host
 * clock.
 */
#define PROGRESS_DAMPING 10.0
double progress_left(struct progress *progress, double now);
/*
 * Adds "[12/57] transfer/...: samples, 12 s; about 3 min left" if no line was printed for
 * PROGRESS_SILENCE seconds; else nothing.
 */
#define PROGRESS_SILENCE 60.0
void progress_pulse(struct progress *progress, double now, struct text *out);
/*
 * Adds the control sequence that clears the drawn line on a terminal with `columns`; in a narrower
 * window the line occupies several rows.
 */
void progress_clear(const struct progress *progress, int columns, struct text *out);

/* Formats the terminal's line, at most `columns` wide. */
void progress_line(const struct progress *progress, double now, int columns, struct text *out);
/* Formats "[12/57] OK transfer/...: 55.41 GB/s ±0.3 %"; adds ", noisy" if one of its series is. */
void progress_plain(const struct progress *progress, const struct case_result *result,
		    struct text *out);
/*
 * Adds "[12/57] SKIPPED 10 cases, the first ID: needs 2 devices" for each reason not yet printed.
 * `all`: also the number of later cases with a printed reason.
 */
void progress_skips(struct progress *progress, bool all, struct text *out);

#endif
