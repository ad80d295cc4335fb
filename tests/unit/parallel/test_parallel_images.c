/*
 * The convolutional models of the suite `parallel`: their numbers of parameters and operations
 * against published ones, the reference against central differences, one device and splits of the
 * batch against the reference, what recomputation saves, what is refused.
 */
#include "parallel_setups.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "kernels/convolution/convolution.h"
#include "suites/training/models/reference/reference.h"
#include "suites/training/parallel/memory_classes.h"
#include "suites/training/parallel/ranks/connection_cache.h"

static struct setup image_setup(enum model_kind kind, const struct image_shape *shape,
				const char *mode, int ranks, enum precision precision)
{
	struct setup s = tiny(mode, ranks, precision);

	image_model_setup(&s, kind, shape);
	s.batch = 16;
	setup_fit_mode(&s);
	s.rate = setup_safe_rate(&s);
	return s;
}

static struct setup tiny_convnet(const char *mode, int ranks, enum precision precision,
				 bool depthwise)
{
	const struct image_shape shape = {
		.image = 9, .channels = 5, .blocks = 2, .classes = 7, .depthwise = depthwise
	};

	return image_setup(MODEL_CONVNET, &shape, mode, ranks, precision);
}

static struct setup tiny_resnet(const char *mode, int ranks, enum precision precision,
				uint64_t blocks, bool depthwise)
{
	const struct image_shape shape = {
		.image = 32, .channels = 4, .blocks = blocks, .classes = 7, .depthwise = depthwise
	};

	return image_setup(MODEL_RESNET, &shape, mode, ranks, precision);
}

/* torchvision's models; operations by He et al. 2015, table 1 (of ResNet 50 and more in the
 * variant with the stride in the 3 x 3 convolution, as torchvision counts them). */
