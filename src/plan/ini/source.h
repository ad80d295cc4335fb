/* Content of a config: a file, or one embedded in the program. */
#ifndef GPUPROOF_PLAN_INI_SOURCE_H
#define GPUPROOF_PLAN_INI_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Maximum size of a config file in bytes; a larger file is not a config. */
#define SOURCE_MAX_BYTES (4 << 20)

struct ini_source {
	char *name; /* name in messages */
	char *data;
	size_t length;
	bool embedded;
	uint64_t device, inode; /* of the file; 0 if embedded */
};

/*
 * Opens a config. `name`: an embedded config ("quick", or "quick.ini" within another embedded one),
 * else a path relative to the folder of `includer` (NULL: the working directory). A file with the
 * name of an embedded config is reached as ./quick. An include may also name shipped limits:
 * "limits/generic". Sets `source->name` even on errors; messages do not repeat it.
 */
enum status document_read_source_open(struct ini_source *source, const char *name,
				      const struct ini_source *includer, struct error *err);
void document_read_source_close(struct ini_source *source);

#endif
