/* --anonymise and --anonymise-key of the commands that publish. */
#ifndef GPUPROOF_CLI_INPUT_ANONYMISE_OPTION_H
#define GPUPROOF_CLI_INPUT_ANONYMISE_OPTION_H

#include <stdbool.h>

#include "cli/input/result_list.h"
#include "judge/limits.h"
#include "result/verdict.h"
#include "result/anonymise/anonymise.h"

struct anonymise_option {
	bool wanted;
	const char *key_file;          /* NULL: a random key */
	struct anonymiser *anonymiser; /* NULL: not wanted, nothing below does anything */
};

#define ANONYMISE_OPTIONS                                                                          \
	{ 0, "anonymise", false },                                                                 \
	{                                                                                          \
		0, "anonymise-key", true                                                           \
	}

#define ANONYMISE_USAGE                                                                            \
	"      --anonymise          hosts, UUIDs, serials, PCI and network addresses, paths, "      \
	"labels, and the names\n"                                                                  \
	"                           of own configs and limits become words like "                  \
	"host-1f6c0b22d9e4\n"                                                                      \
	"      --anonymise-key FILE the same words every time, for those who hold the file (16 "   \
	"bytes or\n"                                                                               \
	"                           more); without it the key is random and thrown away"

/* True when the option is one of ours. */
bool anonymise_take_option(struct anonymise_option *option, const char *name, const char *value);
/* Makes the anonymiser and rewrites both lists (`b` may be NULL). */
enum status anonymise_lists(struct anonymise_option *option, struct result_list *a,
			    struct result_list *b, struct error *err);
/* The names in limits that come from a file of their own. */
void anonymise_learn_limits(const struct anonymise_option *option, const struct limits *limits);
void anonymise_verdicts(const struct anonymise_option *option, struct verdicts *verdicts);
void anonymise_option_release(struct anonymise_option *option);

#endif
