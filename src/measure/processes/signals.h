/*
 * Signals that the conductor waits for: Ctrl-C, a request to end, a child that died. A pipe becomes
 * readable whenever something came, so that one poll() waits for signals and workers alike. (No
 * signalfd: threads that a library started before us would still take the signal and die of it.)
 */
#ifndef GPUPROOF_MEASURE_PROCESSES_SIGNALS_H
#define GPUPROOF_MEASURE_PROCESSES_SIGNALS_H

#include <stdbool.h>

#include "base/error.h"

/*
 * Catches SIGINT, SIGTERM, SIGHUP and SIGCHLD and ignores SIGPIPE and SIGXFSZ, until signals_end()
 * puts back what was. They nest: a command of several runs catches them in between as well, so that
 * a stop is never lost.
 */
enum status signals_begin(struct error *err);
void signals_end(void);

/*
 * `attended`: the caller waits for signals_fd() and heeds signals_stops(). While not (results and
 * pages are written), the first stop is answered on standard error and a second one ends the
 * process.
 */
void signals_attend(bool attended);

int signals_fd(void); /* for poll(); empty it with signals_drain() */
void signals_drain(void);

/*
 * how often a stop was asked for since signals_begin(); the same signal within a quarter of a
 * second is one
 */
int signals_stops(void);
int signals_last_stop(void); /* SIGINT, SIGTERM, SIGHUP; 0: none */

/*
 * In a forked child: the terminal's Ctrl-C reaches the whole process group, but a worker ends when
 * the conductor says so.
 */
void signals_in_child(void);

#endif
