/* Promises of the suites, on the host backend: see suite_fixture.h. */
#include "suite_fixture.h"

#include "base/units.h"
#include "plan/schema.h"
#include "suites/matmul/matmul.h"
#include "suites/shared/gemm_reference.h"

#define QUICK                                                                           \
	"[defaults]\nmin_samples = 3\nmax_samples = 4\nmax_time = 20ms\nsample_time = " \
	"20us\nwarmup = 1\n"

static const char small[] = QUICK "[suite alloc]\nsizes = 4KiB, 1MiB\n"
				  "[suite transfer]\nmemories = pinned, pageable, write_combined, "
				  "registered\nsizes = 1000B, 1KiB, 300KiB\n"
				  "[suite matmul]\nprecisions = fp64, fp32, tf32, fp16, "
				  "bf16\nsizes = 24, 70x33x130, 300x310x320\n";

static const struct plan_case *case_of(const struct fixture *f, const char *id)
{
	for (size_t i = 0; i < f->plan.case_count; i++)
		if (strcmp(f->plan.cases[i].id, id) == 0)
			return &f->plan.cases[i];
	return NULL;
}

static double metric_of(const struct case_result *result, const char *name)
{
	const struct metric_value *metric = case_metric(result, name);

	if (!metric)
		fail_msg("no metric %s", name);
	return metric->value;
}

/*
 * A finished case has its headline, sane numbers in the table's units, samples and a verification.
 */
static void check_metrics(const struct plan_case *c, const struct case_result *result)
{
	bool headline = strstr(c->id, "/fail@") != NULL;

	for (size_t i = 0; i < result->metric_count; i++) {
		const struct metric_value *m = &result->metrics[i];

		headline |= m->headline;
		bool may_be_zero = strcmp(m->unit, "B") == 0 || strcmp(m->unit, "1") == 0;

		if (!isfinite(m->value) || m->n == 0 || (m->value <= 0 && !may_be_zero))
			fail_msg("%s: %s = %g, n = %zu", c->id, m->name, m->value, m->n);
	}
	if (!headline)
		fail_msg("%s has no headline", c->id);
	assert_true(result->verification.done);
	for (size_t i = 0; i < result->series_count; i++) {
		assert_true(result->series[i].count >= 3);
		assert_string_equal(result->series[i].unit, "s");
	}
	assert_int_equal(result->parameter_count, c->parameter_count);
}

static void test_every_case_runs(void **state)
{
	struct fixture *f = *state;
	size_t finished = 0;

	plan_from(f, small, f->infos, FIXTURE_DEVICES);
	for (size_t i = 0; i < f->plan.case_count; i++) {
		const struct plan_case *c = &f->plan.cases[i];
		struct case_result result;
		struct error err = ERROR_NONE;
		enum status status;

		if (c->skip_reason)
			continue;
		memset(spy.device_peak, 0, sizeof(spy.device_peak));
		status = run_case(f, c, &result, &err);
		/*
		 * Page-locked memory may be refused by the machine's limits; then the reason says
		 * so.
		 */
		if (status != STATUS_OK && status != STATUS_UNSUPPORTED)
			fail_msg("%s: %s %s", c->id, status_name(status), err.message);
		if (status == STATUS_OK) {
			check_metrics(c, &result);
			finished++;
		}
		assert_nothing_open(c->id);
		if (spy.device_peak[0] > c->device_bytes || spy.device_peak[1] > c->device_bytes)
			fail_msg("%s used more device memory than it said", c->id);
		case_result_release(&result);
	}
	plan_done(f);
	assert_true(finished > 60);
}

/* Runs the case with its n-th call failing; false when it has fewer. */
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
	if (spy.calls < n || finished) { /* or the failure came when all was done, while closing */
		assert_int_equal(status, STATUS_OK);
		return spy.calls >= n;
	}
	assert_int_equal(status, STATUS_DEVICE);
	assert_non_null(strstr(err.message, "told to fail"));
	return true;
}

