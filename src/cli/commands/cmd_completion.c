/*
 * gpuproof completion: prints a shell completion script, generated from the commands' option
 * tables.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/command.h"
#include "cli/usage.h"
#include "cli/words.h"

static bool completion_has_words(const struct option_row *row)
{
	return row->words || row->choices;
}

/* True if the value is neither a word nor a file: a number, a date, a text. */
static bool completion_takes_no_file(const struct option_row *row)
{
	static const char *const files[] = { "FILE", "DIR", "RESULT", "PROGRAM", "COMMAND" };

	for (size_t i = 0; row->value && i < ARRAY_SIZE(files); i++)
		if (strcmp(row->value, files[i]) == 0)
			return false;
	return row->value && !completion_has_words(row);
}

/*
 * Sets $values and $files from the previous option, in a case statement of bash and zsh; blank
 * values offer nothing. "--name=" precedes a value after the equals sign.
 */
static void completion_add_values(struct text *out, const struct option_row *rows,
				  const char *before)
{
	text_addf(out, "\t\tcase %s in\n", before);
	for (const struct option_row *row = rows; row->name; row++) {
		if (!completion_has_words(row) && !completion_takes_no_file(row))
			continue;
		text_addf(out, "\t\t--%s=", row->name);
		if (!row->fallback)
			text_addf(out, "|--%s", row->name);
		if (row->letter)
			text_addf(out, "|-%c", row->letter);
		text_addf(out, ") values='%s", completion_has_words(row) ? "" : " ");
		words_of_option(row, out);
		text_addf(out, "' files=%s ;;\n", row->or_file ? "yes" : "''");
	}
	text_add(out, "\t\tesac\n");
}

static void completion_add_options(struct text *out, const struct command *c,
				   const struct action *action)
{
	text_add(out, "options='");
	for (const struct option_row *row = c->options; row && row->name; row++) {
		if (action && !action_takes(action, row))
			continue;
		text_addf(out, "--%s ", row->name);
		if (row->letter)
			text_addf(out, "-%c ", row->letter);
	}
	text_add(out, "'");
}

/* Adds " 'name:words'", an item for zsh's _describe; releases the words. */
static void completion_add_item(struct text *out, const char *dashes, const char *name, char *owned)
{
	const char *words = owned;

	text_addf(out, " '%s%s:", dashes, name);
	for (; *words; words++)
		text_addf(out, *words == '\'' ? "'\\''" : "%c", *words);
	text_add_char(out, '\'');
	free(owned);
}

/* Words that may follow the command's name. */
static void completion_add_first_words(struct text *out, const struct command *c)
{
	if (c->actions) {
		actions_names(c->actions, " ", " ", out);
		text_add_char(out, ' ');
	} else if (c->words) {
		c->words(out);
	}
}

/*
 * The part common to bash and zsh: sets the words by command. `before`: the previous word;
 * `second`: a condition for the word after the command's name, which is an action, not a file, if
 * the command has actions. `describe`: also sets $described.
 */
static void completion_add_commands(struct text *out, const char *before, const char *second,
				    bool describe)
{
	for (const struct command *const *c = commands; *c; c++) {
		text_addf(out, "\t%s)\n\t\t", (*c)->name);
		completion_add_options(out, *c, NULL);
		text_add(out, "\n\t\toperands='");
		completion_add_first_words(out, *c);
		text_add(out, "'\n");
		if ((*c)->actions)
			text_addf(out, "\t\t[[ %s ]] && no_files=1\n", second);
		if (describe) {
			/* The options with their help. */
			text_add(out, "\t\tdescribed=(");
			for (const struct option_row *row = (*c)->options; row && row->name; row++)
				completion_add_item(out, "--", row->name,
						    usage_explanation(*c, row));
			text_add(out, " )\n");
		}
		if ((*c)->options)
			completion_add_values(out, (*c)->options, before);
		text_add(out, "\t\t;;\n");
	}
}

