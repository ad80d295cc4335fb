/* Studies of suite `trainmem`, on the host backend: what each records is what it promises. */
#include "suite_fixture.h"

#include "measure/processes/fork_server.h"

#define QUICK                                                                                 \
	"[defaults]\nmin_samples = 3\nmax_samples = 4\nmax_time = 20ms\nsample_time = 20us\n" \
	"warmup = 1\n[suite trainmem]\n"

static double metric_of(const struct case_result *result, const char *name)
{
	const struct metric_value *metric = case_metric(result, name);

	if (!metric)
		fail_msg("no metric %s", name);
	return metric->value;
}

static void run_ok(struct fixture *f, const char *ini, struct case_result *result)
{
	struct error err;

	if (run_only_case(f, ini, result, &err) != STATUS_OK)
		fail_msg("%s: %s", ini, err.message);
	assert_nothing_open(ini);
}

/* As few outputs as possible leave, and the step stays within the pool. */
static void a_small_pool_swaps(void **state)
{
	static const char *const pools[] = { "100 %", "88 %", "80 %" };
	double swapped[3], moved;
	char ini[400];

	for (int i = 0; i < 3; i++) {
		struct case_result result;

		snprintf(ini, sizeof(ini),
			 QUICK "layers = 64,64,64,64,64,64,10\nbatch = 4096\nallocator = bfc\n"
			       "offload = as_needed\npool = %s\n",
			 pools[i]);
		run_ok(*state, ini, &result);
		assert_true(result.verification.done);
		swapped[i] = metric_of(&result, "trainmem.swapped");
		assert_true(metric_of(&result, "trainmem.reserved") <=
			    metric_of(&result, "trainmem.pool"));
		/* Out and back, 4096 x 64 floats each. */
		moved = metric_of(&result, "trainmem.offloaded");
		assert_true(moved == swapped[i] * 2 * 4096 * 64 * 4);
		case_result_release(&result);
	}
	assert_true(swapped[0] == 0 && swapped[1] > 0 && swapped[2] > swapped[1]);
}

static void gradients_that_are_not_divided_are_a_multiple(void **state)
{
	struct case_result result;

	run_ok(*state,
	       QUICK "studies = accumulation\nlayers = 32,48,5\nbatch = 64\naccumulate = 8\n",
	       &result);
	assert_true(result.verification.done);
	assert_true(fabs(metric_of(&result, "trainmem.undivided_ratio") - 8) < 1e-6);
	assert_true(fabs(metric_of(&result, "trainmem.undivided_error") - 7) < 1e-5);
	case_result_release(&result);
}

static void a_training_learns_what_it_has_not_seen(void **state)
{
	struct case_result small, large;

	run_ok(*state,
	       QUICK "studies = loss_curve\nlayers = 32,64,10\nbatch = 16\n"
		     "curve_samples = 8192\nprecision = fp16_mixed\n",
	       &small);
	assert_true(small.verification.done);
	assert_true(metric_of(&small, "trainmem.updates") == 512);
	/* Ten classes by chance are ln 10 = 2.3. */
	assert_true(metric_of(&small, "trainmem.loss_first") < 2.8);
	assert_true(metric_of(&small, "trainmem.loss_final") < 1.6);
	assert_true(metric_of(&small, "trainmem.loss_difference") > 0);
	assert_true(metric_of(&small, "trainmem.loss_difference") < 0.01);
	run_ok(*state,
	       QUICK "studies = loss_curve\nlayers = 32,64,10\nbatch = 256\n"
		     "curve_samples = 8192\n",
	       &large);
	assert_true(metric_of(&large, "trainmem.loss_final") >
		    metric_of(&small, "trainmem.loss_final"));
	case_result_release(&small);
	case_result_release(&large);
}

/* A rate at which nothing is learnt is no training. */
static void a_training_that_diverges_is_a_mismatch(void **state)
{
	struct case_result result;
	struct error err;

	assert_int_equal(run_only_case(*state,
				       QUICK "studies = loss_curve\nlayers = 32,64,10\nbatch = 16\n"
					     "curve_samples = 1600\ncurve_rate = 5\n",
				       &result, &err),
			 STATUS_MISMATCH);
	assert_non_null(strstr(err.message, "training did not converge"));
	assert_false(result.verification.done);
	case_result_release(&result);
}

