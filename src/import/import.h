/*
 * Output of other tools as result documents: so that a supplier's evidence can be judged on one
 * page, owners of machines that cannot run gpuproof can bring what they have, and gpuproof can be
 * compared with its peers. Metrics and parameters have gpuproof's names; environment "provenance"
 * says "imported from nvbandwidth v0.8", and pages mark every value with it. `check` accepts no
 * import: no value of it was verified here.
 *
 * Adding a format: formats/import_<name>.c with a table of rules or read_json(), ending in
 * `const struct import_format import_<name>`, a line in import.def, and a small file after the
 * tool's real output in tests/data/import, with what must come of it.
 */
#ifndef GPUPROOF_IMPORT_IMPORT_H
#define GPUPROOF_IMPORT_IMPORT_H

#include "base/error.h"
#include "base/text.h"
#include "result/result.h"

#define IMPORT_PROVENANCE "provenance" /* the fact's name */
#define IMPORT_LEFT_OUT \
	"not imported" /* the fact that names what has no counterpart here, if anything */

struct import_options {
	const char *device;     /* name of the GPU, where the file has none; NULL */
	const char *collective; /* "all_reduce", where the file does not say; NULL */
	const char *started;    /* ISO 8601; NULL: as the file says */
};

struct import;
struct import_rule;
struct json_t;

/* Read by `rules`, line by line, or by read_json(); one with both has JSON where it has a '{'. */
struct import_format {
	const char *name;
	const char *summary; /* which tool, how to have it write the file */
	/*
	 * Texts that only this tool's output has, NULL-terminated. Lines begin with them, after a
	 * launcher's prefix; in JSON they are anywhere.
	 */
	const char *marks[16];
	const char *silent;  /* quantities that the tool does not report, for the page */
	bool reads_failures; /* a failure of a program is a case, and no more is said of it */
	const char *tool;    /* its provenance where no line tells the version */
	const struct import_rule *rules;                           /* reading.h */
	size_t state_bytes;                                        /* zeroed, for the rules */
	enum status (*finish)(struct import *import, void *state); /* after all lines; NULL */
	void (*release)(void *state);                              /* NULL */
	enum status (*read_json)(struct import *import, const struct json_t *root);
};

extern const struct import_format *const import_formats[]; /* NULL-terminated */

/*
 * The file `path` ("-": standard input) in the format `format`; NULL: the one whose mark it has.
 * gzip, zstd, Latin-1 and a byte order mark are read. Errors name file:line. Devices of result
 * folders and logs together are one result: a folder is read file by file by its caller.
 */
enum status import_file(struct result *result, const char *format, const char *path,
			const struct import_options *options, struct error *err);
/* The same from text; `file` is its name in messages. */
enum status import_text(struct result *result, const char *format, const char *file,
			const char *text, size_t length, const struct import_options *options,
			struct error *err);

#endif
