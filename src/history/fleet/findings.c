/*
 * Courses of nodes and devices in their cohorts, night by night: dates findings by them, applies
 * decisions, and formats them.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/stats.h"
#include "base/text.h"
#include "history/change_odds.h"
#include "history/change_points.h"
#include "history/fleet/fleet.h"
#include "history/trend.h"

#define INTERVAL 1.96
#define MEDIAN_EFFICIENCY 1.2533 /* ratio of the standard errors of median and mean, normal data */
#define MOST_NAMED 8             /* number of nodes that an error message lists */
#define MOST_DATED 64            /* limit of dated findings; each needs all nights of its cohort */

/* One night of one member of a cohort. */
struct fleet_reading {
	int64_t day;
	size_t group; /* 0: of the subject */
	double level;
	double away; /* distance from the member's level */
};

static int fleet_findings_reading_by_day_and_group(const void *a, const void *b)
{
	const struct fleet_reading *p = a, *q = b;

	if (p->day != q->day)
		return p->day < q->day ? -1 : 1;
	return (p->group > q->group) - (p->group < q->group);
}

/*
 * All nights of a cohort by day and group. `groups`: of each member; SIZE_MAX: leave out. The
 * caller frees the array; returns their number.
 */
static size_t fleet_findings_readings(const struct fleet *f, const struct fleet_cohort *c,
				      const size_t *groups, struct fleet_reading **out)
{
	const struct fleet_member *members = &f->members[c->first];
	size_t n = 0, count = 0;

	for (size_t i = 0; i < c->count; i++)
		n += members[i].count;
	*out = xcalloc(n + 1, sizeof(**out));
	for (size_t i = 0; i < c->count; i++)
		for (size_t k = 0; groups[i] != SIZE_MAX && k < members[i].count; k++) {
			const struct fleet_night *night = &members[i].nights[k];
			double level = (double)night->level;

			(*out)[count++] = (struct fleet_reading){ f->nights.items[night->night].day,
								  groups[i], level,
								  level - members[i].level };
		}
	qsort(*out, count, sizeof(**out), fleet_findings_reading_by_day_and_group);
	return count;
}

/*
 * Daily values of the subject without the common course of its cohort: median over its members,
 * minus the cohort's median distance of the day from each level. Lower is worse. Returns the number
 * of days.
 */
static size_t fleet_findings_course_of(const struct fleet *f, const struct fleet_finding *x,
				       double **logs, int64_t **days)
{
	const struct fleet_cohort *c = &f->cohorts[x->cohort];
	size_t *groups = xcalloc(c->count + 1, sizeof(*groups)), n, count = 0, end;
	struct fleet_reading *readings;
	double *away, *own;

	for (size_t i = 0; i < c->count; i++) {
		const struct fleet_member *m = &f->members[c->first + i];
		bool is = x->kind == FLEET_SLOT   ? strcmp(m->devices, x->slot) == 0
			  : x->kind == FLEET_HOST ? m->host == x->host
						  : m == &f->members[x->member];

		groups[i] = !m->recent ? SIZE_MAX : !is;
	}
	n = fleet_findings_readings(f, c, groups, &readings);
	away = xcalloc(n + 1, sizeof(*away));
	own = xcalloc(n + 1, sizeof(*own));
	*logs = xcalloc(n + 1, sizeof(**logs));
	*days = xcalloc(n + 1, sizeof(**days));
	for (size_t i = 0; i < n; i = end) {
		size_t owned = 0;

		for (end = i; end < n && readings[end].day == readings[i].day; end++) {
			away[end - i] = readings[end].away;
			if (!readings[end].group)
				own[owned++] = readings[end].level;
		}
		if (!owned)
			continue;
		(*days)[count] = readings[i].day;
		(*logs)[count++] = median_of(own, owned) - median_of(away, end - i);
	}
	free(groups);
	free(readings);
	free(away);
	free(own);
	return count;
}

