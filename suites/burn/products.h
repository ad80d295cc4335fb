/*
 * GEMMs whose every bit is known: their operands are integers that repeat (burn/exact_table.h).
 * Each GEMM begins at another offset of the operands, so its result differs from the last one. The
 * device compares all elements with the CPU's exact values.
 */
#ifndef GPUPROOF_BURN_PRODUCTS_H
#define GPUPROOF_BURN_PRODUCTS_H

#include "suites/burn/burn.h"

struct products {
	struct stream *stream;
	struct gemm gemm; /* its `a` and `b` are at offset 0 */
	struct buffer a, b, c, table;
	struct buffer canary; /* struct wrong_words of the self-check with a wrong table */
	uint32_t element_bytes;
	uint64_t made; /* GEMMs so far, which select the next offsets */
	/* of the last enqueued GEMM */
	uint32_t row_offset, column_offset, canary_entry;
};

/* Allocates and fills the operands, and computes the table. Close it also after a failure. */
enum status products_open(struct products *p, struct burn *b, struct stream *stream,
			  enum precision precision, struct error *err);
void products_close(struct products *p);
/*
 * Enqueues `count` >= 1 GEMMs and compares each; `record` is a struct wrong_words on the device.
 * Compares the last one a second time with one wrong entry in the table.
 */
enum status products_enqueue(struct products *p, uint64_t count, void *record, struct error *err);
/*
 * Call after waiting for the stream. The check must have found every place of the wrong entry;
 * otherwise it counts as failed.
 */
enum status products_check_canary(const struct products *p, struct burn *b, struct error *err);
/* Fewest other elements with the same value, over all values. */
uint64_t products_replicas(const struct products *p);
/* Number of elements of the result. */
uint64_t products_elements(const struct products *p);
/* Number of GEMMs in a chunk, if each takes `seconds`. */
uint64_t products_in_chunk(const struct burn *b, double seconds);

#endif
