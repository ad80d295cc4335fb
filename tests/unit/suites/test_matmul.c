/* The matmul suite's shapes, scales and codes, on the host backend: see suite_fixture.h. */
#include "suite_fixture.h"

#include "kernels/fp8.h"
#include "kernels/half.h"
#include "suites/matmul/matmul.h"
#include "suites/shared/gemm_reference.h"

#define QUICK                                                                           \
	"[defaults]\nmin_samples = 3\nmax_samples = 4\nmax_time = 20ms\nsample_time = " \
	"20us\nwarmup = 1\n[suite matmul]\n"

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

/* Axes that came later leave the ids of the usual cases as they were. */
static void test_ids(void **state)
{
	static const char *const expected[] = {
		"matmul/fp32/16@host:0",
		"matmul/fp32/16/scale=2@host:0",
		"matmul/fp32/16/batch=2@host:0",
		"matmul/fp32/16/batch=2/scale=2@host:0",
		"matmul/fp32/16/tn@host:0",
		"matmul/fp32/16/tn/scale=2@host:0",
		"matmul/fp32/16/tn/batch=2@host:0",
		"matmul/fp32/16/tn/batch=2/scale=2@host:0",
	};
	struct fixture *f = *state;

	plan_from(f,
		  "[suite matmul]\nprecisions = fp32\nsizes = 16\ntransposes = nn, tn\nbatch = 1, "
		  "2\nscales = 1, 2\n",
		  f->infos, 1);
	assert_int_equal(f->plan.case_count, ARRAY_SIZE(expected));
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
		assert_string_equal(f->plan.cases[i].id, expected[i]);
	plan_done(f);
}

static void test_transposed_and_batched_products_are_right(void **state)
{
	static const char *const transposes[] = { "tn", "nt", "tt" };
	static const char *const sizes[] = { "20x30x40", "300x310x320" };

	for (size_t i = 0; i < ARRAY_SIZE(transposes) * ARRAY_SIZE(sizes); i++) {
		char *ini =
			xasprintf(QUICK
				  "precisions = fp16\nsizes = %s\ntransposes = %s\nbatch = 3\n",
				  sizes[i % ARRAY_SIZE(sizes)], transposes[i / ARRAY_SIZE(sizes)]);
		struct case_result result;
		uint64_t elements =
			i % 2 ? 300 * 320 + 320 * 310 + 300 * 310 : 20 * 40 + 40 * 30 + 20 * 30;

		run_ok(*state, ini, &result);
		assert_true(metric_of(&result, "matmul.memory") == 3.0 * 2 * (double)elements);
		assert_true(metric_of(&result, "matmul.error") <= result.verification.tolerance);
		case_result_release(&result);
		free(ini);
	}
}

/*
 * Waiting for the device once for each of hundreds of small products took longer than all else, on
 * a busy machine minutes.
 */
static void test_small_results_come_back_together(void **state)
{
	struct fixture *f = *state;
	struct case_result result;

	spy_reset();
	run_ok(f, QUICK "precisions = fp16\nsizes = 32\nbatch = 3\n", &result);
	assert_int_equal(spy.all_copies, 2); /* before and after timing */
	case_result_release(&result);
	spy.all_copies = 0;
	/* Two of 2 MiB at once. */
	run_ok(f, QUICK "precisions = fp16\nsizes = 1024x1024x8\nbatch = 3\n", &result);
	assert_true(spy.all_copies >= 4);
	case_result_release(&result);
}

/* So is starting threads for them. */
static void test_small_matrices_are_checked_by_one_thread(void **state)
{
	(void)state;
	assert_true(gemm_reference_rows_per_thread(32, 4) > 32);
	assert_true(gemm_reference_rows_per_thread(256, 4) >= 256);
	/* Large products use threads. */
	assert_true(gemm_reference_rows_per_thread(4096, 16) <= 16);
	assert_int_equal(gemm_reference_rows_per_thread(1 << 20, 1000), 16);
}

/* A wrong element in a batch is found and named. */
static void test_wrong_product_of_a_batch(void **state)
{
	struct case_result result;
	struct error err;

	spy_reset();
	spy.spoil = SPOIL_ELEMENT;
	spy.spoil_product = 2;
	assert_int_equal(run_only_case(*state,
				       QUICK "precisions = fp32\nsizes = 20\ntransposes = "
					     "tt\nbatch = 3\n",
				       &result, &err),
			 STATUS_MISMATCH);
	assert_non_null(strstr(err.message, "operand set 0, GEMM 0"));
	case_result_release(&result);
}