/* Day of the last regression that has not recovered; else its first night. */
static void fleet_findings_since(struct fleet_finding *x, const double *logs, const int64_t *days,
				 size_t n)
{
	size_t *points = xcalloc(n / CHANGE_MIN_SEGMENT + 2, sizeof(*points)), count = 0;
	double *odds = xcalloc(n / CHANGE_MIN_SEGMENT + 2, sizeof(*odds));

	x->since = n ? days[0] : 0;
	x->dated = n >= TREND_LEAST_NIGHTS;
	x->always = true;
	if (x->dated) {
		count = change_points(logs, n, points);
		count = change_odds_keep(logs, n, &rho_weights_flat, TREND_ODDS, points, count,
					 odds);
		count = change_points_confirmed(logs, n, points, count);
	}
	for (size_t i = count; i-- > 0;) {
		size_t begin = i ? points[i - 1] : 0, end = i + 1 < count ? points[i + 1] : n;
		double before = median_of(logs + begin, points[i] - begin);
		double after = median_of(logs + points[i], end - points[i]);

		if (after > before)
			continue;
		x->since = days[points[i]];
		x->always = false;
		break;
	}
	free(points);
	free(odds);
}

static int fleet_findings_by_weight(const void *left, const void *right)
{
	const struct fleet_finding *a = left, *b = right;
	if (!a->decision != !b->decision)
		return a->decision ? 1 : -1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->deficit != b->deficit)
		return a->deficit > b->deficit ? -1 : 1;
	return (a->member > b->member) - (a->member < b->member);
}

void fleet_findings(struct fleet *f)
{
	if (f->finding_count)
		qsort(f->findings, f->finding_count, sizeof(*f->findings),
		      fleet_findings_by_weight);
	for (size_t i = 0; i < f->finding_count && i < MOST_DATED; i++) {
		struct fleet_finding *x = &f->findings[i];
		const struct fleet_member *m = &f->members[x->member];
		struct triage_subject subject = {
			.series = x->kind == FLEET_DEVICE ? m->series->id : 0,
			.host = x->kind == FLEET_SLOT ? "" : f->hosts[x->host].name,
			.machine = x->kind == FLEET_DEVICE ? m->series->machine : NULL,
			.case_id = m->series->case_id,
			.metric = m->series->metric,
			.today = f->last_day
		};
		int64_t *days;
		double *logs;

		subject.count = fleet_findings_course_of(f, x, &logs, &days);
		fleet_findings_since(x, logs, days, subject.count);
		subject.days = days;
		subject.since = x->since;
		x->decision = triage_decision(&f->notes, &subject);
		free(logs);
		free(days);
	}
	if (f->finding_count)
		qsort(f->findings, f->finding_count, sizeof(*f->findings),
		      fleet_findings_by_weight);
	f->open = 0;
	for (size_t i = 0; i < f->finding_count; i++)
		f->open += !f->findings[i].decision;
}

double fleet_findings_percent(double deficit)
{
	return -expm1(-deficit);
}

char *fleet_findings_member_words(const struct fleet *f, const struct fleet_member *m)
{
	const struct history_place *p = history_place(&f->places, m->series->machine);
	struct text out = TEXT_EMPTY;

	text_addf(&out, "%s %s", f->hosts[m->host].name, m->devices);
	if (!p || m->device == SIZE_MAX)
		return text_detach(&out);
	if (*p->slot)
		text_addf(&out, ", %s", p->slot);
	if (*p->serial)
		text_addf(&out, ", serial %s", p->serial);
	text_addf(&out, " (%s)", p->machine);
	if (*p->host_before)
		text_addf(&out, ", previously in %s", p->host_before);
	return text_detach(&out);
}

char *fleet_findings_subject_words(const struct fleet *f, const struct fleet_finding *x)
{
	if (x->kind == FLEET_SLOT)
		return xasprintf("slot %s on most nodes", x->slot);
	if (x->kind == FLEET_DEVICE)
		return fleet_findings_member_words(f, &f->members[x->member]);
	return xasprintf("%s, the node (%zu devices)", f->hosts[x->host].name,
			 f->hosts[x->host].devices);
}

