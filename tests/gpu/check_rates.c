/*
 * Rates of the layers' kernels at the shapes that peers publish, printed and not judged:
 * gpuproof-gpu-check --only rate_. Times are medians of batches between two events, after warm-up
 * of 0.2 s, random operands.
 */
#include "gpu_check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "kernels/attention/attention.h"
#include "kernels/convolution/convolution.h"
#include "kernels/memory/fill.h"

#define BATCHES 7
#define BATCH_SECONDS 0.02

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static enum status time_batch(struct stream *stream, const char *kernel, const void *arguments,
			      int count, double *seconds, struct error *err)
{
	struct event *begin = NULL, *end = NULL;

	STEP(backend_event_create(stream->device, &begin, err));
	STEP(backend_event_create(stream->device, &end, err));
	STEP(backend_event_record(begin, stream, err));
	for (int i = 0; i < count; i++)
		STEP(backend_launch(stream, kernel, arguments, err));
	STEP(backend_event_record(end, stream, err));
	STEP(backend_stream_synchronize(stream, err));
	STEP(backend_event_elapsed(begin, end, seconds, err));
	backend_event_destroy(begin);
	backend_event_destroy(end);
	return STATUS_OK;
}

/* Seconds of one launch. */
static enum status time_kernel(struct stream *stream, const char *kernel, const void *arguments,
			       double *seconds, struct error *err)
{
	double batches[BATCHES], once = 0, start = clock_seconds();
	int count;

	do
		STEP(time_batch(stream, kernel, arguments, 2, &once, err));
	while (clock_seconds() - start < 0.2);
	count = (int)(BATCH_SECONDS / (once / 2)) + 1;
	for (int i = 0; i < BATCHES; i++)
		STEP(time_batch(stream, kernel, arguments, count, &batches[i], err));
	qsort(batches, BATCHES, sizeof(*batches), ascending);
	*seconds = batches[BATCHES / 2] / count;
	return STATUS_OK;
}

/*
 * Device memory with `count` random FP32, FP16 or BF16 elements around 0; kept to the end of the
 * process.
 */
static enum status random_elements(struct check_context *context, enum precision precision,
				   uint64_t count, void **memory, struct error *err)
{
	static const enum fill_kind kinds[PRECISION_COUNT] = { [PRECISION_FP32] = FILL_FP32,
							       [PRECISION_TF32] = FILL_FP32,
							       [PRECISION_FP16] = FILL_FP16,
							       [PRECISION_BF16] = FILL_BF16 };

	STEP(backend_memory_alloc(context->device, ALLOCATOR_DEVICE,
				  count * precision_bytes(precision), NULL, memory, err));
	return backend_launch(context->stream, "fill",
			      &(struct fill_arguments){ .memory = *memory,
							.kind = kinds[precision],
							.count = count,
							.seed = 7,
							.scale = 1 },
			      err);
}

static enum status time_attention(struct check_context *context, const struct attention_shape *s,
				  struct error *err)
{
	uint64_t elements = (uint64_t)s->batch * s->sequence * s->ld_o;
	void *qkv, *o, *d_o, *gradients, *lse, *delta;
	char *first, *gradient;
	uint64_t part = (uint64_t)s->heads * s->head_size * 2;
	double forward, backward;

	STEP(random_elements(context, s->precision, 3 * elements, &qkv, err));
	STEP(random_elements(context, s->precision, elements, &o, err));
	STEP(random_elements(context, s->precision, elements, &d_o, err));
	STEP(random_elements(context, s->precision, 3 * elements, &gradients, err));
	STEP(random_elements(context, s->precision, 2 * kernel_attention_row_values(s), &lse, err));
	STEP(random_elements(context, s->precision, 2 * kernel_attention_row_values(s), &delta,
			     err));
	first = qkv;
	gradient = gradients;
	STEP(time_kernel(context->stream, "attention_forward",
			 &(struct attention_forward_arguments){ .shape = *s,
								.q = first,
								.k = first + part,
								.v = first + 2 * part,
								.o = o,
								.lse = lse },
			 &forward, err));
	STEP(time_kernel(context->stream, "attention_backward",
			 &(struct attention_backward_arguments){ .shape = *s,
								 .q = first,
								 .k = first + part,
								 .v = first + 2 * part,
								 .o = o,
								 .d_o = d_o,
								 .lse = lse,
								 .dq = gradient,
								 .dk = gradient + part,
								 .dv = gradient + 2 * part,
								 .delta = delta },
			 &backward, err));
	printf("rate attention %s head %u, %u x %u heads of %u, %s: forward %.3f ms, %.0f TFLOP/s; "
	       "backward %.3f ms, %.0f TFLOP/s\n",
	       precision_name(s->precision), s->head_size, s->batch, s->heads, s->sequence,
	       s->causal ? "causal" : "full", 1e3 * forward,
	       kernel_attention_operations(s, 2) / forward / 1e12, 1e3 * backward,
	       kernel_attention_operations(s, 5) / backward / 1e12);
	backend_memory_free(context->device, ALLOCATOR_DEVICE, qkv, 6 * elements, NULL, err);
	backend_memory_free(context->device, ALLOCATOR_DEVICE, gradients, 6 * elements, NULL, err);
	backend_memory_free(context->device, ALLOCATOR_DEVICE, o, 2 * elements, NULL, err);
	backend_memory_free(context->device, ALLOCATOR_DEVICE, d_o, 2 * elements, NULL, err);
	return err->status;
}

