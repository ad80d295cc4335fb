#include "plan/ini/hint.h"

#include <stdio.h>
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

void hint_files(struct text *out, const char *name, const struct embedded_file *files)
{
	struct text list = TEXT_EMPTY;
	char words[64][48];
	const char *names[ARRAY_SIZE(words) + 1];
	size_t n = 0;

	for (; files->name && n < ARRAY_SIZE(words); files++, n++) {
		snprintf(words[n], sizeof(words[n]), "%.*s", (int)strcspn(files->name, "."),
			 files->name);
		text_addf(&list, "%s%s", n ? ", " : "", words[n]);
		names[n] = words[n];
	}
	names[n] = NULL;
	text_addf(out, "%s; shipped: %s", hint_for(name, names).text,
		  list.data ? list.data : "none");
	text_release(&list);
}