static struct case_result scaled(struct fixture *f, const char *precision, const char *scale)
{
	char *ini = xasprintf(QUICK "precisions = %s\nsizes = 64\nscales = %s\n", precision, scale);
	struct case_result result;

	run_ok(f, ini, &result);
	free(ini);
	return result;
}

/*
 * Sums of 64 products of numbers below s have a standard deviation of s^2 64^0.5 / 3: FP16 ends at
 * 65,504.
 */
static void test_fp16_overflows_and_loses_digits(void **state)
{
	struct case_result small = scaled(*state, "fp16", "1e-4"),
			   usual = scaled(*state, "fp16", "16"),
			   large = scaled(*state, "fp16", "200"),
			   huge = scaled(*state, "fp16", "20000"),
			   wide = scaled(*state, "fp32", "20000"),
			   tiny = scaled(*state, "fp16", "1e-6");

	assert_true(metric_of(&usual, "matmul.nonfinite") == 0);
	assert_true(metric_of(&usual, "matmul.subnormal") < 0.001);
	assert_true(metric_of(&large, "matmul.nonfinite") > 0.3 &&
		    metric_of(&large, "matmul.nonfinite") < 0.8);
	assert_true(metric_of(&huge, "matmul.nonfinite") > 0.99);
	assert_true(metric_of(&wide, "matmul.nonfinite") == 0);
	assert_true(metric_of(&small, "matmul.subnormal") > 0.5);
	assert_true(metric_of(&tiny, "matmul.subnormal") > 0.99);
	/*
	 * Operands of 1e-4 have products of 1e-8, which FP16 stores in steps of 6e-8: nothing is
	 * left.
	 */
	assert_true(metric_of(&small, "matmul.error_total") > 0.1);
	assert_true(metric_of(&usual, "matmul.error_total") < 0.001);
	case_result_release(&small);
	case_result_release(&usual);
	case_result_release(&large);
	case_result_release(&huge);
	case_result_release(&wide);
	case_result_release(&tiny);
}

/* Overflow is no excuse: finite where it must be infinite, and the wrong infinity, are wrong. */
static void test_range_is_checked(void **state)
{
	const struct matmul_problem problem = { .precision = PRECISION_FP16,
						.m = 8,
						.n = 8,
						.k = 8,
						.scale = 20000,
						.seed_a = 1,
						.seed_b = 2 };
	struct matmul_reference reference;
	struct matmul_error error;
	struct error err = ERROR_NONE;
	uint16_t c[64];
	int infinite = -1;

	(void)state;
	gemm_reference_init(&reference, &problem);
	/* A sum has its column's sign: the reference's blocks are compared through the same one. */
	for (int row = 0; row < 8; row++)
		for (int column = 0; column < 8; column++) {
			double exact = 0;

			for (int i = 0; i < 8; i++)
				exact += (double)half_to_float(half_from_double(
						 20000 * (double)generator_uniform(
								 1, (uint64_t)(i * 8 + row)))) *
					 (double)half_to_float(half_from_double(
						 20000 * (double)generator_uniform(
								 2, (uint64_t)(column * 8 + i))));
			c[column * 8 + row] = half_from_double(exact);
			if ((c[column * 8 + row] & 0x7fff) == 0x7c00)
				infinite = column * 8 + row;
		}
	assert_true(infinite >= 0);
	assert_int_equal(matmul_reference_check(&reference, c, &error, &err), STATUS_OK);
	assert_true(error.nonfinite > 0.9);
	c[infinite] ^= 0x8000;
	assert_int_equal(matmul_reference_check(&reference, c, &error, &err), STATUS_MISMATCH);
	error_clear(&err);
	c[infinite] = 0x7bff; /* the largest number */
	assert_int_equal(matmul_reference_check(&reference, c, &error, &err), STATUS_MISMATCH);
	error_clear(&err);
	c[infinite] = 0x7e00; /* NaN */
	assert_int_equal(matmul_reference_check(&reference, c, &error, &err), STATUS_MISMATCH);
	gemm_reference_release(&reference);
}

