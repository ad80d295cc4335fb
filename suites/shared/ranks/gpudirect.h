/* Cases with and without GPUDirect RDMA, for multi-node suites. */
#ifndef GPUPROOF_SUITES_SHARED_RANKS_GPUDIRECT_H
#define GPUPROOF_SUITES_SHARED_RANKS_GPUDIRECT_H

#include "plan/plan.h"

extern const char *const gpudirect_names[]; /* by enum gpudirect */

/* The axis is the suite's first, because each change of it needs new processes. */
#define GPUDIRECT_KEY                                                                              \
	{                                                                                          \
		.name = "gpudirect", .type = KEY_CHOICE, .list = true, .fallback = "default",      \
		.choices = gpudirect_names,                                                        \
		.help = "several nodes: GPUDirect RDMA. on: at any distance of GPU and adapter; "  \
			"off: never; default: NCCL decides. A case is skipped if NCCL's log does " \
			"not confirm the setting"                                                  \
	}

/* For suite->expand(), for a point with that axis: false if it is already planned. */
bool gpudirect_plan(const struct plan *plan, struct plan_case *point);

#endif
