/*
 * CSV export: one row per metric of each case; a case without metrics has one row with its reason.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "export/escape.h"
#include "export/export.h"
#include "result/verdict.h"

#define LINE_END "\r\n"

/* Names of the parameters of all cases, in order of appearance; borrowed. */
struct csv_columns {
	const char **names;
	size_t count, capacity;
	const struct verdict_check **checks; /* checks of the judgement, sorted by case */
};

static void csv_add_cells(struct text *out, const char *const *cells, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		escape_csv(out, cells[i]);
		text_add_char(out, ',');
	}
}

static void csv_add_case(struct text *out, const struct result *r, const struct case_result *c)
{
	const struct device_info *device = result_device(r, c->device);
	const char *status = case_status_name(c->status);
	struct text devices = TEXT_EMPTY;

	for (size_t i = 0; i < c->device_count; i++)
		text_addf(&devices, "%s%s", i ? " " : "", c->devices[i]);
	csv_add_cells(out,
		      (const char *[]){ r->run_id, r->label, r->started, export_fact(r, "hostname"),
					c->id, c->suite, c->label, c->device, devices.data,
					device ? device->name : "", device ? device->uuid : "",
					status, c->reason },
		      13);
	text_release(&devices);
}

static void csv_add_metric(struct text *out, const struct case_result *c,
			   const struct metric_value *m)
{
	static const char *const better[] = { "higher", "lower", "none" };
	const struct series *series = m->series ? case_series(c, m->series) : NULL;
	const double numbers[] = { m->value, m->low, m->high };

	csv_add_cells(out, (const char *[]){ m->name, case_metric_unit(c, m), better[m->better] },
		      3);
	text_addf(out, "%d", m->headline);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		text_add_char(out, ',');
		escape_add_number(out, numbers[i]);
	}
	text_addf(out, ",%zu,%s,%s", m->n, series ? series->statistics.noisy ? "1" : "0" : "",
		  series ? series->unsettled ? "0" : "1" : "");
}

static int csv_by_case(const void *left, const void *right)
{
	const struct verdict_check *const *a = left, *const *b = right;

	return strcmp((*a)->case_id, (*b)->case_id);
}

/* Worst verdict on a metric of a case; on the case itself if `metric` is NULL. */
static const char *csv_verdict_on(const struct verdict_check **checks, size_t count, const char *id,
				  const char *metric)
{
	static const int rank[VERDICT_COUNT] = {
		[VERDICT_PASS] = 1,         [VERDICT_WARN] = 3, [VERDICT_FAIL] = 6,
		[VERDICT_INCONCLUSIVE] = 4, [VERDICT_SKIP] = 2, [VERDICT_ERROR] = 5
	};
	size_t low = 0, high = count;
	const char *word = "";
	int worst = 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(checks[middle]->case_id, id) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < count && strcmp(checks[low]->case_id, id) == 0; low++) {
		const struct verdict_check *check = checks[low];

		if (rank[check->verdict] <= worst ||
		    (metric && *check->metric && strcmp(check->metric, metric) != 0))
			continue;
		worst = rank[check->verdict];
		word = verdict_fields_name(check->verdict);
	}
	return word;
}

static void csv_add_row(const struct result *r, struct text *out, const struct csv_columns *columns,
			const struct case_result *c, const struct metric_value *m)
{
	csv_add_case(out, r, c);
	if (m)
		csv_add_metric(out, c, m);
	else
		text_add(out, ",,,,,,,,,");
	if (r->judgement) {
		text_add_char(out, ',');
		escape_csv(out, csv_verdict_on(columns->checks, r->judgement->count,
					       export_string(c->id), m ? m->name : NULL));
	}
	for (size_t i = 0; i < columns->count; i++) {
		const struct case_parameter *p = case_parameter(c, columns->names[i]);

		text_add_char(out, ',');
		if (p && p->number == p->number)
			escape_add_number(out, p->number);
		else if (p)
			escape_csv(out, p->text);
	}
	text_add(out, LINE_END);
}

static void write_csv(const struct result *r, struct text *out)
{
	size_t checks = r->judgement ? r->judgement->count : 0;
	struct csv_columns columns = { 0 };

	for (size_t i = 0; i < r->case_count; i++)
		for (size_t j = 0; j < r->cases[i].parameter_count; j++) {
			const char *name = r->cases[i].parameters[j].name;
			size_t k = 0;

			while (k < columns.count && strcmp(columns.names[k], name) != 0)
				k++;
			if (k < columns.count)
				continue;
			ARRAY_GROW(columns.names, columns.count, columns.capacity);
			columns.names[columns.count++] = name;
		}
	/* Sorts the checks by case: a fleet has 600,000 of each. */
	columns.checks = xcalloc(checks + 1, sizeof(*columns.checks));
	for (size_t i = 0; i < checks; i++)
		columns.checks[i] = &r->judgement->checks[i];
	if (checks)
		qsort(columns.checks, checks, sizeof(*columns.checks), csv_by_case);
	text_add(out, "run,run_label,started,host,case,suite,variant,device,devices,model,uuid,"
		      "status,reason,metric,unit,better,headline,value,low,high,n,noisy,settled");
	if (r->judgement)
		text_add(out, ",verdict");
	for (size_t i = 0; i < columns.count; i++) {
		char *name = xasprintf("parameter.%s", columns.names[i]);

		text_add_char(out, ',');
		escape_csv(out, name);
		free(name);
	}
	text_add(out, LINE_END);
	for (size_t i = 0; i < r->case_count; i++) {
		const struct case_result *c = &r->cases[i];

		for (size_t j = 0; j < c->metric_count; j++)
			csv_add_row(r, out, &columns, c, &c->metrics[j]);
		if (!c->metric_count)
			csv_add_row(r, out, &columns, c, NULL);
	}
	free(columns.names);
	free(columns.checks);
}

static void csv_add_samples(struct text *out, const struct result *r, const struct case_result *c,
			    const struct series *s)
{
	struct text prefix = TEXT_EMPTY;

	csv_add_cells(&prefix, (const char *[]){ r->run_id, c->id, c->device, s->name, s->unit },
		      5);
	for (size_t i = 0; i < s->count; i++) {
		text_add_bytes(out, prefix.data, prefix.length);
		text_addf(out, "%u,%zu,", s->batch, i);
		escape_add_number(out, s->samples[i]);
		text_add(out, LINE_END);
	}
	text_release(&prefix);
}

static void csv_write_samples(const struct result *r, struct text *out)
{
	text_add(out, "run,case,device,series,unit,batch,index,value" LINE_END);
	for (size_t i = 0; i < r->case_count; i++) {
		const struct case_result *c = &r->cases[i];

		for (size_t j = 0; j < c->series_count; j++)
			csv_add_samples(out, r, c, &c->series[j]);
	}
}

const struct exporter export_csv = { write_csv, NULL };
const struct exporter export_csv_samples = { csv_write_samples, NULL };
