/* Convolutions as cuDNN's graphs, against a table of functions that records what it is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/memory.h"
#include "device/cuda/dnn/cudnn.h"
#include "device/cuda/dnn/cudnn_abi.h"

#define ATTRIBUTES 10

struct descriptor {
	int type;
	bool final;
	struct {
		int name;
		int64_t count, values[4];
	} attributes[ATTRIBUTES];
	int count;
	int64_t engine; /* of a configuration or an engine */
};

/* Engines that the heuristics offer, in their order: A, then the fallback. */
static const struct offer {
	int64_t engine;
	int mode, note; /* -1: none */
	int64_t workspace;
	int plan, execution; /* results of building and executing a plan */
} offers[] = {
	{ 11, CUDNN_HEURISTIC_A, CUDNN_NOTE_NONDETERMINISTIC, 0, 0, 0 },
	{ 12, CUDNN_HEURISTIC_A, -1, 0, CUDNN_NOT_SUPPORTED + 2, 0 },
	{ 13, CUDNN_HEURISTIC_A, -1, 5000, 0, 0 },
	{ 14, CUDNN_HEURISTIC_A, CUDNN_NOTE_TENSOR_CORE, 100, 0, 0 },
	{ 15, CUDNN_HEURISTIC_A, CUDNN_NOTE_REDUCED_PRECISION_REDUCTION, 0, 0, 0 },
	{ 16, CUDNN_HEURISTIC_A, CUDNN_NOTE_WINOGRAD, 0, 0, 0 },
	{ 17, CUDNN_HEURISTIC_FALLBACK, -1, 4096, 0, CUDNN_NOT_SUPPORTED },
};

static struct {
	int live;
	bool offers_nothing;
	int mode_refused; /* heuristic that cannot be made; 0: none */
	int64_t failing;  /* engine whose plan gives `failure`; 0: none, -1: each */
	int failure;
	int create, set_stream, handles; /* results of both calls; handles that are not destroyed */
	struct descriptor *tensors[3], *convolution, *operation;
	int64_t ids[3], pointers[3], workspace;
} fake;

static const struct offer *offer_of(int64_t engine)
{
	for (size_t i = 0; i < ARRAY_SIZE(offers); i++)
		if (offers[i].engine == engine)
			return &offers[i];
	fail_msg("no engine %d", (int)engine);
	return NULL;
}

static const int64_t *values_of(const struct descriptor *d, int name)
{
	for (int i = 0; i < d->count; i++)
		if (d->attributes[i].name == name)
			return d->attributes[i].values;
	return NULL;
}

static int fake_create(int type, void **out)
{
	struct descriptor *d = xcalloc(1, sizeof(*d));

	d->type = type;
	fake.live++;
	*out = d;
	return CUDNN_SUCCESS;
}

static int fake_destroy(void *descriptor)
{
	fake.live--;
	free(descriptor);
	return CUDNN_SUCCESS;
}

static int fake_set(void *descriptor, int name, int type, int64_t count, const void *values)
{
	struct descriptor *d = descriptor;
	bool small = type == CUDNN_TYPE_DATA_TYPE || type == CUDNN_TYPE_FLOAT ||
		     type == CUDNN_TYPE_CONVOLUTION_MODE || type == CUDNN_TYPE_HEURISTIC_MODE;

	assert_false(d->final);
	assert_true(d->count < ATTRIBUTES && count <= 4);
	d->attributes[d->count].name = name;
	d->attributes[d->count].count = count;
	memcpy(d->attributes[d->count++].values, values, (size_t)count * (small ? 4 : 8));
	return CUDNN_SUCCESS;
}

static int fake_plan_result(const struct descriptor *plan)
{
	const struct descriptor *config =
		(struct descriptor *)(uintptr_t)*values_of(plan, CUDNN_PLAN_ENGINE_CONFIG);

	if (fake.failing == -1 || fake.failing == config->engine)
		return fake.failure;
	return offer_of(config->engine)->plan;
}

