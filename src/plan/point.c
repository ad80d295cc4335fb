/* A point of a sweep while a suite places it, and the values of its axes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "plan/plan.h"

/* NULL: the point has no such axis. */
static struct parameter *plan_point_parameter(const struct plan_case *point, const char *axis)
{
	for (size_t i = 0; i < point->parameter_count; i++)
		if (strcmp(point->parameters[i].key->name, axis) == 0)
			return &point->parameters[i];
	return NULL;
}

bool plan_drop_axis(struct plan_case *point, const char *axis)
{
	struct parameter *p = plan_point_parameter(point, axis);
	bool first;

	if (!p)
		abort(); /* the suite requested an axis that it does not have */
	first = p->value == section_setting(point->section, axis)->values;
	point->parameter_count--;
	memmove(p, p + 1, (size_t)(point->parameters + point->parameter_count - p) * sizeof(*p));
	return first;
}

/* True for "on" and "off", and for a word that an axis before this one may have, too. */
static bool plan_point_word_needs_name(const struct plan_case *point, size_t index)
{
	const char *word = point->parameters[index].value->text;

	if (strcmp(word, "on") == 0 || strcmp(word, "off") == 0)
		return true;
	for (size_t i = 0; i < index; i++) {
		const struct key *key = point->parameters[i].key;

		for (size_t n = 0; key->type == KEY_CHOICE && key->choices[n]; n++)
			if (strcmp(key->choices[n], word) == 0)
				return true;
	}
	return false;
}

void plan_unname_usual(struct plan_case *point, const char *axis, const char *usual)
{
	struct parameter *p = plan_point_parameter(point, axis);

	if (!p)
		return;
	p->unnamed = strcmp(p->value->text, usual) == 0;
	p->labelled = (p->key->type != KEY_CHOICE && p->key->type != KEY_TEXT) ||
		      plan_point_word_needs_name(point, (size_t)(p - point->parameters));
}

struct parameter plan_number(struct plan *plan, const struct key *key, int64_t number)
{
	struct value *value = xcalloc(1, sizeof(*value));

	*value = (struct value){ .text = xasprintf("%lld", (long long)number),
				 .integer = number,
				 .real = (double)number };
	ARRAY_GROW(plan->numbers, plan->number_count, plan->number_capacity);
	plan->numbers[plan->number_count++] = value;
	return (struct parameter){ .key = key, .value = value, .labelled = true };
}

bool plan_replace_axis(struct plan *plan, struct plan_case *point, const char *axis, int64_t number)
{
	struct parameter *p = plan_point_parameter(point, axis);

	if (p && p->value != section_setting(point->section, axis)->values)
		return false;
	if (p) {
		*p = plan_number(plan, p->key, number);
		p->labelled = false;
	}
	return true;
}

bool plan_takes_nodes(const struct plan *plan, struct plan_case *point)
{
	int64_t nodes = case_integer(point, "nodes");

	if (!plan->group.nodes) {
		plan_drop_axis(point, "nodes");
		return nodes == 1;
	}
	plan_unname_usual(point, "nodes", "1");
	return nodes == plan->group.asked;
}

bool plan_may_join(const struct plan_case *const *group, size_t count,
		   const struct plan_case *other)
{
	const struct plan_case *first = group[0];

	if (first->parameter_count != other->parameter_count)
		return false;
	for (size_t i = 0; i < first->parameter_count; i++)
		if (first->parameters[i].key != other->parameters[i].key ||
		    strcmp(first->parameters[i].value->text, other->parameters[i].value->text) != 0)
			return false;
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < group[i]->device_count * other->device_count; k++)
			if (group[i]->devices[k / other->device_count] ==
			    other->devices[k % other->device_count])
				return false;
	return true;
}

const struct value *case_find_value(const struct plan_case *c, const char *name)
{
	const struct parameter *p = plan_point_parameter(c, name);

	return p ? p->value : NULL;
}

int64_t case_integer_or(const struct plan_case *c, const char *name, int64_t otherwise)
{
	const struct value *value = case_find_value(c, name);

	return value ? value->integer : otherwise;
}

const char *case_text_or(const struct plan_case *c, const char *name, const char *otherwise)
{
	const struct value *value = case_find_value(c, name);

	return value ? value->text : otherwise;
}

const struct value *case_value(const struct plan_case *c, const char *name)
{
	const struct value *value = case_find_value(c, name);

	if (value)
		return value;
	fprintf(stderr, "gpuproof: bug: suite %s has no axis %s\n", c->suite->name, name);
	abort();
}

int64_t case_integer(const struct plan_case *c, const char *name)
{
	return case_value(c, name)->integer;
}

const char *case_text(const struct plan_case *c, const char *name)
{
	return case_value(c, name)->text;
}
