#include "measure/telemetry/energy_meter.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "measure/processes/world.h"
#include "measure/telemetry/poller.h"

/*
 * For devices with power readings only (before Volta). NVML states +/- 5 %
 * (nvmlDeviceGetPowerUsage). A reading is a mean over some time: it may include power before the
 * window, or be late at its end.
 */
#define POWER_INTERVAL_SECONDS 0.02
#define POWER_ACCURACY 0.05
/*
 * A counter updated every 0.1 s is polled for its updates: a single reading may miss up to one
 * update at either end of a window. A counter with more than WATCHED_UPDATES_SECOND updates per
 * second does not need this.
 */
#define WATCH_INTERVAL_SECONDS 0.005
#define WATCHED_UPDATES_SECOND 50
/* Measured minimum error of windows below SHORT_WINDOW_SECONDS. */
#define SHORT_WINDOW_SECONDS 2
#define SHORT_WINDOW_ERROR 0.035

/* Power of one device; written by the poller thread. */
struct power {
	double sum;
	size_t count;
	double window; /* longest averaging time of a reading, in s */
};

/* An update of a counter, detected between two polls. */
struct update {
	double joules, time;
	double open; /* uncertainty of `time`, in s */
};

/* Updates of one device's counter; written by the poller thread. */
struct updates {
	double joules, looked; /* joules at the latest poll, and its start time */
	double before;         /* joules at the start of the window */
	size_t count;          /* since then */
	struct update first, last, previous;
	/* greatest power between two updates, in W, certain in spite of timing errors */
	double most;
	double longest; /* longest interval between two updates, in s */
};

/* Updates around the end of the window. */
struct ending {
	struct update last, after; /* after.time 0: not seen yet */
	double most;
	size_t count;
};

struct gauge {
	struct device *device;
	bool counts; /* has an energy counter */
	double first, last;
	double error;                    /* relative error of `last` */
	struct telemetry_poller *poller; /* NULL: not needed; its lock guards the members below */
	struct power power;
	struct updates updates;
	struct ending ending;
	struct energy latest;
};

struct energy_meter {
	struct gauge *gauges;
	size_t count;
	double began, ended;
	struct error err; /* first failed reading */
};

/* Contribution of one rank; copied between processes as plain memory. */
struct share {
	struct energy_window window;
	int devices;
	char domain[64]; /* of the counter */
};

static void energy_meter_add_power(void *context, const struct telemetry *t)
{
	struct power *p = context;

	if (isnan(t->power_watts))
		return;
	p->sum += t->power_watts;
	p->count++;
	p->window = fmax(p->window, telemetry_power_window(t));
}

/* True if the updates of its counter are polled. */
static bool energy_meter_is_watched(const struct gauge *g)
{
	return g->counts && g->poller;
}

/* Least power between both updates, in W, given their timing errors. */
static double energy_meter_power_at_least(const struct update *from, const struct update *to)
{
	return (to->joules - from->joules) / (to->time - from->time + from->open + to->open);
}

static void energy_meter_add_update(struct gauge *g, struct update now)
{
	struct updates *u = &g->updates;

	if (u->count > 0) {
		u->most = fmax(u->most, energy_meter_power_at_least(&u->last, &now));
		u->longest = fmax(u->longest, now.time - u->last.time);
	}
	u->previous = u->last;
	u->last = now;
	if (u->count++ == 0)
		u->first = now;
	if (g->ending.count > 0 && !(g->ending.after.time > 0))
		g->ending.after = now;
}

/* Poller thread: checks if the counter has changed since the last poll. */
static void energy_meter_look_for_update(void *context)
{
	struct gauge *g = context;
	struct updates *u = &g->updates;
	struct error ignored = ERROR_NONE;
	double began = clock_seconds(), ended;
	struct energy now;

	if (backend_energy(g->device, &now, &ignored) != STATUS_OK)
		return;
	ended = clock_seconds();
	if (now.joules > u->joules)
		energy_meter_add_update(g, (struct update){ .joules = now.joules,
							    .time = (u->looked + ended) / 2,
							    .open = (ended - u->looked) / 2 });
	u->joules = now.joules;
	u->looked = began;
}

/* `looked`: start time of the reading of `latest`. */
static void energy_meter_watch_counter(struct gauge *g, double looked)
{
	const struct telemetry_poller_options options = {
		.interval_seconds = WATCH_INTERVAL_SECONDS,
		.look = energy_meter_look_for_update,
		.context = g,
	};

	if (g->latest.update_seconds * WATCHED_UPDATES_SECOND < 1)
		return;
	g->updates.joules = g->latest.joules;
	g->updates.looked = looked;
	g->poller = telemetry_poller_open(g->device, &options);
	telemetry_poller_switch(g->poller, true);
}

static void energy_meter_start_power(struct gauge *g)
{
	const struct telemetry_poller_options options = {
		.interval_seconds = POWER_INTERVAL_SECONDS,
		.add = energy_meter_add_power,
		.context = &g->power,
	};
	struct telemetry now;
	struct error ignored = ERROR_NONE;

	if (backend_telemetry_quick(g->device, &now, &ignored) != STATUS_OK ||
	    isnan(now.power_watts))
		return;
	g->poller = telemetry_poller_open(g->device, &options);
	telemetry_poller_switch(g->poller, true);
}

