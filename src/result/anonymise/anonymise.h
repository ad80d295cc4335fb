/*
 * Results that may leave the house: host names, serials, UUIDs, PCI, IP and hardware addresses, paths, ids of runs, and names that a user
 * gave (labels, titles, config files and their limits) become "host-1f6c0b22d9e4". The same original becomes the same word in all
 * documents of one anonymiser; a random key, which is not kept, prevents guessing by trial. With a key
 * file the words are the same from call to call, for those who hold the key.
 *
 * Kept: names that are part of the program's own vocabulary (a limit called "memory"), what was measured, models, versions, times and the names of shipped configs and their limits.
 */
#ifndef GPUPROOF_RESULT_ANONYMISE_ANONYMISE_H
#define GPUPROOF_RESULT_ANONYMISE_ANONYMISE_H

#include "result/result.h"

struct anonymiser;

/* `key_file` NULL: a random key. */
enum status anonymiser_new(struct anonymiser **out, const char *key_file, struct error *err);
void anonymiser_free(struct anonymiser *anonymiser);

/* Makes every occurrence of `name` from here on "<kind>-...". "" and NULL are ignored. */
void anonymiser_learn(struct anonymiser *anonymiser, const char *kind, const char *name);
/* The names in a result. All results of one publication are learned before the first is rewritten. */
void anonymiser_learn_result(struct anonymiser *anonymiser, const struct result *result);

/* Rewrites every string of the result. On failure it stays as it was. */
enum status anonymise_result(const struct anonymiser *anonymiser, struct result *result,
			     struct error *err);

/* `text` with what was learned and what anonymise_parts.h knows by its form replaced. The caller frees it. */
char *anonymise_text(const struct anonymiser *anonymiser, const char *text);

#endif
