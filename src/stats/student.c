#include "stats/student.h"

#include <math.h>
#include <stddef.h>

#define TERMS 300
#define PRECISE 1e-15
#define TINY 1e-300

/* Lentz's method keeps denominators away from zero. */
static double stats_student_off_zero(double x)
{
	return fabs(x) < TINY ? TINY : x;
}

/* Continued fraction of the incomplete beta function; converges fast for x < (a+1)/(a+b+2). */
static double stats_student_beta_fraction(double x, double a, double b)
{
	double c = 1, d = 1 / stats_student_off_zero(1 - (a + b) * x / (a + 1)), product = d;

	for (int m = 1; m <= TERMS; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));

		d = 1 / stats_student_off_zero(1 + even * d);
		c = stats_student_off_zero(1 + even / c);
		product *= d * c;
		d = 1 / stats_student_off_zero(1 + odd * d);
		c = stats_student_off_zero(1 + odd / c);
		product *= d * c;
		if (fabs(d * c - 1) < PRECISE)
			break;
	}
	return product;
}

double student_probability(double t, double freedom)
{
	/* The incomplete beta function. */
	double x = freedom / (freedom + t * t), a = freedom / 2, b = 0.5, front;

	if (!(x > 0))
		return 0;
	if (!(x < 1))
		return 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	return x < (a + 1) / (a + b + 2) ? front * stats_student_beta_fraction(x, a, b) / a
					 : 1 - front * stats_student_beta_fraction(1 - x, b, a) / b;
}

static double student_search(double probability, double freedom)
{
	double tail = 2 * (1 - probability), low = 0, high = 1;

	while (student_probability(high, freedom) > tail && high < 1e15)
		high *= 2;
	while (high - low > 1e-11 * high) {
		double middle = (low + high) / 2;

		if (student_probability(middle, freedom) > tail)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

/* Cache: thousands of metrics need the same two quantiles. */
#define RECENT 4

double student_quantile(double probability, double freedom)
{
	static _Thread_local struct {
		double probability, freedom, quantile;
	} recent[RECENT];
	static _Thread_local size_t next;

	for (size_t i = 0; i < RECENT; i++)
		if (recent[i].probability == probability && recent[i].freedom == freedom &&
		    freedom > 0)
			return recent[i].quantile;
	next = (next + 1) % RECENT;
	recent[next].probability = probability;
	recent[next].freedom = freedom;
	recent[next].quantile = student_search(probability, freedom);
	return recent[next].quantile;
}
