/* Verdicts as JSON, for `check --json`. */
#include "judge/verdict.h"

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

static void write_check(struct json_writer *w, const struct check *c)
{
	static const char *const comparisons[] = { "at least", "at most", "sisters", "" };

	writer_open(w, '{');
	member(w, "verdict", verdict_name(c->verdict));
	flag(w, "accepted", c->accepted);
	flag(w, "wrong_result", c->wrong);
	member(w, "limit", c->limit);
	member(w, "case", c->case_id);
	member(w, "devices", c->devices);
	member(w, "model", c->model);
	member(w, "uuid", c->uuid);
	member(w, "metric", c->metric);
	member(w, "unit", c->unit);
	number(w, "value", c->value);
	number(w, "low", c->low);
	number(w, "high", c->high);
	member(w, "comparison", comparisons[c->comparison]);
	number(w, "bound", c->bound);
	number(w, "margin", c->margin);
	count(w, "launches", c->launches);
	count(w, "samples", c->samples);
	member(w, "bound_text", c->bound_text);
	member(w, "origin", c->bound_origin);
	member(w, "place", c->place);
	member(w, "reason", c->reason);
	writer_close(w, '}');
}

char *verdicts_to_json(const struct verdicts *v)
{
	struct json_writer w = { .expand = 3 };

	writer_open(&w, '{');
	member(&w, "format", "gpuproof-verdicts");
	count(&w, "version", 1);
	member(&w, "verdict", verdict_name(v->overall));
	flag(&w, "wrong_result", v->wrong);
	flag(&w, "strict", v->strict);
	member(&w, "sentence", v->sentence);
	writer_key(&w, "counts");
	writer_open(&w, '{');
	for (int i = 0; i < VERDICT_COUNT; i++)
		count(&w, verdict_name((enum verdict)i), v->counts[i]);
	writer_close(&w, '}');
	writer_key(&w, "checks");
	writer_open(&w, '[');
	for (size_t i = 0; i < v->count; i++)
		write_check(&w, &v->checks[i]);
	writer_close(&w, ']');
	writer_close(&w, '}');
	return writer_finish(&w);
}
