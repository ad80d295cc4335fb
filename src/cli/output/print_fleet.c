#include "cli/output/print.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/output/table.h"
#include "result/json/json_writer.h"

#define MOST_GONE 40

#define MOST_TABLES 8  /* maximum number of cases whose nights are printed */
#define MOST_NIGHTS 30 /* of each */

/* The subject of a finding and its explanation. */
static void print_fleet_finding(const struct fleet *f, const struct fleet_finding *x)
{
	char *subject = fleet_findings_subject_words(f, x), *words = fleet_finding_words(f, x);

	printf("%-8s %s\n         %s\n", x->decision ? "DECIDED" : "OPEN", subject, words);
	free(subject);
	free(words);
}

static const struct history_series *print_fleet_node_series_of(const struct fleet *f,
							       const struct course *x)
{
	return f->members[f->cohorts[x->cohort].first].series;
}

static void print_fleet_node_findings(const struct fleet *f, const struct fleet_subject *s)
{
	size_t count = 0;

	for (size_t i = 0; i < f->finding_count; i++) {
		if (!fleet_finding_is_about(f, &f->findings[i], s))
			continue;
		print_fleet_finding(f, &f->findings[i]);
		count++;
	}
	if (!count)
		printf("%s\n", f->compared
				       ? "No finding: the levels of this node or device are normal."
				       : "Not compared: the history has too few devices with the "
					 "same model, driver and config.");
}

static void print_fleet_node_value_cell(const struct history_series *s, double level, char out[48])
{
	if (isnan(level))
		snprintf(out, 48, "-");
	else
		units_format(fleet_findings_course_value(s, level), s->unit, out, 48);
}

static void print_fleet_node_night_row(const struct history_series *s, const struct course_night *n,
				       struct output_table *table)
{
	char date[16], own[48], others[48], low[48], high[48], range[112], away[48], half[32],
		count[32];

	history_date(n->day, date);
	print_fleet_node_value_cell(s, n->own, own);
	print_fleet_node_value_cell(s, n->others, others);
	print_fleet_node_value_cell(s, n->low, low);
	print_fleet_node_value_cell(s, n->high, high);
	snprintf(range, sizeof(range), "%s to %s", low, high);
	snprintf(away, sizeof(away), "%+.2f %%", 100 * expm1(n->own - n->others));
	snprintf(half, sizeof(half), "±%.2f", 100 * n->half);
	snprintf(count, sizeof(count), "%zu", n->count);
	TABLE_ROW(table, date, own, others, n->count ? range : "-",
		  isnan(n->own - n->others) ? "-" : away, isnan(n->half) ? "-" : half, count);
}

static void fleet_print_silent_node(const struct fleet_host *host)
{
	char day[16];

	history_date(host->last_day, day);
	printf("SILENT   %s: no run since %s (%zu days missed)\n", host->name, day, host->silent);
}

static void print_fleet_node_text(const struct fleet *f, const struct fleet_subject *s,
				  const struct course *courses, size_t count)
{
	char *name = fleet_findings_subject_name(f, s);
	struct output_table table = TABLE_EMPTY;
	size_t first;

	printf("%s\n", name);
	free(name);
	if (f->hosts[s->host].silent >= FLEET_SILENT)
		fleet_print_silent_node(&f->hosts[s->host]);
	print_fleet_node_findings(f, s);
	if (!count)
		puts("No measurement matches the filter.");
	for (size_t i = 0; i < count; i++) {
		const struct history_series *series = print_fleet_node_series_of(f, &courses[i]);
		char *words = fleet_findings_course_words(f, s, &courses[i]);

		printf("\n%s %s, %s: %s\n", series->point, series->metric, series->model, words);
		free(words);
		if (i >= MOST_TABLES)
			continue;
		first = courses[i].count > MOST_NIGHTS ? courses[i].count - MOST_NIGHTS : 0;
		TABLE_ROW(&table, "DAY", s->machine ? "DEVICE" : "NODE", "OTHERS",
			  "10TH TO 90TH PERCENTILE", "BETTER BY", "95 %", "OTHERS");
		for (size_t k = first; k < courses[i].count; k++)
			print_fleet_node_night_row(series, &courses[i].nights[k], &table);
		table_finish(&table, stdout);
		if (first)
			printf("%zu earlier days are not shown; --json prints them\n", first);
	}
}