/* "since 2026-11-18", "since its first run, 2026-11-01" */
static char *fleet_findings_since_words(const struct fleet_finding *x)
{
	char day[16];

	history_date(x->since, day);
	if (!x->dated)
		return xasprintf("since %s or earlier (too few days to find the date)", day);
	return xasprintf(x->always ? "since the first run, %s" : "since %s", day);
}

char *fleet_finding_words(const struct fleet *f, const struct fleet_finding *x)
{
	static const char *const others[] = { [FLEET_HOST] = "the other nodes",
					      [FLEET_DEVICE] = "the other devices",
					      [FLEET_SLOT] = "the other slots of their nodes" };
	const struct history_series *s = f->members[x->member].series;
	char *since = fleet_findings_since_words(x), *decision = NULL, *more, *out;

	if (x->decision)
		decision = triage_words(x->decision);
	more = x->cohorts > 1 ? xasprintf(", and in %zu more metric%s", x->cohorts - 1,
					  x->cohorts == 2 ? "" : "s")
			      : xstrdup("");
	out = xasprintf("%.1f %% (±%.1f) worse than %s in %s %s (allowed %.1f %%)%s; %s%s%s",
			100 * fleet_findings_percent(x->deficit), 100 * x->half, others[x->kind],
			s->point, s->metric, 100 * fleet_findings_percent(x->allowed), more, since,
			decision ? "; " : "", decision ? decision : "");
	free(since);
	free(decision);
	free(more);
	return out;
}

static double fleet_findings_weight_of(const struct fleet_member *m)
{
	return m->deficit / m->allowed;
}

size_t fleet_findings_worst(const struct fleet *f, size_t members[FLEET_WORST])
{
	size_t *worst = xcalloc(f->device_count + 1, sizeof(*worst)), count = 0;

	/* 1 + index of the worst member of each device. */
	for (size_t i = 0; i < f->member_count; i++) {
		const struct fleet_member *m = &f->members[i];

		if (m->device == SIZE_MAX || isnan(m->allowed))
			continue;
		if (!worst[m->device] ||
		    fleet_findings_weight_of(m) >
			    fleet_findings_weight_of(&f->members[worst[m->device] - 1]))
			worst[m->device] = i + 1;
	}
	for (size_t d = 0; d < f->device_count; d++) {
		size_t at = count;

		if (!worst[d])
			continue;
		while (at && fleet_findings_weight_of(&f->members[worst[d] - 1]) >
				     fleet_findings_weight_of(&f->members[members[at - 1]]))
			at--;
		if (at == FLEET_WORST)
			continue;
		count += count < FLEET_WORST;
		memmove(members + at + 1, members + at, (count - at - 1) * sizeof(*members));
		members[at] = worst[d] - 1;
	}
	free(worst);
	return count;
}

char *fleet_findings_kinds_words(const struct fleet *f, const struct fleet_cohort *c)
{
	const struct history_series *s = f->members[c->first].series;
	const struct kind *low = c->kinds.items, *high = low;

	if (!c->kinds_of_hosts)
		return NULL;
	high += c->kinds.count - 1;
	return xasprintf("%s %s, %s: nodes form %zu groups, %.1f %% apart. %zu of %zu devices are "
			 "in the lowest group; that alone makes no device a suspect",
			 s->point, s->metric, s->model, c->kinds.count,
			 100 * fleet_findings_percent(high->center - low->center), low->count,
			 c->count);
}

static bool fleet_findings_course_is_of(const struct fleet_subject *s, const struct fleet_member *m)
{
	return s->machine ? strcmp(m->series->machine, s->machine) == 0 : m->host == s->host;
}

/*
 * `own`: number of readings that belong to the subject and come first. `room`: scratch for 2 `n`
 * values.
 */
