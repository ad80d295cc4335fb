/* The suite `convolution`, on the host backend: every pass is right, and a wrong one is found. */
#include "base/clock.h"
#include "fixtures/scripted_clock.h"
#include "suite_fixture.h"
#include "suites/shared/convolutions.h"

#define QUICK                                                                                 \
	"[defaults]\nmin_samples = 3\nmax_samples = 3\nmax_time = 20ms\nsample_time = 20us\n" \
	"warmup = 1\n[suite convolution]\nbatch = 2\nimage = 9\nchannels = 6\n"

static double metric_of(const struct case_result *result, const char *name)
{
	const struct metric_value *metric = case_metric(result, name);

	if (!metric)
		fail_msg("no metric %s", name);
	return metric->value;
}

/* Odd images, strides that leave a rest, no padding, more filters than channels. */
static void every_pass_is_right(void **state)
{
	static const char *const shapes[] = {
		"",
		"stride = 2\n",
		"kernel_size = 4\npadding = 0\nstride = 3\n",
		"filters = 11\n",
		"kinds = depthwise\nkernel_size = 5\npadding = 2\nstride = 2\n",
	};
	static const char *const passes[] = { "forward", "data_gradient", "weight_gradient" };
	static const char *const precisions[] = { "fp32", "fp16", "bf16" };
	char ini[500];

	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++)
		for (size_t p = 0; p < ARRAY_SIZE(passes); p++)
			for (size_t k = 0; k < ARRAY_SIZE(precisions); k++) {
				struct case_result result;
				struct error err;

				snprintf(ini, sizeof(ini), QUICK "passes = %s\nprecisions = %s\n%s",
					 passes[p], precisions[k], shapes[i]);
				if (run_only_case(*state, ini, &result, &err) != STATUS_OK)
					fail_msg("%s: %s", ini, err.message);
				assert_true(result.verification.done);
				assert_true(metric_of(&result, "convolution.throughput") > 0);
				case_result_release(&result);
				assert_nothing_open(ini);
			}
}

/* 3 x 3 over 6 channels, by hand: 6 filters of 54 weights; depthwise of 9. */
static void weights_and_memory_are_counted(void **state)
{
	struct case_result result;
	struct error err;

	assert_int_equal(run_only_case(*state, QUICK "precisions = fp32\npasses = forward\n",
				       &result, &err),
			 STATUS_OK);
	assert_true(metric_of(&result, "convolution.weights") == 324);
	assert_true(metric_of(&result, "convolution.memory") == 4 * (324 + 2 * 2 * 9 * 9 * 6));
	case_result_release(&result);
	assert_int_equal(run_only_case(*state,
				       QUICK "precisions = fp32\npasses = forward\n"
					     "kinds = depthwise\n",
				       &result, &err),
			 STATUS_OK);
	assert_true(metric_of(&result, "convolution.weights") == 54);
	case_result_release(&result);
}

/* The CPU has one kernel, so there is nothing to search, by default and with a time. */
static void one_algorithm_needs_no_search(void **state)
{
	static const char *const keys[] = { "", "search_time = 5ms\n", "search_time = 0\n" };
	char ini[500];

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		struct case_result result;
		struct error err;

		snprintf(ini, sizeof(ini), QUICK "precisions = fp32\npasses = forward\n%s",
			 keys[i]);
		assert_int_equal(run_only_case(*state, ini, &result, &err), STATUS_OK);
		assert_null(case_metric(&result, "convolution.candidates"));
		assert_null(case_metric(&result, "convolution.search_gain"));
		assert_true(!result.notes || !strstr(result.notes, "Fastest"));
		assert_true(result.verification.done);
		case_result_release(&result);
		assert_nothing_open("search");
	}
}

/* Algorithms that take some time, refuse (0) or fail (below 0) on launch, and their launches. */
struct algorithms {
	struct stream *stream;
	double seconds[CONVOLUTION_ALGORITHMS];
	int launches[CONVOLUTION_ALGORITHMS];
};

static enum status launch_algorithm(void *state, unsigned algorithm, struct error *err)
{
	struct algorithms *a = state;

