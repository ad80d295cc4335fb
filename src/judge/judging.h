/* What judge.c and its parts share. Private to the judge. */
#ifndef GPUPROOF_JUDGE_JUDGING_H
#define GPUPROOF_JUDGE_JUDGING_H

#include <stdint.h>

#include "judge/judge.h"
#include "judge/observation.h"

/* One limit and the cases that it selects. */
struct judging {
	const struct judge_input *input;
	const struct subjects *all, *baseline;
	const struct limit *limit;
	const struct subject **subjects;
	struct observation *observations; /* of subjects[i] */
	size_t count;
	struct verdicts *verdicts;
};

/* A check of `limit` on a case, with everything but bound and verdict filled in. */
struct check *judging_add(const struct judging *j, size_t i, enum check_kind comparison);

/* Sets verdict and acceptance; `reason` (may be NULL) is copied. */
void check_decide(struct check *check, const struct limit *limit, enum verdict verdict,
		  const char *reason);

/* The value's verdict against check->bound, whose own half width on the log scale is `bound_half`. */
enum verdict judge_bound(const struct check *check, const struct observation *o, double bound_half);

/* sisters.c */
void judge_sisters(const struct judging *j);

/* run_findings.c: wrong results, memory errors, cases that were not run. */
void judge_run(const struct judge_input *input, struct verdicts *verdicts);
/* "software power cap, thermal (hardware)": what slowed a device down, of NVML's mask; the caller frees it. */
char *throttle_words(int64_t reasons);
/* A limit on a metric of the node as a whole. */
void judge_node(const struct judge_input *input, const struct limit *limit,
		struct verdicts *verdicts);

#endif
