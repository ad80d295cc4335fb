#include "cli/help_search.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "cli/command.h"
#include "cli/fold.h"
#include "cli/topics.h"
#include "cli/usage.h"
#include "plan/schema.h"

#define GLOSSARY "glossary"
#define LINE_WIDTH ((size_t)HELP_WIDTH - 6)

/* Position in `text` where a word starts with `word`; NULL: none. */
static const char *help_find_word(const char *text, const char *word)
{
	size_t length = strlen(word);

	for (const char *s = text; *s; s++)
		if ((s == text || !isalnum((unsigned char)s[-1])) &&
		    strncasecmp(s, word, length) == 0)
			return s;
	return NULL;
}

/* Appends the command that shows `text`, and the first line of `text` that contains `word`. */
static bool search_text(const char *shown_by, const char *text, const char *word, struct text *out)
{
	const char *hit = help_find_word(text, word), *begin = hit;
	size_t length, fits = 0;
	char *line;

	if (!hit)
		return false;
	while (begin > text && begin[-1] != '\n')
		begin--;
	line = text_trimmed(begin, strcspn(begin, "\n"));
	length = strlen(line);
	for (size_t i = 0; i < length && i < LINE_WIDTH - strlen(" ..."); i++)
		if (line[i] == ' ')
			fits = i;
	text_addf(out, "  gpuproof %s\n      ", shown_by);
	if (length <= LINE_WIDTH)
		text_addf(out, "%s\n", line);
	else
		text_addf(out, "%.*s ...\n", (int)fits, line);
	free(line);
	return true;
}

static bool search_command(const struct command *command, const char *word, struct text *out)
{
	struct text text = TEXT_EMPTY, folded = TEXT_EMPTY;
	char *shown_by = xasprintf("help %s", command->name);
	bool found;

	text_addf(&text, "%s\n\n", command->summary);
	usage_forms(command, "", &text);
	usage_details(command, &text);
	fold_text(&folded, text.data, LINE_WIDTH);
	found = search_text(shown_by, folded.data, word, out);
	text_release(&text);
	text_release(&folded);
	free(shown_by);
	return found;
}

static bool search_topic(const struct embedded_file *topic, const char *word, struct text *out)
{
	struct text folded = TEXT_EMPTY;
	char *name = topic_name(topic), *shown_by = xasprintf("help %s", name);
	bool found = false;

	/* help_search() has printed the glossary's line already. */
	if (strcmp(name, GLOSSARY) != 0) {
		fold_text(&folded, (const char *)topic->data, LINE_WIDTH);
		found = search_text(shown_by, folded.data, word, out);
	}
	text_release(&folded);
	free(name);
	free(shown_by);
	return found;
}

/* Searches the keys of a section: the first with `word` in its name or help. */
static bool search_keys(const char *section, const struct key *keys, const char *word,
			struct text *out)
{
	for (; keys && keys->name; keys++)
		if (help_find_word(keys->name, word) || help_find_word(keys->help, word)) {
			char *line = xasprintf("%s: %s", keys->name, keys->help);
			char *shown_by = xasprintf("config keys %s", section);

			search_text(shown_by, line, word, out);
			free(line);
			free(shown_by);
			return true;
		}
	return false;
}

static bool search_metrics(const char *word, struct text *out)
{
	for (const struct suite *const *s = suites; *s; s++)
		for (const struct metric *m = (*s)->metrics; m->name; m++)
			if (help_find_word(m->name, word) || help_find_word(m->help, word)) {
				char *line = xasprintf("%s: %s", m->name, m->help);

				search_text("list metrics", line, word, out);
				free(line);
				return true;
			}
	return false;
}

static bool search_suites(const char *word, struct text *out)
{
	bool found = false;

	for (const struct suite *const *s = suites; *s; s++)
		found |= search_keys((*s)->name, (*s)->keys, word, out);
	return found;
}

/*
 * The glossary's line of `word`, with the meaning after two or more blanks; *length: of the line.
 */
static const char *glossary_line(const char *word, size_t *length)
{
	const struct embedded_file *topic = topic_find(GLOSSARY);
	size_t n = strlen(word);

	for (const char *s = topic_body(topic); *s; s += *length + (s[*length] == '\n')) {
		*length = strcspn(s, "\n");
		if (strncasecmp(s, word, n) == 0 && s[n] == ' ' && s[n + 1] == ' ')
			return s;
	}
	return NULL;
}

static bool add_meaning(const char *word, struct text *out)
{
	size_t length, n = strlen(word);
	const char *line = glossary_line(word, &length);
	char *singular =
		xstrndup(word, n > 1 && tolower((unsigned char)word[n - 1]) == 's' ? n - 1 : n);

	if (!line)
		line = glossary_line(singular, &length);
	if (line) {
		text_add(out, "\n"); /* fold_text() joins only lines after the first empty one */
		text_add_bytes(out, line, length);
		text_add(out, "\n");
	}
	free(singular);
	return line != NULL;
}

bool help_search(const char *word, struct text *out)
{
	struct text places = TEXT_EMPTY, meaning = TEXT_EMPTY, folded = TEXT_EMPTY;
	bool found = add_meaning(word, &meaning);

	for (const struct command *const *c = commands; *c; c++)
		search_command(*c, word, &places);
	for (const struct embedded_file *topic = embedded_topics; topic->name; topic++)
		search_topic(topic, word, &places);
	search_keys("run", run_keys, word, &places);
	search_keys("limit", limit_keys, word, &places);
	search_keys("fleet", fleet_keys, word, &places);
	search_keys("report", report_keys, word, &places);
	search_suites(word, &places);
	search_metrics(word, &places);
	found |= places.length > 0;
	if (meaning.length) {
		fold_text(&folded, meaning.data, HELP_WIDTH);
		text_addf(out, "%s\n", folded.data + 1);
	}
	if (places.length)
		text_addf(out, "'%s' is in\n\n%s", word, places.data);
	text_release(&places);
	text_release(&meaning);
	text_release(&folded);
	return found;
}