/* 16 Ki positions in all, 16 heads of 128: the shapes of the FlashAttention papers. */
static enum status rate_attention(struct check_context *context, struct error *err)
{
	static const unsigned sequences[] = { 1024, 2048, 4096, 8192, 16384 };

	for (size_t i = 0; i < ARRAY_SIZE(sequences); i++) {
		struct attention_shape s = { .precision = PRECISION_BF16,
					     .batch = 16384 / sequences[i],
					     .heads = 16,
					     .sequence = sequences[i],
					     .head_size = 128,
					     .ld_qkv = 3 * 16 * 128,
					     .ld_o = 16 * 128,
					     .scale = 1 / sqrtf(128),
					     .causal = 1 };

		STEP(time_attention(context, &s, err));
	}
	return STATUS_OK;
}

static enum status time_convolution(struct check_context *context,
				    const struct convolution_shape *s, struct error *err)
{
	uint64_t pixels = (uint64_t)s->batch * s->height * s->width,
		 out = kernel_convolution_out_pixels(s) * s->filters;
	void *x, *y, *w, *scratch;
	double forward, data, weights, operations = kernel_convolution_operations(s);

	STEP(random_elements(context, s->precision, pixels * s->channels, &x, err));
	STEP(random_elements(context, s->precision, out, &y, err));
	STEP(random_elements(context, s->precision, kernel_convolution_weights(s), &w, err));
	STEP(random_elements(context, PRECISION_FP32, kernel_convolution_scratch_bytes(s) / 4,
			     &scratch, err));
	STEP(time_kernel(context->stream, "convolution_forward",
			 &(struct convolution_forward_arguments){ *s, x, w, y }, &forward, err));
	STEP(time_kernel(context->stream, "convolution_weight_gradient",
			 &(struct convolution_weight_gradient_arguments){ *s, x, y, w, scratch, 0 },
			 &weights, err));
	STEP(random_elements(context, s->precision, kernel_convolution_weights(s), &w, err));
	STEP(time_kernel(context->stream, "convolution_data_gradient",
			 &(struct convolution_data_gradient_arguments){ *s, y, w, x }, &data, err));
	printf("rate convolution %s %ux%u, %u x %u x %u x %u to %u%s, stride %u: forward %.3f ms, "
	       "%.0f TFLOP/s; data %.3f ms, %.0f; weights %.3f ms, %.0f\n",
	       precision_name(s->precision), s->kernel_height, s->kernel_width, s->batch, s->height,
	       s->width, s->channels, s->filters, s->depthwise ? ", depthwise" : "", s->stride,
	       1e3 * forward, operations / forward / 1e12, 1e3 * data, operations / data / 1e12,
	       1e3 * weights, operations / weights / 1e12);
	return STATUS_OK;
}

/*
 * 3 x 3 with 256 channels in FP16, as in ResNets; their first layers, channels that are no multiple
 * of 8, and FP32 and TF32.
 */
