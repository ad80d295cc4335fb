/* Writes whole files, atomically. */
#ifndef GPUPROOF_BASE_FILE_H
#define GPUPROOF_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes all of `bytes`, handling short writes and interruptions. False: see errno. */
bool file_write_all(int fd, const void *bytes, size_t count);

/*
 * Writes `length` bytes to `path` so that a reader sees either the old file or the complete new
 * one: temporary file in the same folder, fsync, rename. After a failure the old file is intact. A
 * symbolic link stays a link; anything but a regular file (/dev/stdout, a pipe) is written to
 * directly.
 */
enum status file_write(const char *path, const char *data, size_t length, struct error *err);

/*
 * As file_write(), for an output named by the user: STATUS_USAGE if this command reads that file
 * (base/input.h).
 */
enum status file_publish(const char *path, const char *data, size_t length, struct error *err);

/* As file_write(), in pieces, for content that need not be in memory as a whole. */
struct file_output {
	int fd;
	char *path;      /* path of the file */
	char *temporary; /* NULL: writes directly to the existing target */
	bool synced;     /* fsync before the rename */
	struct error failure;
};

enum status file_output_open(struct file_output *output, const char *path, struct error *err);
/* After a failure nothing more is written. */
void file_output_add(struct file_output *output, const char *data, size_t length);
/* Returns the first failure; the old file is then intact. Call only for an opened output. */
enum status file_output_close(struct file_output *output, struct error *err);

/*
 * As file_write() without fsync, for files that are soon replaced again: one may be empty after a
 * power failure.
 */
enum status file_replace(const char *path, const char *data, size_t length, struct error *err);

/*
 * Call after failing to lock `path`: true if errno says that its file system has no locks, for this
 * file or at all. Prints a note once per process; the caller continues without a lock.
 */
bool file_has_no_locks(const char *path);

#ifdef __cplusplus
}
#endif

#endif