/*
 * Joules of the part of an update within the window, `inside` seconds long. Of the power in the
 * other `outside` seconds it is only known that it is between 0 and `most`.
 */
struct part {
	double low, high;
};

static struct part energy_meter_part_of(double joules, double inside, double outside, double most)
{
	double low = fmax(0, joules - fmax(0, outside) * most);
	double high = fmin(joules, fmax(0, inside) * most);

	return (struct part){ fmin(low, high), fmax(low, high) };
}

/* The bound of energy_meter.h, if updates were seen in and after most of the window. */
static void energy_meter_bound_counter(struct gauge *g, double began, double ended)
{
	const struct update *first = &g->updates.first, *last = &g->ending.last,
			    *after = &g->ending.after;
	double between, most, update = g->latest.update_seconds, low, high, late;
	double inside = first->time - began, begun = first->joules - g->updates.before;
	struct part head, tail;

	if (!(g->ending.count > 0) || !(after->time > 0))
		return;
	between = last->time - first->time;
	if (!(2 * between > ended - began))
		return;
	most = fmax(g->ending.most, (last->joules - first->joules) / between);
	most = fmax(most, energy_meter_power_at_least(last, after));
	most = fmax(most, begun / (fmax(update, inside) + 2 * first->open));
	/* An update of more joules took longer than the longest seen. */
	update = fmax(update, begun / most);
	head = energy_meter_part_of(begun, inside + first->open, update - inside + first->open,
				    most);
	tail = energy_meter_part_of(after->joules - last->joules, ended - last->time + last->open,
				    after->time - ended + after->open, most);
	low = last->joules - first->joules + head.low + tail.low;
	high = last->joules - first->joules + head.high + tail.high;
	g->last = (low + high) / 2;
	/* A poll may be late, and an update later than any seen. */
	late = WATCH_INTERVAL_SECONDS + fmax(0, g->updates.longest - g->latest.update_seconds);
	g->error = (high - low) / (high + low) + late * most / g->last;
	if (ended - began < SHORT_WINDOW_SECONDS)
		g->error = fmax(g->error, SHORT_WINDOW_ERROR);
}

struct energy_meter *energy_meter_begin(struct device *const *devices, size_t count)
{
	struct energy_meter *m = xcalloc(1, sizeof(*m));

	m->gauges = xcalloc(count + 1, sizeof(*m->gauges));
	m->count = count;
	for (size_t i = 0; i < count; i++) {
		struct gauge *g = &m->gauges[i];
		struct error none = ERROR_NONE;

		double looked = clock_seconds();

		g->device = devices[i];
		g->counts = backend_energy(g->device, &g->latest, &none) == STATUS_OK;
		g->first = g->latest.joules;
		if (g->counts)
			energy_meter_watch_counter(g, looked);
		else
			energy_meter_start_power(g);
		if (!g->counts && !g->poller && m->err.status == STATUS_OK)
			m->err = none;
	}
	m->began = m->ended = clock_seconds();
	/* The window excludes the time to open other devices. */
	for (size_t i = 0; i < count; i++) {
		struct gauge *g = &m->gauges[i];

		if (!energy_meter_is_watched(g))
			continue;
		telemetry_poller_lock(g->poller);
		g->updates.before = g->updates.joules;
		g->updates.count = 0;
		g->updates.most = 0;
		telemetry_poller_unlock(g->poller);
	}
	return m;
}

void energy_meter_read(struct energy_meter *m)
{
	double now = clock_seconds();

	for (size_t i = 0; i < m->count; i++) {
		struct gauge *g = &m->gauges[i];
		const struct updates *u = &g->updates;
		bool late;

		if (!energy_meter_is_watched(g))
			continue;
		telemetry_poller_lock(g->poller);
		/* An update after `now` is the first one after the window. */
		late = u->count > 0 && u->last.time > now;
		g->ending = (struct ending){ .last = late ? u->previous : u->last,
					     .count = u->count - late,
					     .most = u->most };
		if (late && g->ending.count > 0)
			g->ending.after = u->last;
		telemetry_poller_unlock(g->poller);
	}
	for (size_t i = 0; i < m->count; i++) {
		struct gauge *g = &m->gauges[i];

		if (g->counts && backend_energy(g->device, &g->latest, &m->err) == STATUS_OK) {
			/* The difference of the counter misses at most one update at either end. */
			g->last = g->latest.joules - g->first;
			g->error = g->latest.update_seconds / (now - m->began);
		} else if (!g->counts && g->poller) {
			const struct power *p = &g->power;
			double seconds = now - m->began;

			telemetry_poller_lock(g->poller);
			g->last = p->count ? p->sum / (double)p->count * seconds : (double)NAN;
			g->error = p->window / seconds + POWER_ACCURACY;
			telemetry_poller_unlock(g->poller);
		}
	}
	m->ended = now;
}

