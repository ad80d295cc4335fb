/*
 * Results for publication. A table (anonymise_rules.c) names the strings of a result that may be
 * published, and whether they are kept, replaced by a word like "host-1f6c0b22d9e4", or kept if
 * gpuproof ships them. All other strings are left out, sentences among them.
 *
 * The same original becomes the same word in all results of one anonymiser. The words come from a
 * random key that is not stored: they cannot be guessed by trial, and two results that were
 * anonymised apart do not share the word of a run or a device by chance. With a key file they are
 * the same from call to call, for those who hold the file.
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
 * Rewrites the result and its judgement. On failure it stays as it was. STATUS_UNSUPPORTED for a
 * result of several nodes.
 */
enum status anonymise_result(const struct anonymiser *anonymiser, struct result *result,
			     struct error *err);
#define ANONYMISE_LEFT_OUT "left out by --anonymise"

#endif
