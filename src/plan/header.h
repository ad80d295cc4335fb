/* Parses section headers, "run" or "suite transfer label", and values given on the command line. */
#ifndef GPUPROOF_PLAN_HEADER_H
#define GPUPROOF_PLAN_HEADER_H

#include "plan/ini/document.h"

extern const char *const section_kinds[]; /* "run", ...; NULL-terminated */

/*
 * Splits a header, "suite transfer label", into its parts and checks them against the existing
 * sections (header.c). False: a problem was reported. The caller frees the parts.
 */
bool plan_header_parse(struct document *d, struct ini_place place, const char *header, char **kind,
		       char **name, char **label);
struct title {
	char text[256];
};

/* "[suite transfer label]" */
struct title plan_header_title(const char *kind, const char *name, const char *label);
/* Reports an unknown suite, with the most similar name. */
void plan_header_document_unknown_suite(struct document *d, struct ini_place place,
					const char *header, const char *name);

#endif
