/*
 * A convolution as a graph of one operation, and the execution plans of the engines that the
 * library's heuristics offer for it. No CUDA call is made here.
 */
#include "device/cuda/dnn/cudnn.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "device/cuda/dnn/cudnn_abi.h"

struct cudnn_functions cudnn;

/* Configurations asked of a heuristic. */
#define OFFERED 64
enum tensor_id { ID_W = 1, ID_X, ID_Y };

struct attribute {
	int name, type;
	int64_t count;
	const void *values; /* NULL ends a list */
};

enum status cudnn_graph_check(int result, const char *call, struct error *err)
{
	char last[200] = "";
	enum status status = STATUS_DEVICE;

	if (result == CUDNN_SUCCESS)
		return STATUS_OK;
	if (result == CUDNN_NO_HOST_MEMORY || result == CUDNN_NO_DEVICE_MEMORY)
		status = STATUS_NO_MEMORY;
	else if (result >= CUDNN_BAD_PARAM && result < CUDNN_INTERNAL_ERROR)
		status = STATUS_UNSUPPORTED;
	cudnn.cudnnGetLastErrorString(last, sizeof(last));
	for (char *c = last; *c; c++)
		if (*c == '\n')
			*c = ' ';
	return error_set(err, status, "%s: %s%s%s", call, cudnn.cudnnGetErrorString(result),
			 last[0] ? ": " : "", last);
}

enum status cudnn_graph_handle_new(void **handle, void *stream, struct error *err)
{
	if (*handle)
		return STATUS_OK;
	if (cudnn_graph_check(cudnn.cudnnCreate(handle), "cudnnCreate", err) == STATUS_OK &&
	    cudnn_graph_check(cudnn.cudnnSetStream(*handle, stream), "cudnnSetStream", err) !=
		    STATUS_OK)
		cudnn.cudnnDestroy(*handle);
	if (err->status != STATUS_OK)
		*handle = NULL;
	return err->status;
}

/*
 * A descriptor with these attributes, finalised unless it has none; NULL after an error. It lives
 * as long as `e`, since others may refer to it.
 */
static void *cudnn_graph_descriptor_new(struct cudnn_engines *e, int type, const char *what,
					const struct attribute *attributes, struct error *err)
{
	void *descriptor = NULL;
	char call[64];

	snprintf(call, sizeof(call), "cuDNN's %s", what);
	if (cudnn_graph_check(cudnn.cudnnBackendCreateDescriptor(type, &descriptor), call, err) !=
	    STATUS_OK)
		return NULL;
	ARRAY_GROW(e->kept, e->kept_count, e->kept_capacity);
	e->kept[e->kept_count++] = descriptor;
	for (const struct attribute *a = attributes; a && a->values; a++) {
		snprintf(call, sizeof(call), "cuDNN's %s, attribute %d", what, a->name);
		if (cudnn_graph_check(cudnn.cudnnBackendSetAttribute(descriptor, a->name, a->type,
								     a->count, a->values),
				      call, err) != STATUS_OK)
			return NULL;
	}
	snprintf(call, sizeof(call), "cuDNN's %s", what);
	if (attributes &&
	    cudnn_graph_check(cudnn.cudnnBackendFinalize(descriptor), call, err) != STATUS_OK)
		return NULL;
	return descriptor;
}

/* Up to `most` values of an attribute; their number. 0 after an error. */
static int64_t cudnn_graph_attribute_get(void *descriptor, const char *what, int name, int type,
					 int64_t most, void *values, struct error *err)
{
	int64_t count = 0;
	char call[64];

	snprintf(call, sizeof(call), "cuDNN's %s", what);
	if (cudnn_graph_check(cudnn.cudnnBackendGetAttribute(descriptor, name, type, most, &count,
							     values),
			      call, err) != STATUS_OK)
		return 0;
	return count < most ? count : most;
}

static int cudnn_graph_type_of(enum precision precision)
{
	return precision == PRECISION_FP16   ? CUDNN_HALF
	       : precision == PRECISION_BF16 ? CUDNN_BFLOAT16
					     : CUDNN_FLOAT;
}

/* Dimensions are count, channels, height, width; in memory, channels come last. */
static void *cudnn_graph_tensor_new(struct cudnn_engines *e, const struct convolution_shape *s,
				    int64_t id, const int64_t size[4], struct error *err)
{
	int64_t alignment = CONVOLUTION_ALIGNMENT;
	int type = cudnn_graph_type_of(s->precision);
	int64_t strides[] = { size[1] * size[2] * size[3], 1, size[3] * size[1], size[1] };
	const struct attribute attributes[] = {
		{ CUDNN_TENSOR_ID, CUDNN_TYPE_INT64, 1, &id },
		{ CUDNN_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type },
		{ CUDNN_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, size },
		{ CUDNN_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, strides },
		{ CUDNN_TENSOR_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment },
		{ 0 },
	};

	return cudnn_graph_descriptor_new(e, CUDNN_TENSOR, "tensor", attributes, err);
}

