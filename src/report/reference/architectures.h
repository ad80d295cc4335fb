/*
 * Architectures side by side: a line for each card of a family ("V100" of V100 PCIe and V100 SXM2),
 * and the same six questions to all of them.
 */
#ifndef GPUPROOF_REPORT_REFERENCE_ARCHITECTURES_H
#define GPUPROOF_REPORT_REFERENCE_ARCHITECTURES_H

#include "report/reference/reference.h"

#define QUESTIONS 6
#define MEMBERS_MOST 4 /* cards of a family */
#define LINES_MOST 24

/* The best value that a line has for a question; measured ones before published ones. */
struct answer {
	const struct reference_row *row; /* NULL: none */
	const struct reference_value *value;
	enum provenance kind;
	size_t card;
	double peak; /* of the data sheet; NaN: not known */
};

struct architecture_line {
	char label[32];
	const char *architecture; /* "" */
	double year;              /* NaN: not known */
	size_t cards[MEMBERS_MOST], card_count;
	bool measured;
	struct answer answers[QUESTIONS];
	size_t answered;
};

struct architectures {
	const struct report_reference *r;
	struct architecture_line lines[LINES_MOST];
	size_t count;
	size_t baseline, subject; /* lines: ratios are to the one; the newest measured one */
};

struct question {
	const char *title;
	const char *quantities[5]; /* the best of these counts */
	const char *workload;      /* of the quantities; NULL: none */
};

extern const struct question questions[QUESTIONS];

/* The lines with an answer, one card of each architecture and all that were measured, by year. */
void architectures_collect(struct architectures *a, const struct report_reference *r);
/* Multiple of the baseline; NaN: one of them has no figure. */
double architectures_ratio(const struct architectures *a, size_t line, size_t question);

/* architecture_growth.c: the drawings of "growth", one for wide and one for narrow screens. */
void architectures_growth(const struct architectures *a, struct tree *page);
/* architecture_page.c */
void architectures_page(const struct architectures *a, struct tree *page);
/* The title of the page; malloc'ed. */
char *architectures_title(const struct architectures *a);

#endif