/* Any call that fails makes the case fail with its message, and everything is released. */
static void test_failures_release_everything(void **state)
{
	static const char *const inis[] = {
		QUICK "[suite alloc]\nallocators = device\noperations = alloc\nstates = "
		      "cold\nsizes = 4KiB\n",
		QUICK "[suite alloc]\nallocators = pageable\noperations = free\nsizes = 4KiB\n",
		QUICK "[suite transfer]\ndirections = both\nmemories = registered\nsizes = 4KiB\n",
		QUICK "[suite transfer]\ndirections = p2p_both\naccess = on\nsizes = 4KiB\n",
		QUICK "[suite matmul]\nprecisions = fp32\nsizes = 20\n",
	};

	/* Every call while setting up, then ever fewer of the many alike. */
	for (size_t i = 0; i < ARRAY_SIZE(inis); i++)
		for (int n = 1; survives_failure(*state, inis[i], n); n++)
			n += n / 4;
}

static void test_transfer_plans_what_makes_sense(void **state)
{
	struct fixture *f = *state;
	struct device_info infos[2] = { f->infos[0], f->infos[1] };

	infos[0].peers.words[0] = 0; /* host:0 cannot reach host:1, the other way works */
	plan_from(f, "[suite transfer]\nmemories = pinned, pageable\nsizes = 1KiB\n", infos, 2);
	assert_non_null(case_of(f, "transfer/h2d/pinned/1KiB@host:0"));
	assert_non_null(case_of(f, "transfer/d2h/pageable/1KiB@host:1"));
	assert_non_null(case_of(f, "transfer/both/pinned/1KiB@host:0"));
	assert_null(case_of(f, "transfer/both/pageable/1KiB@host:0"));
	assert_non_null(case_of(f, "transfer/local/1KiB@host:0"));
	assert_non_null(case_of(f, "transfer/p2p/on/1KiB@host:1,host:0"));
	assert_non_null(case_of(f, "transfer/p2p_both/off/1KiB@host:0,host:1"));
	assert_null(case_of(f, "transfer/p2p_both/off/1KiB@host:1,host:0"));
	assert_string_equal(case_of(f, "transfer/p2p/on/1KiB@host:0,host:1")->skip_reason,
			    "host:0 cannot access the memory of host:1");
	assert_null(case_of(f, "transfer/p2p/off/1KiB@host:0,host:1")->skip_reason);
	/*
	 * Two devices: h2d and d2h in two memories, both in one, local; p2p two pairs and p2p_both
	 * one, on and off.
	 */
	assert_int_equal(f->plan.case_count, 2 * (2 * 2 + 1 + 1) + 2 * (2 + 1));
	plan_done(f);
}

static void test_transfer_needs_access_both_ways_at_once(void **state)
{
	struct fixture *f = *state;
	struct device_info infos[2] = { f->infos[0], f->infos[1] };

	infos[1].peers.words[0] = 0;
	plan_from(f, "[suite transfer]\ndirections = p2p_both\naccess = on\nsizes = 1KiB\n", infos,
		  2);
	assert_string_equal(f->plan.cases[0].skip_reason,
			    "host:1 cannot access the memory of host:0");
	plan_done(f);
}

/* A feature that cannot be turned off is not measured as if it were. */
static void test_transfer_access_always_on(void **state)
{
	struct case_result result;
	struct error err;

	assert_int_equal(run_only_case(*state,
				       QUICK "[suite transfer]\ndirections = p2p\naccess = off\n"
					     "sizes = 4KiB\n",
				       &result, &err),
			 STATUS_UNSUPPORTED);
	assert_non_null(strstr(err.message, "peer access is always on"));
	assert_nothing_open("p2p off");
	case_result_release(&result);
}

static void test_transfer_parameters_read_well(void **state)
{
	struct case_result result;
	struct error err;

	assert_int_equal(run_only_case(*state,
				       QUICK
				       "[suite transfer]\ndirections = h2d\nmemories = pageable\n"
				       "sizes = 64KiB\n",
				       &result, &err),
			 STATUS_OK);
	assert_string_equal(case_parameter(&result, "direction")->text, "h2d");
	assert_string_equal(case_parameter(&result, "memory")->text, "pageable");
	assert_true(case_parameter(&result, "size")->number == 65536);
	assert_string_equal(case_parameter(&result, "size")->unit, "B");
	assert_null(case_parameter(&result, "access"));
	case_result_release(&result);
}

/* Bidirectional: the sum is that of its parts, and its interval theirs. */
static void test_transfer_sums_both_ways(void **state)
{
	struct case_result result;
	struct error err;

	assert_int_equal(run_only_case(*state,
				       QUICK
				       "[suite transfer]\ndirections = p2p_both\naccess = on\n"
				       "sizes = 64KiB\n",
				       &result, &err),
			 STATUS_OK);
	assert_true(fabs(metric_of(&result, "transfer.bandwidth") /
				 (metric_of(&result, "transfer.bandwidth_forward") +
				  metric_of(&result, "transfer.bandwidth_backward")) -
			 1) < 1e-12);
	assert_true(case_metric(&result, "transfer.bandwidth")->headline);
	case_result_release(&result);
}