static void print_fleet_node_course_json(struct json_writer *w, const struct fleet *f,
					 const struct course *x)
{
	const struct history_series *s = print_fleet_node_series_of(f, x);

	writer_open(w, '{');
	writer_text_member(w, "case", s->point);
	writer_text_member(w, "metric", s->metric);
	writer_text_member(w, "unit", s->unit);
	writer_text_member(w, "model", s->model);
	writer_count_member(w, "devices", x->devices);
	writer_count_member(w, "level_nights", x->recent);
	writer_real_member(w, "better_by", expm1(x->away));
	writer_real_member(w, "half_interval", x->half);
	writer_open_member(w, "nights", '[');
	for (const struct course_night *n = x->nights; n < x->nights + x->count; n++) {
		writer_open(w, '{');
		print_date_member(w, "date", n->day);
		writer_real_member(w, "value", fleet_findings_course_value(s, n->own));
		writer_real_member(w, "others", fleet_findings_course_value(s, n->others));
		writer_real_member(w, "others_low", fleet_findings_course_value(s, n->low));
		writer_real_member(w, "others_high", fleet_findings_course_value(s, n->high));
		writer_real_member(w, "better_by", expm1(n->own - n->others));
		writer_real_member(w, "half_interval", n->half);
		writer_count_member(w, "others_count", n->count);
		writer_close(w, '}');
	}
	writer_close(w, ']');
	writer_close(w, '}');
}

static void print_fleet_node_json(const struct fleet *f, const struct fleet_subject *s,
				  const struct course *courses, size_t count)
{
	const struct history_place *p =
		s->machine ? history_place_named(&f->places, s->machine) : NULL;
	struct json_writer w = { .expand = 4 };
	size_t open = 0, found = 0;

	for (size_t i = 0; i < f->finding_count; i++) {
		bool about = fleet_finding_is_about(f, &f->findings[i], s);

		found += about;
		open += about && !f->findings[i].decision;
	}
	writer_open(&w, '{');
	writer_text_member(&w, "format", "gpuproof-node");
	writer_count_member(&w, "version", 1);
	writer_text_member(&w, "host", f->hosts[s->host].name);
	writer_text_member(&w, "machine", s->machine ? s->machine : "");
	writer_text_member(&w, "device", p ? p->device : "");
	writer_text_member(&w, "serial", p ? p->serial : "");
	writer_text_member(&w, "host_before", p ? p->host_before : "");
	writer_count_member(&w, "findings", found);
	writer_count_member(&w, "open", open);
	writer_open_member(&w, "cases", '[');
	for (size_t i = 0; i < count; i++)
		print_fleet_node_course_json(&w, f, &courses[i]);
	writer_close(&w, ']');
	writer_close(&w, '}');
	print_json(&w);
}

void print_fleet_node(const struct fleet *f, const struct fleet_subject *s, bool as_json)
{
	struct course *courses;
	size_t count = fleet_findings_courses(f, s, &courses);

	(as_json ? print_fleet_node_json : print_fleet_node_text)(f, s, courses, count);
	fleet_findings_courses_release(courses, count);
}

/* Also prints what could not be compared. */
static void fleet_print_not_compared(const struct fleet *f)
{
	if (!f->compared)
		printf("Nothing was compared: a comparison needs at least %d devices with the same "
		       "model, driver and config, on two nodes.\n",
		       FLEET_FEWEST);
	else if (f->too_few)
		printf("%zu device%s not compared: the history has too few others with the same "
		       "model, driver and config, or no values of the last days.\n",
		       f->too_few, f->too_few == 1 ? " was" : "s were");
	if (f->compared && !f->finding_count)
		puts("No node, device or slot is worse than the others.");
	for (size_t i = 0; i < f->cohort_count; i++) {
		char *words = fleet_findings_kinds_words(f, &f->cohorts[i]);

		if (words)
			printf("NOTE     %s\n", words);
		free(words);
	}
}

static void fleet_print_silent_nodes(const struct fleet *f)
{
	char day[16];

	for (size_t i = 0; i < f->host_count; i++) {
		if (f->hosts[i].silent >= FLEET_SILENT)
			fleet_print_silent_node(&f->hosts[i]);
	}
	for (size_t i = 0; i < f->gone_count && i < MOST_GONE; i++) {
		const struct history_place *p = f->gone[i].place;

		history_date(p->day, day);
		printf("GONE     %s %s%s%s (%s): not in the last %zu runs of its node, last seen "
		       "%s\n",
		       p->host, p->device, *p->serial ? ", serial " : "", p->serial, p->machine,
		       f->gone[i].silent, day);
	}
}

static void fleet_print_worst(const struct fleet *f)
{
	struct output_table table = TABLE_EMPTY;
	size_t members[FLEET_WORST], n = fleet_findings_worst(f, members);

	if (!n)
		return;
	printf("\nThe worst %zu of %zu devices, in the order of WORSE BY / ALLOWED:\n", n,
	       f->compared);
	TABLE_ROW(&table, "WORSE BY", "ALLOWED", "CASE", "DEVICE");
	for (size_t i = 0; i < n; i++) {
		const struct fleet_member *m = &f->members[members[i]];
		char *device = fleet_findings_member_words(f, m), deficit[32], allowed[32];

		snprintf(deficit, sizeof(deficit), "%.2f %%",
			 100 * fleet_findings_percent(m->deficit));
		snprintf(allowed, sizeof(allowed), "%.2f %%",
			 100 * fleet_findings_percent(m->allowed));
		TABLE_ROW(&table, deficit, allowed, m->series->point, device);
		free(device);
	}
	table_finish(&table, stdout);
}

