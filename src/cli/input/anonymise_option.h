/* --anonymise and --anonymise-key of the commands that publish. */
#ifndef GPUPROOF_CLI_INPUT_ANONYMISE_OPTION_H
#define GPUPROOF_CLI_INPUT_ANONYMISE_OPTION_H

#include <stdbool.h>

#include "cli/input/result_list.h"
#include "cli/options.h"
#include "result/anonymise/anonymise.h"

struct anonymise_option {
	bool wanted;
	const char *key_file;          /* NULL: a random key; else it is wanted as well */
	struct anonymiser *anonymiser; /* NULL: not wanted, nothing below does anything */
};

/*
 * Rows for the table of a command whose arguments are struct ARGUMENTS, with `struct
 * anonymise_option anonymise` in it.
 */
#define ANONYMISE_OPTIONS(ARGUMENTS)                                                              \
	{ .name = "anonymise",                                                                    \
	  FLAG_AT(ARGUMENTS, anonymise.wanted),                                                   \
	  .help = "hosts, UUIDs, serials, PCI addresses, labels, titles, and the names of own "   \
		  "configs and limits become words like host-1f6c0b22d9e4; messages that quote "  \
		  "another program or hold a path, an address or a user are left out" },          \
	{                                                                                         \
		.name = "anonymise-key", TEXT_AT(ARGUMENTS, anonymise.key_file), .value = "FILE", \
		.file = OPTION_FILE_READ,                                                         \
		.help = "the same words every time, for those who hold the file (16 bytes or "    \
			"more); without it the key is random and thrown away"                     \
	}

/* Makes the anonymiser and rewrites the results, with their judgements. */
enum status anonymise_list(struct anonymise_option *option, struct result_list *results,
			   struct error *err);
void anonymise_option_release(struct anonymise_option *option);

#endif
