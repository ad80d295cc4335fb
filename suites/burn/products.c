#include "suites/burn/burn.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "device/autotune.h"
#include "plan/config.h"
#include "plan/plan.h"
#include "suites/burn/exact_table.h"

/* GEMMs are waited for in chunks long enough to keep the device busy. */
#define CHUNK_SECONDS 0.25
#define CHUNK_MOST 400
#define CHUNKS_LEAST 20 /* samples of a short slice */
#define SEED UINT64_C(0x6275726e)
/* About one seed in ten thousand gives a sum that is too large. */
#define SEEDS_MOST 8
/* Offsets are multiples of this, so that operands stay aligned to 16 bytes. */
#define ROW_STEP 8
/* Slices of this length and more also measure the rate without the check, for this fraction. */
#define LONG_SLICE_SECONDS 2.0
#define ALONE_SHARE 0.01
#define PAUSE_PART 0.1 /* seconds */

/* Stored rows of op(A): enough for the result at any offset. */
static int64_t products_stored_rows(int64_t n)
{
	return n + ROW_STEP * SOAK_ROW_PERIOD;
}

static int64_t products_stored_columns(int64_t n)
{
	return n + SOAK_COLUMN_PERIOD;
}

static uint32_t products_result_bytes(enum precision precision)
{
	return precision == PRECISION_FP64 ? 8 : 4;
}

uint64_t burn_products_bytes(const struct section *section, enum precision precision)
{
	uint64_t n = (uint64_t)section_integer(section, "size");
	uint64_t operands = n * (uint64_t)(products_stored_rows((int64_t)n) +
					   products_stored_columns((int64_t)n));

	return operands * precision_bytes(precision) +
	       (n * n + SOAK_TABLE_ENTRIES) * products_result_bytes(precision) +
	       sizeof(struct wrong_words);
}

uint64_t products_elements(const struct products *p)
{
	return (uint64_t)(p->gemm.m * p->gemm.n);
}

static enum status products_fill_operands(const struct products *p, const struct exact_problem *x,
					  struct error *err)
{
	uint64_t k = (uint64_t)x->k, rows = (uint64_t)products_stored_rows(p->gemm.m);
	struct soak_operand_arguments a = { .memory = p->a.memory,
					    .precision = p->gemm.precision,
					    .rows = x->transposed ? k : rows,
					    .columns = x->transposed ? rows : k,
					    .row_period = x->transposed ? 0 : SOAK_ROW_PERIOD,
					    .column_period = x->transposed ? SOAK_ROW_PERIOD : 0,
					    .range = x->range,
					    .seed = x->seed };
	struct soak_operand_arguments b = { .memory = p->b.memory,
					    .precision = p->gemm.precision,
					    .rows = k,
					    .columns = (uint64_t)products_stored_columns(p->gemm.n),
					    .column_period = SOAK_COLUMN_PERIOD,
					    .range = x->range,
					    .seed = x->seed + 1 };

	if (backend_launch(p->stream, "soak_operand", &a, err) != STATUS_OK)
		return err->status;
	return backend_launch(p->stream, "soak_operand", &b, err);
}

static enum status products_allocate(struct products *p, struct device *device, struct error *err)
{
	uint64_t k = (uint64_t)p->gemm.k, bytes = precision_bytes(p->gemm.precision);
	const struct {
		struct buffer *buffer;
		uint64_t bytes;
	} buffers[] = {
		{ &p->a, (uint64_t)products_stored_rows(p->gemm.m) * k * bytes },
		{ &p->b, (uint64_t)products_stored_columns(p->gemm.n) * k * bytes },
		{ &p->c, products_elements(p) * p->element_bytes },
		{ &p->table, (uint64_t)SOAK_TABLE_ENTRIES * p->element_bytes },
		{ &p->canary, sizeof(struct wrong_words) },
	};

	for (size_t i = 0; i < ARRAY_SIZE(buffers); i++)
		if (buffer_alloc(buffers[i].buffer, device, ALLOCATOR_DEVICE, buffers[i].bytes,
				 err) != STATUS_OK)
			return err->status;
	p->gemm.a = p->a.memory;
	p->gemm.b = p->b.memory;
	p->gemm.c = p->c.memory;
	return STATUS_OK;
}

