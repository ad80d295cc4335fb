/* Dates findings of a fleet, applies decisions, and formats them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/stats.h"
#include "base/text.h"
#include "history/change_odds.h"
#include "history/change_points.h"
#include "history/fleet/fleet.h"
#include "history/trend.h"

#define MOST_DATED 64 /* limit of dated findings; each needs all nights of its cohort */

/* One night of one member of a cohort. */
struct finding_reading {
	int64_t day;
	double away; /* distance from the member's level */
	double own;  /* its value if it belongs to the finding's subject; else NaN */
};

static int finding_by_day(const void *a, const void *b)
{
	const struct finding_reading *p = a, *q = b;

	return (p->day > q->day) - (p->day < q->day);
}

static bool finding_is_subject(const struct fleet *f, const struct fleet_finding *x,
			       const struct fleet_member *m)
{
	if (x->kind == FLEET_SLOT)
		return strcmp(m->devices, x->slot) == 0;
	return x->kind == FLEET_HOST ? m->host == x->host : m == &f->members[x->member];
}

static size_t finding_readings(const struct fleet *f, const struct fleet_finding *x,
			       struct finding_reading **out)
{
	const struct fleet_cohort *c = &f->cohorts[x->cohort];
	size_t n = 0, count = 0;

	for (size_t i = c->first; i < c->first + c->count; i++)
		n += f->members[i].count;
	*out = xcalloc(n + 1, sizeof(**out));
	for (size_t i = c->first; i < c->first + c->count; i++) {
		const struct fleet_member *m = &f->members[i];

		for (size_t k = 0; k < m->count && m->recent; k++) {
			double log = (double)m->nights[k].level;

			(*out)[count++] =
				(struct finding_reading){ f->nights.items[m->nights[k].night].day,
							  log - m->level,
							  finding_is_subject(f, x, m) ? log : NAN };
		}
	}
	qsort(*out, count, sizeof(**out), finding_by_day);
	return count;
}

/*
 * Daily values of the subject without the common course of its cohort: median over its members,
 * minus the cohort's median distance of the day from each level. Lower is worse. Returns the number
 * of days.
 */
static size_t finding_course_of(const struct fleet *f, const struct fleet_finding *x, double **logs,
				int64_t **days)
{
	struct finding_reading *readings;
	size_t n = finding_readings(f, x, &readings), count = 0, end;
	double *away = xcalloc(n + 1, sizeof(*away)), *own = xcalloc(n + 1, sizeof(*own));

	*logs = xcalloc(n + 1, sizeof(**logs));
	*days = xcalloc(n + 1, sizeof(**days));
	for (size_t i = 0; i < n; i = end) {
		size_t owned = 0;

		for (end = i; end < n && readings[end].day == readings[i].day; end++) {
			away[end - i] = readings[end].away;
			if (!isnan(readings[end].own))
				own[owned++] = readings[end].own;
		}
		if (!owned)
			continue;
		(*days)[count] = readings[i].day;
		(*logs)[count++] = median_of(own, owned) - median_of(away, end - i);
	}
	free(readings);
	free(away);
	free(own);
	return count;
}

/* Day of the last regression that has not recovered; else its first night. */
static void find_since(struct fleet_finding *x, const double *logs, const int64_t *days, size_t n)
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

static void finding_date(struct fleet *f, struct fleet_finding *x)
{
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

	subject.count = finding_course_of(f, x, &logs, &days);
	find_since(x, logs, days, subject.count);
	subject.days = days;
	subject.since = x->since;
	x->decision = triage_decision(&f->notes, &subject);
	free(logs);
	free(days);
}

static int finding_by_weight(const void *left, const void *right)
{
	const struct fleet_finding *a = left, *b = right;
	double u = a->deficit / a->allowed, v = b->deficit / b->allowed;

	if (!a->decision != !b->decision)
		return a->decision ? 1 : -1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (u != v)
		return u > v ? -1 : 1;
	return (a->member > b->member) - (a->member < b->member);
}

void fleet_findings(struct fleet *f)
{
	if (f->finding_count)
		qsort(f->findings, f->finding_count, sizeof(*f->findings), finding_by_weight);
	for (size_t i = 0; i < f->finding_count && i < MOST_DATED; i++)
		finding_date(f, &f->findings[i]);
	if (f->finding_count)
		qsort(f->findings, f->finding_count, sizeof(*f->findings), finding_by_weight);
	f->open = 0;
	for (size_t i = 0; i < f->finding_count; i++)
		f->open += !f->findings[i].decision;
}

