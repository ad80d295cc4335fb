#include "suites/command/start.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/hash/sha256.h"
#include "base/text.h"
#include "base/units.h"
#include "plan/sampling_rules.h"
#include "plan/suite.h"
#include "result/json/json_find.h"
#include "suites/command/patterns.h"

const char *const command_betters[] = { "auto", "higher", "lower", "none", NULL };
const char *const command_kinds[] = { "auto", "device", "host", "exact", NULL };

extern const struct suite suite_command;

/* Keys whose texts may contain placeholders, in the order in which these become axes. */
static const char *const templates[] = { "command", "environment", "directory", "output",
					 "regex",   "json",        "expect" };

enum status command_declare_check_command(const char *text, struct error *err)
{
	struct words words;

	if (command_patterns_words_split(text, &words, err) == STATUS_OK &&
	    (!words.count || !*words.items[0]))
		error_set(err, STATUS_USAGE, "no program given");
	command_patterns_words_release(&words);
	return err->status;
}

enum status command_declare_check_environment(const char *text, struct error *err)
{
	struct words words;

	command_patterns_words_split(text, &words, err);
	for (size_t i = 0; i < words.count && err->status == STATUS_OK; i++) {
		const char *word = words.items[i];
		size_t length = 0;

		while (isalnum((unsigned char)word[length]) || word[length] == '_')
			length++;
		if (!length || word[length] != '=' || isdigit((unsigned char)*word))
			error_set(err, STATUS_USAGE, "'%.60s' is not of the form NAME=value", word);
	}
	command_patterns_words_release(&words);
	return err->status;
}

enum status command_declare_check_regex(const char *text, struct error *err)
{
	size_t groups;

	if (pattern_check(text, &groups, err) == STATUS_OK && groups != 1)
		error_set(err, STATUS_USAGE,
			  "the expression has %zu groups; write exactly one group in parentheses, "
			  "which matches the value",
			  groups);
	return err->status;
}

enum status command_declare_check_expect(const char *text, struct error *err)
{
	size_t groups;

	return pattern_check(text, &groups, err);
}

enum status command_declare_check_json(const char *text, struct error *err)
{
	return json_find_check(text, err);
}

enum status command_declare_check_unit(const char *text, struct error *err)
{
	const char *unit;
	double factor;

	return units_parse_unit(text, &unit, &factor, err);
}

enum status command_declare_check_metric(const char *text, struct error *err)
{
	bool fits = islower((unsigned char)*text) && strlen(text) <= 40;

	for (const char *p = text; *p && fits; p++)
		fits = islower((unsigned char)*p) || isdigit((unsigned char)*p) || *p == '_';
	return fits ? STATUS_OK
		    : error_set(err, STATUS_USAGE,
				"invalid name; use at most 40 lower-case letters, digits and "
				"'_', beginning with a letter");
}

enum status command_declare_check_sha256(const char *text, struct error *err)
{
	if (strlen(text) == SHA256_DIGITS && strspn(text, "0123456789abcdef") == SHA256_DIGITS)
		return STATUS_OK;
	return error_set(err, STATUS_USAGE,
			 "not a SHA-256; write 64 lower-case hexadecimal digits");
}

static bool command_declare_is_given(const struct adaption *a, const char *key)
{
	const char *text = suite_set_adapt_text(a, key);

	return text && *text;
}

static void declare_axis(struct adaption *a, const char *key, const struct placeholder *p)
{
	char *name = xstrndup(p->name, p->length);
	bool own = strcmp(name, "backend") == 0 || strcmp(name, "identical_devices") == 0;

	for (const struct key *k = suite_command.keys; k->name; k++)
		own = own || strcmp(k->name, name) == 0;
	for (const struct key *k = sampling_keys; k->name; k++)
		own = own || strcmp(k->name, name) == 0;
	if (own)
		suite_set_adapt_problem(a, key,
					"{%s}: the suite has a key of this name; choose another "
					"placeholder",
					name);
	else if (!suite_set_adapt_has(a, name))
		suite_set_adapt_problem(a, key,
					"{%s} has no values; add the list %s = ..., or write "
					"{{%s}} for literal braces",
					name, name, name);
	else if (suite_set_adapt_axis(a, name, "values of the placeholder of the same name") !=
			 KEY_SIZE &&
		 p->bytes)
		suite_set_adapt_problem(a, key, "{%s:bytes}: the values of %s are not sizes", name,
					name);
	free(name);
}

static enum better command_declare_usual_better(const char *unit)
{
	static const char *const less[] = { "s", "B", "J", "W", "cycles", "°C", "degC" };

	for (size_t i = 0; i < ARRAY_SIZE(less); i++)
		if (strcmp(unit, less[i]) == 0)
			return BETTER_LOWER;
	return strchr(unit, '/') ? BETTER_HIGHER : BETTER_NONE;
}

/* Index of a word of a choice; 0 for an unknown one, which is reported elsewhere. */
static size_t command_declare_choice_index(const struct adaption *a, const char *key,
					   const char *const *words)
{
	const char *text = suite_set_adapt_text(a, key);

	for (size_t i = 0; text && words[i]; i++)
		if (strcmp(words[i], text) == 0)
			return i;
	return 0;
}

static enum better command_declare_better_of(struct adaption *a, const char *unit)
{
	static const enum better chosen[] = { [COMMAND_BETTER_HIGHER] = BETTER_HIGHER,
					      [COMMAND_BETTER_LOWER] = BETTER_LOWER,
					      [COMMAND_BETTER_NONE] = BETTER_NONE };
	size_t at = command_declare_choice_index(a, "better", command_betters);