/* Computes the exact values on the CPU, and sets the seed in `x` to one whose sums are exact. */
static enum status products_fill_table(const struct products *p, struct exact_problem *x,
				       struct error *err)
{
	double *table = xcalloc(SOAK_TABLE_ENTRIES, sizeof(*table));
	int seeds = 1;

	while (!exact_table_fill(table, x) && seeds < SEEDS_MOST) {
		x->seed = generator_bits(SEED, x->seed);
		seeds++;
	}
	/*
	 * Converts in place, because it shrinks. No rounding: the values are exact in this format.
	 */
	for (size_t i = 0; p->element_bytes == 4 && i < SOAK_TABLE_ENTRIES; i++) {
		float single = (float)table[i];
		int32_t whole = (int32_t)table[i];

		memcpy((char *)table + 4 * i,
		       p->gemm.precision == PRECISION_INT8 ? (void *)&whole : (void *)&single, 4);
	}
	if (seeds == SEEDS_MOST)
		error_set(err, STATUS_INTERNAL,
			  "found no seed for which sums of %s operands are exact",
			  precision_name(p->gemm.precision));
	else if (backend_copy(p->stream, p->table.memory, table,
			      (size_t)SOAK_TABLE_ENTRIES * p->element_bytes, err) == STATUS_OK)
		backend_stream_synchronize(p->stream, err);
	free(table);
	return err->status;
}

enum status products_open(struct products *p, struct burn *b, struct stream *stream,
			  enum precision precision, struct error *err)
{
	static const struct autotune_rules first = { 0 };
	int64_t n = section_integer(b->run->c->section, "size");
	struct gemm_choice choice;
	/* Data differ between slices and loads, and are the same on all ranks. */
	struct exact_problem x =
		exact_table_problem_of(precision, n,
				       generator_bits(SEED + (uint64_t)precision,
						      (uint64_t)case_integer(b->run->c, "slice")));

	*p = (struct products){ .stream = stream,
				.element_bytes = products_result_bytes(precision) };
	p->gemm = (struct gemm){ .precision = precision,
				 .transpose_a = x.transposed,
				 .m = n,
				 .n = n,
				 .k = n,
				 .lda = x.transposed ? n : products_stored_rows(n),
				 .ldb = n,
				 .ldc = n,
				 .alpha = 1,
				 .wide = precision_result_bytes(precision) == 2 };
	if (products_allocate(p, b->device, err) != STATUS_OK ||
	    products_fill_table(p, &x, err) != STATUS_OK ||
	    products_fill_operands(p, &x, err) != STATUS_OK)
		return err->status;
	/* Only cuBLASLt multiplies FP8; use its first algorithm. */
	if (precision == PRECISION_FP8) {
		if (backend_gemm_search(stream, &p->gemm, &first, &choice, err) != STATUS_OK)
			return err->status;
		p->gemm.searched = true;
	}
	return buffer_poison(&p->c, stream, err);
}

void products_close(struct products *p)
{
	if (p->stream)
		backend_stream_synchronize(p->stream, NULL);
	buffer_free(&p->a);
	buffer_free(&p->b);
	buffer_free(&p->c);
	buffer_free(&p->table);
	buffer_free(&p->canary);
}

static void products_choose_offsets(struct products *p)
{
	p->row_offset = (uint32_t)(ROW_STEP * (generator_bits(SEED, p->made) % SOAK_ROW_PERIOD));
	p->column_offset = (uint32_t)(p->made % SOAK_COLUMN_PERIOD);
}

/* Enqueues the next GEMM. Other offsets than the last ones change every element of its result. */
static enum status products_multiply(struct products *p, struct error *err)
{
	struct gemm gemm = p->gemm;
	uint64_t bytes = precision_bytes(gemm.precision);

	products_choose_offsets(p);
	p->made++;
	gemm.a = (const char *)gemm.a +
		 p->row_offset * (gemm.transpose_a ? (uint64_t)gemm.lda : 1) * bytes;
	gemm.b = (const char *)gemm.b + (uint64_t)p->column_offset * (uint64_t)gemm.ldb * bytes;
	return backend_gemm(p->stream, &gemm, err);
}

