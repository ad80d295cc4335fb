/* gpuproof completion: for a shell, generated from the commands' usage. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/usage.h"

extern const struct command command_completion;

static void add_names(struct text *out)
{
	for (const struct command *const *c = commands; *c; c++)
		text_addf(out, "%s ", (*c)->name);
}

/* The functions' part that bash and zsh share: sets $words from $command. */
static void add_cases(struct text *out)
{
	for (const struct command *const *c = commands; *c; c++) {
		text_addf(out, "\t%s)\n\t\toptions='", (*c)->name);
		usage_options(*c, out);
		text_add(out, "'\n\t\toperands='");
		usage_words(*c, out);
		text_add(out, "'\n\t\t;;\n");
	}
}

/* Values of the option before, in a case of bash and zsh; `give`: what is done with $values. */
static void add_values(struct text *out, const char *before, const char *give)
{
	text_addf(out, "\tcase %s in\n", before);
	for (const struct usage_value *v = usage_values; v->option; v++) {
		text_addf(out, "\t%s) values='", v->option);
		usage_value_words(v, out);
		text_addf(out, "' files=%s ;;\n", v->files ? "yes" : "''");
	}
	text_addf(out, "\tesac\n\tif [[ -n $values ]]; then\n\t\t%s\n\t\treturn\n\tfi\n", give);
}

static const char *const config_actions[] = { "keys", "show", "validate", "write" };

/* $operands of "config ACTION". */
static void add_config_cases(struct text *out, const char *action)
{
	text_addf(out, "\t\tcase %s in\n", action);
	for (size_t i = 0; i < sizeof(config_actions) / sizeof(*config_actions); i++) {
		text_addf(out, "\t\t%s) operands='", config_actions[i]);
		usage_config_names(config_actions[i], out);
		text_add(out, "' ;;\n");
	}
	text_add(out, "\t\tesac\n");
}

static void add_bash(struct text *out)
{
	text_add(
		out,
		"# Completion of gpuproof for bash: source it, or install it as\n"
		"# /usr/share/bash-completion/completions/gpuproof\n"
		"_gpuproof() {\n"
		"\tlocal word=${COMP_WORDS[COMP_CWORD]} options='' operands='' values='' files=''\n"
		"\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n"
		"\t\tmapfile -t COMPREPLY < <(compgen -W '");
	add_names(out);
	text_add(out, "' -- \"$word\")\n\t\treturn\n\tfi\n\tcase ${COMP_WORDS[1]} in\n");
	add_cases(out);
	text_add(out, "\tesac\n");
	add_values(out, "${COMP_WORDS[COMP_CWORD-1]}",
		   "mapfile -t COMPREPLY < <(compgen -W \"$values\" -- \"$word\"; [[ -z $files ]] "
		   "|| compgen -f -- \"$word\")");
	text_add(out, "\tif [[ $COMP_CWORD -eq 3 && ${COMP_WORDS[1]} == config ]]; then\n");
	add_config_cases(out, "${COMP_WORDS[2]}");
	text_add(out, "\telif [[ $COMP_CWORD -gt 2 ]]; then\n\t\toperands=''\n\tfi\n"
		      "\tif [[ $word == -* ]]; then\n"
		      "\t\tmapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$word\")\n"
		      "\telse\n"
		      "\t\tmapfile -t COMPREPLY < <(compgen -W \"$operands\" -- \"$word\"; compgen "
		      "-f -- \"$word\")\n"
		      "\tfi\n"
		      "}\n"
		      "complete -o filenames -F _gpuproof gpuproof\n");
}

