/* main(): finds the command named by the first argument, and runs it. */
#include <malloc.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/command.h"
#include "cli/options.h"

/* `rest`: the arguments after it. */
static int main_unknown_command(const char *name, char **rest)
{
	const struct command *next = *rest ? cli_command_named(*rest) : NULL;
	const char *names[32];
	struct error err = ERROR_NONE;
	const char *near;
	size_t n = 0;

	for (; commands[n] && n < 31; n++)
		names[n] = commands[n]->name;
	names[n] = NULL;
	if (*name == '-' && next)
		return cli_command_usage(next, "unknown option '%s'", name);
	near = text_nearest(name, names);
	error_set(&err, STATUS_USAGE, "unknown command '%s'%s%s%s; see gpuproof help", name,
		  near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
	return cli_command_fail(&err);
}

/*
 * Changes "gpuproof --quiet run quick" to "gpuproof run --quiet quick", if only options of a
 * command and their values precede its name.
 */
static void main_bring_command_forward(int argc, char **argv)
{
	for (int i = 2; i < argc && *argv[1] == '-'; i++) {
		const struct command *command = cli_command_named(argv[i]);
		char *name = argv[i];

		if (!command || !options_fit(command, i - 1, argv + 1))
			continue;
		memmove(argv + 2, argv + 1, (size_t)(i - 1) * sizeof(*argv));
		argv[1] = name;
		return;
	}
}

/* A full disk or a closed pipe at stdout must not look like success. */
static int main_check_stdout_written(int code)
{
	if ((fflush(stdout) != 0 || ferror(stdout)) && code == EXIT_ACCEPTED) {
		perror("gpuproof: standard output");
		return EXIT_ENVIRONMENT;
	}
	return code;
}

/* -h: a screen; --help: everything. `name`: of a command, or NULL. */
static int main_help_on(char *request, char *name)
{
	char help[] = "help", brief[] = "--brief";
	bool shorter = strcmp(request, "-h") == 0;
	char *arguments[] = { help, shorter ? brief : name, shorter ? name : NULL, NULL };

	return cli_command_execute(&command_help, 1 + (name != NULL) + shorter, arguments);
}

int main(int argc, char **argv)
{
	const struct command *command;
	const char *name;

	/*
	 * The parent process may have closed stdin, stdout or stderr. The next opened file would
	 * get its number, and output would go into a journal. Opens placeholders in the opposite
	 * mode, so that using them is still an error.
	 */
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			return EXIT_ENVIRONMENT;
#ifdef M_MXFAST
	/*
	 * A JSON document consists of hundreds of thousands of small blocks. glibc consolidates its
	 * fast bins at each large block, which takes a sixth of the time of `report`.
	 */
	mallopt(M_MXFAST, 0);
#endif
	main_bring_command_forward(argc, argv);
	name = argc > 1 ? argv[1] : "help";
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
		return main_check_stdout_written(main_help_on(argv[1], NULL));
	if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0)
		name = "version";
	/* "--help" or "-h" anywhere among the command's arguments. */
	for (int i = 2; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
			return main_check_stdout_written(main_help_on(argv[i], argv[1]));
	command = cli_command_named(name);
	if (command)
		return main_check_stdout_written(cli_command_execute(command,
								     argc > 1 ? argc - 1 : argc,
								     argc > 1 ? argv + 1 : argv));
	return main_unknown_command(name, argv + 2);
}