static void assert_wrong_byte_found(struct fixture *f, const char *ini, int from_copy,
				    const char *when)
{
	struct case_result result;
	struct error err;

	spy_reset();
	spy.spoil_copy = from_copy;
	spy.spoil_bytes = 6000;
	assert_int_equal(run_only_case(f, ini, &result, &err), STATUS_MISMATCH);
	/* The byte in the middle of 6,000 bytes is in the word at 3000. */
	if (!strstr(err.message, when) ||
	    !strstr(err.message, "wrong data at byte 3000: expected 0x"))
		fail_msg("%s", err.message);
	assert_false(result.verification.done);
	case_result_release(&result);
	assert_nothing_open(ini);
}

static void test_transfer_finds_a_wrong_byte(void **state)
{
	static const char *const inis[] = {
		QUICK "[suite transfer]\ndirections = h2d\nmemories = pageable\nsizes = 6000B\n",
		QUICK "[suite transfer]\ndirections = d2h\nmemories = pageable\nsizes = 6000B\n",
		QUICK "[suite transfer]\ndirections = p2p\naccess = on\nsizes = 6000B\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(inis); i++) {
		assert_wrong_byte_found(*state, inis[i], 1, "before timing");
		/* Right while it is watched, wrong while it is timed. */
		assert_wrong_byte_found(*state, inis[i], 2, "after timing");
	}
}

static void test_matmul_errors_order_by_precision(void **state)
{
	double error[2], total[2];
	static const char *const inis[2] = {
		QUICK "[suite matmul]\nprecisions = fp32\nsizes = 300x310x320\n",
		QUICK "[suite matmul]\nprecisions = fp16\nsizes = 300x310x320\n"
	};

	for (int i = 0; i < 2; i++) {
		struct case_result result;
		struct error err;

		if (run_only_case(*state, inis[i], &result, &err) != STATUS_OK)
			fail_msg("%s", err.message);
		error[i] = metric_of(&result, "matmul.error");
		total[i] = metric_of(&result, "matmul.error_total");
		assert_true(error[i] <= result.verification.tolerance);
		assert_true(metric_of(&result, "matmul.memory") ==
			    (i ? 2 : 4) * (300.0 * 320 + 320 * 310 + 300 * 310));
		case_result_release(&result);
	}
	/*
	 * FP32 operands are not rounded; FP16 ones are, which shows only against the unrounded
	 * ones.
	 */
	assert_true(fabs(total[0] / error[0] - 1) < 1e-3);
	assert_true(error[1] > 100 * error[0]);
	assert_true(total[1] > 1.2 * error[1]);
}

static void assert_wrong_product_found(struct fixture *f, const char *precision, const char *size,
				       int from_product, const char *when)
{
	char *ini =
		xasprintf(QUICK "[suite matmul]\nprecisions = %s\nsizes = %s\n", precision, size);
	struct case_result result;
	struct error err;

	spy.products = 0;
	spy.spoil_product = from_product;
	if (run_only_case(f, ini, &result, &err) != STATUS_MISMATCH || !strstr(err.message, when) ||
	    !strstr(err.message, "C["))
		fail_msg("%s: %s", ini, err.message);
	case_result_release(&result);
	assert_nothing_open(ini);
	free(ini);
}

static void test_matmul_finds_wrong_products(void **state)
{
	static const char *const precisions[] = { "fp64", "fp32", "fp16", "bf16" };

	for (size_t i = 0; i < ARRAY_SIZE(precisions); i++) {
		for (int spoil = SPOIL_ELEMENT; spoil <= SPOIL_DEPTH; spoil++) {
			spy_reset();
			spy.spoil = spoil; /* product 1 is the library's first and not looked at */
			assert_wrong_product_found(*state, precisions[i], "70x33x130", 2,
						   "before timing");
			assert_wrong_product_found(*state, precisions[i], "300x310x320", 2,
						   "before timing");
			/* 64 sets of operands at most are verified before. */
			assert_wrong_product_found(*state, precisions[i], "70x33x130", 66,
						   "after timing");
		}
	}
}