static void *cudnn_graph_convolution_new(struct cudnn_engines *e, const struct convolution_shape *s,
					 struct error *err)
{
	int64_t dimensions = 2;
	int64_t strides[] = { s->stride, s->stride }, paddings[] = { s->padding, s->padding },
		dilations[] = { 1, 1 };
	int mode = CUDNN_CROSS_CORRELATION, sums = CUDNN_FLOAT;
	const struct attribute attributes[] = {
		{ CUDNN_CONVOLUTION_COMPUTE_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &sums },
		{ CUDNN_CONVOLUTION_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode },
		{ CUDNN_CONVOLUTION_DIMENSIONS, CUDNN_TYPE_INT64, 1, &dimensions },
		{ CUDNN_CONVOLUTION_STRIDES, CUDNN_TYPE_INT64, 2, strides },
		{ CUDNN_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, paddings },
		{ CUDNN_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2, paddings },
		{ CUDNN_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, dilations },
		{ 0 },
	};

	return cudnn_graph_descriptor_new(e, CUDNN_CONVOLUTION, "convolution", attributes, err);
}

static void *cudnn_graph_operation_new(struct cudnn_engines *e, const struct convolution_shape *s,
				       struct error *err)
{
	static const struct {
		int type, first;
	} passes[] = { [PASS_FORWARD] = { CUDNN_OPERATION_FORWARD, CUDNN_OPERATION_FORWARD_FIRST },
		       [PASS_DATA] = { CUDNN_OPERATION_DATA, CUDNN_OPERATION_DATA_FIRST },
		       [PASS_WEIGHTS] = { CUDNN_OPERATION_WEIGHTS, CUDNN_OPERATION_WEIGHTS_FIRST },
		       [PASS_WEIGHTS_ADD] = { CUDNN_OPERATION_WEIGHTS,
					      CUDNN_OPERATION_WEIGHTS_FIRST } };
	const int64_t w_size[] = { s->filters, kernel_convolution_depth(s), s->kernel_height,
				   s->kernel_width };
	const int64_t x_size[] = { s->batch, s->channels, s->height, s->width };
	const int64_t y_size[] = { s->batch, s->filters, kernel_convolution_out_height(s),
				   kernel_convolution_out_width(s) };
	float alpha = 1, beta = e->pass == PASS_WEIGHTS_ADD ? 1 : 0;
	void *convolution = cudnn_graph_convolution_new(e, s, err),
	     *w = cudnn_graph_tensor_new(e, s, ID_W, w_size, err),
	     *x = cudnn_graph_tensor_new(e, s, ID_X, x_size, err),
	     *y = cudnn_graph_tensor_new(e, s, ID_Y, y_size, err);
	int first = passes[e->pass].first;
	const struct attribute attributes[] = {
		{ first, CUDNN_TYPE_FLOAT, 1, &alpha },
		{ first + 1, CUDNN_TYPE_FLOAT, 1, &beta },
		{ first + 2, CUDNN_TYPE_DESCRIPTOR, 1, &convolution },
		{ first + 3, CUDNN_TYPE_DESCRIPTOR, 1, &w },
		{ first + 4, CUDNN_TYPE_DESCRIPTOR, 1, &x },
		{ first + 5, CUDNN_TYPE_DESCRIPTOR, 1, &y },
		{ 0 },
	};

	if (!convolution || !w || !x || !y)
		return NULL;
	return cudnn_graph_descriptor_new(e, passes[e->pass].type, "operation", attributes, err);
}

static void *cudnn_graph_new(struct cudnn_engines *e, const struct convolution_shape *s,
			     struct error *err)
{
	void *operation = cudnn_graph_operation_new(e, s, err);
	const struct attribute attributes[] = {
		{ CUDNN_GRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &e->handle },
		{ CUDNN_GRAPH_OPERATIONS, CUDNN_TYPE_DESCRIPTOR, 1, &operation },
		{ 0 },
	};

	return operation ? cudnn_graph_descriptor_new(e, CUDNN_GRAPH, "graph", attributes, err)
			 : NULL;
}

/*
 * Why an engine is not used; NULL if it is. Engines are left out whose results vary from run to
 * run, that do another number of operations, or that lose digits of FP32: of operands, or of the
 * sums over all pixels. The sums of other passes are short enough for partial sums in the tensors'
 * precision. FP32 operands on tensor cores are TF32.
 */
