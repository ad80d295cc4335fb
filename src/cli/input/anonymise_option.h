/* Options --anonymise and --anonymise-key of the commands that publish results. */
#ifndef GPUPROOF_CLI_INPUT_ANONYMISE_OPTION_H
#define GPUPROOF_CLI_INPUT_ANONYMISE_OPTION_H

#include <stdbool.h>

#include "cli/input/result_list.h"
#include "cli/options.h"
#include "result/anonymise/anonymise.h"

struct anonymise_option {
	bool wanted;
	const char *key_file; /* NULL: a random key; a key file implies --anonymise */
};

/*
 * Rows for the option table of a command whose arguments are struct ARGUMENTS, with a member
 * `struct anonymise_option anonymise`.
 */
#define ANONYMISE_OPTIONS(ARGUMENTS)                                                              \
	{ .name = "anonymise",                                                                    \
	  FLAG_AT(ARGUMENTS, anonymise.wanted),                                                   \
	  .help = "replace hosts, UUIDs, serials, PCI addresses, labels, titles, and names "      \
		  "of your configs and limits by pseudonyms such as host-1f6c0b22d9e4; omit "     \
		  "reasons, notes and other sentences" },                                         \
	{                                                                                         \
		.name = "anonymise-key", TEXT_AT(ARGUMENTS, anonymise.key_file), .value = "FILE", \
		.file = OPTION_FILE_READ,                                                         \
		.help = "use the key in FILE (16 bytes or more), so that pseudonyms are the "     \
			"same every time; without it the key is random and not stored"            \
	}

static inline bool anonymise_wanted(const struct anonymise_option *option)
{
	return option->wanted || option->key_file;
}

/* Anonymises the results and their judgements if requested. */
enum status anonymise_list(const struct anonymise_option *option, struct result_list *results,
			   struct error *err);

#endif
