#ifndef GPUPROOF_JUDGE_IMPOSSIBLE_H
#define GPUPROOF_JUDGE_IMPOSSIBLE_H

#include "judge/judge.h"

/*
 * Why a figure of the case cannot be: "transfer.bandwidth = 555 GB/s is above what a NVIDIA H200
 * can do: pcie_bandwidth 63.02 GB/s". `device`: the case's first, NULL: unknown. NULL: no figure is
 * known to be impossible. Malloc'ed.
 */
char *impossible_figure(const struct device_info *device, const struct case_result *c);

/* An ERROR for each case with such a figure that no check of a limit has reported. */
void judge_impossible(const struct judge_input *input, struct verdicts *verdicts);

#endif
