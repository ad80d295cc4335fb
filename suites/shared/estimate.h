/*
 * Estimates the speed of a device from its description, for the plan's times and thus for the time
 * after which a case counts as hung. Never used for published values.
 */
#ifndef GPUPROOF_SUITES_SHARED_ESTIMATE_H
#define GPUPROOF_SUITES_SHARED_ESTIMATE_H

#include "device/backend.h"
#include "device/device_info.h"

/*
 * FLOP/s that large GEMMs reach: half of the peak of the multiprocessors of that compute capability
 * at their maximum clock; for the host 20 (FP64) or 40 GFLOP/s per core. Source: arithmetic
 * instructions in the CUDA C++ Programming Guide, and the data sheets for tensor cores (dense, FP32
 * accumulation).
 */
double shared_estimate_flops(const struct device_info *info, enum precision precision);

/* B/s of device memory: half of the peak of its bus; if unknown 5 GB/s per core, or 100 GB/s. */
double shared_estimate_memory_rate(const struct device_info *info);

/* B/s that a busy core copies and touches. */
#define PACE_HOST_COPY 4e9

#endif
