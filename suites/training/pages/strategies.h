/* The charts of cases that split a training step, beyond those of their metrics. */
#ifndef GPUPROOF_SUITES_TRAINING_PAGES_STRATEGIES_H
#define GPUPROOF_SUITES_TRAINING_PAGES_STRATEGIES_H

#include "base/text.h"
#include "report/chart/chart.h"
#include "report/view/presented.h"
#include "report/view/view.h"

/* A case of a strategy that was measured, in the words of its charts. */
struct strategy {
	const struct view *view;
	const struct case_result *c;
	size_t run;
	double seconds; /* of a step */
	double memory;  /* bytes on the device that needs most; NaN: unknown */
	char *model;    /* what must be equal for a comparison: run, layers, batch, precision ... */
	char *plain;    /* the strategy itself: mode, devices, micro-batches ... */
	char *name;     /* the same, with the section if only that distinguishes it from another */
	/* for charts: without what all strategies of its mode on the page have in common */
	char *brief;
};

struct strategies {
	const struct view *view;
	size_t suite; /* number of the suite on the page */
	struct strategy *items;
	size_t count, capacity;
	bool several; /* an item is the middle one of several sets of devices */
};

/*
 * Cases of `suite` with a step time and a mode.
 */
void strategies_collect(struct strategies *strategies, const struct view *view, const char *suite);
/* True if no earlier item is of the same model. */
bool strategies_is_first(const struct strategies *strategies, size_t index);
void strategies_release(struct strategies *strategies);
/*
 * Appends the layers that a case trains, as its section's settings say: "8 layers of 8192"; nothing
 * where they don't.
 */
void strategies_layers(const struct view *view, size_t run, const struct case_result *c,
		       struct text *out);
/*
 * The model that a case trains: "8 layers of 8192, TF32, batch 8192", without how it is split. The
 * caller frees it.
 */
char *strategies_model(const struct view *view, size_t run, const struct case_result *c);
/* The parameters that say how a step is split: all others say what is trained. */
#define STRATEGY_PARAMETERS                                                                      \
	"mode", "devices", "microbatches", "bucket", "hybrid", "transport", "launch", "overlap", \
		"aliasing"

/*
 * Names are words, "tensor, 8 devices": the length of the first one, and whether `words` has
 * `word`.
 */
size_t strategies_word_length(const char *words);
bool strategies_has_word(const char *words, const char *word, size_t length);

/* A metric of the strategy ("parallel.step_time"); NULL, NaN: it has none. */
const struct metric_value *strategies_metric(const struct strategy *strategy, const char *metric);
double strategies_value(const struct strategy *strategy, const char *metric);
/* The number of a parameter; NaN: the case has none. */
double strategies_number(const struct strategy *strategy, const char *parameter);
/* The width of the layers, or of a transformer's tokens; NULL: the case has none. */
const struct case_parameter *strategies_width(const struct case_result *c);
/* True if the batch is that of one device. */
bool strategies_scales_weakly(const struct case_result *c);
/*
 * True if it is known that `fast` is faster: their intervals, or where one has none their samples,
 * do not overlap.
 */
bool strategies_apart(const struct strategy *fast, const struct strategy *slow);
bool strategies_has_interval(const struct strategy *strategy);
/* "1.80×"; "3.99×, above 2×" where it is more than that many devices can give. */
char *strategies_speedup_cell(const struct strategy *strategy, char *out, size_t size);
/*
 * Appends ", 1.80× the speed of one device" and what is doubtful in it; nothing where it was not
 * measured.
 */
void strategies_speedup_words(const struct strategy *strategy, struct text *out);

/*
 * Appends which of a model's strategies takes the least energy, next to the fastest, items[0]; of
 * fewer than two with a measured energy nothing.
 */
void strategies_energy_words(const struct strategy *const *items, char *const *names, size_t count,
			     struct text *out);

/* The colour of its mode on the whole page; in a comparison that of its run. */
size_t strategies_style(const struct strategy *strategy);
/* A chart's first members; `what` is its title. */
void strategies_chart(const struct strategies *strategies, struct chart *chart,
		      enum chart_kind kind, const struct tree *charts, char *title);

/*
 * For each model with several measured strategies: a sentence about the best ones, and a table of
 * all, the fastest first. With many models only a table of their fastest strategies.
 */
void strategies_answer(const struct strategies *strategies, struct tree *answers,
		       struct tree *tables);
/*
 * Seconds of the step if no message took time: what the schedule leaves of exposed communication.
 * NaN: not measured.
 */
double strategies_scheduled(const struct strategy *strategy);
/* A bar for each strategy: its step time in parts. */
void strategies_time(const struct strategies *strategies, struct tree *charts);
/* Pareto front of each model: the strategies that no other beats in both time and memory. */
void strategies_by_memory(const struct strategies *strategies, struct tree *charts);
/* Model and hardware FLOP utilisation, by the devices' data sheets. */
void strategies_utilisation(const struct strategies *strategies, struct tree *charts);
/* A table: for each model and limit the fastest strategy whose memory is within it. */
void strategies_under_limits(const struct strategies *strategies, const struct memory_limit *limits,
			     size_t count, struct tree *tables);
/* Which split is fastest over batch and width, as a map and in words; nothing unless both vary. */
void strategies_crossover(const struct strategies *strategies, struct tree *charts,
			  struct tree *answers);
/* One timeline for each case that recorded a step. */
void strategies_timelines(const struct strategies *strategies, struct tree *charts);

#endif
