/* Attention in double precision, row by row, from the stored operands. */
#ifndef GPUPROOF_SUITES_ATTENTION_REFERENCE_H
#define GPUPROOF_SUITES_ATTENTION_REFERENCE_H

#include "suites/attention/operands.h"

/* One head of one batch element; in double precision, only the rows that the samples need. */
struct head {
	const struct attention *a;
	uint64_t b, h;
	double *values[4];   /* rows of queries, keys, values, gradients of outputs */
	double *lse, *delta; /* of every row, from the device's forward results */
	double *outputs;     /* the device's */
	double *expected[3]; /* of one row: see attention_expected_row() */
	double *weights;     /* of one row of scores */
};

/* Fills values[] with rows of queries, keys, values and output gradients of the head. */
void attention_head_values(struct head *head);
/* Row i: output in expected[0], gradient of the query in [1]; returns its lse. */
double attention_expected_row(const struct head *head, uint64_t i);
/* Gradients of key j in expected[1] and of value j in [2], from lse and delta of the rows. */
void attention_expected_column(const struct head *head, uint64_t j);
/*
 * A row or column of the GEMM variant: sums with other weights, by the same formula with `x` and
 * `y`.
 */
void attention_expected_product(const struct head *head, uint64_t i, bool column, const double *q,
				const double *k, const double *x, double *out);
/* Dot product of `count` elements. */
double attention_dot(const double *x, const double *y, unsigned count);

#endif
