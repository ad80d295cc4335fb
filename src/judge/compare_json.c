/* A comparison as JSON, for `compare --json`. */
#include "judge/compare.h"

#include "result/json_writer.h"

static void write_row(struct json_writer *w, const struct comparison_row *row)
{
	writer_open(w, '{');
	writer_text_member(w, "case", row->case_id);
	writer_text_member(w, "metric", row->metric);
	writer_text_member(w, "unit", row->unit);
	writer_text_member(w, "change", change_name(row->change));
	writer_bool_member(w, "possible", row->possible);
	writer_bool_member(w, "wrong_result", row->wrong);
	writer_real_member(w, "a", row->a);
	writer_real_member(w, "b", row->b);
	writer_real_member(w, "ratio", row->ratio);
	writer_real_member(w, "low", row->low);
	writer_real_member(w, "high", row->high);
	writer_real_member(w, "clock_normalised", row->normalised);
	writer_count_member(w, "launches_a", row->launches_a);
	writer_count_member(w, "launches_b", row->launches_b);
	writer_text_member(w, "reason", row->reason);
	writer_close(w, '}');
}

static void write_difference(struct json_writer *w, const struct difference *d)
{
	writer_open(w, '{');
	writer_text_member(w, "name", d->name);
	writer_text_member(w, "a", d->a);
	writer_text_member(w, "b", d->b);
	writer_close(w, '}');
}

char *comparison_to_json(const struct comparison *c)
{
	struct json_writer w = { .expand = 2 };

	writer_open(&w, '{');
	writer_text_member(&w, "format", "gpuproof-comparison");
	writer_count_member(&w, "version", 1);
	writer_text_member(&w, "sentence", c->sentence);
	writer_real_member(&w, "margin", c->margin);
	writer_key(&w, "counts");
	writer_open_inline(&w, '{');
	for (int i = 0; i < CHANGE_COUNT; i++)
		writer_count_member(&w, change_name((enum change)i), c->counts[i]);
	writer_close(&w, '}');
	writer_key(&w, "differences");
	writer_open(&w, '[');
	for (size_t i = 0; i < c->difference_count; i++)
		write_difference(&w, &c->differences[i]);
	writer_close(&w, ']');
	writer_key(&w, "faults");
	writer_open_inline(&w, '[');
	for (size_t i = 0; i < c->fault_count; i++)
		writer_text(&w, c->faults[i]);
	writer_close(&w, ']');
	writer_key(&w, "rows");
	writer_open(&w, '[');
	for (size_t i = 0; i < c->count; i++)
		write_row(&w, &c->rows[i]);
	writer_close(&w, ']');
	writer_close(&w, '}');
	return writer_finish(&w);
}
