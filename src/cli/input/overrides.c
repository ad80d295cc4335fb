#include "cli/input/overrides.h"

#include <stdlib.h>

#include "base/memory.h"

void overrides_add(struct overrides *o, char *text)
{
	ARRAY_GROW(o->items, o->count, o->capacity);
	o->items[o->count++].text = text;
}

enum status overrides_take(void *overrides, const char *name, const char *value, struct error *err)
{
	(void)name;
	overrides_add(overrides, xstrdup(value));
	return err->status;
}

void overrides_release(struct overrides *o)
{
	for (size_t i = 0; i < o->count; i++)
		free((char *)o->items[i].text);
	free(o->items);
	*o = (struct overrides){ 0 };
}
