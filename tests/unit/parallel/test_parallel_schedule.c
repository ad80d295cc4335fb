/*
 * The schedule of pipelines with times that a case measured: against what can be worked out by
 * hand, and against the formula where that holds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "base/memory.h"
#include "suites/training/parallel/modes/modes.h"
#include "suites/training/parallel/derived.h"

/*
 * `ranks` layers of 1024 x 1024 and one of next to nothing before them, whose input needs no
 * gradient.
 */
static struct setup uniform(const char *mode, int ranks, uint64_t micro)
{
	struct setup s = { .mode = mode_find(mode),
			   .ranks = ranks,
			   .layers = (size_t)ranks + 1,
			   .batch = 4096,
			   .microbatches = micro,
			   .precision = PRECISION_FP32,
			   .loss_scale = 1 };

	s.widths[0] = 1;
	for (size_t l = 1; l <= s.layers; l++)
		s.widths[l] = 1024;
	return s;
}

static struct measured_schedule of_equal_stages(const struct setup *s, double compute,
						double update, double communication)
{
	double computes[SETUP_MAX_LAYERS], updates[SETUP_MAX_LAYERS];
	const struct measured_times times = { computes, updates, communication };

	for (int rank = 0; rank < s->ranks; rank++) {
		computes[rank] = compute;
		updates[rank] = update;
	}
	return parallel_derived_schedule_measured(s, &times);
}

static void assert_near(double value, double expected, double tolerance)
{
	if (!(fabs(value - expected) <= tolerance * fabs(expected)))
		fail_msg("%.9g instead of %.9g", value, expected);
}

/* Equal stages, messages that take no time: the formula's case, in which it is right. */
static void equal_stages_idle_by_the_formula(void **state)
{
	static const char *const names[] = { "layer_split", "gpipe", "1f1b", "1f1b_eager" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		for (int p = 2; p <= 8; p *= 2)
			for (uint64_t m = 1; m <= 32; m *= 4) {
				struct setup s = uniform(names[i], p, m);
				struct measured_schedule found = of_equal_stages(&s, 3, 0, 0);
				double bubble = s.mode->bubble(&s);

				assert_near(found.idle, bubble, 0.01);
				assert_near(found.seconds, 3 / (1 - bubble), 0.01);
			}
}

/*
 * Two stages, all forwards before all backwards: (m + 1) (f + b) + 2 c and the update. Messages
 * alone take 2 m c: every one of them, one after the other, there and back.
 */
static void messages_leave_stages_idle(void **state)
{
	(void)state;
	for (uint64_t m = 1; m <= 16; m *= 4)
		for (double c = 0.01; c < 0.4; c *= 3) {
			struct setup s = uniform("layer_split", 2, m);
			double each = 3, update = 0.5, micro = (double)m;
			struct measured_schedule found =
				of_equal_stages(&s, micro * each + update, update, 2 * micro * c);

			assert_near(found.seconds, (micro + 1) * each + update, 0.01);
			assert_near(found.idle,
				    1 - (micro * each + update) /
						    ((micro + 1) * each + 2 * c + update),
				    0.01);
			assert_true(found.idle >
				    of_equal_stages(&s, micro * each + update, update, 0).idle);
		}
}

/*
 * 1F1B waits for late messages in every turn: four stages, 12 micro-batches, a message as long as a
 * micro-batch's forward.
 */
static void late_messages_cost_1f1b_more_than_the_formula_says(void **state)
{
	struct setup plain = uniform("1f1b", 4, 12), eager = uniform("1f1b_eager", 4, 12);
	double late, early;

	(void)state;
	assert_near(plain.mode->bubble(&plain), 6.0 / 42, 1e-9);
	late = of_equal_stages(&plain, 36, 0, 30).idle;
	early = of_equal_stages(&eager, 36, 0, 30).idle;
	if (!(late > 0.2 && late < 0.6 && early < late))
		fail_msg("1F1B idles %g, eager %g", late, early);
}

/*
 * In turn: forward of both, backward of both; the cheaper first stage's update comes last. The
 * formula says 2 x 20.
 */
static void stages_that_differ_are_added_up(void **state)
{
	struct setup s = uniform("layer_split", 2, 1);
	const double compute[] = { 5, 20 }, update[] = { 1, 2 };
	const struct measured_times times = { compute, update, 0 };
	struct measured_schedule found = parallel_derived_schedule_measured(&s, &times);

	(void)state;
	assert_near(found.seconds, 5 + 20 - 2, 1e-9);
	assert_near(found.idle, 1 - 12.5 / 23, 1e-9);
}

/* Products of weights that wait for two or four micro-batches leave no stage idle for longer. */
static void shared_products_idle_no_longer(void **state)
{
	(void)state;
	for (int p = 2; p <= 4; p *= 2)
		for (uint64_t m = 8; m <= 16; m *= 2)
			for (uint64_t shared = 2; shared <= 4; shared *= 2) {
				struct setup s = uniform("1f1b", p, m);
				double plain = of_equal_stages(&s, 3, 0, 0).seconds, joined;

				s.wgrad_microbatches = shared;
				joined = of_equal_stages(&s, 3, 0, 0).seconds;
				assert_near(1 - 3 / joined, s.mode->bubble(&s), 0.01);
				if (!(joined < plain && joined >= 3))
					fail_msg("%d stages, %d of %d together: %g instead of %g",
						 p, (int)shared, (int)m, joined, plain);
			}
}

/* The last stage waits for one forward, and ends last: the first one's products are done before. */
static void shared_products_fill_the_end(void **state)
{
	struct setup s = uniform("1f1b", 2, 8);

	(void)state;
	s.wgrad_microbatches = 2;
	assert_near(s.mode->bubble(&s), 1.0 / 25, 1e-9);
	s.microbatches = 16;
	s.wgrad_microbatches = 4;
	assert_near(s.mode->bubble(&s), 1.0 / 49, 1e-9);
}

/*
 * A stage of a grid takes as long as its slowest rank; of one stage nothing idles. Elsewhere there
 * is no schedule.
 */
static void grids_and_other_modes(void **state)
{
	struct setup s = uniform("hybrid", 4, 1), ddp = uniform("ddp", 4, 1);
	const double compute[] = { 4, 5, 6, 7 }, update[] = { 0, 0, 0, 0 };
	const struct measured_times times = { compute, update, 1 };

	(void)state;
	s.grid = (struct grid){ 2, 1, 2 };
	/*
	 * Ranks 0 and 1 are the stages of the first pipeline, 2 and 3 of the second. The gradients
	 * of the last stage's weights are computed during the first stage's backward.
	 */
	assert_near(parallel_derived_schedule_measured(&s, &times).seconds, 6 + 7 * 2.0 / 3, 1e-9);
	s.grid = (struct grid){ 2, 2, 1 };
	assert_near(parallel_derived_schedule_measured(&s, &times).seconds, 7, 1e-9);
	assert_true(fabs(parallel_derived_schedule_measured(&s, &times).idle) < 1e-9);
	assert_near(parallel_derived_schedule_measured(&ddp, &times).seconds, 7, 1e-9);
	assert_true(isnan(parallel_derived_schedule_measured(&ddp, &times).idle));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_stages_idle_by_the_formula),
		cmocka_unit_test(messages_leave_stages_idle),
		cmocka_unit_test(late_messages_cost_1f1b_more_than_the_formula_says),
		cmocka_unit_test(stages_that_differ_are_added_up),
		cmocka_unit_test(shared_products_idle_no_longer),
		cmocka_unit_test(shared_products_fill_the_end),
		cmocka_unit_test(grids_and_other_modes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
