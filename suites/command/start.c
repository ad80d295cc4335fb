#include "suites/command/start.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "result/json/json_find.h"
#include "suites/command/expect.h"
#include "suites/command/keep.h"
#include "suites/command/patterns.h"
#include "suites/command/placeholders.h"

/* Bytes kept of each stream; more is not a benchmark's report. */
#define MOST_OUTPUT ((size_t)4 << 20)
#define MOST_FIGURES 10000

/* The texts were checked, so there is no error. */
static void split_filled(const struct plan_case *c, const char *key,
			 const struct device_info *device, struct words *out)
{
	struct error err = ERROR_NONE;

	words_split(section_text(c->section, key), out, &err);
	for (size_t i = 0; i < out->count; i++) {
		char *word = placeholders_fill(out->items[i], c, device, ESCAPE_NOTHING);

		free(out->items[i]);
		out->items[i] = word;
	}
}

void command_words(const struct plan_case *c, const struct device_info *device, struct words *out)
{
	split_filled(c, "command", device, out);
}

/* Sets "NAME=value" in the environment, replacing an existing value. Takes ownership. */
static void command_set_variable(struct words *environment, char *assignment)
{
	size_t length = strcspn(assignment, "=") + 1;

	for (size_t i = 0; i < environment->count; i++)
		if (strncmp(environment->items[i], assignment, length) == 0) {
			free(environment->items[i]);
			environment->items[i] = assignment;
			return;
		}
	words_add(environment, assignment);
}

/*
 * The unmodified entry at `index` of CUDA_VISIBLE_DEVICES, which CUDA numbered; the caller frees
 * it.
 */
static char *visible_index(int index)
{
	const char *list = getenv("CUDA_VISIBLE_DEVICES");

	for (int i = 0; list && *list && i < index; i++) {
		list = strchr(list, ',');
		list = list ? list + 1 : NULL;
	}
	return list && *list ? xstrndup(list, strcspn(list, ",")) : xasprintf("%d", index);
}

/* Makes the case's GPU the only one that CUDA shows the program. */
static void command_show_device(struct words *environment, const struct plan_case *c,
				const struct device_info *device)
{
	const char *by = section_text(c->section, "cuda_visible_devices");
	char *index;

	if (device_is_host(device) || strcmp(by, "inherit") == 0)
		return;
	index = visible_index(device->index);
	command_set_variable(environment,
			     xasprintf("CUDA_VISIBLE_DEVICES=%s",
				       strcmp(by, "uuid") == 0 && *device->uuid ? device->uuid
										: index));
	free(index);
}

static char *command_fill_key(const struct plan_case *c, const char *key,
			      const struct device_info *device, enum escape escape)
{
	return placeholders_fill(section_text(c->section, key), c, device, escape);
}

enum status starts_open(struct starts *s, struct run *run, struct error *err)
{
	const struct plan_case *c = run->c;
	const struct device_info *device = &run->devices[0]->info;
	struct words own;

	*s = (struct starts){ .run = run, .source = command_source(c->section) };
	command_words(c, device, &s->arguments);
	for (char **variable = environ; *variable; variable++)
		words_add(&s->environment, xstrdup(*variable));
	command_show_device(&s->environment, c, device);
	split_filled(c, "environment", device, &own);
	for (size_t i = 0; i < own.count; i++)
		command_set_variable(&s->environment, xstrdup(own.items[i]));
	words_release(&own);
	s->directory = command_fill_key(c, "directory", device, ESCAPE_NOTHING);
	s->output = command_fill_key(c, "output", device, ESCAPE_NOTHING);
	s->expect = command_fill_key(c, "expect", device, ESCAPE_REGEX);
	s->pattern = s->source == SOURCE_JSON ? command_fill_key(c, "json", device, ESCAPE_NOTHING)
					      : command_fill_key(c, "regex", device, ESCAPE_REGEX);
	s->all = strcmp(section_text(c->section, "matches"), "all") == 0;
	command_unit(c->section, &s->factor);
	s->program = (struct program){ .arguments = s->arguments.items,
				       .environment = s->environment.items,
				       .directory = s->directory,
				       .timeout_seconds = section_real(c->section, "timeout"),
				       .stop = run->sampler.stop,
				       .most_output = MOST_OUTPUT };
	return program_guard_open(&s->guard, err);
}

