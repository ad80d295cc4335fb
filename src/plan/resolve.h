/* Converts a document (text) to a config (types): looks up keys, parses values, adds defaults. */
#ifndef GPUPROOF_PLAN_RESOLVE_H
#define GPUPROOF_PLAN_RESOLVE_H

#include "plan/ini/document.h"
#include "plan/schema.h"

/* Reports problems to the document; after one, the config can only be released. */
void config_resolve(struct config *config, const struct schema *schema, struct document *d);

/* Converts a section of a file that is not a config; the caller calls section_release(). */
void section_resolve(struct section *out, const struct schema *schema, struct document *d,
		     const struct document_section *own);

/* Setting `key` of `section`; NULL if it is missing or invalid. */
const struct setting *resolve_setting_or_null(const struct section *section, const char *key);

#endif
