/* The metrics of the suite, and their computation from the findings. */
#ifndef GPUPROOF_TRAINMEM_OUTCOME_H
#define GPUPROOF_TRAINMEM_OUTCOME_H

#include "measure/run.h"
#include "result/metric.h"
#include "result/presentation.h"
#include "suites/training/trainmem/memory_account.h"
#include "suites/training/trainmem/search.h"

extern const struct metric trainmem_metrics[];
extern const struct figure_row trainmem_figures[];
extern const struct table_row trainmem_tables[];
extern const struct word_row trainmem_words[];
extern const struct role_row trainmem_roles[];

/*
 * `plan`: prediction for the step; `plain`: prediction for the step that keeps everything, NULL:
 * this is that step.
 */
void trainmem_outcome_record_account(struct run *run, const struct setup *setup,
				     const struct memory_account *account, const struct heap *plan,
				     const struct heap *plain);
void trainmem_outcome_record_search(struct run *run, const struct search *search);
void trainmem_outcome_record_fragments(struct run *run, const struct fragments *fragments);

#endif
