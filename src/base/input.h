/*
 * Reads whole files named by users, with a size limit and a timeout. Reads pipes to their end (such
 * as a shell's <(command)), devices up to the limit.
 */
#ifndef GPUPROOF_BASE_INPUT_H
#define GPUPROOF_BASE_INPUT_H

#include <stddef.h>

#include "base/error.h"
#include "base/text.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Opens `path` for input_read(); -1 and errno on failure. Does not wait for the other end of a
 * pipe.
 */
int input_open(const char *path);

/*
 * Appends the rest of `fd` to `out`. `what` ("config") appears in the message for more than `most`
 * bytes. Rejects a directory, a pipe without a writer, and a device or pipe that sends nothing for
 * INPUT_PATIENCE_SECONDS (except a terminal). Messages do not name the file.
 */
#define INPUT_PATIENCE_SECONDS 10
enum status input_read(int fd, const char *what, size_t most, struct text *out, struct error *err);

/*
 * Prevents a command from overwriting its input. input_open() remembers each file by device and
 * inode; input_note() adds a file that is opened otherwise, or later. Thread-safe.
 */
void input_note(const char *path);
/*
 * Rejects `output` (STATUS_USAGE) if it is a remembered regular file, by that name or through
 * links. NULL, missing files, devices and pipes are no conflict.
 */
enum status input_refuse_output(const char *output, struct error *err);

/* Opens, reads and closes a file; messages begin with `path`. */
enum status input_read_file(const char *path, const char *what, size_t most, struct text *out,
			    struct error *err);

#ifdef __cplusplus
}
#endif

#endif
