/*
 * Judgement of a run. The judge creates it (judge/judge.h), the result stores it (member
 * `judgement`), and terminal, pages, exports and exit codes read it from there, so that they cannot
 * disagree.
 *
 * Structs own their `char *`; verdicts_release() frees everything. Quantities are in the metric's
 * unit (SI base), NaN if unknown.
 *
 * Adding an output with a verdict: read result->judgement without deciding anything, and add a line
 * to tests/commands/outputs_agree.py.
 */
#ifndef GPUPROOF_RESULT_VERDICT_H
#define GPUPROOF_RESULT_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

#include "result/aspect.h"
#include "result/causes/cause.h"

enum verdict {
	VERDICT_PASS,
	VERDICT_WARN, /* violates a limit with severity = warn */
	VERDICT_FAIL,
	VERDICT_INCONCLUSIVE, /* the interval straddles the limit: more launches may decide */
	VERDICT_SKIP,         /* not measured, with the reason; never counts as passed */
	/*
	 * cannot be judged: value missing, NaN, zero, of another unit, or nothing to compare with
	 */
	VERDICT_ERROR,
	VERDICT_COUNT
};
const char *verdict_fields_name(enum verdict verdict); /* "PASS", ... */

enum check_kind {
	AT_LEAST,
	AT_MOST,
	LIKE_IDENTICAL,  /* `bound`: the worst value that identical devices allow */
	LIKE_POPULATION, /* `bound`: the worst value that reference GPUs of the model allow */
	/* `bound`: the worst value that all devices of the model on all nodes allow */
	LIKE_FLEET,
	NO_COMPARISON /* a finding about the run itself */
};

/* A limit applied to a case. */
struct verdict_check {
	enum verdict verdict;
	/* PASS, WARN, an allowed SKIP, or INCONCLUSIVE if the limit could only warn. */
	bool accepted;
	bool wrong; /* a wrong numerical result: outranks everything */
	/* more launches cannot change it: the metric is exact, or it could only warn */
	bool final;
	enum aspect aspect;
	enum cause cause; /* why it did not pass */
	char *limit;      /* [limit NAME]; "run" for checks without a limit */
	char *case_id;    /* "" if no case matched; the point, for a check of the whole node */
	char *suite;      /* suite of the case; "" */
	char *point;      /* case_point(); "" */
	char *machine;    /* file of the machine, if several are judged together; "" */
	char *devices;    /* "cuda:3", "cuda:0,cuda:1" */
	/* the device on which the case failed; "": unknown, or it did not fail */
	char *failed_device;
	char *model, *uuid; /* of the first device; "" if unknown */
	char *metric, *unit;
	enum check_kind comparison;
	double value, low, high; /* value with its one-sided 95 % bounds */
	double bound;
	double margin;      /* (value - bound) / bound, oriented so that > 0 is good */
	size_t launches;    /* number of launches that `value` comes from */
	size_t samples;     /* number of samples in the first launch */
	char *bound_text;   /* "0.85 * spec.pcie_bandwidth" */
	char *bound_origin; /* "data sheet (read): 63.02 GB/s", and the origin in the limit */
	char *place;        /* "nightly.ini:12" */
	char *reason;       /* text, if the numbers do not explain it; "" */
	char *task;         /* description of the measured task: "FP16 GEMM"; "" */
	char *task_group;   /* its group, in the plural: "GEMM types"; "" */
	char *variant;      /* distinguishes tasks of one group: "FP16"; "" */
	/* not stored, because the cause tells it: the kind of link that the case measured */
	enum link_kind link;
	/*
	 * Median used in a comparison, number of its devices, and the name if it is a single device
	 * of the node; else NaN, 0 and "".
	 */
	double reference;
	size_t reference_count;
	char *reference_device;
	/*
	 * Interval that was compared with `bound`, including the uncertainty of the reference; NaN:
	 * [low, high].
	 */
	double deciding_low, deciding_high;
	bool warns_only; /* no value of it could reject */
	size_t xid;      /* the Xid error that it is about (device/xid.h); 0: none */
};

/* Why a device, or the node, was not fully accepted: one reason per device and aspect. */
struct verdict_reason {
	enum verdict verdict; /* verdict of the worst check */
	bool accepted;        /* a warning */
	bool wrong;
	enum aspect aspect;
	enum cause cause;
	char *machine;  /* as in the check */
	char *devices;  /* "cuda:1", "cuda:0,cuda:1"; "": the node */
	char *serial;   /* of a single device; "": unknown */
	char *headline; /* a clause: "GPU cuda:1 is 16 % slower than cuda:0 in FP16 GEMM" */
	char *text;     /* sentences: what, where, how much against which limit */
	char *remedy;   /* sentences: what to do; "" */
	double margin;  /* verdict of the worst check */
	/* index of the worst check; `count`: none, an unjudged promised aspect */
	size_t check;
	size_t checks; /* number of checks of the device and aspect that did not pass */
};

