/* Files written as a whole. */
#ifndef GPUPROOF_BASE_FILE_H
#define GPUPROOF_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes all of `bytes`, through short writes and interruptions. False: errno says why. */
bool file_write_all(int fd, const void *bytes, size_t count);

/*
 * Writes `length` bytes to `path` so that a reader sees the old file or the whole new one:
 * temporary file in the same folder, fsync, rename. On failure the old file stays. A symbolic link
 * stays one; what is no regular file (/dev/stdout, a pipe) is written into.
 */
enum status file_write(const char *path, const char *data, size_t length, struct error *err);

/*
 * The same for an output that the user named: STATUS_USAGE where this command reads that file
 * (base/input.h).
 */
enum status file_publish(const char *path, const char *data, size_t length, struct error *err);

/* The same in pieces, for what need not be in memory as a whole. */
struct file_output {
	int fd;
	char *path;      /* of the file */
	char *temporary; /* NULL: what is there is written into */
	struct error failure;
};

enum status file_output_open(struct file_output *output, const char *path, struct error *err);
/* After a failure nothing more is written. */
void file_output_add(struct file_output *output, const char *data, size_t length);
/* Says what failed first; on a failure the old file stays. For an output that was opened. */
enum status file_output_close(struct file_output *output, struct error *err);

/*
 * The same without fsync, for what is soon replaced again: after a power cut it may be empty.
 * `path` is no link and no device.
 */
enum status file_replace(const char *path, const char *data, size_t length, struct error *err);

/*
 * For who got no lock on `path`: true if errno says that its file system has no locks, for this
 * file or at all, which is then printed, once per process. The caller continues without.
 */
bool file_has_no_locks(const char *path);

#ifdef __cplusplus
}
#endif

#endif
