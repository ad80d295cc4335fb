/*
 * Derives the reasons of a verdict: per device and aspect, the worst check as sentences with what
 * happened, where, how much against which limit, and what to do. A pure function of checks and
 * devices, so that a result without stored reasons gets the same ones.
 */
#ifndef GPUPROOF_RESULT_REASONS_REASONS_H
#define GPUPROOF_RESULT_REASONS_REASONS_H

#include "result/verdict.h"

/* Rebuilds `reasons` from checks and devices, whose causes are all set; worst first. */
void verdicts_explain(struct verdicts *verdicts);

#endif
