/* The bytes of a config: a file, or one compiled into the program. */
#ifndef GPUPROOF_PLAN_INI_SOURCE_H
#define GPUPROOF_PLAN_INI_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Largest config file, in bytes: anything longer is some other file. */
#define SOURCE_MAX_BYTES (4 << 20)

struct ini_source {
	char *name; /* as messages show it */
	char *data;
	size_t length;
	bool embedded;
	uint64_t device, inode; /* of the file; 0 when embedded */
};

/*
 * `name`: an embedded config ("quick", and "quick.ini" from within another embedded one), else a
 * path, taken relative to the folder of `includer` (NULL: the working directory). A file in the
 * working directory that is called like an embedded config is reached as ./quick. An include may
 * also name shipped
 * limits: "limits/generic". `source->name` is
 * set on errors too; messages do not repeat it.
 */
enum status source_open(struct ini_source *source, const char *name,
			const struct ini_source *includer, struct error *err);
void source_close(struct ini_source *source);

#endif
