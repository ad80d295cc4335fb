/* --anonymise and --anonymise-key of the commands that publish. */
#ifndef GPUPROOF_CLI_INPUT_ANONYMISE_OPTION_H
#define GPUPROOF_CLI_INPUT_ANONYMISE_OPTION_H

#include <stdbool.h>

#include "cli/input/result_list.h"
#include "cli/options.h"
#include "judge/limits.h"
#include "result/anonymise/anonymise.h"
#include "result/verdict.h"

struct anonymise_option {
	bool wanted;
	const char *key_file;          /* NULL: a random key; else it is wanted as well */
	struct anonymiser *anonymiser; /* NULL: not wanted, nothing below does anything */
};

/* Rows for the table of a command whose arguments are struct ARGUMENTS, with `struct anonymise_option anonymise` in it. */
#define ANONYMISE_OPTIONS(ARGUMENTS)                                                               \
	{ .name = "anonymise",                                                                     \
	  FLAG_AT(ARGUMENTS, anonymise.wanted),                                                    \
	  .help = "hosts, UUIDs, serials, PCI and network addresses, paths, labels, and the names " \
		  "of own configs and limits become words like host-1f6c0b22d9e4" },               \
	{                                                                                          \
		.name = "anonymise-key", TEXT_AT(ARGUMENTS, anonymise.key_file), .value = "FILE",  \
		.help = "the same words every time, for those who hold the file (16 bytes or "     \
			"more); without it the key is random and thrown away"                      \
	}

/* Makes the anonymiser and rewrites both lists (`b` may be NULL). */
enum status anonymise_lists(struct anonymise_option *option, struct result_list *a,
			    struct result_list *b, struct error *err);
/* The names in limits that come from a file of their own. */
void anonymise_learn_limits(const struct anonymise_option *option, const struct limits *limits);
void anonymise_verdicts(const struct anonymise_option *option, struct verdicts *verdicts);
void anonymise_option_release(struct anonymise_option *option);

#endif
