/*
 * Inputs of the suite `parallel` before any device is involved: the reference (checked by central
 * differences), number formats, the flat layout, stages, and the smaller model that a reference can
 * follow.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "suites/training/models/model.h"
#include "suites/training/models/reference/reference.h"
#include "suites/training/models/reference/values.h"
#include "suites/training/models/segments.h"
#include "suites/training/parallel/modes/modes.h"

static struct setup setup_of(size_t layers, const uint64_t *widths, uint64_t batch)
{
	struct setup s = { .ranks = 1,
			   .layers = layers,
			   .batch = batch,
			   .microbatches = 1,
			   .precision = PRECISION_FP64,
			   .loss_scale = 1,
			   .seed = 7 };

	s.mode = mode_find("single");
	memcpy(s.widths, widths, (layers + 1) * sizeof(*widths));
	return s;
}

static double loss_with(struct mlp_reference *ref, uint64_t i, double value)
{
	double kept = ref->parameters[i], loss;

	ref->parameters[i] = value;
	model_reference_step(ref, NULL);
	loss = ref->loss;
	ref->parameters[i] = kept;
	return loss;
}

static void reference_gradients_are_derivatives(void **state)
{
	static const uint64_t widths[] = { 7, 11, 9, 5 };
	const double h = 1e-6;
	struct setup setup = setup_of(3, widths, 6);
	struct mlp_reference ref;
	double *gradients, largest = 0;

	(void)state;
	model_reference_open(&ref, &setup);
	model_reference_step(&ref, NULL);
	gradients = calloc(ref.model.elements, sizeof(*gradients));
	memcpy(gradients, ref.gradients, ref.model.elements * sizeof(*gradients));
	for (uint64_t i = 0; i < ref.model.elements; i++)
		largest = fmax(largest, fabs(gradients[i]));
	assert_true(largest > 0.01);
	for (uint64_t i = 0; i < ref.model.elements; i++) {
		double up = loss_with(&ref, i, ref.parameters[i] + h);
		double down = loss_with(&ref, i, ref.parameters[i] - h);
		double error = fabs((up - down) / (2 * h) - gradients[i]);

		if (!(error <= 1e-6 * largest))
			fail_msg("parameter %llu: gradient %g, central difference %g",
				 (unsigned long long)i, gradients[i], (up - down) / (2 * h));
	}
	free(gradients);
	model_reference_close(&ref);
}

static void reference_loss_starts_near_a_guess(void **state)
{
	static const uint64_t widths[] = { 32, 64, 64, 10 };
	struct setup setup = setup_of(3, widths, 64);
	struct mlp_reference ref;

	(void)state;
	model_reference_open(&ref, &setup);
	model_reference_step(&ref, NULL);
	/* Ten classes at random: ln 10 and a little for confident wrong guesses. */
	assert_true(ref.loss > 1.5 && ref.loss < 4);
	model_reference_close(&ref);
}

static void reference_obeys_masks(void **state)
{
	static const uint64_t widths[] = { 4, 8, 3 };
	struct setup setup = setup_of(2, widths, 5);
	unsigned char closed[5 * 8] = { 0 };
	const unsigned char *masks[3] = { NULL, closed, NULL };
	struct mlp_reference ref;

	(void)state;
	model_reference_open(&ref, &setup);
	model_reference_step(&ref, masks);
	for (uint64_t i = 0; i < 8 * 4; i++)
		assert_true(ref.gradients[ref.model.layer[0].weight + i] == 0);
	for (uint64_t i = 0; i < 5 * 8; i++)
		assert_true(ref.activations[1][i] == 0);
	model_reference_close(&ref);
}

/*
 * Every 16-bit pattern decodes to a number that rounds to itself, and halves between neighbours go
 * to even.
 */
static void check_format(enum precision precision, uint16_t infinity)
{
	for (unsigned bits = 1; bits < infinity; bits++) {
		uint16_t words[2] = { (uint16_t)(bits - 1), (uint16_t)bits };
		double values[2], middle;

		values_decode(values, words, precision, 2);
		middle = (values[0] + values[1]) / 2;
		assert_true(values[1] > values[0]);
		assert_true(value_round(values[1], precision) == values[1]);
		assert_true(value_round(-values[1], precision) == -values[1]);
		assert_true(value_round(middle, precision) == values[bits % 2 ? 0 : 1]);
		assert_true(value_round(nextafter(middle, 0), precision) == values[0]);
		assert_true(value_round(nextafter(middle, INFINITY), precision) == values[1]);
	}
	assert_true(isinf(value_round(1e300, precision)));
}

