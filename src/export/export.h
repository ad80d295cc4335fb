/*
 * Exports a result, with its verdicts if any, to formats of other programs. Output is
 * deterministic. Untrusted text (labels, device names, reasons, INI values) stays text.
 *
 * Adding a format: add a file that ends with `const struct exporter export_<symbol>`, and a line to
 * formats.def.
 */
#ifndef GPUPROOF_EXPORT_EXPORT_H
#define GPUPROOF_EXPORT_EXPORT_H

#include "base/text.h"
#include "result/json/json_writer.h"
#include "result/result.h"
#include "result/verdict.h"

struct exporter {
	/* Appends the result, with its judgement if there is one. */
	void (*write)(const struct result *r, struct text *out);
	/*
	 * Why the result cannot be exported to this format; NULL: it can. Function NULL: every
	 * result can.
	 */
	const char *(*refuse)(const struct result *r);
};

struct export_format {
	const char *name; /* "junit" */
	const char *help;
	const struct exporter *exporter;
};

extern const struct export_format export_formats[]; /* terminated by a NULL name */

/* NULL: unknown format. */
const struct export_format *export_find(const char *name);

/* Appends what was written. */
void export_json(struct json_writer *writer, struct text *out);

/* Value of a fact of the environment; "" if the result lacks it. */
const char *export_fact(const struct result *result, const char *name);
/* In results constructed by tests, NULL becomes "". */
const char *export_string(const char *s);

#endif
