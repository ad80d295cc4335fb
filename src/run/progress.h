/*
 * Progress of a run on stderr: on a terminal one line, redrawn; else a plain line per finished
 * case, and one for each reason why cases were skipped; nothing but problems when quiet.
 */
#ifndef GPUPROOF_RUN_PROGRESS_H
#define GPUPROOF_RUN_PROGRESS_H

#include <stdbool.h>

#include "base/text.h"
#include "plan/plan.h"
#include "result/result.h"

/* Cases that were skipped for one reason. */
struct progress_skipped {
	char *reason, *id; /* of any device; of the first */
	size_t count;      /* not told yet */
	bool told;         /* a line has the reason: later ones are counted at the end */
};

struct progress {
	bool quiet, terminal;
	size_t number, total;  /* cases settled, cases of the plan */
	double estimate_begun; /* what estimate_left was at first */
	double estimate_left;  /* seconds, by the plan */
	double estimate_settled,
		/* of the cases settled in this process: how good the plan's guess is */
		seconds_settled;
	const struct plan_case *current;
	double current_began;
	double median, half_width; /* of the current series; NaN: not yet */
	char part[32];             /* phase of the current case: "set-up"; "": unknown */
	size_t samples;            /* of the current series */
	double shown_left;         /* seconds, damped: what people are told; NaN: not yet */
	double shown_at;
	double next_draw;
	bool drawn;                     /* there is a line to clear */
	int drawn_width, drawn_columns; /* of that line, and of the terminal then */
	double line_at;                 /* when a line was last printed that stays */
	struct progress_skipped *skipped;
	size_t skipped_count, skipped_capacity;
};

/* done[i]: case i has a result. */
void progress_begin(struct progress *progress, const struct plan *plan, const bool *done,
		    bool quiet);
void progress_started(struct progress *progress, const struct plan_case *c);
void progress_sampled(struct progress *progress, size_t samples, double median, double half_width);
/*
 * Draws anew, in a window that may have another size by now. `part`: the phase of the case in
 * flight; may be written meanwhile.
 */
void progress_tick(struct progress *progress, const char *part);
void progress_settled(struct progress *progress, const struct plan_case *c,
		      const struct case_result *result);
/* A line that stays, also when quiet. */
void progress_note(struct progress *progress, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Clears the line, reports skipped cases, and frees what it holds. */
void progress_end(struct progress *progress);

/*
 * Seconds left, for people: follows the estimate within PROGRESS_DAMPING seconds, so that one slow
 * case does not make it jump; between two calls it counts down. `now`: host clock.
 */
#define PROGRESS_DAMPING 10.0
double progress_left(struct progress *progress, double now);
/*
 * "[12/57] transfer/...: samples, 12 s; about 3 min left" when PROGRESS_SILENCE seconds have passed
 * without a line; else nothing.
 */
#define PROGRESS_SILENCE 60.0
void progress_pulse(struct progress *progress, double now, struct text *out);
/*
 * Adds what takes the drawn line off a terminal that has `columns` now: in a narrower window it has
 * become several lines.
 */
void progress_clear(const struct progress *progress, int columns, struct text *out);

/* The terminal's line, at most `columns` wide. */
void progress_line(const struct progress *progress, double now, int columns, struct text *out);
/* "[12/57] OK transfer/...: 55.41 GB/s ±0.3 %"; "..., noisy" where a series of it is. */
void progress_plain(const struct progress *progress, const struct case_result *result,
		    struct text *out);
/*
 * "[12/57] SKIPPED 10 cases, the first ID: needs 2 devices" for each reason that no line has yet;
 * `all`: also how many were skipped later for reasons that one has.
 */
void progress_skips(struct progress *progress, bool all, struct text *out);

#endif
