/* Verdicts as JSON, for `check --json`. */
#include "judge/verdict.h"

#include "result/json_writer.h"

static void write_check(struct json_writer *w, const struct check *c)
{
	static const char *const comparisons[] = { "at least", "at most", "sisters", "population", "" };

	writer_open(w, '{');
	writer_text_member(w, "verdict", verdict_name(c->verdict));
	writer_bool_member(w, "accepted", c->accepted);
	writer_bool_member(w, "wrong_result", c->wrong);
	writer_text_member(w, "limit", c->limit);
	writer_text_member(w, "case", c->case_id);
	writer_text_member(w, "devices", c->devices);
	writer_text_member(w, "model", c->model);
	writer_text_member(w, "uuid", c->uuid);
	writer_text_member(w, "metric", c->metric);
	writer_text_member(w, "unit", c->unit);
	writer_real_member(w, "value", c->value);
	writer_real_member(w, "low", c->low);
	writer_real_member(w, "high", c->high);
	writer_text_member(w, "comparison", comparisons[c->comparison]);
	writer_real_member(w, "bound", c->bound);
	writer_real_member(w, "margin", c->margin);
	writer_count_member(w, "launches", c->launches);
	writer_count_member(w, "samples", c->samples);
	writer_text_member(w, "bound_text", c->bound_text);
	writer_text_member(w, "origin", c->bound_origin);
	writer_text_member(w, "place", c->place);
	writer_text_member(w, "reason", c->reason);
	writer_close(w, '}');
}

char *verdicts_to_json(const struct verdicts *v)
{
	struct json_writer w = { .expand = 3 };

	writer_open(&w, '{');
	writer_text_member(&w, "format", "gpuproof-verdicts");
	writer_count_member(&w, "version", 1);
	writer_text_member(&w, "verdict", verdict_name(v->overall));
	writer_bool_member(&w, "wrong_result", v->wrong);
	writer_bool_member(&w, "strict", v->strict);
	writer_text_member(&w, "sentence", v->sentence);
	writer_key(&w, "counts");
	writer_open(&w, '{');
	for (int i = 0; i < VERDICT_COUNT; i++)
		writer_count_member(&w, verdict_name((enum verdict)i), v->counts[i]);
	writer_close(&w, '}');
	writer_key(&w, "checks");
	writer_open(&w, '[');
	for (size_t i = 0; i < v->count; i++)
		write_check(&w, &v->checks[i]);
	writer_close(&w, ']');
	writer_close(&w, '}');
	return writer_finish(&w);
}
