/*
 * A rank that cannot enqueue its part of a step: the others, who have theirs in their queues and
 * would wait for it, let go of the connections, end with its reason, and carry out the next case.
 */
#include "base/clock.h"
#include "base/memory.h"
#include "parallel_setups.h"
#include "plan/suite.h"
#include "suites/training/parallel/measure.h"
#include "suites/training/parallel/ranks/connection_cache.h"

/* Host ranks wait a minute for each other before they give up by themselves. */
#define SOON_SECONDS 30

static const struct backend *sound;
static int calls, refused_call; /* of this rank; 0: none is refused */

static bool refuses(struct error *err)
{
	if (++calls != refused_call)
		return false;
	error_set(err, STATUS_UNSUPPORTED, "the driver refuses it");
	return true;
}

static enum status all_reduce(struct communicator *c, struct stream *stream, void *to,
			      const void *from, size_t count, enum precision precision,
			      enum reduction reduction, struct error *err)
{
	return refuses(err)
		       ? err->status
		       : sound->all_reduce(c, stream, to, from, count, precision, reduction, err);
}

static enum status all_gather(struct communicator *c, struct stream *stream, void *to,
			      const void *from, size_t count, enum precision precision,
			      struct error *err)
{
	return refuses(err) ? err->status
			    : sound->all_gather(c, stream, to, from, count, precision, err);
}

static enum status send(struct communicator *c, struct stream *stream, const void *from,
			size_t bytes, int peer, struct error *err)
{
	return refuses(err) ? err->status : sound->send(c, stream, from, bytes, peer, err);
}

static enum status receive(struct communicator *c, struct stream *stream, void *to, size_t bytes,
			   int peer, struct error *err)
{
	return refuses(err) ? err->status : sound->receive(c, stream, to, bytes, peer, err);
}

static enum status measure(void *state, struct device *device, struct world *world,
			   const struct setup *setup, struct error *err)
{
	struct measure_options options = { .verify_flops = 1e5, .iterations = 2 };
	struct sampling rules = { .min_samples = 2,
				  .max_samples = 2,
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
			   .suite_state = state };
	enum status status;

	case_result_init(&result);
	run.sampler = (struct sampler){ .rules = &rules, .device = device, .world = world };
	status = parallel_measure_setup(&run, setup, &options, err);
	case_result_release(&result);
	return status;
}

static enum status run_refused(struct device *device, struct world *world, void *context,
			       struct error *err)
{
	static struct backend refusing;
	void *state = suite_find("parallel")->open_state();
	double start = clock_seconds();
	enum status status;

	sound = device->backend;
	refusing = *sound;
	refusing.all_reduce = all_reduce;
	refusing.all_gather = all_gather;
	refusing.send = send;
	refusing.receive = receive;
	device->backend = &refusing;
	calls = 0;
	refused_call = world->rank == 1 ? 2 : 0;
	status = measure(state, device, world, context, err);
	if (status != STATUS_UNSUPPORTED || !strstr(err->message, "the driver refuses it"))
		return error_set(err, STATUS_INTERNAL, "it was not refused");
	error_clear(err);
	if (clock_seconds() - start > SOON_SECONDS)
		status = error_set(err, STATUS_TIMEOUT, "ended after %.0f s",
				   clock_seconds() - start);
	refused_call = 0;
	/* Here and not before, so that all ranks come to the next case. */
	if (world_agree(world, err->status, err) == STATUS_OK)
		status = measure(state, device, world, context, err);
	suite_find("parallel")->close_state(state);
	device->backend = sound;
	return status;
}

static void a_rank_that_cannot_take_part_is_not_waited_for(void **state)
{
	static const char *const names[] = { "ddp", "zero3", "tensor", "1f1b" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct setup setup = tiny(names[i], 2, PRECISION_FP32);

		setup.microbatches = setup.mode->microbatched ? 4 : 1;
		setup.bucket_bytes = 1;
		assert_ranks(run_ranks(2, run_refused, &setup), 2, STATUS_OK, names[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rank_that_cannot_take_part_is_not_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
