/*
 * Claims that popular guides on GPU memory and multi-GPU training repeat, held against what was
 * measured. Claims are data, one guide a file: configs/claims/NAME.ini, compiled in, or a file of a
 * user. `gpuproof help claims` describes it.
 *
 * The interval decides, not the value: a measurement whose 95 % interval crosses a bound is
 * undecided. A claim of which a measurement is missing is tested in part at most, and the page says
 * which case is missing and what became of it.
 *
 * Adding a claim: a section in configs/claims/NAME.ini, and the cases that it looks for in
 * configs/claims.ini.
 */
#ifndef GPUPROOF_REPORT_CLAIMS_CLAIMS_H
#define GPUPROOF_REPORT_CLAIMS_CLAIMS_H

#include <stdbool.h>
#include <stddef.h>

#include "plan/schema.h"
#include "result/result.h"

/*
 * A metric of the first case with status OK whose label and parameters are as `where` says
 * ("label:small, batch:1024"; "" is any case that has the metric). "model:K80": the name of the
 * case's device contains it; "backend:cuda", "device:cuda:0": its device.
 */
struct claim_term {
	const char *metric, *where; /* metric NULL: no term */
};

/* Upper limits per claim and per measure. */
#define CLAIM_MEASURES 6
#define CLAIM_TERMS 3

/* Which results a measurement compares. */
enum claim_across {
	CLAIM_ONE_RESULT, /* terms of one device of one result; in every result that has them */
	CLAIM_MODELS,     /* each of two terms from whichever result has its device model */
	/* larger / smaller, of one device model with other versions of driver, CUDA or system */
	CLAIM_VERSIONS,
	CLAIM_MACHINES /* larger / smaller, of machines with different host names */
};

/* On which side of its range a measure is better than claimed. */
enum claim_better { CLAIM_BETTER_NONE, CLAIM_BETTER_HIGHER, CLAIM_BETTER_LOWER };

/* Devices on which a claim can be decided. */
enum claim_on { CLAIM_ON_ANY, CLAIM_ON_GPU, CLAIM_ON_NVLINK };

/* Without bounds (-HUGE_VAL, HUGE_VAL) a measure is shown but does not decide. */
struct claim_measure {
	const char *what; /* "optimizer state / parameters, Adam" */
	struct claim_term terms[CLAIM_TERMS];
	double low, high;
	enum claim_better better;
	bool complement;  /* one less the quotient */
	bool even_failed; /* the first term counts also of a case that failed */
	/* decides if it was measured; a machine without such devices misses nothing */
	bool where_possible;
	bool yes_no; /* the value is 1 for yes, 0 for no */
	enum claim_across across;
};

struct claim {
	const char *id, *claim;
	const char *source; /* the statement in the guide, and its subject */
	const char *prediction;
	enum claim_on on;
	struct claim_measure measures[CLAIM_MEASURES];
	/* why this version measures nothing that decides it; then without measures */
	const char *untestable;
};

enum claim_verdict {
	CLAIM_HOLDS,
	CLAIM_EXCEEDED, /* beyond the good end of a range: better than claimed */
	CLAIM_FAILS,
	CLAIM_DEPENDS,   /* one measurement holds, another does not */
	CLAIM_UNDECIDED, /* an interval crosses the bound */
	CLAIM_PARTIAL,   /* a measurement is missing, and the others agree */
	CLAIM_UNTESTED,
	CLAIM_VERDICTS
};
const char *claim_verdict_name(enum claim_verdict verdict); /* "holds", "does not hold", ... */

/* The claims of one guide, in the order of their file. */
struct claim_group {
	const char *id;            /* "A" */
	const char *title, *guide; /* guide: what it is about: "managing GPU memory in PyTorch" */
	struct claim *claims;
	size_t count, capacity;
	char **texts; /* all that the members above point to */
	size_t text_count, text_capacity;
};

struct claim_set {
	struct claim_group *groups;
	size_t count;
};

/*
 * Reads a guide. After an error, which begins with "NAME:LINE: ", `group` is empty. Metrics and
 * parameters must be in the schema.
 */
enum status claims_read(struct claim_group *group, const struct schema *schema, const char *name,
			const char *text, size_t length, struct error *err);
void claims_read_group_release(struct claim_group *group);

/* Loads the shipped guides in the order of their ids, or only the guide in `file`. */
enum status claims_read_load(struct claim_set *set, const char *file, struct error *err);
void claims_read_release(struct claim_set *set);

/* One value of a measurement with its two-sided 95 % interval; low = high if it is exact. */
struct claim_reading {
	double value, low, high;
	const char *unit;   /* "1" for a ratio; borrowed */
	size_t run, other;  /* indexes of the results of the first term and of the one compared */
	const char *device; /* of the first term; borrowed */
	enum claim_verdict verdict;
};

/* Everything that was found for one measurement. */
struct claim_evidence {
	struct claim_reading *readings; /* owned */
	size_t count, capacity;
	char *missing; /* why there are no readings; owned. NULL: some exist, or none is needed */
};

/* True if the measurement decides, or is shown only. */
bool claim_is_decisive(const struct claim_measure *measure);

/*
 * Collects the evidence of each measure from all results, and judges. DEPENDS if readings disagree;
 * else PARTIAL if a deciding measurement is missing; else UNDECIDED if an interval crosses a bound;
 * else EXCEEDED if a reading is; else the common verdict. The results must outlive `evidence`,
 * which the caller releases.
 */
enum claim_verdict claim_judge(const struct result *results, size_t count,
			       const struct claim *claim,
			       struct claim_evidence evidence[CLAIM_MEASURES]);
void claim_evidence_release(struct claim_evidence evidence[CLAIM_MEASURES]);

#endif
