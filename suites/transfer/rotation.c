/*
 * host_to_all and similar directions: time one device while all others are busy, round-robin over
 * the devices. The cases share their copies, which are opened, filled and verified once before the
 * first and after the last of them. Each case is responsible for the data of its own device.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "device/limits.h"
#include "suites/transfer/transfer.h"

/*
 * Maximum share of the host's free memory for all copies at full size; otherwise each case opens
 * its own.
 */
#define HOST_SHARE 4

static size_t lanes_each(const struct plan_case *c)
{
	return direction_goes_back((enum direction)case_integer(c, "directions")) ? 2 : 1;
}

static bool rotation_has_device(const struct plan_case *c, size_t device)
{
	for (size_t i = 0; i < c->device_count; i++)
		if (c->devices[i] == device)
			return true;
	return false;
}

bool rotation_groups_with(const struct plan_case *c, const struct plan_case *other)
{
	const struct direction_info *info =
		direction_info((enum direction)case_integer(c, "directions"));
	uint64_t bytes = (uint64_t)case_integer(c, "sizes") * c->device_count * lanes_each(c);

	if (info->timing != TIME_FIRST || c->device_count != other->device_count ||
	    bytes > limits_memory_available() / HOST_SHARE)
		return false;
	for (size_t i = 0; i < c->device_count; i++)
		if (!rotation_has_device(other, c->devices[i]))
			return false;
	return true;
}

/* First lane of the device that the case measures. */
static size_t lane_of(const struct transfer *t, const struct plan_case *first,
		      const struct plan_case *c)
{
	size_t i = 0;

	while (first->devices[i] != c->devices[0])
		i++;
	return i * (direction_goes_back(t->direction) ? 2 : 1);
}

static enum status rotation_sample_turn(struct transfer *t, size_t lane, struct error *err)
{
	enum status status = transfer_plan_contended_copy(t, lane, "transfer.time", err);
	const struct series *series;

	if (status == STATUS_OK)
		status = run_sample(t->run, &t->timings[0].workload, "transfer.time", &series, err);
	if (status == STATUS_OK)
		transfer_record(t);
	transfer_close_timings(t);
	return status;
}

static void rotation_run_cases(struct transfer *t, struct run *const *runs, size_t count,
			       struct error *errs)
{
	const struct plan_case *first = runs[0]->c;
	size_t each = lanes_each(first);

	for (size_t i = 0; i < count; i++)
		transfer_check_lanes(t, lane_of(t, first, runs[i]->c), each, true, &errs[i]);
	for (size_t i = 0; i < count; i++) {
		t->run = runs[i];
		transfer_note(t);
		if (errs[i].status == STATUS_OK)
			rotation_sample_turn(t, lane_of(t, first, runs[i]->c), &errs[i]);
	}
	for (size_t i = 0; i < count; i++) {
		t->run = runs[i];
		if (errs[i].status == STATUS_OK &&
		    transfer_check_lanes(t, lane_of(t, first, runs[i]->c), each, false, &errs[i]) ==
			    STATUS_OK)
			transfer_verified(t);
	}
}

void rotation_run(struct run *const *runs, size_t count, struct error *errs)
{
	struct transfer *t = xcalloc(1, sizeof(*t));

	transfer_init(t, runs[0]);
	t->rotates = true;
	if (transfer_open_lanes(t, &errs[0]) == STATUS_OK)
		rotation_run_cases(t, runs, count, errs);
	else
		for (size_t i = 1; i < count; i++)
			error_set(&errs[i], errs[0].status, "%s", errs[0].message);
	transfer_close(t);
	free(t);
}
