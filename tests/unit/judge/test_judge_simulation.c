/*
 * How often the judge is wrong: simulated nodes and builds, seeded, so that every run gives the
 * same figures. GPUPROOF_SIMULATE=20 makes twenty times as many. Printed figures are the evidence;
 * the asserted ones the promise.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/stats.h"
#include "compare/compare.h"
#include "judge/estimate/pool.h"
#include "stats/rank.h"
#include "judge_fixture.h"
#include "plan/schema.h"
#include "random.h"

#define GPUS 8
#define SPREAD 0.005 /* standard deviation between launches */
#define EXTENSION 4  /* further launches of what was not decided by one, as `run --check` does */
#define LIMIT "metric = transfer.bandwidth\noutlier_margin = 2 %\n"

/* Margins of [limit gemm] of configs/limits/generic.ini. */
#define PRODUCTS_LIMIT \
	"metric = transfer.bandwidth\noutlier_margin = 10 %\noutlier_margin_warn = 3 %\n"

enum noise { NORMAL, LOGNORMAL, STUDENT3, NOISES, ALONE = NOISES, TOGETHER };
static const char *const noise_names[] = { "normal", "lognormal (skew 3.7)", "Student t3",
					   "products one after the other:",
					   "products on all devices at once:" };

/*
 * Launches of products of 8192 on four H200s and two H100s in three visits, in turns, in TFLOP/s:
 * TF32, FP16 and BF16 of each device by itself, and of the two of a visit at once, each at its own
 * pace.
 */
#define MEASURED 6
static const struct products {
	double median; /* of `alone` */
	double alone[MEASURED], together[MEASURED];
} products[] = {
	{ 362.2,
	  { 362.1, 362.2, 364.6, 362.5, 361.4, 362.2 },
	  { 364.3, 366.6, 362.6, 365.9, 364.6, 363.5 } },
	{ 358.4,
	  { 358.4, 358.1, 357.4, 358.7, 358.4, 358.3 },
	  { 362.8, 358.2, 358.1, 358.2, 358.0, 358.2 } },
	{ 658.7,
	  { 660.4, 658.8, 655.7, 658.6, 658.8, 654.4 },
	  { 661.7, 658.8, 660.5, 671.4, 660.8, 661.2 } },
	{ 648.0,
	  { 647.9, 646.7, 648.3, 647.6, 648.2, 655.4 },
	  { 665.9, 665.8, 653.5, 660.6, 653.3, 652.5 } },
	{ 691.0,
	  { 682.8, 706.1, 704.9, 683.6, 698.3, 682.5 },
	  { 704.0, 705.5, 704.4, 697.9, 705.3, 679.2 } },
	{ 675.0,
	  { 675.9, 684.7, 669.1, 676.2, 674.2, 671.0 },
	  { 683.7, 682.7, 679.8, 680.7, 676.9, 681.4 } },
	{ 359.4,
	  { 353.6, 362.4, 358.8, 360.0, 362.7, 355.3 },
	  { 362.1, 359.1, 358.8, 359.0, 359.4, 358.6 } },
	{ 356.4,
	  { 354.8, 357.9, 354.3, 358.1, 358.4, 354.2 },
	  { 354.5, 354.6, 358.1, 355.4, 354.9, 351.7 } },
	{ 656.6,
	  { 659.8, 659.4, 653.9, 655.9, 652.7, 657.4 },
	  { 657.3, 659.2, 658.8, 658.5, 637.9, 656.5 } },
	{ 654.5,
	  { 654.5, 647.9, 662.1, 663.5, 654.5, 645.9 },
	  { 654.0, 654.4, 650.8, 653.9, 646.7, 653.4 } },
	{ 682.0,
	  { 683.5, 681.1, 682.9, 691.1, 680.0, 676.3 },
	  { 679.8, 680.9, 691.4, 676.9, 674.4, 683.6 } },
	{ 678.0,
	  { 690.2, 674.3, 675.4, 680.5, 683.2, 673.1 },
	  { 675.3, 676.0, 674.5, 673.3, 673.4, 674.9 } },
	{ 360.1,
	  { 366.6, 363.2, 361.3, 358.0, 358.7, 359.0 },
	  { 354.9, 361.1, 360.3, 354.3, 358.7, 356.7 } },
	{ 364.6,
	  { 373.8, 366.5, 359.0, 359.4, 362.8, 370.5 },
	  { 381.8, 363.2, 366.3, 357.8, 366.6, 367.0 } },
	{ 654.2,
	  { 668.0, 661.8, 649.8, 654.9, 653.6, 639.9 },
	  { 646.8, 646.5, 645.8, 660.7, 654.8, 654.4 } },
	{ 656.6,
	  { 655.9, 653.8, 657.3, 670.7, 677.2, 656.0 },
	  { 681.4, 665.6, 673.9, 672.1, 656.3, 660.7 } },
	{ 672.7,
	  { 674.7, 670.2, 674.7, 670.7, 676.6, 669.7 },
	  { 674.0, 662.6, 675.2, 675.4, 683.1, 669.8 } },
	{ 685.5,
	  { 701.9, 684.3, 686.1, 684.8, 683.1, 686.3 },
	  { 687.5, 695.5, 692.7, 680.6, 679.8, 683.3 } },
};