	a->launches[algorithm]++;
	if (a->seconds[algorithm] < 0)
		return error_set(err, STATUS_DEVICE, "lost");
	if (a->seconds[algorithm] == 0)
		return error_set(err, STATUS_UNSUPPORTED, "not this one");
	/* The event before it is recorded now, and not with the one after it. */
	if (backend_stream_synchronize(a->stream, err) == STATUS_OK)
		clock_sleep(a->seconds[algorithm]);
	return err->status;
}

static enum status search_algorithms(struct fixture *f, struct algorithms *a, double seconds,
				     struct convolution_search *found, struct error *err)
{
	enum status status;

	assert_int_equal(backend_stream_create(f->devices[0], false, &a->stream, err), STATUS_OK);
	atomic_store(&clock_scripted, true);
	status = convolution_search(a->stream, seconds, CONVOLUTION_ALGORITHMS, launch_algorithm, a,
				    found, err);
	atomic_store(&clock_scripted, false);
	backend_stream_destroy(a->stream);
	assert_nothing_open("search of algorithms");
	return status;
}

/* One that refuses is asked once; the fastest of the others is found; a failure ends the search. */
static void a_search_leaves_out_what_refuses(void **state)
{
	struct algorithms a = { .seconds = { [CONVOLUTION_CHOSEN] = 5e-3,
					     [CONVOLUTION_SIMT_64] = 1e-5,
					     [CONVOLUTION_MMA_64] = 5e-3 } };
	struct convolution_search found;
	struct error err = ERROR_NONE;

	if (search_algorithms(*state, &a, 0.5, &found, &err) != STATUS_OK)
		fail_msg("%s", err.message);
	assert_int_equal(found.usable, 3);
	assert_int_equal(found.fastest, CONVOLUTION_SIMT_64);
	assert_true(found.seconds < found.first_seconds);
	for (int i = 0; i < CONVOLUTION_ALGORITHMS; i++)
		assert_true(a.seconds[i] == 0 ? a.launches[i] == 1 : a.launches[i] > 1);

	a.seconds[CONVOLUTION_MMA_64] = -1;
	assert_int_equal(search_algorithms(*state, &a, 0.5, &found, &err), STATUS_DEVICE);
	assert_string_equal(err.message, "lost");

	/* The first may refuse; without time, the first that does not is taken. */
	a = (struct algorithms){
		.seconds = { [CONVOLUTION_MMA_64] = 5e-3, [CONVOLUTION_MMA_128] = 1e-5 }
	};
	err = (struct error)ERROR_NONE;
	assert_int_equal(search_algorithms(*state, &a, 0, &found, &err), STATUS_OK);
	assert_int_equal(found.fastest, CONVOLUTION_MMA_64);
	assert_int_equal(a.launches[CONVOLUTION_MMA_64], 1);
	assert_int_equal(a.launches[CONVOLUTION_MMA_128], 0);
	assert_int_equal(search_algorithms(*state, &a, 0.5, &found, &err), STATUS_OK);
	assert_int_equal(found.fastest, CONVOLUTION_MMA_128);
	a = (struct algorithms){ .seconds = { 0 } };
	assert_int_equal(search_algorithms(*state, &a, 0.5, &found, &err), STATUS_UNSUPPORTED);
	assert_string_equal(err.message, "not this one");
}

/*
 * A library on the host: an engine that refuses after all, and two that call the built-in kernel.
 */
static struct library {
	struct stream *stream;
	struct convolution_shape shape;
	enum convolution_pass pass;
	struct convolution_engines engines;
	bool refuses;     /* every engine */
	unsigned asked;   /* engines that the suite asked for */
	int open;         /* engines that are not closed */
	bool overwritten; /* a workspace was smaller than its engine needs */
} library;

static enum status library_open(struct stream *stream, const struct convolution_shape *shape,
				int pass, uint64_t workspace, unsigned most,
				struct convolution_engines **out, struct error *err)
{
	(void)err;
	assert_true(workspace >= 4096);
	library.stream = stream;
	library.shape = *shape;
	library.pass = (enum convolution_pass)pass;
	library.asked = most;
	library.open++;
	library.engines = (struct convolution_engines){
		.device = stream->device,
		.count = 3,
		.engines = { { "first", 8192 }, { "second", 4096 }, { "third", 100 } }
	};
	*out = &library.engines;
	return STATUS_OK;
}

