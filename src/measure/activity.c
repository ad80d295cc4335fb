#include "measure/activity.h"

#include <stdio.h>

void activity_begin(struct activity *activity, const char *part)
{
	if (!activity)
		return;
	atomic_store(&activity->samples, 0);
	activity_enter(activity, part);
}

void activity_enter(struct activity *activity, const char *part)
{
	if (!activity)
		return;
	snprintf(activity->part, sizeof(activity->part), "%s", part);
	atomic_fetch_add(&activity->steps, 1);
}

void activity_sampled(struct activity *activity, int counts)
{
	if (!activity)
		return;
	atomic_fetch_add(&activity->steps, 1);
	if (counts)
		atomic_fetch_add(&activity->samples, 1);
}
