/*
 * Claims that popular guides on GPU memory and multi-GPU training repeat, held against what was
 * measured. Each is a row: the claim in our own words, what the formulas predict, up to three
 * measurements computed from the result's cases, and the range in which the claim holds. A
 * measurement whose cases are not in the result says what it needs.
 *
 * Adding a claim: a row in one of claims_*.c, and the cases that it looks for in configs/claims.ini.
 */
#ifndef GPUPROOF_REPORT_CLAIMS_H
#define GPUPROOF_REPORT_CLAIMS_H

#include <stdbool.h>
#include <stddef.h>

#include "result/result.h"

/*
 * A metric of the first case with status OK whose label and parameters are as `where` says
 * ("label:small, batch:1024"; "" is any case that has the metric).
 */
struct claim_term {
	const char *metric, *where;
};

/* Of one claim, at most. */
#define CLAIM_MEASURES 3

/*
 * a, or a / b, or a / b / c; `complement`: one less that. The claim holds from `low` to `high`; without a bound on either
 * side (-HUGE_VAL, HUGE_VAL) the measurement is shown beside the others and has no say.
 */
struct claim_measure {
	const char *what; /* "optimizer state / parameters, Adam" */
	struct claim_term a, b, c;
	bool complement;
	bool even_failed; /* `a` counts also of a case that failed: it says how wrong things were */
	double low, high;
};

struct claim {
	const char *id;
	const char *claim, *prediction;
	struct claim_measure measures[CLAIM_MEASURES];
	const char *needs; /* where no measurement is possible: what it would take */
};

enum claim_verdict { CLAIM_HOLDS, CLAIM_FAILS, CLAIM_DEPENDS, CLAIM_UNTESTED, CLAIM_VERDICTS };
const char *claim_verdict_name(enum claim_verdict verdict); /* "holds", "does not hold", ... */

/* Every claim, in the order of ids. */
struct claim_group {
	const char *title;
	const struct claim *claims;
	size_t count;
};
extern const struct claim_group claim_groups[];
extern const size_t claim_group_count;

/* NaN where a case is missing. *unit: of the value ("1" for a ratio); NULL: not wanted. */
double claim_value(const struct result *result, const struct claim_measure *measure,
		   const char **unit);
/* Whether the measurement decides, or is shown only. */
bool claim_has_say(const struct claim_measure *measure);
/*
 * All measurements agree, or it depends; one that is missing has no say, and without any the claim
 * is untested.
 */
enum claim_verdict claim_judge(const struct result *result, const struct claim *claim);

#endif
