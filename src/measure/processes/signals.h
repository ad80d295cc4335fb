/*
 * Signals that the conductor waits for: Ctrl-C, a request to end, an exited child. A self-pipe
 * becomes readable with each signal, so that one poll() waits for signals and workers. (signalfd
 * does not work: threads that a library started earlier would still receive the signal and die.)
 */
#ifndef GPUPROOF_MEASURE_PROCESSES_SIGNALS_H
#define GPUPROOF_MEASURE_PROCESSES_SIGNALS_H

#include <stdbool.h>

#include "base/error.h"

/*
 * Catches SIGINT, SIGTERM, SIGHUP and SIGCHLD and ignores SIGPIPE and SIGXFSZ until signals_end()
 * restores the former handlers. Calls nest: a command with several runs also catches signals
 * between them, so that no stop request is lost.
 */
enum status signals_begin(struct error *err);
void signals_end(void);

/*
 * `attended`: the caller polls signals_fd() and checks signals_stops(). Otherwise (while results
 * and pages are written) the first stop request prints a message on stderr and the second ends the
 * process.
 */
void signals_attend(bool attended);

int signals_fd(void); /* for poll(); empty it with signals_drain() */
void signals_drain(void);

/*
 * number of stop requests since signals_begin(); the same signal within a quarter of a second
 * counts once
 */
int signals_stops(void);
int signals_last_stop(void); /* SIGINT, SIGTERM, SIGHUP; 0: none */

/*
 * Call in a forked child: the terminal sends Ctrl-C to the whole process group, but a worker ends
 * only when the conductor asks.
 */
void signals_in_child(void);

#endif
