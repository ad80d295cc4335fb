/*
 * How fast a device probably is, judged by its description alone: for what the plan says about
 * time, and so for the moment at which a case counts as hung. Never for a figure that is published.
 */
#ifndef GPUPROOF_SUITES_SHARED_ESTIMATE_H
#define GPUPROOF_SUITES_SHARED_ESTIMATE_H

#include "device/backend.h"
#include "device/device_info.h"

/*
 * FLOP/s that large products reach: half of what the multiprocessors of that compute capability can
 * do at their highest clock; of the host 20 (FP64) or 40 GFLOP/s and core. Source: arithmetic
 * instructions in the CUDA C++ Programming Guide, and the data sheets for tensor cores (dense, FP32
 * accumulation).
 */
double estimate_flops(const struct device_info *info, enum precision precision);

/*
 * B/s of the device's memory: half of what its bus can do; where that is unknown 5 GB/s and core,
 * or 100 GB/s.
 */
double estimate_memory_rate(const struct device_info *info);

/* B/s that a busy core copies and touches. */
#define PACE_HOST_COPY 4e9

#endif
