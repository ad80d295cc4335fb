/*
 * The INI file as typed settings. Sections are:
 *
 *	[run]                 what to run on and how (backend, devices, seed, ...)
 *	[defaults]            values for every suite that knows the key
 *	[suite NAME]          one suite's sweep; [suite NAME label] a second variant
 *	[limit NAME]          what a metric must satisfy (plan/limits/limit.h)
 *	[report]              what to publish
 *	[fleet]               that the run is on several nodes, and how to reach them
 *
 * `include = FILE` (before the first section) reads another file first, relative to the including
 * one, or an embedded config by its name; what the including file says wins over it.
 * `$VAR`/`${VAR}` in a value is taken from the environment and an error when unset; `$$` is a
 * dollar. Every error of every file is collected; a config with errors never runs.
 */
#ifndef GPUPROOF_PLAN_CONFIG_H
#define GPUPROOF_PLAN_CONFIG_H

#include "base/error.h"
#include "base/text.h"
#include "plan/key.h"

struct presentation;
struct suite;
struct suite_set;

struct section {
	/* "run", "suite", "limit", "report", "fleet"; [defaults] has been merged into the suites */
	char *kind;
	char *name;  /* "transfer" for [suite transfer], "pcie" for [limit pcie]; "" else */
	char *label; /* "", or the label of the variant */
	const struct suite *suite; /* for kind "suite" */
	struct setting *settings;  /* all keys of the section's table, including defaults */
	size_t count;
	char *origin; /* file:line of the header; "default" if no file has this section */
};

struct config {
	char *name; /* "quick", or the path of the file */
	/*
	 * [run], the suites in file order, the limits in file order, [report]; at least [run] and
	 * [report].
	 */
	struct section *sections;
	size_t count;
	/* suites that its sections may refer to (plan/suites/suite_set.h) */
	struct suite_set *suites;
};

/*
 * One `--set section.key=value`. The section is "run", "defaults", "report", "transfer" or "suite
 * transfer" (all variants of the suite), "transfer:label", or "limit pcie".
 */
struct override {
	const char *text;
};

/*
 * Reads `source`: a path, or the name of an embedded config. On errors returns STATUS_USAGE with
 * one line per error ("file:line: message\n") in `errors`, and an empty `config`. On success
 * `errors` contains only notes, one line per key given by a former name.
 */
enum status config_load(struct config *config, const char *source, const struct override *overrides,
			size_t override_count, struct text *errors);
/* As config_load(), from text in memory; `name` replaces the file name in messages. */
enum status config_parse(struct config *config, const char *name, const char *text, size_t length,
			 const struct override *overrides, size_t override_count,
			 struct text *errors);
/*
 * Parses the effective config of a run, as config_write() stored it in its result. A result may be
 * untrusted, so anything that would read the environment or a file ($NAME, include) is an error.
 */
enum status config_parse_written(struct config *config, const char *name, const char *text,
				 size_t length, struct text *errors);
/*
 * As config_parse_written(), for judging and showing the result without running anything: loads no
 * library. Suites that are not built in are known from their rows in the result, `presented`, which
 * are copied.
 */
enum status config_parse_presented(struct config *config, const char *name, const char *text,
				   size_t length, const struct presentation *presented,
				   size_t count, struct text *errors);
void config_release(struct config *config);
void section_release(struct section *section); /* of section_resolve() */

/* First section of that kind and name; NULL: none. */
const struct section *config_section(const struct config *config, const char *kind,
				     const char *name);

/* Finds a setting by its key. A key that is not in the section's table is a bug (aborts). */
const struct setting *section_setting(const struct section *section, const char *key);
int64_t section_integer(const struct section *section, const char *key);
double section_real(const struct section *section, const char *key);
const char *section_text(const struct section *section, const char *key);

/*
 * Writes the effective config as INI text that loads to the same config, with "; origin" comments
 * on request.
 */
void config_write(const struct config *config, int with_origin, struct text *out);
/* Writes only the sections of one kind ("limit"), without origins. */
void config_write_kind(const struct config *config, const char *kind, struct text *out);

/* `embedded_configs` in base/embedded.h holds the embedded configs: "quick.ini" is `run quick`. */

#endif
