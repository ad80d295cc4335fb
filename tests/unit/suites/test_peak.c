/* The peak suite on the host backend: see suite_fixture.h. */
#include "suite_fixture.h"

#include "suites/peak/expected.h"

#define QUICK                                                                           \
	"[defaults]\nmin_samples = 3\nmax_samples = 4\nmax_time = 20ms\nsample_time = " \
	"20us\nwarmup = 1\n[suite peak]\nsize = 64KiB\n"

static double metric_of(const struct case_result *result, const char *name)
{
	const struct metric_value *metric = case_metric(result, name);

	if (!metric)
		fail_msg("no metric %s", name);
	return metric->value;
}

/*
 * Registers are faster than memory, and more work on each number is more throughput at less
 * bandwidth.
 */
static void test_the_roofline_rises(void **state)
{
	static const char *const inis[] = {
		QUICK "units = roofline\nprecisions = fp32\nsteps = 1\n",
		QUICK "units = roofline\nprecisions = fp32\nsteps = 256\n",
	};
	double throughput[2], bandwidth[2];

	for (int i = 0; i < 2; i++) {
		struct case_result result;
		struct error err;

		if (run_only_case(*state, inis[i], &result, &err) != STATUS_OK)
			fail_msg("%s", err.message);
		throughput[i] = metric_of(&result, "peak.throughput");
		bandwidth[i] = metric_of(&result, "peak.bandwidth");
		assert_true(
			fabs(throughput[i] / bandwidth[i] / metric_of(&result, "peak.intensity") -
			     1) < 1e-9);
		assert_true(metric_of(&result, "peak.intensity") == (i ? 64 : 0.25));
		case_result_release(&result);
		assert_nothing_open(inis[i]);
	}
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* they decide what is fast */
	assert_true(throughput[1] > throughput[0]);
	assert_true(bandwidth[1] < bandwidth[0]);
#endif
}

static void assert_found(struct fixture *f, const char *ini, int copy, uint64_t bytes,
			 const char *when)
{
	struct case_result result;
	struct error err;

	spy_reset();
	spy.spoil_copy = copy;
	spy.spoil_bytes = bytes;
	if (run_only_case(f, ini, &result, &err) != STATUS_MISMATCH || !strstr(err.message, when))
		fail_msg("%s: %s", ini, err.message);
	case_result_release(&result);
	assert_nothing_open(ini);
}

static void test_a_wrong_bit_is_found(void **state)
{
	struct fixture *f = *state;
	uint64_t lanes = 256 * (uint64_t)f->infos[0].multiprocessors * sizeof(uint64_t);

	assert_found(f, QUICK "units = fma\nprecisions = fp32\n", 1, lanes, "before timing");
	assert_found(f, QUICK "units = fma\nprecisions = fp64\n", 2, lanes, "after timing");
	assert_found(f, QUICK "units = roofline\nprecisions = fp64\nsteps = 3\n", 1, 65536,
		     "before timing");
	assert_found(f, QUICK "units = roofline\nprecisions = fp32\nsteps = 3\n", 2, 65536,
		     "after timing");
}

static void test_plan(void **state)
{
	struct fixture *f = *state;

	plan_from(f, "[suite peak]\nsteps = 1, 2\n", f->infos, 1);
	assert_string_equal(f->plan.cases[0].id, "peak/fma/fp64@host:0");
	assert_int_equal(f->plan.case_count, 3 + 5 + 2 * 2);
	plan_done(f);
	plan_from(f, "[suite peak]\nunits = tensor\nprecisions = bf16\n", f->infos, 1);
	assert_string_equal(f->plan.cases[0].skip_reason, "host:0 has no tensor cores for bf16");
	plan_done(f);
}

/* E5M2 is for tensor cores that have FP8, and for no other unit. */
static void test_e5m2_needs_tensor_cores(void **state)
{
	struct fixture *f = *state;
	struct device_info info = f->infos[0];
	struct peak_tensor_shape shape;

	plan_from(f, "[suite peak]\nprecisions = fp8_e5m2\n", &info, 1);
	assert_int_equal(f->plan.case_count, 1);
	assert_string_equal(f->plan.cases[0].skip_reason,
			    "host:0 has no tensor cores for fp8_e5m2");
	plan_done(f);
	info.capabilities |= DEVICE_HAS_TENSOR_CORES | DEVICE_HAS_WGMMA;
	info.capability_major = 9;
	plan_from(f, "[suite peak]\nprecisions = fp8_e5m2\n", &info, 1);
	assert_null(f->plan.cases[0].skip_reason);
	plan_done(f);
	/* Sums of FP8 keep some 14 bits, so that they start anew with each step. */
	shape = kernel_peak_tensor_shape(&info, PRECISION_E5M2);
	assert_true(shape.k == 128 && !shape.adds_up);
	info.capability_major = 8;
	info.capabilities &= ~(unsigned)DEVICE_HAS_WGMMA;
	assert_int_equal(kernel_peak_tensor_shape(&info, PRECISION_E5M2).m, 0);
}

/* A launch of many steps takes minutes on a slow device, which is no hang. */
static void test_many_steps_have_time(void **state)
{
	struct fixture *f = *state;
	struct device_info info = f->infos[0];
	double limits[2];

	info.multiprocessors = 1;
	plan_from(f,
		  "[suite peak]\nunits = roofline\nprecisions = fp64\nsteps = 1, 65536\nsize = "
		  "512MiB\n",
		  &info, 1);
	for (size_t i = 0; i < 2; i++)
		limits[i] = f->plan.cases[i].limit_seconds;
	plan_done(f);
	/* 2^26 numbers, two operations a step, ten samples at the least. */
	assert_true(limits[1] > 10 * 0x1p26 * 2 * 65536 / 40e9);
	assert_true(limits[0] < limits[1] / 10);
}

/*
 * The sums of small whole numbers against a product worked out element by element, and that they
 * stay exact.
 */
static void test_tensor_reference(void **state)
{
	static const enum precision precisions[] = { PRECISION_TF32, PRECISION_FP16, PRECISION_BF16,
						     PRECISION_INT8, PRECISION_FP8 };

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(precisions); i++) {
		struct device_info info = { .capability_major = i % 2 ? 9 : 8 };
		struct peak_tensor_shape s = kernel_peak_tensor_shape(&info, precisions[i / 2]);
		int64_t sum = 0, largest = 0;

		for (int m = 0; m < s.m * s.lefts; m++) {
			for (int n = 0; n < s.n * s.rights; n++) {
				int64_t element = 0;

				for (int k = 0; k < s.k; k++)
					element += kernel_peak_element(0, m, k) *
						   kernel_peak_element(1, n, k);
				sum += element;
				largest = llabs(element) > largest ? llabs(element) : largest;
			}
		}
		assert_int_equal(peak_expect_tensor(&s, 7), s.adds_up ? 7 * sum : sum);
		assert_true(largest * (int64_t)(s.adds_up ? s.most_steps : 1) < 1 << 24);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, fixture_reset)
	const struct CMUnitTest tests[] = {
		TEST(test_the_roofline_rises),
		TEST(test_a_wrong_bit_is_found),
		TEST(test_plan),
		TEST(test_many_steps_have_time),
		TEST(test_tensor_reference),
		TEST(test_e5m2_needs_tensor_cores),
	};

	return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
