#include "stats/states.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/stats.h"

/* A group without visits behaves like one with this one. */
#define VISITS_ASSUMED 1
#define NIGHTS_ASSUMED 3

/* Two groups of nights; `apart` 0: they are no states. */
struct states {
	double middle, apart;
	size_t below;
};

static struct states states_divide(const double *sorted, size_t n)
{
	double sum = 0, squares = 0, left = 0, most = 0;
	struct states s = { 0 };

	for (size_t i = 0; i < n; i++) {
		sum += sorted[i];
		squares += (sorted[i] - sorted[0]) * (sorted[i] - sorted[0]);
	}
	squares -= (sum - (double)n * sorted[0]) * (sum - (double)n * sorted[0]) / (double)n;
	for (size_t i = 1; i < n; i++) {
		double k = (double)i, rest = (double)(n - i), apart, between;

		left += sorted[i - 1];
		apart = (sum - left) / rest - left / k;
		between = k * rest / (double)n * apart * apart;
		if (between <= most)
			continue;
		most = between;
		s = (struct states){ left / k + apart / 2, apart, i };
	}
	if (s.apart * s.apart * (double)n <= STATES_CLEAR * STATES_CLEAR * (squares - most))
		s.apart = 0;
	return s;
}

static struct states states_find(const double *logs, size_t n, double least, double most)
{
	double *sorted = xmalloc((n + 1) * sizeof(*sorted));
	struct states s = { 0 };

	if (n > 2) {
		memcpy(sorted, logs, n * sizeof(*sorted));
		qsort(sorted, n, sizeof(*sorted), compare_doubles);
		s = states_divide(sorted, n);
	}
	free(sorted);
	if (s.apart <= least || s.apart >= most)
		s.apart = 0;
	return s;
}

/* Visits of `longest` nights at most. */
static struct state_visits states_visits(const double *logs, size_t n, const struct states *s,
					 size_t longest)
{
	struct state_visits visits = { 0 };
	size_t from = 0;

	for (size_t i = 1; i < n && s->apart > 0; i++) {
		if ((logs[i] > s->middle) == (logs[i - 1] > s->middle))
			continue;
		if (from && i - from <= longest) {
			visits.count++;
			visits.nights += (double)(i - from);
		}
		from = i;
	}
	return visits;
}

void state_visits_add(struct state_visits *visits, const double *logs, size_t n, double least,
		      double most)
{
	struct states s = states_find(logs, n, least, most);
	struct state_visits more = states_visits(logs, n, &s, n);

	visits->count += more.count;
	visits->nights += more.nights;
}

size_t state_visit_length(const struct state_visits *visits, double probability)
{
	double ends = (visits->count + VISITS_ASSUMED) / (visits->nights + NIGHTS_ASSUMED);

	return ends < 1 ? (size_t)ceil(log(probability) / log1p(-ends)) : 1;
}

bool states_merge(double *logs, size_t n, double least, double most, size_t longest)
{
	struct states s = states_find(logs, n, least, most);
	bool upper = 2 * s.below < n;

	if (!(states_visits(logs, n, &s, longest).count > 0))
		return false;
	for (size_t i = 0; i < n; i++)
		if ((logs[i] > s.middle) != upper)
			logs[i] += upper ? s.apart : -s.apart;
	return true;
}
