/* Verification of one start: its exit code and its output. */
#ifndef GPUPROOF_SUITES_COMMAND_EXPECT_H
#define GPUPROOF_SUITES_COMMAND_EXPECT_H

#include <time.h>

#include "suites/command/start.h"

/* Current time on the clock of the file system. */
struct timespec expect_time(void);
/*
 * Verifies a start that began at `began` against the expectations of its section. STATUS_MISMATCH:
 * another exit code or output; STATUS_IO: killed by a signal or a timeout.
 */
enum status expect_end(const struct starts *s, const struct program_end *end, struct timespec began,
		       struct error *err);

#endif