/*
 * Gives what the two devices of a visit have more at once than by themselves. It is taken out, for
 * a comparison of the two does not see it; on devices of several visits it would look like scatter.
 */
static double gain(const struct products *p)
{
	const struct products *pair = &products[(size_t)(p - products) / 2 * 2];

	return sqrt(median_of(pair[0].together, MEASURED) / pair[0].median *
		    median_of(pair[1].together, MEASURED) / pair[1].median);
}

/* One of the measured launches, relative to its device. */
static double measured(bool together)
{
	const struct products *p = &products[(size_t)(uniform() * ARRAY_SIZE(products))];
	size_t i = (size_t)(uniform() * MEASURED);

	return together ? p->together[i] / p->median / gain(p) : p->alone[i] / p->median;
}

/* The error of a launch: mean 0, deviation 1. More is slower. */
static double deviate(enum noise noise)
{
	/* exp(0.7862 z): skewness 3.7 */
	static const double sigma = 0.7862;
	double z = normal(), chi = 0;

	if (noise == LOGNORMAL)
		return (exp(sigma * z) - exp(sigma * sigma / 2)) /
		       sqrt((exp(sigma * sigma) - 1) * exp(sigma * sigma));
	if (noise == NORMAL)
		return z;
	for (int i = 0; i < 3; i++)
		chi += pow(normal(), 2);
	return z / sqrt(chi / 3) / sqrt(3);
}

static size_t repeats(size_t n)
{
	const char *factor = getenv("GPUPROOF_SIMULATE");

	return factor ? n * strtoul(factor, NULL, 10) : n;
}

/* A launch on a node whose GPU 3 is `slow`. */
static void launch(struct result *r, double slow, enum noise noise)
{
	node_init(r, GPUS, "NVIDIA H200");
	for (size_t i = 0; i < GPUS; i++)
		node_add(r, i,
			 55e9 * (i == 3 ? 1 - slow : 1) *
				 (noise < NOISES ? exp(-SPREAD * deviate(noise))
						 : measured(noise == TOGETHER)),
			 0.0005);
}

static void judge_launches(const struct limits *limits, const struct result *launches, size_t count,
			   struct verdicts *v)
{
	struct judge_input input = { .results = launches, .count = count, .limits = limits };

	memset(v, 0, sizeof(*v));
	judge_machine_results(&input, v);
	verdicts_finish(v);
}

struct outcome {
	bool named, accused;  /* GPU 3 failed; another one did */
	bool noticed, warned; /* GPU 3 failed or has a warning; another one has one */
	bool extended, undecided;
};

