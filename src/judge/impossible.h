#ifndef GPUPROOF_JUDGE_IMPOSSIBLE_H
#define GPUPROOF_JUDGE_IMPOSSIBLE_H

#include "judge/judge.h"

/*
 * Why a metric of the case is impossible: "transfer.bandwidth = 555 GB/s exceeds the maximum of a
 * NVIDIA H200: pcie_bandwidth 63.02 GB/s". `device`: first device of the case; NULL: unknown.
 * Returns NULL if no metric is known to be impossible; else the caller frees the string.
 */
char *impossible_figure(const struct device_info *device, const struct case_result *c);

/* Adds an ERROR for each case with an impossible metric that no check of a limit has reported. */
void judge_impossible(const struct judge_input *input, struct verdicts *verdicts);

#endif
