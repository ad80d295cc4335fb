/* Attention in double precision, row by row, from the operands as stored. */
#ifndef GPUPROOF_SUITES_ATTENTION_REFERENCE_H
#define GPUPROOF_SUITES_ATTENTION_REFERENCE_H

#include "suites/attention/operands.h"

/* One batch and head, in double precision as far as samples need it. */
struct head {
	const struct attention *a;
	uint64_t b, h;
	double *values[4];   /* rows of queries, keys, values, gradients of outputs */
	double *lse, *delta; /* of every row, by what the device computed forward */
	double *outputs;     /* the device's */
	double *expected[3]; /* of one row: see attention_expected_row() */
	double *weights;     /* of one row of scores */
};

/* Rows of queries, keys, values and gradients of outputs of the head into values[]. */
void attention_head_values(struct head *head);
/* Row i: the output in expected[0], the gradient of the query in [1]; returns its lse. */
double attention_expected_row(const struct head *head, uint64_t i);
/* Gradients of key j in expected[1] and of value j in [2], from the rows' lse and delta. */
void attention_expected_column(const struct head *head, uint64_t j);
/* The products' row or column: sums of other weights, by the same formula with `x` and `y`. */
void attention_expected_product(const struct head *head, uint64_t i, bool column, const double *q,
				const double *k, const double *x, double *out);
/* The sum of `count` products. */
double attention_dot(const double *x, const double *y, unsigned count);

#endif
