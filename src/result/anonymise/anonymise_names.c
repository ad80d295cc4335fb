/* Collects the identifying names in a result. */
#include "result/anonymise/anonymise_parts.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/text.h"
#include "result/verdict.h"

struct learning {
	struct anonymiser *anonymiser;
	char *vocabulary; /* of the program, as far as it is in the result */
};

static const char *const free_texts[] = { "label", "title", "origin" };

bool anonymise_is_free_text(const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(free_texts); i++)
		if (strcmp(key, free_texts[i]) == 0)
			return true;
	return false;
}

bool anonymise_is_number(const char *text)
{
	return text && *text && !text[strspn(text, "0123456789.")];
}

/* Conditions hold names as well: they are no vocabulary. */
static bool is_free_text(const char *key)
{
	return key && (anonymise_is_free_text(key) || strcmp(key, "where") == 0);
}

/* "label = 4711" -> "label = label-1f6c0b22d9e4" */
static void add_config_line(struct text *out, const struct anonymiser *a, const char *line)
{
	const char *equals = strstr(line, " = ");
	char *key = equals ? xstrndup(line, (size_t)(equals - line)) : NULL;

	if (key && anonymise_is_free_text(key) && anonymise_is_number(equals + 3)) {
		char *word = pseudonym(a, "label", equals + 3, strlen(equals + 3));

		text_addf(out, "%s = %s", key, word);
		free(word);
	} else {
		text_add(out, line);
	}
	free(key);
}

char *anonymise_config_numbers(const struct anonymiser *a, const char *text)
{
	struct text out = TEXT_EMPTY;

	for (const char *at = text; *at;) {
		size_t length = strcspn(at, "\n");
		char *line = xstrndup(at, length);

		add_config_line(&out, a, line);
		free(line);
		at += length;
		if (*at)
			text_add_char(&out, *at++);
	}
	return text_detach(&out);
}

static void add_words(struct text *out, const char *a, const char *b)
{
	text_addf(out, "%s\n%s\n", a ? a : "", b ? b : "");
}

/*
 * Names of suites, metrics, parameters and keys, and their values. A user's name that is part of one of them identifies nothing, and replacing it would break the document.
 */
static char *vocabulary_of(const struct result *r)
{
	struct text out = TEXT_EMPTY;

	text_add(&out, "gpuproof run default true false yes no all host cuda fake limit suite "
		       "report label title");
	for (size_t i = 0; i < r->case_count; i++) {
		const struct case_result *c = &r->cases[i];

		add_words(&out, c->suite, c->device);
		for (size_t j = 0; j < c->parameter_count; j++)
			add_words(&out, c->parameters[j].name, c->parameters[j].text);
		for (size_t j = 0; j < c->metric_count; j++)
			add_words(&out, c->metrics[j].name, c->metrics[j].unit);
	}
	for (size_t i = 0; i < r->setting_count; i++)
		add_words(&out, r->settings[i].key,
			  is_free_text(r->settings[i].key) ? NULL : r->settings[i].value);
	return text_detach(&out);
}

/* Serial numbers of GPUs consist only of digits; no other number in a text is as long. */
#define SERIAL_DIGITS 8

static bool common(const struct learning *l, const char *name)
{
	if (strspn(name, "0123456789") >= SERIAL_DIGITS && !name[strspn(name, "0123456789")])
		return false;
	return strstr(l->vocabulary, name) || !name[strspn(name, "0123456789.")];
}

static void learn(const struct learning *l, const char *kind, const char *name)
{
	if (name && !common(l, name))
		anonymiser_learn(l->anonymiser, kind, name);
}

/* "nightly.ini:12" -> "nightly.ini"; NULL: no place in a file. The caller frees it. */
static char *file_of(const char *origin)
{
	const char *colon = strrchr(origin, ':');

	if (!colon || !colon[1] || colon[1 + strspn(colon + 1, "0123456789")])
		return NULL;
	return xstrndup(origin, (size_t)(colon - origin));
}

/* Adds the last part of a path as well: messages may quote it alone. */
static void learn_file(const struct learning *l, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	size_t length = strlen(base);

	if (!slash && anonymise_shipped(path))
		return;
	learn(l, "file", path);
	learn(l, "file", base);
	if (length > 4 && text_ends_with(base, ".ini") && !anonymise_shipped(base)) {
		char *stem = xstrndup(base, length - 4);

		learn(l, "file", stem);
		free(stem);
	}
}