/* The GPUs of a point are measured again together, whichever the case. */
static bool wants_more(const struct verdicts *v)
{
	for (size_t i = 0; i < v->count; i++)
		if (judge_wants_more(v, v->checks[i].case_id, v->checks[i].point))
			return true;
	return false;
}

/* One acceptance: a launch, and further ones when it does not decide. */
static struct outcome accept_node(const struct limits *limits, double slow, enum noise noise)
{
	struct result launches[1 + EXTENSION];
	struct outcome outcome = { 0 };
	struct verdicts v;
	size_t count = 1;

	launch(&launches[0], slow, noise);
	/* Measured on all devices at once, a figure is confirmed on each by itself. */
	if (noise == TOGETHER)
		noise = ALONE;
	judge_launches(limits, launches, 1, &v);
	if (wants_more(&v)) {
		outcome.extended = true;
		verdicts_release(&v);
		for (; count <= EXTENSION; count++)
			launch(&launches[count], slow, noise);
		judge_launches(limits, launches, count, &v);
	}
	for (size_t i = 0; i < v.count; i++) {
		bool failed = v.checks[i].verdict == VERDICT_FAIL;
		bool warned = v.checks[i].verdict == VERDICT_WARN;

		if (strcmp(v.checks[i].devices, "cuda:3") == 0) {
			outcome.named = failed;
			outcome.noticed = failed || warned;
		} else {
			outcome.accused = outcome.accused || failed;
			outcome.warned = outcome.warned || warned;
		}
	}
	outcome.undecided = v.counts[VERDICT_INCONCLUSIVE] > 0;
	verdicts_release(&v);
	for (size_t i = 0; i < count; i++)
		result_release(&launches[i]);
	return outcome;
}

struct rates {
	double named, accused, noticed, warned, extended, undecided;
};

static struct rates simulate(double slow, enum noise noise, size_t nodes)
{
	struct rates rates = { 0 };
	struct limits limits;

	seed = 20261120;
	limits_from(&limits, noise < NOISES ? LIMIT : PRODUCTS_LIMIT);
	for (size_t i = 0; i < nodes; i++) {
		struct outcome o = accept_node(&limits, slow, noise);

		rates.named += o.named / (double)nodes;
		rates.accused += o.accused / (double)nodes;
		rates.noticed += o.noticed / (double)nodes;
		rates.warned += o.warned / (double)nodes;
		rates.extended += o.extended / (double)nodes;
		rates.undecided += o.undecided / (double)nodes;
	}
	judge_limits_release(&limits);
	print_message("%s noise, %.0f %% slow, %zu nodes: named %.2f %%, another accused %.2f %%, "
		      "named or warned of %.1f %%, another warned of %.1f %%, extended %.1f %%, "
		      "undecided %.2f %%\n",
		      noise_names[noise], 100 * slow, nodes, 100 * rates.named, 100 * rates.accused,
		      100 * rates.noticed, 100 * rates.warned, 100 * rates.extended,
		      100 * rates.undecided);
	return rates;
}

static void healthy_nodes_are_accepted(void **state)
{
	(void)state;
	for (int noise = 0; noise < NOISES; noise++) {
		struct rates rates = simulate(0, (enum noise)noise, repeats(1000));

		/* One slow launch of a tail accuses no device: what fails is measured again. */
		assert_true(rates.named + rates.accused == 0);
		assert_true(rates.undecided <= 0.02);
	}
}

static void a_slow_gpu_is_named(void **state)
{
	(void)state;
	for (int noise = 0; noise < NOISES; noise++) {
		struct rates five = simulate(0.05, (enum noise)noise, repeats(1000));
		struct rates three = simulate(0.03, (enum noise)noise, repeats(1000));

		assert_true(five.named >= 0.99);
		assert_true(three.named >= 0.97);
		assert_true(five.accused <= 0.001 && three.accused <= 0.001);
	}
}

