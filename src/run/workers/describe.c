#include "run/workers/describe.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "plan/suite.h"

static const char *describe_parameter_unit(const struct key *key)
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
static double describe_parameter_number(const struct parameter *p)
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

void describe_parameters(const struct plan_case *c, struct case_result *result)
{
	result->parameters = xcalloc(c->parameter_count, sizeof(*result->parameters));
	result->parameter_count = c->parameter_count;
	for (size_t i = 0; i < c->parameter_count; i++)
		result->parameters[i] = (struct case_parameter){
			.name = xstrdup(key_parameter(c->parameters[i].key)),
			.text = xstrdup(c->parameters[i].value->text),
			.number = describe_parameter_number(&c->parameters[i]),
			.unit = xstrdup(describe_parameter_unit(c->parameters[i].key)),
		};
	for (size_t i = 0; i < c->parameter_count; i++)
		if (!c->parameters[i].unnamed)
			case_add_axis(result, key_parameter(c->parameters[i].key),
				      c->parameters[i].value->text, c->parameters[i].labelled);
}

void describe_case(const struct plan *plan, const struct plan_case *c, struct case_result *result)
{
	case_result_init(result);
	result->suite = xstrdup(c->suite->name);
	result->label = xstrdup(c->section ? c->section->label : "");
	result->id = xstrdup(c->id);
	result->stage = c->stage;
	result->device = xstrdup(c->device_count ? plan->devices[c->devices[0]].id : "");
	result->devices = xcalloc(c->device_count, sizeof(*result->devices));
	result->device_count = c->device_count;
	for (size_t i = 0; i < c->device_count; i++)
		result->devices[i] = xstrdup(plan->devices[c->devices[i]].id);
	result->node = xstrdup("");
	result->reason = xstrdup("");
	result->notes = xstrdup("");
	describe_parameters(c, result);
}

void describe_outcome(struct case_result *result, enum case_status status, enum case_end end,
		      const char *reason)
{
	result->status = status;
	result->end = end;
	free(result->reason);
	result->reason = xstrdup(reason ? reason : "");
}