/* Judgement of one aspect of one device. */
struct aspect_judgement {
	enum aspect aspect;
	bool promised; /* the verdict can be ACCEPTED only if this aspect was judged */
	/* The worst of its checks with a verdict; SKIP: there is none, and `reason` tells why. */
	enum verdict verdict;
	size_t checks, judged, passed; /* judged: checks with PASS, WARN or FAIL */
	/* smallest margin to a limit that can reject; NaN: none is a number */
	double margin;
	bool measured; /* a case measured it, with or without a limit */
	char *reason;
};

struct device_judgement {
	char *machine; /* as in its checks */
	char *device, *model, *uuid, *serial;
	/* promised aspects and those with checks, in the order of enum aspect */
	struct aspect_judgement *aspects;
	size_t aspect_count;
};

struct verdicts {
	/* origin of the limits, for messages: "h200", "nightly.ini" */
	char *limits;
	char *limits_text;            /* the limits themselves, as INI */
	struct verdict_check *checks; /* in the order of the limits, then of the cases */
	size_t count, capacity;
	struct device_judgement *devices;
	size_t device_count, device_capacity;
	size_t counts[VERDICT_COUNT];
	bool strict;  /* do not accept warnings and allowed skips */
	bool trend;   /* [run] verdict = trend: exit code 0 even without a limit */
	char *repeat; /* command that measures and judges again; "": unknown */
	/* Set by verdicts_finish(). */
	enum verdict overall; /* PASS, WARN, FAIL, or INCONCLUSIVE (also if incomplete) */
	bool wrong;
	char *sentence; /* "REJECTED: 47 of 48 checks passed; 1 failed. Worst: ..." */
	/* from reasons_verdicts_explain() (reasons/reasons.h), worst first */
	struct verdict_reason *reasons;
	size_t reason_count, reason_capacity;
};

/* Appends an empty check whose strings are ""; valid until the next call. */
struct verdict_check *verdicts_add(struct verdicts *verdicts);
void verdicts_release(struct verdicts *verdicts);

/* Appends a device without aspects, or an aspect to a device; valid until the next call. */
struct device_judgement *verdicts_add_device(struct verdicts *verdicts);
struct aspect_judgement *verdict_device_judgement_add(struct device_judgement *device,
						      enum aspect aspect);
/* Moves the checks and devices of `from`. */
void verdicts_move(struct verdicts *into, struct verdicts *from);
void verdicts_drop_last_device(struct verdicts *verdicts);
/* Frees the aspects; the caller then sets others or drops the device. */
void verdict_device_judgement_drop_aspects(struct device_judgement *device);
/* NULL: the aspect is neither promised nor judged. */
const struct aspect_judgement *verdict_device_aspect(const struct device_judgement *device,
						     enum aspect aspect);
/* True if the aspect is promised but unjudged. */
bool verdict_aspect_is_missing(const struct aspect_judgement *aspect);
/*
 * True for PASS, WARN and FAIL: a value was compared with a bound, or an inspection had a result.
 */
bool verdict_check_is_judged(const struct verdict_check *check);
/* True for a CPU: "host:0", "n3/host:0". */
bool verdict_device_id_is_cpu(const char *id);
/* The failed device if it is known, else all devices of the check. */
const char *verdict_check_faulty_devices(const struct verdict_check *check);
/* Sets case_id, suite, point and failed_device. */
void verdict_check_set_case(struct verdict_check *check, const struct case_result *c);
/* True if a check covers all devices of the node at one point with a single value. */
bool verdict_check_is_of_node(const struct verdict_check *check);

/*
 * The process's exit code (cli/command.h): 0 accepted, 1 failed, 4 inconclusive or incomplete, 5
 * wrong, or an uncorrected memory error.
 */
int verdicts_exit_code(const struct verdicts *verdicts);

/* True for a wrong numerical result or an uncorrected memory error: exit code 5. */
bool verdict_check_is_data_fault(const struct verdict_check *check);

/* True if value and bound are integers without a unit: "7" devices, not "7.000". */
bool verdict_check_counts(const struct verdict_check *check);

/*
 * Text with the numbers of a check: "12.4 GB/s, at least 53.57 GB/s: 76.9 % below". The caller
 * frees it.
 */
char *verdict_check_numbers(const struct verdict_check *check);

/*
 * True if `a` says more against a device than `b`: wrong results first, then uncorrected memory
 * errors, then what failed, then what could not be judged, then by margin.
 */
bool verdict_check_is_worse(const struct verdict_check *a, const struct verdict_check *b);
void verdicts_drop_reasons(struct verdicts *verdicts);

/* Recounts `counts` and `wrong` from the checks. */
void verdicts_count(struct verdicts *verdicts);
/* Number of checks that compared a value with a bound; findings about the run do not count. */
size_t verdicts_judged(const struct verdicts *verdicts);
/* True if judged and accepted, with or without warnings. */
bool verdicts_accepted(const struct verdicts *verdicts);
/* "ACCEPTED", "REJECTED", "INCONCLUSIVE"; "NOT JUDGED": the trend decides, exit code 0 */
const char *verdicts_word(const struct verdicts *verdicts);

/* The verdicts as a JSON document (verdict_fields.c); the caller frees it. */
char *verdict_fields_to_json(const struct verdicts *verdicts);

#endif
