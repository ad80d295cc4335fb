#include "history/fleet/course.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/stats.h"
#include "base/text.h"

#define INTERVAL 1.96
#define MAD_SIGMAS 1.4826
#define MEDIAN_EFFICIENCY 1.2533 /* ratio of the standard errors of median and mean, normal data */
#define MOST_NAMED 8             /* number of nodes that an error message lists */

/* One night of one member. */
struct course_reading {
	int64_t day;
	size_t group; /* 0: the subject; else 1 + host index, or 1 + member index for a device */
	double level;
};

static bool course_is_of(const struct fleet_subject *s, const struct fleet_member *m)
{
	return s->machine ? strcmp(m->series->machine, s->machine) == 0 : m->host == s->host;
}

static int course_by_day_and_group(const void *a, const void *b)
{
	const struct course_reading *p = a, *q = b;

	if (p->day != q->day)
		return p->day < q->day ? -1 : 1;
	return (p->group > q->group) - (p->group < q->group);
}

static size_t course_readings(const struct fleet *f, const struct fleet_cohort *c,
			      const struct fleet_subject *s, struct course_reading **out)
{
	size_t n = 0, count = 0;

	for (size_t i = c->first; i < c->first + c->count; i++)
		n += f->members[i].count;
	*out = xcalloc(n + 1, sizeof(**out));
	for (size_t i = c->first; i < c->first + c->count; i++) {
		const struct fleet_member *m = &f->members[i];
		size_t group = course_is_of(s, m) ? 0 : 1 + (s->machine ? i : m->host);

		for (size_t k = 0; k < m->count; k++)
			(*out)[count++] =
				(struct course_reading){ f->nights.items[m->nights[k].night].day,
							 group, (double)m->nights[k].level };
	}
	qsort(*out, count, sizeof(**out), course_by_day_and_group);
	return count;
}

/* Half-width of the 95 % interval of the median of `n` values; NaN below three. */
static double course_half_of_median(const double *values, size_t n, double median, double *away)
{
	if (n < 3)
		return NAN;
	for (size_t i = 0; i < n; i++)
		away[i] = fabs(values[i] - median);
	return INTERVAL * MEDIAN_EFFICIENCY * MAD_SIGMAS * median_of(away, n) / sqrt((double)n);
}

/*
 * `own`: number of readings that belong to the subject and come first. `room`: scratch for 2 `n`
 * values.
 */
static struct course_night course_night_of(const struct fleet_cohort *c,
					   const struct course_reading *readings, size_t n,
					   size_t own, double *room)
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
	if (own && c->night_deviation > 0)
		out.half = root_sum_square(course_half_of_median(others, out.count, out.others,
								 values),
					   INTERVAL * MEDIAN_EFFICIENCY * c->night_deviation /
						   sqrt((double)own));
	return out;
}

/*
 * Level over the last nights: their noise averages out, the variation between the others does not.
 */
static void course_level(const struct fleet *f, const struct fleet_cohort *c, struct course *x)
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

static void course_follow_subject(const struct fleet *f, size_t cohort,
				  const struct fleet_subject *s, struct course *x)
{
	const struct fleet_cohort *c = &f->cohorts[cohort];
	struct course_reading *readings;
	size_t n = course_readings(f, c, s, &readings), end;
	double *room = xcalloc(2 * n + 1, sizeof(*room));

	x->nights = xcalloc(n + 1, sizeof(*x->nights));
	for (size_t i = 0; i < n; i = end) {
		size_t own = 0;

		for (end = i; end < n && readings[end].day == readings[i].day; end++)
			own += readings[end].group == 0;
		x->nights[x->count++] = course_night_of(c, readings + i, end - i, own, room);
	}
	course_level(f, c, x);
	free(readings);
	free(room);
}

static int course_worst_first(const void *left, const void *right)
{
	const struct course *a = left, *b = right;

	if (isnan(a->away) != isnan(b->away))
		return isnan(a->away) ? 1 : -1;
	if (a->away != b->away && !isnan(a->away))
		return a->away < b->away ? -1 : 1;
	return (a->cohort > b->cohort) - (a->cohort < b->cohort);
}

size_t fleet_courses(const struct fleet *f, const struct fleet_subject *s, struct course **out)
{
	size_t count = 0;

	*out = xcalloc(f->cohort_count + 1, sizeof(**out));
	for (size_t c = 0; c < f->cohort_count; c++) {
		struct course x = { .cohort = c };

		for (size_t i = f->cohorts[c].first; i < f->cohorts[c].first + f->cohorts[c].count;
		     i++)
			x.devices += course_is_of(s, &f->members[i]);
		if (!x.devices)
			continue;
		/* The same GPU in several places counts once. */
		x.devices = s->machine ? 1 : x.devices;
		course_follow_subject(f, c, s, &x);
		(*out)[count++] = x;
	}
	if (count)
		qsort(*out, count, sizeof(**out), course_worst_first);
	return count;
}

void courses_release(struct course *courses, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(courses[i].nights);
	free(courses);
}

double course_value(const struct history_series *s, double level)
{
	return exp(s->better == BETTER_HIGHER ? level : -level);
}

char *course_words(const struct fleet *f, const struct fleet_subject *s, const struct course *x)
{
	const char *other = s->machine ? "device" : "node";
	char half[64] = "interval unknown: too few nights or others", *out;
	size_t others = 0;

	for (size_t i = 0; i < x->count; i++)
		if (x->nights[i].day >= f->first_day && x->nights[i].count > others)
			others = x->nights[i].count;
	if (!x->recent)
		return xasprintf("not compared: no other %s has values of the same cases in "
				 "the last nights",
				 other);
	if (isfinite(x->half))
		snprintf(half, sizeof(half), "±%.2f", 100 * x->half);
	out = xasprintf("%.2f %% (%s) %s than the median of %zu other %s%s, in the last %zu "
			"night%s",
			100 * fabs(fleet_percent(-x->away)), half, x->away < 0 ? "worse" : "better",
			others, other, others == 1 ? "" : "s", x->recent,
			x->recent == 1 ? "" : "s");
	return out;
}

/* Lists some existing nodes in the error for an unknown name. */
static enum status fleet_refuse_name(const struct fleet *f, const char *name, struct error *err)
{
	struct text known = TEXT_EMPTY;

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

enum status fleet_find_subject(const struct fleet *f, const char *name, struct fleet_subject *out,
			       struct error *err)
{
	const struct history_place *place = history_place_named(&f->places, name);

	*out = (struct fleet_subject){ .machine = place ? place->machine : NULL };
	while (out->host < f->host_count &&
	       strcmp(f->hosts[out->host].name, place ? place->host : name) != 0)
		out->host++;
	/* The machine of a CPU is its node. */
	if (place && strcmp(place->machine, place->host) == 0)
		out->machine = NULL;
	return out->host < f->host_count ? STATUS_OK : fleet_refuse_name(f, name, err);
}

char *fleet_subject_name(const struct fleet *f, const struct fleet_subject *s)
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
