/*
 * Reads whole files named by users: with a size limit, and without waiting for ever. Pipes are read
 * to their end (a shell's <(command) is one), devices up to the limit.
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
 * Appends the rest of `fd` to `out`. `what` ("config") is used in the message for more than `most`
 * bytes. Also refused: a directory; a pipe without a writer, or a device or a pipe that has given
 * nothing for INPUT_PATIENCE_SECONDS (a terminal may take its time). Messages do not name the file.
 */
#define INPUT_PATIENCE_SECONDS 10
enum status input_read(int fd, const char *what, size_t most, struct text *out, struct error *err);

/*
 * A command must not write over what it reads. input_open() remembers each file, by device and
 * inode; input_note() adds a file that is opened otherwise, or later. Threads may call both.
 */
void input_note(const char *path);
/*
 * Refuses `output` (STATUS_USAGE) where it is a regular file that is remembered, by that name or
 * through links. NULL and files that are not there are no conflict; nor are devices and pipes.
 */
enum status input_refuse_output(const char *output, struct error *err);

/* Both, and closes it; messages begin with `path`. */
enum status input_read_file(const char *path, const char *what, size_t most, struct text *out,
			    struct error *err);

#ifdef __cplusplus
}
#endif

#endif