double energy_meter_after_seconds(const struct energy_meter *m)
{
	double longest = 0;

	for (size_t i = 0; i < m->count; i++)
		if (energy_meter_is_watched(&m->gauges[i]))
			longest = fmax(longest, m->gauges[i].latest.update_seconds +
							2 * WATCH_INTERVAL_SECONDS);
	return longest;
}

/* Waits for the first update after the window; a counter that stands still has none. */
static void energy_meter_gauge_wait_for_update(struct energy_meter *m, struct gauge *g)
{
	double deadline = clock_seconds() + 2 * g->latest.update_seconds;
	bool seen = !energy_meter_is_watched(g);

	while (!seen) {
		telemetry_poller_lock(g->poller);
		seen = g->ending.count == 0 || g->ending.after.time > 0 ||
		       clock_seconds() > deadline;
		if (seen)
			energy_meter_bound_counter(g, m->began, m->ended);
		telemetry_poller_unlock(g->poller);
		if (!seen)
			clock_sleep(WATCH_INTERVAL_SECONDS);
	}
}

/* True if an earlier device has the same counter. */
static bool energy_meter_is_shared(const struct energy_meter *m, size_t i)
{
	for (size_t before = 0; before < i; before++)
		if (m->gauges[i].counts && m->gauges[before].counts &&
		    strcmp(m->gauges[before].latest.domain, m->gauges[i].latest.domain) == 0)
			return true;
	return false;
}

static struct share energy_meter_share_of_rank(const struct energy_meter *m)
{
	double unix_offset = clock_unix_seconds() - clock_seconds();
	struct share s = { .window = { .seconds = m->ended - m->began,
				       .counted = true,
				       .began = unix_offset + m->began,
				       .first_update = (double)NAN,
				       .last_update = (double)NAN } };
	struct energy_window *w = &s.window;

	if (m->count > 0 && m->gauges[0].ending.count > 0) {
		w->first_update = unix_offset + fmax(m->began, m->gauges[0].updates.first.time);
		w->last_update = unix_offset + fmin(m->ended, m->gauges[0].ending.last.time);
	}
	if (m->err.status != STATUS_OK)
		snprintf(w->why, sizeof(w->why), "%.150s", m->err.message);
	else if (!(w->seconds > 0))
		snprintf(w->why, sizeof(w->why), "no measurement lasted long enough");
	for (size_t i = 0; i < m->count && !*w->why; i++) {
		const struct gauge *g = &m->gauges[i];

		if (energy_meter_is_shared(m, i))
			continue;
		w->joules += g->last;
		w->watts += g->last / w->seconds;
		w->error = fmax(w->error, g->error);
		s.devices++;
		w->counted &= g->counts;
		snprintf(s.domain, sizeof(s.domain), "%.50s",
			 g->counts ? g->latest.domain : g->device->info.id);
		snprintf(w->source, sizeof(w->source), "%s",
			 g->counts ? g->latest.source : "power readings every 20 ms");
	}
	if (!*w->why && !(w->joules > 0))
		snprintf(w->why, sizeof(w->why), "%s did not change in %.3g s", w->source,
			 w->seconds);
	return s;
}

static void energy_meter_add_shares(struct energy_window *out, const struct share *all, int ranks)
{
	int devices = all[0].devices;

	*out = all[0].window;
	for (int r = 0; r < ranks; r++) {
		const struct energy_window *w = &all[r].window;
		int before = 0;

		if (*w->why) {
			*out = (struct energy_window){ .joules = (double)NAN,
						       .watts = (double)NAN,
						       .error = (double)NAN,
						       .first_update = (double)NAN,
						       .last_update = (double)NAN };
			snprintf(out->why, sizeof(out->why), "%s", w->why);
			return;
		}
		while (before < r && strcmp(all[before].domain, all[r].domain) != 0)
			before++;
		if (r == 0 || before < r)
			continue; /* the same counter */
		out->joules += w->joules;
		out->watts += w->watts;
		out->seconds = fmax(out->seconds, w->seconds);
		out->error = fmax(out->error, w->error);
		devices += all[r].devices;
		out->counted &= w->counted;
	}
	if (devices > 1)
		snprintf(out->source, sizeof(out->source), "%.70s, %d devices",
			 all[0].window.source, devices);
}

void energy_meter_end(struct energy_meter *m, struct world *world, struct energy_window *out)
{
	int ranks = world ? world->size : 1;
	struct share *all = xcalloc((size_t)ranks, sizeof(*all));
	struct share mine;

	for (size_t i = 0; i < m->count; i++)
		energy_meter_gauge_wait_for_update(m, &m->gauges[i]);
	memset(&mine, 0, sizeof(mine));
	mine = energy_meter_share_of_rank(m);
	all[0] = mine;
	if (ranks > 1)
		world_gather(world, &mine, all, sizeof(mine));
	energy_meter_add_shares(out, all, ranks);
	for (size_t i = 0; i < m->count; i++)
		telemetry_poller_close(m->gauges[i].poller);
	free(m->gauges);
	free(m);
	free(all);
}
