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

/* Without a terminal, prints text when something ends, and otherwise at this interval. */
#define LINE_SECONDS 60.0

struct watch_arguments {
	bool once, json;
};

static const struct option_row rows[] = {
	FLAG_ROW(0, "once", watch_arguments, once),
	FLAG_ROW(0, "json", watch_arguments, json),
	{ 0 },
};

/* State of the screen. */
struct screen {
	bool terminal;
	size_t lines; /* lines that the next output replaces */
	double printed_at;
	char updated[32];
};

static void cmd_watch_print_text(struct screen *screen, const struct run_status *status, bool lost)
{
	bool ended = status->exit_code >= 0 || lost;
	struct text text = TEXT_EMPTY;

	if (!screen->terminal && !ended && screen->printed_at > 0 &&
	    clock_seconds() - screen->printed_at < LINE_SECONDS)
		return;
	screen->printed_at = clock_seconds();
	run_status_print(status, lost, &text);
	if (screen->terminal && screen->lines)
		printf("\033[%zuA\r\033[J", screen->lines);
	fputs(text.data, stdout);
	screen->lines = 0;
	for (size_t i = 0; i < text.length; i++)
		screen->lines += text.data[i] == '\n';
	text_release(&text);
}

static int cmd_watch_run(struct call *call)
{
	const struct watch_arguments *a = call->arguments;
	const char *term = getenv("TERM");
	struct screen screen = { .terminal = isatty(STDOUT_FILENO) && !a->once && term &&
					     strcmp(term, "dumb") != 0 };

	for (;;) {
		struct run_status status;
		bool lost;
		int code;

		if (run_status_read(&status, call->operands[0], &call->err) != STATUS_OK) {
			run_status_release(&status);
			return EXIT_ENVIRONMENT;
		}
		lost = run_status_lost(&status, (double)time(NULL));
		if (lost)
			snprintf(status.state, sizeof(status.state), "lost");
		if (!a->json) {
			cmd_watch_print_text(&screen, &status, lost);
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

const struct command command_watch = {
	.name = "watch",
	.options = rows,
	.arguments = sizeof(struct watch_arguments),
	.least = 1,
	.most = 1,
	.wrong_count = "no run directory given",
	.run = cmd_watch_run,
};
