/* Names of configs, sections, limits and cases: those that come with the program stay. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/embedded.h"
#include "base/memory.h"
#include "base/text.h"
#include "result/anonymise/anonymise_parts.h"

static bool is_in(const char *const *words, const char *word)
{
	for (; *words; words++)
		if (strcmp(*words, word) == 0)
			return true;
	return false;
}

/*
 * True if a line of a shipped config or of shipped limits begins with `begin` and ends with `end`.
 */
static bool shipped_line(const char *begin, const char *end)
{
	const struct embedded_file *const tables[] = { embedded_configs, embedded_limits };
	const size_t length = strlen(begin), tail = strlen(end);

	for (size_t t = 0; t < ARRAY_SIZE(tables); t++)
		for (const struct embedded_file *f = tables[t]; f->name; f++)
			for (const char *line = (const char *)f->data; *line;) {
				size_t n = strcspn(line, "\n");

				if (n >= length + tail && memcmp(line, begin, length) == 0 &&
				    memcmp(line + n - tail, end, tail) == 0)
					return true;
				line += n + (line[n] == '\n');
			}
	return false;
}

/* "quick", "quick.ini", "limits/h200.ini" */
static bool shipped_file(const char *name)
{
	const bool limits = text_starts_with(name, "limits/");
	const char *base = limits ? name + strlen("limits/") : name;
	char *file = xasprintf("%s%s", base, text_ends_with(base, ".ini") ? "" : ".ini");
	bool found = embedded_find(embedded_limits, file) ||
		     (!limits && embedded_find(embedded_configs, file));

	free(file);
	return found;
}

char *anonymise_label(struct anonymiser *a, const char *label)
{
	char *end = xasprintf(" %s]", label);
	bool shipped = !*label || shipped_line("[suite ", end);

	free(end);
	return shipped ? xstrdup(label) : anonymise_name(a, "label", label);
}

char *anonymise_limit(struct anonymiser *a, const char *limit)
{
	char *header = xasprintf("[limit %s]", limit);
	bool shipped = !*limit || strcmp(limit, "run") == 0 || shipped_line(header, "");

	free(header);
	return shipped ? xstrdup(limit) : anonymise_name(a, "limit", limit);
}

char *anonymise_file(struct anonymiser *a, const char *name)
{
	const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
	char *stem;

	if (!*name || shipped_file(name))
		return xstrdup(name);
	/* Messages may quote the last part alone, with its suffix or without. */
	stem = text_ends_with(base, ".ini") ? xstrndup(base, strlen(base) - 4) : xstrdup(base);
	if (!shipped_file(base)) {
		anonymiser_learn(a, "file", base);
		anonymiser_learn(a, "file", stem);
	}
	free(stem);
	return anonymise_name(a, "file", name);
}

char *anonymise_place(struct anonymiser *a, const char *place)
{
	const char *colon = strrchr(place, ':');
	char *file, *word, *out;

	if (!*place || text_starts_with(place, "--") || strcmp(place, "default") == 0)
		return xstrdup(place);
	if (!colon || !colon[1] || colon[1 + strspn(colon + 1, "0123456789")])
		return anonymise_file(a, place);
	file = xstrndup(place, (size_t)(colon - place));
	word = anonymise_file(a, file);
	out = xasprintf("%s%s", word, colon);
	free(file);
	free(word);
	return out;
}

char *anonymise_section(struct anonymiser *a, const char *section)
{
	const char *label = text_starts_with(section, "suite ") ? strchr(section + 6, ' ') : NULL;
	bool limit = text_starts_with(section, "limit ");
	const char *name = limit ? section + 6 : label ? label + 1 : NULL;
	char *word, *out;

	if (!name)
		return xstrdup(section);
	word = limit ? anonymise_limit(a, name) : anonymise_label(a, name);
	out = xasprintf("%.*s%s", (int)(name - section), section, word);
	free(word);
	return out;
}

