/*
 * The delivery page: the machines of a delivery, each with its verdict, its GPUs by serial number,
 * and room for a signature. Rejected machines come first, then inconclusive, then accepted ones.
 */
#ifndef GPUPROOF_REPORT_ACCEPTANCE_DELIVERY_H
#define GPUPROOF_REPORT_ACCEPTANCE_DELIVERY_H

#include "report/page/report.h"
#include "result/verdict.h"

struct delivery; /* owns the contents of the page */

struct delivery *delivery_new(void);
/*
 * Adds a machine with its finished verdicts, which are copied; `path`: of its result, for people.
 */
void delivery_add(struct delivery *delivery, const struct result *result, const char *path,
		  const struct verdicts *verdicts);
/* Writes the page into options->output. */
enum status delivery_write(struct delivery *delivery, const struct report_options *options,
			   struct error *err);
void delivery_free(struct delivery *delivery); /* may be NULL */

#endif
