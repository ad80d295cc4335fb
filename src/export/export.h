/*
 * A result, and the verdicts on it where there are any, in other programs' formats. Same input,
 * same bytes. Text from outside (labels, device names, reasons, INI values) stays text, whatever it
 * holds.
 *
 * Adding a format: one file ending in `const struct exporter export_<symbol>`, and one line in
 * formats.def.
 */
#ifndef GPUPROOF_EXPORT_EXPORT_H
#define GPUPROOF_EXPORT_EXPORT_H

#include "base/text.h"
#include "result/result.h"
#include "result/verdict.h"

struct export_input {
	const struct result *result; /* with its judgement, if it was judged */
};

struct exporter {
	void (*write)(const struct export_input *input, struct text *out); /* appends to `out` */
	/* Why the result has nothing for this format; NULL: it has. NULL: every result has. */
	const char *(*refuse)(const struct export_input *input);
};

struct export_format {
	const char *name; /* "junit" */
	const char *help;
	const struct exporter *exporter;
};

extern const struct export_format export_formats[]; /* ends with a NULL name */

/* NULL: there is none of that name. */
const struct export_format *export_find(const char *name);

/* The value of a fact of the environment; "" when the result does not have it. */
const char *export_fact(const struct result *result, const char *name);
/* NULL is "" in results that were made by hand. */
const char *export_string(const char *s);

#endif
