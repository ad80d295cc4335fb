/* Declarations shared by compare.c and its parts. Private to this room. */
#ifndef GPUPROOF_COMPARE_COMPARING_H
#define GPUPROOF_COMPARE_COMPARING_H

#include "compare/compare.h"
#include "compare/shift.h"
#include "judge/estimate/observation.h"

#define HOST_WEIGHT 0.1
/* That the assumed spread of sessions is known with: it was measured in 12 pairs of sessions. */
#define ASSUMED_FREEDOM 12

/* A figure that both sides have. */
struct compared_pair {
	size_t row; /* in the comparison */
	struct observation before, after;
	bool lower_is_better;
	const struct device_info *device; /* NULL: not in the result */
	struct shift shift;               /* of timed figures; error NaN: of another one */
};

struct comparing {
	const struct comparison_input *input;
	struct comparison *out;
	struct compared_pair *pairs;
	size_t pair_count, pair_capacity;
};

void comparison_give_reason(struct comparison_row *row, const char *side, const char *reason);
/* Logs of the launches, turned so that more is worse. The caller frees them. */
double *compared_logs(const struct observation *o, bool lower_is_better);

/*
 * compare_devices.c: the id in `b` of the device `id` of `a`; NULL: it is not there, another card
 * of `a` has its place.
 */
const char *compared_device(const struct result *a, const struct result *b, const char *id);
/*
 * The subject of B that is compared with `a`, first looked for at `expected`; NULL: there is none.
 */
const struct subject *compared_subject(const struct comparison_input *input,
				       const struct subject *a, const struct subjects *b,
				       size_t expected);

/* compare_launches.c: fills out->resemblance. */
void compare_resemblance(struct comparing *k);
/*
 * By how much the error of n launches is larger than it looks because of out->resemblance; 1 where
 * that is unknown.
 */
double comparison_resemblance_factor(const struct comparison *out, size_t n);

/* Limits of a shift, as logarithms. */
struct band {
	double worse, better; /* REGRESSED above, IMPROVED below */
	double same;          /* UNCHANGED within, on either side */
};
/* The same margin for all three: 0.01. */
struct band band_of_margin(double margin);
/*
 * Each figure's own (compare.h), where sessions vary by `visits` and all figures of the GPU differ
 * by `common`.
 */
struct band band_of_shift(const struct shift *shift, double visits, double common);
enum change change_of_shift(const struct shift *shift, const struct band *band);
/*
 * P(a change as clear as this) where the truth is at the limit; NaN for a word that is no change.
 */
double change_probability(const struct shift *shift, const struct band *band, enum change change);

/* compare_pair.c: intervals, words and probabilities of all pairs. */
enum status compare_pairs(struct comparing *k, struct error *err);

/* compare_host.c: the yardstick, and what is common to all figures that the host decides. */
void compare_hosts(struct comparing *k);

/*
 * compare_whole.c: which changes are certain among all; counts and the sentence; the order of rows.
 */
void compare_whole(struct comparison *out);

#endif
