#include "measure/telemetry/condition.h"

#include "base/clock.h"

/* Reading links takes at most 1/LINK_SHARE of a worker's time. */
#define LINK_SHARE 20

static void telemetry_condition_read_or_unknown(struct device *device, struct telemetry *out)
{
	struct error ignored = ERROR_NONE;

	if (!device || backend_telemetry(device, out, &ignored) != STATUS_OK)
		telemetry_unknown(out);
}

void condition_before(struct device *device, struct case_result *result)
{
	telemetry_condition_read_or_unknown(device, &result->before);
}

/* -1 if one of the two is unknown, or the counter was reset in between. */
static int64_t telemetry_condition_counter_difference(int64_t before, int64_t after)
{
	return before >= 0 && after >= before ? after - before : -1;
}

static void condition_read_links(struct device *device, struct link_watch *watch,
				 struct link_poll *poll, struct case_result *result)
{
	struct error ignored = ERROR_NONE;
	double start = clock_seconds(), end;
	int64_t errors;

	if (start < poll->next || backend_link_errors(device, &errors, &ignored) != STATUS_OK)
		return;
	end = clock_seconds();
	poll->next = end + LINK_SHARE * (end - start);
	result->after.nvlink_errors = errors;
	if (watch->read)
		result->during.nvlink_errors =
			telemetry_condition_counter_difference(watch->errors, errors);
	*watch = (struct link_watch){ true, errors };
}

void condition_after(struct device *device, struct link_watch *watch, struct link_poll *poll,
		     struct case_result *result)
{
	const struct telemetry *a = &result->before, *b = &result->after;
	struct telemetry_during *during = &result->during;

	telemetry_condition_read_or_unknown(device, &result->after);
	during->ecc_corrected =
		telemetry_condition_counter_difference(a->ecc_corrected, b->ecc_corrected);
	during->ecc_uncorrected =
		telemetry_condition_counter_difference(a->ecc_uncorrected, b->ecc_uncorrected);
	during->pcie_replays =
		telemetry_condition_counter_difference(a->pcie_replays, b->pcie_replays);
	if (device)
		condition_read_links(device, watch, poll, result);
}