/* However long the sums are, and however roughly they are added up. */
static void test_zeros_are_no_product(void **state)
{
	struct matmul_problem problem = { .precision = PRECISION_FP16_ACC16,
					  .m = 4,
					  .n = 4,
					  .scale = 1,
					  .seed_a = 1,
					  .seed_b = 2 };
	uint16_t zeros[16] = { 0 };

	(void)state;
	for (problem.k = 1 << 4; problem.k <= 1 << 20; problem.k <<= 8) {
		struct matmul_reference reference;
		struct matmul_error error;
		struct error err = ERROR_NONE;

		gemm_reference_init(&reference, &problem);
		assert_int_equal(matmul_reference_check(&reference, zeros, &error, &err),
				 STATUS_MISMATCH);
		gemm_reference_release(&reference);
	}
}

static int gates;

static enum status counted_gate(struct stream *stream, double timeout_seconds, struct error *err)
{
	gates++;
	return spy.real->gate_close(stream, timeout_seconds, err);
}

/* A queue may be too short to hold back a batch that is one product after the other. */
static void test_a_batch_fits_the_queue(void **state)
{
	static const struct {
		const char *ini;
		int capability;
		bool gated;
	} cases[] = {
		{ QUICK "precisions = fp16\nsizes = 16\nbatch = 600\n", 3, false },
		{ QUICK "precisions = fp16\nsizes = 16\nbatch = 4\n", 3, true },
		{ QUICK "precisions = fp32\nsizes = 16\nbatch = 600\n", 3, true },
		{ QUICK "precisions = fp16\nsizes = 16\nbatch = 600\n", 6, true },
	};
	struct fixture *f = *state;
	struct device_info usual = f->devices[0]->info;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct case_result result;

		spy_reset();
		spy.table.gate_close = counted_gate;
		gates = 0;
		f->devices[0]->info.capability_major = cases[i].capability;
		f->devices[0]->info.capabilities &= ~(unsigned)DEVICE_IS_HOST;
		run_ok(f, cases[i].ini, &result);
		f->devices[0]->info = usual;
		assert_int_equal(gates > 0, cases[i].gated);
		case_result_release(&result);
	}
}

static enum status wrong_on_the_second(struct stream *stream, const struct gemm *gemm,
				       struct error *err)
{
	spy.spoil_product = stream->device->info.index == 1 ? 1 : 0;
	return spy_gemm(stream, gemm, err);
}

/* Devices that multiply the same operands after each other share one reference. */
static void test_devices_share_a_reference(void **state)
{
	struct fixture *f = *state;
	struct matmul_problem problem = { .precision = PRECISION_FP32,
					  .m = 16,
					  .n = 16,
					  .k = 16,
					  .scale = 1,
					  .seed_a = 1,
					  .seed_b = 2 };
	struct operands first, second;
	struct error err = ERROR_NONE;
	double sum;

	spy_reset();
	for (int i = 0; i < 2; i++) {
		struct operands *o = i == 0 ? &first : &second;

		assert_int_equal(matmul_operands_open(o, f->devices[i], &problem, 1,
						      IMPLEMENTATION_BLAS, &err),
				 STATUS_OK);
		assert_int_equal(matmul_operands_verify(o, &err), STATUS_OK);
	}
	assert_ptr_equal(first.reference, second.reference);
	sum = second.reference->sums[0];
	matmul_operands_close(&first);
	matmul_operands_close(&second);
	/* Other operands have a reference of their own. */
	problem.seed_b = 3;
	assert_int_equal(matmul_operands_open(&first, f->devices[0], &problem, 1,
					      IMPLEMENTATION_BLAS, &err),
			 STATUS_OK);
	assert_int_equal(matmul_operands_verify(&first, &err), STATUS_OK);
	assert_true(first.reference->sums[0] != sum);
	matmul_operands_close(&first);
	assert_nothing_open("a shared reference");
}

#define CONCURRENT QUICK "precisions = fp32, fp64\nsizes = 32\nconcurrent = "

/* The first two cases of `f->plan` as a worker carries out a concurrent group. */
static void run_pair(struct fixture *f, struct case_result results[2], struct error errs[2])
{
	struct sampling rules = sampling_from(f->plan.cases[0].section);
	struct run runs[2], *list[] = { &runs[0], &runs[1] };

	for (size_t i = 0; i < 2; i++) {
		const struct plan_case *c = &f->plan.cases[i];

		memset(&results[i], 0, sizeof(results[i]));
		error_clear(&errs[i]);
		runs[i] = (struct run){ .c = c,
					.devices = &f->devices[c->devices[0]],
					.device_count = 1,
					.seed = 1,
					.sampler = { .rules = &rules,
						     .device = f->devices[c->devices[0]] },
					.result = &results[i] };
		describe_parameters(c, &results[i]);
	}
	f->plan.cases[0].suite->run_group(list, 2, errs);
}