/*
 * The reference against one worked out element by element, and its estimate of the norm against the
 * exact one.
 */
static void test_matmul_reference(void **state)
{
	const int64_t shape[3] = { 260, 264, 270 };
	struct matmul_reference reference;
	struct matmul_error error;
	struct error err = ERROR_NONE;
	double square = 0, norm = 0;
	float *c = xcalloc(260 * 264, sizeof(*c));

	(void)state;
	for (int64_t i = 0; i < shape[0]; i++) {
		for (int64_t j = 0; j < shape[1]; j++) {
			double exact = 0,
			       noise = 1 + 1e-6 * generator_uniform(7, (uint64_t)(i * 264 + j));

			for (int64_t l = 0; l < shape[2]; l++)
				exact +=
					(double)generator_uniform(1, (uint64_t)(l * shape[0] + i)) *
					(double)generator_uniform(2, (uint64_t)(j * shape[2] + l));
			c[j * shape[0] + i] = (float)(exact * noise);
			square += pow(c[j * shape[0] + i] - exact, 2);
			norm += exact * exact;
		}
	}
	gemm_reference_init(&reference, &(struct matmul_problem){ .precision = PRECISION_FP32,
								  .m = shape[0],
								  .n = shape[1],
								  .k = shape[2],
								  .scale = 1,
								  .seed_a = 1,
								  .seed_b = 2 });
	assert_true(reference.width > 1); /* large enough for sums */
	if (matmul_reference_check(&reference, c, &error, &err) != STATUS_OK)
		fail_msg("%s", err.message);
	/* 2,080 sums: the estimate of the norm is good to 1.6 % at one sigma. */
	assert_true(fabs(error.stored / sqrt(square / norm) - 1) < 0.07);
	c[5 * 260 + 17] = NAN;
	assert_int_equal(matmul_reference_check(&reference, c, &error, &err), STATUS_MISMATCH);
	assert_non_null(strstr(err.message, "C[17][5] should be"));
	gemm_reference_release(&reference);
	free(c);
}

static void test_matmul_skips_what_a_device_lacks(void **state)
{
	struct fixture *f = *state;
	struct device_info info = f->infos[0];

	info.capabilities &= ~(unsigned)DEVICE_HAS_FP16;
	plan_from(f, "[suite matmul]\nprecisions = fp32, fp16\nsizes = 16, 8x16x32\n", &info, 1);
	assert_int_equal(f->plan.case_count, 4);
	assert_null(case_of(f, "matmul/fp32/8x16x32@host:0")->skip_reason);
	assert_string_equal(case_of(f, "matmul/fp16/16@host:0")->skip_reason,
			    "host:0 has no fp16 GEMM");
	plan_done(f);
}

static void test_alloc_plans_what_makes_sense(void **state)
{
	struct fixture *f = *state;

	plan_from(f, "[suite alloc]\nallocators = device, pageable\nsizes = 4KiB, 64KiB\n",
		  f->infos, 2);
	assert_non_null(case_of(f, "alloc/device/alloc/cold/4KiB@host:0"));
	assert_non_null(case_of(f, "alloc/pageable/free/64KiB@host:0"));
	assert_non_null(case_of(f, "alloc/device/fail@host:0"));
	assert_null(
		case_of(f, "alloc/pageable/free/64KiB@host:1")); /* no device takes part in it */
	assert_int_equal(f->plan.case_count, 3 * (2 * 2 + 2 + 1));
	plan_done(f);
}

static void test_alloc_reports_tails(void **state)
{
	struct case_result result;
	struct error err;

	assert_int_equal(run_only_case(*state,
				       "[suite alloc]\nallocators = pageable\noperations = alloc\n"
				       "states = reused\nsizes = 64KiB\n",
				       &result, &err),
			 STATUS_OK);
	assert_true(case_series(&result, "alloc.latency")->count >= 100);
	assert_int_equal(case_series(&result, "alloc.latency")->batch, 1);
	assert_true(metric_of(&result, "alloc.latency") <= metric_of(&result, "alloc.latency_p95"));
	assert_true(metric_of(&result, "alloc.latency_p95") <=
		    metric_of(&result, "alloc.latency_p99"));
	assert_true(metric_of(&result, "alloc.first") > 0);
	assert_true(fabs(metric_of(&result, "alloc.rate") * metric_of(&result, "alloc.latency") /
				 65536 -
			 1) < 1e-9);
	case_result_release(&result);
}

