/* Collects the members of a fleet from a history in one pass over all points. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/stats.h"
#include "base/text.h"
#include "history/fleet/fleet.h"

struct raw {
	uint32_t night;
	int64_t epoch;
	double value;
};

struct night_id {
	int64_t id;
	uint32_t index;
};

#define MOST_PLACES 8 /* number of latest hosts of a device that are tracked */

struct fleet_collecting {
	struct fleet *fleet;
	struct night_id *ids; /* ids of the nights, ascending */
	/* host index of each night; SIZE_MAX: its host measured nothing itself */
	size_t *host_of;
	bool *wanted; /* each night: has the tag */
	size_t at;    /* the series whose points are being read */
	struct raw *raw;
	size_t count, capacity;
};

static int fleet_collect_by_id(const void *a, const void *b)
{
	const struct night_id *p = a, *q = b;

	return (p->id > q->id) - (p->id < q->id);
}

static int fleet_collect_by_night(const void *a, const void *b)
{
	const struct raw *p = a, *q = b;

	return (p->night > q->night) - (p->night < q->night);
}

static int fleet_collect_by_name(const void *a, const void *b)
{
	return strcmp(((const struct fleet_host *)a)->name, ((const struct fleet_host *)b)->name);
}

static size_t fleet_collect_host_index(const struct fleet *f, const char *name)
{
	const struct fleet_host key = { .name = (char *)name };
	const struct fleet_host *found =
		bsearch(&key, f->hosts, f->host_count, sizeof(*f->hosts), fleet_collect_by_name);

	return found ? (size_t)(found - f->hosts) : SIZE_MAX;
}

static int fleet_collect_by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/*
 * Hosts are single-node hosts and the nodes of multi-node runs: the present and past places of
 * machines. The host that only started a multi-node run does not count.
 */
static void fleet_collect_find_hosts(struct fleet *f)
{
	size_t most = f->nights.count + 2 * f->places.count, n = 0;
	const char **names = xcalloc(most + 1, sizeof(*names));

	for (size_t i = 0; i < f->nights.count; i++)
		if (!f->nights.items[i].on_nodes)
			names[n++] = f->nights.items[i].host;
	for (size_t i = 0; i < f->places.count; i++) {
		names[n++] = f->places.items[i].host;
		if (*f->places.items[i].host_before)
			names[n++] = f->places.items[i].host_before;
	}
	qsort(names, n, sizeof(*names), fleet_collect_by_text);
	f->hosts = xcalloc(n + 1, sizeof(*f->hosts));
	for (size_t i = 0; i < n; i++)
		if (!i || strcmp(names[i], names[i - 1]) != 0)
			f->hosts[f->host_count++] = (struct fleet_host){ .name = xstrdup(names[i]),
									 .last_day = INT64_MIN,
									 .tags = xstrdup("") };
	free(names);
}

static void fleet_collect_heard_of(struct fleet_host *host, int64_t day, const char *tags)
{
	if (day < host->last_day)
		return;
	free(host->tags);
	host->tags = xstrdup(tags);
	host->last_day = day;
}

/* Finds day and tags of each host's last night. */
static void fleet_collect_find_last_nights(struct fleet *f)
{
	for (size_t i = 0; i < f->nights.count; i++) {
		const struct history_night *night = &f->nights.items[i];
		size_t host = fleet_collect_host_index(f, night->host);

		if (!night->on_nodes && host != SIZE_MAX)
			fleet_collect_heard_of(&f->hosts[host], night->day, night->tags);
	}
	for (size_t i = 0; i < f->places.count; i++) {
		const struct history_place *p = &f->places.items[i];

		fleet_collect_heard_of(&f->hosts[fleet_collect_host_index(f, p->host)], p->day,
				       p->tags);
	}
}

/* First of the last `count` days that have a night. */
static int64_t fleet_collect_first_of_last(const struct history_nights *nights, size_t count)
{
	int64_t *days = xcalloc(nights->count + 1, sizeof(*days)), first;
	size_t found = 0;

	/* Sorted by start, so by day. */
	for (size_t i = nights->count; i-- > 0 && found < count;)
		if (!found || nights->items[i].day < days[found - 1])
			days[found++] = nights->items[i].day;
	first = found ? days[found - 1] : 0;
	free(days);
	return first;
}

