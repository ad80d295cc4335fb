/* The memory limits that a page answers for: `[report] memory_limits` and --memory-limits. */
#ifndef GPUPROOF_REPORT_VIEW_MEMORY_LIMIT_H
#define GPUPROOF_REPORT_VIEW_MEMORY_LIMIT_H

#include <stddef.h>

#include "base/error.h"

#define LIMITS_MOST 16

struct memory_limit {
	char name[128]; /* "GTX 1080 Ti, 11 GiB" */
	double bytes;   /* of one device */
};

/* "8GiB, gtx1080ti": sizes, and ids of `gpuproof list gpus`. *count 0 for "". */
enum status memory_limits_parse(const char *text, struct memory_limit limits[LIMITS_MOST],
				size_t *count, struct error *err);

#endif
