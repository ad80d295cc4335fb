/* Declarations shared by the parts of the anonymiser. Private to them. */
#ifndef GPUPROOF_RESULT_ANONYMISE_ANONYMISE_PARTS_H
#define GPUPROOF_RESULT_ANONYMISE_ANONYMISE_PARTS_H

#include <stdbool.h>

#include "result/anonymise/anonymise.h"

/* "host-1f6c0b22d9e4" for some bytes. The caller frees it. */
char *pseudonym(const struct anonymiser *anonymiser, const char *kind, const char *bytes,
		size_t length);

/* "quick", "quick.ini", "limits/h200.ini": shipped with the program, so it identifies nothing. */
bool anonymise_shipped(const char *name);

/* "nightly.ini:12" where a shipped config is meant. */
bool anonymise_shipped_place(const char *origin);

/* Keys whose values users think up: labels, titles, origins. */
bool anonymise_is_free_text(const char *key);
/* "4711", "10.1.2.3": a name of digits and dots, which cannot be distinguished from a number inside other text. */
bool anonymise_is_number(const char *text);
/* `text`, a config, with such numbers replaced where its keys say that they are names. The caller frees it. */
char *anonymise_config_numbers(const struct anonymiser *anonymiser, const char *text);

bool anonymise_in_word(char c);
/*
 * The length and kind of identifying text, recognised by its form, at `at` within `text`: UUIDs, PCI, IP and hardware
 * addresses, servers of file systems, paths. 0: nothing.
 */
size_t anonymise_identifier(const char *text, const char *at, const char **kind);

/* The command line of a run: options, numbers, devices and shipped names stay. The caller frees it. */
char *anonymise_command(const struct anonymiser *anonymiser, const char *command);

#endif