/* A descriptor that others refer to is read here, so it must be alive. */
static int fake_finalize(void *descriptor)
{
	struct descriptor *d = descriptor;

	d->final = true;
	if (d->type == CUDNN_TENSOR)
		fake.tensors[*values_of(d, CUDNN_TENSOR_ID) - 1] = d;
	else if (d->type == CUDNN_CONVOLUTION)
		fake.convolution = d;
	else if (d->type >= CUDNN_OPERATION_FORWARD && d->type <= CUDNN_OPERATION_DATA)
		fake.operation = d;
	else if (d->type == CUDNN_HEURISTIC &&
		 *values_of(d, CUDNN_HEURISTIC_MODE) == fake.mode_refused)
		return CUDNN_NOT_SUPPORTED;
	else if (d->type == CUDNN_PLAN)
		return fake_plan_result(d);
	return CUDNN_SUCCESS;
}

static int fake_get(void *descriptor, int name, int type, int64_t most, int64_t *count,
		    void *values)
{
	struct descriptor *d = descriptor;
	const struct offer *offer = d->engine ? offer_of(d->engine) : NULL;

	(void)type;
	*count = 1;
	switch (name) {
	case CUDNN_HEURISTIC_RESULTS:
		*count = 0;
		for (size_t i = 0; i < ARRAY_SIZE(offers) && !fake.offers_nothing; i++)
			if (offers[i].mode == *values_of(d, CUDNN_HEURISTIC_MODE) && *count < most)
				((struct descriptor **)values)[(*count)++]->engine =
					offers[i].engine;
		break;
	case CUDNN_ENGINE_CONFIG_ENGINE:
		(*(struct descriptor **)values)->engine = d->engine;
		break;
	case CUDNN_ENGINE_INDEX:
		*(int64_t *)values = d->engine;
		break;
	case CUDNN_ENGINE_NOTES:
		*count = offer->note >= 0;
		*(int *)values = offer->note;
		break;
	case CUDNN_PLAN_WORKSPACE:
		d = (struct descriptor *)(uintptr_t)*values_of(d, CUDNN_PLAN_ENGINE_CONFIG);
		*(int64_t *)values = offer_of(d->engine)->workspace;
		break;
	default:
		fail_msg("attribute %d was asked for", name);
	}
	return CUDNN_SUCCESS;
}

static int fake_execute(void *handle, void *plan, void *pack)
{
	struct descriptor *config =
		(struct descriptor *)(uintptr_t)*values_of(plan, CUDNN_PLAN_ENGINE_CONFIG);

	assert_true(handle == &fake);
	memcpy(fake.ids, values_of(pack, CUDNN_PACK_IDS), sizeof(fake.ids));
	memcpy(fake.pointers, values_of(pack, CUDNN_PACK_POINTERS), sizeof(fake.pointers));
	fake.workspace = *values_of(pack, CUDNN_PACK_WORKSPACE);
	return offer_of(config->engine)->execution;
}

static const char *fake_name(int status)
{
	return status == CUDNN_NOT_SUPPORTED + 2 ? "CUDNN_STATUS_NOT_SUPPORTED_SHAPE" : "OTHER";
}

static void fake_last(char *out, size_t size)
{
	snprintf(out, size, "too\nsmall");
}

static int fake_handle_create(void **handle)
{
	/* A handle that is not usable, as the library may leave one after a failure. */
	*handle = &fake;
	fake.handles += fake.create == CUDNN_SUCCESS;
	return fake.create;
}

static int fake_handle_destroy(void *handle)
{
	assert_true(handle == &fake);
	fake.handles--;
	return CUDNN_SUCCESS;
}

static int fake_set_stream(void *handle, void *stream)
{
	assert_true(handle == &fake && stream == &fake.live);
	return fake.set_stream;
}

