/*
 * `check --as nagios|npd`: a verdict as the exit code and the one line that a monitoring program
 * reads.
 *
 *	          accepted  with warnings  rejected  no verdict
 *	nagios    0 OK      1 WARNING      2 CRITICAL  3 UNKNOWN   plug-in API of Nagios, Icinga
 *	npd       0 OK      0 OK           1 NonOK     2 Unknown   node-problem-detector
 *
 * No verdict is one that is inconclusive, or a check that could not be made.
 */
#ifndef GPUPROOF_CLI_OUTPUT_MONITORING_H
#define GPUPROOF_CLI_OUTPUT_MONITORING_H

#include "result/verdict.h"

enum monitoring { MONITORING_NONE, MONITORING_NAGIOS, MONITORING_NPD, MONITORING_COUNT };

/* False: there is no program of that name. */
bool monitoring_named(const char *name, enum monitoring *as);

/*
 * Prints the line and returns the code. `verdicts` NULL: the check could not be made; `why` says so
 * then. With verdicts, `why` is the reason that an accepted result counts as none (it is too old);
 * NULL: there is none.
 */
int monitoring_print(enum monitoring as, const struct verdicts *verdicts, const char *why);

#endif