static void test_the_same_product_on_several_devices(void **state)
{
	struct fixture *f = *state;
	const struct plan_case *first;
	struct case_result results[2];
	struct error errs[2] = { ERROR_NONE, ERROR_NONE };

	plan_from(f, CONCURRENT "no\n", f->infos, 2);
	first = &f->plan.cases[0];
	assert_false(first->suite->groups_with(NULL, &first, 1, &f->plan.cases[1]));
	plan_done(f);
	plan_from(f, CONCURRENT "yes\n", f->infos, 2);
	assert_int_equal(f->plan.case_count, 4);
	first = &f->plan.cases[0];
	assert_true(first->suite->groups_with(NULL, &first, 1, &f->plan.cases[1]));
	assert_false(first->suite->groups_with(NULL, &first, 1, &f->plan.cases[0]));
	assert_false(first->suite->groups_with(NULL, &first, 1, &f->plan.cases[3]));
	spy_reset();
	run_pair(f, results, errs);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(errs[i].status, STATUS_OK);
		assert_true(metric_of(&results[i], "matmul.throughput") > 0);
		assert_true(results[i].verification.done);
		assert_non_null(strstr(results[i].notes, "together with 1 other device."));
		case_result_release(&results[i]);
	}
	assert_nothing_open("a concurrent group");
	/* The second device multiplies wrongly: the first one keeps its figure. */
	spy_reset();
	spy.spoil = SPOIL_ELEMENT;
	spy.table.gemm = wrong_on_the_second;
	run_pair(f, results, errs);
	assert_int_equal(errs[1].status, STATUS_MISMATCH);
	assert_non_null(strstr(errs[1].message, "before timing"));
	assert_null(case_metric(&results[1], "matmul.throughput"));
	assert_true(metric_of(&results[0], "matmul.throughput") > 0);
	for (size_t i = 0; i < 2; i++) {
		error_clear(&errs[i]);
		case_result_release(&results[i]);
	}
	assert_nothing_open("a concurrent group with a wrong product");
	plan_done(f);
}

static void test_combinations(void **state)
{
	struct fixture *f = *state;
	struct device_info info = f->infos[0];

	/* A scale needs a full reference, and means nothing to whole numbers. */
	info.capabilities |= DEVICE_HAS_INT8;
	plan_from(f, "[suite matmul]\nprecisions = fp32, int8\nsizes = 2048\nscales = 2\n", &info,
		  1);
	assert_int_equal(f->plan.case_count, 1);
	assert_non_null(strstr(f->plan.cases[0].skip_reason, "a reference of every element"));
	plan_done(f);
	info.capabilities &= ~(unsigned)DEVICE_HAS_INT8;
	plan_from(f, "[suite matmul]\nprecisions = int8\nsizes = 16\n", &info, 1);
	assert_string_equal(f->plan.cases[0].skip_reason, "host:0 has no int8 GEMM");
	plan_done(f);
}

static void test_host_has_no_search(void **state)
{
	struct case_result result;
	struct error err;

	assert_int_equal(run_only_case(*state,
				       QUICK
				       "precisions = fp32\nsizes = 16\nimplementations = lt\n",
				       &result, &err),
			 STATUS_UNSUPPORTED);
	assert_string_equal(err.message, "backend host does not implement gemm_search");
	assert_nothing_open("lt");
	case_result_release(&result);
}

typedef uint8_t encode_fn(float value);
typedef float decode_fn(uint8_t bits);

/* All finite numbers there and back, and values between two of them, by another method. */
static void check_format(encode_fn *encode, decode_fn *decode, int fraction, int bias, int most)
{
	int steps = 1 << fraction;
	double before = 0;

	for (int bits = 0; bits <= most; bits++) {
		double value = bits < steps ? ldexp(bits, 1 - bias - fraction)
					    : ldexp(steps + bits % steps,
						    bits / steps - bias - fraction),
		       middle = (before + value) / 2;

		assert_true((double)decode((uint8_t)bits) == value);
		assert_true((double)decode((uint8_t)(bits | 0x80)) == -value);
		assert_int_equal(encode((float)value), bits);
		assert_int_equal(encode((float)-value), bits | 0x80);
		if (bits > 0) {
			assert_int_equal(encode((float)middle), bits % 2 ? bits - 1 : bits);
			assert_int_equal(encode(nextafterf((float)middle, 1e9f)), bits);
			assert_int_equal(encode(nextafterf((float)middle, 0)), bits - 1);
		}
		before = value;
	}
	assert_int_equal(encode(1e30f), most);
	assert_int_equal(encode(-INFINITY), most | 0x80);
	assert_true(isnan(decode(encode(NAN))));
}