	if (at != COMMAND_BETTER_AUTO)
		return chosen[at];
	if (command_declare_usual_better(unit) == BETTER_NONE)
		suite_set_adapt_problem(
			a, "unit", "the metric needs a direction; set better = higher or lower");
	return command_declare_usual_better(unit);
}

/* Unit in results; NULL: a problem was reported, here or for the key. */
static const char *command_declare_metric_unit(struct adaption *a, bool timed)
{
	struct error err = ERROR_NONE;
	const char *unit = NULL;
	double factor;

	if (!command_declare_is_given(a, "unit")) {
		if (!timed)
			suite_set_adapt_problem(a,
						command_declare_is_given(a, "regex") ? "regex"
										     : "json",
						"the value needs a unit; set unit = ...");
		return timed ? "s" : NULL;
	}
	if (units_parse_unit(suite_set_adapt_text(a, "unit"), &unit, &factor, &err) != STATUS_OK)
		return NULL;
	if (!timed || strcmp(unit, "s") == 0)
		return unit;
	suite_set_adapt_problem(
		a, "unit", "without regex or json, the value is the wall time, and its unit is s");
	return NULL;
}

static void declare_metric(struct adaption *a)
{
	static const enum metric_kind kinds[] = { METRIC_TIMED, METRIC_TIMED, METRIC_HOST,
						  METRIC_EXACT };
	size_t kind = command_declare_choice_index(a, "kind", command_kinds);
	bool timed = !command_declare_is_given(a, "regex") && !command_declare_is_given(a, "json");
	const char *name = command_declare_is_given(a, "metric") ? suite_set_adapt_text(a, "metric")
			   : timed                               ? "time"
								 : NULL;
	const char *unit;
	struct error err = ERROR_NONE;
	struct metric metric;

	if (suite_set_adapt_is_broken(a, "regex") || suite_set_adapt_is_broken(a, "json"))
		return;
	unit = command_declare_metric_unit(a, timed);
	if (!name)
		suite_set_adapt_problem(a, command_declare_is_given(a, "regex") ? "regex" : "json",
					"the value needs a name; set metric = ...");
	if (!name || !unit || command_declare_check_metric(name, &err) != STATUS_OK)
		return;
	metric = (struct metric){ .unit = unit,
				  .better = command_declare_better_of(a, unit),
				  .headline = 1,
				  .kind = kind == 0 && timed ? METRIC_HOST : kinds[kind],
				  .help = timed ? "wall time of the program, from its start to its "
						  "end"
						: "value reported by the program",
				  .title = command_declare_is_given(a, "title")
						   ? suite_set_adapt_text(a, "title")
						   : NULL };
	metric.name = xasprintf("%s.%s", suite_command.name, name);
	suite_set_adapt_metric(a, "metric", &metric);
	free((char *)metric.name);
}

void command_declare_adapt(struct adaption *a)
{
	bool given;
	char *path;
	size_t length;

	for (size_t i = 0; i < ARRAY_SIZE(templates); i++) {
		const char *text = suite_set_adapt_text(a, templates[i]), *end = text;
		struct placeholder p;

		while (text && command_patterns_placeholder_find(text, &p, &end)) {
			if (!command_patterns_placeholder_is_device(&p))
				declare_axis(a, templates[i], &p);
			text = end;
		}
	}
	/*
	 * Relative to its file: programs next to a config are found wherever gpuproof was started.
	 */
	given = command_declare_is_given(a, "directory");
	path = suite_set_adapt_path(a, given ? "directory" : "command",
				    given ? suite_set_adapt_text(a, "directory") : ".");
	length = strlen(path);
	if (length > 2 && text_ends_with(path, "/."))
		path[length - 2] = '\0';
	if (!given || strcmp(path, suite_set_adapt_text(a, "directory")) != 0)
		suite_set_adapt_set(a, "directory", path);
	free(path);
	if (command_declare_is_given(a, "regex") && command_declare_is_given(a, "json"))
		suite_set_adapt_problem(a, "json", "regex and json exclude each other");
	if (command_declare_is_given(a, "output") && !command_declare_is_given(a, "sha256"))
		suite_set_adapt_problem(a, "output",
					"the file `output` is used only with sha256; set sha256 = "
					"...");
	if (!command_declare_is_given(a, "regex") && !command_declare_is_given(a, "json") &&
	    strcmp(suite_set_adapt_text(a, "matches"), "all") == 0)
		suite_set_adapt_problem(a, "matches",
					"matches = all needs regex or json, because the wall time "
					"is one "
					"value per start");
	declare_metric(a);
}

enum source command_declare_source(const struct section *section)
{
	if (*section_text(section, "regex"))
		return SOURCE_REGEX;
	return *section_text(section, "json") ? SOURCE_JSON : SOURCE_TIME;
}

char *command_declare_metric(const struct section *section)
{
	const char *name = section_text(section, "metric");

	return xasprintf("%s.%s", suite_command.name, *name ? name : "time");
}

const char *command_declare_unit(const struct section *section, double *factor)
{
	struct error err = ERROR_NONE;
	const char *unit = "s";

	*factor = 1;
	/* The wall time is in seconds, whatever unit was requested. */
	if (command_declare_source(section) != SOURCE_TIME)
		units_parse_unit(section_text(section, "unit"), &unit, factor, &err);
	return unit;
}