/* "label:big, size:64MiB": the labels. */
static char *anonymise_where(struct anonymiser *a, const char *where)
{
	struct text out = TEXT_EMPTY;

	while (*where) {
		size_t n = strcspn(where, ":|,"), end = n;
		static const char label[] = "label";
		size_t name = n;

		while (name && where[name - 1] == ' ')
			name--;
		text_add_bytes(&out, where, n);
		if (where[n] == ':' && name >= strlen(label) &&
		    memcmp(where + name - strlen(label), label, strlen(label)) == 0) {
			do {
				char *word, *trimmed;

				text_add_char(&out, where[end++]);
				n = strcspn(where + end, "|,");
				trimmed = text_trimmed(where + end, n);
				word = anonymise_label(a, trimmed);
				text_add(&out, word);
				free(word);
				free(trimmed);
				end += n;
			} while (where[end] == '|');
		} else if (where[n]) {
			text_add_char(&out, where[end++]);
		}
		where += end;
	}
	return text_detach(&out);
}

char *anonymise_setting(struct anonymiser *a, const char *key, const char *value)
{
	char *line = xasprintf("%s = %s", key, value);
	bool shipped = shipped_line(line, "");
	char *known, *word;

	free(line);
	if (!*value || shipped)
		return xstrdup(value);
	if (is_in(anonymise_named_keys, key))
		return anonymise_name(a, key, value);
	known = strcmp(key, "where") == 0 ? anonymise_where(a, value) : xstrdup(value);
	if (!anonymise_tells(a, known, false))
		return known;
	free(known);
	word = anonymise_name(a, "value", value);
	return word;
}

/* "[limit tight]" or "label = big"; anything else, a comment as well, is left out. */
static void add_ini_line(struct anonymiser *a, const char *line, struct text *out)
{
	size_t length = strlen(line);
	const char *equals = strchr(line, '=');

	if (*line == '[' && line[length - 1] == ']') {
		char *header = xstrndup(line + 1, length - 2),
		     *section = anonymise_section(a, header);

		text_addf(out, "[%s]\n", section);
		free(section);
		free(header);
	} else if (equals && !strchr(";#", *line)) {
		char *key = text_trimmed(line, (size_t)(equals - line));
		char *value = text_trimmed(equals + 1, strlen(equals + 1));
		char *word = anonymise_setting(a, key, value);

		text_addf(out, "%s =%s%s\n", key, *word ? " " : "", word);
		free(word);
		free(value);
		free(key);
	} else if (!length) {
		text_add_char(out, '\n');
	}
}

char *anonymise_ini(struct anonymiser *a, const char *text)
{
	struct text out = TEXT_EMPTY;

	while (*text) {
		size_t n = strcspn(text, "\n");
		char *line = text_trimmed(text, n);

		add_ini_line(a, line, &out);
		free(line);
		text += n + (text[n] == '\n');
	}
	return text_detach(&out);
}

/* "transfer:big/h2d/64MiB@cuda:0" */
char *anonymise_case(struct anonymiser *a, const char *id)
{
	size_t suite = strcspn(id, ":/@");
	size_t length = id[suite] == ':' ? strcspn(id + suite + 1, "/@") : 0;
	char *label = xstrndup(id + suite + (length > 0), length);
	char *word = anonymise_label(a, label);
	char *out = xasprintf("%.*s%s%s", (int)(suite + (length > 0)), id, word,
			      id + suite + (length > 0) + length);

	free(word);
	free(label);
	return out;
}

char *anonymise_fact(struct anonymiser *a, const char *name, const char *value)
{
	const char *domain = strchr(value, '.');
	char *known;

	if (strcmp(name, "hostname") == 0) {
		char *first = xstrndup(value, strcspn(value, "."));

		anonymiser_learn(a, "host", first);
		/*
		 * The domain of "frodo.example.org" is shared with other hosts; ".local" identifies
		 * nothing.
		 */
		if (domain && strchr(domain + 1, '.'))
			anonymiser_learn(a, "domain", domain + 1);
		free(first);
		return anonymise_name(a, "host", value);
	}
	if (strcasestr(name, "serial"))
		return anonymise_name(a, "serial", value);
	if (!is_in(anonymise_facts, name) && !text_starts_with(name, "env "))
		return NULL;
	known = anonymise_known(a, value);
	if (!anonymise_tells(a, known, true))
		return known;
	free(known);
	return xstrdup(ANONYMISE_LEFT_OUT);
}
