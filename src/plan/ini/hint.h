/* " (did you mean 'sizes'?)": suggestion for an unknown word. */
#ifndef GPUPROOF_PLAN_INI_HINT_H
#define GPUPROOF_PLAN_INI_HINT_H

struct embedded_file;
struct text;

struct hint {
	char text[96]; /* "" if no word is similar */
};

/* `names` is NULL-terminated. */
struct hint hint_for(const char *word, const char *const *names);

/* Appends a name to the names of a message: "a, b". */
void hint_add(struct text *list, const char *name);
/* As hint_for(), from such a list. */
struct hint hint_in(const char *word, const struct text *list);

/*
 * Adds " (did you mean 'quick'?); shipped: full, quick": the files of an embedded table, without
 * extension.
 */
void hint_files(struct text *out, const char *name, const struct embedded_file *files);

#endif
