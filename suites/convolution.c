/*
 * 2-D convolutions and their gradients by a library (cuDNN) or the built-in kernels, plain and
 * depthwise: time, throughput, and memory of the tensors.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/convolution/convolution.h"
#include "kernels/generator.h"
#include "kernels/memory/fill.h"
#include "measure/run.h"
#include "plan/suite.h"
#include "suites/training/models/reference/values.h"
#include "suites/shared/buffers.h"
#include "suites/shared/convolutions.h"
#include "suites/shared/estimate.h"
#include "suites/shared/sustained.h"
#include "suites/shared/words.h"

/* Seconds to prepare an engine, at most. */
#define ENGINE_SECONDS 3
/* Commands of a pass by a library: its kernels, changes of layout and sums of parts. */
#define ENGINE_COMMANDS 8

enum implementation { AUTO, LIBRARY, OWN };
static const char *const implementations[] = { "auto", "library", "own", NULL };
static const char *const kinds[] = { "plain", "depthwise", NULL };
static const char *const precisions[] = { "fp32", "tf32", "fp16", "bf16", NULL };

static const struct key keys[] = {
	{ .name = "passes",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "forward, data_gradient, weight_gradient",
	  .choices = convolution_pass_names,
	  .parameter = "pass",
	  .help = "pass to time: forward: outputs; data_gradient: gradients of inputs; "
		  "weight_gradient: gradients of weights" },
	{ .name = "kinds",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "plain",
	  .choices = kinds,
	  .parameter = "kind",
	  .help = "plain: each filter reads all channels; depthwise: filter c reads only channel "
		  "c" },
	{ .name = "precisions",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "fp32, fp16",
	  .choices = precisions,
	  .parameter = "precision",
	  .help = "precision of the tensors; tf32: stored as FP32, computed by tensor cores; sums "
		  "use FP32" },
	{ .name = "implementations",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "auto",
	  .choices = implementations,
	  .parameter = "implementation",
	  .help = "library: cuDNN, with a workspace of at most 256 MiB; own: built-in kernels; "
		  "auto: the library if it is installed and the convolution is not depthwise, "
		  "otherwise own" },
	{ .name = "batch",
	  .type = KEY_INTEGER,
	  .list = true,
	  .fallback = "32",
	  .min = 1,
	  .max = 1e6,
	  .help = "images" },
	{ .name = "image",
	  .type = KEY_INTEGER,
	  .fallback = "56",
	  .min = 1,
	  .max = 1e5,
	  .help = "height and width of an image" },
	{ .name = "channels",
	  .type = KEY_INTEGER,
	  .fallback = "64",
	  .min = 1,
	  .max = 1e5,
	  .help = "number of channels of an image" },
	{ .name = "filters",
	  .type = KEY_INTEGER,
	  .fallback = "0",
	  .min = 0,
	  .max = 1e5,
	  .help = "number of output channels; 0 or depthwise: the same as channels" },
	{ .name = "kernel_size",
	  .type = KEY_INTEGER,
	  .fallback = "3",
	  .min = 1,
	  .max = 1e3,
	  .help = "height and width of a filter" },
	{ .name = "stride",
	  .type = KEY_INTEGER,
	  .fallback = "1",
	  .min = 1,
	  .max = 1e3,
	  .help = "stride of the filters" },
	{ .name = "padding",
	  .type = KEY_INTEGER,
	  .fallback = "1",
	  .min = 0,
	  .max = 1e3,
	  .help = "zero padding on each side of the image" },
	{ .name = "search_time",
	  .type = KEY_DURATION,
	  .fallback = "50ms",
	  .min = 0,
	  .max = 3600,
	  .help = "time per pass for autotuning over the library's engines, or over all built-in "
		  "kernels and tiles; 0: the library's first choice, which took up to 3.2 times as "
		  "long as the fastest engine of cuDNN, or a choice by shape" },
	SUSTAINED_KEY,
	{ 0 },
};

static const char *const axes[] = { "passes",          "kinds", "precisions",
				    "implementations", "batch", NULL };

static const struct metric_kind_row precisions_by_kind[] = { WITHOUT_TENSOR_CORES };

