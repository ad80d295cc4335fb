#include "device/autotune.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/stats.h"

#define FINALISTS 8
#define ROUNDS 3
/* A candidate this much slower in its first trial will not become the fastest. */
#define FINALIST_RATIO 1.15
/*
 * Maximum length of a slice, after a rest of the same length: a sample of a measurement also starts
 * rested.
 */
#define SLICE_SECONDS 0.05
/*
 * Sustained mode: length of a turn, the first part of it that is not counted, and the ratio to the
 * best at which a candidate gives up. An H200 needs 40 ms to meet its power limit with another
 * load, and another 30 to settle.
 */
#define TURN_SECONDS 0.11
#define SETTLE_SECONDS 0.05
#define GIVE_UP_RATIO 1.03
/* Share of the time for first trials, and length of a trial. */
#define TRIAL_SHARE 0.6
#define TRIAL_SECONDS 0.001
/*
 * Sustained mode: share of the time for loading, work before the first trial, and length of a
 * trial.
 */
#define LOAD_SHARE 0.15
#define WARM_UP_SECONDS 0.08
#define TRIAL_SECONDS_SUSTAINED 0.004

struct tuning {
	autotune_fn *run;
	void *context;
	size_t count;
	double *seconds; /* time of each candidate; infinite: not tried, or unusable */
	double end;
	struct error refusal; /* of the last candidate that cannot be used */
};

/* Times one candidate; one that cannot be used keeps an infinite time. */
static enum status autotune_try(struct tuning *c, size_t candidate, double seconds, double *each,
				struct error *err)
{
	struct error own = ERROR_NONE;
	enum status status = c->run(c->context, candidate, seconds, each, &own);

	if (status == STATUS_UNSUPPORTED) {
		*each = INFINITY;
		c->refusal = own;
		return STATUS_OK;
	}
	return status == STATUS_OK ? STATUS_OK : error_set(err, status, "%s", own.message);
}

/*
 * Runs each candidate for `seconds`, in the given order, until `end`; one that stays infinite is
 * not tried again.
 */
static enum status autotune_trial_all(struct tuning *c, double seconds, double end,
				      struct autotune_result *out, struct error *err)
{
	for (size_t i = 0; i < c->count && (out->tried == 0 || clock_seconds() < end); i++) {
		if (autotune_try(c, i, seconds, &c->seconds[i], err) != STATUS_OK)
			return err->status;
		out->tried += isfinite(c->seconds[i]);
	}
	return STATUS_OK;
}

/*
 * Loading a candidate is a rest of some milliseconds, which changes the clock. All are therefore
 * loaded before the first trial, and then the device is put under load.
 */
static enum status autotune_trial_all_under_load(struct tuning *c, double seconds,
						 struct autotune_result *out, struct error *err)
{
	double begin = clock_seconds(), ignored;
	bool warm = false;