static void fleet_collect_index_nights(struct fleet_collecting *c,
				       const struct history_filter *filter)
{
	struct fleet *f = c->fleet;
	size_t n = f->nights.count;

	fleet_collect_find_hosts(f);
	fleet_collect_find_last_nights(f);
	c->ids = xcalloc(n + 1, sizeof(*c->ids));
	c->host_of = xcalloc(n + 1, sizeof(*c->host_of));
	c->wanted = xcalloc(n + 1, sizeof(*c->wanted));
	for (size_t i = 0; i < n; i++) {
		const struct history_night *night = &f->nights.items[i];

		c->ids[i] = (struct night_id){ night->id, (uint32_t)i };
		c->host_of[i] = fleet_collect_host_index(f, night->host);
		c->wanted[i] = history_has_tag(night->tags, filter->tag);
	}
	qsort(c->ids, n, sizeof(*c->ids), fleet_collect_by_id);
	f->last_day = n ? f->nights.items[n - 1].day : 0;
	f->first_day = fleet_collect_first_of_last(&f->nights,
						   filter->nights ? filter->nights : FLEET_NIGHTS);
	for (size_t h = 0; h < f->host_count; h++) {
		int64_t day = INT64_MIN;

		for (size_t i = f->nights.count; i-- > 0;) {
			int64_t d = f->nights.items[i].day;

			if (d <= f->hosts[h].last_day)
				break;
			f->hosts[h].silent += d != day;
			day = d;
		}
		f->silent_hosts += f->hosts[h].silent >= FLEET_SILENT;
	}
}

static bool fleet_collect_names_node(const struct history_series *s)
{
	const char *devices = strrchr(s->case_id, '@');

	return devices && device_node_length(devices + 1);
}

/*
 * Devices of a case on their host, "cuda:0,cuda:1". In a multi-node run, where the case has
 * "n1/cuda:0,n1/cuda:1", the host is the node. False: the devices are on several hosts.
 */
static bool fleet_collect_place_member(const struct fleet *f, struct fleet_member *m,
				       size_t host_of_night)
{
	const char *devices = strrchr(m->series->case_id, '@'), *next;
	size_t length = devices ? device_node_length(devices + 1) : 0,
	       skip = length ? length + 1 : 0;
	struct text out = TEXT_EMPTY;
	char *name;

	devices = devices ? devices + 1 : "";
	for (next = devices; *next && device_ids_share_node(next, devices);) {
		size_t end = strcspn(next, ",");

		text_addf(&out, "%s%.*s", out.length ? "," : "", (int)(end - skip), next + skip);
		next += end + (next[end] == ',');
	}
	name = xstrndup(devices, length);
	m->host = length ? fleet_collect_host_index(f, name) : host_of_night;
	m->devices = text_detach(&out);
	free(name);
	return !*next && m->host != SIZE_MAX;
}

/*
 * Adds the nights of the series in which its device was on the same host as in `last`. A case of a
 * multi-node run names its node, so the host of the conductor does not matter.
 */
static void fleet_collect_add_member(struct fleet_collecting *c, const struct raw *last, bool moved)
{
	const struct history_series *s = &c->fleet->series[c->at];
	struct fleet *f = c->fleet;
	struct fleet_member m = { .series = s,
				  .device = SIZE_MAX,
				  .allowed = NAN,
				  .epoch = last->epoch,
				  .moved = moved };
	double sign = s->better == BETTER_HIGHER ? 1 : -1;
	bool named = fleet_collect_names_node(s);

	if (!fleet_collect_place_member(f, &m, c->host_of[last->night])) {
		free(m.devices);
		return;
	}
	m.nights = xmalloc(c->count * sizeof(*m.nights));
	for (size_t i = 0; i < c->count; i++)
		if (c->raw[i].epoch == last->epoch &&
		    (named || c->host_of[c->raw[i].night] == c->host_of[last->night]))
			m.nights[m.count++] =
				(struct fleet_night){ c->raw[i].night,
						      (float)(sign * log(c->raw[i].value)) };
	ARRAY_GROW(f->members, f->member_count, f->member_capacity);
	f->members[f->member_count++] = m;
}

/* Completes a series: one member for each host that its device was in. */
static void fleet_collect_finish_series(struct fleet_collecting *c)
{
	size_t hosts[MOST_PLACES], places = 0;
	const struct raw *last;

	if (!c->count)
		return;
	qsort(c->raw, c->count, sizeof(*c->raw), fleet_collect_by_night);
	last = &c->raw[c->count - 1];
	for (size_t i = c->count; i-- > 0 && places < MOST_PLACES;) {
		size_t host = c->host_of[c->raw[i].night], seen = 0;

		while (seen < places && hosts[seen] != host)
			seen++;
		if (seen < places || c->raw[i].epoch != last->epoch)
			continue;
		fleet_collect_add_member(c, &c->raw[i], places > 0);
		hosts[places++] = host;
		if (fleet_collect_names_node(&c->fleet->series[c->at]))
			break;
	}
	c->count = 0;
}