static void print_fleet_finding_json(struct json_writer *w, const struct fleet *f,
				     const struct fleet_finding *x)
{
	static const char *const kinds[] = { "node", "device", "slot" };
	const struct fleet_member *m = &f->members[x->member];
	const struct history_place *p = history_place(&f->places, m->series->machine);
	bool device = x->kind == FLEET_DEVICE;

	writer_open(w, '{');
	writer_text_member(w, "kind", kinds[x->kind]);
	writer_text_member(w, "host", x->kind == FLEET_SLOT ? "" : f->hosts[x->host].name);
	writer_text_member(w, "device", x->kind == FLEET_HOST ? "" : m->devices);
	writer_text_member(w, "machine", device ? m->series->machine : "");
	writer_text_member(w, "slot", device && p ? p->slot : "");
	writer_text_member(w, "serial", device && p ? p->serial : "");
	writer_text_member(w, "case", m->series->point);
	writer_text_member(w, "metric", m->series->metric);
	writer_text_member(w, "model", m->series->model);
	writer_real_member(w, "worse_by", fleet_findings_percent(x->deficit));
	writer_real_member(w, "half_interval", x->half);
	writer_real_member(w, "allowed", fleet_findings_percent(x->allowed));
	writer_count_member(w, "cohorts", x->cohorts);
	print_date_member(w, "since", x->since);
	writer_bool_member(w, "since_first_night", x->always);
	writer_bool_member(w, "enough_nights_to_date", x->dated);
	writer_text_member(w, "state",
			   x->decision ? store_notes_triage_word(x->decision->state) : "open");
	if (x->decision) {
		writer_text_member(w, "decided_by", x->decision->by);
		writer_text_member(w, "ticket", x->decision->ticket);
		writer_text_member(w, "reason", x->decision->text);
	}
	writer_close(w, '}');
}

static void print_fleet_silent_json(struct json_writer *w, const struct fleet *f)
{
	writer_open_member(w, "silent_hosts", '[');
	for (size_t i = 0; i < f->host_count; i++) {
		if (f->hosts[i].silent < FLEET_SILENT)
			continue;
		writer_open(w, '{');
		writer_text_member(w, "host", f->hosts[i].name);
		print_date_member(w, "last", f->hosts[i].last_day);
		writer_count_member(w, "nights", f->hosts[i].silent);
		writer_close(w, '}');
	}
	writer_close(w, ']');
	writer_open_member(w, "gone_devices", '[');
	for (size_t i = 0; i < f->gone_count; i++) {
		const struct history_place *p = f->gone[i].place;

		writer_open(w, '{');
		writer_text_member(w, "host", p->host);
		writer_text_member(w, "device", p->device);
		writer_text_member(w, "machine", p->machine);
		writer_text_member(w, "serial", p->serial);
		print_date_member(w, "last", p->day);
		writer_close(w, '}');
	}
	writer_close(w, ']');
}

static void fleet_print_json(const struct fleet *f)
{
	struct json_writer w = { .expand = 3 };

	writer_open(&w, '{');
	writer_text_member(&w, "format", "gpuproof-fleet");
	writer_count_member(&w, "version", 1);
	writer_count_member(&w, "hosts", f->host_count);
	writer_count_member(&w, "devices", f->device_count);
	writer_count_member(&w, "compared", f->compared);
	writer_count_member(&w, "not_compared", f->too_few);
	writer_count_member(&w, "cohorts", f->cohort_count);
	writer_count_member(&w, "tests", f->tests);
	writer_real_member(&w, "false_accusations", FLEET_FALSE);
	print_date_member(&w, "levels_since", f->first_day);
	print_date_member(&w, "last", f->last_day);
	writer_count_member(&w, "open", f->open);
	writer_open_member(&w, "findings", '[');
	for (size_t i = 0; i < f->finding_count; i++)
		print_fleet_finding_json(&w, f, &f->findings[i]);
	writer_close(&w, ']');
	print_fleet_silent_json(&w, f);
	writer_close(&w, '}');
	print_json(&w);
}

void print_fleet(const struct fleet *f, bool json)
{
	char first[16], last[16], since[16];

	if (json) {
		fleet_print_json(f);
		return;
	}
	if (!f->nights.count) {
		puts("The history contains no runs.");
		return;
	}
	history_date(f->nights.items[0].day, first);
	history_date(f->last_day, last);
	history_date(f->first_day, since);
	printf("%zu node%s, %zu device%s, %zu run%s from %s to %s; levels since %s\n",
	       f->host_count, text_plural(f->host_count), f->device_count,
	       text_plural(f->device_count), f->nights.count, text_plural(f->nights.count), first,
	       last, since);
	printf("%zu finding%s, %zu open; %zu of %zu devices compared\n\n", f->finding_count,
	       text_plural(f->finding_count), f->open, f->compared, f->device_count);
	for (size_t i = 0; i < f->finding_count; i++)
		print_fleet_finding(f, &f->findings[i]);
	fleet_print_not_compared(f);
	fleet_print_silent_nodes(f);
	fleet_print_worst(f);
}
