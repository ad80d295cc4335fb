/* The sentences of a reason (verdict.h). Private to reasons.c. */
#ifndef GPUPROOF_RESULT_REASONS_REASON_WORDS_H
#define GPUPROOF_RESULT_REASONS_REASON_WORDS_H

#include "base/text.h"
#include "result/verdict.h"

/*
 * "GPU cuda:1 of n7.json, serial 1650," as the subject of a sentence: without `serial` no commas,
 * without `devices` "the node".
 */
void reason_add_subject(struct text *out, const char *devices, const char *machine,
			const char *serial);
/* A clause, a text of sentences, and what to do: the caller frees them. */
char *reason_headline(const struct verdict_check *c);
char *reason_text(const struct verdicts *v, const struct verdict_check *c, const char *serial);
char *reason_remedy(const struct verdicts *v, const struct verdict_check *c);

#endif
