/*
 * The model of a transfer: time = alpha + size / beta. alpha is what an empty one would take, beta
 * the bandwidth that large ones approach (Hockney, Parallel Computing 20(3), 1994).
 */
#ifndef GPUPROOF_REPORT_CHART_FIT_H
#define GPUPROOF_REPORT_CHART_FIT_H

#include <stdbool.h>
#include <stddef.h>

struct fit {
	double alpha, beta;             /* s, B/s; alpha is never negative */
	double alpha_error, beta_error; /* standard errors; NaN where alpha is held at 0 */
	double deviation;               /* median of |measured / modelled - 1| */
	double worst, worst_size;       /* the largest of these, and where */
	size_t n;
};

/*
 * Least squares of the relative error, so that microseconds count as much as seconds; points far
 * off the line count less (Huber), as where a library changes its protocol. False where there is
 * nothing to
 * fit: fewer than three finite points with sizes and times above 0, or times that do not grow.
 */
bool fit_transfer(const double *sizes, const double *seconds, size_t n, struct fit *out);

#endif
