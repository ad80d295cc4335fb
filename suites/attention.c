/*
 * Softmax attention and its gradients with the built-in fused kernels, and for comparison only the
 * GEMMs with the library: time, throughput, and memory of the tensors.
 */
#include <math.h>

#include "measure/run.h"
#include "plan/suite.h"
#include "suites/attention/operands.h"
#include "suites/shared/estimate.h"
#include "suites/shared/sustained.h"
#include "suites/shared/words.h"

static const char *const passes[] = { "forward", "backward", NULL };
static const char *const implementations[] = { "fused", "products", NULL };
static const char *const precisions[] = { "fp32", "fp16", "bf16", NULL };
enum mask { CAUSAL, FULL };
static const char *const masks[] = { "causal", "full", NULL };

static const struct key keys[] = {
	{ .name = "passes",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "forward, backward",
	  .choices = passes,
	  .parameter = "pass",
	  .help = "pass to time: forward: outputs; backward: gradients of queries, keys and "
		  "values" },
	{ .name = "implementations",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "fused, products",
	  .choices = implementations,
	  .parameter = "implementation",
	  .help = "fused: one kernel with an online softmax; products: only the GEMMs, by the "
		  "library, which store the scores: a lower bound for the time of unfused "
		  "attention" },
	{ .name = "precisions",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "fp16, bf16",
	  .choices = precisions,
	  .parameter = "precision",
	  .help = "precision of the tensors; sums and softmax use FP32" },
	{ .name = "masks",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "causal",
	  .choices = masks,
	  .parameter = "mask",
	  .help = "causal: a position attends to itself and to earlier positions; full: to all "
		  "positions" },
	{ .name = "head_size",
	  .type = KEY_INTEGER,
	  .list = true,
	  .fallback = "64, 128",
	  .min = 8,
	  .max = ATTENTION_HEAD_MAX,
	  .help = "head size, a multiple of 8" },
	{ .name = "sequence",
	  .type = KEY_INTEGER,
	  .list = true,
	  .fallback = "1024, 4096, 16384",
	  .min = 1,
	  .max = 1 << 24,
	  .help = "sequence length" },
	{ .name = "tokens",
	  .type = KEY_INTEGER,
	  .fallback = "0",
	  .min = 0,
	  .max = 1 << 30,
	  .help = "batch x sequence length, constant as in published benchmarks; 0: 16384, on a "
		  "CPU 1024" },
	{ .name = "hidden",
	  .type = KEY_INTEGER,
	  .fallback = "0",
	  .min = 0,
	  .max = 1e6,
	  .help = "number of heads x head size; 0: 2048, on a CPU 256" },
	SUSTAINED_KEY,
	{ 0 },
};

static const char *const axes[] = { "passes",    "implementations", "precisions", "masks",
				    "head_size", "sequence",        NULL };

static const struct metric_kind_row precisions_by_kind[] = { WITHOUT_TENSOR_CORES };

static const struct metric metrics[] = {
	{ "attention.throughput", "FLOP/s", BETTER_HIGHER, 1,
	  "operations per second: GEMMs of sequence x sequence x head size, two forward and five "
	  "backward; causal attention counts half of them. The sustained rate if it was measured",
	  METRIC_TENSOR, .kinds = precisions_by_kind },
	{ "attention.time", "s", BETTER_LOWER, 0, "time of one pass at attention.throughput" },
	SUSTAINED_METRICS("attention", METRIC_TENSOR, .kinds = precisions_by_kind),
	{ "attention.memory", "B", BETTER_LOWER, 0,
	  "bytes of all tensors of the pass; implementation products: including the stored "
	  "scores" },
	{ "attention.error", "1", BETTER_LOWER, 0,
	  "relative L2 error of sampled rows against double precision, for the tensor with the "
	  "largest error",
	  METRIC_EXACT },
	{ 0 },
};

static const struct figure_row figures[] = {
	{ .metric = "attention.throughput",
	  .kind = "lines",
	  .axis = "sequence",
	  .facets = { "pass", "precision" } },
	{ .metric = "attention.memory",
	  .kind = "lines",
	  .logarithmic = true,
	  .axis = "sequence",
	  .facets = { "pass", "precision" } },
	{ 0 },
};

static const struct table_row tables[] = {
	SUSTAINED_TABLE("attention"),
	{ 0 },
};

static const struct word_row words[] = {
	PRECISION_WORDS,
	{ "implementation", "products", "GEMMs only" },
	{ 0 },
};

/*
 * Stores the scores of as many heads as fit here at a time: those of all can exceed the device
 * memory.
 */
#define SCORE_BYTES (1ull << 30)

/* A part of a batch's heads, in one library call. */
static unsigned attention_scored_of(const struct attention_shape *s)
{
	uint64_t head = (uint64_t)s->sequence * s->sequence * precision_bytes(s->precision),
		 heads = SCORE_BYTES / head;

	return heads > s->heads ? s->heads : heads > 0 ? (unsigned)heads : 1;
}

static uint64_t attention_usual_size(const struct plan_case *c, const char *key, bool cpu,
				     uint64_t large, uint64_t small)
{
	int64_t value = section_integer(c->section, key);

	return value > 0 ? (uint64_t)value : cpu ? small : large;
}

/* False: `why` has the reason. */
static bool attention_shape_of_case(const struct plan_case *c, const struct device_info *info,
				    struct attention_shape *s, struct error *why)
{
	bool cpu = info->capabilities & DEVICE_SHARES_HOST_MEMORY;
	uint64_t tokens = attention_usual_size(c, "tokens", cpu, 16384, 1024),
		 hidden = attention_usual_size(c, "hidden", cpu, 2048, 256),
		 sequence = (uint64_t)case_integer(c, "sequence"),
		 head = (uint64_t)case_integer(c, "head_size");

