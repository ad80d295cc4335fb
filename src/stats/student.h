/* Student's t distribution: tail probabilities and quantiles, for any degrees of freedom > 0. */
#ifndef GPUPROOF_STATS_STUDENT_H
#define GPUPROOF_STATS_STUDENT_H

/*
 * P(|T| >= t), accurate to about 1e-12: regularised incomplete beta function by its continued
 * fraction (NIST Digital Library of Mathematical Functions 8.17.22).
 */
double student_probability(double t, double freedom);

/* The t with P(T <= t) = `probability`, above 0.5, accurate to about 1e-10. */
double student_quantile(double probability, double freedom);

#endif