void starts_close(struct starts *s)
{
	program_guard_close(s->guard);
	words_release(&s->arguments);
	words_release(&s->environment);
	free(s->directory);
	free(s->output);
	free(s->expect);
	free(s->pattern);
}

/* Extracts the values from its output, in the program's unit. */
static enum status command_find_figures(const struct starts *s, const struct program_end *end,
					double **figures, size_t *count, struct error *err)
{
	const char *text = end->output.kept.data ? end->output.kept.data : "";
	const char *key = s->source == SOURCE_JSON ? "json" : "regex";

	*figures = NULL;
	*count = 0;
	if (end->output.bytes > MOST_OUTPUT)
		return error_set(err, STATUS_USAGE,
				 "standard output has %zu bytes; at most %zu are searched",
				 end->output.bytes, MOST_OUTPUT);
	if (s->source == SOURCE_JSON)
		json_find_numbers(text, end->output.kept.length, s->pattern, figures, count, err);
	else
		pattern_numbers(s->pattern, text, figures, count, err);
	if (err->status != STATUS_OK)
		return error_prefix(err, "standard output, %s", key);
	if (*count == 0)
		return error_set(err, STATUS_USAGE,
				 "%s = %.200s finds no value in standard "
				 "output",
				 key, s->pattern);
	if (*count > 1 && !s->all)
		return error_set(err, STATUS_USAGE,
				 "%s = %.200s finds %zu values in standard output; set matches "
				 "= all to take each as a sample",
				 key, s->pattern, *count);
	return *count <= MOST_FIGURES ? STATUS_OK
				      : error_set(err, STATUS_USAGE,
						  "standard output has %zu values; at most %d "
						  "are read",
						  *count, MOST_FIGURES);
}

static enum status command_report_figures(const struct starts *s, const struct program_end *end,
					  struct reported *out, struct error *err)
{
	double *figures = NULL;
	size_t count = 0;

	if (s->source == SOURCE_TIME) {
		reported_add(out, end->seconds);
		return STATUS_OK;
	}
	command_find_figures(s, end, &figures, &count, err);
	for (size_t i = 0; i < count && err->status == STATUS_OK; i++) {
		if (figures[i] < 0)
			error_set(err, STATUS_USAGE, "the program reports %g, which is negative",
				  figures[i]);
		reported_add(out, figures[i] * s->factor);
	}
	free(figures);
	return err->status;
}

enum status starts_report(void *starts, struct reported *out, struct error *err)
{
	struct starts *s = starts;
	struct program_end end;
	struct timespec began = expect_time();
	enum status status = program_run(&s->program, s->guard, &end, err);

	/* A text ends at its first NUL. */
	for (size_t i = 0; i < end.output.kept.length; i++)
		if (!end.output.kept.data[i])
			end.output.kept.data[i] = '?';
	if (status == STATUS_OK)
		status = expect_end(s, &end, began, err);
	if (status == STATUS_OK)
		status = command_report_figures(s, &end, out, err);
	s->count += status == STATUS_OK;
	if (status != STATUS_OK && status != STATUS_INTERRUPTED) {
		error_prefix(err, "start %zu of '%.100s'", s->count + 1, s->arguments.items[0]);
		keep_output(s->run, &end, err);
	}
	program_end_release(&end);
	return status;
}

char *starts_verified(const struct starts *s)
{
	const struct section *section = s->run->c->section;
	struct text text = TEXT_EMPTY;

	/* Texts of the section may contain what an anonymised result must not show. */
	text_addf(&text, "exit code %lld", (long long)section_integer(section, "exit_code"));
	if (*s->expect)
		text_add(&text, ", output as expected");
	if (*section_text(section, "sha256"))
		text_addf(&text, ", SHA-256 of %s",
			  *s->output ? "the output file" : "standard output");
	text_addf(&text, ", of %zu start%s", s->count, text_plural(s->count));
	return text_detach(&text);
}
