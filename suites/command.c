/*
 * Any program as a benchmark: started by its section's command line once for each sample, its
 * figure the wall time, or what it reports of itself.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "measure/run.h"
#include "plan/suite.h"
#include "suites/command/declare.h"
#include "suites/command/start.h"

/* Starts that the watchdog's patience with signs of life does not cover. */
#define PATIENCE 10.0

static const char *const match_words[] = { "one", "all", NULL };
static const char *const visible_words[] = { "uuid", "index", "inherit", NULL };

static const struct key keys[] = {
	{ .name = "command",
	  .type = KEY_TEXT,
	  .check = command_check_command,
	  .help = "the program and its arguments; no shell reads it. {name} is the value of the "
		  "list `name` of this section, {name:bytes} a size as a number; {device}, {index} "
		  "and {uuid} are the device's (gpuproof help command)" },
	{ .name = "directory",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "to start it in, from the folder of the file that says so; empty: the folder of "
		  "the file with the command" },
	{ .name = "environment",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .check = command_check_environment,
	  .help = "NAME=value, with blanks between; on top of gpuproof's own, and recorded" },
	{ .name = "cuda_visible_devices",
	  .type = KEY_CHOICE,
	  .fallback = "uuid",
	  .choices = visible_words,
	  .help = "how the program is shown the case's GPU alone, by this variable; inherit: it is "
		  "left as it is" },
	{ .name = "timeout",
	  .type = KEY_DURATION,
	  .fallback = "10min",
	  .min = 1e-3,
	  .max = 86400,
	  .help = "of one start, which is then ended with all processes that it has started" },
	{ .name = "metric",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .check = command_check_metric,
	  .help = "what its figure is called: command.NAME; empty: command.time" },
	{ .name = "regex",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .check = command_check_regex,
	  .help = "a POSIX extended regular expression for lines of its standard output; the "
		  "figure is what its one group matches. Neither this nor json: the wall time" },
	{ .name = "json",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .check = command_check_json,
	  .help = "the path of the figure in its standard output, which is JSON: "
		  "benchmarks[name=copy].real_time, results[*].seconds" },
	{ .name = "matches",
	  .type = KEY_CHOICE,
	  .fallback = "one",
	  .choices = match_words,
	  .help = "one: a start reports one figure, and another number of them is a failure; all: "
		  "each is a sample" },
	{ .name = "unit",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .check = command_check_unit,
	  .help = "that the figure is printed in: ms, MB/s, GiB/s, GFLOP/s, %, 1" },
	{ .name = "better",
	  .type = KEY_CHOICE,
	  .fallback = "auto",
	  .choices = command_betters,
	  .help = "auto: lower for times, bytes, energy and power, higher for rates" },
	{ .name = "title", .type = KEY_TEXT, .fallback = "", .help = "of the metric on pages" },
	{ .name = "kind",
	  .type = KEY_CHOICE,
	  .fallback = "auto",
	  .choices = command_kinds,
	  .help = "what decides the figure, and so how it repeats: the device; the host, which "
		  "auto takes for the wall time; exact: nothing, it is counted" },
	{ .name = "exit_code",
	  .type = KEY_INTEGER,
	  .fallback = "0",
	  .min = 0,
	  .max = 255,
	  .help = "of a start that went well" },
	{ .name = "expect",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .check = command_check_expect,
	  .help = "an extended regular expression that its standard output must match" },
	{ .name = "sha256",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .check = command_check_sha256,
	  .help = "of its standard output, or of the file `output`, in hexadecimal" },
	{ .name = "output",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "a file that each start writes, from its directory" },
	{ .name = "warmup",
	  .type = KEY_INTEGER,
	  .fallback = "1",
	  .min = 0,
	  .max = 1e6,
	  .help = "starts before the first that counts" },
	{ .name = "max_time",
	  .type = KEY_DURATION,
	  .fallback = "5s",
	  .min = 1e-6,
	  .max = 86400,
	  .help = "of the starts of a case; those for min_samples are made in any case" },
	{ .name = "settle_time",
	  .type = KEY_DURATION,
	  .fallback = "5s",
	  .min = 0,
	  .max = 86400,
	  .help = "time beyond max_time for a series whose level still drifts" },
	{ 0 },
};
static const struct metric metrics[] = { { 0 } };

static enum status command_expand(struct plan *plan, struct plan_case *point, struct error *err)
{
	double starts = (double)section_integer(point->section, "min_samples") +
			(double)section_integer(point->section, "warmup") + 1;

	/* A start that takes its whole time is no hang, nor are all that min_samples asks for. */
	point->silent_seconds =
		section_real(point->section, "timeout") * fmax(1, starts / PATIENCE);
	return plan_add_each(plan, point, err);
}

static char *command_describe(const struct plan *plan, const struct plan_case *c)
{
	struct text line = TEXT_EMPTY;
	struct words words;

	command_words(c, &plan->devices[c->devices[0]], &words);
	for (size_t i = 0; i < words.count; i++) {
		text_add(&line, i ? " " : "");
		text_add_shell_word(&line, words.items[i]);
	}
	words_release(&words);
	return text_detach(&line);
}

static const struct metric *command_own_metric(const struct suite *suite, const char *name)
{
	const struct metric *metric = suite->metrics;

	while (strcmp(metric->name, name) != 0)
		metric++;
	return metric;
}

static enum status command_run(struct run *run, struct error *err)
{
	char *metric = command_metric(run->c->section), *verified;
	struct starts starts;
	const struct reporter reporter = { &starts, starts_report };
	const struct series *series;
	double factor;

	if (starts_open(&starts, run, err) == STATUS_OK &&
	    run_sample_reports(run, &reporter, metric, command_unit(run->c->section, &factor),
			       &series, err) == STATUS_OK) {
		/* A counted figure has no interval: no launch changes it. */
		if (command_own_metric(run->c->suite, metric)->kind == METRIC_EXACT)
			run_value(run, metric, series->statistics.median);
		else
			run_scaled(run, metric, 1, series);
		verified = starts_verified(&starts);
		run_verified(run, verified, NAN, NAN);
		free(verified);
	}
	starts_close(&starts);
	free(metric);
	return err->status;
}

const struct suite suite_command = { .name = "command",
				     .summary = "any program, by its wall time or what it reports",
				     .keys = keys,
				     .metrics = metrics,
				     .adapt = command_adapt,
				     .describe = command_describe,
				     .expand = command_expand,
				     .run = command_run };
