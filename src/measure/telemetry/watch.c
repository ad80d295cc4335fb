#include "measure/telemetry/watch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "measure/processes/world.h"
#include "measure/telemetry/poller.h"

enum quantity {
	SM_CLOCK,
	MEMORY_CLOCK,
	POWER,
	TEMPERATURE,
	THROTTLED,
	/* quantities above this line have min, mean and max; those below it only the last value */
	READINGS,
	THROTTLE_REASONS = READINGS,
	ECC_CORRECTED,
	ECC_UNCORRECTED,
	XID_ERRORS,
	XID,
	PCIE_GENERATION,
	PCIE_WIDTH,
	PCIE_REPLAYS,
	NVLINK_ERRORS,
	QUANTITIES
};

static const struct {
	const char *name, *unit;
} names[QUANTITIES] = {
	[SM_CLOCK] = { "sm_clock_hz", "Hz" },
	[MEMORY_CLOCK] = { "memory_clock_hz", "Hz" },
	[POWER] = { "power_watts", "W" },
	[TEMPERATURE] = { "temperature_celsius", "°C" },
	[THROTTLED] = { "throttled", "1" },
	[THROTTLE_REASONS] = { "throttle_reasons", "1" },
	[ECC_CORRECTED] = { "ecc_corrected", "1" },
	[ECC_UNCORRECTED] = { "ecc_uncorrected", "1" },
	[XID_ERRORS] = { "xid_errors", "1" },
	[XID] = { "xid", "1" },
	[PCIE_GENERATION] = { "pcie_generation", "1" },
	[PCIE_WIDTH] = { "pcie_width", "1" },
	[PCIE_REPLAYS] = { "pcie_replays", "1" },
	[NVLINK_ERRORS] = { "nvlink_errors", "1" },
};

struct interval {
	double min[READINGS], sum[READINGS], max[READINGS];
	size_t n[READINGS];
	double last[QUANTITIES]; /* of quantities from READINGS on; NaN: unknown */
};

struct watch_recorder {
	struct device *device;
	double interval_seconds, began;
	/* NULL: no readings; its lock guards all members below */
	struct telemetry_poller *poller;
	size_t readings;
	struct interval *intervals;
	size_t count, capacity;
};

/* The interval that contains `seconds`; creates it and those before it. */
static struct interval *telemetry_watch_interval_at(struct watch_recorder *r, double seconds)
{
	size_t index = seconds > 0 ? (size_t)(seconds / r->interval_seconds) : 0;

	while (r->count <= index) {
		ARRAY_GROW(r->intervals, r->count, r->capacity);
		memset(&r->intervals[r->count], 0, sizeof(*r->intervals));
		for (size_t q = 0; q < QUANTITIES; q++)
			r->intervals[r->count].last[q] = (double)NAN;
		r->count++;
	}
	return &r->intervals[index];
}

static void telemetry_watch_add_reading(struct interval *i, enum quantity q, double value)
{
	if (isnan(value))
		return;
	i->min[q] = i->n[q] == 0 || value < i->min[q] ? value : i->min[q];
	i->max[q] = i->n[q] == 0 || value > i->max[q] ? value : i->max[q];
	i->sum[q] += value;
	i->n[q]++;
}

static void telemetry_watch_set_last(struct interval *i, enum quantity q, int64_t value)
{
	if (value >= 0)
		i->last[q] = (double)value;
}

static void telemetry_watch_add_readings(void *context, const struct telemetry *t)
{
	struct watch_recorder *r = context;
	struct interval *i = telemetry_watch_interval_at(r, clock_seconds() - r->began);
	int64_t before = isnan(i->last[THROTTLE_REASONS]) ? 0 : (int64_t)i->last[THROTTLE_REASONS];

	r->readings++;
	telemetry_watch_add_reading(i, SM_CLOCK, t->sm_clock_hz);
	telemetry_watch_add_reading(i, MEMORY_CLOCK, t->memory_clock_hz);
	telemetry_watch_add_reading(i, POWER, t->power_watts);
	telemetry_watch_add_reading(i, TEMPERATURE, t->temperature_celsius);
	if (t->throttle_reasons < 0)
		return;
	telemetry_watch_add_reading(i, THROTTLED, (t->throttle_reasons & THROTTLE_SLOWS) != 0);
	telemetry_watch_set_last(i, THROTTLE_REASONS, before | t->throttle_reasons);
}

void telemetry_watch_hand_over(struct watch_recorder *r, const struct telemetry *now)
{
	struct interval *i;

	if (!r)
		return;
	telemetry_poller_lock(r->poller);
	i = telemetry_watch_interval_at(r, clock_seconds() - r->began);
	telemetry_watch_set_last(i, ECC_CORRECTED, now->ecc_corrected);
	telemetry_watch_set_last(i, ECC_UNCORRECTED, now->ecc_uncorrected);
	telemetry_watch_set_last(i, XID_ERRORS, now->xid_errors);
	if (now->xid > 0)
		telemetry_watch_set_last(i, XID, now->xid);
	telemetry_watch_set_last(i, PCIE_GENERATION, now->pcie_generation);
	telemetry_watch_set_last(i, PCIE_WIDTH, now->pcie_width);
	telemetry_watch_set_last(i, PCIE_REPLAYS, now->pcie_replays);
	telemetry_watch_set_last(i, NVLINK_ERRORS, now->nvlink_errors);
	telemetry_poller_unlock(r->poller);
}

