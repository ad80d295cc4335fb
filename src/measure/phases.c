#include "measure/phases.h"

#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "measure/activity.h"
#include "measure/processes/world.h"
#include "result/result.h"

/* Names beyond the available room count for the last phase. */
static size_t phase_index(struct phases *phases, const char *name)
{
	for (size_t i = 0; i < phases->count; i++)
		if (strcmp(phases->parts[i].name, name) == 0)
			return i;
	if (phases->count == PHASES_MOST)
		return PHASES_MOST - 1;
	phases->parts[phases->count].name = name;
	return phases->count++;
}

void phases_begin(struct phases *phases, const char *name)
{
	double now = clock_seconds();

	*phases = (struct phases){ .began = now, .since = now };
	phases->current = phase_index(phases, name);
}

const char *phases_enter(struct phases *phases, const char *name)
{
	double now = clock_seconds();
	const char *ended;

	if (!phases)
		return name;
	ended = phases->parts[phases->current].name;
	phases->parts[phases->current].seconds += now - phases->since;
	phases->since = now;
	phases->current = phase_index(phases, name);
	activity_enter(phases->activity, name);
	return ended;
}

enum status phases_next(struct phases *phases, struct world *world, const char *name,
			struct error *err)
{
	if (!phases)
		return STATUS_OK;
	phases_enter(phases, name);
	phases->named = true;
	if (world_max(world, phases->stop && *phases->stop) > 0)
		return error_set(err, STATUS_INTERRUPTED, "interrupted before %s", name);
	return STATUS_OK;
}

void phases_record(struct phases *phases, struct case_result *result)
{
	if (!phases->named)
		return;
	phases_enter(phases, phases->parts[phases->current].name);
	result->phases = xcalloc(phases->count, sizeof(*result->phases));
	for (size_t i = 0; i < phases->count; i++)
		result->phases[result->phase_count++] =
			(struct case_phase){ xstrdup(phases->parts[i].name),
					     phases->parts[i].seconds };
}
