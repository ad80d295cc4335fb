/* The charts of cases that split a training step, beyond those of their metrics. */
#ifndef GPUPROOF_REPORT_STRATEGIES_SPLITS_H
#define GPUPROOF_REPORT_STRATEGIES_SPLITS_H

#include "base/text.h"
#include "report/chart/chart.h"
#include "report/view/view.h"

/* A case of a split that was measured, in the words of its charts. */
struct split {
	const struct case_result *c;
	size_t run;
	double seconds;    /* of a step */
	double memory;     /* bytes on the device that needs most; NaN: unknown */
	char *model;       /* what must be equal for a comparison: run, layers, batch, precision ... */
	char *plain;       /* the split itself: mode, devices, micro-batches ... */
	char *name;        /* the same, with the section where that alone tells it from another */
	char *brief;       /* for charts: without what all splits of its mode on the page have in common */
};

struct splits {
	const struct view *view;
	size_t suite; /* number of the suite on the page */
	struct split *items;
	size_t count, capacity;
};

/* Cases of `suite` with a step time and a mode; none in other suites. */
void splits_collect(struct splits *splits, const struct view *view, const char *suite);
/* Whether no earlier item is of the same model. */
bool splits_is_first(const struct splits *splits, size_t index);
void splits_release(struct splits *splits);
/* Appends the layers that a case trains, as its section's settings say: "8 layers of 8192"; nothing where they don't. */
void splits_layers(const struct result *r, const struct case_result *c, struct text *out);
/* What a case trains: "8 layers of 8192, TF32, batch 8192"; `split_names`: parameters that say how. The caller frees it. */
char *splits_model(const struct view *view, size_t run, const struct case_result *c,
		   const char *const *split_names);

/* Names are words, "tensor, 8 devices": the length of the first one, and whether `words` has `word`. */
size_t splits_word_length(const char *words);
bool splits_has_word(const char *words, const char *word, size_t length);

/* Whether it is known that `fast` is faster: their intervals, or where one has none their samples, do not overlap. */
bool splits_apart(const struct split *fast, const struct split *slow);
bool splits_has_interval(const struct split *split);
/* "1.80×"; "3.99×, above 2×" where it is more than that many devices can give. */
char *splits_speedup_cell(const struct split *split, char *out, size_t size);
/* Appends ", 1.80× the speed of one device" and what is doubtful in it; nothing where it was not measured. */
void splits_speedup_words(const struct split *split, struct text *out);

/* A chart's first members; `what` is its title. */
void splits_chart(const struct splits *splits, struct chart *chart, enum chart_kind kind,
		  const struct tree *charts, char *title);

/*
 * Of each model of which several splits were measured: a sentence about the best ones, and a table of all, the fastest first.
 * Of many models a table of their fastest splits alone.
 */
void splits_answer(const struct splits *splits, struct tree *answers, struct tree *tables);
/* Seconds of the step if no message took time: what the schedule leaves of exposed communication. NaN: not measured. */
double splits_scheduled(const struct split *split);
/* A bar for each split: its step time in parts. */
void splits_time(const struct splits *splits, struct tree *charts);
/* Of each model the splits that no other beats in both time and memory. */
void splits_by_memory(const struct splits *splits, struct tree *charts);
/* Model and hardware FLOP utilisation, by the devices' data sheets. */
void splits_utilisation(const struct splits *splits, struct tree *charts);
/* A table: for each model and limit the fastest split whose memory is within it. */
void splits_under_limits(const struct splits *splits, const struct memory_limit *limits, size_t count,
			 struct tree *tables);
/* Which split is fastest over batch and width, as a map and in words; nothing unless both vary. */
void splits_crossover(const struct splits *splits, struct tree *charts, struct tree *answers);
/* One timeline for each case that recorded a step. */
void splits_timelines(const struct splits *splits, struct tree *charts);

#endif
