#include "result/causes/cause.h"

#include <string.h>

#include "result/verdict.h"

static const struct {
	const char *meaning, *action;
} causes[CAUSE_COUNT] = {
	{ "", "" },
#define CAUSE(symbol, name, meaning, action) { meaning, action },
#include "result/causes/causes.def"
#undef CAUSE
};

const char *const cause_words[CAUSE_COUNT + 1] = { "",
#define CAUSE(symbol, name, meaning, action) name,
#include "result/causes/causes.def"
#undef CAUSE
						   NULL };

const char *cause_name(enum cause cause)
{
	return cause_words[cause];
}

const char *cause_meaning(enum cause cause)
{
	return causes[cause].meaning;
}

const char *cause_action(enum cause cause)
{
	return causes[cause].action;
}

/* A check without a limit. */
static enum cause cause_of_finding(const struct verdict_check *c)
{
	bool of_case = *c->case_id != '\0';

	if (c->aspect == ASPECT_CORRECTNESS)
		return c->verdict == VERDICT_ERROR ? CAUSE_NOT_VERIFIED : CAUSE_GPU_WRONG_RESULT;
	if (c->aspect == ASPECT_CONDITION)
		return *c->devices && !verdict_device_id_is_cpu(c->devices) ? CAUSE_GPU_CONDITION
									    : CAUSE_NODE_SETTING;
	if (c->verdict == VERDICT_FAIL)
		return CAUSE_NOTHING_MEASURED;
	return of_case ? CAUSE_CASE_ERROR : *c->devices ? CAUSE_WORKER_LOST : CAUSE_RUN_INCOMPLETE;
}

static enum cause cause_of_violation(const struct verdict_check *c)
{
	static const enum cause of_aspect[ASPECT_COUNT] = {
		[ASPECT_NONE] = CAUSE_LIMIT_VIOLATED,
		[ASPECT_MEMORY] = CAUSE_GPU_SLOW_MEMORY,
		[ASPECT_GEMM] = CAUSE_GPU_SLOW_COMPUTE,
		[ASPECT_CORRECTNESS] = CAUSE_GPU_WRONG_RESULT,
		[ASPECT_CONDITION] = CAUSE_GPU_CONDITION,
	};

	if (c->wrong)
		return CAUSE_GPU_WRONG_RESULT;
	if (strcmp(c->metric, "node.devices") == 0)
		return CAUSE_GPU_MISSING;
	if (strncmp(c->metric, "node.pcie_", 10) == 0)
		return CAUSE_PCIE_DEGRADED;
	if (strcmp(c->metric, "node.nvlink_links") == 0)
		return CAUSE_NVLINK_DEGRADED;
	if (strcmp(c->metric, "node.nic_rate") == 0)
		return CAUSE_NODE_NETWORK;
	if (strcmp(c->metric, "node.lost") == 0)
		return CAUSE_RUN_INCOMPLETE;
	if (strncmp(c->metric, "node.", 5) == 0)
		return CAUSE_NODE_SETTING;
	if (verdict_device_id_is_cpu(c->devices) && *c->case_id && c->aspect != ASPECT_NONE)
		return CAUSE_HOST_SLOW;
	/* A limit as a whole: measured on too few devices. */
	if (!*c->case_id && c->comparison == NO_COMPARISON)
		return CAUSE_GPU_MISSING;
	return c->aspect != ASPECT_LINK ? of_aspect[c->aspect]
	       : c->link == LINK_PCIE   ? CAUSE_PCIE_DEGRADED
	       : c->link == LINK_NVLINK ? CAUSE_NVLINK_DEGRADED
					: CAUSE_LINK_DEGRADED;
}

enum cause cause_of_check(const struct verdict_check *c)
{
	if (c->verdict == VERDICT_PASS)
		return CAUSE_NONE;
	if (c->verdict == VERDICT_INCONCLUSIVE)
		return CAUSE_UNDECIDED;
	if (c->verdict == VERDICT_SKIP)
		return CAUSE_NOT_MEASURED;
	if (strcmp(c->limit, "run") == 0)
		return cause_of_finding(c);
	return c->verdict == VERDICT_ERROR ? CAUSE_NOT_JUDGED : cause_of_violation(c);
}

void verdicts_find_causes(struct verdicts *v)
{
	for (size_t i = 0; i < v->count; i++)
		if (v->checks[i].cause == CAUSE_NONE)
			v->checks[i].cause = cause_of_check(&v->checks[i]);
}
