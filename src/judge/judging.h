/* Declarations shared by judge.c and its parts. Private to the judge. */
#ifndef GPUPROOF_JUDGE_JUDGING_H
#define GPUPROOF_JUDGE_JUDGING_H

#include <stdint.h>

#include "judge/estimate/observation.h"
#include "judge/judge.h"

/* One limit and the cases that it selects. */
struct judging {
	const struct judge_input *input;
	const struct subjects *all, *baseline;
	const struct limit *limit;
	const struct subject **subjects;
	struct observation *observations; /* of subjects[i] */
	size_t count;
	struct verdicts *verdicts;
	/* names of limits that found no good card to compare with */
	struct text *without_population;
};

/* judge.c: judges the cases that the limit of `j` selects; the rest of `j` is filled here. */
void judge_limit(struct judging *j);

/* outliers.c: one case on two identical devices. */
bool subjects_alike(const struct subject *a, const struct subject *b);
bool subjects_on_one_node(const struct subject *a, const struct subject *b);

/* A check of `limit` on a case, with everything but bound and verdict filled in. */
struct verdict_check *judging_add(const struct judging *j, size_t i, enum check_kind comparison);

/*
 * Sets the deciding interval of a comparison, by its half width on the log scale, and the median of
 * `count` devices that the value was compared with.
 */
void check_compare(struct verdict_check *check, double half, double reference, size_t count);

/* Sets verdict and acceptance; `reason` (may be NULL) is copied. */
void check_decide(struct verdict_check *check, const struct limit *limit, enum verdict verdict,
		  const char *reason);

/*
 * The value's verdict against check->bound, whose own half width on the log scale is `bound_half`.
 */
enum verdict judge_bound(const struct verdict_check *check, const struct observation *o,
			 double bound_half);

/* outliers.c */
void judge_identical(const struct judging *j);
/* fleet.c */
void judge_fleet(const struct judging *j);

/*
 * power_cap.c: whether the power limit set in among the case's samples, which nothing had heated
 * the device before.
 */
bool judge_power_cap_hit_mid_sampling(const struct judge_input *input,
				      const struct subject *subject);
/* The verdict on such a case when compared with others: FAIL and WARN become INCONCLUSIVE. */
enum verdict judge_downgrade_if_throttled(const struct judge_input *input,
					  const struct subject *subject, enum verdict verdict);
#define DOUBT_WORDS                                                                               \
	"; its power limit set in among its samples, and when is a matter of chance: measure it " \
	"after preheating (preheat = 1s)"

/* population.c */
void judge_population(const struct judging *j);
/* Says once that `limits` (may be "") found no good card to compare with. */
void judge_population_unknown(const char *limits, struct verdicts *verdicts);

/*
 * baseline_fits.c: why the baseline's case may not bound this one, NULL: it may. The caller frees
 * it.
 */
char *baseline_misfit(const struct judge_input *input, const struct subject *now,
		      const struct subject *before);

void judging_set(char **text, const char *value);
/*
 * A check without a limit, about a case (NULL: the run) and `device` (NULL: the case's first, if
 * there is a case). Takes over `reason`. A WARN is accepted where the caller sets so.
 */
struct verdict_check *judging_finding(struct verdicts *verdicts, const struct result *result,
				      const struct case_result *c, const char *device,
				      enum aspect aspect, enum verdict verdict, bool wrong,
				      char *reason);

/*
 * health.c: what was found before and after the run, and PCIe links that stay below what they can.
 */
void judge_health(const struct judge_input *input, struct verdicts *verdicts);
/*
 * Figures of a device that other processes used say nothing about it: those that failed become
 * INCONCLUSIVE.
 */
void judge_disturbed(struct verdicts *verdicts);
/* The best PCIe link that a device had, before, during or after its cases; 0: unknown. */
struct link {
	int generation, width;
};

/* One for each device of the first result; malloc'ed. */
struct link *judge_links(const struct judge_input *input);

/* run_findings.c: wrong results, memory errors, cases that were not run. */
void judge_run_findings(const struct judge_input *input, struct verdicts *verdicts);
/*
 * Reports cases that ended in an error or were never verified and that no check of a limit covers;
 * call after the limits.
 */
void judge_errors(const struct judge_input *input, struct verdicts *verdicts);
/*
 * skips.c: cases that a device skips and an identical one does not, and suites of which nothing was
 * measured, where no limit has judged them; call after the limits.
 */
void judge_skips(const struct subjects *all, const struct judge_input *input,
		 struct verdicts *verdicts);
/*
 * aspects.c: to be called last for a machine: adds what was looked at without a limit, and the
 * aspects of each device.
 */
void judge_aspects(const struct judge_input *input, struct verdicts *verdicts);
/* health.c: all devices of the node: "n3/cuda:0,n3/cuda:1"; malloc'ed. */
char *node_devices(const struct result *result, const struct result_node *node);
/*
 * node.c: a check of a metric of the node as a whole, decided; `value` NaN: an error, for the
 * reason `unknown`.
 */
struct verdict_check *judging_node_check(struct verdicts *verdicts, const struct limit *limit,
					 const struct bound *bound, enum check_kind comparison,
					 double value, const char *unknown);
/* suspects.c: true for a finding of a run on several nodes that holds one to be at fault. */
bool judge_names_suspect(const struct result *result, const struct finding *finding);
/* Judges each node by a limit on node.suspect. */
void judge_suspects(const struct judge_input *input, const struct limit *limit,
		    struct verdicts *verdicts);
/* node.c: a limit on a metric of the node as a whole. */
void judge_node(const struct judge_input *input, const struct limit *limit,
		struct verdicts *verdicts);

#endif
