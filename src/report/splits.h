/* The charts of cases that split a training step, beyond those of their metrics. */
#ifndef GPUPROOF_REPORT_SPLITS_H
#define GPUPROOF_REPORT_SPLITS_H

#include "report/chart.h"
#include "report/view.h"

/* A case of a split that was measured, in the words of its charts. */
struct split {
	const struct case_result *c;
	size_t run;
	double seconds;    /* of a step */
	double memory;     /* bytes on the device that needs most; NaN: unknown */
	char *model;       /* what must be equal for a comparison: run, batch, width, precision ... */
	char *name;        /* the split itself: mode, devices, micro-batches ... */
};

struct splits {
	const struct view *view;
	size_t suite; /* number of the suite on the page */
	struct split *items;
	size_t count, capacity;
};

/* Cases of `suite` with a step time and a mode; none in other suites. */
void splits_collect(struct splits *splits, const struct view *view, const char *suite);
void splits_release(struct splits *splits);

/* A chart's first members; `what` is its title. */
void splits_chart(const struct splits *splits, struct chart *chart, enum chart_kind kind,
		  const struct tree *charts, char *title);

/* A bar for each split: its step time in parts. */
void splits_time(const struct splits *splits, struct tree *charts);
/* Of each model the splits that no other beats in both time and memory. */
void splits_by_memory(const struct splits *splits, struct tree *charts);
/* Model and hardware FLOP utilisation, by the devices' data sheets. */
void splits_utilisation(const struct splits *splits, struct tree *charts);
/* A table: for each model and limit the fastest split whose memory is within it. */
void splits_under_limits(const struct splits *splits, const struct memory_limit *limits, size_t count,
			 struct tree *tables);
/* Which split is fastest over batch and width; nothing unless both vary. */
void splits_crossover(const struct splits *splits, struct tree *charts);
/* One timeline for each case that recorded a step. */
void splits_timelines(const struct splits *splits, struct tree *charts);

#endif