static void fleet_collect_take_point(void *context, int64_t series, int64_t night, int64_t epoch,
				     double value)
{
	struct fleet_collecting *c = context;
	const struct night_id key = { .id = night }, *found;

	if (c->fleet->series[c->at].id != series) {
		fleet_collect_finish_series(c);
		while (c->at + 1 < c->fleet->series_count && c->fleet->series[c->at].id < series)
			c->at++;
	}
	if (c->fleet->series[c->at].id != series || !(value > 0) || !isfinite(value) ||
	    c->fleet->series[c->at].better == BETTER_NONE)
		return;
	found = bsearch(&key, c->ids, c->fleet->nights.count, sizeof(key), fleet_collect_by_id);
	if (!found || !c->wanted[found->index])
		return;
	ARRAY_GROW(c->raw, c->count, c->capacity);
	c->raw[c->count++] = (struct raw){ found->index, epoch, value };
}

static void fleet_collect_take_series(void *context, const struct history_series *s)
{
	struct fleet *f = context;

	ARRAY_GROW(f->series, f->series_count, f->series_capacity);
	f->series[f->series_count++] = (struct history_series){ .id = s->id,
								.metric = xstrdup(s->metric),
								.case_id = xstrdup(s->case_id),
								.section = xstrdup(s->section),
								.point = xstrdup(s->point),
								.model = xstrdup(s->model),
								.machine = xstrdup(s->machine),
								.unit = xstrdup(s->unit),
								.better = s->better };
}

/* Finds devices that are missing in the last nights of their host. */
static void fleet_collect_find_gone(struct fleet *f)
{
	bool *seen = xcalloc(f->nights.count + 1, sizeof(*seen));

	for (size_t i = 0; i < f->places.count; i++) {
		const struct history_place *p = &f->places.items[i];
		size_t host = fleet_collect_host_index(f, p->host), silent = 0;

		if (p->day >= f->hosts[host].last_day)
			continue;
		/* Later nights in which the host measured anything. */
		for (size_t k = 0; k < f->nights.count; k++)
			seen[k] = strcmp(f->nights.items[k].host, p->host) == 0;
		for (const struct fleet_member *m = f->members; m < f->members + f->member_count;
		     m++)
			for (size_t k = 0; m->host == host && k < m->count; k++)
				seen[m->nights[k].night] = true;
		for (size_t k = 0; k < f->nights.count; k++)
			silent += seen[k] && f->nights.items[k].day > p->day;
		if (silent < FLEET_SILENT)
			continue;
		ARRAY_GROW(f->gone, f->gone_count, f->gone_capacity);
		f->gone[f->gone_count++] = (struct fleet_gone){ p, silent };
	}
	free(seen);
}

enum status fleet_collect_read(struct fleet *f, struct store *history,
			       const struct history_filter *filter, struct error *err)
{
	struct fleet_collecting c = { .fleet = f };

	memset(f, 0, sizeof(*f));
	if (store_nights(history, &f->nights, err) == STATUS_OK &&
	    store_nights_places(history, &f->places, err) == STATUS_OK &&
	    store_notes(history, &f->notes, err) == STATUS_OK && f->nights.count) {
		f->notes.places = &f->places;
		fleet_collect_index_nights(&c, filter);
		if (store_series_each_name(history, filter, fleet_collect_take_series, f, err) ==
			    STATUS_OK &&
		    f->series_count &&
		    store_series_each_point(history, filter, fleet_collect_take_point, &c, err) ==
			    STATUS_OK)
			fleet_collect_finish_series(&c);
		fleet_collect_find_gone(f);
		fleet_collect_group(f);
		fleet_collect_levels(f);
		cohort_judge(f);
		fleet_findings(f);
	}
	free(c.ids);
	free(c.host_of);
	free(c.wanted);
	free(c.raw);
	return err->status;
}

