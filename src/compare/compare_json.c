/* A comparison as JSON, for `compare --json`. */
#include "compare/compare.h"

#include "result/json/json_writer.h"

static void comparison_json_write_row(struct json_writer *w, const struct comparison_row *row)
{
	writer_open(w, '{');
	writer_text_member(w, "case", row->case_id);
	writer_text_member(w, "devices_a", row->devices);
	writer_text_member(w, "devices_b", row->devices_b);
	writer_text_member(w, "metric", row->metric);
	writer_text_member(w, "unit", row->unit);
	writer_text_member(w, "change", change_name(row->change));
	writer_bool_member(w, "possible", row->possible);
	writer_bool_member(w, "grouped", row->grouped);
	writer_bool_member(w, "wrong_result", row->wrong);
	writer_real_member(w, "a", row->a);
	writer_real_member(w, "b", row->b);
	writer_real_member(w, "ratio", row->ratio);
	writer_real_member(w, "low", row->low);
	writer_real_member(w, "high", row->high);
	writer_real_member(w, "unchanged_within", row->margin);
	writer_text_member(w, "kind", figure_kind_name(row->kind));
	writer_real_member(w, "clock_normalised", row->at_same_clock);
	writer_real_member(w, "host_normalised", row->at_same_host);
	writer_real_member(w, "launch_spread", row->launch_spread);
	writer_real_member(w, "visit_spread", row->visit_spread);
	writer_count_member(w, "visit_nights", row->visit_nights);
	writer_real_member(w, "probability", row->probability);
	writer_count_member(w, "launches_needed", row->launches_needed);
	writer_count_member(w, "launches_a", row->launches_a);
	writer_count_member(w, "launches_b", row->launches_b);
	writer_text_member(w, "reason", row->reason);
	writer_close(w, '}');
}

static void comparison_json_write_difference(struct json_writer *w, const struct difference *d)
{
	writer_open(w, '{');
	writer_text_member(w, "name", d->name);
	writer_text_member(w, "a", d->a);
	writer_text_member(w, "b", d->b);
	writer_close(w, '}');
}

static void comparison_json_write_yardstick(struct json_writer *w, const struct yardstick_row *row)
{
	writer_inline_next(w);
	writer_open(w, '{');
	writer_text_member(w, "name", row->name);
	writer_text_member(w, "unit", row->unit);
	writer_real_member(w, "a", row->a);
	writer_real_member(w, "b", row->b);
	writer_real_member(w, "ratio", row->ratio);
	writer_close(w, '}');
}

char *comparison_to_json(const struct comparison *c)
{
	struct json_writer w = { .expand = 2 };

	writer_open(&w, '{');
	writer_text_member(&w, "format", "gpuproof-comparison");
	writer_count_member(&w, "version", 1);
	writer_text_member(&w, "sentence", c->sentence);
	writer_text_member(&w, "advice", c->advice);
	writer_text_member(&w, "a", c->name_a);
	writer_text_member(&w, "b", c->name_b);
	writer_bool_member(&w, "same_run", c->same_run);
	writer_real_member(&w, "margin", c->margin);
	writer_bool_member(&w, "automatic_margin", c->automatic);
	writer_count_member(&w, "grouped", c->grouped);
	writer_real_member(&w, "session_shift", c->session_shift);
	writer_key(&w, "counts");
	writer_open_inline(&w, '{');
	for (int i = 0; i < CHANGE_COUNT; i++)
		writer_count_member(&w, change_name((enum change)i), c->counts[i]);
	writer_close(&w, '}');
	writer_key(&w, "differences");
	writer_open(&w, '[');
	for (size_t i = 0; i < c->difference_count; i++)
		comparison_json_write_difference(&w, &c->differences[i]);
	writer_close(&w, ']');
	writer_bool_member(&w, "turns", c->turns);
	writer_real_member(&w, "launch_correlation", c->resemblance);
	writer_real_member(&w, "host_ratio", c->host_ratio);
	writer_text_member(&w, "host_finding", c->host_finding);
	writer_key(&w, "yardstick");
	writer_open(&w, '[');
	for (size_t i = 0; i < c->yardstick_count; i++)
		comparison_json_write_yardstick(&w, &c->yardstick[i]);
	writer_close(&w, ']');
	writer_key(&w, "faults");
	writer_open_inline(&w, '[');
	for (size_t i = 0; i < c->fault_count; i++)
		writer_text(&w, c->faults[i]);
	writer_close(&w, ']');
	writer_key(&w, "rows");
	writer_open(&w, '[');
	for (size_t i = 0; i < c->count; i++)
		comparison_json_write_row(&w, &c->rows[i]);
	writer_close(&w, ']');
	writer_close(&w, '}');
	return writer_finish(&w);
}
