/* `run --dry-run`: the expanded plan. */
#include "cli/run/run_plan.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "cli/run/run_launches.h"
#include "plan/config.h"

static size_t widest_id(const struct plan *plan)
{
	size_t widest = 2;

	for (size_t i = 0; i < plan->case_count; i++)
		if (strlen(plan->cases[i].id) > widest)
			widest = strlen(plan->cases[i].id);
	return widest < 80 ? widest : 80;
}

static void print_case(const struct plan_case *c, int width)
{
	char device[32], host[32], time[32];

	if (c->skip_reason) {
		printf("%-*s  skipped: %s\n", width, c->id, c->skip_reason);
		return;
	}
	printf("%-*s  %10s  %10s  %9s\n", width, c->id,
	       units_format((double)c->device_bytes, "B", device, sizeof(device)),
	       units_format((double)c->host_bytes, "B", host, sizeof(host)),
	       units_format(c->estimate_seconds, "s", time, sizeof(time)));
}

void run_print_plan(const struct plan *plan)
{
	int width = (int)widest_id(plan);
	uint64_t device_bytes = 0, host_bytes = 0;
	double seconds = 0;
	size_t launches = launches_least(plan);
	size_t skipped = 0;
	char device[32], host[32], time[32];

	printf("%-*s  %10s  %10s  %9s\n", width, "case", "per device", "host", "time");
	for (size_t i = 0; i < plan->case_count; i++) {
		const struct plan_case *c = &plan->cases[i];

		print_case(c, width);
		if (c->skip_reason) {
			skipped++;
			continue;
		}
		device_bytes = c->device_bytes > device_bytes ? c->device_bytes : device_bytes;
		host_bytes = c->host_bytes > host_bytes ? c->host_bytes : host_bytes;
		seconds += c->estimate_seconds;
	}
	printf("\n%zu case%s (%zu skipped) on %zu device%s: at most %s per device and %s of host "
	       "memory, about %s",
	       plan->case_count, plan->case_count == 1 ? "" : "s", skipped, plan->device_count,
	       plan->device_count == 1 ? "" : "s",
	       units_format((double)device_bytes, "B", device, sizeof(device)),
	       units_format((double)host_bytes, "B", host, sizeof(host)),
	       units_about(seconds, time, sizeof(time)));
	if (launches > 1)
		printf(", and %s for %zu launches%s",
		       units_about(seconds * (double)launches, time, sizeof(time)), launches,
		       launches_auto(plan) ? ", the least" : "");
	printf("\n");
}