static void published_sizes_are_met(void **state)
{
	static const struct {
		uint64_t blocks, parameters;
		double products;
	} published[] = {
		{ 18, 11689512, 1.814e9 },  { 34, 21797672, 3.664e9 },   { 50, 25557032, 4.089e9 },
		{ 101, 44549160, 7.801e9 }, { 152, 60192808, 11.514e9 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(published) / sizeof(published[0]); i++) {
		const struct image_shape shape = {
			.image = 224, .channels = 64, .blocks = published[i].blocks, .classes = 1000
		};
		struct setup s = image_setup(MODEL_RESNET, &shape, "single", 1, PRECISION_FP32);
		double forward = 0;
		struct model model;

		model_init(&model, &s);
		assert_int_equal(model.parameters, published[i].parameters);
		for (size_t l = 1; l < s.layers; l++)
			forward += model_layer_flops(&s, l, 1) / 3;
		/* The first layer does without the gradient of its input. */
		forward += model_layer_flops(&s, 0, 1) / 2;
		assert_true(fabs(forward / 2 / published[i].products - 1) < 0.001);
	}
}

/* 9 c + c f weights in place of 9 c f. */
/* A rate is comparable with published ones for their model alone. */
static void only_the_published_resnet50_has_its_rate(void **state)
{
	static const struct image_shape published = {
		.image = 224, .channels = 64, .blocks = 50, .classes = 1000
	};
	struct setup setup = { .kind = MODEL_RESNET, .images = published };

	(void)state;
	assert_true(setup_is_published_resnet50(&setup));
	setup.images.depthwise = 1;
	assert_false(setup_is_published_resnet50(&setup));
	setup.images = published;
	setup.images.image = 112;
	assert_false(setup_is_published_resnet50(&setup));
	setup.images = published;
	setup.images.blocks = 34;
	assert_false(setup_is_published_resnet50(&setup));
	setup.images = published;
	setup.kind = MODEL_CONVNET;
	assert_false(setup_is_published_resnet50(&setup));
}

static void depthwise_convolutions_have_fewer_weights(void **state)
{
	static const struct image_shape shape = {
		.image = 32, .channels = 32, .blocks = 3, .classes = 10, .depthwise = 1
	};
	struct image_shape plain = shape;
	struct setup s = image_setup(MODEL_CONVNET, &shape, "single", 1, PRECISION_FP32), all;
	struct model fewer, more;

	(void)state;
	plain.depthwise = 0;
	all = image_setup(MODEL_CONVNET, &plain, "single", 1, PRECISION_FP32);
	model_init(&fewer, &s);
	model_init(&more, &all);
	assert_int_equal(more.parameters, 27 * 32 + 32 + 9 * 32 * 64 + 64 + 9 * 64 * 128 + 128 +
						  4 * 4 * 128 * 128 + 128 + 1280 + 10);
	assert_int_equal(more.parameters - fewer.parameters,
			 (9 * 32 * 64 - (9 * 32 + 32) - 32 * 64) +
				 (9 * 64 * 128 - (9 * 64 + 64) - 64 * 128));
	assert_true(model_flops(&s) < 0.4 * model_flops(&all));
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

/* A step over a kink of a ReLU is no error of the derivative: the smaller ones do not. */
static void check_element(struct mlp_reference *ref, const struct model_tensor *t, uint64_t i,
			  double gradient, double largest)
{
	double slope = NAN;

	for (double h = 1e-5; h > 1e-8; h /= 10) {
		slope = (loss_with(ref, i, ref->parameters[i] + h) -
			 loss_with(ref, i, ref->parameters[i] - h)) /
			(2 * h);
		if (fabs(slope - gradient) <= 1e-4 * largest)
			return;
	}
	fail_msg("%s, element %llu: gradient %g, central difference %g", t->name,
		 (unsigned long long)(i - t->first), gradient, slope);
}

static void check_gradients(const struct setup *setup)
{
	struct mlp_reference ref;
	double *gradients;

	model_reference_open(&ref, setup);
	model_reference_step(&ref, NULL);
	gradients = calloc(ref.model.elements, sizeof(*gradients));
	memcpy(gradients, ref.gradients, ref.model.elements * sizeof(*gradients));
	for (size_t l = 0; l < setup->layers; l++)
		for (size_t k = 0; k < ref.model.layer[l].tensors; k++) {
			const struct model_tensor *t = &ref.model.layer[l].tensor[k];
			double largest = 0;

			for (uint64_t i = 0; i < t->count; i++)
				largest = fmax(largest, fabs(gradients[t->first + i]));
			assert_true(largest > 1e-8);
			check_element(&ref, t, t->first + t->count / 2,
				      gradients[t->first + t->count / 2], largest);
			check_element(&ref, t, t->first + t->count - 1,
				      gradients[t->first + t->count - 1], largest);
		}
	free(gradients);
	model_reference_close(&ref);
}

static void reference_gradients_are_derivatives(void **state)
{
	struct setup convnet = tiny_convnet("single", 1, PRECISION_FP64, true), resnet;
	const struct image_shape shape = { .image = 40, .channels = 2, .blocks = 18, .classes = 5 };

	(void)state;
	convnet.batch = 4;
	check_gradients(&convnet);
	resnet = image_setup(MODEL_RESNET, &shape, "single", 1, PRECISION_FP64);
	/* Two groups of rows with statistics of their own. */
	resnet.batch = 8;
	resnet.norm_groups = 2;
	check_gradients(&resnet);
}

static void expect_reference(const struct setup *setup, const char *what)
{
	char name[120];

	snprintf(name, sizeof(name), "%s: %s on %d, %s", what, setup->mode->name, setup->ranks,
		 precision_name(setup->precision));
	assert_ranks(run_ranks(setup->ranks, run_reference, (void *)setup), setup->ranks, STATUS_OK,
		     name);
}

static const enum precision precisions[] = { PRECISION_FP32, PRECISION_FP16, PRECISION_BF16 };

static void single_equals_the_reference(void **state)
{
	(void)state;
	for (size_t p = 0; p < sizeof(precisions) / sizeof(precisions[0]); p++)
		for (int variant = 0; variant < 4; variant++) {
			struct setup s = tiny_convnet("single", 1, precisions[p], variant % 2);

			s.accumulate = variant < 2 ? 1 : 4;
			s.segments = variant == 1 || variant == 2 ? s.layers : 0;
			expect_reference(&s, "convnet");
		}
}

static void residual_networks_equal_the_reference(void **state)
{
	struct setup s = tiny_resnet("single", 1, PRECISION_FP32, 18, true);

	(void)state;
	s.accumulate = 2;
	expect_reference(&s, "resnet 18, depthwise, in parts");
	s = tiny_resnet("single", 1, PRECISION_FP16, 18, false);
	s.segments = s.layers;
	expect_reference(&s, "resnet 18, recomputed");
	s = tiny_resnet("single", 1, PRECISION_FP32, 50, false);
	s.norm_groups = 2;
	expect_reference(&s, "resnet 50, two groups of rows");
	s = tiny_resnet("single", 1, PRECISION_BF16, 50, false);
	expect_reference(&s, "resnet 50");
	s.no_aliasing = true;
	expect_reference(&s, "resnet 50 without aliasing");
}

static void splits_of_the_batch_equal_the_reference(void **state)
{
	static const char *const batch_modes[] = { "ddp", "zero1", "zero2", "zero3" };

	(void)state;
	for (size_t m = 0; m < sizeof(batch_modes) / sizeof(batch_modes[0]); m++) {
		struct setup s = tiny_convnet(batch_modes[m], 4, precisions[m % 3], m % 2);

		expect_reference(&s, "convnet");
		s = tiny_resnet(batch_modes[m], 2, precisions[(m + 1) % 3], 18, false);
		s.segments = m % 2 ? s.layers : 0;
		expect_reference(&s, "resnet 18");
	}
}

/* A library whose second engine works, in the process of a rank: it calls the built-in kernels. */
#define LIBRARY_WORKSPACE 5000

struct library_engines {
	struct convolution_engines base;
	struct stream *stream;
	struct convolution_shape shape;
	enum convolution_pass pass;
	float *scratch;
};

static struct {
	enum status open; /* the result of opening */
	const char *failure;
	enum { RIGHT, UNWRITTEN, HALF_WRONG } result;
	int opened, closed;
	int ran[PASS_WEIGHTS_ADD + 1]; /* by pass */
} library;

static enum status library_open(struct stream *stream, const struct convolution_shape *shape,
				int pass, uint64_t workspace, unsigned most,
				struct convolution_engines **out, struct error *err)
{
	struct library_engines *e;

	if (library.open != STATUS_OK)
		return error_set(err, library.open, "the library says no");
	if (shape->depthwise || workspace < LIBRARY_WORKSPACE || most < 2)
		return error_set(err, STATUS_INTERNAL, "a question that is not for the library");
	e = calloc(1, sizeof(*e));
	*e = (struct library_engines){ .base = { .device = stream->device,
						 .count = 2,
						 .engines = { { "first", 10 },
							      { "second", LIBRARY_WORKSPACE } } },
				       .stream = stream,
				       .shape = *shape,
				       .pass = (enum convolution_pass)pass,
				       .scratch = malloc(kernel_convolution_scratch_bytes(shape)) };
	snprintf(e->base.failure, sizeof(e->base.failure), "%s",
		 library.failure ? library.failure : "");
	library.opened++;
	*out = &e->base;
	return STATUS_OK;
}

static enum status library_run(struct convolution_engines *engines, unsigned engine,
			       const struct convolution_tensors *t, struct error *err)
{
	struct library_engines *e = (struct library_engines *)engines;
	struct convolution_forward_arguments forward = { e->shape, t->x, t->w, t->y };
	struct convolution_data_gradient_arguments data = { e->shape, t->y, t->w, t->x };
	struct convolution_weight_gradient_arguments weights = {
		e->shape, t->x, t->y, t->w, e->scratch, e->pass == PASS_WEIGHTS_ADD
	};

	if (strcmp(engines->engines[engine].name, "first") == 0)
		return error_set(err, STATUS_UNSUPPORTED, "not this one");
	memset(t->workspace, 0x7f, LIBRARY_WORKSPACE);
	library.ran[e->pass]++;
	if (library.result == UNWRITTEN)
		return STATUS_OK;
	switch (e->pass) {
	case PASS_FORWARD:
		backend_launch(e->stream, "convolution_forward", &forward, err);
		if (library.result == HALF_WRONG)
			backend_memory_set(e->stream, t->y, 0,
					   kernel_convolution_out_pixels(&e->shape) *
						   e->shape.filters *
						   precision_bytes(e->shape.precision) / 2,
					   err);
		return err->status;
	case PASS_DATA:
		return backend_launch(e->stream, "convolution_data_gradient", &data, err);
	default:
		return backend_launch(e->stream, "convolution_weight_gradient", &weights, err);
	}
}

static enum status library_keep(struct convolution_engines *engines, unsigned engine,
				struct error *err)
{
	(void)err;
	engines->engines[0] = engines->engines[engine];
	engines->count = 1;
	return STATUS_OK;
}

static void library_close(struct convolution_engines *engines)
{
	free(((struct library_engines *)engines)->scratch);
	free(engines);
	library.closed++;
}

/* Two cases on the streams of one cache, as the worker carries them out. */
static enum status run_by_library(struct device *device, struct world *world, void *context,
				  struct error *err)
{
	const struct setup *setup = context;
	struct connection_cache *cache = connection_cache_open();
	static struct backend other;
	int opened = 0;

	other = *device->backend;
	other.convolution_open = library_open;
	other.convolution_keep = library_keep;
	other.convolution_run = library_run;
	other.convolution_close = library_close;
	device->backend = &other;
	device->info.capabilities |= DEVICE_HAS_CONVOLUTIONS;
	for (int i = 0; i < 2; i++) {
		struct verify_check check = { 0 };
		struct rank_team team;

		if (connection_cache_team_open(cache, &team, device, world, TRANSPORT_AUTO, 0,
					       err) != STATUS_OK ||
		    verify_reference(setup, &team, &check, err) != STATUS_OK)
			return err->status;
		connection_cache_keep_team(cache, &team);
		if (i == 1 && library.opened != opened)
			return error_set(err, STATUS_INTERNAL, "searched twice");
		opened = library.opened;
	}
	connection_cache_close(cache);
	if (library.closed != library.opened)
		return error_set(err, STATUS_INTERNAL, "%d opened, %d closed", library.opened,
				 library.closed);
	if ((library.open == STATUS_OK && setup->search_seconds > 0) != (opened > 0))
		return error_set(err, STATUS_INTERNAL, "%d opened", opened);
	/* Depthwise convolutions are none of the library's, and the first layer has no dx. */
	for (int pass = 0; pass <= PASS_WEIGHTS_ADD; pass++)
		if ((library.ran[pass] > 0) !=
		    (opened > 0 && (pass != PASS_WEIGHTS_ADD || setup->accumulate > 1)))
			return error_set(err, STATUS_INTERNAL, "pass %d ran %d times", pass,
					 library.ran[pass]);
	return STATUS_OK;
}

/* Every pass, after a long and a short search, also in parts, recomputed and on several ranks. */
static void a_library_computes_convolutions(void **state)
{
	struct setup s;

	(void)state;
	for (int i = 0; i < 4; i++) {
		s = i % 2 ? tiny_resnet(i >= 2 ? "ddp" : "single", i >= 2 ? 2 : 1,
					precisions[i % 3], 18, false)
			  : tiny_convnet(i >= 2 ? "zero1" : "single", i >= 2 ? 2 : 1,
					 precisions[i % 3], i == 0);
		s.accumulate = i == 0 || i == 3 ? 2 : 1;
		s.segments = i & 1 ? s.layers : 0;
		s.search_seconds = i & 2 ? 0.1 : 0.01;
		assert_ranks(run_ranks(s.ranks, run_by_library, &s), s.ranks, STATUS_OK,
			     s.mode->name);
	}
	/* Without a search, and after a refusal: the built-in kernels. A failure is the step's. */
	s = tiny_convnet("single", 1, PRECISION_FP32, false);
	s.search_seconds = 0;
	assert_ranks(run_ranks(1, run_by_library, &s), 1, STATUS_OK, "no time to search");
	s.search_seconds = 0.01;
	library.open = STATUS_UNSUPPORTED;
	assert_ranks(run_ranks(1, run_by_library, &s), 1, STATUS_OK, "refused");
	library.open = STATUS_NO_MEMORY;
	assert_ranks(run_ranks(1, run_by_library, &s), 1, STATUS_NO_MEMORY, "no memory");
	library.open = STATUS_OK;
}

/* Returns the network's note as the error; the second case uses the cache of the first. */
static enum status describe_choices(struct device *device, struct world *world, void *context,
				    struct error *err)
{
	struct connection_cache *cache = connection_cache_open();
	static struct backend other;
	enum status first = library.open;

	other = *device->backend;
	other.convolution_open = library_open;
	other.convolution_keep = library_keep;
	other.convolution_run = library_run;
	other.convolution_close = library_close;
	device->backend = &other;
	device->info.capabilities |= DEVICE_HAS_CONVOLUTIONS;
	for (int i = 0; i < 2; i++) {
		struct rank_team team;
		struct trainer trainer;
		struct text note = TEXT_EMPTY;

		if (connection_cache_team_open(cache, &team, device, world, TRANSPORT_AUTO, 0,
					       err) != STATUS_OK)
			return err->status;
		if (trainer_open(&trainer, context, &team, err) == STATUS_OK)
			convolutions_describe(&trainer.network, &note);
		if (i == 1 && err->status == STATUS_OK)
			error_set(err, STATUS_INTERNAL, "%s", note.data ? note.data : "");
		/* A failure of memory is no choice: the next case searches again. */
		if (i == 0 && first == STATUS_NO_MEMORY && err->status == first)
			*err = (struct error)ERROR_NONE;
		library.open = STATUS_OK;
		trainer_close(&trainer);
		text_release(&note);
		connection_cache_keep_team(cache, &team);
		if (err->status != STATUS_OK)
			break;
	}
	connection_cache_close(cache);
	return err->status;
}

/* The note counts each kind of choice, names what failed, and says how far results differ. */
static void the_note_tells_why_an_engine_is_not_used(void **state)
{
	struct setup s = tiny_convnet("single", 1, PRECISION_FP32, false);
	const char *note;

	(void)state;
	s.search_seconds = 0.01;
	for (int i = 0; i < 2; i++) {
		library.open = i ? STATUS_NO_MEMORY : STATUS_OK;
		library.failure = "engine 7 has no memory";
		note = run_ranks(1, describe_choices, &s)[0].err.message;
		if (!strstr(note, "The library computes 5 of 5 plain convolutions") ||
		    !strstr(note, "by at most 0 (relative L2; tolerance 2e-05).") ||
		    !strstr(note, "Not used: engine 7 has no memory.") || strstr(note, "For "))
			fail_msg("%s", note);
		library.failure = NULL;
	}
	library.open = STATUS_UNSUPPORTED;
	note = run_ranks(1, describe_choices, &s)[0].err.message;
	if (!strstr(note, "The library computes 0 of 5 plain") ||
	    !strstr(note, "For 5 the library has no engine that can be used. Not used: the "
			  "library says no."))
		fail_msg("%s", note);
	library.open = STATUS_OK;
}

/* The engine that a step uses is compared with the built-in kernels. */
static void a_wrong_engine_is_a_mismatch(void **state)
{
	struct setup s = tiny_resnet("single", 1, PRECISION_BF16, 18, false);
	const struct rank_outcome *outcome;
	const char *text;

	(void)state;
	s.search_seconds = 0.01;
	for (int i = 0; i < 2; i++) {
		library.result = i ? UNWRITTEN : HALF_WRONG;
		outcome = run_ranks(1, describe_choices, &s);
		assert_ranks(outcome, 1, STATUS_MISMATCH, "a wrong engine");
		text = outcome[0].err.message;
		if (!strstr(text, "In pass forward, second of the library differs from the ") ||
		    !strstr(text, "16 images of 32 x 32 x 3, 4 filters of 7 x 7"))
			fail_msg("%s", text);
	}
	library.result = RIGHT;
}

/*
 * Memory of a published ResNet-50: outputs, and with aliasing only the gradients
 * of the last block; without, the five largest gradients of the first layers.
 */
static void gradients_use_memory_of_later_layers(void **state)
{
	const struct image_shape shape = {
		.image = 224, .channels = 64, .blocks = 50, .classes = 1000
	};
	struct setup s = image_setup(MODEL_RESNET, &shape, "single", 1, PRECISION_BF16);
	uint64_t largest = UINT64_C(128) * 56 * 56 * 256 * 2, apart;

	(void)state;
	s.batch = 128;
	s.no_aliasing = true;
	apart = memory_classes_footprint(&s);
	s.no_aliasing = false;
	assert_in_range(apart - memory_classes_footprint(&s), 4 * largest, 5 * largest);
	/* Parts of the batch, whose gradients are added, alias as well. */
	s.batch = 256;
	s.accumulate = 2;
	assert_in_range(apart - memory_classes_footprint(&s), 3 * largest, 5 * largest);
	s.segments = s.layers;
	apart = memory_classes_footprint(&s);
	s.no_aliasing = true;
	assert_int_equal(memory_classes_footprint(&s), apart);
}

static void recomputation_keeps_one_layer(void **state)
{
	struct setup s = tiny_resnet("single", 1, PRECISION_FP32, 152, false);
	uint64_t all;

	(void)state;
	/* Activations, not weights and scratch, are what there is. */
	s.batch = 8192;
	all = memory_classes_footprint(&s);
	s.segments = s.layers;
	assert_true(memory_classes_footprint(&s) < all / 2);
}

static void what_is_not_computed_is_refused(void **state)
{
	struct setup s = tiny_convnet("single", 1, PRECISION_FP64, false);
	char text[200];

	(void)state;
	assert_non_null(strstr(image_model_setup_refusal(&s, text, sizeof(text)), "fp64"));
	s = tiny_convnet("tensor", 2, PRECISION_FP32, false);
	assert_string_equal(image_model_setup_refusal(&s, text, sizeof(text)),
			    "model = convnet works only with single, ddp and zero1 to zero3");
	s = tiny_resnet("ddp", 3, PRECISION_FP32, 18, false);
	assert_string_equal(image_model_setup_refusal(&s, text, sizeof(text)),
			    "16 images are not divisible into 3 parts");
	s = tiny_resnet("single", 1, PRECISION_FP32, 18, false);
	s.segments = 2;
	assert_non_null(strstr(image_model_setup_refusal(&s, text, sizeof(text)), "recompute"));
	s.segments = s.layers;
	assert_null(image_model_setup_refusal(&s, text, sizeof(text)));
}

static void smaller_models_have_the_same_depth(void **state)
{
	static const struct image_shape shape = {
		.image = 224, .channels = 64, .blocks = 152, .classes = 1000
	};
	struct setup s = image_setup(MODEL_RESNET, &shape, "ddp", 2, PRECISION_BF16), small;

	(void)state;
	s.batch = 512;
	assert_false(setup_shrink(&s, 1e9, &small));
	assert_int_equal(small.layers, s.layers);
	assert_true(model_flops(&small) <= 1e9 && model_flops(&small) > 0.05e9);
	assert_true(small.images.image >= 32 && small.batch % 2 == 0);
	assert_null(image_model_setup_refusal(&small, (char[200]){ 0 }, 200));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(published_sizes_are_met),
		cmocka_unit_test(only_the_published_resnet50_has_its_rate),
		cmocka_unit_test(depthwise_convolutions_have_fewer_weights),
		cmocka_unit_test(single_equals_the_reference),
		cmocka_unit_test(residual_networks_equal_the_reference),
		cmocka_unit_test(splits_of_the_batch_equal_the_reference),
		cmocka_unit_test(a_library_computes_convolutions),
		cmocka_unit_test(the_note_tells_why_an_engine_is_not_used),
		cmocka_unit_test(a_wrong_engine_is_a_mismatch),
		cmocka_unit_test(gradients_use_memory_of_later_layers),
		cmocka_unit_test(recomputation_keeps_one_layer),
		cmocka_unit_test(what_is_not_computed_is_refused),
		cmocka_unit_test(smaller_models_have_the_same_depth),
		/* The last: it starts threads in this process, which no fork survives. */
		cmocka_unit_test(reference_gradients_are_derivatives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
