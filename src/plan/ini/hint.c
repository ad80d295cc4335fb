#include "plan/ini/hint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/memory.h"
#include "base/text.h"

struct hint hint_for(const char *word, const char *const *names)
{
	const char *near = text_nearest(word, names);
	struct hint hint = { "" };

	if (near)
		snprintf(hint.text, sizeof(hint.text), " (did you mean '%s'?)", near);
	return hint;
}

void hint_add(struct text *list, const char *name)
{
	text_addf(list, "%s%s", list->length ? ", " : "", name);
}

struct hint hint_in(const char *word, const struct text *list)
{
	char *copy = xstrdup(list->data ? list->data : ""), *rest = copy, *name;
	const char **names = xcalloc(list->length + 1, sizeof(*names));
	struct hint hint;
	size_t n = 0;

	while ((name = strtok_r(rest, ", ", &rest)))
		names[n++] = name;
	hint = hint_for(word, names);
	free(names);
	free(copy);
	return hint;
}

void hint_files(struct text *out, const char *name, const struct embedded_file *files)
{
	struct text list = TEXT_EMPTY;

	for (; files->name; files++)
		text_addf(&list, "%s%.*s", list.length ? ", " : "", (int)strcspn(files->name, "."),
			  files->name);
	text_addf(out, "%s; shipped: %s", hint_in(name, &list).text,
		  list.data ? list.data : "none");
	text_release(&list);
}