static void logical_devices_keep_to_their_limits(void **state)
{
	static const char *const allocators[] = { "bfc", "caching", "malloc" };
	char ini[300];

	for (size_t i = 0; i < ARRAY_SIZE(allocators); i++) {
		struct case_result result;

		snprintf(ini, sizeof(ini),
			 QUICK "studies = logical_devices\nlayers = 32,48,5\nbatch = 64\n"
			       "allocator = %s\n",
			 allocators[i]);
		run_ok(*state, ini, &result);
		assert_true(result.verification.done);
		assert_true(metric_of(&result, "trainmem.isolated") == 1);
		assert_true(metric_of(&result, "trainmem.reserved") <=
			    2 * metric_of(&result, "trainmem.limit"));
		case_result_release(&result);
	}
}

/* PyTorch's rules give back what is cached before they refuse: clearing changes nothing. */
static void clearing_a_cache_gives_back_what_is_unused(void **state)
{
	struct case_result result;

	run_ok(*state,
	       QUICK "studies = clearing\nlayers = 64,64,10\nbatch = 8192\nallocator = caching\n",
	       &result);
	assert_true(result.verification.done);
	assert_true(metric_of(&result, "trainmem.reserved_after") <
		    metric_of(&result, "trainmem.reserved"));
	assert_true(metric_of(&result, "trainmem.reserved") <=
		    metric_of(&result, "trainmem.limit"));
	assert_true(metric_of(&result, "trainmem.fits_kept") ==
		    metric_of(&result, "trainmem.fits_cleared"));
	case_result_release(&result);
}

static void remedies_are_tried_where_memory_runs_out(void **state)
{
	static const char *const remedies[] = { "halved", "checkpointed", "accumulated",
						"offloaded" };
	struct case_result result;
	char name[64];

	run_ok(*state,
	       QUICK "studies = remedies\nlayers = 256,256,256,256,256,10\nallocator = malloc\n"
		     "memory_limit = 128MiB\nmemory_reserve = 1MiB\n",
	       &result);
	assert_true(result.verification.done);
	assert_true(metric_of(&result, "trainmem.refused_batch") <
		    metric_of(&result, "trainmem.refused_batch_forward"));
	for (size_t i = 0; i < ARRAY_SIZE(remedies); i++) {
		snprintf(name, sizeof(name), "trainmem.backward_%s", remedies[i]);
		assert_true(metric_of(&result, name) == 1);
	}
	/* That batch is larger: of the outputs more than half must go, which parts always do. */
	assert_true(metric_of(&result, "trainmem.forward_halved") == 1);
	assert_true(metric_of(&result, "trainmem.forward_accumulated") == 1);
	assert_true(metric_of(&result, "trainmem.forward_checkpointed") <=
		    metric_of(&result, "trainmem.backward_checkpointed"));
	case_result_release(&result);
}

/* Before the backend has threads. */
static int open_all(void **state)
{
	struct error err = ERROR_NONE;

	fixture_fork_server =
		fork_server_open("host",
				 &(struct backend_options){ .host_devices = FIXTURE_DEVICES },
				 &err);
	if (!fixture_fork_server)
		fail_msg("%s", err.message);
	return fixture_open(state);
}

static int close_all(void **state)
{
	fork_server_close(fixture_fork_server);
	return fixture_close(state);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, fixture_reset)
	const struct CMUnitTest tests[] = {
		TEST(a_small_pool_swaps),
		TEST(gradients_that_are_not_divided_are_a_multiple),
		TEST(a_training_learns_what_it_has_not_seen),
		TEST(a_training_that_diverges_is_a_mismatch),
		TEST(logical_devices_keep_to_their_limits),
		TEST(clearing_a_cache_gives_back_what_is_unused),
		TEST(remedies_are_tried_where_memory_runs_out),
	};

	return cmocka_run_group_tests(tests, open_all, close_all);
}
