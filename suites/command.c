/*
 * Any program as a benchmark: started once per sample with its section's command line; the value is
 * the wall time, or one that the program reports.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash/sha256.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "measure/run.h"
#include "plan/sampling_rules.h"
#include "plan/suite.h"
#include "plan/suites/adapt.h"
#include "suites/command/start.h"

/* Number of starts that the watchdog's patience does not cover. */
#define PATIENCE 10.0

static const char *const command_betters[] = { "auto", "higher", "lower", "none", NULL };
static const char *const command_kinds[] = { "auto", "device", "host", "exact", NULL };

extern const struct suite suite_command;

/* Keys whose texts may contain placeholders, in the order in which these become axes. */
static const char *const templates[] = { "command", "environment", "directory", "output",
					 "regex",   "json",        "expect" };

static enum status command_declare_check_command(const char *text, struct error *err)
{
	struct words words;

	if (command_patterns_words_split(text, &words, err) == STATUS_OK &&
	    (!words.count || !*words.items[0]))
		error_set(err, STATUS_USAGE, "no program given");
	command_patterns_words_release(&words);
	return err->status;
}

static enum status command_declare_check_environment(const char *text, struct error *err)
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

static enum status command_declare_check_regex(const char *text, struct error *err)
{
	size_t groups;

	if (pattern_check(text, &groups, err) == STATUS_OK && groups != 1)
		error_set(err, STATUS_USAGE,
			  "the expression has %zu groups; write exactly one group in parentheses, "
			  "which matches the value",
			  groups);
	return err->status;
}

static enum status command_declare_check_expect(const char *text, struct error *err)
{
	size_t groups;

	return pattern_check(text, &groups, err);
}

static enum status command_declare_check_unit(const char *text, struct error *err)
{
	const char *unit;
	double factor;

	return units_parse_unit(text, &unit, &factor, err);
}

static enum status command_declare_check_metric(const char *text, struct error *err)
{
	bool fits = islower((unsigned char)*text) && strlen(text) <= 40;

	for (const char *p = text; *p && fits; p++)
		fits = islower((unsigned char)*p) || isdigit((unsigned char)*p) || *p == '_';
	return fits ? STATUS_OK
		    : error_set(err, STATUS_USAGE,
				"invalid name; use at most 40 lower-case letters, digits and "
				"'_', beginning with a letter");
}

static enum status command_declare_check_sha256(const char *text, struct error *err)
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

static void command_declare_axis(struct adaption *a, const char *key, const struct placeholder *p)
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
	/* In the order of command_betters, whose first word is auto. */
	static const enum better chosen[] = { BETTER_NONE, BETTER_HIGHER, BETTER_LOWER,
					      BETTER_NONE };
	size_t at = command_declare_choice_index(a, "better", command_betters);

	if (at > 0)
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

static void command_declare_metric(struct adaption *a)
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