/* Products as acceptance.ini has them are judged no worse than one device after the other. */
static void products_on_all_devices_at_once_judge_alike(void **state)
{
	static const enum noise ways[] = { ALONE, TOGETHER };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		struct rates healthy = simulate(0, ways[i], repeats(1000));
		struct rates near = simulate(0.13, ways[i], repeats(1000));
		struct rates slow = simulate(0.15, ways[i], repeats(1000));

		assert_true(healthy.named + healthy.accused == 0);
		assert_true(healthy.undecided <= 0.02);
		assert_true(near.named >= 0.97 && slow.named >= 0.99);
		assert_true(near.accused <= 0.001 && slow.accused <= 0.001);
	}
}

/* They warn of a healthy GPU no more often, and miss no more slow ones. */
static void products_on_all_devices_at_once_warn_alike(void **state)
{
	struct rates alone = simulate(0.05, ALONE, repeats(1000));
	struct rates together = simulate(0.05, TOGETHER, repeats(1000));
	static const enum noise ways[] = { ALONE, TOGETHER };

	(void)state;
	assert_true(alone.noticed >= 0.74 && together.noticed >= alone.noticed - 0.02);
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		struct rates healthy = simulate(0, ways[i], repeats(1000));
		struct rates eight = simulate(0.08, ways[i], repeats(1000));

		assert_true(healthy.named + eight.named == 0);
		assert_true(healthy.accused + alone.accused + together.accused == 0);
		assert_true(healthy.warned <= 0.01 && eight.noticed >= 0.97);
	}
}

/* The interval of the ratio holds the truth as often as it says. */
static void intervals_cover(void **state)
{
	static const size_t launches[] = { 4, 5, 8, 20 };

	(void)state;
	seed = 7;
	for (size_t l = 0; l < ARRAY_SIZE(launches); l++) {
		size_t n = launches[l], rounds = repeats(2000), held = 0;
		double a[20], b[20], shift, low, high, share;

		for (size_t round = 0; round < rounds; round++) {
			for (size_t i = 0; i < n; i++) {
				a[i] = SPREAD * normal();
				b[i] = 0.02 + SPREAD * normal();
			}
			assert_true(
				stats_rank_shift_between(a, n, b, n, 0.025, &shift, &low, &high));
			held += low <= 0.02 && 0.02 <= high;
		}
		share = (double)held / (double)rounds;
		print_message("%zu launches a side: the 95 %% interval holds the ratio in %.1f "
			      "%%\n",
			      n, 100 * share);
		/* Whole ranks make it conservative, the more so the fewer there are. */
		assert_true(share >= 0.94 && share <= (n < 6 ? 0.985 : 0.97));
	}
}

/* Unchanged code is called changed: never more often than its interval admits. */
static void unchanged_code_is_rarely_called_changed(void **state)
{
	size_t rounds = repeats(2000), changed = 0, same = 0;

	(void)state;
	seed = 11;
	for (size_t round = 0; round < rounds; round++) {
		struct result a[5], b[5];
		struct comparison_input input = { .a = a,
						  .b = b,
						  .a_count = 5,
						  .b_count = 5,
						  .margin = 0.01,
						  .launch_spread = SPREAD };
		struct comparison c;

		for (size_t i = 0; i < 5; i++) {
			node_init(&a[i], 1, "NVIDIA H200");
			node_init(&b[i], 1, "NVIDIA H200");
			node_add(&a[i], 0, 55e9 * exp(SPREAD * normal()), 0.0005);
			node_add(&b[i], 0, 55e9 * exp(SPREAD * normal()), 0.0005);
		}
		assert_int_equal(compare_results(&input, &c, &(struct error)ERROR_NONE), STATUS_OK);
		changed +=
			c.rows[0].change == CHANGE_REGRESSED || c.rows[0].change == CHANGE_IMPROVED;
		same += c.rows[0].change == CHANGE_UNCHANGED;
		compare_json_comparison_release(&c);
		for (size_t i = 0; i < 5; i++) {
			result_release(&a[i]);
			result_release(&b[i]);
		}
	}
	print_message("unchanged code, 5 launches each: changed %.2f %%, same %.1f %%\n",
		      100 * (double)changed / (double)rounds, 100 * (double)same / (double)rounds);
	assert_true((double)changed / (double)rounds <= 0.001);
	/* Five launches that repeat to 0.5 % do not always show that nothing moved by 1 %. */
	assert_true((double)same / (double)rounds >= 0.35);
}

