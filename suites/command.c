/*
 * Any program as a benchmark: started once per sample with its section's command line; the value is
 * the wall time, or one that the program reports.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "measure/run.h"
#include "plan/suite.h"
#include "suites/command/start.h"

/* Number of starts that the watchdog's patience does not cover. */
#define PATIENCE 10.0

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
	  .check = command_declare_check_json,
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
	char *metric = command_declare_metric(run->c->section), *verified;
	struct starts starts;
	const struct reporter reporter = { &starts, command_start_report };
	const struct metric *own = run->c->suite->metrics;
	const struct series *series;
	double factor;

	if (command_start_open(&starts, run, err) == STATUS_OK &&
	    run_sample_reports(run, &reporter, metric,
			       command_declare_unit(run->c->section, &factor), &series,
			       err) == STATUS_OK) {
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