#define FAIL_CASE QUICK "[suite alloc]\nallocators = device\noperations = fail\nsizes = 4KiB\n"

static void test_alloc_fails_and_recovers(void **state)
{
	struct case_result result;
	struct error err;

	if (run_only_case(*state, FAIL_CASE, &result, &err) != STATUS_OK)
		fail_msg("%s", err.message);
	assert_true(metric_of(&result, "alloc.failure") > 0);
	assert_true(result.verification.done);
	case_result_release(&result);
}

static void test_alloc_notices_a_grant_too_large(void **state)
{
	struct case_result result;
	struct error err;

	spy.grants_everything = true;
	assert_int_equal(run_only_case(*state, FAIL_CASE, &result, &err), STATUS_UNSUPPORTED);
	assert_non_null(strstr(err.message, "exceeds the device's memory"));
	assert_nothing_open("granted");
	case_result_release(&result);
}

static void test_alloc_notices_a_lost_device(void **state)
{
	struct case_result result;
	struct error err;

	spy.lost_after_refusal = true;
	assert_int_equal(run_only_case(*state, FAIL_CASE, &result, &err), STATUS_DEVICE);
	assert_non_null(strstr(err.message, "does not work after a failed allocation"));
	assert_false(result.verification.done);
	case_result_release(&result);
}

static void test_alloc_notices_forgetful_memory(void **state)
{
	struct case_result result;
	struct error err;

	spy.spoil_copy = 1;
	spy.spoil_bytes = sizeof(uint64_t);
	assert_int_equal(run_only_case(*state,
				       QUICK
				       "[suite alloc]\nallocators = device\noperations = alloc\n"
				       "states = reused\nsizes = 4KiB\n",
				       &result, &err),
			 STATUS_MISMATCH);
	assert_non_null(strstr(err.message, "does not keep its data"));
	assert_nothing_open("forgetful");
	case_result_release(&result);
}

/* The reader of results refuses units that it does not know. */
static void test_units_of_metrics_are_known(void **state)
{
	(void)state;
	for (const struct suite *const *s = schema_program.suites; *s; s++)
		for (const struct metric *m = (*s)->metrics; m->name; m++)
			if (!units_known(m->unit))
				fail_msg("%s has the unit %s, which base/units.c does not know",
					 m->name, m->unit);
}

static bool metric_exists(const char *name, size_t length)
{
	for (const struct suite *const *s = schema_program.suites; *s; s++)
		for (const struct metric *m = (*s)->metrics; m->name; m++)
			if (strlen(m->name) == length && strncmp(m->name, name, length) == 0)
				return true;
	return false;
}

/* A definition such as "95th percentile of launch.time" names a metric of its own suite. */
static void test_definitions_name_metrics_that_exist(void **state)
{
	(void)state;
	for (const struct suite *const *s = schema_program.suites; *s; s++) {
		char *prefix = xasprintf("%s.", (*s)->name);

		for (const struct metric *m = (*s)->metrics; m->name; m++)
			for (const char *at = m->help; (at = strstr(at, prefix)); at++)
				if (!metric_exists(at, strcspn(at, " ,;:/()")))
					fail_msg("%s: %s: there is no %s", m->name, m->help, at);
		free(prefix);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, fixture_reset)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_units_of_metrics_are_known),
		cmocka_unit_test(test_definitions_name_metrics_that_exist),
		TEST(test_every_case_runs),
		TEST(test_failures_release_everything),
		TEST(test_transfer_plans_what_makes_sense),
		TEST(test_transfer_needs_access_both_ways_at_once),
		TEST(test_transfer_access_always_on),
		TEST(test_transfer_parameters_read_well),
		TEST(test_transfer_sums_both_ways),
		TEST(test_transfer_finds_a_wrong_byte),
		TEST(test_matmul_errors_order_by_precision),
		TEST(test_matmul_finds_wrong_products),
		TEST(test_matmul_reference),
		TEST(test_matmul_skips_what_a_device_lacks),
		TEST(test_alloc_plans_what_makes_sense),
		TEST(test_alloc_reports_tails),
		TEST(test_alloc_fails_and_recovers),
		TEST(test_alloc_notices_a_grant_too_large),
		TEST(test_alloc_notices_a_lost_device),
		TEST(test_alloc_notices_forgetful_memory),
	};

	return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
