/*
 * The judgement of a run. The judge makes it (judge/judge.h), the result keeps it (member
 * `judgement`), and terminal, pages, exports and exit codes read it from there, so that they cannot
 * disagree.
 *
 * Ownership: `char *` belong to the struct; verdicts_release() frees everything. Quantities are in
 * the metric's unit (SI base), NaN where there is none.
 *
 * Adding an output that shows a verdict: it reads result->judgement and decides nothing itself; a
 * line in tests/commands/outputs_agree.py.
 */
#ifndef GPUPROOF_RESULT_VERDICT_H
#define GPUPROOF_RESULT_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

#include "result/aspect.h"
#include "result/causes/cause.h"

enum verdict {
	VERDICT_PASS,
	VERDICT_WARN, /* violates a limit of severity warn */
	VERDICT_FAIL,
	VERDICT_INCONCLUSIVE, /* the interval holds the limit: more launches may decide */
	VERDICT_SKIP,         /* not measured, with the reason; never counts as passed */
	/* cannot be judged: missing, NaN, zero, another unit, no figure to compare with */
	VERDICT_ERROR,
	VERDICT_COUNT
};
const char *verdict_name(enum verdict verdict); /* "PASS", ... */

enum check_kind {
	AT_LEAST,
	AT_MOST,
	LIKE_IDENTICAL,  /* `bound` is the worst value that identical devices allow */
	LIKE_POPULATION, /* `bound` is the worst value that good cards of the model allow */
	LIKE_FLEET,      /* `bound` is the worst value that all of the model on all nodes allow */
	NO_COMPARISON    /* a finding about the run itself */
};

/* One limit applied to one case. */
struct verdict_check {
	enum verdict verdict;
	/*
	 * PASS, WARN, SKIP where the limit allows it, INCONCLUSIVE where no more than a warning is
	 * at stake.
	 */
	bool accepted;
	bool wrong; /* a wrong numerical result: outranks everything */
	/*
	 * further launches decide nothing: none changes it, or no more than a warning is at stake
	 */
	bool final;
	enum aspect aspect;
	enum cause cause; /* why it did not pass */
	char *limit;      /* [limit NAME]; "run" for what is checked without a limit */
	char *case_id; /* "" when no case matched; the point for a check of all that the node has */
	char *suite;   /* of the case; "" */
	char *point;   /* case_point(); "" */
	char *machine; /* of several that are judged together: its file; "" */
	char *devices; /* "cuda:3", "cuda:0,cuda:1" */
	/* the one of them where the case failed; "": unknown, or it did not */
	char *failed_device;
	char *model, *uuid; /* of the first device; "" when unknown */
	char *metric, *unit;
	enum check_kind comparison;
	double value, low, high; /* with both one-sided 95 % bounds */
	double bound;
	double margin;      /* (value - bound) / bound, turned so that > 0 is good */
	size_t launches;    /* from which `value` comes */
	size_t samples;     /* of the first launch */
	char *bound_text;   /* "0.85 * spec.pcie_bandwidth" */
	char *bound_origin; /* "data sheet (read): 63.02 GB/s", and what the limit's origin says */
	char *place;        /* "nightly.ini:12" */
	char *reason;       /* a sentence where the numbers don't say it; "" */
	char *task;         /* what was measured, in words: "FP16 GEMM"; "" */
	/*
	 * The median that a comparison used, the number of its devices, and the name where it is
	 * a single device of the node; NaN, 0 and "" else.
	 */
	double reference;
	size_t reference_count;
	char *reference_device;
	/*
	 * The interval that decided against `bound`, which includes the uncertainty of the
	 * reference; NaN: [low, high] did.
	 */
	double deciding_low, deciding_high;
	bool warns_only; /* no value of it could reject */
	size_t xid;      /* the Xid error that it is about (device/xid.h); 0: none */
};

/* Why a device, or the node, is not accepted without reserve: one per device and aspect. */
struct verdict_reason {
	enum verdict verdict; /* of the worst check */
	bool accepted;        /* a warning */
	bool wrong;
	enum aspect aspect;
	enum cause cause;
	char *machine;  /* as in the check */
	char *devices;  /* "cuda:1", "cuda:0,cuda:1"; "" the node */
	char *serial;   /* of a single device; "" unknown */
	char *headline; /* a clause: "GPU cuda:1 is 16 % slower than cuda:0 in FP16 GEMM" */
	char *text;     /* sentences: what, where, how much against which limit */
	char *remedy;   /* sentences: what to do; "" */
	double margin;  /* of the worst check */
	/* index of the worst check; `count`: none, a promised aspect was not judged */
	size_t check;
	size_t checks; /* how many checks of the device and aspect did not pass */
};

/* The judgement of one aspect on one device. */
struct aspect_judgement {
	enum aspect aspect;
	bool promised; /* it must have been judged for the verdict to be accepted */
	/* The worst of its checks that judged something; SKIP: none did, and `reason` says why. */
	enum verdict verdict;
	size_t checks, judged, passed; /* judged: PASS, WARN or FAIL */
	/* the smallest to a limit that rejects; NaN: none is a number */
	double margin;
	bool measured; /* a case measured it, whether or not a limit covers it */
	char *reason;
};

