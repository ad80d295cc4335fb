#include <math.h>

#include "suites/shared/buffers.h"
#include "suites/training/trainmem/studies/studies.h"

#define DEVICES 2
/* Steps per device; the losses after them are compared. */
#define CHECKED_STEPS 4
/* Bytes of a request that shows that the other device can still allocate up to its limit. */
#define GRANTED_BYTES ((uint64_t)1 << 20)

struct logical {
	struct training devices[DEVICES];
};

static enum status logical_launch_alone(void *state, unsigned batch, struct error *err)
{
	struct logical *l = state;

	for (unsigned i = 0; i < batch; i++)
		if (training_step(&l->devices[0], err) != STATUS_OK)
			return err->status;
	return training_wait(&l->devices[0], err);
}

static enum status logical_launch_both(void *state, unsigned batch, struct error *err)
{
	struct logical *l = state;

	for (unsigned i = 0; i < batch; i++)
		for (int d = 0; d < DEVICES; d++)
			if (training_step(&l->devices[d], err) != STATUS_OK)
				return err->status;
	for (int d = 0; d < DEVICES; d++)
		if (training_wait(&l->devices[d], err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

/* Times steps of one alone and of both alternately. */
static enum status logical_time_both(struct run *run, struct logical *l, struct error *err)
{
	static const char *const names[] = { "trainmem.step_time", "trainmem.plain_time",
					     "trainmem.slowdown" };
	struct stream *streams[DEVICES];
	struct workload both = { .state = l,
				 .launch = logical_launch_both,
				 .clock = CLOCK_HOST,
				 .streams = streams,
				 .stream_count = DEVICES,
				 .no_gate = true };
	struct workload workloads[] = { both, both };
	const struct series *series[3];

	for (int d = 0; d < DEVICES; d++)
		streams[d] = l->devices[d].team.streams[STREAM_COMPUTE];
	workloads[1].launch = logical_launch_alone;
	workloads[1].stream_count = 1;
	if (run_sample_interleaved(run, workloads, names, series, err) != STATUS_OK)
		return err->status;
	for (int i = 0; i < 3; i++)
		run_scaled(run, names[i], 1, series[i]);
	return STATUS_OK;
}

/* Losses after some steps of the first alone or of both alternately. */
static enum status logical_losses(struct logical *l, int devices, double out[DEVICES],
				  struct error *err)
{
	for (int d = 0; d < devices; d++)
		if (training_reset(&l->devices[d], err) != STATUS_OK)
			return err->status;
	for (int i = 0; i < CHECKED_STEPS; i++)
		for (int d = 0; d < devices; d++)
			if (training_step(&l->devices[d], err) != STATUS_OK)
				return err->status;
	for (int d = 0; d < devices; d++)
		if (training_wait(&l->devices[d], err) != STATUS_OK ||
		    training_loss(&l->devices[d], &out[d], err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

static enum status logical_check_losses(struct logical *l, struct error *err)
{
	double alone[DEVICES], both[DEVICES];

	if (logical_losses(l, 1, alone, err) != STATUS_OK ||
	    logical_losses(l, DEVICES, both, err) != STATUS_OK)
		return err->status;
	for (int d = 0; d < DEVICES; d++)
		if (!isfinite(alone[0]) || fabs(both[d] - alone[0]) > 1e-6 * fabs(alone[0]))
			return error_set(err, STATUS_MISMATCH,
					 "logical device %d reaches a loss of %.9g with the "
					 "other one active, and %.9g alone",
					 d, both[d], alone[0]);
	return STATUS_OK;
}

/*
 * The first requests more than its limit; then the second must be able to allocate and use memory.
 */
static enum status logical_ask_beyond(struct logical *l, bool *refused, bool *granted,
				      struct error *err)
{
	struct heap *first = &l->devices[0].heap, *second = &l->devices[1].heap;
	struct error no = ERROR_NONE, yes = ERROR_NONE;
	struct buffer buffer = { .device = l->devices[1].team.device,
				 .allocator = ALLOCATOR_DEVICE,
				 .bytes = GRANTED_BYTES };
	struct stream *stream = l->devices[1].team.streams[STREAM_COMPUTE];
	void *memory;

	*refused =
		heap_take(first, MEMORY_TRANSIENT, first->limit, &memory, &no) == STATUS_NO_MEMORY;
	*granted = heap_take(second, MEMORY_TRANSIENT, GRANTED_BYTES, &buffer.memory, &yes) ==
		   STATUS_OK;
	if (*granted && buffer_fill(&buffer, stream, l->devices[1].setup.seed, err) == STATUS_OK)
		buffer_check(&buffer, stream, 0, GRANTED_BYTES, l->devices[1].setup.seed, err);
	if (*granted)
		heap_give(second, MEMORY_TRANSIENT, buffer.memory, GRANTED_BYTES);
	return err->status;
}

static enum status logical_measure(struct run *run, struct logical *l, struct error *err)
{
	bool refused, granted;

	if (logical_check_losses(l, err) != STATUS_OK ||
	    logical_ask_beyond(l, &refused, &granted, err) != STATUS_OK ||
	    logical_time_both(run, l, err) != STATUS_OK ||
	    logical_check_losses(l, err) != STATUS_OK)
		return err->status;
	run_value(run, "trainmem.isolated", refused && granted);
	run_value(run, "trainmem.reserved",
		  (double)(l->devices[0].heap.reserved_peak + l->devices[1].heap.reserved_peak));
	run_value(run, "trainmem.limit", (double)l->devices[0].heap.limit);
	return STATUS_OK;
}

enum status study_logical(struct run *run, const struct setup *setup,
			  const struct trainmem_options *options, struct error *err)
{
	struct training_options own = options->training;
	struct logical l = { 0 };
	struct heap need;
	int opened = 0;

	training_plan(setup, &own, &need);
	own.reserve = need.reserved_peak + LOGICAL_MARGIN;
	own.limit = own.reserve;
	while (opened < DEVICES &&
	       training_open(&l.devices[opened++], setup, &own, run->devices[0], err) == STATUS_OK)
		;
	if (err->status == STATUS_OK && logical_measure(run, &l, err) == STATUS_OK)
		run_verified(run,
			     "both logical devices reach the same loss as alone; memory that "
			     "one gets while the other fails keeps its data",
			     NAN, NAN);
	while (opened > 0)
		training_close(&l.devices[--opened]);
	return err->status;
}