struct watch_recorder *telemetry_watch_begin(struct device *device, double reading_seconds,
					     double interval_seconds)
{
	struct watch_recorder *r = xcalloc(1, sizeof(*r));
	const struct telemetry_poller_options options = {
		.interval_seconds = reading_seconds,
		.add = telemetry_watch_add_readings,
		.context = r,
	};

	r->device = device;
	r->interval_seconds = interval_seconds;
	r->began = clock_seconds();
	r->poller = telemetry_poller_open(device, &options);
	telemetry_poller_switch(r->poller, true);
	return r;
}

/* An array with one value per interval, part 0 to 2 of a quantity; none if all are unknown. */
static void telemetry_watch_add_values(const struct watch_recorder *r, enum quantity q, size_t part,
				       double **out, size_t *out_count)
{
	double *values = xcalloc(r->count + 1, sizeof(*values));
	bool known = false;

	for (size_t i = 0; i < r->count; i++) {
		const struct interval *v = &r->intervals[i];

		values[i] = (double)NAN;
		if (q >= READINGS && part == 2)
			values[i] = v->last[q];
		else if (q < READINGS && v->n[q] > 0)
			values[i] = part == 0   ? v->min[q]
				    : part == 1 ? v->sum[q] / (double)v->n[q]
						: v->max[q];
		known = known || !isnan(values[i]);
	}
	if (known) {
		*out = values;
		*out_count = r->count;
	} else {
		free(values);
	}
}

static void telemetry_watch_fill_quantities(const struct watch_recorder *r, struct watch *out)
{
	for (size_t q = 0; q < QUANTITIES; q++) {
		struct time_quantity t = { 0 };

		telemetry_watch_add_values(r, q, 1, &t.mean, &t.mean_count);
		if (q != THROTTLED) { /* a flag: only its mean is meaningful */
			telemetry_watch_add_values(r, q, 0, &t.lowest, &t.lowest_count);
			telemetry_watch_add_values(r, q, 2, &t.highest, &t.highest_count);
		}
		if (!t.lowest_count && !t.mean_count && !t.highest_count)
			continue;
		t.name = xstrdup(names[q].name);
		t.unit = xstrdup(names[q].unit);
		ARRAY_GROW(out->quantities, out->quantity_count, out->quantity_capacity);
		out->quantities[out->quantity_count++] = t;
	}
}

void telemetry_watch_release_other_than_power(struct watch *w)
{
	size_t kept = 0;

	for (size_t q = 0; q < w->quantity_count; q++) {
		if (strcmp(w->quantities[q].name, names[POWER].name) == 0 ||
		    strcmp(w->quantities[q].name, names[SM_CLOCK].name) == 0) {
			w->quantities[kept++] = w->quantities[q];
			continue;
		}
		time_quantity_release(&w->quantities[q]);
	}
	w->quantity_count = kept;
}

bool telemetry_watch_has_power(const struct watch *w)
{
	for (size_t q = 0; q < w->quantity_count; q++)
		if (strcmp(w->quantities[q].name, names[POWER].name) == 0)
			return true;
	return false;
}

void telemetry_watch_end(struct watch_recorder *r, struct watch *out)
{
	memset(out, 0, sizeof(*out));
	out->offset = out->interval = out->rate = out->verified_bytes = (double)NAN;
	if (!r)
		return;
	telemetry_poller_close(r->poller);
	out->device = xstrdup(r->device->info.id);
	out->uuid = xstrdup(r->device->info.uuid);
	out->interval = r->interval_seconds;
	out->readings = r->readings;
	telemetry_watch_fill_quantities(r, out);
	free(r->intervals);
	free(r);
}

void telemetry_watch_gather(struct world *world, struct watch *mine, struct case_result *result)
{
	struct error ignored = ERROR_NONE;
	size_t own_length;
	struct case_result carrier, received;
	char *own_text;

	/* Transfers the watch as JSON, which already has code to write and read it. */
	case_result_init(&carrier);
	carrier.watches = mine;
	carrier.watch_count = 1;
	own_text = case_result_to_json(&carrier);
	own_length = strlen(own_text);
	for (int rank = 0; rank < world->size; rank++) {
		size_t length = own_length;
		char *text;

		world_broadcast(world, rank, &length, sizeof(length));
		text = xcalloc(length + 1, 1);
		if (rank == world->rank)
			memcpy(text, own_text, length);
		world_broadcast(world, rank, text, length);
		if (world->rank == 0 &&
		    case_result_from_json(&received, text, length, &ignored) == STATUS_OK) {
			if (received.watch_count) {
				ARRAY_GROW(result->watches, result->watch_count,
					   result->watch_capacity);
				result->watches[result->watch_count++] = received.watches[0];
				memset(&received.watches[0], 0, sizeof(received.watches[0]));
			}
			case_result_release(&received);
		}
		free(text);
	}
	free(own_text);
	watch_release(mine);
}
