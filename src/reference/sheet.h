/*
 * Keys of data sheets in addition to the figures that limits may refer to
 * (plan/limits/spec_keys.h).
 *
 * Adding one: a row in sheet.c.
 */
#ifndef GPUPROOF_REFERENCE_SHEET_H
#define GPUPROOF_REFERENCE_SHEET_H

#include "base/error.h"

struct sheet_key {
	const char *name;
	const char *unit; /* SI base; "1": a count; NULL: words */
	const char *help;
};

/* NULL: there is none. Knows the figures of spec_keys as well. */
const struct sheet_key *sheet_key_find(const char *name, struct sheet_key *found);
/* "4800 GB/s", "16GiB", "132" in the unit of its key. */
enum status sheet_parse(const char *text, const char *unit, double *value, struct error *err);

#endif