static const struct convolution_shape shape = { .precision = PRECISION_FP16,
						.batch = 2,
						.height = 9,
						.width = 11,
						.channels = 3,
						.filters = 5,
						.kernel_height = 3,
						.kernel_width = 2,
						.stride = 2,
						.padding = 1 };

/* Names of the engines found, one after the other; or the error. Then the failure of another. */
static const char *engines_of(enum precision precision, enum convolution_pass pass, unsigned most)
{
	static char names[700];
	struct cudnn_engines e = { .handle = &fake, .pass = pass };
	struct convolution_shape s = shape;
	struct error err = ERROR_NONE;

	s.precision = precision;
	names[0] = '\0';
	if (cudnn_graph_engines_find(&e, &s, 4096, most, &err) != STATUS_OK) {
		snprintf(names, sizeof(names), "%s: %s", status_name(err.status), err.message);
	}
	for (unsigned i = 0; i < e.base.count; i++)
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s; ",
			 e.base.engines[i].name);
	if (e.base.count > 0)
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s",
			 e.base.failure);
	cudnn_graph_engines_release(&e);
	assert_int_equal(fake.live, 0);
	return names;
}

static void engines_that_vary_or_lose_digits_are_left_out(void **state)
{
	(void)state;
	assert_string_equal(engines_of(PRECISION_FP16, PASS_FORWARD, 16),
			    "engine 14, offer 4; engine 15, offer 5; engine 17, fallback 1; ");
	assert_string_equal(engines_of(PRECISION_BF16, PASS_WEIGHTS, 16),
			    "engine 14, offer 4; engine 17, fallback 1; ");
	assert_string_equal(engines_of(PRECISION_FP32, PASS_DATA, 16),
			    "engine 15, offer 5; engine 17, fallback 1; ");
	assert_string_equal(engines_of(PRECISION_TF32, PASS_DATA, 16), "engine 14, offer 4; ");
	assert_string_equal(engines_of(PRECISION_FP16, PASS_FORWARD, 1), "engine 14, offer 4; ");
}

/* Status of the search where every plan ends with `result`. */
static const char *engines_without_plans(int result)
{
	const char *text;

	fake.failing = -1;
	fake.failure = result;
	text = engines_of(PRECISION_FP16, PASS_DATA, 16);
	fake.failing = 0;
	return text;
}

/* Only a refusal means that there is no engine; the first failure counts, not the last one. */
static void a_failure_is_no_refusal(void **state)
{
	(void)state;
	assert_string_equal(engines_without_plans(CUDNN_NO_DEVICE_MEMORY),
			    "NO_MEMORY: cuDNN could not prepare an engine: cuDNN's plan: OTHER: "
			    "too small");
	assert_string_equal(engines_without_plans(CUDNN_NO_HOST_MEMORY),
			    "NO_MEMORY: cuDNN could not prepare an engine: cuDNN's plan: OTHER: "
			    "too small");
	assert_string_equal(engines_without_plans(CUDNN_NOT_INITIALIZED),
			    "DEVICE: cuDNN could not prepare an engine: cuDNN's plan: OTHER: too "
			    "small");
	assert_string_equal(engines_without_plans(CUDNN_INTERNAL_ERROR),
			    "DEVICE: cuDNN could not prepare an engine: cuDNN's plan: OTHER: too "
			    "small");
	assert_string_equal(engines_without_plans(CUDNN_BAD_PARAM),
			    "UNSUPPORTED: cuDNN has no engine for this convolution: cuDNN's plan: "
			    "OTHER: too small");

	/* The others are used, and the failure is kept although refusals follow. */
	fake.failing = 14;
	fake.failure = CUDNN_NO_DEVICE_MEMORY;
	assert_string_equal(engines_of(PRECISION_FP16, PASS_WEIGHTS, 16),
			    "engine 17, fallback 1; cuDNN's plan: OTHER: too small");
	fake.failing = 0;
}

