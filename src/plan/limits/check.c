#include "plan/limits/check.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "plan/header.h"
#include "plan/ini/hint.h"
#include "plan/limits/limit.h"
#include "plan/resolve.h"

/* Location of a setting's entry. */
static struct ini_place config_check_setting_place(const struct document *d,
						   const struct section *section, const char *key)
{
	const struct document_section *own =
		document_find(d, section->kind, section->name, section->label);
	const struct entry *entry = section_entry(own, key);

	if (!entry && section->suite)
		entry = section_entry(document_find(d, "defaults", "", ""), key);
	return entry ? entry->place : own ? own->place : (struct ini_place){ 0, 0 };
}

static bool config_check_is_word(const char *s)
{
	if (!isalpha((unsigned char)*s))
		return false;
	while (isalnum((unsigned char)*s) || *s == '_' || *s == '-')
		s++;
	return !*s;
}

/* Words for an unspecified backend in any section; no module has such a name. */
static bool is_reserved(const char *s)
{
	return strcmp(s, "auto") == 0 || strcmp(s, "any") == 0 || strcmp(s, "all") == 0;
}

/*
 * A loadable backend may have any name, but a name similar to a known one is a misspelling. `none`:
 * the word for an unspecified backend, "auto" or "any".
 */
static void check_backend(const struct section *section, const char *none, struct document *d)
{
	const char *const known[] = { none, "cuda", "host", "cuda13", "cuda12", "cuda11", NULL };
	const struct setting *setting = setting_or_null(section, "backend");
	const char *name = setting ? setting->values[0].text : none;
	char *title;

	for (size_t i = 0; known[i]; i++)
		if (strcmp(name, known[i]) == 0)
			return;
	if (!text_nearest(name, known) && config_check_is_word(name) && !is_reserved(name))
		return;
	title = header_text(section->kind, section->name, section->label);
	document_problem(d, config_check_setting_place(d, section, "backend"),
			 "%s backend = %.60s: '%.60s' is not one of %s, cuda, host%s", title, name,
			 name, none, hint_for(name, known).text);
	free(title);
}

static bool all_digits(const char *s)
{
	return *s && strspn(s, "0123456789") == strlen(s) && strlen(s) <= 4;
}

/* "0" or "cuda:0". */
static bool config_check_is_device(const char *s)
{
	const char *colon = strchr(s, ':');
	bool fits;
	char *word;

	if (!colon)
		return all_digits(s);
	word = xstrndup(s, (size_t)(colon - s));
	fits = config_check_is_word(word) && all_digits(colon + 1);
	free(word);
	return fits;
}

static bool config_check_is_all(const struct setting *setting)
{
	return setting->count == 1 && strcmp(setting->values[0].text, "all") == 0;
}

/* Reports a value that occurs twice. */
static void check_repeats(const struct section *run, const struct setting *setting,
			  struct document *d)
{
	for (size_t i = 1; i < setting->count; i++)
		for (size_t j = 0; j < i; j++)
			if (strcmp(setting->values[i].text, setting->values[j].text) == 0) {
				document_problem(d,
						 config_check_setting_place(d, run,
									    setting->key->name),
						 "[run] %s: '%.60s' is listed twice",
						 setting->key->name, setting->values[i].text);
				return;
			}
}

static void check_devices(const struct section *run, struct document *d)
{
	const struct setting *setting = setting_or_null(run, "devices");

	if (!setting || config_check_is_all(setting))
		return;
	for (size_t i = 0; i < setting->count; i++)
		if (!config_check_is_device(setting->values[i].text)) {
			document_problem(d, config_check_setting_place(d, run, "devices"),
					 "[run] devices: '%.60s' is not a device; allowed: all, or "
					 "indices (0, 1) or ids (cuda:0, host:1)",
					 setting->values[i].text);
			return;
		}
	check_repeats(run, setting, d);
}

static bool config_check_has_suite(const struct config *config, const char *name)
{
	for (size_t i = 0; i < config->count; i++)
		if (config->sections[i].suite && strcmp(config->sections[i].name, name) == 0)
			return true;
	return false;
}

static void check_suites(const struct config *config, struct document *d)
{
	const struct section *run = &config->sections[0];
	const struct setting *setting = setting_or_null(run, "suites");
	const char *names[64];
	size_t n = 0;

	if (!setting || config_check_is_all(setting))
		return;
	for (size_t i = 0; i < config->count && n + 1 < ARRAY_SIZE(names); i++)
		if (config->sections[i].suite)
			names[n++] = config->sections[i].name;
	names[n] = NULL;
	for (size_t i = 0; i < setting->count; i++) {
		if (config_check_has_suite(config, setting->values[i].text))
			continue;
		document_problem(d, config_check_setting_place(d, run, "suites"),
				 "[run] suites: the config has no [suite %.60s]%s",
				 setting->values[i].text,
				 hint_for(setting->values[i].text, names).text);
		return;
	}
	check_repeats(run, setting, d);
}

static void check_sampling(const struct section *section, struct document *d)
{
	const struct setting *min = setting_or_null(section, "min_samples");
	const struct setting *max = setting_or_null(section, "max_samples");
	const char *key;
	char *title;

	if (!min || !max || min->values[0].integer <= max->values[0].integer)
		return;
	key = strcmp(max->origin, "default") == 0 ? "min_samples" : "max_samples";
	title = header_text(section->kind, section->name, section->label);
	document_problem(d, config_check_setting_place(d, section, key),
			 "%s: min_samples = %s exceeds max_samples = %s", title,
			 min->values[0].text, max->values[0].text);
	free(title);
}

struct limit_check {
	const struct section *section;
	struct document *d;
};

static void limit_problem(void *context, const char *key, const char *message)
{
	const struct limit_check *check = context;
	const struct setting *setting = *key ? setting_or_null(check->section, key) : NULL;
	char *title =
		header_text(check->section->kind, check->section->name, check->section->label);

	if (setting)
		document_problem(check->d,
				 config_check_setting_place(check->d, check->section, key),
				 "%s %s = %.60s%s: %s", title, key, setting->values[0].text,
				 strlen(setting->values[0].text) > 60 ? "..." : "", message);
	else
		document_problem(check->d,
				 config_check_setting_place(check->d, check->section, key),
				 "%s: %s", title, message);
	free(title);
}

static void check_limit(const struct section *section, const struct schema *schema,
			struct document *d)
{
	struct limit_check check = { section, d };
	struct limit limit;

	if (limit_read(&limit, section, schema, limit_problem, &check))
		limit_release(&limit);
}

void config_check(const struct config *config, const struct schema *schema, struct document *d)
{
	check_backend(&config->sections[0], "auto", d);
	check_devices(&config->sections[0], d);
	check_suites(config, d);
	for (size_t i = 0; i < config->count; i++)
		if (config->sections[i].suite) {
			check_backend(&config->sections[i], "any", d);
			check_sampling(&config->sections[i], d);
		} else if (strcmp(config->sections[i].kind, "limit") == 0) {
			check_limit(&config->sections[i], schema, d);
		}
}
