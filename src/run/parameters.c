/* The parameters of a case as the result document has them. */
#include <math.h>

#include "base/memory.h"
#include "measure/run.h"

static const char *parameter_unit(const struct key *key)
{
	switch (key->type) {
	case KEY_SIZE:
		return "B";
	case KEY_DURATION:
		return "s";
	case KEY_INTEGER:
	case KEY_REAL:
	case KEY_PERCENT:
	case KEY_SHAPE:
		return "1";
	default:
		return "";
	}
}

/* NaN for words, and for shapes that no single number describes. */
static double parameter_number(const struct parameter *p)
{
	const struct value *v = p->value;

	switch (p->key->type) {
	case KEY_TEXT:
	case KEY_CHOICE:
	case KEY_BOOL:
		return NAN;
	case KEY_SHAPE:
		return v->shape[0] == v->shape[1] && v->shape[1] == v->shape[2]
			       ? (double)v->shape[0]
			       : NAN;
	case KEY_INTEGER:
	case KEY_SIZE:
		return (double)v->integer;
	default:
		return v->real;
	}
}

void case_parameters_fill(const struct plan_case *c, struct case_result *result)
{
	result->parameters = xcalloc(c->parameter_count, sizeof(*result->parameters));
	result->parameter_count = c->parameter_count;
	for (size_t i = 0; i < c->parameter_count; i++)
		result->parameters[i] = (struct case_parameter){
			.name = xstrdup(key_parameter(c->parameters[i].key)),
			.text = xstrdup(c->parameters[i].value->text),
			.number = parameter_number(&c->parameters[i]),
			.unit = xstrdup(parameter_unit(c->parameters[i].key)),
		};
	for (size_t i = 0; i < c->parameter_count; i++)
		if (!c->parameters[i].unnamed)
			case_add_axis(result, key_parameter(c->parameters[i].key),
				      c->parameters[i].value->text, c->parameters[i].labelled);
}
