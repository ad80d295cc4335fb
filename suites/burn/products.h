/*
 * GEMMs whose every bit is known: operands of integers that repeat (burn/exact_table.h). Each GEMM
 * begins at another place of the operands, so that its result differs from the one before, and all
 * elements are compared on the device with the CPU's exact values.
 */
#ifndef GPUPROOF_BURN_PRODUCTS_H
#define GPUPROOF_BURN_PRODUCTS_H

#include "suites/burn/burn.h"

struct products {
	struct stream *stream;
	struct gemm gemm; /* its `a` and `b`: those of no offset */
	struct buffer a, b, c, table;
	struct buffer canary; /* struct wrong_words of the check with a wrong table */
	uint32_t element_bytes;
	uint64_t made; /* so far: it decides the offsets of the next */
	/* of the last GEMM enqueued */
	uint32_t row_offset, column_offset, canary_entry;
};

/* Allocates, fills, and computes the table. What failed must be closed as well. */
enum status products_open(struct products *p, struct burn *b, struct stream *stream,
			  enum precision precision, struct error *err);
void products_close(struct products *p);
/*
 * Enqueues `count` >= 1 GEMMs, each compared; `record`: struct wrong_words of the device. The last
 * one is compared a second time, with one wrong entry in the table.
 */
enum status products_enqueue(struct products *p, uint64_t count, void *record, struct error *err);
/*
 * After the stream was waited for: each place of the wrong entry must have been found, else the
 * check itself is broken, which is noted.
 */
enum status products_check_canary(const struct products *p, struct burn *b, struct error *err);
/* Other places of each value of the result, at least. */
uint64_t products_replicas(const struct products *p);
/* Elements of the result. */
uint64_t products_elements(const struct products *p);
/* Number of GEMMs of `seconds` each that are waited for together. */
uint64_t products_in_chunk(const struct burn *b, double seconds);

#endif