static void add_zsh(struct text *out)
{
	text_add(out,
		 "#compdef gpuproof\n"
		 "# Completion of gpuproof for zsh: install it as _gpuproof in a folder of $fpath\n"
		 "_gpuproof() {\n"
		 "\tlocal options='' operands='' values='' files=''\n"
		 "\tif (( CURRENT == 2 )); then\n"
		 "\t\tcompadd -- ");
	add_names(out);
	text_add(out, "\n\t\treturn\n\tfi\n\tcase ${words[2]} in\n");
	add_cases(out);
	text_add(out, "\tesac\n");
	add_values(out, "${words[CURRENT-1]}", "compadd -- ${=values}; [[ -z $files ]] || _files");
	text_add(out, "\tif [[ $CURRENT -eq 4 && ${words[2]} == config ]]; then\n");
	add_config_cases(out, "${words[3]}");
	text_add(out, "\telif (( CURRENT > 3 )); then\n\t\toperands=''\n\tfi\n"
		      "\tif [[ $PREFIX == -* ]]; then\n"
		      "\t\tcompadd -- ${=options}\n"
		      "\telse\n"
		      "\t\tcompadd -- ${=operands}\n"
		      "\t\t_files\n"
		      "\tfi\n"
		      "}\n"
		      "[[ $funcstack[1] == _gpuproof ]] && _gpuproof \"$@\" || compdef _gpuproof "
		      "gpuproof\n");
}

/* Single quotes are fish's plainest; a summary may hold one. */
static void add_fish_quoted(struct text *out, const char *s)
{
	text_add_char(out, '\'');
	for (; *s; s++)
		text_addf(out, *s == '\'' || *s == '\\' ? "\\%c" : "%c", *s);
	text_add_char(out, '\'');
}

/* " -x -a 'single dir '" of --layout; -r where a file will do as well. */
static void add_fish_values(struct text *out, const char *option)
{
	for (const struct usage_value *v = usage_values; v->option; v++)
		if (strcmp(v->option, option) == 0) {
			text_addf(out, " -%c -a '", v->files ? 'r' : 'x');
			usage_value_words(v, out);
			text_add(out, "'");
		}
}

static void add_fish_options(struct text *out, const struct command *command)
{
	struct text options = TEXT_EMPTY;

	usage_options(command, &options);
	for (char *word = options.data ? strtok(options.data, " ") : NULL; word;
	     word = strtok(NULL, " ")) {
		bool is_long = word[1] == '-';

		text_addf(out, "complete -c gpuproof -n '__fish_seen_subcommand_from %s' -%c %s",
			  command->name, is_long ? 'l' : 's', word + 1 + is_long);
		add_fish_values(out, word);
		text_add_char(out, '\n');
	}
	text_release(&options);
}

static void add_fish(struct text *out)
{
	text_add(out,
		 "# Completion of gpuproof for fish: install it as gpuproof.fish in a folder of\n"
		 "# $fish_complete_path\n");
	for (const struct command *const *c = commands; *c; c++) {
		text_addf(out, "complete -c gpuproof -n __fish_use_subcommand -f -a %s -d ",
			  (*c)->name);
		add_fish_quoted(out, (*c)->summary);
		text_addf(out, "\ncomplete -c gpuproof -n '__fish_seen_subcommand_from %s' -a '",
			  (*c)->name);
		usage_words(*c, out);
		text_add(out, "'\n");
		add_fish_options(out, *c);
	}
}

static const struct {
	const char *name;
	void (*add)(struct text *out);
} shells[] = {
	{ "bash", add_bash },
	{ "zsh", add_zsh },
	{ "fish", add_fish },
};

static int completion_run(int argc, char **argv)
{
	struct text script = TEXT_EMPTY;

	if (argc != 2)
		return command_usage(&command_completion, "which shell?");
	for (size_t i = 0; i < sizeof(shells) / sizeof(*shells); i++) {
		if (strcmp(argv[1], shells[i].name) == 0) {
			shells[i].add(&script);
			fputs(script.data, stdout);
			text_release(&script);
			return EXIT_ACCEPTED;
		}
	}
	return command_usage(&command_completion, "there is no completion for '%s'", argv[1]);
}

const struct command command_completion = {
	.name = "completion",
	.summary = "print the completion script of a shell",
	.usage = "completion bash|zsh|fish\n\n"
		 "For bash: source <(gpuproof completion bash)",
	.run = completion_run,
};