static const struct metric metrics[] = {
	{ "convolution.throughput", "FLOP/s", BETTER_HIGHER, 1,
	  "operations per second, counting two per weight and output pixel. The sustained rate if "
	  "it was measured",
	  METRIC_TENSOR, .kinds = precisions_by_kind },
	{ "convolution.time", "s", BETTER_LOWER, 0, "time of one pass at convolution.throughput" },
	SUSTAINED_METRICS("convolution", METRIC_TENSOR, .kinds = precisions_by_kind),
	{ "convolution.weights", "1", BETTER_NONE, 0, "number of weights in all filters",
	  METRIC_EXACT },
	{ "convolution.memory", "B", BETTER_LOWER, 0, "bytes of all tensors of the pass" },
	{ "convolution.workspace", "B", BETTER_LOWER, 0, "workspace of the library" },
	{ "convolution.device_memory", "B", BETTER_LOWER, 0,
	  "device memory used by the tensors of the pass and the workspace" },
	{ "convolution.candidates", "1", BETTER_NONE, 0,
	  "number of engines, or kernels and tiles, that autotuning timed" },
	{ "convolution.search_gain", "1", BETTER_HIGHER, 0,
	  "time of the first choice / time of the fastest candidate" },
	{ "convolution.error", "1", BETTER_LOWER, 0,
	  "relative L2 error of sampled results against double precision", METRIC_EXACT },
	{ 0 },
};

static const struct figure_row figures[] = {
	{ .metric = "convolution.throughput",
	  .kind = "strip",
	  .logarithmic = true,
	  .facets = { "kind", "precision" } },
	{ .metric = "convolution.device_memory",
	  .kind = "lines",
	  .axis = "batch",
	  .facets = { "kind", "precision" } },
	{ 0 },
};

static const struct table_row tables[] = {
	SUSTAINED_TABLE("convolution"),
	{ 0 },
};

static const struct word_row words[] = {
	PRECISION_WORDS,
	{ "pass", "data_gradient", "gradient of inputs" },
	{ "pass", "weight_gradient", "gradient of weights" },
	{ "implementation", "library", "cuDNN" },
	{ "implementation", "own", "built-in kernels" },
	{ 0 },
};

/* SCRATCH: partial sums, or the library's workspace */
enum tensor { INPUT, WEIGHTS, OUTPUT, SCRATCH, TENSORS };

struct convolution {
	struct convolution_work work;
	struct buffer tensors[TENSORS]; /* those of `work` */
	uint64_t used[TENSORS];         /* decrease of the device's free memory; 0: unknown */
	uint64_t seed;
};

static unsigned convolution_setting(const struct plan_case *c, const char *key)
{
	return (unsigned)section_setting(c->section, key)->values[0].integer;
}

static struct convolution_shape convolution_shape_of_case(const struct plan_case *c)
{
	unsigned filters = convolution_setting(c, "filters");
	struct convolution_shape s = {
		.batch = (unsigned)case_integer(c, "batch"),
		.height = convolution_setting(c, "image"),
		.width = convolution_setting(c, "image"),
		.channels = convolution_setting(c, "channels"),
		.kernel_height = convolution_setting(c, "kernel_size"),
		.kernel_width = convolution_setting(c, "kernel_size"),
		.stride = convolution_setting(c, "stride"),
		.padding = convolution_setting(c, "padding"),
		.depthwise = case_integer(c, "kinds") != 0,
	};

	s.filters = s.depthwise || filters == 0 ? s.channels : filters;
	precision_from_name(case_text(c, "precisions"), &s.precision);
	return s;
}

static uint64_t convolution_elements(const struct convolution_shape *s, enum tensor tensor)
{
	static const enum convolution_pass computed_by[] = {
		[INPUT] = PASS_DATA, [WEIGHTS] = PASS_WEIGHTS, [OUTPUT] = PASS_FORWARD
	};

	return convolution_result_elements(s, computed_by[tensor]);
}

static uint64_t convolution_tensor_bytes(const struct convolution_shape *s,
					 enum convolution_pass pass, enum tensor tensor)
{
	if (tensor == SCRATCH)
		return pass == PASS_WEIGHTS ? kernel_convolution_scratch_bytes(s) : 0;
	return convolution_elements(s, tensor) * precision_bytes(s->precision);
}

