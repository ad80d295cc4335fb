/* gpuproof watch: progress of a run, from its DIR/status.json. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/options.h"
#include "result/status/run_status.h"

extern const struct command command_watch;

/* Without a terminal, prints text when something ends, and otherwise at this interval. */
#define LINE_SECONDS 60.0

struct watch_arguments {
	bool once, json;
};

static const struct option_row rows[] = {
	{ .name = "once",
	  FLAG_AT(watch_arguments, once),
	  .help = "print the progress once and exit" },
	{ .name = "json",
	  FLAG_AT(watch_arguments, json),
	  .help = "print the document as a line each time it changes" },
	{ 0 },
};

/* State of the screen. */
struct screen {
	bool terminal;
	size_t lines; /* lines that the next output replaces */
	double printed_at;
	char updated[32];
};

static void watch_print_text(struct screen *screen, const struct run_status *status, bool lost)
{
	bool ended = status->exit_code >= 0 || lost;
	struct text text = TEXT_EMPTY;
	size_t lines;

	if (!screen->terminal && !ended && screen->printed_at > 0 &&
	    clock_seconds() - screen->printed_at < LINE_SECONDS)
		return;
	screen->printed_at = clock_seconds();
	run_status_print(status, lost, &text);
	if (screen->terminal && screen->lines)
		printf("\033[%zuA\r\033[J", screen->lines);
	fputs(text.data, stdout);
	lines = 0;
	for (size_t i = 0; i < text.length; i++)
		lines += text.data[i] == '\n';
	screen->lines = lines;
	text_release(&text);
}

static int watch_follow(const char *directory, const struct watch_arguments *a)
{
	const char *term = getenv("TERM");
	struct screen screen = { .terminal = isatty(STDOUT_FILENO) && !a->once && term &&
					     strcmp(term, "dumb") != 0 };

	for (;;) {
		struct error err = ERROR_NONE;
		struct run_status status;
		bool lost;
		int code;

		if (run_status_read(&status, directory, &err) != STATUS_OK) {
			run_status_release(&status);
			return command_fail(&err);
		}
		lost = run_status_lost(&status, (double)time(NULL));
		if (lost)
			snprintf(status.state, sizeof(status.state), "lost");
		if (!a->json) {
			watch_print_text(&screen, &status, lost);
		} else if (lost || strcmp(screen.updated, status.updated) != 0) {
			char *line = run_status_line(&status);

			printf("%s\n", line);
			free(line);
		}
		memcpy(screen.updated, status.updated, sizeof(screen.updated));
		fflush(stdout);
		code = lost ? EXIT_INCOMPLETE : status.exit_code;
		run_status_release(&status);
		if (ferror(stdout))
			return EXIT_ENVIRONMENT;
		if (code >= 0 || a->once)
			return code >= 0 ? code : EXIT_ACCEPTED;
		clock_sleep(STATUS_SECONDS);
	}
}

static int watch_run(int argc, char **argv)
{
	struct watch_arguments a = { 0 };
	struct options o;
	int code = options_parse(&o, &command_watch, argc, argv, &a);

	if (code == EXIT_ACCEPTED && o.operand_count != 1)
		code = command_usage(&command_watch, "no run directory given");
	else if (code == EXIT_ACCEPTED)
		code = watch_follow(o.operands[0], &a);
	options_end(&o);
	return code;
}

const struct command command_watch = {
	.name = "watch",
	.summary = "follow a run's progress",
	.forms = { "watch DIR [--once] [--json]" },
	.about = "Works on any machine that can read the run directory: the run replaces "
		 "DIR/status.json every two seconds. A soak shows one row per device: latest "
		 "rate relative to the first slice, power, temperature, clock, throttling, "
		 "words compared and wrong words.",
	.options = rows,
	.notes = "Exit code: the same as the run's; 0 with --once while it runs; 4 if its process "
		 "has died.",
	.run = watch_run,
};
