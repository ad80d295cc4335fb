/* Promises of the suite `launch`, on the host backend: see suite_fixture.h. */
#include "suite_fixture.h"

#define QUICK                                                                           \
	"[defaults]\nmin_samples = 3\nmax_samples = 4\nmax_time = 20ms\nsample_time = " \
	"20us\nwarmup = 1\n"

/*
 * Every operation finishes verified, with times above nothing; those of single operations have
 * tails.
 */
static void test_every_case_runs(void **state)
{
	struct fixture *f = *state;

	plan_from(f, QUICK "[suite launch]\nnodes = 1, 40\n", f->infos, 1);
	assert_int_equal(f->plan.case_count, 11);
	for (size_t i = 0; i < f->plan.case_count; i++) {
		const struct plan_case *c = &f->plan.cases[i];
		struct case_result result;
		struct error err = ERROR_NONE;
		const struct metric_value *per_kernel;

		if (run_case(f, c, &result, &err) != STATUS_OK)
			fail_msg("%s: %s", c->id, err.message);
		assert_true(result.verification.done);
		assert_true(case_metric(&result, "launch.time")->value > 0);
		per_kernel = case_metric(&result, "launch.time_per_kernel");
		assert_int_equal(per_kernel != NULL, strstr(c->id, "/graph/") != NULL);
		if (per_kernel)
			assert_float_equal(case_metric(&result, "launch.time")->value,
					   per_kernel->value * (double)case_integer(c, "nodes"),
					   1e-12);
		assert_nothing_open(c->id);
		case_result_release(&result);
	}
	plan_done(f);
}

/* A backend that goes wrong in one operation. */
static enum status lose_launch(struct stream *stream, const void *arguments, struct error *err)
{
	static int launches;

	return ++launches % 7 == 0 ? STATUS_OK : spy.real->kernel("empty")(stream, arguments, err);
}

static kernel_fn *losing_kernel(const char *name)
{
	return strcmp(name, "empty") == 0 ? lose_launch : spy.real->kernel(name);
}

static enum status hasty_synchronize(struct stream *stream, struct error *err)
{
	(void)stream;
	(void)err;
	return STATUS_OK;
}

static enum status hasty_event(struct event *event, struct error *err)
{
	(void)event;
	(void)err;
	return STATUS_OK;
}

static enum status call_twice(struct stream *stream, callback_fn *callback, void *context,
			      struct error *err)
{
	enum status status = spy.real->callback(stream, callback, context, err);

	return status == STATUS_OK ? spy.real->callback(stream, callback, context, err) : status;
}

static void expect_mismatch(struct fixture *f, const char *operation, const char *message)
{
	struct case_result result;
	struct error err;
	char ini[300];

	snprintf(ini, sizeof(ini), QUICK "[suite launch]\noperations = %s\nnodes = 30\n",
		 operation);
	assert_int_equal(run_only_case(f, ini, &result, &err), STATUS_MISMATCH);
	if (!strstr(err.message, message))
		fail_msg("%s: %s", operation, err.message);
	assert_false(result.verification.done);
	case_result_release(&result);
}

static void test_lost_launches_are_found(void **state)
{
	static const char *const operations[] = { "latency",      "enqueue", "throughput",
						  "back_to_back", "record",  "handover",
						  "graph" };

	for (size_t i = 0; i < ARRAY_SIZE(operations); i++) {
		spy_reset();
		spy.table.kernel = losing_kernel;
		expect_mismatch(*state, operations[i], "kernels of");
	}
}

static enum status hasty_wait(struct stream *stream, struct event *event, struct error *err)
{
	(void)stream;
	(void)event;
	(void)err;
	return STATUS_OK;
}

static void test_waiting_that_does_not_wait_is_found(void **state)
{
	spy_reset();
	spy.table.stream_wait = hasty_wait;
	expect_mismatch(*state, "handover", "the second stream continued");
	spy_reset();
	spy.table.event_synchronize = hasty_event;
	expect_mismatch(*state, "event", "the wait returned");
	spy_reset();
	spy.table.stream_synchronize = hasty_synchronize;
	expect_mismatch(*state, "stream_sync", "the wait returned");
	spy_reset();
	spy.table.callback = call_twice;
	expect_mismatch(*state, "callback", "2 calls of the host function were counted for one");
}

/* A backend whose callbacks go wrong after the first verification: its second one has two. */
static unsigned spins;

static enum status counted_spin(struct stream *stream, const void *arguments, struct error *err)
{
	spins++;
	return spy.real->kernel("spin")(stream, arguments, err);
}

static kernel_fn *counting_kernel(const char *name)
{
	return strcmp(name, "spin") == 0 ? counted_spin : spy.real->kernel(name);
}

static enum status call_twice_later(struct stream *stream, callback_fn *callback, void *context,
				    struct error *err)
{
	return spins > 2 ? call_twice(stream, callback, context, err)
			 : spy.real->callback(stream, callback, context, err);
}

/* A case that was right before the measurement and wrong after it is not verified. */
static void test_wrong_after_measurement_is_not_verified(void **state)
{
	spy_reset();
	spins = 0;
	spy.table.kernel = counting_kernel;
	spy.table.callback = call_twice_later;
	expect_mismatch(*state, "callback", "2 calls of the host function were counted for one");
	assert_int_equal(spins, 4);
}

/* A backend without graphs or callbacks skips those cases and says which operation is missing. */
static void test_missing_operations_skip(void **state)
{
	struct case_result result;
	struct error err;

	spy_reset();
	spy.table.graph_begin = NULL;
	assert_int_equal(run_only_case(*state, QUICK "[suite launch]\noperations = graph\n",
				       &result, &err),
			 STATUS_UNSUPPORTED);
	assert_non_null(strstr(err.message, "graph_begin"));
	case_result_release(&result);
	spy.table.callback = NULL;
	assert_int_equal(run_only_case(*state, QUICK "[suite launch]\noperations = callback\n",
				       &result, &err),
			 STATUS_UNSUPPORTED);
	case_result_release(&result);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, fixture_reset)
	const struct CMUnitTest tests[] = {
		TEST(test_every_case_runs),
		TEST(test_lost_launches_are_found),
		TEST(test_waiting_that_does_not_wait_is_found),
		TEST(test_wrong_after_measurement_is_not_verified),
		TEST(test_missing_operations_skip),
	};

	return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
