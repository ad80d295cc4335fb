/*
 * Products whose every bit is known: the first is compared with one in double by the CPU
 * (matmul/reference.h) and kept, each later one is compared with it on the device, bit by bit.
 */
#ifndef GPUPROOF_BURN_PRODUCTS_H
#define GPUPROOF_BURN_PRODUCTS_H

#include "suites/burn/burn.h"

struct products {
	struct stream *stream;
	struct gemm gemm;
	struct buffer a, b, c, kept;
	uint64_t bytes; /* of C */
};

/*
 * Allocates, multiplies once, verifies. What failed must be closed as well. A wrong first product
 * is STATUS_MISMATCH.
 */
enum status products_open(struct products *p, struct burn *b, struct stream *stream,
			  enum precision precision, struct error *err);
void products_close(struct products *p);
/* Enqueues `count` products, each compared; `record`: struct wrong_words of the device. */
enum status products_enqueue(const struct products *p, uint64_t count, void *record,
			     struct error *err);
/* Number of products of `seconds` each that are waited for together. */
uint64_t products_in_chunk(const struct burn *b, double seconds);

#endif
