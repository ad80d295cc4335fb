/* A comparison as JSON, for `compare --json`, and its memory: by rows of its members. */
#include <stdlib.h>
#include <string.h>

#include "compare/compare.h"
#include "result/json/json_fields.h"

static void compare_json_figure_kind_write(struct json_writer *w, const struct field *f,
					   const void *base)
{
	(void)f;
	writer_text(w, figure_kind_name(((const struct comparison_row *)base)->kind));
}

static const struct codec codec_figure_kind = { .write = compare_json_figure_kind_write };

static const struct field comparison_row_fields[] = {
	FIELD_NAMED("case", comparison_row, case_id, string),
	FIELD_NAMED("devices_a", comparison_row, devices, string),
	FIELD(comparison_row, devices_b, string),
	FIELD(comparison_row, metric, string),
	FIELD(comparison_row, unit, string),
	FIELD(comparison_row, change, enum, .words = change_names),
	FIELD(comparison_row, possible, bool),
	FIELD(comparison_row, grouped, bool),
	FIELD_NAMED("wrong_result", comparison_row, wrong, bool),
	FIELD(comparison_row, a, real),
	FIELD(comparison_row, b, real),
	FIELD(comparison_row, ratio, real),
	FIELD(comparison_row, low, real),
	FIELD(comparison_row, high, real),
	FIELD_NAMED("unchanged_within", comparison_row, margin, real),
	FIELD(comparison_row, kind, figure_kind),
	FIELD_NAMED("clock_normalised", comparison_row, at_same_clock, real),
	FIELD_NAMED("host_normalised", comparison_row, at_same_host, real),
	FIELD(comparison_row, launch_spread, real),
	FIELD(comparison_row, visit_spread, real),
	FIELD(comparison_row, visit_nights, uint64),
	FIELD(comparison_row, probability, real),
	FIELD(comparison_row, launches_needed, uint64),
	FIELD(comparison_row, launches_a, uint64),
	FIELD(comparison_row, launches_b, uint64),
	FIELD(comparison_row, reason, string),
	{ 0 },
};

static const struct field difference_fields[] = {
	FIELD(difference, name, string),
	FIELD(difference, a, string),
	FIELD(difference, b, string),
	{ 0 },
};

static const struct field yardstick_row_fields[] = {
	FIELD(yardstick_row, name, string), FIELD(yardstick_row, unit, string),
	FIELD(yardstick_row, a, real),      FIELD(yardstick_row, b, real),
	FIELD(yardstick_row, ratio, real),  { 0 },
};

static void compare_json_change_counts_write(struct json_writer *w, const struct field *f,
					     const void *base)
{
	const struct comparison *c = base;

	(void)f;
	writer_open_inline(w, '{');
	for (int i = 0; i < CHANGE_COUNT; i++)
		writer_count_member(w, change_names[i], c->counts[i]);
	writer_close(w, '}');
}

static const struct codec codec_change_counts = { .write = compare_json_change_counts_write };

static const struct field comparison_fields[] = {
	FIELD(comparison, sentence, string),
	FIELD(comparison, advice, string),
	FIELD_NAMED("a", comparison, name_a, string),
	FIELD_NAMED("b", comparison, name_b, string),
	FIELD(comparison, same_run, bool),
	FIELD(comparison, margin, real),
	FIELD_NAMED("automatic_margin", comparison, automatic, bool),
	FIELD(comparison, grouped, uint64),
	FIELD(comparison, session_shift, real),
	FIELD(comparison, counts, change_counts),
	FIELD_LIST("differences", comparison, differences, difference_count, array,
		   .fields = difference_fields),
	FIELD(comparison, turns, bool),
	FIELD_NAMED("launch_correlation", comparison, resemblance, real),
	FIELD(comparison, host_ratio, real),
	FIELD(comparison, host_finding, string),
	FIELD_LIST("yardstick", comparison, yardstick, yardstick_count, array,
		   .fields = yardstick_row_fields),
	FIELD_LIST("faults", comparison, faults, fault_count, strings),
	FIELD_LIST("rows", comparison, rows, count, array, .fields = comparison_row_fields),
	{ 0 },
};

char *comparison_to_json(const struct comparison *c)
{
	struct json_writer w = { .expand = 2 };

	writer_open(&w, '{');
	writer_text_member(&w, "format", "gpuproof-comparison");
	writer_count_member(&w, "version", 1);
	for (const struct field *f = comparison_fields; f->name; f++) {
		writer_key(&w, f->name);
		f->codec->write(&w, f, c);
	}
	writer_close(&w, '}');
	return writer_finish(&w);
}

void compare_json_comparison_release(struct comparison *c)
{
	for (size_t i = 0; i < c->count; i++)
		free(c->rows[i].point);
	json_fields_release(comparison_fields, c);
	memset(c, 0, sizeof(*c));
}
