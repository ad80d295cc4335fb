/*
 * Child processes: the probe and the ranks of a worker. They are forked without exec and end with
 * child_exit().
 */
#ifndef GPUPROOF_MEASURE_PROCESSES_CHILD_H
#define GPUPROOF_MEASURE_PROCESSES_CHILD_H

#include <stdnoreturn.h>
#include <sys/types.h>

#include "base/error.h"

/*
 * Forks. The child (return value 0) dies with its parent, ignores Ctrl-C, has no input, and
 * redirects output of libraries to `output`. Returns the pid in the parent, -1 on failure.
 */
pid_t child_fork(int output, struct error *err);
/* Exits the child without the exit handlers of the parent. */
noreturn void child_exit(int code);

/* Waits up to `seconds` for `pid`. Returns true if it ended; *wait_status as from waitpid(). */
int child_wait(pid_t pid, double seconds, int *wait_status);

/*
 * Writes "killed by signal 11 (Segmentation fault)" or "exited with code 3" to `out`; returns
 * `out`.
 */
char *child_ending(int wait_status, char *out, size_t size);

/*
 * Writes the last lines in the file `output` after offset `from`, joined with " | ", to `out`: at
 * most size - 1 bytes, "" if there are none. Returns `out`.
 */
char *child_last_words(int output, off_t from, char *out, size_t size);

#endif
