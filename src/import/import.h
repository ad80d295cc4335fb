/*
 * Converts other tools' output to result documents. A supplier's evidence can then be judged on one
 * page, owners of machines without gpuproof can contribute results, and gpuproof can be compared
 * with other tools. Metrics and parameters have gpuproof's names. Environment "provenance" says
 * "imported from nvbandwidth v0.8", and pages mark every imported value. `check` accepts no import,
 * because gpuproof did not verify the values.
 *
 * To add a format, write formats/import_<name>.c with a table of rules or read_json(), ending in
 * `const struct import_format import_<name>`. Add a line to import.def, and a short sample of the
 * tool's real output to tests/data/import with the expected result.
 */
#ifndef GPUPROOF_IMPORT_IMPORT_H
#define GPUPROOF_IMPORT_IMPORT_H

#include "base/error.h"
#include "base/text.h"
#include "result/result.h"

#define IMPORT_PROVENANCE "provenance" /* name of the fact */
#define IMPORT_LEFT_OUT \
	"not imported" /* the fact that names what has no counterpart here, if anything */

struct import_options {
	const char *device;     /* name of the GPU if the file has none; NULL */
	const char *collective; /* "all_reduce" if the file does not name it; NULL */
	const char *started;    /* ISO 8601; NULL: the time in the file */
};

struct import;
struct import_rule;
struct json_t;

/* A format has `rules` for lines, read_json(), or both; with both, a file with '{' is JSON. */
struct import_format {
	const char *name;
	const char *summary; /* the tool, and the command that writes the file */
	/*
	 * Texts that only this tool's output contains, NULL-terminated. They begin a line, after
	 * any launcher's prefix. In JSON they may be anywhere.
	 */
	const char *marks[16];
	const char *silent;  /* quantities that the tool does not report; shown on the page */
	bool reads_failures; /* a program failure becomes a failed case, not also a fact */
	const char *tool;    /* provenance if no line gives the version */
	const struct import_rule *rules;       /* reading.h */
	size_t state_bytes;                    /* import->state, zeroed */
	void (*finish)(struct import *import); /* after all lines; NULL */
	void (*release)(void *state);          /* NULL */
	void (*read_json)(struct import *import, const struct json_t *root);
};

extern const struct import_format *const import_formats[]; /* NULL-terminated */

/*
 * Imports the file `path` ("-": standard input) in `format`; NULL detects the format by its marks.
 * Accepts gzip, zstd, Latin-1 and a byte order mark. Errors name file:line. The caller reads
 * folders file by file.
 */
enum status import_file(struct result *result, const char *format, const char *path,
			const struct import_options *options, struct error *err);
/* Imports text; `file` is its name in messages. */
enum status import_text(struct result *result, const char *format, const char *file,
			const char *text, size_t length, const struct import_options *options,
			struct error *err);

#endif
