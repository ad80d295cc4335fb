#include "suites/stream/case.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "kernels/generator.h"
#include "suites/stream/reference.h"

const struct stream_shape stream_shapes[] = {
	[STREAM_COPY] = { true, true, false, true },
	[STREAM_MUL] = { true, true, false, true },
	[STREAM_ADD] = { true, true, true, true },
	[STREAM_TRIAD] = { true, true, true, true },
	[STREAM_DOT] = { true, true, true, false },
	[STREAM_READ] = { false, true, false, false },
	[STREAM_WRITE] = { false, false, false, true },
	[STREAM_STRIDED] = { false, true, false, false },
	[STREAM_RANDOM] = { false, true, false, false },
};

static bool stream_is_fp32(const struct stream_case *c)
{
	return c->arguments.precision == PRECISION_FP32;
}

uint64_t stream_elements(const struct stream_case *c)
{
	return c->arguments.bytes / (stream_is_fp32(c) ? 4 : 8);
}

void stream_case_init(struct stream_case *c, struct run *run)
{
	const struct plan_case *p = run->c;
	enum stream_operation operation = (enum stream_operation)case_integer(p, "operations");
	uint64_t bytes = (uint64_t)case_integer(p, "sizes");

	*c = (struct stream_case){ .run = run,
				   .device = run->devices[0],
				   .cold = strcmp(section_text(p->section, "cache"), "cold") == 0 };
	for (size_t i = 0; i < ARRAY_SIZE(c->seeds); i++)
		c->seeds[i] = generator_bits(run->seed, i);
	c->arguments = (struct stream_arguments){ .operation = operation,
						  .precision = PRECISION_FP64,
						  .bytes = bytes,
						  .accesses = bytes / RANDOM_SHARE / 8,
						  .stride = 8,
						  .seed = c->seeds[2] };
	if (stream_shapes[operation].numbers)
		precision_from_name(case_text(p, "precisions"), &c->arguments.precision);
	if (operation == STREAM_STRIDED)
		c->arguments.stride = (uint64_t)case_integer(p, "strides");
}

static enum status stream_fill_array(struct stream_case *c, struct buffer *buffer, uint64_t seed,
				     struct error *err)
{
	struct fill_arguments a = { .memory = buffer->memory, .seed = seed, .scale = 1 };

	if (!stream_shapes[c->arguments.operation].numbers)
		return buffer_fill(buffer, c->stream, seed, err);
	a.kind = stream_is_fp32(c) ? FILL_FP32 : FILL_FP64;
	a.count = stream_elements(c);
	return backend_launch(c->stream, "fill", &a, err);
}

enum status stream_case_open(struct stream_case *c, struct error *err)
{
	const struct stream_shape *shape = &stream_shapes[c->arguments.operation];
	size_t bytes = c->arguments.bytes;

	if (backend_stream_create(c->device, false, &c->stream, err) != STATUS_OK ||
	    (shape->x &&
	     buffer_alloc(&c->x, c->device, ALLOCATOR_DEVICE, bytes, err) != STATUS_OK) ||
	    (shape->y &&
	     buffer_alloc(&c->y, c->device, ALLOCATOR_DEVICE, bytes, err) != STATUS_OK) ||
	    (shape->out &&
	     buffer_alloc(&c->out, c->device, ALLOCATOR_DEVICE, bytes, err) != STATUS_OK) ||
	    buffer_alloc(&c->sum, c->device, ALLOCATOR_DEVICE, sizeof(struct stream_sum), err) !=
		    STATUS_OK ||
	    (shape->x && stream_fill_array(c, &c->x, c->seeds[0], err) != STATUS_OK) ||
	    (shape->y && stream_fill_array(c, &c->y, c->seeds[1], err) != STATUS_OK) ||
	    (c->cold && cache_flush_open(&c->flush, c->stream, err) != STATUS_OK))
		return err->status;
	c->arguments.x = c->x.memory;
	c->arguments.y = c->y.memory;
	c->arguments.out = c->out.memory;
	c->arguments.sum = c->sum.memory;
	return backend_stream_synchronize(c->stream, err);
}