static uint64_t convolution_bytes_of_all(const struct convolution_shape *s,
					 enum convolution_pass pass)
{
	uint64_t bytes = 0;

	for (int t = 0; t < TENSORS; t++)
		bytes += convolution_tensor_bytes(s, pass, (enum tensor)t);
	return bytes;
}

/* The tensor that a pass computes. */
static enum tensor convolution_result_of(enum convolution_pass pass)
{
	static const enum tensor results[] = { OUTPUT, INPUT, WEIGHTS };

	return results[pass];
}

/* Weights are small, so that sums stay near 1. */
static double convolution_scale_of(const struct convolution *c, enum tensor tensor)
{
	const struct convolution_shape *s = &c->work.shape;

	if (tensor != WEIGHTS)
		return 1;
	return 1 / sqrt((double)s->kernel_height * s->kernel_width * kernel_convolution_depth(s));
}

/* Element `i` of an input tensor, as stored. */
static double convolution_element(const struct convolution *c, enum tensor tensor, uint64_t i)
{
	double value = (double)((float)convolution_scale_of(c, tensor) *
				generator_uniform(c->seed + (uint64_t)tensor, i));

	return value_round(value, c->work.shape.precision);
}

static enum status convolution_fill_tensor(struct convolution *c, enum tensor tensor,
					   struct error *err)
{
	static const enum fill_kind kind_of[PRECISION_COUNT] = { [PRECISION_FP32] = FILL_FP32,
								 [PRECISION_TF32] = FILL_FP32,
								 [PRECISION_FP16] = FILL_FP16,
								 [PRECISION_BF16] = FILL_BF16 };
	struct fill_arguments fill = { .memory = c->tensors[tensor].memory,
				       .kind = kind_of[c->work.shape.precision],
				       .count = convolution_elements(&c->work.shape, tensor),
				       .seed = c->seed + (uint64_t)tensor,
				       .scale = (float)convolution_scale_of(c, tensor) };

	return backend_launch(c->work.stream, "fill", &fill, err);
}

static enum status convolution_launch_batch(void *state, unsigned batch, struct error *err)
{
	const struct convolution *c = state;

