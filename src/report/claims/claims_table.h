/* The rows, one file for each guide. */
#ifndef GPUPROOF_REPORT_CLAIMS_CLAIMS_TABLE_H
#define GPUPROOF_REPORT_CLAIMS_CLAIMS_TABLE_H

#include <math.h>

#include "report/claims/claims.h"

#define CLAIMS_CARDS 15
#define CLAIMS_MACHINES 10
#define CLAIMS_GUIDE 27
#define CLAIMS_LIMITS 9
#define CLAIMS_PARALLEL 14

extern const struct claim claims_cards[CLAIMS_CARDS];
extern const struct claim claims_machines[CLAIMS_MACHINES];
extern const struct claim claims_guide[CLAIMS_GUIDE];
extern const struct claim claims_limits[CLAIMS_LIMITS];
extern const struct claim claims_parallel[CLAIMS_PARALLEL];

/* Names of the sections of configs/claims.ini. */
#define CLAIM_SMALL "label:small, precision:"
#define CLAIM_SMALL_64 CLAIM_SMALL "fp32, batch:64"
#define CLAIM_SMALL_1024 CLAIM_SMALL "fp32, batch:1024"
#define CLAIM_SMALL_16384 CLAIM_SMALL "fp32, batch:16384"
#define CLAIM_MIXED_1024 CLAIM_SMALL "fp16_mixed, batch:1024"
#define CLAIM_MIXED_16384 CLAIM_SMALL "fp16_mixed, batch:16384"
#define CLAIM_CARD(limit) "label:cards, precision:fp32, memory_limit:" limit
#define CLAIM_WIDE(precision, limit) "label:wide, precision:" precision ", memory_limit:" limit
#define CLAIM_LAYERS(segments) "label:deep, segments:" segments
#define CLAIM_LINK(direction) "label:links, direction:" direction
#define CLAIM_DEEP(mode) "label:deep, mode:" mode

/* Relative L2, FP32: roundings are a thousandth of it, a part that was left out or counted twice is far more. */
#define CLAIM_SAME_GRADIENTS 1e-4

/* No bound on this side. */
#define ANY HUGE_VAL
/* Shown with the other measurements of a claim, but does not decide it. */
#define INFORMATIONAL .low = -ANY, .high = ANY

#endif