/* "small" of "suite trainmem small"; NULL: a section without a label, or none of a suite. */
static const char *label_in(const char *section)
{
	const char *suite = section && text_starts_with(section, "suite ") ? section + 6 : NULL;
	const char *label = suite ? strchr(suite, ' ') : NULL;

	return label ? label + 1 : NULL;
}

/* The label of a section that a shipped config has: a config that includes it may add keys of its own. */
static bool is_shipped_label(const struct result *r, const char *label)
{
	for (size_t i = 0; i < r->setting_count; i++) {
		const struct result_setting *s = &r->settings[i];
		const char *own = label_in(s->section);
		bool same = own && s->origin && strcmp(own, label) == 0;
		char *file = same ? file_of(s->origin) : NULL;
		bool shipped = file && anonymise_shipped(file);

		free(file);
		if (shipped)
			return true;
	}
	return false;
}

static void learn_label(const struct learning *l, const struct result *r, const char *label)
{
	if (label && !is_shipped_label(r, label))
		learn(l, "label", label);
}

static void learn_setting(const struct learning *l, const struct result *r,
			  const struct result_setting *s)
{
	const char *second = s->section ? strchr(s->section, ' ') : NULL;
	char *file = s->origin ? file_of(s->origin) : NULL;

	/* The text of a shipped config is no secret. */
	if (!file || !anonymise_shipped(file)) {
		if (is_free_text(s->key) && strcmp(s->key, "where") != 0)
			learn(l, s->key, s->value);
		if (second && text_starts_with(s->section, "limit "))
			learn(l, "limit", second + 1);
		else
			learn_label(l, r, label_in(s->section));
	}
	if (file)
		learn_file(l, file);
	free(file);
}

static void learn_fact(const struct learning *l, const struct fact *fact)
{
	if (!fact->name || !fact->value)
		return;
	if (strcmp(fact->name, "hostname") == 0) {
		const char *domain = strchr(fact->value, '.');
		char *first = xstrndup(fact->value, strcspn(fact->value, "."));

		learn(l, "host", fact->value);
		learn(l, "host", first);
		/* The domain of "frodo.example.org" is shared with other hosts; ".local" identifies nothing. */
		if (domain && strchr(domain + 1, '.'))
			learn(l, "domain", domain + 1);
		free(first);
	} else if (strcasestr(fact->name, "serial")) {
		learn(l, "serial", fact->value);
	}
}

/* "[limit NAME]" and "origin = TEXT" of limits as they are written into a judgement. */
static void learn_limit_line(const struct learning *l, const char *line, size_t length)
{
	static const char limit[] = "[limit ", origin[] = "origin = ";
	char *text = xstrndup(line, length);

	if (text_starts_with(text, limit) && text_ends_with(text, "]")) {
		text[length - 1] = '\0';
		learn(l, "limit", text + strlen(limit));
	} else if (text_starts_with(text, origin)) {
		learn(l, "origin", text + strlen(origin));
	}
	free(text);
}

/* Limits may come from a file that the config does not know. */
static void learn_judgement(const struct learning *l, const struct verdicts *v)
{
	if (!v || !v->limits || anonymise_shipped(v->limits))
		return;
	learn_file(l, v->limits);
	for (const char *line = v->limits_text; line && *line;) {
		size_t length = strcspn(line, "\n");

		learn_limit_line(l, line, length);
		line += length + (line[length] == '\n');
	}
	for (size_t i = 0; i < v->count; i++) {
		char *file = v->checks[i].place ? file_of(v->checks[i].place) : NULL;

		if (file)
			learn_file(l, file);
		free(file);
	}
}

void anonymiser_learn_result(struct anonymiser *a, const struct result *r)
{
	const struct learning l = { a, vocabulary_of(r) };

	learn(&l, "run", r->run_id);
	learn(&l, "label", r->label);
	for (size_t i = 0; i < r->environment_count; i++)
		learn_fact(&l, &r->environment[i]);
	for (size_t i = 0; i < r->device_count; i++) {
		learn(&l, "uuid", r->devices[i].uuid);
		learn(&l, "serial", r->devices[i].serial);
		learn(&l, "pci", r->devices[i].pci);
	}
	if (r->config_name)
		learn_file(&l, r->config_name);
	for (size_t i = 0; i < r->setting_count; i++)
		learn_setting(&l, r, &r->settings[i]);
	for (size_t i = 0; i < r->case_count; i++)
		if (!r->config_name || !anonymise_shipped(r->config_name))
			learn_label(&l, r, r->cases[i].label);
	learn_judgement(&l, r->judgement);
	free(l.vocabulary);
}
