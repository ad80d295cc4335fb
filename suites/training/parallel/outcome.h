/* Findings of one case, as metrics and notes. */
#ifndef GPUPROOF_PARALLEL_OUTCOME_H
#define GPUPROOF_PARALLEL_OUTCOME_H

#include "measure/run.h"
#include "result/metric.h"
#include "result/presentation.h"
#include "suites/training/parallel/memory_classes.h"
#include "suites/training/parallel/trainer/timeline.h"
#include "suites/training/parallel/verify/verify.h"

extern const struct metric parallel_metrics[];
/* Presentation on pages: presentation.c. */
extern const struct figure_row parallel_figures[];
extern const struct table_row parallel_tables[];
extern const struct word_row parallel_words[];
extern const struct role_row parallel_roles[];
extern const struct sheet_row parallel_sheet[];

struct outcome {
	const struct setup *setup;
	/* Shallow copies; the result owns their names. */
	struct series burst, step, communication, single;
	bool has_burst, has_single;
	/* One element per rank: */
	double *compute; /* seconds of its kernels alone */
	double *update;  /* of a pipeline: the optimizer's part of them */
	uint64_t (*memory)[MEMORY_CLASS_COUNT];
	struct block_memory *blocks; /* of a transformer */
	uint64_t *communicator_bytes;
	struct timeline_totals timeline; /* of one recorded step */
	bool has_timeline;
	struct verify_check reference, against_single;
	struct setup small; /* the smaller setup that the reference computed */
	bool reference_is_full, compared_with_single;
	double first_loss, last_loss;
	uint64_t updates;
	/* With a dynamic loss scale: applied and skipped optimizer steps, and the final scale. */
	uint64_t applied, skipped;
	double loss_scale;
};

/* Allocates the findings of each of the setup's ranks. */
struct outcome parallel_outcome_open(const struct setup *setup);
void parallel_outcome_close(struct outcome *outcome);

void parallel_outcome_verified(struct run *run, const struct outcome *outcome);
/* Records the metrics of the whole step. */
void parallel_outcome_record_step(struct run *run, const struct outcome *outcome);
/* Records the metrics of several ranks: speed-up, communication, idle time. */
void parallel_outcome_record_parts(struct run *run, const struct outcome *outcome);

#endif
