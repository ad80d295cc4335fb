/*
 * Aspects of a device that acceptance examines. Each check belongs to one aspect, and a run may
 * promise some of them ([run] promises). An unjudged promised aspect makes the verdict INCONCLUSIVE
 * (judge/aspects.c).
 *
 * Each suite's file assigns aspects to metrics with `const struct aspect_row` rows
 * (src/plan/suite.h):
 *
 *	static const struct aspect_row transfer_kinds[] = {
 *		{ "transfer.bandwidth", "direction", "local", ASPECT_MEMORY },
 *		{ "transfer.bandwidth", NULL, NULL, ASPECT_LINK },
 *		{ 0 }
 *	};
 */
#ifndef GPUPROOF_RESULT_ASPECT_H
#define GPUPROOF_RESULT_ASPECT_H

#include <stdbool.h>

enum aspect {
	ASPECT_NONE,
	ASPECT_MEMORY,      /* read and write rate of the device's own memory */
	ASPECT_LINK,        /* links between host and device, and between devices */
	ASPECT_GEMM,        /* GEMM and other arithmetic */
	ASPECT_CORRECTNESS, /* results verified against a reference */
	ASPECT_CONDITION,   /* sensors and counters: throttling, memory errors, link width */
	ASPECT_COUNT
};

/*
 * Stages of an acceptance in their order. A section of a config belongs to one ([suite ...] stage);
 * a stage that rejects ends the run. RUN_STAGE_SANITY has no cases: it judges doctor's findings.
 */
enum run_stage {
	RUN_STAGE_NONE,
	RUN_STAGE_SANITY,
	RUN_STAGE_RATES,
	RUN_STAGE_TOGETHER,
	RUN_STAGE_SOAK,
	RUN_STAGE_COUNT
};

/* "none", "sanity", ...; NULL-terminated. */
extern const char *const run_stage_names[RUN_STAGE_COUNT + 1];

struct case_result;

/* LINK_PEER: NVLink or PCIe, whichever connects the GPUs. */
enum link_kind { LINK_UNKNOWN, LINK_PCIE, LINK_NVLINK, LINK_PEER };

/* The first row whose metric and parameter value match applies; parameter NULL: every case. */
struct aspect_row {
	const char *metric, *parameter, *word;
	enum aspect aspect;
	/* not sufficient alone: copies within a device do not cover its memory */
	bool partial;
	/*
	 * Measured task for a sentence ("is slower in ..."): "{PRECISION} GEMM", with parameter
	 * values in braces (in capitals if the name is); NULL: name of the metric
	 */
	const char *task;
	/* Plural of a group of tasks that are named together: "GEMM types"; NULL: none */
	const char *group;
	const char *variant; /* distinguishes tasks of one group: "{PRECISION}"; NULL: none */
	enum link_kind link;
};

extern const char *const aspect_words[];     /* NULL-terminated */
const char *aspect_name(enum aspect aspect); /* "memory"; "" for ASPECT_NONE */
/* Also accepts a former name ("products"); false: unknown aspect. */
bool aspect_named(const char *name, enum aspect *aspect);

/* ASPECT_NONE if `rows` is NULL. */
enum aspect aspect_of(const struct aspect_row *rows, const char *metric,
		      const struct case_result *c);
/* The row that applies; NULL: none, also if `rows` is NULL. */
const struct aspect_row *aspect_row_of(const struct aspect_row *rows, const char *metric,
				       const struct case_result *c);
/*
 * Text of a row, its parameters in braces replaced by the case's values: "FP16 GEMM"; "" for NULL;
 * the caller frees it.
 */
char *aspect_fill(const char *text, const struct case_result *c);

#endif