static void a_handle_without_its_stream_is_not_kept(void **state)
{
	static const struct {
		int create, set_stream;
		enum status status;
	} rows[] = { { CUDNN_NOT_INITIALIZED, 0, STATUS_DEVICE },
		     { CUDNN_NO_HOST_MEMORY, 0, STATUS_NO_MEMORY },
		     { 0, CUDNN_BAD_PARAM, STATUS_UNSUPPORTED },
		     { 0, CUDNN_INTERNAL_ERROR, STATUS_DEVICE },
		     { 0, 0, STATUS_OK } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct error err = ERROR_NONE;
		void *handle = NULL;
		bool good = rows[i].status == STATUS_OK;

		fake.create = rows[i].create;
		fake.set_stream = rows[i].set_stream;
		assert_int_equal(cudnn_graph_handle_new(&handle, &fake.live, &err), rows[i].status);
		assert_true(handle == (good ? &fake : NULL));
		assert_int_equal(fake.handles, good);
		/* The second call has nothing to do. */
		if (good)
			assert_int_equal(cudnn_graph_handle_new(&handle, NULL, &err), STATUS_OK);
	}
}

static void the_reason_is_the_librarys(void **state)
{
	(void)state;
	fake.mode_refused = CUDNN_HEURISTIC_A;
	assert_string_equal(engines_of(PRECISION_FP16, PASS_DATA, 16), "engine 17, fallback 1; ");
	fake.offers_nothing = true;
	assert_string_equal(engines_of(PRECISION_FP16, PASS_DATA, 16),
			    "UNSUPPORTED: cuDNN has no engine for this convolution: cuDNN's "
			    "heuristic: OTHER: "
			    "too "
			    "small");
	fake.mode_refused = 0;
	assert_string_equal(engines_of(PRECISION_FP16, PASS_DATA, 16),
			    "UNSUPPORTED: cuDNN has no engine for this convolution: cuDNN's "
			    "heuristics "
			    "offer no engine");
	fake.offers_nothing = false;
}

/* Dimensions are N, C, H, W, of tensors that are N, H, W, C in memory. */
static void the_graph_is_the_convolution(void **state)
{
	static const int64_t sizes[3][4] = { { 5, 3, 3, 2 }, { 2, 3, 9, 11 }, { 2, 5, 5, 6 } };
	static const int64_t strides[3][4] = { { 18, 1, 6, 3 },
					       { 297, 1, 33, 3 },
					       { 150, 1, 30, 5 } };
	static const int types[] = { CUDNN_OPERATION_FORWARD, CUDNN_OPERATION_DATA,
				     CUDNN_OPERATION_WEIGHTS, CUDNN_OPERATION_WEIGHTS };
	char x, w, y, workspace;
	const struct convolution_tensors tensors = { &x, &w, &y, &workspace };

	(void)state;
	for (int pass = PASS_FORWARD; pass <= PASS_WEIGHTS_ADD; pass++) {
		float alpha, beta;
		struct cudnn_engines e = { .handle = &fake, .pass = (enum convolution_pass)pass };
		struct error err = ERROR_NONE;
		int first = 700 + 6 * (pass < PASS_WEIGHTS_ADD ? pass : PASS_WEIGHTS);

		assert_int_equal(cudnn_graph_engines_find(&e, &shape, 4096, 16, &err), STATUS_OK);
		assert_int_equal(fake.operation->type, types[pass]);
		for (int i = 0; i < 3; i++) {
			const struct descriptor *t = fake.tensors[i];

			assert_memory_equal(values_of(t, CUDNN_TENSOR_DIMENSIONS), sizes[i], 32);
			assert_memory_equal(values_of(t, CUDNN_TENSOR_STRIDES), strides[i], 32);
			assert_int_equal(*values_of(t, CUDNN_TENSOR_DATA_TYPE), CUDNN_HALF);
			/* after alpha, beta and the convolution: w, x, y */
			assert_true(*values_of(fake.operation, first + 3 + i) ==
				    (int64_t)(uintptr_t)t);
		}
		memcpy(&alpha, values_of(fake.operation, first), sizeof(alpha));
		memcpy(&beta, values_of(fake.operation, first + 1), sizeof(beta));
		assert_true(alpha == 1 && beta == (pass == PASS_WEIGHTS_ADD));
		assert_true(*values_of(fake.operation, first + 2) ==
			    (int64_t)(uintptr_t)fake.convolution);
		assert_int_equal(values_of(fake.convolution, CUDNN_CONVOLUTION_STRIDES)[1], 2);
		assert_int_equal(values_of(fake.convolution, CUDNN_CONVOLUTION_PRE_PADDINGS)[0], 1);

		assert_int_equal(cudnn_graph_engine_execute(&e, 0, &tensors, &err), STATUS_OK);
		assert_true(fake.pointers[0] == (int64_t)(uintptr_t)&w && fake.ids[0] == 1);
		assert_true(fake.pointers[1] == (int64_t)(uintptr_t)&x && fake.ids[1] == 2);
		assert_true(fake.pointers[2] == (int64_t)(uintptr_t)&y && fake.ids[2] == 3);
		assert_true(fake.workspace == (int64_t)(uintptr_t)&workspace);
		assert_int_equal(cudnn_graph_engine_execute(&e, e.base.count - 1, &tensors, &err),
				 STATUS_UNSUPPORTED);
		cudnn_graph_engines_release(&e);
		assert_int_equal(fake.live, 0);
	}
}

