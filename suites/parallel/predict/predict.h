/*
 * How long a step should take by what the run measured of products, memory and collectives alone:
 * every mode's schedule with those times put in. It knows nothing of the step that was timed.
 */
#ifndef GPUPROOF_SUITES_PARALLEL_PREDICT_PREDICT_H
#define GPUPROOF_SUITES_PARALLEL_PREDICT_PREDICT_H

#include "suites/models/mode.h"
#include "suites/parallel/predict/curves.h"

/*
 * Seconds of one step of a sample of `steps` that follow each other, which may begin before the one
 * before has ended; NaN where a curve is missing (curves->missing names it).
 */
double predict_step(const struct setup *setup, unsigned steps, struct curves *curves);

/*
 * The share of it caused by contention between GEMMs and collectives (predict_reductions.h), with
 * factors that no run measures.
 */
double predict_contention_share(const struct setup *setup, unsigned steps, struct curves *curves);

/*
 * The batch of one device below which data parallelism cannot hide its all-reduce, (n - 1) / n e F
 * / (2 beta), and the width below which a tensor parallel pair's all-reduce takes longer than its
 * products, (n - 1) e F / (2 beta). F, beta: the highest rates measured; e: bytes of an element.
 */
double predict_critical_batch(const struct setup *setup, struct curves *curves);
double predict_critical_width(const struct setup *setup, struct curves *curves);

#endif