static const char *cudnn_graph_notes_refuse(enum precision precision, enum convolution_pass pass,
					    const int *notes, int64_t count)
{
	bool tensor_cores = false;

	for (int64_t i = 0; i < count; i++)
		switch (notes[i]) {
		case CUDNN_NOTE_NONDETERMINISTIC:
			return "varies from run to run";
		case CUDNN_NOTE_FFT:
		case CUDNN_NOTE_WINOGRAD:
			return "does a different number of operations";
		case CUDNN_NOTE_DOWN_CONVERT_INPUTS:
			return "rounds its operands";
		case CUDNN_NOTE_REDUCED_PRECISION_REDUCTION:
			if (pass >= PASS_WEIGHTS)
				return "sums in less than FP32";
			break;
		case CUDNN_NOTE_TENSOR_CORE:
			tensor_cores = true;
		}
	if (precision == PRECISION_FP32 && tensor_cores)
		return "computes in TF32";
	return precision == PRECISION_TF32 && !tensor_cores ? "uses no tensor cores" : NULL;
}

/* Index of the engine of a configuration; an error if its results are not wanted. */
static int64_t cudnn_graph_engine_index(struct cudnn_engines *e, enum precision precision,
					void *config, struct error *err)
{
	void *engine = cudnn_graph_descriptor_new(e, CUDNN_ENGINE, "engine", NULL, err);
	int64_t index = 0, count;
	const char *refusal;
	int notes[32];

	if (!engine)
		return index;
	cudnn_graph_attribute_get(config, "engine", CUDNN_ENGINE_CONFIG_ENGINE,
				  CUDNN_TYPE_DESCRIPTOR, 1, &engine, err);
	cudnn_graph_attribute_get(engine, "engine, index", CUDNN_ENGINE_INDEX, CUDNN_TYPE_INT64, 1,
				  &index, err);
	count = cudnn_graph_attribute_get(engine, "engine, notes", CUDNN_ENGINE_NOTES,
					  CUDNN_TYPE_NUMERICAL_NOTE, ARRAY_SIZE(notes), notes, err);
	refusal = cudnn_graph_notes_refuse(precision, e->pass, notes, count);
	if (refusal)
		error_set(err, STATUS_UNSUPPORTED, "engine %" PRId64 " %s", index, refusal);
	return index;
}

/* Adds the plan of an engine's configuration, or sets the reason why it cannot be used. */
static void cudnn_graph_engine_add(struct cudnn_engines *e, const struct convolution_shape *s,
				   void *config, const char *offer, uint64_t workspace,
				   struct error *err)
{
	struct convolution_engine *place = &e->base.engines[e->base.count];
	int64_t index = cudnn_graph_engine_index(e, s->precision, config, err), bytes = 0;
	const struct attribute attributes[] = {
		{ CUDNN_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &e->handle },
		{ CUDNN_PLAN_ENGINE_CONFIG, CUDNN_TYPE_DESCRIPTOR, 1, &config },
		{ 0 },
	};
	void *plan = err->status == STATUS_OK
			     ? cudnn_graph_descriptor_new(e, CUDNN_PLAN, "plan", attributes, err)
			     : NULL;

	if (!plan || cudnn_graph_attribute_get(plan, "plan, workspace", CUDNN_PLAN_WORKSPACE,
					       CUDNN_TYPE_INT64, 1, &bytes, err) == 0)
		return;
	if ((uint64_t)bytes > workspace) {
		error_set(err, STATUS_UNSUPPORTED,
			  "engine %" PRId64 " needs a workspace of %" PRId64
			  " bytes; allowed: %" PRIu64,
			  index, bytes, workspace);
		return;
	}
	snprintf(place->name, sizeof(place->name), "engine %" PRId64 ", %s", index, offer);
	place->workspace_bytes = (uint64_t)bytes;
	e->plans[e->base.count++] = plan;
}

/* Keeps the first failure, or else the last refusal. */
static void cudnn_graph_reason_update(struct error *reason, const struct error *err)
{
	if (err->status != STATUS_OK &&
	    (reason->status == STATUS_OK || reason->status == STATUS_UNSUPPORTED))
		*reason = *err;
}

/* Adds what one heuristic offers. */
static void cudnn_graph_engines_add(struct cudnn_engines *e, const struct convolution_shape *s,
				    void *graph, int mode, uint64_t workspace, unsigned most,
				    struct error *reason)
{
	const struct attribute attributes[] = {
		{ CUDNN_HEURISTIC_GRAPH, CUDNN_TYPE_DESCRIPTOR, 1, &graph },
		{ CUDNN_HEURISTIC_MODE, CUDNN_TYPE_HEURISTIC_MODE, 1, &mode },
		{ 0 },
	};
	struct error refusal = (struct error)ERROR_NONE;
	void *heuristic =
		cudnn_graph_descriptor_new(e, CUDNN_HEURISTIC, "heuristic", attributes, &refusal);
	void *configs[OFFERED];
	int64_t count = 0;

