#include "run/workers/describe.h"

#include <stdlib.h>

#include "base/memory.h"
#include "measure/run.h"
#include "plan/suite.h"

void describe_case(const struct plan *plan, const struct plan_case *c, struct case_result *result)
{
	case_result_init(result);
	result->suite = xstrdup(c->suite->name);
	result->label = xstrdup(c->section ? c->section->label : "");
	result->id = xstrdup(c->id);
	result->device = xstrdup(c->device_count ? plan->devices[c->devices[0]].id : "");
	result->devices = xcalloc(c->device_count, sizeof(*result->devices));
	result->device_count = c->device_count;
	for (size_t i = 0; i < c->device_count; i++)
		result->devices[i] = xstrdup(plan->devices[c->devices[i]].id);
	result->node = xstrdup("");
	result->reason = xstrdup("");
	result->notes = xstrdup("");
	case_parameters_fill(c, result);
}

void describe_outcome(struct case_result *result, enum case_status status, enum case_end end,
		      const char *reason)
{
	result->status = status;
	result->end = end;
	free(result->reason);
	result->reason = xstrdup(reason ? reason : "");
}