void fleet_collect_release(struct fleet *f)
{
	for (size_t i = 0; i < f->series_count; i++) {
		struct history_series *s = &f->series[i];
		char *texts[] = { s->metric, s->case_id, s->section, s->point,
				  s->model,  s->machine, s->unit };

		for (size_t k = 0; k < ARRAY_SIZE(texts); k++)
			free(texts[k]);
	}
	for (size_t i = 0; i < f->member_count; i++) {
		free(f->members[i].nights);
		free(f->members[i].devices);
	}
	for (size_t i = 0; i < f->host_count; i++) {
		free(f->hosts[i].name);
		free(f->hosts[i].tags);
	}
	free(f->series);
	free(f->members);
	free(f->cohorts);
	free(f->hosts);
	free(f->devices);
	free(f->findings);
	free(f->gone);
	history_nights_release(&f->nights);
	history_places_release(&f->places);
	history_notes_release(&f->notes);
	memset(f, 0, sizeof(*f));
}

/* Cases with several devices are compared only with cases of the same devices. */
static const char *fleet_collect_own_devices(const struct fleet_member *m)
{
	return strchr(m->devices, ',') ? m->devices : "";
}

static int fleet_collect_by_cohort(const struct fleet_member *a, const struct fleet_member *b)
{
	int order = strcmp(a->series->point, b->series->point);

	order = order ? order : strcmp(a->series->metric, b->series->metric);
	order = order ? order : strcmp(a->series->model, b->series->model);
	order = order ? order : strcmp(fleet_collect_own_devices(a), fleet_collect_own_devices(b));
	return order ? order : (a->epoch > b->epoch) - (a->epoch < b->epoch);
}

static int fleet_collect_by_cohort_and_host(const void *left, const void *right)
{
	const struct fleet_member *a = left, *b = right;
	int order = fleet_collect_by_cohort(a, b);

	order = order ? order : (a->host > b->host) - (a->host < b->host);
	return order ? order : strcmp(a->devices, b->devices);
}

static int fleet_collect_by_device(const void *left, const void *right)
{
	const struct fleet_member *a = *(struct fleet_member *const *)left;
	const struct fleet_member *b = *(struct fleet_member *const *)right;
	int order = strcmp(a->series->machine, b->series->machine);

	order = order ? order : (a->host > b->host) - (a->host < b->host);
	return order ? order : strcmp(a->devices, b->devices);
}

static void fleet_collect_find_devices(struct fleet *f)
{
	struct fleet_member **members = xcalloc(f->member_count + 1, sizeof(*members));
	size_t count = 0;

	for (size_t i = 0; i < f->member_count; i++)
		if (!strchr(f->members[i].devices, ',') && !f->members[i].moved)
			members[count++] = &f->members[i];
	if (count)
		qsort(members, count, sizeof(*members), fleet_collect_by_device);
	f->devices = xcalloc(count + 1, sizeof(*f->devices));
	for (size_t i = 0; i < count; i++) {
		struct fleet_member *m = members[i];

		if (!i || fleet_collect_by_device(&members[i - 1], &members[i]) != 0) {
			f->devices[f->device_count++] =
				(struct fleet_device){ m->series->machine, m->devices, m->host,
						       false };
			f->hosts[m->host].devices++;
		}
		m->device = f->device_count - 1;
	}
	free(members);
}

void fleet_collect_group(struct fleet *f)
{
	if (f->member_count)
		qsort(f->members, f->member_count, sizeof(*f->members),
		      fleet_collect_by_cohort_and_host);
	f->cohorts = xcalloc(f->member_count + 1, sizeof(*f->cohorts));
	for (size_t i = 0; i < f->member_count; i++) {
		const struct fleet_member *m = &f->members[i];
		struct fleet_cohort *c;

		if (!i || fleet_collect_by_cohort(&m[-1], m) != 0)
			f->cohorts[f->cohort_count++].first = i;
		c = &f->cohorts[f->cohort_count - 1];
		c->hosts += !c->count || m[-1].host != m->host;
		c->count++;
	}
	fleet_collect_find_devices(f);
}

void fleet_collect_levels(struct fleet *f)
{
	double *values = xcalloc(f->nights.count + 1, sizeof(*values));

	for (size_t i = 0; i < f->member_count; i++) {
		struct fleet_member *m = &f->members[i];
		size_t n = 0;

		for (size_t k = 0; k < m->count && !m->moved; k++)
			if (f->nights.items[m->nights[k].night].day >= f->first_day)
				values[n++] = (double)m->nights[k].level;
		m->recent = n;
		m->level = median_of(values, n);
		m->deviation = n < 3 ? (double)NAN : robust_deviation(values, n, m->level);
	}
	free(values);
}
