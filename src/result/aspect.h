/*
 * The aspects of a device that acceptance examines. Each check is about one of these aspects, and a
 * run may promise some of them ([run] promises): a promised aspect that nothing judged leaves the
 * verdict open (judge/aspects.c).
 *
 * The aspect of a metric is given in its suite's file, as `const struct aspect_row` rows
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
	ASPECT_MEMORY,      /* how fast the device reads and writes its own memory */
	ASPECT_LINK,        /* between host and device, and between devices */
	ASPECT_GEMM,        /* matrix multiplication and other arithmetic */
	ASPECT_CORRECTNESS, /* results compared with a reference */
	ASPECT_CONDITION,   /* sensors and counters: throttling, memory errors, link width */
	ASPECT_COUNT
};

struct case_result;

/* The first row of a metric whose parameter has that word applies; parameter NULL: every case. */
struct aspect_row {
	const char *metric, *parameter, *word;
	enum aspect aspect;
	/* too little alone: copies within a device say too little of its memory */
	bool partial;
	/*
	 * The measured task for a sentence ("is slower in ..."): "{PRECISION} GEMM" with the value
	 * of a parameter in braces, in capitals where its name is; NULL: the metric's name
	 */
	const char *task;
};

const char *aspect_name(enum aspect aspect); /* "memory"; "" for ASPECT_NONE */
/* Also for a former name ("products"); false: no aspect of this name. */
bool aspect_named(const char *name, enum aspect *aspect);

/* `rows` NULL: ASPECT_NONE. */
enum aspect aspect_of(const struct aspect_row *rows, const char *metric,
		      const struct case_result *c);
/* True where the row that applies is partial. */
bool aspect_is_partial(const struct aspect_row *rows, const char *metric,
		       const struct case_result *c);
/* The task of a metric in words, "FP16 GEMM", or the metric's name; the caller frees it. */
char *aspect_task(const struct aspect_row *rows, const char *metric, const struct case_result *c);

#endif
