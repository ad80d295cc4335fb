/* What the parts of the anonymiser share. Private to them. */
#ifndef GPUPROOF_RESULT_ANONYMISE_PARTS_H
#define GPUPROOF_RESULT_ANONYMISE_PARTS_H

#include <stdbool.h>

#include "result/anonymise.h"

/* "host-1f6c0b22d9e4" for some bytes. The caller frees it. */
char *pseudonym(const struct anonymiser *anonymiser, const char *kind, const char *bytes,
		size_t length);

/* "quick", "quick.ini", "limits/h200.ini": shipped with the program, so it tells nothing. */
bool anonymise_shipped(const char *name);

/* The command line of a run: options, numbers, devices and shipped names stay. The caller frees it. */
char *anonymise_command(const struct anonymiser *anonymiser, const char *command);

#endif
