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
 * Power without a counter (before Volta). NVML says +/- 5 % of it (nvmlDeviceGetPowerUsage). A
 * reading is a mean over some time: what began before the window, or has not arrived at its end.
 */
#define POWER_INTERVAL_SECONDS 0.02
#define POWER_WINDOW_UNKNOWN 1.0
#define POWER_ACCURACY 0.05

/* Power of one device; written by the poller's thread. */
struct power {
	double sum;
	size_t count;
	double window; /* the longest that a reading is a mean of, in s */
};

struct gauge {
	struct device *device;
	bool counts; /* it has a counter */
	double first, last;
	double power_window;             /* of the readings up to `last` */
	struct telemetry_poller *poller; /* without a counter; its lock guards `power` */
	struct power power;
	struct energy latest;
};

struct energy_meter {
	struct gauge *gauges;
	size_t count;
	double began, ended;
	struct error err; /* the first reading that failed */
};

/* One rank's share; copied between processes as it is. */
struct share {
	double joules, watts, seconds, error;
	int devices;
	bool counted;
	char domain[64], source[64], why[160];
};

void energy_window_unknown(struct energy_window *w, const char *why)
{
	*w = (struct energy_window){ .joules = (double)NAN,
				     .watts = (double)NAN,
				     .error = (double)NAN };
	snprintf(w->why, sizeof(w->why), "%s", why);
}

static void add_power(void *context, const struct telemetry *t)
{
	struct power *p = context;

	if (isnan(t->power_watts))
		return;
	p->sum += t->power_watts;
	p->count++;
	p->window = fmax(p->window, t->power_window_seconds > 0 ? t->power_window_seconds
								: POWER_WINDOW_UNKNOWN);
}

static void start_power(struct gauge *g)
{
	const struct telemetry_poller_options options = {
		.interval_seconds = POWER_INTERVAL_SECONDS,
		.add = add_power,
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

/* Joules of a device without a counter, `seconds` after the beginning. */
static double power_joules(struct gauge *g, double seconds)
{
	double joules;

	telemetry_poller_lock(g->poller);
	joules = g->power.count ? g->power.sum / (double)g->power.count * seconds : (double)NAN;
	g->power_window = g->power.window;
	telemetry_poller_unlock(g->poller);
	return joules;
}

struct energy_meter *energy_meter_begin(struct device *const *devices, size_t count)
{
	struct energy_meter *m = xcalloc(1, sizeof(*m));

	m->gauges = xcalloc(count + 1, sizeof(*m->gauges));
	m->count = count;
	for (size_t i = 0; i < count; i++) {
		struct gauge *g = &m->gauges[i];
		struct error none = ERROR_NONE;

		g->device = devices[i];
		g->counts = backend_energy(g->device, &g->latest, &none) == STATUS_OK;
		g->first = g->latest.joules;
		if (!g->counts)
			start_power(g);
		if (!g->counts && !g->poller && m->err.status == STATUS_OK)
			m->err = none;
	}
	m->began = m->ended = clock_seconds();
	return m;
}

void energy_meter_read(struct energy_meter *m)
{
	double now = clock_seconds();

	for (size_t i = 0; i < m->count; i++) {
		struct gauge *g = &m->gauges[i];

		if (g->counts && backend_energy(g->device, &g->latest, &m->err) == STATUS_OK)
			g->last = g->latest.joules - g->first;
		else if (g->poller)
			g->last = power_joules(g, now - m->began);
	}
	m->ended = now;
}

/* True if a device before it has the same counter. */
static bool is_shared(const struct energy_meter *m, size_t i)
{
	for (size_t before = 0; before < i; before++)
		if (m->gauges[i].counts && m->gauges[before].counts &&
		    strcmp(m->gauges[before].latest.domain, m->gauges[i].latest.domain) == 0)
			return true;
	return false;
}

static void add_gauge(struct share *s, const struct gauge *g)
{
	double update = g->counts ? g->latest.update_seconds : g->power_window;

	s->joules += g->last;
	s->watts += g->last / s->seconds;
	s->error = fmax(s->error, update / s->seconds + (g->counts ? 0 : POWER_ACCURACY));
	s->devices++;
	s->counted &= g->counts;
	snprintf(s->domain, sizeof(s->domain), "%.50s",
		 g->counts ? g->latest.domain : g->device->info.id);
	snprintf(s->source, sizeof(s->source), "%s",
		 g->counts ? g->latest.source : "power read every 20 ms");
}

static struct share share_of(const struct energy_meter *m)
{
	struct share s = { .seconds = m->ended - m->began, .counted = true };

	if (m->err.status != STATUS_OK)
		snprintf(s.why, sizeof(s.why), "%.150s", m->err.message);
	else if (!(s.seconds > 0))
		snprintf(s.why, sizeof(s.why), "nothing was measured long enough");
	for (size_t i = 0; i < m->count && !*s.why; i++)
		if (!is_shared(m, i))
			add_gauge(&s, &m->gauges[i]);
	if (!*s.why && !(s.joules > 0))
		snprintf(s.why, sizeof(s.why), "%s did not change in %.3g s", s.source, s.seconds);
	return s;
}

static bool known_before(const struct share *all, int rank)
{
	for (int r = 0; r < rank; r++)
		if (strcmp(all[r].domain, all[rank].domain) == 0)
			return true;
	return false;
}

static void add_shares(struct energy_window *out, const struct share *all, int ranks)
{
	int devices = 0;

	*out = (struct energy_window){ .counted = true };
	for (int r = 0; r < ranks; r++) {
		if (*all[r].why) {
			energy_window_unknown(out, all[r].why);
			return;
		}
		if (known_before(all, r))
			continue;
		out->joules += all[r].joules;
		out->watts += all[r].watts;
		out->seconds = fmax(out->seconds, all[r].seconds);
		out->error = fmax(out->error, all[r].error);
		devices += all[r].devices;
		out->counted &= all[r].counted;
	}
	snprintf(out->source, sizeof(out->source), "%s", all[0].source);
	if (devices > 1)
		snprintf(out->source, sizeof(out->source), "%s, %d devices", all[0].source,
			 devices);
}

void energy_meter_end(struct energy_meter *m, struct world *world, struct energy_window *out)
{
	int ranks = world ? world->size : 1;
	struct share *all = xcalloc((size_t)ranks, sizeof(*all));
	struct share mine;

	memset(&mine, 0, sizeof(mine));
	mine = share_of(m);
	all[0] = mine;
	if (ranks > 1)
		world_gather(world, &mine, all, sizeof(mine));
	add_shares(out, all, ranks);
	for (size_t i = 0; i < m->count; i++)
		telemetry_poller_close(m->gauges[i].poller);
	free(m->gauges);
	free(m);
	free(all);
}
