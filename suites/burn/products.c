#include "suites/burn/products.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "plan/config.h"

/* A chunk of products is waited for together: seldom enough that the device is never seen idle. */
#define CHUNK_SECONDS 0.25
#define CHUNK_MOST 400
#define CHUNKS_LEAST 20 /* samples of a short slice */
/* The same operands in every slice: the reference is then worked out once. */
#define SEED UINT64_C(0x6275726e)

static int64_t size_of(const struct section *section)
{
	return section_integer(section, "size");
}

uint64_t burn_products_bytes(const struct section *section, enum precision precision)
{
	uint64_t n = (uint64_t)size_of(section);

	return 4 * n * n * precision_bytes(precision);
}

/* Computed once for all slices. */
static const struct matmul_reference *reference_for(struct burn_state *state,
						    enum precision precision, int64_t n)
{
	struct matmul_reference *reference = &state->references[precision].reference;
	bool *known = &state->references[precision].known;
	struct matmul_problem problem = { .precision = precision,
					  .m = n,
					  .n = n,
					  .k = n,
					  .scale = 1,
					  .seed_a = SEED,
					  .seed_b = SEED + 1 };

	if (*known && reference->problem.n != n) {
		matmul_reference_release(reference);
		*known = false;
	}
	if (!*known)
		matmul_reference_init(reference, &problem);
	*known = true;
	return reference;
}

static enum status fill(const struct products *p, struct error *err)
{
	static const enum fill_kind kinds[PRECISION_COUNT] = { [PRECISION_FP64] = FILL_FP64,
							       [PRECISION_FP32] = FILL_FP32,
							       [PRECISION_FP16] = FILL_FP16 };
	struct fill_arguments fill = { .memory = p->a.memory,
				       .kind = kinds[p->gemm.precision],
				       .count = (uint64_t)(p->gemm.m * p->gemm.k),
				       .seed = SEED,
				       .scale = 1 };

	if (backend_launch(p->stream, "fill", &fill, err) != STATUS_OK)
		return err->status;
	fill.memory = p->b.memory;
	fill.seed = SEED + 1;
	return backend_launch(p->stream, "fill", &fill, err);
}

/* The first product, in a copy that the CPU reads. */
static enum status verify_first(const struct products *p, struct burn *b, struct buffer *copy,
				struct error *err)
{
	const struct matmul_reference *reference;
	struct matmul_error error;

	if (backend_gemm(p->stream, &p->gemm, err) != STATUS_OK ||
	    backend_copy(p->stream, p->kept.memory, p->c.memory, p->bytes, err) != STATUS_OK ||
	    backend_copy(p->stream, copy->memory, p->c.memory, p->bytes, err) != STATUS_OK)
		return err->status;
	/* The device computes while the reference does. */
	reference = reference_for(b->run->suite_state, p->gemm.precision, p->gemm.n);
	if (backend_stream_synchronize(p->stream, err) != STATUS_OK)
		return err->status;
	b->tally.tolerance = reference->tolerance;
	if (matmul_reference_check(reference, copy->memory, &error, err) != STATUS_OK)
		return error_prefix(err, "the first product");
	b->tally.error = error.stored;
	return STATUS_OK;
}

enum status products_open(struct products *p, struct burn *b, struct stream *stream,
			  enum precision precision, struct error *err)
{
	int64_t n = size_of(b->run->c->section);
	struct buffer copy = { .memory = NULL };
	struct buffer *buffers[] = { &p->a, &p->b, &p->c, &p->kept };

	*p = (struct products){ .stream = stream,
				.bytes = (uint64_t)(n * n) * precision_bytes(precision) };
	for (size_t i = 0; i < ARRAY_SIZE(buffers); i++)
		if (buffer_alloc(buffers[i], b->device, ALLOCATOR_DEVICE, p->bytes, err) !=
		    STATUS_OK)
			return err->status;
	p->gemm = (struct gemm){ .precision = precision,
				 .m = n,
				 .n = n,
				 .k = n,
				 .lda = n,
				 .ldb = n,
				 .ldc = n,
				 .a = p->a.memory,
				 .b = p->b.memory,
				 .c = p->c.memory,
				 .alpha = 1 };
	if (buffer_poison(&p->c, stream, err) != STATUS_OK || fill(p, err) != STATUS_OK ||
	    buffer_alloc(&copy, b->device, ALLOCATOR_PAGEABLE, p->bytes, err) != STATUS_OK)
		return err->status;
	verify_first(p, b, &copy, err);
	backend_stream_synchronize(stream, NULL);
	buffer_free(&copy);
	return err->status;
}

