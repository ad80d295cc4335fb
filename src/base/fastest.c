#include "base/fastest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"

#define FINALISTS 8
#define ROUNDS 3
/* Further off than this in a brief look is not made up for later. */
#define CLOSE 1.15
/* A stretch lasts this long at most, and as much rest goes before it: a sample of a measurement starts rested. */
#define STRETCH_SECONDS 0.05
/* The part of the time for the brief look, and how long one lasts. */
#define LOOK_SHARE 0.6
#define LOOK_SECONDS 0.001

struct contest {
	fastest_fn *run;
	void *context;
	size_t count;
	double *seconds; /* of each candidate; infinite: not tried or not usable */
	double end;
};

/* Times one; a candidate that cannot be used stays infinitely slow. */
static enum status look(struct contest *c, size_t candidate, double seconds, double *each,
			struct error *err)
{
	struct error own = ERROR_NONE;
	enum status status = c->run(c->context, candidate, seconds, each, &own);

	if (status == STATUS_UNSUPPORTED) {
		*each = INFINITY;
		return STATUS_OK;
	}
	return status == STATUS_OK ? STATUS_OK : error_set(err, status, "%s", own.message);
}

static enum status look_at_all(struct contest *c, double seconds, struct fastest *out,
			       struct error *err)
{
	double stop = clock_seconds() + LOOK_SHARE * seconds;

	for (size_t i = 0; i < c->count; i++)
		c->seconds[i] = INFINITY;
	for (size_t i = 0; i < c->count && (out->tried == 0 || clock_seconds() < stop); i++) {
		if (look(c, i, LOOK_SECONDS, &c->seconds[i], err) != STATUS_OK)
			return err->status;
		out->tried += isfinite(c->seconds[i]);
	}
	return STATUS_OK;
}

static size_t best_of(const double *seconds, size_t count)
{
	size_t best = 0;

	for (size_t i = 1; i < count; i++)
		if (seconds[i] < seconds[best])
			best = i;
	return best;
}

/* The fastest ones so far, the first usable one in front. */
static size_t choose_finalists(const struct contest *c, size_t finalists[FINALISTS])
{
	double limit = CLOSE * c->seconds[best_of(c->seconds, c->count)];
	size_t count = 1, first = 0;

	while (!isfinite(c->seconds[first]))
		first++;
	finalists[0] = first;
	for (double above = 0; count < FINALISTS;) {
		size_t next = c->count;

		for (size_t i = first + 1; i < c->count; i++)
			if (c->seconds[i] > above && c->seconds[i] <= limit &&
			    (next == c->count || c->seconds[i] < c->seconds[next]))
				next = i;
		if (next == c->count)
			break;
		above = c->seconds[next];
		finalists[count++] = next;
	}
	return count;
}

static double median_of_rounds(const double *x)
{
	return fmax(fmin(x[0], x[1]), fmin(fmax(x[0], x[1]), x[2]));
}
_Static_assert(ROUNDS == 3, "median_of_rounds");

static enum status play_finals(struct contest *c, struct fastest *out, struct error *err)
{
	size_t finalists[FINALISTS], count = choose_finalists(c, finalists);
	double times[FINALISTS][ROUNDS], medians[FINALISTS];
	double stretch = (c->end - clock_seconds()) / (double)(2 * ROUNDS * count);
	size_t best;

	stretch = fmin(fmax(stretch, 0), STRETCH_SECONDS);
	for (int round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < count; i++) {
			clock_sleep(stretch);
			if (look(c, finalists[i], stretch, &times[i][round], err) != STATUS_OK)
				return err->status;
		}
	}
	for (size_t i = 0; i < count; i++)
		medians[i] = median_of_rounds(times[i]);
	best = best_of(medians, count);
	out->best = finalists[best];
	out->seconds = medians[best];
	out->first_seconds = medians[0];
	return STATUS_OK;
}

enum status fastest_of(size_t count, double seconds, fastest_fn *run, void *context,
		       struct fastest *out, struct error *err)
{
	struct contest c = { run, context, count, xcalloc(count ? count : 1, sizeof(double)),
			     clock_seconds() + seconds };
	enum status status;

	*out = (struct fastest){ 0 };
	status = look_at_all(&c, seconds, out, err);
	if (status == STATUS_OK && out->tried == 0)
		status = error_set(err, STATUS_UNSUPPORTED, "none of %zu candidates can be used",
				   count);
	if (status == STATUS_OK)
		status = play_finals(&c, out, err);
	free(c.seconds);
	return status;
}