static enum status library_run(struct convolution_engines *engines, unsigned engine,
			       const struct convolution_tensors *t, struct error *err)
{
	static const char *const kernels[] = { "convolution_forward", "convolution_data_gradient",
					       "convolution_weight_gradient" };
	const struct convolution_forward_arguments forward = { library.shape, t->x, t->w, t->y };
	const struct convolution_data_gradient_arguments data = { library.shape, t->y, t->w, t->x };
	const struct convolution_weight_gradient_arguments weights = { library.shape, t->x, t->y,
								       t->w,          NULL, 0 };
	const void *const arguments[] = { &forward, &data, &weights };

	if (engine == 0 || library.refuses)
		return error_set(err, STATUS_UNSUPPORTED, "no engine %u", engine);
	memset(t->workspace, 1, engines->engines[engine].workspace_bytes);
	library.overwritten |=
		!spy_on_device(t->workspace, engines->engines[engine].workspace_bytes);
	return backend_launch(library.stream, kernels[library.pass], arguments[library.pass], err);
}

static void library_close(struct convolution_engines *engines)
{
	(void)engines;
	library.open--;
}

static enum status run_by_library(struct fixture *f, const char *keys, struct case_result *result,
				  struct error *err)
{
	char ini[500];

	library = (struct library){ .refuses = library.refuses };
	spy.table.convolution_open = library_open;
	spy.table.convolution_run = library_run;
	spy.table.convolution_close = library_close;
	f->infos[0].capabilities |= DEVICE_HAS_CONVOLUTIONS;
	snprintf(ini, sizeof(ini), QUICK "precisions = fp32\n%s", keys);
	run_only_case(f, ini, result, err);
	f->infos[0].capabilities &= ~(unsigned)DEVICE_HAS_CONVOLUTIONS;
	assert_int_equal(library.open, 0);
	assert_false(library.overwritten);
	assert_nothing_open(keys);
	return err->status;
}

/* Every pass by an engine that works, with its workspace alone; the result says which. */
static void a_library_carries_out_what_it_can(void **state)
{
	static const char *const passes[] = { "forward", "data_gradient", "weight_gradient" };
	struct case_result result;
	struct error err;
	char keys[100];

	for (size_t i = 0; i < 3 * ARRAY_SIZE(passes); i++) {
		bool searched = i % 3 > 0;
		double workspace;

		snprintf(keys, sizeof(keys), "passes = %s\n%s", passes[i / 3],
			 i % 3 == 0   ? "search_time = 0\n"
			 : i % 3 == 1 ? "search_time = 5ms\n"
				      : "");
		if (run_by_library(*state, keys, &result, &err) != STATUS_OK)
			fail_msg("%s: %s", keys, err.message);
		assert_true(result.verification.done);
		workspace = metric_of(&result, "convolution.workspace");
		assert_true(workspace == 4096 || (searched && workspace == 100));
		assert_non_null(strstr(result.notes, workspace == 100 ? "third" : "second"));
		assert_int_equal(library.asked < CONVOLUTION_ENGINES, !searched);
		assert_int_equal(case_metric(&result, "convolution.candidates") != NULL, searched);
		if (searched)
			assert_true(metric_of(&result, "convolution.candidates") == 2);
		/* the tensors alone: 2 images of 9 x 9 x 6 twice, and 6 filters of 54 weights */
		assert_true(metric_of(&result, "convolution.memory") == 4 * (324 + 2 * 2 * 486));
		case_result_release(&result);
	}
	library.refuses = true;
	assert_int_equal(run_by_library(*state, "passes = forward\n", &result, &err),
			 STATUS_UNSUPPORTED);
	assert_string_equal(err.message, "no engine 2");
	case_result_release(&result);
	library.refuses = false;
}