static void test_fp8(void **state)
{
	(void)state;
	check_format(fp8_from_float, fp8_to_float, 3, 7, 0x7e);
	check_format(fp8_e5m2_from_float, fp8_e5m2_to_float, 2, 15, 0x7b);
	assert_true(FP8_MOST == fp8_to_float(0x7e) && E5M2_MOST == fp8_e5m2_to_float(0x7b));
	assert_true(isinf(fp8_e5m2_to_float(0x7c)) && fp8_e5m2_to_float(0xfc) < 0);
	assert_int_equal(fp8_fixed8_from_float(2), 127);
	assert_int_equal(fp8_fixed8_from_float(-2), -128);
	assert_int_equal(fp8_fixed8_from_float(0.5f / 128), 0);
	assert_int_equal(fp8_fixed8_from_float(1.5f / 128), 2);
}

/* An element of an operand that fills the range of its format and is multiplied by its unit. */
static double scaled_operand(bool e5m2, double scale, uint64_t seed, uint64_t index)
{
	double most = e5m2 ? 57344 : 448, value = most * (double)generator_uniform(seed, index);
	float stored = e5m2 ? fp8_e5m2_to_float(fp8_e5m2_from_float((float)value))
			    : fp8_to_float(fp8_from_float((float)value));

	return (double)stored * (double)(float)(scale / most);
}

/* With a scale, FP8 has one per tensor: the product is right and its error is that of rounding. */
static void test_fp8_has_a_scale_per_tensor(void **state)
{
	enum { M = 8, N = 4, K = 32 };
	static const struct gemm_fp8 kinds[] = { { 0 }, { .e5m2_a = true }, { .e5m2_b = true } };

	(void)state;
	for (size_t kind = 0; kind < ARRAY_SIZE(kinds); kind++)
		for (double scale = 1e-3; scale < 100; scale *= 300) {
			struct matmul_problem problem = { .precision = PRECISION_FP8,
							  .m = M,
							  .n = N,
							  .k = K,
							  .scale = scale,
							  .fp8 = kinds[kind],
							  .seed_a = 1,
							  .seed_b = 2 };
			struct matmul_reference reference;
			struct matmul_error error;
			struct error err = ERROR_NONE;
			uint16_t c[M * N];

			gemm_reference_init(&reference, &problem);
			for (uint64_t i = 0; i < M * N; i++) {
				double sum = 0;

				for (uint64_t j = 0; j < K; j++)
					sum += scaled_operand(kinds[kind].e5m2_a, scale, 1,
							      j * M + i % M) *
					       scaled_operand(kinds[kind].e5m2_b, scale, 2,
							      i / M * K + j);
				assert_true(fabs(reference.sums[i % M * N + i / M] - sum) <
					    1e-12 * scale * scale);
				c[i] = half_from_double(sum);
			}
			if (matmul_reference_check(&reference, c, &error, &err) != STATUS_OK)
				fail_msg("scale %g: %s", scale, err.message);
			assert_true(error.total > 0.01 && error.total < 0.1);
			c[3] ^= 0x0400;
			assert_int_equal(matmul_reference_check(&reference, c, &error, &err),
					 STATUS_MISMATCH);
			gemm_reference_release(&reference);
		}
}

/* Unit of an element by the layouts that cuBLASLt documents. */
static double unit_at(enum fp8_scaling scaling, const float *units, uint64_t outers, uint64_t k,
		      uint64_t outer, uint64_t inner)
{
	uint64_t padded = ((k + 127) / 128 + 3) / 4 * 4;

	return (double)(scaling == FP8_SCALE_OUTER    ? units[outer]
			: scaling == FP8_SCALE_GROUPS ? units[inner / 128 * outers + outer]
						      : units[outer / 128 * padded + inner / 128]);
}

