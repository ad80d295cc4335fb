/*
 * GPUs side by side: measured here, imported, published by others, and data sheets. These never
 * share a mean: a cell keeps the best of each kind apart, and every value on the page says of which
 * kind it is.
 *
 * A card is a GPU model (of configs/gpus, or one that was measured and is not known there); a row a
 * quantity, on n devices, of one workload.
 */
#ifndef GPUPROOF_REPORT_REFERENCE_REFERENCE_H
#define GPUPROOF_REPORT_REFERENCE_REFERENCE_H

#include "reference/gpu.h"
#include "report/template/tree.h"
#include "report/view/view.h"

/* In the order in which a cell prefers them. */
enum provenance { MEASURED, IMPORTED, PUBLISHED, PROVENANCES };

struct reference_value {
	double value, low, high;   /* NaN: none */
	const struct published *p; /* PUBLISHED */
};

struct reference_card {
	const struct gpu *gpu; /* NULL: not known */
	char *label;
	bool measured; /* here, or imported */
};

struct reference_row {
	const struct quantity *quantity;
	const char *workload;
	int devices;
	struct reference_value (*cells)[PROVENANCES]; /* by card */
};

struct report_reference {
	const struct view *view;
	struct reference_card *cards;
	size_t card_count, card_capacity;
	struct reference_row *rows;
	size_t row_count, row_capacity;
	size_t baseline; /* index of the card */
	bool baseline_given;
};

/* True if report_reference_collect() knows them. */
enum status report_reference_check(const char *gpus, const char *baseline, struct error *err);
/*
 * `gpus`: "all" or ids and architectures ("k80, volta"); `baseline`: an id, or "" for the oldest.
 * Unknown ids are errors.
 */
enum status report_reference_collect(struct report_reference *r, const struct view *view,
				     const char *gpus, const char *baseline, struct error *err);
void report_reference_release(struct report_reference *r);

/* Row of a quantity on one device, of a workload or none (""); NULL: no value. */
const struct reference_row *report_reference_row(const struct report_reference *r,
						 const char *quantity, const char *workload);
/* The value shown in a cell, and its kind; NULL: not measured. */
const struct reference_value *report_reference_best(const struct reference_row *row, size_t card,
						    enum provenance *provenance);
/* The best that one source of the view, a device, measured of a row; NaN: nothing. */
double report_reference_of_source(const struct report_reference *r, const struct reference_row *row,
				  size_t card, size_t source);
/* The upper bound from the data sheet; NaN: not known. */
double report_reference_peak(const struct report_reference *r, const struct reference_row *row,
			     size_t card);

/*
 * Architectures side by side: a line for each card of a family ("V100" of V100 PCIe and V100 SXM2),
 * and the same six questions to all of them.
 */
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
char *architecture_page_title(const struct architectures *a);

#endif