/* `auto` becomes what a device has, under the same id; what is asked for is in the id. */
static void the_result_names_the_implementation(void **state)
{
	static const struct {
		const char *keys;
		unsigned capabilities;
		const char *implementation, *id;
	} cases[] = {
		{ "", 0, "own", "convolution/forward/plain/fp32/2@host:0" },
		{ "", DEVICE_HAS_CONVOLUTIONS, "library",
		  "convolution/forward/plain/fp32/2@host:0" },
		{ "kinds = depthwise\n", DEVICE_HAS_CONVOLUTIONS, "own",
		  "convolution/forward/depthwise/fp32/2@host:0" },
		{ "implementations = own\n", DEVICE_HAS_CONVOLUTIONS, "own",
		  "convolution/forward/plain/fp32/own/2@host:0" },
		{ "implementations = library\n", DEVICE_HAS_CONVOLUTIONS, "library",
		  "convolution/forward/plain/fp32/library/2@host:0" },
	};
	struct fixture *f = *state;
	struct device_info info = f->infos[0];
	char ini[500];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct plan_case *c;

		info.capabilities = f->infos[0].capabilities | cases[i].capabilities;
		snprintf(ini, sizeof(ini), QUICK "passes = forward\nprecisions = fp32\n%s",
			 cases[i].keys);
		plan_from(f, ini, &info, 1);
		assert_int_equal(f->plan.case_count, 1);
		c = &f->plan.cases[0];
		assert_null(c->skip_reason);
		assert_string_equal(case_text(c, "implementations"), cases[i].implementation);
		assert_string_equal(c->id, cases[i].id);
		/* the tensors, and room for the workspace */
		assert_true((c->device_bytes >= 256 << 20) ==
			    (strcmp(cases[i].implementation, "library") == 0));
		plan_done(f);
	}
	plan_from(f, QUICK "implementations = library\n", f->infos, 1);
	assert_non_null(strstr(f->plan.cases[0].skip_reason, "doctor"));
	plan_done(f);
}

static void a_wrong_result_is_a_mismatch(void **state)
{
	struct case_result result;
	struct error err;

	spy.spoil_copy = 1;
	spy.spoil_bytes = sizeof(float);
	assert_int_equal(run_only_case(*state, QUICK "precisions = fp32\n", &result, &err),
			 STATUS_MISMATCH);
	assert_non_null(strstr(err.message, "double precision"));
	assert_false(result.verification.done);
	case_result_release(&result);
	assert_nothing_open("mismatch");
}

/* A kernel larger than the padded image is the config's fault, and is said before anything runs. */
static void what_cannot_be_computed_is_skipped(void **state)
{
	struct fixture *f = *state;

	plan_from(f, QUICK "kernel_size = 12\n", f->infos, FIXTURE_DEVICES);
	for (size_t i = 0; i < f->plan.case_count; i++)
		assert_non_null(strstr(f->plan.cases[i].skip_reason, "padded image"));
	plan_done(f);
}

/* TF32 needs tensor cores that have it, and a convolution that has products for them. */
static void tf32_is_for_plain_convolutions_on_tensor_cores(void **state)
{
	struct device_info infos[FIXTURE_DEVICES];
	struct fixture *f = *state;

	memcpy(infos, f->infos, sizeof(infos));
	plan_from(f, QUICK "precisions = tf32\n", infos, 1);
	assert_true(f->plan.case_count == 3);
	assert_non_null(strstr(f->plan.cases[0].skip_reason, "does not support this precision"));
	plan_done(f);
	infos[0].capabilities |= DEVICE_HAS_TF32;
	plan_from(f, QUICK "precisions = tf32\nkinds = plain, depthwise\n", infos, 1);
	assert_true(f->plan.case_count == 6);
	for (size_t i = 0; i < f->plan.case_count; i++) {
		const struct plan_case *c = &f->plan.cases[i];

		if (strcmp(case_text(c, "kinds"), "plain") == 0)
			assert_null(c->skip_reason);
		else
			assert_non_null(strstr(c->skip_reason, "depthwise"));
	}
	plan_done(f);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, fixture_reset)
	const struct CMUnitTest tests[] = {
		TEST(every_pass_is_right),
		TEST(weights_and_memory_are_counted),
		TEST(one_algorithm_needs_no_search),
		TEST(a_search_leaves_out_what_refuses),
		TEST(a_library_carries_out_what_it_can),
		TEST(the_result_names_the_implementation),
		TEST(a_wrong_result_is_a_mismatch),
		TEST(what_cannot_be_computed_is_skipped),
		TEST(tf32_is_for_plain_convolutions_on_tensor_cores),
	};

	return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