/* One plan is left, which is then the first, with what it refers to. */
static void plans_that_lost_are_destroyed(void **state)
{
	char x, w, y, workspace;
	const struct convolution_tensors tensors = { &x, &w, &y, &workspace };

	(void)state;
	for (unsigned keep = 0; keep < 3; keep++) {
		struct cudnn_engines e = { .handle = &fake, .pass = PASS_FORWARD };
		static const char *const names[] = { "engine 14, offer 4", "engine 15, offer 5",
						     "engine 17, fallback 1" };
		struct error err = ERROR_NONE;
		int live;

		assert_int_equal(cudnn_graph_engines_find(&e, &shape, 4096, 16, &err), STATUS_OK);
		live = fake.live;
		cudnn_graph_engines_keep(&e, keep);
		assert_int_equal(fake.live, live - 2);
		assert_int_equal(e.base.count, 1);
		assert_string_equal(e.base.engines[0].name, names[keep]);
		assert_int_equal(cudnn_graph_engine_execute(&e, 0, &tensors, &err),
				 keep == 2 ? STATUS_UNSUPPORTED : STATUS_OK);
		cudnn_graph_engines_release(&e);
		assert_int_equal(fake.live, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(engines_that_vary_or_lose_digits_are_left_out),
		cmocka_unit_test(the_reason_is_the_librarys),
		cmocka_unit_test(a_failure_is_no_refusal),
		cmocka_unit_test(a_handle_without_its_stream_is_not_kept),
		cmocka_unit_test(the_graph_is_the_convolution),
		cmocka_unit_test(plans_that_lost_are_destroyed),
	};

	cudnn = (struct cudnn_functions){ .cudnnCreate = fake_handle_create,
					  .cudnnDestroy = fake_handle_destroy,
					  .cudnnSetStream = fake_set_stream,
					  .cudnnBackendCreateDescriptor = fake_create,
					  .cudnnBackendDestroyDescriptor = fake_destroy,
					  .cudnnBackendSetAttribute = fake_set,
					  .cudnnBackendGetAttribute = fake_get,
					  .cudnnBackendFinalize = fake_finalize,
					  .cudnnBackendExecute = fake_execute,
					  .cudnnGetErrorString = fake_name,
					  .cudnnGetLastErrorString = fake_last };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
