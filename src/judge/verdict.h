/*
 * What judging a run came to: the typed hand-over from the judge to the terminal, to JSON and to the report.
 *
 * Ownership: `char *` belong to the struct; verdicts_release() frees everything. Quantities are in the metric's unit (SI
 * base), NaN where there is none.
 */
#ifndef GPUPROOF_JUDGE_VERDICT_H
#define GPUPROOF_JUDGE_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

enum verdict {
	VERDICT_PASS,
	VERDICT_WARN, /* violates a limit of severity warn */
	VERDICT_FAIL,
	VERDICT_INCONCLUSIVE, /* the interval holds the limit: more launches may tell */
	VERDICT_SKIP,         /* not measured, with the reason; never counts as passed */
	VERDICT_ERROR, /* cannot be judged: missing, NaN, zero, another unit, no figure to compare with */
	VERDICT_COUNT
};
const char *verdict_name(enum verdict verdict); /* "PASS", ... */

enum check_kind {
	AT_LEAST,
	AT_MOST,
	LIKE_SISTERS, /* `bound` is the worst value that the sisters allow */
	LIKE_POPULATION, /* `bound` is the worst value that good cards of the model allow */
	NO_COMPARISON /* a finding about the run itself */
};

/* One limit applied to one case. */
struct check {
	enum verdict verdict;
	/* PASS, WARN, SKIP where the limit allows it, INCONCLUSIVE where no more than a warning is at stake. */
	bool accepted;
	bool wrong; /* a wrong numerical result or an uncorrected memory error: outranks everything */
	bool final; /* of what no launch changes: more of them decide nothing */
	char *limit;        /* [limit NAME]; "run" for what is checked without a limit */
	char *case_id;      /* "" when no case matched */
	char *devices;      /* "cuda:3", "cuda:0,cuda:1" */
	char *model, *uuid; /* of the first device; "" when unknown */
	char *metric, *unit;
	enum check_kind comparison;
	double value, low, high; /* with both one-sided 95 % bounds */
	double bound;
	double margin;      /* (value - bound) / bound, turned so that > 0 is good */
	size_t launches;    /* behind `value` */
	size_t samples;     /* of the first launch */
	char *bound_text;   /* "0.85 * spec.pcie_bandwidth" */
	char *bound_origin; /* "data sheet (read): 63.02 GB/s", and what the limit's origin says */
	char *place;        /* "nightly.ini:12" */
	char *reason;       /* a sentence where the numbers don't say it; "" */
};

struct verdicts {
	struct check *checks; /* in the order of the limits, then of the cases */
	size_t count, capacity;
	size_t counts[VERDICT_COUNT];
	bool strict; /* warnings and allowed skips are not accepted */
	/* Filled by verdicts_finish(). */
	enum verdict overall; /* PASS, WARN, FAIL, INCONCLUSIVE (also when incomplete) */
	bool wrong;
	char *sentence; /* "Not accepted: 1 of 48 checks failed." */
};

/* Appends an empty check whose strings are ""; valid until the next call. */
struct check *verdicts_add(struct verdicts *verdicts);
/* Counts, and comes to the overall verdict; no check that was carried out at all is a FAIL. */
void verdicts_finish(struct verdicts *verdicts);
void verdicts_release(struct verdicts *verdicts);

/* The process's exit code (cli/command.h): 0 accepted, 1 failed, 4 inconclusive or incomplete, 5 wrong. */
int verdicts_exit_code(const struct verdicts *verdicts);

/* Whether value and bound are whole numbers without a unit: "7" devices, not "7.000". */
bool check_counts(const struct check *check);

/* "device(s) X" that a check blames, and its numbers, in words: "12.4 GB/s, at least 53.57 GB/s: 76.9 % below". */
char *check_numbers(const struct check *check);

/* The verdicts as JSON text (verdict_json.c); the caller frees it. */
char *verdicts_to_json(const struct verdicts *verdicts);

#endif
