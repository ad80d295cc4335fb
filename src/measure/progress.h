/*
 * What a person sees while a run goes on, on stderr: on a terminal one line, redrawn; else a plain line per finished
 * case; nothing but problems when quiet.
 */
#ifndef GPUPROOF_MEASURE_PROGRESS_H
#define GPUPROOF_MEASURE_PROGRESS_H

#include <stdbool.h>

#include "base/text.h"
#include "plan/plan.h"
#include "result/result.h"

struct progress {
	bool quiet, terminal;
	size_t number, total; /* cases settled, cases of the plan */
	double estimate_begun;  /* what estimate_left was at first */
	double estimate_left; /* seconds, by the plan */
	double estimate_settled,
		seconds_settled; /* of the cases settled in this process: how good the plan's guess is */
	const struct plan_case *current;
	double current_began;
	double median, half_width; /* of the current series; NaN: not yet */
	double next_draw;
	bool drawn; /* there is a line to clear */
};

/* done[i]: case i needs nothing any more. */
void progress_begin(struct progress *progress, const struct plan *plan, const bool *done,
		    bool quiet);
void progress_started(struct progress *progress, const struct plan_case *c);
void progress_sampled(struct progress *progress, double median, double half_width);
void progress_settled(struct progress *progress, const struct plan_case *c,
		      const struct case_result *result);
/* A line that stays, also when quiet. */
void progress_note(struct progress *progress, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Clears the line. */
void progress_end(struct progress *progress);

/* The terminal's line, at most `columns` wide. */
void progress_line(const struct progress *progress, double now, int columns, struct text *out);
/* "[12/57] OK transfer/...: 55.41 GB/s ±0.3 %" */
void progress_plain(const struct progress *progress, const struct case_result *result,
		    struct text *out);

#endif
