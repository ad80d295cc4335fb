#include "result/status/soak_rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define WORD_BYTES 8

static struct soak_row *soak_row_of(struct soak_rows *rows, const char *device)
{
	struct soak_row *row;

	for (size_t i = 0; i < rows->count; i++)
		if (strcmp(rows->items[i].device, device) == 0)
			return &rows->items[i];
	ARRAY_GROW(rows->items, rows->count, rows->capacity);
	row = &rows->items[rows->count++];
	*row = (struct soak_row){ .rate_share = NAN,
				  .power_watts = NAN,
				  .temperature_celsius = NAN,
				  .sm_clock_hz = NAN,
				  .throttled = NAN,
				  .verified_bytes = NAN };
	snprintf(row->device, sizeof(row->device), "%s", device);
	return row;
}

static void soak_rows_add_rate(struct soak_row *row, const struct case_result *c, double rate)
{
	struct soak_load *load = NULL;
	char name[sizeof(load->name)];
	size_t at;

	if (!(rate > 0))
		return;
	/* "burn/fp32": suite, label, and the parameters other than the slice number. */
	at = (size_t)snprintf(name, sizeof(name), "%s/%s", c->suite ? c->suite : "",
			      c->label ? c->label : "");
	for (size_t i = 0; i < c->parameter_count && at < sizeof(name); i++)
		if (strcmp(c->parameters[i].name, "slice") != 0)
			at += (size_t)snprintf(name + at, sizeof(name) - at, "/%s",
					       c->parameters[i].text);
	for (size_t i = 0; i < row->load_count && !load; i++)
		if (strcmp(row->loads[i].name, name) == 0)
			load = &row->loads[i];
	if (!load) {
		ARRAY_GROW(row->loads, row->load_count, row->load_capacity);
		load = &row->loads[row->load_count++];
		*load = (struct soak_load){ .first = rate };
		memcpy(load->name, name, sizeof(name));
	}
	load->latest = rate;
	row->rate_share = NAN;
	for (size_t i = 0; i < row->load_count; i++)
		row->rate_share = fmin(row->rate_share, row->loads[i].latest / row->loads[i].first);
}

static void soak_rows_add_mean(const struct time_quantity *q, double *sum, double *count,
			       double *mean)
{
	for (size_t i = 0; i < q->mean_count; i++)
		if (isfinite(q->mean[i])) {
			*sum += q->mean[i];
			*count += 1;
		}
	if (*count > 0)
		*mean = *sum / *count;
}

void soak_rows_add(struct soak_rows *rows, const struct case_result *c)
{
	for (size_t i = 0; i < c->watch_count; i++) {
		const struct watch *w = &c->watches[i];
		struct soak_row *row;

		/* Power over time of a case of another suite. */
		if (!isfinite(w->rate) && !isfinite(w->verified_bytes) && !w->wrong)
			continue;
		row = soak_row_of(rows, w->device);
		row->wrong += w->wrong;
		if (isfinite(w->verified_bytes))
			row->verified_bytes =
				w->verified_bytes +
				(isfinite(row->verified_bytes) ? row->verified_bytes : 0);
		soak_rows_add_rate(row, c, w->rate);
		for (size_t k = 0; k < w->quantity_count; k++) {
			const struct time_quantity *q = &w->quantities[k];

			if (strcmp(q->name, "power_watts") == 0)
				soak_rows_add_mean(q, &row->power_sum, &row->power_count,
						   &row->power_watts);
			else if (strcmp(q->name, "sm_clock_hz") == 0)
				soak_rows_add_mean(q, &row->clock_sum, &row->clock_count,
						   &row->sm_clock_hz);
			else if (strcmp(q->name, "throttled") == 0)
				soak_rows_add_mean(q, &row->throttled_sum, &row->throttled_count,
						   &row->throttled);
			else if (strcmp(q->name, "temperature_celsius") == 0)
				for (size_t n = 0; n < q->highest_count; n++)
					row->temperature_celsius =
						fmax(row->temperature_celsius, q->highest[n]);
		}
	}
}

void soak_rows_release(struct soak_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		free(rows->items[i].loads);
	free(rows->items);
	*rows = (struct soak_rows){ 0 };
}

static void soak_rows_add_cell(struct text *out, int width, double value, const char *format)
{
	char cell[32] = "-";

	if (isfinite(value))
		snprintf(cell, sizeof(cell), format, value);
	text_addf(out, " %*s", width, cell);
}

void soak_rows_print(const struct soak_rows *rows, struct text *out)
{
	if (!rows->count)
		return;
	text_addf(out, "%-10s %9s %8s %8s %9s %9s %10s %8s\n", "", "vs first", "power", "hottest",
		  "clock", "throttled", "Gwords", "wrong");
	for (size_t i = 0; i < rows->count; i++) {
		const struct soak_row *r = &rows->items[i];

		text_addf(out, "%-10s", r->device);
		soak_rows_add_cell(out, 9, 100 * r->rate_share, "%.1f %%");
		soak_rows_add_cell(out, 8, r->power_watts, "%.0f W");
		/* The degree sign has two bytes and one column. */
		soak_rows_add_cell(out, isfinite(r->temperature_celsius) ? 9 : 8,
				   r->temperature_celsius, "%.0f °C");
		soak_rows_add_cell(out, 9, 1e-6 * r->sm_clock_hz, "%.0f MHz");
		soak_rows_add_cell(out, 9, 100 * r->throttled, "%.1f %%");
		soak_rows_add_cell(out, 10, 1e-9 * r->verified_bytes / WORD_BYTES, "%.3f");
		text_addf(out, " %8" PRIu64 "\n", r->wrong);
	}
}
