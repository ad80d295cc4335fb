/* " (did you mean 'sizes'?)": for a word that is not among those allowed. */
#ifndef GPUPROOF_PLAN_INI_HINT_H
#define GPUPROOF_PLAN_INI_HINT_H

struct hint {
	char text[96]; /* "" when nothing is near */
};

/* `names` ends with NULL. */
struct hint hint_for(const char *word, const char *const *names);

#endif
