/* With and without GPUDirect RDMA, for suites of several nodes. */
#ifndef GPUPROOF_SUITES_SHARED_RANKS_GPUDIRECT_H
#define GPUPROOF_SUITES_SHARED_RANKS_GPUDIRECT_H

#include "plan/plan.h"

extern const char *const gpudirect_names[]; /* by enum gpudirect */

/* The axis is the suite's first: each change of it takes other processes. */
#define GPUDIRECT_KEY                                                                              \
	{                                                                                          \
		.name = "gpudirect", .type = KEY_CHOICE, .list = true, .fallback = "default",      \
		.choices = gpudirect_names,                                                        \
		.help = "several nodes: GPUDirect RDMA. on: at any distance of GPU and adapter; "  \
			"off: never; default: NCCL decides. A case is skipped if NCCL's log does " \
			"not confirm the setting"                                                  \
	}

/* For suite->expand(), of a point with that axis: false if it is planned already. */
bool gpudirect_plan(const struct plan *plan, struct plan_case *point);

#endif
