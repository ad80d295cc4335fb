#include "cli/output/print_node.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/units.h"
#include "cli/output/table.h"
#include "result/json/json_writer.h"

#define MOST_TABLES 8  /* maximum number of cases whose nights are printed */
#define MOST_NIGHTS 30 /* of each */

static const struct history_series *print_node_series_of(const struct fleet *f,
							 const struct course *x)
{
	return f->members[f->cohorts[x->cohort].first].series;
}

static void node_print_findings(const struct fleet *f, const struct fleet_subject *s)
{
	size_t count = 0;

	for (size_t i = 0; i < f->finding_count; i++) {
		const struct fleet_finding *x = &f->findings[i];
		char *subject, *words;

		if (!fleet_finding_is_about(f, x, s))
			continue;
		subject = fleet_subject_words(f, x);
		words = fleet_finding_words(f, x);
		printf("%-8s %s\n         %s\n", x->decision ? "DECIDED" : "OPEN", subject, words);
		free(subject);
		free(words);
		count++;
	}
	if (!count)
		printf("%s\n",
		       f->compared ? "No finding: history fleet does not suspect it."
				   : "Not compared: too few devices with the same model, driver "
				     "and config.");
}

static void print_node_value_cell(const struct history_series *s, double level, char out[48])
{
	if (isnan(level))
		snprintf(out, 48, "-");
	else
		units_format(course_value(s, level), s->unit, out, 48);
}

static void print_node_night_row(const struct history_series *s, const struct course_night *n,
				 struct output_table *table)
{
	char date[16], own[48], others[48], low[48], high[48], range[112], away[48], half[32],
		count[32];

	history_date(n->day, date);
	print_node_value_cell(s, n->own, own);
	print_node_value_cell(s, n->others, others);
	print_node_value_cell(s, n->low, low);
	print_node_value_cell(s, n->high, high);
	snprintf(range, sizeof(range), "%s to %s", low, high);
	snprintf(away, sizeof(away), "%+.2f %%", 100 * expm1(n->own - n->others));
	snprintf(half, sizeof(half), "±%.2f", 100 * n->half);
	snprintf(count, sizeof(count), "%zu", n->count);
	TABLE_ROW(table, date, own, others, n->count ? range : "-",
		  isnan(n->own - n->others) ? "-" : away, isnan(n->half) ? "-" : half, count);
}

static void node_print_nights(const struct fleet *f, const struct fleet_subject *s,
			      const struct course *x)
{
	struct output_table table = TABLE_EMPTY;
	size_t first = x->count > MOST_NIGHTS ? x->count - MOST_NIGHTS : 0;

	TABLE_ROW(&table, "NIGHT", s->machine ? "DEVICE" : "NODE", "OTHERS", "10 TO 90 % OF THEM",
		  "BETTER BY", "95 %", "OTHERS");
	for (size_t i = first; i < x->count; i++)
		print_node_night_row(print_node_series_of(f, x), &x->nights[i], &table);
	table_finish(&table, stdout);
	if (first)
		printf("%zu earlier nights: --json\n", first);
}

static void node_print_text(const struct fleet *f, const struct fleet_subject *s,
			    const struct course *courses, size_t count)
{
	char *name = fleet_subject_name(f, s);

	printf("%s\n", name);
	free(name);
	node_print_findings(f, s);
	if (!count)
		puts("No measurement matches the filter.");
	for (size_t i = 0; i < count; i++) {
		const struct history_series *series = print_node_series_of(f, &courses[i]);
		char *words = course_words(f, s, &courses[i]);

		printf("\n%s %s, %s: %s\n", series->point, series->metric, series->model, words);
		free(words);
		if (i < MOST_TABLES)
			node_print_nights(f, s, &courses[i]);
	}
}

static void print_node_night_json(struct json_writer *w, const struct history_series *s,
				  const struct course_night *n)
{
	char date[16];

	history_date(n->day, date);
	writer_open(w, '{');
	writer_text_member(w, "date", date);
	writer_real_member(w, "value", course_value(s, n->own));
	writer_real_member(w, "others", course_value(s, n->others));
	writer_real_member(w, "others_low", course_value(s, n->low));
	writer_real_member(w, "others_high", course_value(s, n->high));
	writer_real_member(w, "better_by", expm1(n->own - n->others));
	writer_real_member(w, "half_interval", n->half);
	writer_count_member(w, "others_count", n->count);
	writer_close(w, '}');
}

static void print_node_course_json(struct json_writer *w, const struct fleet *f,
				   const struct course *x)
{
	const struct history_series *s = print_node_series_of(f, x);

	writer_open(w, '{');
	writer_text_member(w, "case", s->point);
	writer_text_member(w, "metric", s->metric);
	writer_text_member(w, "unit", s->unit);
	writer_text_member(w, "model", s->model);
	writer_count_member(w, "devices", x->devices);
	writer_count_member(w, "level_nights", x->recent);
	writer_real_member(w, "better_by", expm1(x->away));
	writer_real_member(w, "half_interval", x->half);
	writer_key(w, "nights");
	writer_open(w, '[');
	for (size_t i = 0; i < x->count; i++)
		print_node_night_json(w, s, &x->nights[i]);
	writer_close(w, ']');
	writer_close(w, '}');
}

static void node_print_json(const struct fleet *f, const struct fleet_subject *s,
			    const struct course *courses, size_t count)
{
	const struct history_place *p =
		s->machine ? history_place_named(&f->places, s->machine) : NULL;
	struct json_writer w = { .expand = 4 };
	size_t open = 0, found = 0;
	char *out;

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
	writer_key(&w, "cases");
	writer_open(&w, '[');
	for (size_t i = 0; i < count; i++)
		print_node_course_json(&w, f, &courses[i]);
	writer_close(&w, ']');
	writer_close(&w, '}');
	out = writer_finish(&w);
	fputs(out, stdout);
	free(out);
}

void print_node(const struct fleet *f, const struct fleet_subject *s, bool as_json)
{
	struct course *courses;
	size_t count = fleet_courses(f, s, &courses);

	(as_json ? node_print_json : node_print_text)(f, s, courses, count);
	courses_release(courses, count);
}
