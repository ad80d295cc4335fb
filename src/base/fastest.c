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
/*
 * Without rest: how long a turn is, the part of it that does not count, and how far behind the best a candidate gives up.
 * An H200 takes 40 ms to meet its power limit with another load, and another 30 to settle.
 */
#define TURN_SECONDS 0.11
#define GETTING_USED_SECONDS 0.05
#define BEHIND 1.03
/* The part of the time for the brief look, and how long one lasts. */
#define LOOK_SHARE 0.6
#define LOOK_SECONDS 0.001
/* Without rest: the part for loading, the work before the first look, and how long one lasts. */
#define LOAD_SHARE 0.15
#define WARM_UP_SECONDS 0.08
#define LOOK_SECONDS_SUSTAINED 0.004

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

/* Each once, in the order given: what is left infinitely slow is no candidate. */
static enum status load_all(struct contest *c, double end, struct fastest *out, struct error *err)
{
	for (size_t i = 0; i < c->count && (out->tried == 0 || clock_seconds() < end); i++) {
		if (look(c, i, 0, &c->seconds[i], err) != STATUS_OK)
			return err->status;
		out->tried += isfinite(c->seconds[i]);
	}
	return STATUS_OK;
}

/*
 * Loading a candidate is a rest of some milliseconds, and a rest changes the clock: so all are loaded before any is looked
 * at, and then the device is put to work.
 */
static enum status look_under_load(struct contest *c, double seconds, struct fastest *out,
				   struct error *err)
{
	double begin = clock_seconds(), ignored;
	bool warm = false;

	if (load_all(c, begin + LOAD_SHARE * seconds, out, err) != STATUS_OK)
		return err->status;
	for (size_t i = 0; i < c->count; i++) {
		if (!isfinite(c->seconds[i]))
			continue;
		if (!warm && look(c, i, WARM_UP_SECONDS, &ignored, err) != STATUS_OK)
			return err->status;
		warm = true;
		if (look(c, i, LOOK_SECONDS_SUSTAINED, &c->seconds[i], err) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

static enum status look_at_all(struct contest *c, double seconds, struct fastest *out,
			       struct error *err)
{
	double stop = clock_seconds() + LOOK_SHARE * seconds;

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

/* The fastest ones so far, at most `most`, the first usable one in front. */
static size_t choose_finalists(const struct contest *c, size_t finalists[FINALISTS], size_t most)
{
	double limit = CLOSE * c->seconds[best_of(c->seconds, c->count)];
	size_t count = 1, first = 0;

	while (!isfinite(c->seconds[first]))
		first++;
	finalists[0] = first;
	for (double above = 0; count < most;) {
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

static enum status play_rested(struct contest *c, struct fastest *out, struct error *err)
{
	size_t finalists[FINALISTS], count = choose_finalists(c, finalists, FINALISTS);
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
	out->first = finalists[0];
	out->seconds = medians[best];
	out->first_seconds = medians[0];
	return STATUS_OK;
}

/* Of the finals without rest. */
struct finalist {
	size_t candidate;
	double sum; /* of its turns */
	unsigned turns;
	bool out;
};

static double mean_of(const struct finalist *f)
{
	return f->sum / f->turns;
}

static enum status take_turn(struct contest *c, struct finalist *f, struct error *err)
{
	double each;

	if (look(c, f->candidate, GETTING_USED_SECONDS, &each, err) != STATUS_OK ||
	    look(c, f->candidate, TURN_SECONDS - GETTING_USED_SECONDS, &each, err) != STATUS_OK)
		return err->status;
	f->sum += each;
	f->turns++;
	return STATUS_OK;
}

static const struct finalist *leader_of(const struct finalist *finalists, size_t count)
{
	const struct finalist *leader = &finalists[0];

	for (size_t i = 1; i < count; i++)
		if (!finalists[i].out && mean_of(&finalists[i]) < mean_of(leader))
			leader = &finalists[i];
	return leader;
}

/* Whether others are left than the first one, which goes on in any case: for comparison under the same conditions. */
static bool drop_those_behind(struct finalist *finalists, size_t count)
{
	double limit = BEHIND * mean_of(leader_of(finalists, count));
	bool left = false;

	for (size_t i = 1; i < count; i++) {
		finalists[i].out |= mean_of(&finalists[i]) > limit;
		left |= !finalists[i].out;
	}
	return left;
}

/* As many as leave half of the time for second turns. */
static size_t finalists_within(double seconds)
{
	double most = seconds / (1.5 * TURN_SECONDS);

	return most < 2 ? 2 : most < FINALISTS ? (size_t)most : FINALISTS;
}

/* Rounds go forth and back, so that what comes and goes slowly meets all alike. */
static enum status play_sustained(struct contest *c, struct fastest *out, struct error *err)
{
	size_t chosen[FINALISTS];
	size_t count = choose_finalists(c, chosen, finalists_within(c->end - clock_seconds()));
	struct finalist finalists[FINALISTS] = { 0 };
	const struct finalist *leader;
	bool left = true;

	for (size_t i = 0; i < count; i++)
		finalists[i].candidate = chosen[i];
	for (int round = 0; left && (round == 0 || clock_seconds() < c->end); round++) {
		for (size_t k = 0; k < count; k++) {
			struct finalist *f = &finalists[round % 2 ? count - 1 - k : k];

			if (!f->out && take_turn(c, f, err) != STATUS_OK)
				return err->status;
		}
		left = drop_those_behind(finalists, count);
	}
	leader = leader_of(finalists, count);
	out->best = leader->candidate;
	out->first = chosen[0];
	out->seconds = mean_of(leader);
	out->first_seconds = mean_of(&finalists[0]);
	return STATUS_OK;
}

enum status fastest_of(size_t count, const struct fastest_rules *rules, fastest_fn *run,
		       void *context, struct fastest *out, struct error *err)
{
	struct contest c = { run, context, count, xcalloc(count ? count : 1, sizeof(double)),
			     clock_seconds() + rules->seconds };
	enum status status;

	*out = (struct fastest){ 0 };
	for (size_t i = 0; i < count; i++)
		c.seconds[i] = INFINITY;
	status = rules->sustained ? look_under_load(&c, rules->seconds, out, err)
				  : look_at_all(&c, rules->seconds, out, err);
	if (status == STATUS_OK && out->tried == 0)
		status = error_set(err, STATUS_UNSUPPORTED, "none of %zu candidates can be used",
				   count);
	if (status == STATUS_OK)
		status =
			rules->sustained ? play_sustained(&c, out, err) : play_rested(&c, out, err);
	free(c.seconds);
	return status;
}
