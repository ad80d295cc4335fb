/*
 * A result as a run on GPUs would give, made of formulas: every suite, some devices (links only between the first two), with
 * noisy, skipped, wrong and failing cases. The same call gives the same result.
 */
#ifndef GPUPROOF_TESTS_SAMPLE_REPORT_H
#define GPUPROOF_TESTS_SAMPLE_REPORT_H

#include "result/result.h"

struct sample_options {
	const char *model; /* device name */
	const char *driver;
	int devices;     /* from 1 on */
	double speed;    /* factor on all rates */
	bool healthy;    /* no noisy, skipped, wrong or failing case */
	bool small;      /* three sizes and few samples instead of a full sweep */
	unsigned repeat; /* extra variants of the transfer sweep, for large results */
};

/* Release with result_release(). */
void sample_report(struct result *result, const struct sample_options *options);

#endif