static enum status soak_compare_product(const struct products *p, uint32_t canary, void *record,
					struct error *err)
{
	struct soak_table_arguments a = { .memory = p->c.memory,
					  .table = p->table.memory,
					  .element_bytes = p->element_bytes,
					  .rows = (uint64_t)p->gemm.m,
					  .columns = (uint64_t)p->gemm.n,
					  .row_period = SOAK_ROW_PERIOD,
					  .column_period = SOAK_COLUMN_PERIOD,
					  .row_offset = p->row_offset,
					  .column_offset = p->column_offset,
					  .canary = canary,
					  .out = record };

	return backend_launch(p->stream, "soak_table", &a, err);
}

enum status products_enqueue(struct products *p, uint64_t count, void *record, struct error *err)
{
	uint64_t element, row, column;

	for (uint64_t i = 0; i < count; i++)
		if (products_multiply(p, err) != STATUS_OK ||
		    soak_compare_product(p, SOAK_NO_CANARY, record, err) != STATUS_OK)
			return err->status;
	/* An entry that occurs in the result; small results lack some. */
	element = generator_bits(SEED + 1, p->made) % products_elements(p);
	row = element % (uint64_t)p->gemm.m + p->row_offset;
	column = element / (uint64_t)p->gemm.m + p->column_offset;
	p->canary_entry =
		(uint32_t)(column % SOAK_COLUMN_PERIOD * SOAK_ROW_PERIOD + row % SOAK_ROW_PERIOD);
	if (backend_memory_set(p->stream, p->canary.memory, 0, sizeof(struct wrong_words), err) !=
	    STATUS_OK)
		return err->status;
	return soak_compare_product(p, p->canary_entry, p->canary.memory, err);
}

uint64_t products_replicas(const struct products *p)
{
	uint64_t places = (uint64_t)(p->gemm.m / SOAK_ROW_PERIOD) *
			  (uint64_t)(p->gemm.n / SOAK_COLUMN_PERIOD);

	return places ? places - 1 : 0;
}

enum status products_check_canary(const struct products *p, struct burn *b, struct error *err)
{
	struct wrong_words found = { 0 };
	char text[160];
	uint64_t wanted = exact_table_places(p->canary_entry, (uint64_t)p->gemm.m,
					     (uint64_t)p->gemm.n, p->row_offset, p->column_offset);

	if (backend_copy(p->stream, &found, p->canary.memory, sizeof(found), err) != STATUS_OK ||
	    backend_stream_synchronize(p->stream, err) != STATUS_OK)
		return err->status;
	b->tally.canaries++;
	/* Other wrong elements add words; the check itself reports those. */
	if (found.compared == products_elements(p) && found.count >= wanted && found.flipped & 1)
		return STATUS_OK;
	snprintf(text, sizeof(text),
		 "the check of GEMM results is broken: a wrong entry was injected at %" PRIu64
		 " places and found at %" PRIu64 " of %" PRIu64 " elements",
		 wanted, found.count, found.compared);
	burn_look_note_check_error(b, text);
	return STATUS_OK;
}

static double products_operations(const struct products *p)
{
	return 2.0 * (double)p->gemm.m * (double)p->gemm.n * (double)p->gemm.k;
}

static enum status products_look_end(struct burn *b, const struct products *p, uint64_t count,
				     struct error *err)
{
	char what[96];
	const struct burn_place place = { .what = what,
					  .bytes = products_elements(p) * p->element_bytes,
					  .compared = count * products_elements(p),
					  .rows = (uint64_t)p->gemm.m,
					  .element_bytes = p->element_bytes,
					  .replicas = products_replicas(p) };

	snprintf(what, sizeof(what), "GEMM %" PRIu64 " to %" PRIu64 " of %s", b->tally.rounds + 1,
		 b->tally.rounds + count, precision_name(p->gemm.precision));
	if (count == 1)
		snprintf(what, sizeof(what), "GEMM %" PRIu64 " of %s", b->tally.rounds + 1,
			 precision_name(p->gemm.precision));
	b->tally.rounds += count;
	b->tally.verified_bytes += (double)count * (double)place.bytes;
	b->tally.multiply_adds += (double)count * products_operations(p) / 2;
	b->tally.starts++;
	if (!(b->celsius < BURN_HOT_CELSIUS)) /* an unknown temperature makes the sum unknown */
		b->tally.hot_multiply_adds +=
			isnan(b->celsius) ? b->celsius : (double)count * products_operations(p) / 2;
	return burn_look_end(b, &b->record, &place, err);
}

