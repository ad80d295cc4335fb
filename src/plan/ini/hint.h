/* " (did you mean 'sizes'?)": for a word that is not among those allowed. */
#ifndef GPUPROOF_PLAN_INI_HINT_H
#define GPUPROOF_PLAN_INI_HINT_H

struct embedded_file;
struct text;

struct hint {
	char text[96]; /* "" when nothing is near */
};

/* `names` ends with NULL. */
struct hint hint_for(const char *word, const char *const *names);

/*
 * Adds " (did you mean 'quick'?); shipped: full, quick": the files of an embedded table, without
 * their ending.
 */
void hint_files(struct text *out, const char *name, const struct embedded_file *files);

#endif