static void command_declare_adapt(struct adaption *a)
{
	bool given;
	char *path;
	size_t length;

	for (size_t i = 0; i < ARRAY_SIZE(templates); i++) {
		const char *text = suite_set_adapt_text(a, templates[i]), *end = text;
		struct placeholder p;

		while (text && command_patterns_placeholder_find(text, &p, &end)) {
			if (!command_patterns_placeholder_is_device(&p))
				command_declare_axis(a, templates[i], &p);
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
	command_declare_metric(a);
}

static const char *const match_words[] = { "one", "all", NULL };
static const char *const visible_words[] = { "uuid", "index", "inherit", NULL };

static const struct key keys[] = {
	{ .name = "command",
	  .type = KEY_TEXT,
	  .check = command_declare_check_command,
	  .help = "program and arguments, run without a shell. {name}: a value of the list `name` "
		  "in this section; {name:bytes}: a size in bytes; {device}, {index}, {uuid}: of "
		  "the device (see gpuproof help command)" },
	{ .name = "directory",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "working directory, relative to the folder of this config; empty: that folder" },
	{ .name = "environment",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .check = command_declare_check_environment,
	  .help = "environment variables to add, as NAME=value separated by blanks; the result "
		  "stores them" },
	{ .name = "cuda_visible_devices",
	  .type = KEY_CHOICE,
	  .fallback = "uuid",
	  .choices = visible_words,
	  .help = "environment variable that restricts the program to the GPU of the case; "
		  "inherit: set no variable" },
	{ .name = "timeout",
	  .type = KEY_DURATION,
	  .fallback = "10min",
	  .min = 1e-3,
	  .max = 86400,
	  .help = "time limit of one start; after it, the program and its children are killed" },
	{ .name = "metric",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .check = command_declare_check_metric,
	  .help = "name of the metric: NAME gives command.NAME; empty: command.time" },
	{ .name = "regex",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .check = command_declare_check_regex,
	  .help = "POSIX extended regular expression, applied to each line of standard output; its "
		  "one group matches the value. Without regex and json, the value is the wall "
		  "time" },
	{ .name = "json",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .check = command_start_check_json,
	  .help = "path of the value in the JSON document on standard output: "
		  "benchmarks[name=copy].real_time, results[*].seconds" },
	{ .name = "matches",
	  .type = KEY_CHOICE,
	  .fallback = "one",
	  .choices = match_words,
	  .help = "one: standard output must contain exactly one value; all: every value in it is "
		  "a sample" },
	{ .name = "unit",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .check = command_declare_check_unit,
	  .help = "unit of the printed value: ms, MB/s, GiB/s, GFLOP/s, %, 1" },
	{ .name = "better",
	  .type = KEY_CHOICE,
	  .fallback = "auto",
	  .choices = command_betters,
	  .help = "whether lower or higher values are better; auto: lower for times, bytes, energy "
		  "and power; higher for rates" },
	{ .name = "title",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "description of the metric for the report" },
	{ .name = "kind",
	  .type = KEY_CHOICE,
	  .fallback = "auto",
	  .choices = command_kinds,
	  .help = "source of the variation between sessions: device; host (auto: wall times); "
		  "exact: a count that does not vary" },
	{ .name = "exit_code",
	  .type = KEY_INTEGER,
	  .fallback = "0",
	  .min = 0,
	  .max = 255,
	  .help = "exit code of a start that succeeded" },
	{ .name = "expect",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .check = command_declare_check_expect,
	  .help = "POSIX extended regular expression that standard output must match" },
	{ .name = "sha256",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .check = command_declare_check_sha256,
	  .help = "expected SHA-256 of standard output, or of the file `output`, in hexadecimal" },
	{ .name = "output",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "file that each start writes, relative to its working directory; its content is "
		  "checked with sha256" },
	{ .name = "warmup",
	  .type = KEY_INTEGER,
	  .fallback = "1",
	  .min = 0,
	  .max = 1e6,
	  .help = "number of warm-up starts, which are not counted" },
	{ .name = "max_time",
	  .type = KEY_DURATION,
	  .fallback = "5s",
	  .min = 1e-6,
	  .max = 86400,
	  .help = "time limit for all starts of a case; min_samples starts are always made" },
	{ .name = "settle_time",
	  .type = KEY_DURATION,
	  .fallback = "5s",
	  .min = 0,
	  .max = 86400,
	  .help = "time added to max_time while the values drift" },
	{ 0 },
};
static const struct metric metrics[] = { { 0 } };

static enum status command_expand(struct plan *plan, struct plan_case *point, struct error *err)
{
	double starts = (double)section_integer(point->section, "min_samples") +
			(double)section_integer(point->section, "warmup") + 1;

	/*
	 * A start that takes its whole timeout is not hung, nor are the starts that min_samples
	 * requires.
	 */
	point->silent_seconds =
		section_real(point->section, "timeout") * fmax(1, starts / PATIENCE);
	return plan_add_each(plan, point, err);
}

static char *command_describe(const struct plan *plan, const struct plan_case *c)
{
	struct text line = TEXT_EMPTY;
	struct words words;

	command_start_words(c, &plan->devices[c->devices[0]], &words);
	for (size_t i = 0; i < words.count; i++) {
		text_add(&line, i ? " " : "");
		text_add_shell_word(&line, words.items[i]);
	}
	command_patterns_words_release(&words);
	return text_detach(&line);
}

static enum status command_run(struct run *run, struct error *err)
{
	const char *name = section_text(run->c->section, "metric");
	char *metric = xasprintf("%s.%s", suite_command.name, *name ? name : "time"), *verified;
	struct starts starts;
	const struct reporter reporter = { &starts, command_start_report };
	const struct metric *own = run->c->suite->metrics;
	const struct series *series;
	double factor;

	if (command_start_open(&starts, run, err) == STATUS_OK &&
	    run_sample_reports(run, &reporter, metric, command_start_unit(run->c->section, &factor),
			       &series, err) == STATUS_OK) {
		while (strcmp(own->name, metric) != 0)
			own++;
		/* A counted value has no interval, because it does not vary between launches. */
		if (own->kind == METRIC_EXACT)
			run_value(run, metric, series->statistics.median);
		else
			run_scaled(run, metric, 1, series);
		verified = command_start_verified(&starts);
		run_verified(run, verified, NAN, NAN);
		free(verified);
	}
	command_start_close(&starts);
	free(metric);
	return err->status;
}

const struct suite suite_command = { .name = "command",
				     .summary = "any program, measured by its wall time or by a "
						"value that it prints",
				     .keys = keys,
				     .metrics = metrics,
				     .adapt = command_declare_adapt,
				     .describe = command_describe,
				     .expand = command_expand,
				     .run = command_run };
