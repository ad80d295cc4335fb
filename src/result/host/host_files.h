/*
 * Reading what /proc, /sys and /etc say about the host. `root` is the prefix of every path: "" in
 * production, a folder in tests.
 */
#ifndef GPUPROOF_RESULT_HOST_HOST_FILES_H
#define GPUPROOF_RESULT_HOST_HOST_FILES_H

#include <stdbool.h>
#include <stddef.h>

bool host_has(const char *root, const char *path);

/* The first line of a file without its line break; false when there is none. */
bool host_first_line(const char *root, const char *path, char *out, int size);

/*
 * The value of the first line "KEY<separator>VALUE" of a file, quotes taken off; "" when there is
 * none. Keys are compared without the blanks that /proc pads them with.
 */
void host_value(const char *root, const char *path, const char *key, char separator, char *out,
		size_t size);

/*
 * Calls `visit` (may be NULL) for each path, root included, that matches a glob pattern; returns
 * how many there were.
 */
size_t host_matches(const char *root, const char *pattern,
		    void (*visit)(void *state, const char *path), void *state);

#endif
