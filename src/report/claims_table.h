/* The rows, one file for each group of them. */
#ifndef GPUPROOF_REPORT_CLAIMS_TABLE_H
#define GPUPROOF_REPORT_CLAIMS_TABLE_H

#include "report/claims.h"

#define CLAIMS_CARDS 13
#define CLAIMS_MACHINES 9
#define CLAIMS_GUIDE 23
#define CLAIMS_LIMITS 8
#define CLAIMS_PARALLEL 11

extern const struct claim claims_cards[CLAIMS_CARDS];
extern const struct claim claims_machines[CLAIMS_MACHINES];
extern const struct claim claims_guide[CLAIMS_GUIDE];
extern const struct claim claims_limits[CLAIMS_LIMITS];
extern const struct claim claims_parallel[CLAIMS_PARALLEL];

/* What the sections of configs/claims.ini are called. */
#define CLAIM_SMALL "label:small, precision:"
#define CLAIM_SMALL_1024 CLAIM_SMALL "fp32, batch:1024"
#define CLAIM_DEEP(mode) "label:deep, mode:" mode

/* Relative L2, FP32: roundings are a thousandth of it, a part that was left out or counted twice is far more. */
#define CLAIM_SAME_GRADIENTS 1e-4

/* No bound on this side. */
#define ANY HUGE_VAL
/* Shown beside a claim's other measurements, without a say. */
#define NO_SAY .low = -ANY, .high = ANY

#endif