/* `give`: shell code that offers $values. */
static void completion_add_give_values(struct text *out, const char *give)
{
	text_addf(out, "\tif [[ -n $values ]]; then\n\t\t%s\n\t\treturn\n\tfi\n", give);
}

/* Sets $options and $operands after "COMMAND ACTION". */
static void completion_add_actions(struct text *out, const char *command_and_action)
{
	text_addf(out, "\t\toperands=''\n\t\tcase %s in\n", command_and_action);
	for (const struct command *const *c = commands; *c; c++)
		for (const struct action *a = (*c)->actions; a && a->name; a++) {
			text_addf(out, "\t\t'%s %s') ", (*c)->name, a->name);
			completion_add_options(out, *c, a);
			text_add(out, " operands='");
			if (a->words)
				a->words(out);
			text_add(out, "' ;;\n");
		}
	text_add(out, "\t\tesac\n");
}

static void add_bash(struct text *out)
{
	text_add(out, "# Completion of gpuproof for bash: source it, or install it as\n"
		      "# /usr/share/bash-completion/completions/gpuproof\n"
		      "_gpuproof() {\n"
		      "\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} "
		      "options='' operands='' values='' files='' no_files=''\n"
		      "\tif [[ $word == '=' ]]; then\n\t\tbefore=$before= word=''\n"
		      "\telif [[ $before == '=' ]]; then\n"
		      "\t\tbefore=${COMP_WORDS[COMP_CWORD-2]}=\n\tfi\n"
		      "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n"
		      "\t\tmapfile -t COMPREPLY < <(compgen -W '");
	for (const struct command *const *c = commands; *c; c++)
		text_addf(out, "%s ", (*c)->name);
	text_add(out, "' -- \"$word\")\n\t\treturn\n\tfi\n\tcase ${COMP_WORDS[1]} in\n");
	completion_add_commands(out, "$before", "$COMP_CWORD -eq 2", false);
	text_add(out, "\tesac\n");
	completion_add_give_values(out, "mapfile -t COMPREPLY < <(compgen -W \"$values\" -- "
					"\"$word\"; [[ -z "
					"$files ]] || compgen -f -- \"$word\")\n"
					"\t\t[[ ${COMPREPLY[0]} != *= ]] || compopt -o nospace");
	text_add(out, "\tif [[ $COMP_CWORD -gt 2 ]]; then\n");
	completion_add_actions(out, "\"${COMP_WORDS[1]} ${COMP_WORDS[2]}\"");
	text_add(out,
		 "\tfi\n"
		 "\tif [[ $word == -* ]]; then\n"
		 "\t\tmapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$word\")\n"
		 "\telse\n"
		 "\t\tmapfile -t COMPREPLY < <(compgen -W \"$operands\" -- \"$word\"; [[ $no_files "
		 "]] || compgen -f -- \"$word\")\n"
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
		 "\tlocal options='' operands='' values='' files='' no_files='' "
		 "before=${words[CURRENT-1]}\n"
		 "\tlocal -a described shown=()\n"
		 "\tif (( CURRENT == 2 )); then\n"
		 "\t\tdescribed=(");
	for (const struct command *const *c = commands; *c; c++)
		completion_add_item(out, "", (*c)->name, usage_summary(*c));
	text_add(out, " )\n\t\t_describe command described\n\t\treturn\n\tfi\n"
		      "\tif [[ $PREFIX == --*=* ]]; then\n\t\tbefore=${PREFIX%%=*}=\n"
		      "\t\tcompset -P '*='\n\tfi\n\tcase ${words[2]} in\n");
	completion_add_commands(out, "$before", "$CURRENT -eq 3", true);
	text_add(out, "\tesac\n");
	completion_add_give_values(out, "compadd -- ${=values}; [[ -z $files ]] || _files");
	text_add(out, "\tif (( CURRENT > 3 )); then\n");
	completion_add_actions(out, "\"${words[2]} ${words[3]}\"");
	text_add(out, "\tfi\n"
		      "\tif [[ $PREFIX == -* ]]; then\n"
		      "\t\tlocal option\n"
		      "\t\tfor option in $described; do\n"
		      "\t\t\t[[ \" $options\" != *\" ${option%%:*} \"* ]] || shown+=(\"$option\")\n"
		      "\t\tdone\n"
		      "\t\t_describe -o option shown\n"
		      "\telse\n"
		      "\t\tcompadd -- ${=operands}\n"
		      "\t\t[[ -n $no_files ]] || _files\n"
		      "\tfi\n"
		      "}\n"
		      "[[ $funcstack[1] == _gpuproof ]] && _gpuproof \"$@\" || compdef _gpuproof "
		      "gpuproof\n");
}