	for (unsigned i = 0; i < batch; i++)
		if (convolution_enqueue(&c->work, err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

static enum status convolution_launch_candidate(void *state, unsigned candidate, struct error *err)
{
	struct convolution *c = state;

	if (c->work.engines)
		c->work.engine = candidate;
	else
		c->work.shape.algorithm = (enum convolution_algorithm)candidate;
	return convolution_enqueue(&c->work, err);
}

/* Allocates a tensor, or another size of it. */
static enum status convolution_alloc(struct convolution *c, enum tensor tensor, uint64_t bytes,
				     struct error *err)
{
	struct convolution_tensors *t = &c->work.tensors;
	void **const places[] = { &t->x, &t->w, &t->y, &t->workspace };
	struct device *device = c->work.stream->device;
	uint64_t before = 0, after = 0, total;

	buffer_free(&c->tensors[tensor]);
	*places[tensor] = NULL;
	c->used[tensor] = 0;
	if (bytes == 0)
		return STATUS_OK;
	if (backend_device_memory(device, &before, &total, err) == STATUS_OK &&
	    buffer_alloc(&c->tensors[tensor], device, ALLOCATOR_DEVICE, bytes, err) == STATUS_OK &&
	    backend_device_memory(device, &after, &total, err) == STATUS_OK && before > after)
		c->used[tensor] = before - after;
	*places[tensor] = c->tensors[tensor].memory;
	return err->status;
}

static const char *convolution_candidate_name(const struct convolution *c, unsigned candidate)
{
	if (c->work.engines)
		return c->work.engines->engines[candidate].name;
	return candidate == CONVOLUTION_CHOSEN
		       ? "choice by shape"
		       : kernel_convolution_algorithm_name((enum convolution_algorithm)candidate);
}

/* Selects the fastest candidate for later launches; without time the library's first that works. */
static enum status convolution_pick_fastest(struct run *run, struct convolution *c,
					    struct error *err)
{
	double seconds = section_real(run->c->section, "search_time");
	unsigned candidates = c->work.engines ? c->work.engines->count : CONVOLUTION_ALGORITHMS;
	struct convolution_search found;
	const char *name;

	if (seconds == 0 && !c->work.engines)
		return STATUS_OK;
	if (c->work.engines && c->work.engines->failure[0])
		run_note(run, "An engine of the library failed and was left out: %s.",
			 c->work.engines->failure);
	if (convolution_search(c->work.stream, seconds, candidates, convolution_launch_candidate, c,
			       &found, err) != STATUS_OK)
		return err->status;
	c->work.engine = found.fastest;
	if (!c->work.engines)
		c->work.shape.algorithm = (enum convolution_algorithm)found.fastest;
	name = convolution_candidate_name(c, found.fastest);
	if (found.usable > 1) {
		/* The choice by shape is one of the others. */
		unsigned tried = c->work.engines ? found.usable : found.usable - 1;

		run_value(run, "convolution.candidates", tried);
		run_value(run, "convolution.search_gain", found.first_seconds / found.seconds);
		if (tried > 1)
			run_note(run, "The fastest of %u candidates was: %s.", tried, name);
		else
			run_note(run, "The only candidate was: %s.", name);
	} else if (c->work.engines) {
		run_note(run, "%s of the library was: %s.",
			 seconds > 0 ? "The only engine that works" : "The first choice", name);
	}
	return STATUS_OK;
}

/* One term of the sums: image n, output pixel (oy, ox), filter f, tap (ky, kx), depth d. */
struct term {
	uint64_t n, oy, ox, f, ky, kx, d;
};

/* Input position of a term; false: in the padding. */
static bool convolution_input_of(const struct convolution_shape *s, const struct term *t,
				 uint64_t *at)
{
	int64_t y = (int64_t)(t->oy * s->stride + t->ky) - s->padding;
	int64_t x = (int64_t)(t->ox * s->stride + t->kx) - s->padding;
	uint64_t channel = s->depthwise ? t->f : t->d;

	*at = ((t->n * s->height + (uint64_t)y) * s->width + (uint64_t)x) * s->channels + channel;
	return y >= 0 && y < s->height && x >= 0 && x < s->width;
}

static uint64_t convolution_weight_of(const struct convolution_shape *s, const struct term *t)
{
	return ((t->f * s->kernel_height + t->ky) * s->kernel_width + t->kx) *
		       kernel_convolution_depth(s) +
	       t->d;
}

static uint64_t convolution_output_of(const struct convolution_shape *s, const struct term *t)
{
	return ((t->n * kernel_convolution_out_height(s) + t->oy) *
			kernel_convolution_out_width(s) +
		t->ox) *
		       s->filters +
	       t->f;
}

/* Element `i` of the output. */
static double convolution_output_element(const struct convolution *c, uint64_t i)
{
	const struct convolution_shape *s = &c->work.shape;
	struct term t = { .f = i % s->filters };
	double sum = 0;
	uint64_t at;

	i /= s->filters;
	t.ox = i % kernel_convolution_out_width(s);
	i /= kernel_convolution_out_width(s);
	t.oy = i % kernel_convolution_out_height(s);
	t.n = i / kernel_convolution_out_height(s);
	for (t.ky = 0; t.ky < s->kernel_height; t.ky++)
		for (t.kx = 0; t.kx < s->kernel_width; t.kx++)
			for (t.d = 0; t.d < kernel_convolution_depth(s); t.d++)
				if (convolution_input_of(s, &t, &at))
					sum += convolution_element(c, INPUT, at) *
					       convolution_element(c, WEIGHTS,
								   convolution_weight_of(s, &t));
	return sum;
}

/* Element `i` of the gradient of the input: over all outputs that read it. */
static double convolution_input_element(const struct convolution *c, uint64_t i)
{
	const struct convolution_shape *s = &c->work.shape;
	uint64_t channel = i % s->channels, x = i / s->channels % s->width,
		 y = i / s->channels / s->width % s->height;
	uint64_t first = s->depthwise ? channel : 0, last = s->depthwise ? channel + 1 : s->filters;
	struct term t = { .n = i / s->channels / s->width / s->height,
			  .d = s->depthwise ? 0 : channel };
	double sum = 0;

	for (t.ky = 0; t.ky < s->kernel_height; t.ky++)
		for (t.kx = 0; t.kx < s->kernel_width; t.kx++) {
			uint64_t above = y + s->padding, left = x + s->padding;

			if (above < t.ky || left < t.kx || (above - t.ky) % s->stride ||
			    (left - t.kx) % s->stride)
				continue;
			t.oy = (above - t.ky) / s->stride;
			t.ox = (left - t.kx) / s->stride;
			if (t.oy >= kernel_convolution_out_height(s) ||
			    t.ox >= kernel_convolution_out_width(s))
				continue;
			for (t.f = first; t.f < last; t.f++)
				sum += convolution_element(c, OUTPUT,
							   convolution_output_of(s, &t)) *
				       convolution_element(c, WEIGHTS,
							   convolution_weight_of(s, &t));
		}
	return sum;
}

/* Element `i` of the gradient of the weights: over all pixels. */
static double convolution_weight_element(const struct convolution *c, uint64_t i)
{
	const struct convolution_shape *s = &c->work.shape;
	uint64_t depth = kernel_convolution_depth(s), at;
	struct term t = { .d = i % depth,
			  .kx = i / depth % s->kernel_width,
			  .ky = i / depth / s->kernel_width % s->kernel_height,
			  .f = i / depth / s->kernel_width / s->kernel_height };
	double sum = 0;

	for (t.n = 0; t.n < s->batch; t.n++)
		for (t.oy = 0; t.oy < kernel_convolution_out_height(s); t.oy++)
			for (t.ox = 0; t.ox < kernel_convolution_out_width(s); t.ox++)
				if (convolution_input_of(s, &t, &at))
					sum += convolution_element(c, INPUT, at) *
					       convolution_element(c, OUTPUT,
								   convolution_output_of(s, &t));
	return sum;
}

/* Results that the CPU recomputes, with about this many multiplications. */
#define SAMPLES 48
#define CHECKED_PRODUCTS 4e7

static double convolution_expected_element(const struct convolution *c, uint64_t i)
{
	switch (c->work.pass) {
	case PASS_FORWARD:
		return convolution_output_element(c, i);
	case PASS_DATA:
		return convolution_input_element(c, i);
	default:
		return convolution_weight_element(c, i);
	}
}

static enum status convolution_found_element(struct convolution *c, uint64_t i, double *value,
					     struct error *err)
{
	size_t bytes = precision_bytes(c->work.shape.precision);
	const char *at = (const char *)*convolution_result(&c->work) + i * bytes;
	unsigned char raw[8];

	if (backend_copy(c->work.stream, raw, at, bytes, err) != STATUS_OK ||
	    backend_stream_synchronize(c->work.stream, err) != STATUS_OK)
		return err->status;
	values_decode(value, raw, c->work.shape.precision, 1);
	return STATUS_OK;
}

/* The first and the last element, and some in between. */
static enum status convolution_verify(struct run *run, struct convolution *c, struct error *err)
{
	const struct convolution_shape *s = &c->work.shape;
	uint64_t count = convolution_elements(s, convolution_result_of(c->work.pass));
	double each = kernel_convolution_operations(s) / 2 / (double)count, difference = 0,
	       square = 0;
	uint64_t samples = (uint64_t)fmin(SAMPLES, fmax(4, CHECKED_PRODUCTS / fmax(each, 1)));
	double tolerance = convolution_tolerance(s->precision), error;
	char method[80];

	/* A search has written the result before. */
	if (buffer_poison(&c->tensors[convolution_result_of(c->work.pass)], c->work.stream, err) !=
		    STATUS_OK ||
	    convolution_enqueue(&c->work, err) != STATUS_OK)
		return err->status;
	for (uint64_t k = 0; k < samples; k++) {
		uint64_t i = k == 0 ? 0 : k == 1 ? count - 1 : generator_bits(c->seed, k) % count;
		double expected = convolution_expected_element(c, i), found;

		if (convolution_found_element(c, i, &found, err) != STATUS_OK)
			return err->status;
		difference += pow(found - expected, 2);
		square += expected * expected;
	}
	error = sqrt(difference / square);
	run_value(run, "convolution.error", error);
	/* NaN counts as a difference. */
	if (!(error <= tolerance))
		return error_set(err, STATUS_MISMATCH,
				 "%llu sampled results differ from double precision by %.3g "
				 "(relative L2); tolerance %.3g",
				 (unsigned long long)samples, error, tolerance);
	snprintf(method, sizeof(method), "%llu sampled results against double precision",
		 (unsigned long long)samples);
	run_verified(run, method, error, tolerance);
	return STATUS_OK;
}

static enum status convolution_open_tensors(struct convolution *c, struct error *err)
{
	enum tensor result = convolution_result_of(c->work.pass);

	for (int t = INPUT; t < SCRATCH; t++) {
		uint64_t bytes =
			convolution_tensor_bytes(&c->work.shape, c->work.pass, (enum tensor)t);

		if (convolution_alloc(c, (enum tensor)t, bytes, err) != STATUS_OK ||
		    ((enum tensor)t != result &&
		     convolution_fill_tensor(c, (enum tensor)t, err) != STATUS_OK))
			return err->status;
	}
	return convolution_alloc(c, SCRATCH,
				 c->work.engines ? convolution_workspace_of_all(c->work.engines)
						 : convolution_tensor_bytes(&c->work.shape,
									    c->work.pass, SCRATCH),
				 err);
}

/* Everything before the check; the workspace is then that of the chosen engine. */
static enum status convolution_prepare(struct run *run, struct convolution *c, struct error *err)
{
	struct device *device = run->devices[0];
	bool searched = section_real(run->c->section, "search_time") > 0;
	uint64_t memory, used = 0;

	if (backend_stream_create(device, false, &c->work.stream, err) != STATUS_OK ||
	    (case_integer(run->c, "implementations") == LIBRARY &&
	     backend_convolution_open(c->work.stream, &c->work.shape, c->work.pass,
				      CONVOLUTION_WORKSPACE_BYTES,
				      searched ? CONVOLUTION_ENGINES : CONVOLUTION_SPARE_ENGINES,
				      &c->work.engines, err) != STATUS_OK) ||
	    convolution_open_tensors(c, err) != STATUS_OK ||
	    convolution_pick_fastest(run, c, err) != STATUS_OK)
		return err->status;
	memory = convolution_bytes_of_all(&c->work.shape, c->work.pass);
	if (c->work.engines) {
		uint64_t workspace = c->work.engines->engines[c->work.engine].workspace_bytes;

		memory -= convolution_tensor_bytes(&c->work.shape, c->work.pass, SCRATCH);
		if (convolution_alloc(c, SCRATCH, workspace, err) != STATUS_OK)
			return err->status;
		run_value(run, "convolution.workspace", (double)workspace);
	}
	run_value(run, "convolution.weights", (double)kernel_convolution_weights(&c->work.shape));
	run_value(run, "convolution.memory", (double)memory);
	for (int t = 0; t < TENSORS; t++)
		used += c->used[t];
	/* Memory of the operating system also changes with other processes. */
	if (!(device->info.capabilities & DEVICE_SHARES_HOST_MEMORY) && used > 0)
		run_value(run, "convolution.device_memory", (double)used);
	return STATUS_OK;
}

static enum status convolution_run(struct run *run, struct error *err)
{
	struct convolution c = { .work.shape = convolution_shape_of_case(run->c),
				 .work.pass = (enum convolution_pass)case_integer(run->c, "passes"),
				 .seed = run->seed };

	if (convolution_prepare(run, &c, err) == STATUS_OK &&
	    convolution_verify(run, &c, err) == STATUS_OK) {
		struct workload w = { .state = &c,
				      .launch = convolution_launch_batch,
				      .clock = CLOCK_DEVICE,
				      .streams = &c.work.stream,
				      .stream_count = 1,
				      .commands = c.work.engines ? ENGINE_COMMANDS : 2 };
		struct sustained_work work = { .run = run,
					       .workload = w,
					       .operations = kernel_convolution_operations(
						       &c.work.shape) };

		if (sustained_sample(&work, err) == STATUS_OK)
			sustained_record(&work);
	}
	if (c.work.stream)
		backend_stream_synchronize(c.work.stream, NULL);
	backend_convolution_close(c.work.engines);
	for (int t = 0; t < TENSORS; t++)
		buffer_free(&c.tensors[t]);
	backend_stream_destroy(c.work.stream);
	return err->status;
}

/* The result has what `auto` stands for on its device. */
static enum implementation convolution_settle(struct plan_case *point,
					      const struct convolution_shape *shape,
					      const struct device_info *info)
{
	static char names[][8] = { [LIBRARY] = "library", [OWN] = "own" };
	static const struct value settled[] = { [LIBRARY] = { .text = names[LIBRARY],
							      .integer = LIBRARY },
						[OWN] = { .text = names[OWN], .integer = OWN } };
	enum implementation chosen = convolution_prefers_library(shape, info) ? LIBRARY : OWN;

	for (size_t i = 0; i < point->parameter_count; i++)
		if (strcmp(point->parameters[i].key->name, "implementations") == 0)
			point->parameters[i].value = &settled[chosen];
	return chosen;
}

/* Why a device cannot run the case; NULL if it can. */
static const char *convolution_obstacle(const struct convolution_shape *shape, bool library,
					const struct device_info *info)
{
	if (!(info->capabilities & precision_capability(shape->precision)))
		return "the device does not support this precision";
	if (shape->depthwise && shape->precision == PRECISION_TF32)
		return "a depthwise convolution has no GEMM that tensor cores could run, so TF32 "
		       "is the same as FP32";
	if (library && !(info->capabilities & DEVICE_HAS_CONVOLUTIONS))
		return "no convolution library is available for this device; run gpuproof doctor "
		       "for the reason";
	return NULL;
}

static enum status convolution_expand(struct plan *plan, struct plan_case *point, struct error *err)
{
	const struct convolution_shape shape = convolution_shape_of_case(point);
	enum convolution_pass pass = (enum convolution_pass)case_integer(point, "passes");
	enum implementation asked = (enum implementation)case_integer(point, "implementations");
	struct error wrong = ERROR_NONE;
	bool right = kernel_convolution_check(&shape, &wrong) == STATUS_OK;
	uint64_t bytes = right ? convolution_bytes_of_all(&shape, pass) : 0,
		 scratch = right ? convolution_tensor_bytes(&shape, pass, SCRATCH) : 0;

	plan_unname_usual(point, "implementations", "auto");
	for (size_t i = 0; i < plan->device_count; i++) {
		const struct device_info *info = &plan->devices[i];
		enum implementation chosen =
			asked == AUTO ? convolution_settle(point, &shape, info) : asked;
		const char *reason = convolution_obstacle(&shape, chosen == LIBRARY, info);

		if (!reason && !right)
			reason = wrong.message;
		point->device_bytes =
			chosen == LIBRARY ? bytes - scratch + CONVOLUTION_WORKSPACE_BYTES : bytes;
		point->setup_seconds = 1 + sustained_seconds(point->section, info) +
				       2 * section_real(point->section, "search_time");
		if (chosen == LIBRARY)
			point->setup_seconds += CONVOLUTION_ENGINES * ENGINE_SECONDS;
		if (!reason)
			point->setup_seconds += 10 * kernel_convolution_operations(&shape) /
						shared_estimate_flops(info, PRECISION_FP32);
		if (plan_add(plan, point, &i, 1, reason, err) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

static const struct aspect_row aspects[] = {
	{ "convolution.error", NULL, NULL, ASPECT_CORRECTNESS },
	{ 0 },
};

const struct suite suite_convolution = {
	.name = "convolution",
	.summary = "2-D convolutions and their gradients, plain and depthwise",
	.keys = keys,
	.axes = axes,
	.metrics = metrics,
	.figures = figures,
	.tables = tables,
	.words = words,
	.aspects = aspects,
	.processes = SUITE_ONE_PROCESS,
	.expand = convolution_expand,
	.run = convolution_run,
};
