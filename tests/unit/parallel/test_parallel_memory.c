/*
 * Ranks of the suite `parallel` that run out of memory: whichever allocation of whichever rank
 * fails, every rank ends with that reason and none waits for ever; and a model that one device
 * cannot hold is measured all the same, without what needs that device.
 */
#include "parallel_setups.h"

#include <stdlib.h>

#include "base/memory.h"
#include "kernels/training/training.h"
#include "plan/suite.h"
#include "suites/training/parallel/measure.h"

static const struct backend *sound;

/* On one rank: the n-th allocation fails, or those that would exceed a limit. */
struct scarcity {
	struct setup setup;
	int rank;
	int failing;    /* 0: none */
	uint64_t limit; /* 0: none */
};
static const struct scarcity *scarcity;
static int allocations;
static uint64_t allocated;

static enum status scarce_alloc(struct device *device, enum allocator allocator, size_t bytes,
				struct stream *stream, void **out, struct error *err)
{
	if (++allocations == scarcity->failing ||
	    (scarcity->limit && allocated + bytes > scarcity->limit))
		return error_set(err, STATUS_NO_MEMORY, "scarce");
	allocated += bytes;
	return sound->memory_alloc(device, allocator, bytes, stream, out, err);
}

static enum status scarce_free(struct device *device, enum allocator allocator, void *memory,
			       size_t bytes, struct stream *stream, struct error *err)
{
	allocated -= bytes;
	return sound->memory_free(device, allocator, memory, bytes, stream, err);
}

static void make_scarce(struct device *device, struct world *world, const struct scarcity *wanted)
{
	static struct backend scarce;

	sound = device->backend;
	scarce = *sound;
	scarcity = wanted;
	scarce.memory_alloc = scarce_alloc;
	scarce.memory_free = scarce_free;
	if (world->rank == wanted->rank)
		device->backend = &scarce;
}

static enum status run_failing(struct device *device, struct world *world, void *context,
			       struct error *err)
{
	struct scarcity *wanted = context;
	enum status status;

	make_scarce(device, world, wanted);
	status = run_reference(device, world, &wanted->setup, err);
	/* The backend's own workspaces are not counted here: all that was allocated is back. */
	if (allocated != 0)
		return error_set(err, STATUS_INTERNAL, "%llu bytes were not freed",
				 (unsigned long long)allocated);
	return status;
}

static void fail_every_allocation(const char *mode, int rank)
{
	struct scarcity wanted = { tiny(mode, 2, PRECISION_FP16), rank, 1, 0 };
	const struct rank_outcome *outcomes;

	for (;; wanted.failing++) {
		outcomes = run_ranks(2, run_failing, &wanted);
		if (outcomes[0].err.status == STATUS_OK)
			break;
		assert_ranks(outcomes, 2, STATUS_NO_MEMORY, mode);
		assert_non_null(strstr(outcomes[0].err.message, "scarce"));
		assert_non_null(strstr(outcomes[1].err.message, "scarce"));
	}
	assert_ranks(outcomes, 2, STATUS_OK, mode);
	assert_true(wanted.failing > 10);
}

static void every_failed_allocation_ends_all_ranks(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(split_names); i++)
		for (int rank = 0; rank < 2; rank++)
			fail_every_allocation(split_names[i], rank);
}

static enum status run_limited(struct device *device, struct world *world, void *context,
			       struct error *err)
{
	struct scarcity *wanted = context;
	struct measure_options options = { .verify_flops = 1e5, .iterations = 6 };
	struct sampling rules = { .min_samples = 6,
				  .max_samples = 6,
				  .target = 0.01,
				  .max_seconds = 1,
				  .sample_seconds = 1e-5 };
	struct plan_case c = { .suite = suite_find("parallel") };
	struct case_result result;
	struct run run = { .c = &c,
			   .devices = &device,
			   .device_count = 1,
			   .world = world,
			   .result = &result,
			   .suite_state = c.suite->open_state() };
	enum status status;

	case_result_init(&result);
	run.sampler = (struct sampler){ .rules = &rules, .device = device, .world = world };
	make_scarce(device, world, wanted);
	status = parallel_measure_setup(&run, &wanted->setup, &options, err);
	if (status == STATUS_OK && world->rank == 0) {
		if (!case_metric(&result, "parallel.step_time") ||
		    !case_metric(&result, "parallel.idle"))
			status = error_set(err, STATUS_INTERNAL, "the split was not measured");
		if (case_metric(&result, "parallel.speedup"))
			status = error_set(err, STATUS_INTERNAL, "a speed-up over nothing");
		if (!result.notes ||
		    !strstr(result.notes, "There is no comparison with a single device"))
			status = error_set(err, STATUS_INTERNAL, "no note, but \"%s\"",
					   result.notes);
	}
	c.suite->close_state(run.suite_state);
	case_result_release(&result);
	return status;
}

static void a_model_that_one_device_cannot_hold_is_measured(void **state)
{
	struct scarcity wanted = { tiny("layer_split", 2, PRECISION_FP32), 0, 0, 0 };
	struct rank_partition partition;
	struct model model;

	(void)state;
	/* Rank 0 has room for a half more than its stage's state and activations. */
	model_init(&model, &wanted.setup);
	wanted.setup.mode->partition(&wanted.setup, 0, &partition);
	wanted.limit = model_elements(&model, partition.first, partition.last) * 16;
	for (size_t l = partition.first; l <= partition.last; l++)
		wanted.limit += wanted.setup.batch * wanted.setup.widths[l] * 4;
	wanted.limit += kernel_training_scratch_bytes(64) + wanted.limit / 2;
	assert_ranks(run_ranks(2, run_limited, &wanted), 2, STATUS_OK, "limited memory");
}

static enum status workspace_of(struct rank_team *team, enum precision precision, uint64_t *bytes,
				struct error *err)
{
	struct setup setup = tiny("single", 1, precision);
	struct trainer t = { 0 };
	enum status status = trainer_open(&t, &setup, team, err);

	if (status == STATUS_OK)
		status = trainer_step(&t, STEP_ALL, err);
	*bytes = t.arena.bytes[MEMORY_WORKSPACE];
	trainer_close(&t);
	return status;
}

static enum status run_one_after_the_other(struct device *device, struct world *world,
					   void *context, struct error *err)
{
	uint64_t before = 0, between = 0, after = 0;
	struct rank_team team;

	(void)context;
	if (rank_team_open(&team, device, world, err) == STATUS_OK &&
	    workspace_of(&team, PRECISION_FP32, &before, err) == STATUS_OK &&
	    workspace_of(&team, PRECISION_FP16, &between, err) == STATUS_OK)
		workspace_of(&team, PRECISION_FP32, &after, err);
	rank_team_close(&team);
	if (err->status == STATUS_OK && (after != before || between <= before))
		error_set(err, STATUS_INTERNAL, "workspaces of %llu, %llu and %llu bytes",
			  (unsigned long long)before, (unsigned long long)between,
			  (unsigned long long)after);
	return err->status;
}

/* Streams outlive a case, and keep what its products have needed. */
static void a_step_is_not_charged_for_the_case_before(void **state)
{
	(void)state;
	assert_ranks(run_ranks(1, run_one_after_the_other, NULL), 1, STATUS_OK, "workspace");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_failed_allocation_ends_all_ranks),
		cmocka_unit_test(a_step_is_not_charged_for_the_case_before),
		cmocka_unit_test(a_model_that_one_device_cannot_hold_is_measured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