struct device_judgement {
	char *machine; /* as in its checks */
	char *device, *model, *uuid, *serial;
	/* those that are promised or have checks, in the order of enum aspect */
	struct aspect_judgement *aspects;
	size_t aspect_count;
};

struct verdicts {
	char *limits;                 /* where they come from, for people: "h200", "nightly.ini" */
	char *limits_text;            /* the limits themselves, as INI */
	struct verdict_check *checks; /* in the order of the limits, then of the cases */
	size_t count, capacity;
	struct device_judgement *devices;
	size_t device_count, device_capacity;
	size_t counts[VERDICT_COUNT];
	bool strict;  /* warnings and allowed skips are not accepted */
	bool trend;   /* [run] verdict = trend: exit code 0 without a limit, too */
	char *repeat; /* the command that measures and judges again; "" unknown */
	/* Filled by verdicts_finish(). */
	enum verdict overall; /* PASS, WARN, FAIL, INCONCLUSIVE (also when incomplete) */
	bool wrong;
	char *sentence; /* "REJECTED: 47 of 48 checks passed; 1 failed. Worst: ..." */
	/* verdicts_explain() (reasons/reasons.h): the worst first */
	struct verdict_reason *reasons;
	size_t reason_count, reason_capacity;
};

/* Appends an empty check whose strings are ""; valid until the next call. */
struct verdict_check *verdicts_add(struct verdicts *verdicts);
void verdicts_release(struct verdicts *verdicts);

/* Appends a device without aspects; and an aspect to one. Both valid until the next call. */
struct device_judgement *verdicts_add_device(struct verdicts *verdicts);
struct aspect_judgement *device_judgement_add(struct device_judgement *device, enum aspect aspect);
/* Moves the checks and devices. */
void verdicts_move(struct verdicts *into, struct verdicts *from);
void verdicts_drop_last_device(struct verdicts *verdicts);
/* Frees them; the device is then to be given others, or forgotten. */
void device_judgement_drop_aspects(struct device_judgement *device);
/* NULL: it is neither promised nor judged there. */
const struct aspect_judgement *device_aspect(const struct device_judgement *device,
					     enum aspect aspect);
/* Promised, and nothing judged it. */
bool aspect_is_missing(const struct aspect_judgement *aspect);
/*
 * A number was held against a bound, or a look found the device in order or not: PASS, WARN or
 * FAIL.
 */
bool check_is_judged(const struct verdict_check *check);
/* True for a CPU: "host:0", "n3/host:0". */
bool device_id_is_cpu(const char *id);
/* The device at fault where it is known, else all that it is about. */
const char *check_faulty_devices(const struct verdict_check *check);
/* Sets case_id, suite, point and failed_device. */
void check_set_case(struct verdict_check *check, const struct case_result *c);
/* The suite and point of a check of a document that has none, of its case_id (case_point.c). */
void check_derive_point(struct verdict_check *check);
/* True if a check is about all devices of the node that have a point, by one figure. */
bool check_is_of_node(const struct verdict_check *check);

/*
 * The process's exit code (cli/command.h): 0 accepted, 1 failed, 4 inconclusive or incomplete, 5
 * wrong, or an uncorrected memory error.
 */
int verdicts_exit_code(const struct verdicts *verdicts);

/* True for a wrong numerical result or an uncorrected memory error: exit code 5. */
bool check_is_data_fault(const struct verdict_check *check);

/* True if value and bound are whole numbers without a unit: "7" devices, not "7.000". */
bool check_counts(const struct verdict_check *check);

/*
 * "device(s) X" that a check blames, and its numbers, in words: "12.4 GB/s, at least 53.57 GB/s:
 * 76.9 % below".
 */
char *check_numbers(const struct verdict_check *check);

/*
 * True if `a` says more against a device than `b`: wrong results first, then uncorrected memory
 * errors, then what failed, then what could not be judged, then by margin.
 */
bool check_is_worse(const struct verdict_check *a, const struct verdict_check *b);
void verdicts_drop_reasons(struct verdicts *verdicts);

/* Recounts `counts` and `wrong` from the checks. */
void verdicts_count(struct verdicts *verdicts);
/* Checks that held a number against a bound; findings about the run are no reason to accept it. */
size_t verdicts_judged(const struct verdicts *verdicts);
/* Judged and accepted, with or without warnings. */
bool verdicts_accepted(const struct verdicts *verdicts);
/* "ACCEPTED", "REJECTED", "INCONCLUSIVE"; "NOT JUDGED": the trend decides, exit code 0 */
const char *verdicts_word(const struct verdicts *verdicts);

/* The verdicts as JSON text of their own (verdict_fields.c); the caller frees it. */
char *verdicts_to_json(const struct verdicts *verdicts);

#endif