	for (size_t i = 0; i < OFFERED && heuristic; i++)
		configs[i] = cudnn_graph_descriptor_new(e, CUDNN_ENGINE_CONFIG, "configuration",
							NULL, &refusal);
	if (heuristic && refusal.status == STATUS_OK)
		count = cudnn_graph_attribute_get(heuristic, "heuristic, results",
						  CUDNN_HEURISTIC_RESULTS, CUDNN_TYPE_DESCRIPTOR,
						  OFFERED, configs, &refusal);
	cudnn_graph_reason_update(reason, &refusal);
	for (int64_t i = 0; i < count && e->base.count < most; i++) {
		char offer[32];

		refusal = (struct error)ERROR_NONE;
		snprintf(offer, sizeof(offer), "%s %" PRId64,
			 mode == CUDNN_HEURISTIC_A ? "offer" : "fallback", i + 1);
		cudnn_graph_engine_add(e, s, configs[i], offer, workspace, &refusal);
		cudnn_graph_reason_update(reason, &refusal);
	}
}

enum status cudnn_graph_engines_find(struct cudnn_engines *e, const struct convolution_shape *s,
				     uint64_t workspace, unsigned most, struct error *err)
{
	static const int modes[] = { CUDNN_HEURISTIC_A, CUDNN_HEURISTIC_FALLBACK };
	struct error reason = ERROR_NONE;
	void *graph = cudnn_graph_new(e, s, err);

	if (!graph)
		return err->status;
	most = most < CONVOLUTION_ENGINES ? most : CONVOLUTION_ENGINES;
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
		cudnn_graph_engines_add(e, s, graph, modes[i], workspace, most, &reason);
	if (reason.status != STATUS_OK && reason.status != STATUS_UNSUPPORTED)
		snprintf(e->base.failure, sizeof(e->base.failure), "%s", reason.message);
	if (e->base.count > 0)
		return STATUS_OK;
	if (e->base.failure[0])
		return error_set(err, reason.status, "cuDNN could not prepare an engine: %s",
				 reason.message);
	return error_set(err, STATUS_UNSUPPORTED, "cuDNN has no engine for this convolution: %s",
			 reason.status == STATUS_OK ? "cuDNN's heuristics offer no engine"
						    : reason.message);
}

void cudnn_graph_engines_keep(struct cudnn_engines *e, unsigned engine)
{
	for (size_t i = 0; i < e->kept_count; i++)
		for (unsigned plan = 0; plan < e->base.count; plan++)
			if (plan != engine && e->kept[i] == e->plans[plan]) {
				cudnn.cudnnBackendDestroyDescriptor(e->kept[i]);
				e->kept[i] = NULL;
			}
	e->plans[0] = e->plans[engine];
	e->base.engines[0] = e->base.engines[engine];
	e->base.count = 1;
}

void cudnn_graph_engines_release(struct cudnn_engines *e)
{
	for (; e->kept_count > 0; e->kept_count--)
		if (e->kept[e->kept_count - 1])
			cudnn.cudnnBackendDestroyDescriptor(e->kept[e->kept_count - 1]);
	free(e->kept);
}

enum status cudnn_graph_engine_execute(struct cudnn_engines *e, unsigned engine,
				       const struct convolution_tensors *tensors, struct error *err)
{
	const int64_t ids[] = { ID_W, ID_X, ID_Y };
	void *const pointers[] = { tensors->w, tensors->x, tensors->y };
	const struct attribute attributes[] = {
		{ CUDNN_PACK_IDS, CUDNN_TYPE_INT64, 3, ids },
		{ CUDNN_PACK_POINTERS, CUDNN_TYPE_VOID_PTR, 3, pointers },
		{ CUDNN_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &tensors->workspace },
		{ 0 },
	};
	size_t before = e->kept_count;
	void *pack = cudnn_graph_descriptor_new(e, CUDNN_VARIANT_PACK, "pack of tensors",
						attributes, err);

	if (pack)
		cudnn_graph_check(cudnn.cudnnBackendExecute(e->handle, e->plans[engine], pack),
				  "cudnnBackendExecute", err);
	while (e->kept_count > before)
		cudnn.cudnnBackendDestroyDescriptor(e->kept[--e->kept_count]);
	return err->status;
}