/* Runs one GEMM and flips a bit before the comparison. */
static enum status products_inject_bit(struct burn *b, struct products *p, struct error *err)
{
	uint64_t word = burn_look_inject_word(b, products_elements(p) * p->element_bytes / 8);

	if (burn_look_begin(&b->record, err) != STATUS_OK ||
	    products_multiply(p, err) != STATUS_OK ||
	    burn_look_inject(b, p->stream, (char *)p->c.memory + 8 * word, 8 * word, err) !=
		    STATUS_OK ||
	    soak_compare_product(p, SOAK_NO_CANARY, b->record.buffer.memory, err) != STATUS_OK)
		return err->status;
	return products_look_end(b, p, 1, err);
}

/* Flips the sign of an element of A or B, alternately, while one GEMM reads it. */
static enum status products_inject_operand(struct burn *b, struct products *p, struct error *err)
{
	uint64_t bytes = precision_bytes(p->gemm.precision), wrong = b->tally.wrong, value = 0,
		 line = generator_bits(b->seed, p->made) % (uint64_t)p->gemm.m, depth = 0;
	bool of_b = b->tally.injected % 2;
	char *at;

	products_choose_offsets(p);
	do {
		const struct gemm *g = &p->gemm;
		uint64_t place = of_b ? depth + (p->column_offset + line) * (uint64_t)g->ldb
				 : g->transpose_a
					 ? depth + (p->row_offset + line) * (uint64_t)g->lda
					 : p->row_offset + line + depth * (uint64_t)g->lda;

		at = (char *)(of_b ? g->b : g->a) + place * precision_bytes(g->precision);
		if (backend_copy(p->stream, &value, at, bytes, err) != STATUS_OK ||
		    backend_stream_synchronize(p->stream, err) != STATUS_OK)
			return err->status;
	} while (!value && ++depth < (uint64_t)p->gemm.k);
	value ^= UINT64_C(1) << (8 * bytes - 1);
	b->tally.injected++;
	if (burn_look_begin(&b->record, err) != STATUS_OK ||
	    backend_copy(p->stream, at, &value, bytes, err) != STATUS_OK ||
	    products_multiply(p, err) != STATUS_OK ||
	    soak_compare_product(p, SOAK_NO_CANARY, b->record.buffer.memory, err) != STATUS_OK ||
	    products_look_end(b, p, 1, err) != STATUS_OK)
		return err->status;
	value ^= UINT64_C(1) << (8 * bytes - 1);
	if (backend_copy(p->stream, at, &value, bytes, err) != STATUS_OK ||
	    backend_stream_synchronize(p->stream, err) != STATUS_OK)
		return err->status;
	b->tally.injected_found += b->tally.wrong > wrong;
	return b->tally.wrong > wrong
		       ? STATUS_OK
		       : error_set(err, STATUS_INTERNAL,
				   "the error injected into an operand was not found");
}

static enum status products_chunk(struct burn *b, struct products *p, uint64_t count,
				  double *seconds, struct error *err)
{
	if (burn_look_begin(&b->record, err) != STATUS_OK ||
	    backend_event_record(b->start, p->stream, err) != STATUS_OK ||
	    products_enqueue(p, count, b->record.buffer.memory, err) != STATUS_OK ||
	    backend_event_record(b->end, p->stream, err) != STATUS_OK ||
	    products_look_end(b, p, count, err) != STATUS_OK ||
	    backend_event_elapsed(b->start, b->end, seconds, err) != STATUS_OK)
		return err->status;
	return products_check_canary(p, b, err);
}

/* Columns that contain each value twice. */
#define VOTE_COLUMNS (2 * SOAK_COLUMN_PERIOD)

/*
 * Most of a result is wrong: tests if elements that must be equal are equal. If they are, a common
 * cause or the table is wrong.
 */
static enum status products_vote(struct burn *b, struct products *p, struct error *err)
{
	uint64_t rows = (uint64_t)p->gemm.m,
		 columns = (uint64_t)(p->gemm.n < VOTE_COLUMNS ? p->gemm.n : VOTE_COLUMNS),
		 bytes = p->element_bytes, agree = 0;
	char *got = xcalloc(rows * columns, bytes), *first = xcalloc(SOAK_TABLE_ENTRIES, bytes);
	bool *has = xcalloc(SOAK_TABLE_ENTRIES, sizeof(*has));