/* The middle that Hodges and Lehmann estimate: the median of means of two. */
static double pseudo_median(enum noise noise)
{
	static double means[100000];

	for (size_t i = 0; i < ARRAY_SIZE(means); i++)
		means[i] = (deviate(noise) + deviate(noise)) / 2;
	return median_of(means, ARRAY_SIZE(means));
}

/* launches = auto: launches of a figure until its interval is narrower than `target`. */
static bool covered_when_known(double spread, enum noise noise, double middle, double target,
			       size_t most, size_t *launches, bool *known)
{
	double truth = 55e9 * exp(-spread * middle);
	struct result *r = test_calloc(most, sizeof(*r));
	const struct metric_value *m;
	size_t n = 0, needed = LAUNCHES_AUTO_LEAST;
	bool covered;

	for (; n < needed && n < most; n++) {
		node_init(&r[n], 1, "NVIDIA H200");
		node_add(&r[n], 0, 55e9 * exp(-spread * deviate(noise)), 0.0005);
		r[n].cases[0].metrics[0].headline = true;
		if (n + 1 == LAUNCHES_AUTO_LEAST)
			needed = estimate_pool_launches_needed(r, n + 1, r[0].cases[0].id, target);
	}
	*known = n == needed;
	*launches = n;
	estimate_pool_launches(&r[0], 1, &r[1], n - 1);
	estimate_pool_widen_by_first(&r[0], LAUNCHES_AUTO_LEAST);
	m = &r[0].cases[0].metrics[0];
	covered = m->low <= truth && truth <= m->high;
	for (size_t i = 0; i < n; i++)
		result_release(&r[i]);
	test_free(r);
	return covered;
}

/* Taking as many launches as the first ones ask for makes intervals no less true. */
static void launches_as_many_as_needed_cover(void **state)
{
	static const double spreads[] = { 0.002, 0.005, 0.01, 0.02 };
	size_t count = repeats(2000);

	(void)state;
	for (enum noise noise = 0; noise < NOISES; noise++) {
		double middle = pseudo_median(noise);

		for (size_t s = 0; s < ARRAY_SIZE(spreads); s++) {
			size_t covered = 0, launches = 0, known = 0;

			for (size_t i = 0; i < count; i++) {
				size_t n;
				bool enough;

				covered += covered_when_known(spreads[s], noise, middle, 0.01, 40,
							      &n, &enough);
				launches += n;
				known += enough;
			}
			printf("launches = auto, %s, %.1f %%: %.1f launches, known to 1 %% in "
			       "%.1f %%, covered %.1f %%\n",
			       noise_names[noise], 100 * spreads[s],
			       (double)launches / (double)count,
			       100 * (double)known / (double)count,
			       100 * (double)covered / (double)count);
			assert_true((double)covered >= 0.93 * (double)count);
			assert_true(spreads[s] > 0.01 || known * 100 >= 95 * count);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(healthy_nodes_are_accepted),
		cmocka_unit_test(a_slow_gpu_is_named),
		cmocka_unit_test(products_on_all_devices_at_once_judge_alike),
		cmocka_unit_test(products_on_all_devices_at_once_warn_alike),
		cmocka_unit_test(intervals_cover),
		cmocka_unit_test(launches_as_many_as_needed_cover),
		cmocka_unit_test(unchanged_code_is_rarely_called_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
