/*
 * Anonymises results for publication. The row of each string (`.publish` in json_fields.h)
 * says whether it is kept, replaced by a pseudonym like "host-1f6c0b22d9e4", or kept only if
 * gpuproof ships it. All other strings are left out, including sentences.
 *
 * One anonymiser maps the same original to the same pseudonym in all results. Pseudonyms come from
 * a random key that is not stored, so they cannot be found by trial, and results anonymised
 * separately share no pseudonym. With a key file, pseudonyms are stable across calls for holders of
 * the file.
 */
#ifndef GPUPROOF_RESULT_ANONYMISE_ANONYMISE_H
#define GPUPROOF_RESULT_ANONYMISE_ANONYMISE_H

#include "base/hash/siphash.h"
#include "result/result.h"

struct anonymiser {
	struct siphash_key key;
};

/* `key_file` NULL: a random key. */
enum status anonymiser_init(struct anonymiser *anonymiser, const char *key_file, struct error *err);

/*
 * Anonymises the result and its judgement. On failure the result is unchanged. STATUS_UNSUPPORTED
 * for a multi-node result.
 */
enum status anonymise_result(const struct anonymiser *anonymiser, struct result *result,
			     struct error *err);
#define ANONYMISE_LEFT_OUT "left out by --anonymise"

/*
 * Facts that are kept if they are plain, and keys with user-defined values. Separate rules cover
 * "env ", serial numbers and hostname.
 */
extern const char anonymise_facts[], anonymise_named_keys[];
/* True if the list contains the name. */
bool anonymise_listed(const char *list, const char *name);

#endif
