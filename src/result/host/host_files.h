/*
 * Reads host information from /proc, /sys and /etc. `root` is the prefix of every path: "" in
 * production, a folder in tests.
 */
#ifndef GPUPROOF_RESULT_HOST_HOST_FILES_H
#define GPUPROOF_RESULT_HOST_HOST_FILES_H

#include <stdbool.h>
#include <stddef.h>

bool host_files_has(const char *root, const char *path);

/* First line of a file without its line break; false if there is none. */
bool host_files_first_line(const char *root, const char *path, char *out, int size);

/*
 * Value of the first line "KEY<separator>VALUE" of a file, without quotes; "" if there is none.
 * Ignores the padding of keys in /proc.
 */
void host_files_value(const char *root, const char *path, const char *key, char separator,
		      char *out, size_t size);

/*
 * Calls `visit` (may be NULL) for each path that matches a glob pattern, including root; returns
 * their number.
 */
size_t host_files_matches(const char *root, const char *pattern,
			  void (*visit)(void *state, const char *path), void *state);

#endif
