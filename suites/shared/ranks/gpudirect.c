#include "suites/shared/ranks/gpudirect.h"

const char *const gpudirect_names[] = { "default", "on", "off", NULL };

bool gpudirect_plan(const struct plan *plan, struct plan_case *point)
{
	/* A single node has no adapter between its devices. */
	if (!plan->group.nodes)
		return plan_drop_axis(point, "gpudirect");
	point->gpudirect = (enum gpudirect)case_integer(point, "gpudirect");
	if (point->gpudirect == GPUDIRECT_DEFAULT)
		plan_drop_axis(point, "gpudirect");
	return true;
}
