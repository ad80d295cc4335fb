/* Private declarations of reasons.c: sentences of a reason (verdict.h). */
#ifndef GPUPROOF_RESULT_REASONS_REASON_WORDS_H
#define GPUPROOF_RESULT_REASONS_REASON_WORDS_H

#include "base/text.h"
#include "result/verdict.h"

/*
 * Adds "GPU cuda:1 of n7.json, serial 1650," as the subject of a sentence. Without `serial` it has
 * no commas, without `devices` it is "the node".
 */
void reason_words_add_subject(struct text *out, const char *devices, const char *machine,
			      const char *serial);
/* Checks of one reason, worst first; passed ones are among them, because they tell the extent. */
struct reason_checks {
	const struct verdict_check *const *checks;
	size_t count;
	const char *devices; /* "cuda:0,cuda:1", the same for both directions of a link */
};
/* Headline (a clause), sentences, and remedy; the caller frees each. */
char *reason_words_headline(const struct reason_checks *g);
char *reason_words_text(const struct verdicts *v, const struct reason_checks *g,
			const char *serial);
char *reason_words_remedy(const struct verdicts *v, const struct verdict_check *c);

#endif
