/* Promises of the suite `stream`, on the host backend: see suite_fixture.h. */
#include "suite_fixture.h"

#include "kernels/memory/stream.h"
#include "suites/stream/reference.h"

#define QUICK                                                                           \
	"[defaults]\nmin_samples = 3\nmax_samples = 4\nmax_time = 20ms\nsample_time = " \
	"20us\nwarmup = 1\n"

static double metric_of(const struct case_result *result, const char *name)
{
	const struct metric_value *metric = case_metric(result, name);

	if (!metric)
		fail_msg("no metric %s", name);
	return metric->value;
}

/* Arrays that a pass counts, by operation. */
static double arrays_of(const char *id)
{
	static const struct {
		const char *operation;
		double arrays;
	} rows[] = { { "/copy/", 2 },  { "/mul/", 2 },     { "/add/", 3 },
		     { "/triad/", 3 }, { "/dot/", 2 },     { "/read/", 1 },
		     { "/write/", 1 }, { "/strided/", 1 }, { "/random/", 0.125 } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (strstr(id, rows[i].operation))
			return rows[i].arrays;
	fail_msg("%s", id);
	return 0;
}

/* Each finishes verified, with the bytes its definition counts, in the memory it announced. */
static void test_every_case_runs(void **state)
{
	struct fixture *f = *state;
	size_t finished = 0;

	plan_from(f,
		  QUICK "[suite stream]\nsizes = 64KiB, 1000000B\nstrides = 16B, 64B\n"
			"[suite stream first]\nsizes = 256KiB\nvariant = first\n",
		  f->infos, FIXTURE_DEVICES);
	for (size_t i = 0; i < f->plan.case_count; i++) {
		const struct plan_case *c = &f->plan.cases[i];
		struct case_result result;
		struct error err = ERROR_NONE;
		double bytes = (double)case_integer(c, "sizes");

		memset(spy.device_peak, 0, sizeof(spy.device_peak));
		if (run_case(f, c, &result, &err) != STATUS_OK)
			fail_msg("%s: %s", c->id, err.message);
		assert_true(result.verification.done);
		bytes = strstr(c->id, "random") ? floor(bytes / 64) * 8 : bytes * arrays_of(c->id);
		assert_float_equal(metric_of(&result, "stream.bandwidth") *
					   metric_of(&result, "stream.time"),
				   bytes, 1e-6 * bytes);
		assert_nothing_open(c->id);
		if (spy.device_peak[0] > c->device_bytes || spy.device_peak[1] > c->device_bytes)
			fail_msg("%s used more device memory than it said", c->id);
		case_result_release(&result);
		finished++;
	}
	plan_done(f);
	/*
	 * 10 with a precision and four without, strided twice; two sizes, two devices; and those of
	 * the first variant.
	 */
	assert_int_equal(finished, (10 + 5) * 4 + (10 + 4) * 2);
}

/* A kernel that goes wrong from its n-th launch on: the last element is not what it should be. */
static int launches, spoil_launch;

/* After the kernel in its stream: waiting for it would wait for a closed gate. */
static enum status launch_spoilt(struct stream *stream, const void *arguments, struct error *err)
{
	static const uint64_t wrong = 0x3ff0000000000001;
	const struct stream_arguments *a = arguments;
	enum status status = spy.real->kernel("stream")(stream, arguments, err);

	if (status != STATUS_OK || ++launches < spoil_launch)
		return status;
	if (a->out)
		return spy.real->copy(stream, (char *)a->out + a->bytes - 4, &wrong, 4, err);
	return spy.real->copy(stream, &a->sum->sum, &wrong, sizeof(wrong), err);
}

static kernel_fn *spoilt_kernel(const char *name)
{
	return strcmp(name, "stream") == 0 ? launch_spoilt : spy.real->kernel(name);
}

static void expect_mismatch(struct fixture *f, const char *operation, int from_launch,
			    const char *when)
{
	struct case_result result;
	struct error err;
	char ini[400];

	snprintf(ini, sizeof(ini),
		 QUICK "[suite stream]\noperations = %s\nsizes = 64KiB\nvariant = first\n",
		 operation);
	launches = 0;
	spoil_launch = from_launch;
	spy_reset();
	spy.table.kernel = spoilt_kernel;
	assert_int_equal(run_only_case(f, ini, &result, &err), STATUS_MISMATCH);
	if (!strstr(err.message, when) || !strstr(err.message, "expected"))
		fail_msg("%s: %s", operation, err.message);
	assert_false(result.verification.done);
	/* Found after timing: the numbers are there, for an investigation. */
	assert_int_equal(case_metric(&result, "stream.bandwidth") != NULL, from_launch > 1);
	assert_nothing_open(operation);
	case_result_release(&result);
}

/*
 * One wrong element or sum is found, whether the kernel is wrong at once or only while it is timed.
 */
static void test_wrong_results_are_found(void **state)
{
	static const char *const operations[] = { "copy", "mul",   "add",     "triad", "dot",
						  "read", "write", "strided", "random" };

	for (size_t i = 0; i < ARRAY_SIZE(operations); i++) {
		expect_mismatch(*state, operations[i], 1, "before timing");
		expect_mismatch(*state, operations[i], 2, "after timing");
	}
}

/* Launches that do nothing leave what was poisoned. */
static enum status launch_nothing(struct stream *stream, const void *arguments, struct error *err)
{
	return ++launches < spoil_launch ? spy.real->kernel("stream")(stream, arguments, err)
					 : STATUS_OK;
}

static kernel_fn *idle_kernel(const char *name)
{
	return strcmp(name, "stream") == 0 ? launch_nothing : spy.real->kernel(name);
}

static void test_kernels_that_do_nothing_are_found(void **state)
{
	static const char *const operations[] = { "triad", "dot", "random" };

	for (size_t i = 0; i < 2 * ARRAY_SIZE(operations); i++) {
		struct case_result result;
		struct error err;
		char ini[400];

		snprintf(ini, sizeof(ini),
			 QUICK "[suite stream]\noperations = %s\nsizes = 64KiB\nvariant = first\n",
			 operations[i / 2]);
		launches = 0;
		spoil_launch = i % 2 + 1;
		spy_reset();
		spy.table.kernel = idle_kernel;
		assert_int_equal(run_only_case(*state, ini, &result, &err), STATUS_MISMATCH);
		case_result_release(&result);
	}
}

static bool survives_failure(struct fixture *f, const char *ini, int n)
{
	struct case_result result;
	struct error err;
	enum status status;
	bool finished;

	spy_reset();
	spy.fail_at = n;
	status = run_only_case(f, ini, &result, &err);
	assert_nothing_open(ini);
	finished = result.verification.done;
	case_result_release(&result);
	if (spy.calls < n || finished)
		return spy.calls >= n;
	assert_int_equal(status, STATUS_DEVICE);
	assert_non_null(strstr(err.message, "told to fail"));
	return true;
}

static void test_failures_release_everything(void **state)
{
	static const char *const inis[] = {
		QUICK "[suite stream]\noperations = triad\nsizes = 64KiB\n",
		QUICK "[suite stream]\noperations = dot\nsizes = 64KiB\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(inis); i++)
		for (int n = 1; survives_failure(*state, inis[i], n); n++)
			n += n / 4;
}

/* A case that cannot be carried out is planned and says why. */
static void test_odd_sizes_are_skipped(void **state)
{
	struct fixture *f = *state;

	plan_from(f,
		  "[suite stream]\noperations = triad, strided\nprecisions = fp32\nstrides = "
		  "48B\nsizes = 1000B, 48KiB, 64KiB\n",
		  f->infos, 1);
	assert_int_equal(f->plan.case_count, 6);
	assert_non_null(strstr(f->plan.cases[0].skip_reason, "not a multiple of 16"));
	assert_null(f->plan.cases[1].skip_reason);
	assert_null(f->plan.cases[2].skip_reason);
	assert_non_null(strstr(f->plan.cases[3].skip_reason, "stride"));
	assert_null(f->plan.cases[4].skip_reason);
	assert_non_null(strstr(f->plan.cases[5].skip_reason, "stride"));
	plan_done(f);
}

/*
 * The exact dot product, once more in a plain loop over exact terms; and one term left out is far
 * outside.
 */
static void test_dot_reference(void **state)
{
	static const uint64_t seeds[2] = { 3, 4 };
	const uint64_t count = 200001;
	long double sum = 0;

	(void)state;
	for (uint64_t i = 0; i < count; i++)
		sum += (long double)generator_uniform(seeds[0], i) * generator_uniform(seeds[1], i);
	assert_float_equal(stream_dot_reference(seeds, count), (double)sum, 1e-12);
	assert_true(stream_reference_dot_tolerance(UINT64_C(1) << 31) < 0.01);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, fixture_reset)
	const struct CMUnitTest tests[] = {
		TEST(test_every_case_runs),
		TEST(test_wrong_results_are_found),
		TEST(test_kernels_that_do_nothing_are_found),
		TEST(test_failures_release_everything),
		TEST(test_odd_sizes_are_skipped),
		TEST(test_dot_reference),
	};

	return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