void products_close(struct products *p)
{
	if (p->stream)
		backend_stream_synchronize(p->stream, NULL);
	buffer_free(&p->a);
	buffer_free(&p->b);
	buffer_free(&p->c);
	buffer_free(&p->kept);
}

static enum status compare(const struct products *p, void *record, struct error *err)
{
	struct soak_compare_arguments arguments = { p->c.memory, p->kept.memory, p->bytes, record };

	return backend_launch(p->stream, "soak_compare", &arguments, err);
}

enum status products_enqueue(const struct products *p, uint64_t count, void *record,
			     struct error *err)
{
	for (uint64_t i = 0; i < count; i++)
		if (backend_gemm(p->stream, &p->gemm, err) != STATUS_OK ||
		    compare(p, record, err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

static double operations(const struct products *p)
{
	return 2.0 * (double)p->gemm.m * (double)p->gemm.n * (double)p->gemm.k;
}

static enum status look_end(struct burn *b, const struct products *p, uint64_t count,
			    struct error *err)
{
	char what[96];
	const struct burn_place place = { what, p->bytes };

	snprintf(what, sizeof(what), "product %" PRIu64 " to %" PRIu64 " of %s",
		 b->tally.rounds + 1, b->tally.rounds + count, precision_name(p->gemm.precision));
	if (count == 1)
		snprintf(what, sizeof(what), "product %" PRIu64 " of %s", b->tally.rounds + 1,
			 precision_name(p->gemm.precision));
	b->tally.rounds += count;
	b->tally.verified_bytes += (double)count * (double)p->bytes;
	return burn_look_end(b, &b->record, &place, err);
}

/* One product with a bit turned before it is compared. */
static enum status plant(struct burn *b, const struct products *p, struct error *err)
{
	uint64_t word = burn_plant_word(b, p->bytes / 8);

	if (burn_look_begin(&b->record, err) != STATUS_OK ||
	    backend_gemm(p->stream, &p->gemm, err) != STATUS_OK ||
	    burn_plant(b, p->stream, (char *)p->c.memory + 8 * word, 8 * word, err) != STATUS_OK ||
	    compare(p, b->record.buffer.memory, err) != STATUS_OK)
		return err->status;
	return look_end(b, p, 1, err);
}

static enum status chunk(struct burn *b, const struct products *p, uint64_t count, double *seconds,
			 struct error *err)
{
	if (burn_look_begin(&b->record, err) != STATUS_OK ||
	    backend_event_record(b->start, p->stream, err) != STATUS_OK ||
	    products_enqueue(p, count, b->record.buffer.memory, err) != STATUS_OK ||
	    backend_event_record(b->end, p->stream, err) != STATUS_OK ||
	    look_end(b, p, count, err) != STATUS_OK ||
	    backend_event_elapsed(b->start, b->end, seconds, err) != STATUS_OK)
		return err->status;
	return STATUS_OK;
}

uint64_t products_in_chunk(const struct burn *b, double seconds)
{
	double chunk = fmin(CHUNK_SECONDS, b->run->c->fixed_seconds / CHUNKS_LEAST);
	double count = seconds > 0 ? chunk / seconds : 1;

	return count < 1 ? 1 : count > CHUNK_MOST ? CHUNK_MOST : (uint64_t)count;
}

static enum status multiply(struct burn *b, const struct products *p, struct error *err)
{
	uint64_t count = 1;
	double seconds;

	/* The first again is warm; its time says how many make a chunk. */
	if (chunk(b, p, 1, &b->series->first, err) != STATUS_OK ||
	    chunk(b, p, 2, &seconds, err) != STATUS_OK)
		return err->status;
	count = products_in_chunk(b, seconds / 2);
	b->series->batch = (unsigned)count;
	do {
		if (burn_plant_due(b) && plant(b, p, err) != STATUS_OK)
			return err->status;
		if (chunk(b, p, count, &seconds, err) != STATUS_OK)
			return err->status;
		burn_timed(b, seconds, (double)count, (double)count * operations(p));
		burn_pulse(b);
	} while (burn_interrupted(b, err) == STATUS_OK && burn_go_on(b));
	return err->status;
}

enum status burn_products(struct burn *b, enum precision precision, struct error *err)
{
	struct products p;
	enum status status = products_open(&p, b, b->record.stream, precision, err);

	if (status == STATUS_MISMATCH) {
		/* No bit of what follows could be trusted; that it is wrong is the finding. */
		burn_note_wrong(b, 1, err->message);
		error_clear(err);
	} else if (status == STATUS_OK) {
		multiply(b, &p, err);
	}
	products_close(&p);
	return err->status;
}
