/* Charts of cases that divide a training step, in addition to the charts of their metrics. */
#ifndef GPUPROOF_SUITES_TRAINING_PAGES_STRATEGIES_H
#define GPUPROOF_SUITES_TRAINING_PAGES_STRATEGIES_H

#include "base/text.h"
#include "report/chart/chart.h"
#include "report/view/presented.h"
#include "report/view/view.h"

/* A measured strategy with the texts of its charts. */
struct strategy {
	const struct view *view;
	const struct case_result *c;
	size_t run;
	double seconds; /* seconds of a step */
	double memory;  /* bytes on the device that needs the most; NaN: unknown */
	double devices; /* their number; NaN: unknown */
	/* properties that must be equal for a comparison: run, layers, batch, precision ... */
	char *model;
	char *plain; /* the strategy itself: mode, devices, micro-batches ... */
	/* the same, with the section if only the section distinguishes it from another */
	char *name;
};

struct strategies {
	const struct view *view;
	size_t suite; /* index of the suite on the page */
	struct strategy *items;
	size_t count, capacity;
	bool several; /* an item is the median of several sets of devices */
};

/*
 * Cases of `suite` with a step time and a mode.
 */
void strategies_collect(struct strategies *strategies, const struct view *view, const char *suite);
/* True if no earlier item trains the same model. */
bool strategies_is_first(const struct strategies *strategies, size_t index);
void strategies_release(struct strategies *strategies);
/*
 * Appends the layers of a case from its section's settings: "8 layers of 8192"; nothing if the
 * settings lack them.
 */
void strategies_layers(const struct view *view, size_t run, const struct case_result *c,
		       struct text *out);
/* Parameters that describe the split of a step; all others describe the model. */
#define STRATEGY_PARAMETERS                                                                      \
	"mode", "devices", "microbatches", "bucket", "hybrid", "transport", "launch", "overlap", \
		"aliasing"

/*
 * Names are lists of words, "tensor, 8 devices": the length of the first word, and whether `words`
 * contains `word`.
 */
size_t strategies_word_length(const char *words);
bool strategies_has_word(const char *words, const char *word, size_t length);

/* The value of a metric of the strategy ("parallel.step_time"); NaN: it has none. */
double strategies_value(const struct strategy *strategy, const char *metric);
/* The width of the layers, or of a transformer's tokens; NULL: the case has none. */
const struct case_parameter *strategies_width(const struct case_result *c);
/* True if the batch is per device. */
bool strategies_scales_weakly(const struct case_result *c);
/*
 * True if `fast` is reliably faster: the intervals do not overlap, or, if one has no interval, the
 * samples do not.
 */
bool strategies_apart(const struct strategy *fast, const struct strategy *slow);
bool strategies_has_interval(const struct strategy *strategy);
/* "1.80×"; "3.99×, above 2×" if it exceeds the number of devices. */
struct formatted strategies_speedup_cell(const struct strategy *strategy);
/*
 * Appends ", 1.80× the speed of one device" and any doubt about it; appends nothing if it was not
 * measured.
 */
void strategies_speedup_words(const struct strategy *strategy, struct text *out);

/* Sets a chart's first members; `what` is its title. */
void strategies_chart(const struct strategies *strategies, struct chart *chart,
		      enum chart_kind kind, const struct tree *charts, char *title);

/* Appends "DDP is fastest in 2 of 2 models, 1.19× to 1.75× the speed of one device". */
void strategies_table_add_title(const struct strategies *strategies, struct text *out);
/*
 * For each model with several measured strategies: a sentence about the best ones, and a table of
 * all, the fastest first. With many models, only a table of their fastest strategies.
 */
void strategies_table_answer(const struct strategies *strategies, struct tree *answers,
			     struct tree *tables);
/* Cells of the table: computing, pipeline bubble, exposed communication; dashes: not measured. */
void strategies_columns_add_time_parts(const struct strategy *strategy, struct tree *cells);
#define TIME_PARTS 3
/*
 * Computation of the slowest device, idle time of the schedule, exposed communication: what remains
 * beyond the step time if messages took no time. False: not measured, as with one device.
 */
bool strategies_columns_time_parts(const struct strategy *strategy, double parts[TIME_PARTS]);
/* "bars" of its row: these parts, as wide as a bar for `longest` seconds allows; 0: none. */
void strategies_columns_add_bar(const struct strategy *strategy, double longest, struct tree *row);
/*
 * Model FLOP utilisation, relative to the data sheets of the devices: "62 %, HFU 70 %".
 */
struct formatted strategies_columns_utilisation(const struct strategy *strategy);
/* "494.5 TFLOP/s (TF32 rate with tensor cores, dense)" of each device; "": unknown. Owned. */
char *strategies_columns_peak_words(const struct strategies *strategies);
/* A table with the fastest strategy within each memory limit, for each model. */
void strategies_columns_under_limits(const struct strategies *strategies,
				     const struct memory_limit *limits, size_t count,
				     struct tree *tables);
/* Fastest split by batch and width, as a map and a sentence; nothing unless both vary. */
void strategies_map_crossover(const struct strategies *strategies, struct tree *charts,
			      struct tree *answers);
/* A timeline of the fastest recorded step of each model and mode. */
void strategies_timelines(const struct strategies *strategies, struct tree *charts);

#endif
