/*
 * Rates of the layers' kernels at the shapes that peers publish, printed and not judged: gpuproof-gpu-check --only rate_.
 * Times are medians of batches between two events, after warm-up of half a second, random operands.
 */
#include "gpu_check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "kernels/attention/attention.h"
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
	while (clock_seconds() - start < 0.3);
	count = (int)(BATCH_SECONDS / (once / 2)) + 1;
	for (int i = 0; i < BATCHES; i++)
		STEP(time_batch(stream, kernel, arguments, count, &batches[i], err));
	qsort(batches, BATCHES, sizeof(*batches), ascending);
	*seconds = batches[BATCHES / 2] / count;
	return STATUS_OK;
}

/* Device memory with `count` random FP16 or BF16 elements around 0; kept to the end of the process. */
static enum status random_elements(struct check_context *context, enum precision precision,
				   uint64_t count, void **memory, struct error *err)
{
	STEP(backend_memory_alloc(context->device, ALLOCATOR_DEVICE, count * 2, NULL, memory, err));
	return backend_launch(context->stream, "fill",
			      &(struct fill_arguments){
				      .memory = *memory,
				      .kind = precision == PRECISION_FP16 ? FILL_FP16 : FILL_BF16,
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
	STEP(random_elements(context, s->precision, 2 * attention_row_values(s), &lse, err));
	STEP(random_elements(context, s->precision, 2 * attention_row_values(s), &delta, err));
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
	       attention_operations(s, 2) / forward / 1e12, 1e3 * backward,
	       attention_operations(s, 5) / backward / 1e12);
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

const struct check rate_checks[] = {
	{ "rate_attention", rate_attention },
	{ 0 },
};