	if (products_multiply(p, err) == STATUS_OK &&
	    backend_copy(p->stream, got, p->c.memory, rows * columns * bytes, err) == STATUS_OK)
		backend_stream_synchronize(p->stream, err);
	for (uint64_t i = 0; i < rows * columns && err->status == STATUS_OK; i++) {
		uint64_t entry =
			(i / rows + p->column_offset) % SOAK_COLUMN_PERIOD * SOAK_ROW_PERIOD +
			(i % rows + p->row_offset) % SOAK_ROW_PERIOD;

		if (!has[entry])
			memcpy(first + entry * bytes, got + i * bytes, bytes);
		has[entry] = true;
		agree += memcmp(first + entry * bytes, got + i * bytes, bytes) == 0;
	}
	b->tally.alike = 10 * agree >= 9 * rows * columns;
	free(has);
	free(first);
	free(got);
	return err->status;
}

/*
 * Repeats GEMMs to see if the error was transient. If most of a result was wrong, also tests what
 * its elements agree on.
 */
static enum status products_repeat(struct burn *b, struct products *p, uint64_t wrong,
				   uint64_t compared, struct error *err)
{
	uint64_t again = 0;

	for (int n = 0; n < BURN_REPEATS; n++) {
		uint64_t before = b->tally.wrong;

		if (burn_look_begin(&b->record, err) != STATUS_OK ||
		    products_multiply(p, err) != STATUS_OK ||
		    soak_compare_product(p, SOAK_NO_CANARY, b->record.buffer.memory, err) !=
			    STATUS_OK ||
		    products_look_end(b, p, 1, err) != STATUS_OK)
			return err->status;
		again += b->tally.wrong > before;
	}
	burn_look_note_repeats(b, again);
	return 2 * wrong > compared ? products_vote(b, p, err) : STATUS_OK;
}

/* Number of GEMMs of `each` seconds that take this time. */
static uint64_t products_in_time(double seconds, double each)
{
	double count = each > 0 ? seconds / each : 1;

	return count < 1 ? 1 : count > CHUNK_MOST ? CHUNK_MOST : (uint64_t)count;
}

uint64_t products_in_chunk(const struct burn *b, double seconds)
{
	return products_in_time(fmin(CHUNK_SECONDS, b->run->c->fixed_seconds / CHUNKS_LEAST),
				seconds);
}

/* Measures GEMMs without check right after checked ones. Short slices have no time for it. */
static enum status products_time_unchecked(struct burn *b, struct products *p, uint64_t count,
					   struct error *err)
{
	double budget = ALONE_SHARE * b->run->c->fixed_seconds, seconds, total = 0, made = 0;

	if (b->run->c->fixed_seconds < LONG_SLICE_SECONDS)
		return STATUS_OK;
	while (total < budget) {
		if (backend_event_record(b->start, p->stream, err) != STATUS_OK)
			return err->status;
		for (uint64_t i = 0; i < count; i++)
			if (products_multiply(p, err) != STATUS_OK)
				return err->status;
		if (backend_event_record(b->end, p->stream, err) != STATUS_OK ||
		    backend_stream_synchronize(p->stream, err) != STATUS_OK ||
		    backend_event_elapsed(b->start, b->end, &seconds, err) != STATUS_OK)
			return err->status;
		total += seconds;
		made += (double)count;
	}
	b->tally.alone_seconds = total / made;
	/* The whole slice, set-up included. */
	b->tally.checked_seconds = (clock_seconds() - (b->deadline - b->run->c->fixed_seconds)) /
				   (double)b->tally.rounds;
	return STATUS_OK;
}

/*
 * One burst of GEMMs after a gap, as a power pulse. The whole second of the host's clock selects
 * lengths and phase, so that all processes of the host use the same without a message: in one half
 * of the schedules all devices begin at the same time, in the other half evenly spread.
 */
static enum status products_burst(struct burn *b, struct products *p, double each,
				  struct error *err)
{
	static const double bursts[] = { 0.002, 0.005, 0.02, 0.05 },
			    gaps[] = { 0.001, 0.005, 0.02, 0.05 };
	uint64_t schedule = (uint64_t)clock_seconds();
	double burst = bursts[schedule % ARRAY_SIZE(bursts)],
	       gap = gaps[schedule / ARRAY_SIZE(bursts) % ARRAY_SIZE(gaps)], period = burst + gap,
	       phase = schedule / (ARRAY_SIZE(bursts) * ARRAY_SIZE(gaps)) % 2
			       ? period * b->world->rank / b->world->size
			       : 0,
	       now = clock_seconds() - phase, seconds;

