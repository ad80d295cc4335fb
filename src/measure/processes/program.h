/*
 * A program of the user's: started without a shell in a process group of its own, its output
 * collected, and ended with everything that it has started when its time is over, when the user
 * stops the run, and when the process that started it dies.
 */
#ifndef GPUPROOF_MEASURE_PROCESSES_PROGRAM_H
#define GPUPROOF_MEASURE_PROCESSES_PROGRAM_H

#include <signal.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/text.h"

struct program {
	char *const *arguments;   /* NULL-terminated; a first one without '/' is found in PATH */
	char *const *environment; /* the whole of it; NULL-terminated */
	const char *directory;    /* to start it in; the first argument is taken from there */
	double timeout_seconds;
	const volatile sig_atomic_t *stop; /* set: end it; NULL: never */
	size_t most_output;                /* bytes to keep of each stream */
};

struct program_stream {
	struct text kept; /* from the beginning */
	size_t bytes;     /* that were written */
};

/* How it ended. */
struct program_end {
	int wait_status; /* as from waitpid() */
	bool timed_out;
	double seconds; /* from its start to its end, on the host's clock */
	struct program_stream output, errors;
};

/* Ends what runs when this process dies, even by SIGKILL; one for any number of programs. */
struct program_guard;
enum status program_guard_open(struct program_guard **out, struct error *err);
void program_guard_close(struct program_guard *guard); /* NULL is allowed */

/*
 * Runs it to its end; `end` is released by the caller in any case. STATUS_IO: it cannot be started.
 * STATUS_INTERRUPTED: it was ended because of `stop`. A program that fails or is too slow is
 * STATUS_OK, with the way it ended in `end`.
 */
enum status program_run(const struct program *program, struct program_guard *guard,
			struct program_end *end, struct error *err);
void program_end_release(struct program_end *end);

#endif