	if (autotune_trial_all(c, 0, begin + LOAD_SHARE * seconds, out, err) != STATUS_OK)
		return err->status;
	for (size_t i = 0; i < c->count; i++) {
		if (!isfinite(c->seconds[i]))
			continue;
		if (!warm && autotune_try(c, i, WARM_UP_SECONDS, &ignored, err) != STATUS_OK)
			return err->status;
		warm = true;
		if (autotune_try(c, i, TRIAL_SECONDS_SUSTAINED, &c->seconds[i], err) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

static size_t autotune_best_of(const double *seconds, size_t count)
{
	size_t best = 0;

	for (size_t i = 1; i < count; i++)
		if (seconds[i] < seconds[best])
			best = i;
	return best;
}

/* Selects the fastest so far, at most `most`, after the first usable one. */
static size_t autotune_choose_finalists(const struct tuning *c, size_t finalists[FINALISTS],
					size_t most)
{
	double limit = FINALIST_RATIO * c->seconds[autotune_best_of(c->seconds, c->count)];
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

static enum status autotune_finals_rested(struct tuning *c, struct autotune_result *out,
					  struct error *err)
{
	size_t finalists[FINALISTS], count = autotune_choose_finalists(c, finalists, FINALISTS);
	double times[FINALISTS][ROUNDS], medians[FINALISTS];
	double slice = (c->end - clock_seconds()) / (double)(2 * ROUNDS * count);
	size_t best;

	slice = fmin(fmax(slice, 0), SLICE_SECONDS);
	for (int round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < count; i++) {
			clock_sleep(slice);
			if (autotune_try(c, finalists[i], slice, &times[i][round], err) !=
			    STATUS_OK)
				return err->status;
		}
	}
	for (size_t i = 0; i < count; i++)
		medians[i] = median_of(times[i], ROUNDS);
	best = autotune_best_of(medians, count);
	out->best = finalists[best];
	out->first = finalists[0];
	out->seconds = medians[best];
	out->first_seconds = medians[0];
	return STATUS_OK;
}

/* A finalist in sustained mode. */
struct finalist {
	size_t candidate;
	double sum; /* sum of the times of its turns */
	unsigned turns;
	bool out;
};

static double autotune_mean_of(const struct finalist *f)
{
	return f->sum / f->turns;
}

static const struct finalist *autotune_leader_of(const struct finalist *finalists, size_t count)
{
	const struct finalist *leader = &finalists[0];

	for (size_t i = 1; i < count; i++)
		if (!finalists[i].out && autotune_mean_of(&finalists[i]) < autotune_mean_of(leader))
			leader = &finalists[i];
	return leader;
}

/*
 * Drops slow finalists. True if others than the first are left; the first always continues, for
 * comparison under the same conditions.
 */
static bool autotune_drop_slow(struct finalist *finalists, size_t count)
{
	double limit = GIVE_UP_RATIO * autotune_mean_of(autotune_leader_of(finalists, count));
	bool left = false;

	for (size_t i = 1; i < count; i++) {
		finalists[i].out |= autotune_mean_of(&finalists[i]) > limit;
		left |= !finalists[i].out;
	}
	return left;
}

/* The order of turns alternates, so that slow drift affects all candidates equally. */
static enum status autotune_finals_sustained(struct tuning *c, struct autotune_result *out,
					     struct error *err)
{
	/* A number of finalists that leaves half of the time for second turns. */
	double most = (c->end - clock_seconds()) / (1.5 * TURN_SECONDS), each;
	size_t chosen[FINALISTS],
		count = autotune_choose_finalists(c, chosen,
						  (size_t)fmin(fmax(most, 2), FINALISTS));
	struct finalist finalists[FINALISTS] = { 0 };
	const struct finalist *leader;
	bool left = true;

	for (size_t i = 0; i < count; i++)
		finalists[i].candidate = chosen[i];
	for (int round = 0; left && (round == 0 || clock_seconds() < c->end); round++) {
		for (size_t k = 0; k < count; k++) {
			struct finalist *f = &finalists[round % 2 ? count - 1 - k : k];

			if (f->out)
				continue;
			if (autotune_try(c, f->candidate, SETTLE_SECONDS, &each, err) !=
				    STATUS_OK ||
			    autotune_try(c, f->candidate, TURN_SECONDS - SETTLE_SECONDS, &each,
					 err) != STATUS_OK)
				return err->status;
			f->sum += each;
			f->turns++;
		}
		left = autotune_drop_slow(finalists, count);
	}
	leader = autotune_leader_of(finalists, count);
	out->best = leader->candidate;
	out->first = chosen[0];
	out->seconds = autotune_mean_of(leader);
	out->first_seconds = autotune_mean_of(&finalists[0]);
	return STATUS_OK;
}

enum status autotune(size_t count, const struct autotune_rules *rules, autotune_fn *run,
		     void *context, struct autotune_result *out, struct error *err)
{
	struct tuning c = { run,
			    context,
			    count,
			    xcalloc(count ? count : 1, sizeof(double)),
			    clock_seconds() + rules->seconds,
			    ERROR_NONE };
	enum status status;

	*out = (struct autotune_result){ 0 };
	for (size_t i = 0; i < count; i++)
		c.seconds[i] = INFINITY;
	status = rules->sustained
			 ? autotune_trial_all_under_load(&c, rules->seconds, out, err)
			 : autotune_trial_all(&c, TRIAL_SECONDS,
					      clock_seconds() + TRIAL_SHARE * rules->seconds, out,
					      err);
	if (status == STATUS_OK && out->tried == 0)
		status = error_set(err, STATUS_UNSUPPORTED, "all %zu candidates failed%s%s", count,
				   count > 0 ? "; last error: " : "", c.refusal.message);
	if (status == STATUS_OK)
		status = rules->sustained ? autotune_finals_sustained(&c, out, err)
					  : autotune_finals_rested(&c, out, err);
	free(c.seconds);
	return status;
}
