/* Private declarations of this room, shared by compare.c and its parts. */
#ifndef GPUPROOF_COMPARE_COMPARING_H
#define GPUPROOF_COMPARE_COMPARING_H

#include "compare/compare.h"
#include "stats/shift.h"
#include "judge/estimate/observation.h"

#define HOST_WEIGHT 0.1
/* degrees of freedom of the assumed variation between sessions, from 12 pairs of sessions */
#define ASSUMED_FREEDOM 12

/* A metric that both sides have. */
struct compared_pair {
	size_t row; /* index in the comparison */
	struct observation before, after;
	bool lower_is_better;
	const struct device_info *device; /* NULL: not in the result */
	struct shift shift;               /* for timed metrics; error is NaN for others */
};

struct comparing {
	const struct comparison_input *input;
	struct comparison *out;
	struct compared_pair *pairs;
	size_t pair_count, pair_capacity;
};

void comparison_give_reason(struct comparison_row *row, const char *side, const char *reason);
/* Logs of the launches, oriented so that more is worse. The caller frees them. */
double *compare_pair_logs(const struct observation *o, bool lower_is_better);

/*
 * compare.c: id in `b` of the device `id` of `a`; NULL: absent, or another GPU of `a` has
 * its id.
 */
const char *compared_device(const struct result *a, const struct result *b, const char *id);
/* The subject of B to compare with `a`, searched first at index `expected`; NULL: none. */
const struct subject *compared_subject(const struct comparison_input *input,
				       const struct subject *a, const struct subjects *b,
				       size_t expected);

/* compare_pair.c: fills out->resemblance. */
void compare_pair_resemblance(struct comparing *k);
/* Factor by which out->resemblance enlarges the error of n launches; 1 if unknown. */
double compare_pair_resemblance_factor(const struct comparison *out, size_t n);

/* Limits of a shift, as logarithms. */
struct band {
	double worse, better; /* REGRESSED above worse, IMPROVED below better */
	double same;          /* UNCHANGED within +-same */
};
/* Uses the same margin, such as 0.01, for all three limits. */
struct band compare_pair_band_of_margin(double margin);
/*
 * Limits of one metric (compare.h): sessions vary by `visits`, and all GPU metrics shift together
 * by `common`.
 */
struct band compare_pair_band_of_shift(const struct shift *shift, double visits, double common);
enum change compare_pair_change_of_shift(const struct shift *shift, const struct band *band);
/* p-value of the change if the truth is at the limit; NaN for verdicts that are not a change. */
double compare_pair_change_probability(const struct shift *shift, const struct band *band,
				       enum change change);

/* compare_pair.c: intervals, verdicts and p-values of all pairs. */
enum status compare_pairs(struct comparing *k, struct error *err);

/* compare_host.c: the host reference, and the common shift of host-bound metrics. */
void compare_hosts(struct comparing *k);

/* compare_whole.c: certain changes, counts, the sentence, the order of rows. */
void compare_whole(struct comparison *out);

#endif