static void formats_round_to_nearest_even(void **state)
{
	static const uint16_t words[] = { 0x3c00, 0x3555, 0x0001, 0x7bff, 0xc000, 0x7c00, 0x7e00 };
	double values[7];

	(void)state;
	values_decode(values, words, PRECISION_FP16, 7);
	assert_true(values[0] == 1 && values[1] == 0x1.554p-2 && values[2] == 0x1p-24 &&
		    values[3] == 65504);
	assert_true(values[4] == -2 && isinf(values[5]) && isnan(values[6]));
	check_format(PRECISION_FP16, 0x7c00);
	check_format(PRECISION_BF16, 0x7f80);
}

static void model_is_flat_and_last_layer_first(void **state)
{
	static const uint64_t widths[] = { 1000, 2000, 1000, 10 };
	struct setup setup = setup_of(3, widths, 1024);
	struct model model;

	(void)state;
	model_init(&model, &setup);
	assert_int_equal(model.parameters, 4013010);
	assert_int_equal(model.layer[2].weight, 0);
	assert_int_equal(model_first(&model, 3), 0);
	assert_int_equal(model_elements(&model, 0, 3), model.elements);
	assert_int_equal(model_first(&model, 2), model_elements(&model, 2, 3));
	assert_int_equal(model_elements(&model, 0, 1) + model_elements(&model, 1, 3),
			 model.elements);
	for (size_t l = 0; l < 3; l++) {
		assert_int_equal(model.layer[l].weight % MODEL_ALIGN, 0);
		assert_int_equal(model.layer[l].tensor[LINEAR_BIAS].first % MODEL_ALIGN, 0);
	}
	/* 6 B sum(in out) - 2 B in out of the first layer: 20.54 GFLOP. */
	assert_true(fabs(model_flops(&setup) - 20.54e9) < 0.01e9);
}

/* The best cut, found the slow way. */
static double best_by_trying(const struct setup *setup, size_t first, size_t stages)
{
	double best = INFINITY, work = 0;

	for (size_t last = first + 1; last <= setup->layers; last++) {
		double rest = 0;

		work += model_layer_flops(setup, last - 1, setup->batch);
		if (stages == 1 && last < setup->layers)
			continue;
		if (stages > 1)
			rest = best_by_trying(setup, last, stages - 1);
		best = fmin(best, fmax(work, rest));
	}
	return stages > 1 && first == setup->layers ? INFINITY : best;
}

static void stages_are_as_equal_as_can_be(void **state)
{
	static const uint64_t widths[] = { 100, 30, 70, 70, 10, 200, 40, 4 };
	struct setup setup = setup_of(7, widths, 8);

	(void)state;
	for (size_t stages = 1; stages <= setup.layers; stages++) {
		size_t bounds[SETUP_MAX_LAYERS + 1];
		double largest = 0;

		segments_balance(&setup, 0, setup.layers, stages, bounds);
		assert_int_equal(bounds[0], 0);
		assert_int_equal(bounds[stages], setup.layers);
		for (size_t s = 0; s < stages; s++) {
			double work = 0;

			assert_true(bounds[s] < bounds[s + 1]);
			for (size_t l = bounds[s]; l < bounds[s + 1]; l++)
				work += model_layer_flops(&setup, l, setup.batch);
			largest = fmax(largest, work);
		}
		assert_true(largest == best_by_trying(&setup, 0, stages));
	}
}

static void shrinking_keeps_the_structure(void **state)
{
	static const uint64_t widths[] = { 8192, 8192, 8192, 8192, 8192, 8192, 8192, 8192, 8192 };
	struct setup big = setup_of(8, widths, 8192), small;

	(void)state;
	big.ranks = 4;
	big.microbatches = 8;
	assert_false(setup_shrink(&big, 1e9, &small));
	assert_true(model_flops(&small) <= 1e9 && model_flops(&small) > 0.3e9);
	/* Tensors without gaps stay so: their activations alias the gradients here as well. */
	assert_int_equal(small.widths[3] % (MODEL_ALIGN * 4), 0);
	assert_int_equal(small.layers, 8);
	assert_int_equal(small.batch % (4 * 8), 0);
	assert_true(setup_shrink(&big, 1e15, &small));
	assert_int_equal(small.batch, 8192);
	/* A budget that nothing fits still leaves a model that the mode can split. */
	setup_shrink(&big, 1, &small);
	assert_int_equal(small.batch % (4 * 8), 0);
	assert_true(small.batch > 0 && small.widths[8] > 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reference_gradients_are_derivatives),
		cmocka_unit_test(reference_loss_starts_near_a_guess),
		cmocka_unit_test(reference_obeys_masks),
		cmocka_unit_test(formats_round_to_nearest_even),
		cmocka_unit_test(model_is_flat_and_last_layer_first),
		cmocka_unit_test(stages_are_as_equal_as_can_be),
		cmocka_unit_test(shrinking_keeps_the_structure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