/* Single quotes are simplest in fish; a summary may contain one. */
static void add_fish_quoted(struct text *out, char *owned)
{
	const char *s = owned;

	text_add_char(out, '\'');
	for (; *s; s++)
		text_addf(out, *s == '\'' || *s == '\\' ? "\\%c" : "%c", *s);
	text_add_char(out, '\'');
	free(owned);
}

/* "-s o -l output"; -r if a file is allowed in addition to the words. */
static void add_fish_option(struct text *out, const struct command *command,
			    const struct option_row *row)
{
	text_addf(out, "complete -c gpuproof -n '__fish_seen_subcommand_from %s' -l %s",
		  command->name, row->name);
	if (row->letter)
		text_addf(out, " -s %c", row->letter);
	if (completion_takes_no_file(row) && !row->fallback)
		text_add(out, " -x");
	if (completion_has_words(row)) {
		text_addf(out, " -%c -a '", row->or_file ? 'r' : 'x');
		words_of_option(row, out);
		text_add_char(out, '\'');
	}
	text_add(out, " -d ");
	add_fish_quoted(out, usage_explanation(command, row));
	text_add_char(out, '\n');
}

static void add_fish(struct text *out)
{
	text_add(out,
		 "# Completion of gpuproof for fish: install it as gpuproof.fish in a folder of\n"
		 "# $fish_complete_path\n");
	for (const struct command *const *c = commands; *c; c++) {
		text_addf(out, "complete -c gpuproof -n __fish_use_subcommand -f -a %s -d ",
			  (*c)->name);
		add_fish_quoted(out, usage_summary(*c));
		text_addf(out, "\ncomplete -c gpuproof -n '__fish_seen_subcommand_from %s",
			  (*c)->name);
		if ((*c)->actions) {
			text_add(out, "; and not __fish_seen_subcommand_from ");
			actions_names((*c)->actions, " ", " ", out);
		}
		text_add(out, (*c)->actions ? "' -f -a '" : "' -a '");
		completion_add_first_words(out, *c);
		text_add(out, "'\n");
		for (const struct action *a = (*c)->actions; a && a->name; a++) {
			if (!a->words)
				continue;
			text_addf(out,
				  "complete -c gpuproof -n '__fish_seen_subcommand_from %s; and "
				  "__fish_seen_subcommand_from %s' -a '",
				  (*c)->name, a->name);
			a->words(out);
			text_add(out, "'\n");
		}
		for (const struct option_row *row = (*c)->options; row && row->name; row++)
			add_fish_option(out, *c, row);
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

static void complete_shell_names(struct text *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(shells); i++)
		text_addf(out, "%s ", shells[i].name);
}

static int completion_run(struct call *call)
{
	struct text script = TEXT_EMPTY;

	for (size_t i = 0; i < ARRAY_SIZE(shells); i++) {
		if (strcmp(call->operands[0], shells[i].name) == 0) {
			shells[i].add(&script);
			fputs(script.data, stdout);
			text_release(&script);
			return EXIT_ACCEPTED;
		}
	}
	return command_usage(call->command, "no completion for '%s'", call->operands[0]);
}

const struct command command_completion = {
	.name = "completion",
	.words = complete_shell_names,
	.least = 1,
	.most = 1,
	.wrong_count = "no shell given",
	.run = completion_run,
};