void stream_case_close(struct stream_case *c)
{
	if (c->stream)
		backend_stream_synchronize(c->stream, NULL);
	cache_flush_close(&c->flush);
	buffer_free(&c->sum);
	buffer_free(&c->out);
	buffer_free(&c->y);
	buffer_free(&c->x);
	backend_stream_destroy(c->stream);
}

enum status stream_forget(struct stream_case *c, struct error *err)
{
	if (backend_memory_set(c->stream, c->sum.memory, 0, c->sum.bytes, err) != STATUS_OK)
		return err->status;
	if (c->out.memory)
		return buffer_poison(&c->out, c->stream, err);
	return backend_stream_synchronize(c->stream, err);
}

enum status stream_launch(void *state, unsigned batch, struct error *err)
{
	struct stream_case *c = state;
	enum status status = STATUS_OK;

	for (unsigned i = 0; i < batch && status == STATUS_OK; i++)
		status = backend_launch(c->stream, "stream", &c->arguments, err);
	return status;
}

enum status stream_flush_before(void *state, struct error *err)
{
	return cache_flush(&((struct stream_case *)state)->flush, err);
}

/*
 * Checks every element in place; the findings pass through the memory of the sum, which is not in
 * use.
 */
static enum status stream_check_elements(struct stream_case *c, struct error *err)
{
	struct fill_mismatch found = { 0, UINT64_MAX, 0, 0 };
	struct check_stream_arguments a = { .operation = c->arguments.operation,
					    .precision = c->arguments.precision,
					    .out = c->out.memory,
					    .bytes = c->arguments.bytes,
					    .seeds = { c->seeds[0], c->seeds[1] },
					    .found = c->sum.memory };
	int digits = stream_is_fp32(c) ? 8 : 16;

	if (a.operation == STREAM_WRITE)
		a.seeds[0] = c->arguments.seed;
	if (backend_copy(c->stream, c->sum.memory, &found, sizeof(found), err) != STATUS_OK ||
	    backend_launch(c->stream, "check_stream", &a, err) != STATUS_OK ||
	    backend_copy(c->stream, &found, c->sum.memory, sizeof(found), err) != STATUS_OK ||
	    backend_stream_synchronize(c->stream, err) != STATUS_OK) {
		backend_stream_synchronize(c->stream, NULL); /* enqueued work still uses `found` */
		return err->status;
	}
	if (found.count == 0)
		return STATUS_OK;
	return error_set(err, STATUS_MISMATCH,
			 "wrong result at byte %" PRIu64 ": expected 0x%0*" PRIx64
			 ", got 0x%0*" PRIx64 " (%" PRIu64 " of %" PRIu64 " elements wrong)",
			 found.index, digits, found.expected, digits, found.got, found.count,
			 stream_elements(c));
}

enum status stream_check(struct stream_case *c, double *error, struct error *err)
{
	uint64_t words = c->arguments.bytes / 8, expected;
	struct stream_sum sum;

	*error = NAN;
	if (c->out.memory)
		return stream_check_elements(c, err);
	if (backend_copy(c->stream, &sum, c->sum.memory, offsetof(struct stream_sum, parts), err) !=
		    STATUS_OK ||
	    backend_stream_synchronize(c->stream, err) != STATUS_OK) {
		backend_stream_synchronize(c->stream, NULL);
		return err->status;
	}
	if (c->arguments.operation == STREAM_DOT) {
		double dot = stream_dot_reference(c->seeds, stream_elements(c));

		*error = fabs(sum.sum.number - dot);
		if (*error <= stream_dot_tolerance(stream_elements(c)))
			return STATUS_OK;
		return error_set(err, STATUS_MISMATCH, "wrong sum: expected %.17g, got %.17g", dot,
				 sum.sum.number);
	}
	expected = c->arguments.operation == STREAM_RANDOM
			   ? stream_random_reference(c->seeds[0], c->arguments.seed, words,
						     c->arguments.accesses)
			   : stream_words_reference(c->seeds[0], words);
	if (sum.sum.words == expected)
		return STATUS_OK;
	return error_set(err, STATUS_MISMATCH,
			 "wrong sum: expected 0x%016" PRIx64 ", got 0x%016" PRIx64, expected,
			 sum.sum.words);
}
