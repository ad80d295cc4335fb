/*
 * Derives the reasons of a verdict: per device and aspect, the worst check as sentences with what
 * happened, where, how much against which limit, and what to do. A pure function of checks and
 * devices, so that a result without stored reasons gets the same ones.
 */
#ifndef GPUPROOF_RESULT_REASONS_REASONS_H
#define GPUPROOF_RESULT_REASONS_REASONS_H

#include "base/text.h"
#include "result/verdict.h"

/* Rebuilds `reasons` from checks and devices, whose causes are all set; worst first. */
void reasons_verdicts_explain(struct verdicts *verdicts);

/* Adds " Worst: GPU cuda:1 is ... Also: ...": what keeps the verdict from ACCEPTED, worst first. */
void reasons_add_worst(const struct verdicts *verdicts, struct text *out);

#endif
