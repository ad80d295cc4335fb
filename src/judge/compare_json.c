/* A comparison as JSON, for `compare --json`. */
#include "judge/compare.h"

#include "result/json_writer.h"

static void member(struct json_writer *w, const char *name, const char *text)
{
	writer_key(w, name);
	writer_text(w, text);
}

static void number(struct json_writer *w, const char *name, double value)
{
	writer_key(w, name);
	writer_real(w, value);
}

static void flag(struct json_writer *w, const char *name, bool value)
{
	writer_key(w, name);
	writer_bool(w, value);
}

static void count(struct json_writer *w, const char *name, size_t value)
{
	writer_key(w, name);
	writer_unsigned(w, value);
}

static void write_row(struct json_writer *w, const struct comparison_row *row)
{
	writer_open(w, '{');
	member(w, "case", row->case_id);
	member(w, "metric", row->metric);
	member(w, "unit", row->unit);
	member(w, "change", change_name(row->change));
	flag(w, "possible", row->possible);
	flag(w, "wrong_result", row->wrong);
	number(w, "a", row->a);
	number(w, "b", row->b);
	number(w, "ratio", row->ratio);
	number(w, "low", row->low);
	number(w, "high", row->high);
	number(w, "clock_normalised", row->normalised);
	count(w, "launches_a", row->launches_a);
	count(w, "launches_b", row->launches_b);
	member(w, "reason", row->reason);
	writer_close(w, '}');
}

static void write_difference(struct json_writer *w, const struct difference *d)
{
	writer_open(w, '{');
	member(w, "name", d->name);
	member(w, "a", d->a);
	member(w, "b", d->b);
	writer_close(w, '}');
}

char *comparison_to_json(const struct comparison *c)
{
	struct json_writer w = { .expand = 2 };

	writer_open(&w, '{');
	member(&w, "format", "gpuproof-comparison");
	count(&w, "version", 1);
	member(&w, "sentence", c->sentence);
	number(&w, "margin", c->margin);
	writer_key(&w, "counts");
	writer_open_inline(&w, '{');
	for (int i = 0; i < CHANGE_COUNT; i++)
		count(&w, change_name((enum change)i), c->counts[i]);
	writer_close(&w, '}');
	writer_key(&w, "differences");
	writer_open(&w, '[');
	for (size_t i = 0; i < c->difference_count; i++)
		write_difference(&w, &c->differences[i]);
	writer_close(&w, ']');
	writer_key(&w, "rows");
	writer_open(&w, '[');
	for (size_t i = 0; i < c->count; i++)
		write_row(&w, &c->rows[i]);
	writer_close(&w, ']');
	writer_close(&w, '}');
	return writer_finish(&w);
}