/* Scales of parts of operands: neighbours differ, and each element has the one of its part. */
static void test_fp8_has_scales_of_parts(void **state)
{
	enum { M = 140, N = 132, K = 400 };
	static const unsigned char kinds[][2] = { { FP8_SCALE_OUTER, FP8_SCALE_OUTER },
						  { FP8_SCALE_GROUPS, FP8_SCALE_GROUPS },
						  { FP8_SCALE_GROUPS, FP8_SCALE_BLOCKS },
						  { FP8_SCALE_BLOCKS, FP8_SCALE_GROUPS } };
	static const size_t counts[][2] = {
		{ M, N }, { M * 4, N * 4 }, { M * 4, 8 }, { 8, N * 4 }
	};
	static double a[M * K], b[K * N];
	static uint16_t c[M * N];

	(void)state;
	for (size_t kind = 0; kind < ARRAY_SIZE(kinds); kind++) {
		struct matmul_problem problem = { .precision = PRECISION_FP8,
						  .m = M,
						  .n = N,
						  .k = K,
						  .transpose_a = true,
						  .scale = kind == 3 ? 5 : 1,
						  .fp8 = { .scaling_a = kinds[kind][0],
							   .scaling_b = kinds[kind][1] },
						  .seed_a = 1,
						  .seed_b = 2 };
		struct matmul_reference reference;
		struct matmul_error error;
		struct error err = ERROR_NONE;
		float units_a[M * 4], units_b[N * 4];

		assert_int_equal(gemm_reference_unit_count(&problem, 1), counts[kind][0]);
		assert_int_equal(gemm_reference_unit_count(&problem, 2), counts[kind][1]);
		gemm_reference_units(&problem, 1, units_a);
		gemm_reference_units(&problem, 2, units_b);
		assert_true(units_a[0] != units_a[1] && units_b[0] != units_b[1]);
		for (uint64_t i = 0; i < M * K; i++)
			a[i] = (double)fp8_to_float(
				       fp8_from_float(448 * (float)generator_uniform(1, i))) *
			       unit_at(kinds[kind][0], units_a, M, K, i / K, i % K);
		for (uint64_t i = 0; i < K * N; i++)
			b[i] = (double)fp8_to_float(
				       fp8_from_float(448 * (float)generator_uniform(2, i))) *
			       unit_at(kinds[kind][1], units_b, N, K, i / K, i % K);
		gemm_reference_init(&reference, &problem);
		for (uint64_t i = 0; i < M * N; i++) {
			double sum = 0;

			for (uint64_t j = 0; j < K; j++)
				sum += a[i % M * K + j] * b[i / M * K + j];
			c[i] = half_from_double(sum);
		}
		if (matmul_reference_check(&reference, c, &error, &err) != STATUS_OK)
			fail_msg("kind %zu: %s", kind, err.message);
		assert_true(error.stored < 1e-3 && error.total > 0.01 && error.total < 0.1);
		gemm_reference_release(&reference);
	}
}

/* Only Hopper's cuBLASLt has them; others say what is missing. */
static void test_scales_of_parts_need_hopper(void **state)
{
	struct fixture *f = *state;
	struct device_info info = f->infos[0];

	info.capabilities |= DEVICE_HAS_FP8;
	for (info.capability_major = 8; info.capability_major < 11; info.capability_major++) {
		plan_from(f,
			  "[suite matmul]\nprecisions = fp8, fp8_rows, fp8_1x128_128x128\n"
			  "sizes = 256\nimplementations = lt\ntransposes = tn\n",
			  &info, 1);
		assert_int_equal(f->plan.case_count, 3);
		assert_null(f->plan.cases[0].skip_reason);
		for (size_t i = 1; i < 3; i++) {
			const char *reason = f->plan.cases[i].skip_reason;

			if (info.capability_major == 9)
				assert_null(reason);
			else
				assert_non_null(strstr(reason, "needs compute capability 9.0"));
		}
		plan_done(f);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, fixture_reset)
	const struct CMUnitTest tests[] = {
		TEST(test_ids),
		TEST(test_transposed_and_batched_products_are_right),
		TEST(test_small_results_come_back_together),
		TEST(test_small_matrices_are_checked_by_one_thread),
		TEST(test_wrong_product_of_a_batch),
		TEST(test_fp16_overflows_and_loses_digits),
		TEST(test_range_is_checked),
		TEST(test_zeros_are_no_product),
		TEST(test_a_batch_fits_the_queue),
		TEST(test_devices_share_a_reference),
		TEST(test_the_same_product_on_several_devices),
		TEST(test_combinations),
		TEST(test_host_has_no_search),
		TEST(test_fp8),
		TEST(test_fp8_has_a_scale_per_tensor),
		TEST(test_fp8_has_scales_of_parts),
		TEST(test_scales_of_parts_need_hopper),
	};

	return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
