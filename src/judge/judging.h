/* Private declarations of the judge, shared by judge.c and its parts. */
#ifndef GPUPROOF_JUDGE_JUDGING_H
#define GPUPROOF_JUDGE_JUDGING_H

#include <stdarg.h>

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
	/* names of limits without a reference GPU to compare with */
	struct text *without_population;
};

/* judge.c: judges the cases that the limit of `j` selects. Fills the other members of `j`. */
void judge_limit(struct judging *j);

/* outliers.c: true if both are the same case on identical devices. */
bool outliers_subjects_alike(const struct subject *a, const struct subject *b);
bool outliers_subjects_on_one_node(const struct subject *a, const struct subject *b);

/* Adds a check of `limit` on case `i` with everything set except bound and verdict. */
struct verdict_check *judge_judging_add(const struct judging *j, size_t i,
					enum check_kind comparison);

/*
 * Sets the interval that decides a comparison, by its half-width on the log scale, and the median
 * of the `count` devices that the value was compared with.
 */
void judge_check_compare(struct verdict_check *check, double half, double reference, size_t count);

/* Sets verdict and acceptance, and the reason unless `format` is NULL. */
void judge_check_decide(struct verdict_check *check, const struct limit *limit,
			enum verdict verdict, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* For an observation without a value: its own verdict and reason. */
void judge_check_decide_missing(struct verdict_check *check, const struct limit *limit,
				const struct observation *o);

/* How a device stands among others, on the log scale, where more is better. */
struct peer_standing {
	double others;  /* their median */
	double deficit; /* how much worse than the median */
	double half;    /* one-sided 95 % half-width of `deficit` */
	double allowed; /* deficit that a healthy device may have */
	size_t count;   /* number of others */
};
/* outliers.c: sets bound, margin and reference of a check by the standing of its device. */
void outliers_check_compare_peers(struct verdict_check *check, const struct judging *j,
				  const struct peer_standing *standing);

/* outliers.c */
void outliers_identical(const struct judging *j);
/* fleet.c */
void judge_fleet(const struct judging *j);

/*
 * outliers.c: downgrades FAIL and WARN to INCONCLUSIVE if the power limit set in during sampling of
 * a case without preheat, whose samples then mix two clocks. For comparisons with other devices.
 */
enum verdict outliers_downgrade_if_throttled(const struct judge_input *input,
					     const struct subject *subject, enum verdict verdict);
#define DOUBT_WORDS "; the GPU met its power limit during sampling. Set preheat = 1s and repeat"

/* population.c */
void population_standing_judge(const struct judging *j);
/* Reports once that no reference GPU covers `limits` (may be ""). */
void population_standing_unknown(const char *limits, struct verdicts *verdicts);

void run_findings_set(char **text, const char *value);
/* Replaces *text, and takes ownership of `value`. */
void run_findings_take(char **text, char *value);
void run_findings_format(char **text, const char *format, va_list ap);
/*
 * Adds a check without a limit on a case (NULL: the run) and `device` (NULL: the first of the case,
 * if any), with a reason. PASS and WARN are accepted. CAUSE_NONE: it follows from the members.
 */
struct verdict_check *run_findings_add(struct verdicts *verdicts, const struct result *result,
				       const struct case_result *c, const char *device,
				       enum aspect aspect, enum verdict verdict, enum cause cause,
				       const char *format, ...)
	__attribute__((format(printf, 8, 9)));

/*
 * health.c: judges findings before and after the run, and PCIe links that stay below their
 * capability.
 */
void judge_health(const struct judge_input *input, struct verdicts *verdicts);
/* Downgrades failed checks of devices that other processes used to INCONCLUSIVE. */
void health_disturbed(struct verdicts *verdicts);
/*
 * impossible.c: adds an ERROR for each case with an impossible metric that no check of a limit has
 * reported.
 */
void judge_impossible(const struct judge_input *input, struct verdicts *verdicts);

/* Best PCIe link of a device before, during or after its cases; 0: unknown. */
struct link {
	int generation, width;
};

/* One entry per device of the first result; the caller frees the array. */
struct link *health_links(const struct judge_input *input);

/* link_errors.c: links that had far more errors than all others. */
void judge_link_errors(const struct result *result, struct verdicts *verdicts);

/* run_findings.c: wrong results, memory errors, missing cases. */
void judge_run_findings(const struct judge_input *input, struct verdicts *verdicts);
/*
 * Reports cases that ended in an error or were never verified, unless a check of a limit covers
 * them. Call after the limits.
 */
void run_findings_errors(const struct judge_input *input, struct verdicts *verdicts);
/*
 * machine.c: reports cases that one device skips and an identical one does not, and suites without
 * any measured case, unless a limit has judged them. Call after the limits.
 */
void judge_machine_skips(const struct subjects *all, const struct judge_input *input,
			 struct verdicts *verdicts);
/*
 * aspects.c: adds checks that belong to no limit, and the aspects of each device. Call last for
 * each machine.
 */
void judge_aspects(const struct judge_input *input, struct verdicts *verdicts);
/* health.c: all devices of the node, "n3/cuda:0,n3/cuda:1"; the caller frees the string. */
char *health_node_devices(const struct result *result, const struct result_node *node);
/*
 * node.c: adds a decided check of a metric of the whole node. If `value` is NaN it is an ERROR with
 * the reason `unknown`.
 */
struct verdict_check *judging_node_check(struct verdicts *verdicts, const struct limit *limit,
					 const struct bound *bound, enum check_kind comparison,
					 double value, const char *unknown);
/* suspects.c: true if the finding of a multi-node run names a suspect. */
bool judge_names_suspect(const struct result *result, const struct finding *finding);
/* Judges each node by a limit on node.suspect. */
void judge_suspects(const struct judge_input *input, const struct limit *limit,
		    struct verdicts *verdicts);
/* node.c: judges a limit on a metric of the whole node. */
void judge_node(const struct judge_input *input, const struct limit *limit,
		struct verdicts *verdicts);

#endif
