/* Operands of an attention pass: tensors of a case, their sizes, and positions of rows. */
#ifndef GPUPROOF_SUITES_ATTENTION_OPERANDS_H
#define GPUPROOF_SUITES_ATTENTION_OPERANDS_H

#include "kernels/attention/attention.h"
#include "measure/run.h"
#include "suites/shared/buffers.h"

enum pass { FORWARD, BACKWARD };
enum implementation { FUSED, PRODUCTS };

/* Queries, keys and values are parts of a row of INPUTS, their gradients of a row of RESULTS. */
enum tensor {
	INPUTS,
	OUTPUT_GRADIENTS,
	OUTPUTS,
	RESULTS,
	LSE,
	DELTA,
	SCORES,
	HEAD, /* for verification: copies a head's rows to the host */
	TENSORS
};
enum part { QUERY, KEY, VALUE };

struct attention {
	struct attention_shape shape;
	enum pass pass;
	enum implementation implementation;
	unsigned scored; /* number of heads whose scores are stored at a time */
	struct stream *stream;
	struct buffer tensors[TENSORS];
	uint64_t seed;
};

/* Elements of a tensor, 0 if the case lacks it; bytes per element. */
uint64_t attention_operands_count(const struct attention *attention, enum tensor tensor);
size_t attention_operands_element_bytes(const struct attention *attention, enum tensor tensor);
/* Bytes of the tensors, with the scores of all heads, or of those stored at a time. */
uint64_t attention_operands_bytes(const struct attention *attention, bool all);

/* Address of an element. */
char *attention_operands_at(const struct attention *attention, enum tensor tensor,
			    uint64_t element);
/* First element of row `i` of head `h` of sample `b` in INPUTS and RESULTS. */
uint64_t attention_operands_place(const struct attention *attention, enum part part, uint64_t b,
				  uint64_t i, uint64_t h);
/* As attention_operands_place(), in OUTPUTS and their gradients. */
uint64_t attention_operands_place_out(const struct attention *attention, uint64_t b, uint64_t i,
				      uint64_t h);

/* Inputs are uniform in +-SPREAD, so that the weights in a row of scores differ strongly. */
#define SPREAD 2.0f
/* Fills INPUTS or OUTPUT_GRADIENTS from the seed. Asynchronous on the stream. */
enum status attention_operands_fill(struct attention *attention, enum tensor tensor,
				    struct error *err);

/* Launches one attention pass, with the fused kernel or the library's GEMMs. Asynchronous. */
enum status attention_operands_launch_fused(const struct attention *attention, enum pass pass,
					    struct error *err);
/* The case's pass and implementation. */
enum status attention_operands_launch(const struct attention *attention, struct error *err);

/* Factor on scores and derived values that prevents FP16 overflow. */
double attention_operands_score_factor(const struct attention *attention);
double attention_operands_sum_factor(const struct attention *attention);

/* Compares sampled rows of an attention pass with the reference. */
/* Rows in each of two heads: the first, the last, and some in between. */
#define HEADS 2
#define ROWS 6

/* Runs the case once; records attention.error. STATUS_MISMATCH if it exceeds the tolerance. */
enum status attention_check_verify(struct run *run, struct attention *attention, struct error *err);

#endif
