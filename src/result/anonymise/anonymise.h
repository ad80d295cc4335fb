/*
 * Results for publication. A table (anonymise_rules.c) says of every string of a result what
 * becomes of it: kept, replaced by a word like "host-1f6c0b22d9e4", kept if nothing in it tells of
 * a host, a user or a path, or left out. A string that the table does not name is left out; a test
 * holds the table against the members of a result.
 *
 * The same original becomes the same word in all results of one anonymiser. The words come from a
 * random key, which is not
 * kept: they cannot be guessed by trial, and two results that were anonymised apart do not share
 * the word of a run or a device by chance. With a key file they are the same from call to call, for
 * those who hold the file.
 */
#ifndef GPUPROOF_RESULT_ANONYMISE_ANONYMISE_H
#define GPUPROOF_RESULT_ANONYMISE_ANONYMISE_H

#include "result/result.h"

struct anonymiser;

/* `key_file` NULL: a random key. */
enum status anonymiser_new(struct anonymiser **out, const char *key_file, struct error *err);
void anonymiser_free(struct anonymiser *anonymiser);

/* Makes the whole word `name` "<kind>-..." in all texts from here on. "" and NULL are ignored. */
void anonymiser_learn(struct anonymiser *anonymiser, const char *kind, const char *name);
/*
 * The names in a result. All results of one publication are learned before the first is rewritten.
 */
void anonymiser_learn_result(struct anonymiser *anonymiser, const struct result *result);

/* Rewrites every string of the result, of its judgement as well. On failure it stays as it was. */
enum status anonymise_result(struct anonymiser *anonymiser, struct result *result,
			     struct error *err);

/*
 * A text with the learned names replaced; ANONYMISE_LEFT_OUT where the rest may tell of someone.
 * The caller frees it.
 */
char *anonymise_text(const struct anonymiser *anonymiser, const char *text);
#define ANONYMISE_LEFT_OUT "left out by --anonymise"

#endif