	/* A burst that took too long is followed by at least half of the gap. */
	clock_sleep(ceil((now + gap / 2) / period) * period - now);
	b->tally.bursts++;
	return products_chunk(b, p, products_in_time(burst, each), &seconds, err);
}

/* Repeats the work once per slice if results were wrong. */
static enum status products_repeat_once(struct burn *b, struct products *p, bool *repeated,
					struct error *err)
{
	if (b->tally.wrong && !b->tally.injected && !*repeated &&
	    products_repeat(b, p, b->tally.wrong, b->tally.rounds * products_elements(p), err) !=
		    STATUS_OK)
		return err->status;
	*repeated |= b->tally.wrong > 0;
	return STATUS_OK;
}

/* GEMMs without gaps until the deadline, with one pause of that length after half of the time. */
static enum status products_steadily(struct burn *b, struct products *p, uint64_t count,
				     double pause, bool *repeated, struct error *err)
{
	double middle = (clock_seconds() + b->deadline) / 2, seconds;

	do {
		if (pause > 0 && clock_seconds() >= middle) {
			double until = fmin(clock_seconds() + pause, b->deadline);

			/* In parts, so that a request to stop is obeyed. */
			while (clock_seconds() < until &&
			       burn_look_interrupted(b, err) == STATUS_OK)
				clock_sleep(fmin(PAUSE_PART, until - clock_seconds()));
			/* Records the lower temperature. */
			burn_look_hand_over(b, false);
			if (err->status != STATUS_OK)
				return err->status;
			pause = 0;
		}
		if (burn_look_inject_due(b) &&
		    (b->injection == INJECT_OPERAND ? products_inject_operand(b, p, err)
						    : products_inject_bit(b, p, err)) != STATUS_OK)
			return err->status;
		if (products_chunk(b, p, count, &seconds, err) != STATUS_OK ||
		    products_repeat_once(b, p, repeated, err) != STATUS_OK)
			return err->status;
		burn_look_timed(b, seconds, (double)count, (double)count * products_operations(p));
		burn_look_pulse(b);
	} while (burn_look_interrupted(b, err) == STATUS_OK && burn_look_go_on(b));
	return err->status;
}

static enum status products_until_over(struct burn *b, struct products *p, struct error *err)
{
	const struct section *section = b->run->c->section;
	double end = b->deadline, in_bursts = section_real(section, "bursts"), seconds;
	bool repeated = false;
	uint64_t count;

	/* The first GEMM is cold; the time of the second sets the chunk size. */
	if (products_chunk(b, p, 1, &b->series->first, err) != STATUS_OK ||
	    products_chunk(b, p, 2, &seconds, err) != STATUS_OK)
		return err->status;
	count = products_in_chunk(b, seconds / 2);
	b->series->batch = (unsigned)count;
	b->deadline = end - in_bursts * b->run->c->fixed_seconds;
	products_steadily(b, p, count, section_real(section, "pause"), &repeated, err);
	b->deadline = end;
	/*
	 * The last part of the slice, at least one burst. The rate of bursts is no sample: it is
	 * above the sustained one.
	 */
	if (err->status == STATUS_OK && in_bursts > 0) {
		do {
			if (products_burst(b, p, seconds / 2, err) != STATUS_OK)
				return err->status;
			burn_look_pulse(b);
		} while (burn_look_interrupted(b, err) == STATUS_OK && clock_seconds() < end &&
			 b->tally.check_errors < BURN_CHECK_ERRORS);
		if (err->status == STATUS_OK)
			products_repeat_once(b, p, &repeated, err);
	}
	return err->status == STATUS_OK ? products_time_unchecked(b, p, count, err) : err->status;
}

enum status burn_products(struct burn *b, enum precision precision, struct error *err)
{
	struct products p;

	if (products_open(&p, b, b->record.stream, precision, err) == STATUS_OK)
		products_until_over(b, &p, err);
	products_close(&p);
	if (err->status == STATUS_OK && b->tally.wrong && !b->tally.injected)
		burn_units_blame(b, err);
	return err->status;
}
