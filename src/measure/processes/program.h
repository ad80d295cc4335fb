/*
 * Runs a user's program without a shell, in its own process group, and collects its output. Kills
 * the group on timeout, on a stop request, and when the process that started it dies.
 */
#ifndef GPUPROOF_MEASURE_PROCESSES_PROGRAM_H
#define GPUPROOF_MEASURE_PROCESSES_PROGRAM_H

#include <signal.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/text.h"

struct program {
	/* NULL-terminated; a first argument without '/' is searched in PATH */
	char *const *arguments;
	char *const *environment; /* the complete environment; NULL-terminated */
	const char *directory;    /* working directory; the first argument is relative to it */
	double timeout_seconds;
	const volatile sig_atomic_t *stop; /* if set, end the program; NULL: never */
	size_t most_output;                /* bytes kept of each stream */
};

struct program_stream {
	struct text kept; /* first bytes of the output */
	size_t bytes;     /* total bytes written */
};

/* How a program ended. */
struct program_end {
	int wait_status; /* as from waitpid() */
	bool timed_out;
	double seconds; /* run time, host clock */
	struct program_stream output, errors;
};

/*
 * Kills the running program if this process dies, even by SIGKILL; one guard serves any number of
 * programs.
 */
struct program_guard;
enum status program_guard_open(struct program_guard **out, struct error *err);
void program_guard_close(struct program_guard *guard); /* accepts NULL */

/*
 * Runs a program to its end; the caller always releases `end`. STATUS_IO: it cannot be started.
 * STATUS_INTERRUPTED: it was ended because of `stop`. A program that fails or times out is
 * STATUS_OK, with its end in `end`.
 */
enum status program_run(const struct program *program, struct program_guard *guard,
			struct program_end *end, struct error *err);
void program_end_release(struct program_end *end);

#endif
