#include "plan/ini/hint.h"

#include <stdio.h>

#include "base/text.h"

struct hint hint_for(const char *word, const char *const *names)
{
	const char *near = text_nearest(word, names);
	struct hint hint = { "" };

	if (near)
		snprintf(hint.text, sizeof(hint.text), " (did you mean '%s'?)", near);
	return hint;
}
