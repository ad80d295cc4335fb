/* Parts of the suite `matmul`: check.c, operands.c and plan.c. */
#ifndef GPUPROOF_SUITES_MATMUL_MATMUL_H
#define GPUPROOF_SUITES_MATMUL_MATMUL_H

#include "plan/plan.h"
#include "suites/shared/buffers.h"
#include "suites/shared/gemm_reference.h"

/* check.c: compares a GEMM with its reference. */
/* Relative Frobenius norms of the error of C, over its finite elements (NaN: none). */
struct matmul_error {
	double stored;    /* relative to the GEMM of the operands as stored */
	double total;     /* relative to the GEMM of the operands before rounding */
	double nonfinite; /* share of the elements that are infinite or NaN */
};

/*
 * Compares `c` (host memory, as stored). STATUS_MISMATCH names the first wrong element with its
 * expected and actual value; NaN is wrong. Always sets `error`.
 */
enum status matmul_reference_check(const struct matmul_reference *reference, const void *c,
				   struct matmul_error *error, struct error *err);

/*
 * operands.c: operands of a GEMM C = op(A) op(B), or of a batch, column-major, in enough sets to
 * rotate them out of the L2 cache. Every set, and every GEMM of a batch, has the same values in
 * separate memory, so that one reference serves all results.
 */
enum { OPERAND_A, OPERAND_B, OPERAND_C, OPERANDS };

/* Implementations of the GEMM. */
enum implementation {
	IMPLEMENTATION_BLAS, /* the library's default algorithm */
	IMPLEMENTATION_LT,   /* the library's fastest algorithm, by search */
	IMPLEMENTATION_SIMT, /* built-in kernels from here on */
	IMPLEMENTATION_HALF2,
	IMPLEMENTATION_TENSOR
};

struct operands {
	struct stream *stream;
	struct matmul_problem problem;
	enum implementation implementation;
	int64_t batch;
	/* elements; distance between GEMMs of a batch in bytes */
	uint64_t counts[OPERANDS], strides[OPERANDS];
	size_t sets;
	struct buffer matrices[OPERANDS]; /* `sets` * `batch` of each, one after the other */
	struct buffer units;              /* FP8 with scales: of A and B; otherwise not allocated */
	size_t unit_b;                    /* index of the first one of B */
	struct buffer copy;               /* several C in host memory, one after the other */
	uint64_t operations; /* since C was last poisoned; operation n uses set n modulo `sets` */
	const struct matmul_reference *reference; /* of matmul_operands_verify() */
	struct matmul_error error;                /* maximum over all checks */
};

/* Elements of each matrix. */
void matmul_operands_counts(const int64_t shape[3], uint64_t counts[OPERANDS]);
size_t matmul_operands_bytes(enum precision precision, int which);
/* Device memory of one set, and the number of sets used on a device. */
uint64_t matmul_operands_set_bytes(const int64_t shape[3], enum precision precision, int64_t batch);
size_t matmul_operands_set_count(const int64_t shape[3], enum precision precision, int64_t batch,
				 const struct device_info *info);

/* Maximum host memory for checking the results. */
uint64_t matmul_operands_copy_bytes(const int64_t shape[3], enum precision precision);

/* Allocates, fills A and B, poisons C. Close operands even after a failure. */
enum status matmul_operands_open(struct operands *o, struct device *device,
				 const struct matmul_problem *problem, int64_t batch,
				 enum implementation implementation, struct error *err);
void matmul_operands_close(struct operands *o);

/* For IMPLEMENTATION_LT, before the first multiplication; poisons C again. */
enum status matmul_operands_search(struct operands *o, double seconds, struct gemm_choice *out,
				   struct error *err);
/* Enqueues `count` operations, each of `batch` GEMMs: launch() of a workload. */
enum status matmul_operands_multiply(void *operands, unsigned count, struct error *err);
/* Compares every result computed since C was poisoned. */
enum status matmul_operands_check(struct operands *o, struct error *err);
/*
 * Multiplies every set once, checks the results, and poisons C for later use. The reference is the
 * process's latest one: devices that multiply the same operands one after another share it until
 * another GEMM is verified.
 */
enum status matmul_operands_verify(struct operands *o, struct error *err);

/* plan.c: GEMMs of a sweep, requirements of each, and why a device cannot run one. */
struct matmul_case {
	struct matmul_problem problem; /* without seeds */
	enum implementation implementation;
	int64_t batch;
};

struct matmul_case matmul_plan_case_of(const struct plan_case *c);
/* Multiplications and additions of one call. */
double matmul_plan_operations(const struct matmul_problem *problem, int64_t batch);
/* suite->expand */
enum status matmul_plan_expand(struct plan *plan, struct plan_case *point, struct error *err);

#endif
