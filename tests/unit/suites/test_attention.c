/* The suite `attention`, on the host backend: every pass is right, and a wrong one is found. */
#include "suite_fixture.h"

#define QUICK                                                                                 \
	"[defaults]\nmin_samples = 3\nmax_samples = 3\nmax_time = 20ms\nsample_time = 20us\n" \
	"warmup = 1\n[suite attention]\nhidden = 48\n"

static double metric_of(const struct case_result *result, const char *name)
{
	const struct metric_value *metric = case_metric(result, name);

	if (!metric)
		fail_msg("no metric %s", name);
	return metric->value;
}

/* Sequences with a rest of a tile, of one and of several; heads that leave a rest of hidden. */
static void every_pass_is_right(void **state)
{
	static const char *const shapes[] = {
		"sequence = 20\ntokens = 47\nhead_size = 16\n",
		"sequence = 1\ntokens = 3\nhead_size = 8\n",
		"sequence = 130\ntokens = 260\nhead_size = 40\n",
	};
	static const char *const precisions[] = { "fp32", "fp16", "bf16" };
	char ini[500];

	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++)
		for (size_t k = 0; k < ARRAY_SIZE(precisions); k++)
			for (int bits = 0; bits < 8; bits++) {
				struct case_result result;
				struct error err;

				snprintf(ini, sizeof(ini),
					 QUICK "%sprecisions = %s\npasses = %s\nimplementations = "
					       "%s\nmasks = %s\n",
					 shapes[i], precisions[k],
					 bits & 1 ? "forward" : "backward",
					 bits & 2 ? "fused" : "products",
					 bits & 4 ? "causal" : "full");
				if (run_only_case(*state, ini, &result, &err) != STATUS_OK)
					fail_msg("%s: %s", ini, err.message);
				assert_true(result.verification.done);
				assert_true(metric_of(&result, "attention.throughput") > 0);
				case_result_release(&result);
				assert_nothing_open(ini);
			}
}

/* Two samples of 64 positions, 6 heads of 8: fused linear in the sequence, products square. */
static void memory_is_counted(void **state)
{
#define SMALL "tokens = 128\nsequence = 64\nhead_size = 8\nprecisions = fp16\npasses = forward\n"
	double tensors = 2.0 * 128 * (3 * 48 + 48);
	struct case_result result;
	struct error err;

	assert_int_equal(run_only_case(*state, QUICK SMALL "implementations = fused\n", &result,
				       &err),
			 STATUS_OK);
	/* a row of log sums for each head, of whole tiles of 128 */
	assert_true(metric_of(&result, "attention.memory") == tensors + 4 * 2 * 6 * 128);
	case_result_release(&result);
	assert_int_equal(run_only_case(*state, QUICK SMALL "implementations = products\n", &result,
				       &err),
			 STATUS_OK);
	assert_true(metric_of(&result, "attention.memory") == tensors + 2 * 2 * 6 * 64 * 64);
	case_result_release(&result);
}

static void a_wrong_result_is_a_mismatch(void **state)
{
	struct case_result result;
	struct error err;

	spy.spoil_copy = 1;
	spy.spoil_bytes = 64 * sizeof(float); /* a head's log sums */
	assert_int_equal(run_only_case(*state,
				       QUICK "tokens = 64\nsequence = 64\nhead_size = 16\n"
					     "precisions = fp32\nimplementations = fused\npasses = "
					     "backward\n"
					     "masks = full\n",
				       &result, &err),
			 STATUS_MISMATCH);
	assert_non_null(strstr(err.message, "double precision"));
	assert_false(result.verification.done);
	case_result_release(&result);
	assert_nothing_open("mismatch");
}

static void expect_skipped(void **state, const char *ini, const char *reason)
{
	struct fixture *f = *state;

	plan_from(f, ini, f->infos, FIXTURE_DEVICES);
	assert_true(f->plan.case_count > 0);
	for (size_t i = 0; i < f->plan.case_count; i++)
		assert_non_null(strstr(f->plan.cases[i].skip_reason, reason));
	plan_done(f);
}

static void what_cannot_be_computed_is_skipped(void **state)
{
	expect_skipped(state, QUICK "head_size = 12\nsequence = 8\n", "multiples of 8");
	expect_skipped(state, QUICK "head_size = 64\nsequence = 8\n", "exceeds hidden = 48");
	expect_skipped(state, QUICK "head_size = 8\nsequence = 8\ntokens = 4\n",
		       "exceeds tokens = 4");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, fixture_reset)
	const struct CMUnitTest tests[] = {
		TEST(every_pass_is_right),
		TEST(memory_is_counted),
		TEST(a_wrong_result_is_a_mismatch),
		TEST(what_cannot_be_computed_is_skipped),
	};

	return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