static struct course_night fleet_findings_course_night_of(const struct fleet_cohort *c,
							  const struct fleet_reading *readings,
							  size_t n, size_t own, double *room)
{
	struct course_night out = { .day = readings[0].day,
				    .own = NAN,
				    .others = NAN,
				    .low = NAN,
				    .high = NAN,
				    .half = NAN };
	double *values = room, *others = room + n;
	size_t count, end;

	for (size_t i = 0; i < own; i++)
		values[i] = readings[i].level;
	if (own)
		out.own = median_of(values, own);
	/* Medians per group; `readings + own` are of one night. */
	count = 0;
	for (size_t i = 0; i < (n - own); i = end) {
		for (end = i;
		     end < (n - own) && (readings + own)[end].group == (readings + own)[i].group;
		     end++)
			values[end - i] = (readings + own)[end].level;
		others[count++] = median_of(values, end - i);
	}
	out.count = count;
	if (!out.count)
		return out;
	qsort(others, out.count, sizeof(*others), compare_doubles);
	out.others = median_of_sorted(others, out.count);
	out.low = quantile(others, out.count, 0.1);
	out.high = quantile(others, out.count, 0.9);
	/* Two values do not show how much they vary. */
	if (own && c->night_deviation > 0 && out.count >= 3)
		out.half = INTERVAL * MEDIAN_EFFICIENCY *
			   root_sum_square(robust_deviation(others, out.count, out.others) /
						   sqrt((double)out.count),
					   c->night_deviation / sqrt((double)own));
	return out;
}

/*
 * Level over the last nights: their noise averages out, the variation between the others does not.
 */
static void fleet_findings_course_level(const struct fleet *f, const struct fleet_cohort *c,
					struct course *x)
{
	double *away = xcalloc(x->count + 1, sizeof(*away));
	double *half = xcalloc(x->count + 1, sizeof(*half));
	double night = INTERVAL * MEDIAN_EFFICIENCY * c->night_deviation;
	size_t n = 0;

	for (size_t i = 0; i < x->count; i++) {
		const struct course_night *k = &x->nights[i];

		if (k->day < f->first_day || isnan(k->own) || isnan(k->others))
			continue;
		away[n] = k->own - k->others;
		half[n++] = k->half;
	}
	x->recent = n;
	x->away = n ? median_of(away, n) : (double)NAN;
	x->half = n ? median_of(half, n) : (double)NAN;
	if (n && isfinite(x->half)) {
		double one = night / sqrt((double)x->devices), all = one / sqrt((double)n);
		double others = x->half * x->half - one * one;

		x->half = root_sum_square(sqrt(fmax(others, 0)), all);
	}
	free(away);
	free(half);
}

static void fleet_findings_course_follow_subject(const struct fleet *f, size_t cohort,
						 const struct fleet_subject *s, struct course *x)
{
	const struct fleet_cohort *c = &f->cohorts[cohort];
	size_t *groups = xcalloc(c->count + 1, sizeof(*groups)), n, end;
	struct fleet_reading *readings;
	double *room;

	/* The others: nodes, or single members for a device. */
	for (size_t i = 0; i < c->count; i++) {
		const struct fleet_member *m = &f->members[c->first + i];

		groups[i] = fleet_findings_course_is_of(s, m) ? 0 : 1 + (s->machine ? i : m->host);
	}
	n = fleet_findings_readings(f, c, groups, &readings);
	room = xcalloc(2 * n + 1, sizeof(*room));
	x->nights = xcalloc(n + 1, sizeof(*x->nights));
	for (size_t i = 0; i < n; i = end) {
		size_t own = 0;

		for (end = i; end < n && readings[end].day == readings[i].day; end++)
			own += readings[end].group == 0;
		x->nights[x->count++] =
			fleet_findings_course_night_of(c, readings + i, end - i, own, room);
	}
	fleet_findings_course_level(f, c, x);
	free(groups);
	free(readings);
	free(room);
}

static int fleet_findings_course_worst_first(const void *left, const void *right)
{
	const struct course *a = left, *b = right;

	if (isnan(a->away) != isnan(b->away))
		return isnan(a->away) ? 1 : -1;
	if (a->away != b->away && !isnan(a->away))
		return a->away < b->away ? -1 : 1;
	return (a->cohort > b->cohort) - (a->cohort < b->cohort);
}

