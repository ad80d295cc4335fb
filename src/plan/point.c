/* One point of a sweep while a suite places it. */
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"

bool plan_drop_axis(struct plan_case *point, const char *axis)
{
	for (size_t i = 0; i < point->parameter_count; i++) {
		struct parameter *p = &point->parameters[i];
		const struct setting *setting;
		bool first;

		if (strcmp(p->key->name, axis) != 0)
			continue;
		setting = section_setting(point->section, axis);
		first = p->value == setting->values;
		point->parameter_count--;
		memmove(p, p + 1, (point->parameter_count - i) * sizeof(*p));
		return first;
	}
	abort(); /* a suite asks for an axis that it does not have */
}

void plan_unname_usual(struct plan_case *point, const char *axis, const char *usual)
{
	for (size_t i = 0; i < point->parameter_count; i++) {
		struct parameter *p = &point->parameters[i];

		if (strcmp(p->key->name, axis) != 0)
			continue;
		p->unnamed = strcmp(p->value->text, usual) == 0;
		p->labelled = (p->key->type != KEY_CHOICE && p->key->type != KEY_TEXT) ||
			      strcmp(p->value->text, "on") == 0 ||
			      strcmp(p->value->text, "off") == 0;
	}
}
