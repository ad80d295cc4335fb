#include "run/workers/describe.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "plan/suite.h"

/* Name, text, number and unit; NaN for words, and for shapes that no single number describes. */
static struct case_parameter describe_parameter(const struct parameter *p)
{
	const struct value *v = p->value;
	double number = v->real;
	const char *unit = "1";

	switch (p->key->type) {
	case KEY_TEXT:
	case KEY_CHOICE:
	case KEY_BOOL:
		unit = "";
		number = NAN;
		break;
	case KEY_SHAPE:
		number = v->shape[0] == v->shape[1] && v->shape[1] == v->shape[2]
				 ? (double)v->shape[0]
				 : NAN;
		break;
	case KEY_SIZE:
		unit = "B";
		number = (double)v->integer;
		break;
	case KEY_INTEGER:
		number = (double)v->integer;
		break;
	case KEY_DURATION:
		unit = "s";
		break;
	default:
		break;
	}
	return (struct case_parameter){ .name = xstrdup(key_parameter(p->key)),
					.text = xstrdup(v->text),
					.number = number,
					.unit = xstrdup(unit) };
}

void describe_parameters(const struct plan_case *c, struct case_result *result)
{
	result->parameters = xcalloc(c->parameter_count, sizeof(*result->parameters));
	result->parameter_count = c->parameter_count;
	for (size_t i = 0; i < c->parameter_count; i++) {
		result->parameters[i] = describe_parameter(&c->parameters[i]);
		if (!c->parameters[i].unnamed)
			case_add_axis(result, key_parameter(c->parameters[i].key),
				      c->parameters[i].value->text, c->parameters[i].labelled);
	}
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
