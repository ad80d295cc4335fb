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

/* False: unknown program. */
bool monitoring_named(const char *name, enum monitoring *as);

/*
 * Prints the line and returns the exit code. `verdicts` NULL: the check could not be made, and
 * `why` is the reason. With verdicts, `why` is a reason not to accept an accepted result (it is too
 * old); NULL: none.
 */
int monitoring_print(enum monitoring as, const struct verdicts *verdicts, const char *why);

#endif
