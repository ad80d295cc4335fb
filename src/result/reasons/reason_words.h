/* Private declarations of reasons.c: sentences of a reason (verdict.h). */
#ifndef GPUPROOF_RESULT_REASONS_REASON_WORDS_H
#define GPUPROOF_RESULT_REASONS_REASON_WORDS_H

#include "base/text.h"
#include "result/verdict.h"

/*
 * Adds "GPU cuda:1 of n7.json, serial 1650," as the subject of a sentence. Without `serial` it has
 * no commas, without `devices` it is "the node".
 */
void reason_add_subject(struct text *out, const char *devices, const char *machine,
			const char *serial);
/* Headline (a clause), sentences, and remedy; the caller frees each. */
char *reason_headline(const struct verdict_check *c);
char *reason_text(const struct verdicts *v, const struct verdict_check *c, const char *serial);
char *reason_remedy(const struct verdicts *v, const struct verdict_check *c);

#endif
