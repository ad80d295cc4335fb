/* Section headers: "run", "suite transfer label"; and values given on the command line. */
#ifndef GPUPROOF_PLAN_HEADER_H
#define GPUPROOF_PLAN_HEADER_H

#include "plan/ini/document.h"

extern const char *const section_kinds[]; /* "run", ...; NULL-terminated */

/*
 * The three parts of a header, checked against what exists (header.c). False: a problem was
 * reported. `header` is "suite transfer label"; the caller frees the parts.
 */
bool header_parse(struct document *d, struct ini_place place, const char *header, char **kind,
		  char **name, char **label);
/* "[suite transfer label]"; the caller frees it. */
char *header_text(const char *kind, const char *name, const char *label);
/* Reports that there is no suite of that name, with the nearest. */
void document_unknown_suite(struct document *d, struct ini_place place, const char *header,
			    const char *name);
/* One `--set section.key=value` (override.c); after the reading. */
void document_override(struct document *d, const char *text);

#endif
