/* Verification of one start: how it ended, what it has written. */
#ifndef GPUPROOF_SUITES_COMMAND_EXPECT_H
#define GPUPROOF_SUITES_COMMAND_EXPECT_H

#include <time.h>

#include "suites/command/start.h"

/* Now, on the clock of files. */
struct timespec expect_time(void);
/*
 * Holds a start that began at `began` against what its section expects. STATUS_MISMATCH: its exit
 * code or what it has written is another one; STATUS_IO: it was ended by a signal or for its time.
 */
enum status expect_end(const struct starts *s, const struct program_end *end, struct timespec began,
		       struct error *err);

#endif
