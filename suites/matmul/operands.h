/*
 * The operands of one matrix product C = A B, column-major, A m x k and B k x n, in as many sets as
 * it takes to rotate them out of the last-level cache. Every set holds the same values, so that one
 * reference serves all results.
 */
#ifndef GPUPROOF_SUITES_MATMUL_OPERANDS_H
#define GPUPROOF_SUITES_MATMUL_OPERANDS_H

#include "suites/buffers.h"
#include "suites/matmul/reference.h"

enum { OPERAND_A, OPERAND_B, OPERAND_C, OPERANDS };

struct operands {
	struct stream *stream;
	enum precision precision;
	int64_t shape[3];
	uint64_t seed;
	uint64_t counts[OPERANDS], strides[OPERANDS]; /* elements; bytes from set to set */
	size_t sets;
	struct buffer matrices[OPERANDS]; /* `sets` of each, one behind the other */
	struct buffer copy;               /* one C in host memory */
	uint64_t products; /* since C was last poisoned; product n uses set n modulo `sets` */
	struct matmul_reference reference;
	struct matmul_error error; /* the largest of all checks */
};

/* Elements of each matrix. */
void operands_counts(const int64_t shape[3], uint64_t counts[OPERANDS]);
/* Device memory of one set, and how many sets are used on a device. */
uint64_t operands_set_bytes(const int64_t shape[3], enum precision precision);
size_t operands_set_count(const int64_t shape[3], enum precision precision,
			  const struct device_info *info);

/* Allocates, fills A and B, poisons C. Failed operands must be closed as well. */
enum status operands_open(struct operands *o, struct device *device, enum precision precision,
			  const int64_t shape[3], uint64_t seed, struct error *err);
void operands_close(struct operands *o);

/* Enqueues `count` products. */
enum status operands_multiply(struct operands *o, uint64_t count, struct error *err);
/* Compares every result computed since C was poisoned. */
enum status operands_check(struct operands *o, struct error *err);
/* Multiplies every set once, checks the results, and poisons C for what comes next. */
enum status operands_verify(struct operands *o, struct error *err);

#endif
