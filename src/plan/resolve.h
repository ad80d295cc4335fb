/* From a document (text) to a config (types): keys looked up, values parsed, defaults filled in. */
#ifndef GPUPROOF_PLAN_RESOLVE_H
#define GPUPROOF_PLAN_RESOLVE_H

#include "plan/ini/document.h"
#include "plan/schema.h"

/* Problems go to the document; the config is then good for config_release() only. */
void config_resolve(struct config *config, const struct schema *schema, struct document *d);

/* One section of a file that is no config; the caller calls section_release(). */
void section_resolve(struct section *out, const struct schema *schema, struct document *d,
		     const struct document_section *own);

/* The setting `key` of `section`, NULL when it is missing or broken. */
const struct setting *setting_or_null(const struct section *section, const char *key);

#endif
