/* Section headers: "run", "suite transfer label". */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "plan/ini/document.h"
#include "plan/ini/hint.h"
#include "plan/suite.h"

const char *const section_kinds[] = {
	"run", "defaults", "suite", "report", "limit", "fleet", NULL
};
static const char allowed_kinds[] =
	"[run], [defaults], [suite NAME], [suite NAME label], [limit NAME], [report], [fleet]";

char *header_text(const char *kind, const char *name, const char *label)
{
	return xasprintf("[%s%s%s%s%s]", kind, *name ? " " : "", name, *label ? " " : "", label);
}

/* At most `max` words of `s`; returns how many there are in all. */
static size_t split(const char *s, char **words, size_t max)
{
	size_t count = 0;

	for (;;) {
		size_t length;

		s += strspn(s, " \t");
		length = strcspn(s, " \t");
		if (!length)
			return count;
		if (count < max)
			words[count] = xstrndup(s, length);
		count++;
		s += length;
	}
}

static const struct suite *find_suite(const struct document *d, const char *name)
{
	for (const struct suite *const *s = d->suites; *s; s++)
		if (strcmp((*s)->name, name) == 0)
			return *s;
	return NULL;
}

static void unknown_suite(struct document *d, struct ini_place place, const char *header,
			  const char *name)
{
	const char *names[64];
	struct text list = TEXT_EMPTY;
	size_t n = 0;

	for (; d->suites[n] && n + 1 < ARRAY_SIZE(names); n++) {
		names[n] = d->suites[n]->name;
		text_addf(&list, "%s%s", n ? ", " : "", names[n]);
	}
	names[n] = NULL;
	document_problem(d, place, "[%s]: there is no suite '%s'%s; suites: %s", header, name,
			 hint_for(name, names).text, list.data ? list.data : "none");
	text_release(&list);
}

static void unknown_kind(struct document *d, struct ini_place place, const char *header,
			 const char *kind)
{
	const char *near = text_nearest(kind, section_kinds);

	if (find_suite(d, kind)) {
		d->suite_maybe = true;
		document_problem(d, place, "[%s] is not a section; did you mean [suite %s]?",
				 header, kind);
		return;
	}
	if (near && strcmp(near, "suite") == 0)
		d->suite_maybe = true;
	document_problem(d, place, "[%s] is not a section%s; sections: %s", header,
			 hint_for(kind, section_kinds).text, allowed_kinds);
}

static bool label_fits(const char *label)
{
	for (; *label; label++)
		if (!isalnum((unsigned char)*label) && !strchr("_-.", *label))
			return false;
	return true;
}

static bool suite_fits(struct document *d, struct ini_place place, const char *header, char **words,
		       size_t count)
{
	d->suite_maybe = true;
	if (count == 1)
		document_problem(d, place, "[suite] names no suite: write [suite NAME]");
	else if (!find_suite(d, words[1]))
		unknown_suite(d, place, header, words[1]);
	else if (count > 3)
		document_problem(d, place, "[%s] has more than a suite and a label", header);
	else if (count == 3 && !label_fits(words[2]))
		document_problem(d, place,
				 "[%s]: the label '%s' may hold letters, digits, '_', '-' and '.' "
				 "only",
				 header, words[2]);
	else
		return true;
	return false;
}

static bool limit_fits(struct document *d, struct ini_place place, const char *header, char **words,
		       size_t count)
{
	if (count == 1)
		document_problem(d, place, "[limit] has no name: write [limit NAME]");
	else if (count > 2)
		document_problem(d, place, "[%s] has more than a name", header);
	else if (!label_fits(words[1]))
		document_problem(d, place,
				 "[%s]: the name '%s' may hold letters, digits, '_', '-' and '.' "
				 "only",
				 header, words[1]);
	else
		return true;
	return false;
}

static bool words_fit(struct document *d, struct ini_place place, const char *header, char **words,
		      size_t count)
{
	if (count == 0)
		document_problem(d, place, "[] names no section; sections: %s", allowed_kinds);
	else if (strcmp(words[0], "suite") == 0)
		return suite_fits(d, place, header, words, count);
	else if (strcmp(words[0], "limit") == 0)
		return limit_fits(d, place, header, words, count);
	else if (strcmp(words[0], "run") && strcmp(words[0], "defaults") &&
		 strcmp(words[0], "report") && strcmp(words[0], "fleet"))
		unknown_kind(d, place, header, words[0]);
	else if (count > 1)
		document_problem(d, place, "[%s]: [%s] takes no name", header, words[0]);
	else
		return true;
	return false;
}

bool header_parse(struct document *d, struct ini_place place, const char *header, char **kind,
		  char **name, char **label)
{
	char *words[3] = { NULL, NULL, NULL };
	size_t count = split(header, words, 3);
	bool fits = words_fit(d, place, header, words, count);

	if (!fits) {
		for (size_t i = 0; i < 3; i++)
			free(words[i]);
		return false;
	}
	*kind = words[0];
	*name = words[1] ? words[1] : xstrdup("");
	*label = words[2] ? words[2] : xstrdup("");
	return true;
}