size_t fleet_findings_courses(const struct fleet *f, const struct fleet_subject *s,
			      struct course **out)
{
	size_t count = 0;

	*out = xcalloc(f->cohort_count + 1, sizeof(**out));
	for (size_t c = 0; c < f->cohort_count; c++) {
		struct course x = { .cohort = c };

		for (size_t i = f->cohorts[c].first; i < f->cohorts[c].first + f->cohorts[c].count;
		     i++)
			x.devices += fleet_findings_course_is_of(s, &f->members[i]);
		if (!x.devices)
			continue;
		/* The same GPU in several places counts once. */
		x.devices = s->machine ? 1 : x.devices;
		fleet_findings_course_follow_subject(f, c, s, &x);
		(*out)[count++] = x;
	}
	if (count)
		qsort(*out, count, sizeof(**out), fleet_findings_course_worst_first);
	return count;
}

void fleet_findings_courses_release(struct course *courses, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(courses[i].nights);
	free(courses);
}

double fleet_findings_course_value(const struct history_series *s, double level)
{
	return exp(s->better == BETTER_HIGHER ? level : -level);
}

char *fleet_findings_course_words(const struct fleet *f, const struct fleet_subject *s,
				  const struct course *x)
{
	const char *other = s->machine ? "device" : "node";
	char half[64] = "no interval, because there are too few days or devices", *out;
	size_t others = 0;

	for (size_t i = 0; i < x->count; i++)
		if (x->nights[i].day >= f->first_day && x->nights[i].count > others)
			others = x->nights[i].count;
	if (!x->recent)
		return xasprintf("not compared: no other %s has recent values of the same cases",
				 other);
	if (isfinite(x->half))
		snprintf(half, sizeof(half), "±%.2f", 100 * x->half);
	out = xasprintf("%.2f %% (%s) %s than the median of %zu other %s%s, in the last %zu "
			"day%s",
			100 * fabs(fleet_findings_percent(-x->away)), half,
			x->away < 0 ? "worse" : "better", others, other, others == 1 ? "" : "s",
			x->recent, x->recent == 1 ? "" : "s");
	return out;
}

enum status fleet_find_subject(const struct fleet *f, const char *name, struct fleet_subject *out,
			       struct error *err)
{
	const struct history_place *place = history_place_named(&f->places, name);
	struct text known = TEXT_EMPTY;

	*out = (struct fleet_subject){ .machine = place ? place->machine : NULL };
	while (out->host < f->host_count &&
	       strcmp(f->hosts[out->host].name, place ? place->host : name) != 0)
		out->host++;
	/* The machine of a CPU is its node. */
	if (place && strcmp(place->machine, place->host) == 0)
		out->machine = NULL;
	if (out->host < f->host_count)
		return STATUS_OK;
	for (size_t i = 0; i < f->host_count && i < MOST_NAMED; i++)
		text_addf(&known, "%s%s", i ? ", " : "", f->hosts[i].name);
	if (f->host_count > MOST_NAMED)
		text_addf(&known, " and %zu more", f->host_count - MOST_NAMED);
	error_set(err, STATUS_USAGE,
		  "%.80s: the history has no node, serial number, UUID or place (HOST/cuda:3) "
		  "of this name; nodes: %s",
		  name, known.data ? known.data : "none");
	text_release(&known);
	return err->status;
}

char *fleet_findings_subject_name(const struct fleet *f, const struct fleet_subject *s)
{
	const struct fleet_host *h = &f->hosts[s->host];

	if (s->machine)
		return history_machine_words(&f->places, s->machine);
	return xasprintf("%s, %zu device%s%s%s", *h->name ? h->name : "(no name)", h->devices,
			 h->devices == 1 ? "" : "s", *h->tags ? ", " : "", h->tags);
}

bool fleet_finding_is_about(const struct fleet *f, const struct fleet_finding *x,
			    const struct fleet_subject *s)
{
	if (s->machine)
		return x->kind == FLEET_DEVICE &&
		       strcmp(f->members[x->member].series->machine, s->machine) == 0;
	return x->kind != FLEET_SLOT && x->host == s->host;
}