double fleet_percent(double deficit)
{
	return -expm1(-deficit);
}

static void finding_add_device(const struct fleet *f, const struct fleet_member *m,
			       struct text *out)
{
	const struct history_place *p = history_place(&f->places, m->series->machine);

	text_addf(out, "%s %s", f->hosts[m->host].name, m->devices);
	if (!p || m->device == SIZE_MAX)
		return;
	if (*p->slot)
		text_addf(out, ", %s", p->slot);
	if (*p->serial)
		text_addf(out, ", serial %s", p->serial);
	text_addf(out, " (%s)", p->machine);
	if (*p->host_before)
		text_addf(out, ", previously in %s", p->host_before);
}

char *fleet_member_words(const struct fleet *f, const struct fleet_member *m)
{
	struct text out = TEXT_EMPTY;

	finding_add_device(f, m, &out);
	return text_detach(&out);
}

char *fleet_subject_words(const struct fleet *f, const struct fleet_finding *x)
{
	struct text out = TEXT_EMPTY;

	if (x->kind == FLEET_SLOT)
		text_addf(&out, "slot %s of most nodes", x->slot);
	else if (x->kind == FLEET_DEVICE)
		finding_add_device(f, &f->members[x->member], &out);
	else
		text_addf(&out, "%s, the node (%zu devices)", f->hosts[x->host].name,
			  f->hosts[x->host].devices);
	return text_detach(&out);
}

char *fleet_since_words(const struct fleet_finding *x)
{
	char day[16];

	history_date(x->since, day);
	if (!x->dated)
		return xasprintf("since %s or earlier: too few nights to date it", day);
	return xasprintf(x->always ? "since its first night, %s" : "since %s", day);
}

char *fleet_finding_words(const struct fleet *f, const struct fleet_finding *x)
{
	static const char *const others[] = { [FLEET_HOST] = "the other nodes",
					      [FLEET_DEVICE] = "the others",
					      [FLEET_SLOT] = "the other slots of their nodes" };
	const struct history_series *s = f->members[x->member].series;
	char *since = fleet_since_words(x), *decision = NULL, *out;

	if (x->decision)
		decision = triage_words(x->decision);
	out = xasprintf("%.1f %% (±%.1f) worse than %s in %s %s (allowed %.1f %%)%s; %s%s%s",
			100 * fleet_percent(x->deficit), 100 * x->half, others[x->kind], s->point,
			s->metric, 100 * fleet_percent(x->allowed),
			x->cohorts > 1 ? ", and in others" : "", since, decision ? "; " : "",
			decision ? decision : "");
	free(since);
	free(decision);
	return out;
}

static double finding_weight_of(const struct fleet_member *m)
{
	return m->deficit / m->allowed;
}

size_t fleet_worst(const struct fleet *f, size_t members[FLEET_WORST])
{
	size_t *worst = xcalloc(f->device_count + 1, sizeof(*worst)), count = 0;

	/* 1 + index of the worst member of each device. */
	for (size_t i = 0; i < f->member_count; i++) {
		const struct fleet_member *m = &f->members[i];

		if (m->device == SIZE_MAX || isnan(m->allowed))
			continue;
		if (!worst[m->device] ||
		    finding_weight_of(m) > finding_weight_of(&f->members[worst[m->device] - 1]))
			worst[m->device] = i + 1;
	}
	for (size_t d = 0; d < f->device_count; d++) {
		size_t at = count;

		if (!worst[d])
			continue;
		while (at && finding_weight_of(&f->members[worst[d] - 1]) >
				     finding_weight_of(&f->members[members[at - 1]]))
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

char *fleet_kinds_words(const struct fleet *f, const struct fleet_cohort *c)
{
	const struct history_series *s = f->members[c->first].series;
	const struct kind *low = c->kinds.items, *high = low;

	if (!c->kinds_of_hosts)
		return NULL;
	high += c->kinds.count - 1;
	return xasprintf("%s %s, %s: nodes form %zu groups, %.1f %% apart; %zu of %zu devices "
			 "are in the lowest group, and none is a suspect for that",
			 s->point, s->metric, s->model, c->kinds.count,
			 100 * fleet_percent(high->center - low->center), low->count, c->count);
}