	*s = (struct attention_shape){ .batch = (unsigned)(tokens / sequence),
				       .heads = (unsigned)(hidden / head),
				       .sequence = (unsigned)sequence,
				       .head_size = (unsigned)head,
				       .ld_qkv = 3 * (hidden / head) * head,
				       .ld_o = hidden / head * head,
				       .scale = 1 / sqrtf((float)head),
				       .causal = case_integer(c, "masks") == CAUSAL };
	precision_from_name(case_text(c, "precisions"), &s->precision);
	if (s->batch == 0)
		return error_set(why, STATUS_UNSUPPORTED, "sequence %llu exceeds tokens = %llu",
				 (unsigned long long)sequence, (unsigned long long)tokens),
		       false;
	if (s->heads == 0)
		return error_set(why, STATUS_UNSUPPORTED, "head size %llu exceeds hidden = %llu",
				 (unsigned long long)head, (unsigned long long)hidden),
		       false;
	return kernel_attention_check(s, why) == STATUS_OK;
}

static enum status attention_launch_batch(void *state, unsigned batch, struct error *err)
{
	for (unsigned i = 0; i < batch; i++)
		if (attention_operands_launch(state, err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

static enum status attention_open_tensors(struct run *run, struct attention *a, struct error *err)
{
	if (backend_stream_create(run->devices[0], false, &a->stream, err) != STATUS_OK)
		return err->status;
	for (int t = 0; t < TENSORS; t++) {
		uint64_t bytes = attention_operands_count(a, (enum tensor)t) *
				 attention_operands_element_bytes(a, (enum tensor)t);

		if (bytes > 0 &&
		    (buffer_alloc(&a->tensors[t], run->devices[0], ALLOCATOR_DEVICE, bytes, err) !=
			     STATUS_OK ||
		     (t <= OUTPUT_GRADIENTS
			      ? attention_operands_fill(a, (enum tensor)t, err)
			      : buffer_poison(&a->tensors[t], a->stream, err)) != STATUS_OK))
			return err->status;
	}
	run_value(run, "attention.memory", (double)attention_operands_bytes(a, true));
	return STATUS_OK;
}

static struct attention attention_of(const struct plan_case *c, const struct attention_shape *shape)
{
	return (struct attention){ .shape = *shape,
				   .pass = (enum pass)case_integer(c, "passes"),
				   .implementation =
					   (enum implementation)case_integer(c, "implementations"),
				   .scored = attention_scored_of(shape) };
}

static enum status attention_run(struct run *run, struct error *err)
{
	struct attention_shape shape;
	struct attention a;

	if (!attention_shape_of_case(run->c, &run->devices[0]->info, &shape, err))
		return err->status;
	a = attention_of(run->c, &shape);
	a.seed = run->seed;
	if (attention_open_tensors(run, &a, err) == STATUS_OK &&
	    attention_check_verify(run, &a, err) == STATUS_OK) {
		struct workload w = { .state = &a,
				      .launch = attention_launch_batch,
				      .clock = CLOCK_DEVICE,
				      .streams = &a.stream,
				      .stream_count = 1,
				      .commands = 4 };
		struct sustained_work work = { .run = run };

		if (a.implementation == PRODUCTS)
			w.commands = 4 * a.shape.batch * (a.shape.heads / a.scored + 1);
		work.workload = w;
		work.operations = kernel_attention_operations(&a.shape, a.pass == FORWARD ? 2 : 5);
		if (sustained_sample(&work, err) == STATUS_OK)
			sustained_record(&work);
	}
	if (a.stream)
		backend_stream_synchronize(a.stream, NULL);
	for (int t = 0; t < TENSORS; t++)
		buffer_free(&a.tensors[t]);
	backend_stream_destroy(a.stream);
	return err->status;
}

/* Seconds per value of a sampled row on the CPU, with a margin. */
#define CHECK_SECONDS_PER_VALUE 4e-8

static enum status attention_expand(struct plan *plan, struct plan_case *point, struct error *err)
{
	for (size_t i = 0; i < plan->device_count; i++) {
		const struct device_info *info = &plan->devices[i];
		struct error wrong = ERROR_NONE;
		struct attention_shape shape;
		bool possible = attention_shape_of_case(point, info, &shape, &wrong);
		const char *reason = possible ? NULL : wrong.message;

		if (possible && !(info->capabilities & precision_capability(shape.precision)))
			reason = "the device does not support this precision";
		point->device_bytes = 0;
		point->setup_seconds = 1 + sustained_seconds(point->section, info);
		if (!reason) {
			struct attention a = attention_of(point, &shape);

			point->device_bytes = attention_operands_bytes(&a, false) +
					      attention_operands_count(&a, HEAD) *
						      attention_operands_element_bytes(&a, HEAD);
			point->setup_seconds += HEADS * ROWS * CHECK_SECONDS_PER_VALUE *
							(double)shape.sequence * shape.head_size +
						10 * kernel_attention_operations(&shape, 7) /
							shared_estimate_flops(info, PRECISION_FP32);
		}
		if (plan_add(plan, point, &i, 1, reason, err) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

static const struct aspect_row aspects[] = {
	{ "attention.error", NULL, NULL, ASPECT_CORRECTNESS },
	{ 0 },
};

const struct suite suite_attention = {
	.name = "attention",
	.summary = "fused softmax attention and its gradients, next to its GEMMs alone",
	.keys = keys,
	.axes = axes,
	.metrics = metrics,
	.figures = figures,
	.tables = tables,
	.words = words,
	.aspects = aspects,
	.processes = SUITE_ONE_PROCESS,
	.expand = attention_expand,
	.run = attention_run,
};
