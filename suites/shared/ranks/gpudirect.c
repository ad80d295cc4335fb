#include "suites/shared/ranks/gpudirect.h"

#include <stdio.h>

const char *const gpudirect_names[] = { "default", "on", "off", NULL };

bool gpudirect_plan(const struct plan *plan, struct plan_case *point, char *reason, size_t size)
{
	const struct device_info *info = &plan->devices[0];
	enum gpudirect wanted = (enum gpudirect)case_integer(point, "gpudirect");

	/* One node has no adapter between its devices. */
	if (!plan->group.nodes)
		return plan_drop_axis(point, "gpudirect");
	point->gpudirect = wanted;
	if (wanted == GPUDIRECT_DEFAULT)
		plan_drop_axis(point, "gpudirect");
	else if (device_is_host(info))
		snprintf(reason, size, "%s has no memory of its own for GPUDirect RDMA", info->id);
	return true;
}
