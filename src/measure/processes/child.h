/*
 * Child processes: the probe and the ranks of a worker. They are forked, not executed, and end with
 * child_exit().
 */
#ifndef GPUPROOF_MEASURE_PROCESSES_CHILD_H
#define GPUPROOF_MEASURE_PROCESSES_CHILD_H

#include <stdnoreturn.h>
#include <sys/types.h>

#include "base/error.h"

/*
 * Forks. In the child (returns 0): dies when the parent dies, ignores Ctrl-C, reads nothing, and
 * what libraries print goes to `output`. Returns the child's pid in the parent, -1 on failure.
 */
pid_t child_fork(int output, struct error *err);
/* Ends the child without the parent's exit handlers. */
noreturn void child_exit(int code);

/*
 * Waits for `pid` until `seconds` from now have passed. Returns whether it ended; *wait_status as
 * from waitpid().
 */
int child_wait(pid_t pid, double seconds, int *wait_status);

/* "killed by signal 11 (Segmentation fault)", "exited with code 3" into `out`; returns `out`. */
char *child_ending(int wait_status, char *out, size_t size);

/*
 * The last lines of what was written to the file `output` after `from`, joined with " | ", at most
 * size - 1 bytes; "" when there is nothing. Returns `out`.
 */
char *child_last_words(int output, off_t from, char *out, size_t size);

#endif