static enum status rate_convolution(struct check_context *context, struct error *err)
{
	static const struct convolution_shape shapes[] = {
		{ PRECISION_FP16, 128, 14, 14, 256, 256, 3, 3, 1, 1, 0 },
		{ PRECISION_FP16, 64, 28, 28, 256, 256, 3, 3, 1, 1, 0 },
		{ PRECISION_FP16, 32, 56, 56, 256, 256, 3, 3, 1, 1, 0 },
		{ PRECISION_FP16, 64, 28, 28, 256, 256, 3, 3, 2, 1, 0 },
		{ PRECISION_FP16, 64, 28, 28, 256, 256, 3, 3, 1, 1, 1 },
		{ PRECISION_FP16, 64, 28, 28, 512, 512, 1, 1, 1, 0, 0 },
		{ PRECISION_FP16, 64, 56, 56, 64, 64, 3, 3, 1, 1, 0 },
		{ PRECISION_FP16, 64, 224, 224, 3, 64, 7, 7, 2, 3, 0 },
		{ PRECISION_FP16, 64, 28, 28, 100, 100, 3, 3, 1, 1, 0 },
		{ PRECISION_TF32, 64, 56, 56, 64, 64, 3, 3, 1, 1, 0 },
		{ PRECISION_TF32, 64, 28, 28, 256, 256, 3, 3, 1, 1, 0 },
		{ PRECISION_TF32, 64, 224, 224, 3, 64, 7, 7, 2, 3, 0 },
		{ PRECISION_TF32, 64, 28, 28, 256, 256, 3, 3, 2, 1, 0 },
		{ PRECISION_FP32, 64, 56, 56, 64, 64, 3, 3, 1, 1, 0 },
		{ PRECISION_FP32, 64, 28, 28, 256, 256, 3, 3, 1, 1, 0 },
		{ PRECISION_FP32, 64, 224, 224, 3, 64, 7, 7, 2, 3, 0 },
		{ PRECISION_FP32, 64, 28, 28, 256, 256, 3, 3, 2, 1, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++)
		STEP(time_convolution(context, &shapes[i], err));
	return STATUS_OK;
}

/* Milliseconds of a pass by an algorithm into `text`; "-" where it is not written for it. */
static enum status time_algorithm(struct check_context *context, const char *kernel,
				  const void *arguments, char text[16], struct error *err)
{
	struct error refusal = ERROR_NONE;
	double seconds = 0;

	snprintf(text, 16, "-");
	if (time_kernel(context->stream, kernel, arguments, &seconds, &refusal) == STATUS_OK)
		snprintf(text, 16, "%.3f", 1e3 * seconds);
	else if (refusal.status != STATUS_UNSUPPORTED)
		*err = refusal;
	return err->status;
}

static enum status time_algorithms(struct check_context *context, struct convolution_shape s,
				   struct error *err)
{
	uint64_t in = (uint64_t)s.batch * s.height * s.width * s.channels,
		 out = kernel_convolution_out_pixels(&s) * s.filters;
	void *x, *y, *w, *dw, *scratch;
	char forward[16], data[16], weights[16];

	STEP(random_elements(context, s.precision, in, &x, err));
	STEP(random_elements(context, s.precision, out, &y, err));
	STEP(random_elements(context, s.precision, kernel_convolution_weights(&s), &w, err));
	STEP(random_elements(context, s.precision, kernel_convolution_weights(&s), &dw, err));
	STEP(random_elements(context, PRECISION_FP32, kernel_convolution_scratch_bytes(&s) / 4,
			     &scratch, err));
	printf("rate algorithms %s %ux%u, %u x %u x %u to %u, stride %u, ms:",
	       precision_name(s.precision), s.kernel_height, s.kernel_width, s.batch, s.height,
	       s.channels, s.filters, s.stride);
	for (int i = 0; i < CONVOLUTION_ALGORITHMS; i++) {
		s.algorithm = (enum convolution_algorithm)i;
		STEP(time_algorithm(context, "convolution_data_gradient",
				    &(struct convolution_data_gradient_arguments){ s, y, w, x },
				    data, err));
		STEP(time_algorithm(context, "convolution_weight_gradient",
				    &(struct convolution_weight_gradient_arguments){ s, x, y, dw,
										     scratch, 0 },
				    weights, err));
		STEP(time_algorithm(context, "convolution_forward",
				    &(struct convolution_forward_arguments){ s, x, w, y }, forward,
				    err));
		printf(" %s %s/%s/%s;", kernel_convolution_algorithm_name(s.algorithm), forward,
		       data, weights);
	}
	printf("\n");
	return STATUS_OK;
}

/* Every algorithm: what the chosen one could lose. */
static enum status rate_algorithms(struct check_context *context, struct error *err)
{
	static const struct convolution_shape shapes[] = {
		{ PRECISION_TF32, 64, 28, 28, 256, 256, 3, 3, 1, 1, 0 },
		{ PRECISION_TF32, 64, 56, 56, 64, 64, 3, 3, 1, 1, 0 },
		{ PRECISION_TF32, 64, 28, 28, 256, 256, 3, 3, 2, 1, 0 },
		{ PRECISION_TF32, 64, 14, 14, 512, 512, 1, 1, 1, 0, 0 },
		{ PRECISION_FP16, 64, 28, 28, 256, 256, 3, 3, 1, 1, 0 },
		{ PRECISION_FP16, 64, 224, 224, 3, 64, 7, 7, 2, 3, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++)
		STEP(time_algorithms(context, shapes[i], err));
	return STATUS_OK;
}

const struct check rate_checks[] = {
	{ "rate_attention", rate_attention },
	{ "rate_convolution", rate_convolution },
	{ "rate_algorithms", rate_algorithms },
	{ 0 },
};
