/*
 * Output of other tools as result documents: so that owners of machines that cannot run gpuproof
 * any more can bring what they have, and so that gpuproof can be compared with its peers. Metrics
 * and parameters have gpuproof's names; environment "provenance" says "imported: nvbandwidth v0.8",
 * and pages mark every value with it.
 *
 * Adding a format: import_<name>.c ending in `const struct import_format import_<name>`, and a line
 * in import.def.
 */
#ifndef GPUPROOF_IMPORT_IMPORT_H
#define GPUPROOF_IMPORT_IMPORT_H

#include "base/error.h"
#include "result/result.h"

#define IMPORT_PROVENANCE "provenance" /* the fact's name */
#define IMPORT_LEFT_OUT \
	"not imported" /* the fact that names what has no counterpart here, if anything */

struct import_options {
	const char *device;     /* name of the GPU, where the file has none; NULL */
	const char *collective; /* "all_reduce", where the file does not say; NULL */
};

struct import;

struct import_format {
	const char *name;
	const char *summary; /* which tool, how to have it write the file */
	/*
	 * How a line of what the tool writes for people begins, and what to do instead of importing
	 * that; NULL: unknown.
	 */
	const char *for_people, *instead;
	enum status (*read)(struct import *import);
};

extern const struct import_format *const import_formats[]; /* NULL-terminated */

/* The file `path` in the format `format`; NULL: the one that reads it. Errors name file:line. */
enum status import_file(struct result *result, const char *format, const char *path,
			const struct import_options *options, struct error *err);
/* The same from text; `file` is its name in messages. */
enum status import_text(struct result *result, const char *format, const char *file,
			const char *text, size_t length, const struct import_options *options,
			struct error *err);

#endif
