/* gpuproof help: the overview; help on a command, topic or word; the manual page. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/command.h"
#include "cli/fold.h"
#include "cli/help_search.h"
#include "cli/manual.h"
#include "cli/options.h"
#include "cli/topics.h"
#include "cli/usage.h"
#include "cli/words.h"
#include "plan/ini/hint.h"

static void help_print_folded(const char *text)
{
	struct text folded = TEXT_EMPTY;

	fold_text(&folded, text, HELP_WIDTH);
	fputs(folded.data, stdout);
	text_release(&folded);
}

struct overview_row {
	const char *group; /* NULL: a command */
	const struct command *command;
};

#define COMMAND_GROUP(title)
#define COMMAND(name) extern const struct command command_##name;
#include "cli/commands.def"
#undef COMMAND
#undef COMMAND_GROUP

static const struct overview_row overview_rows[] = {
#define COMMAND_GROUP(title) { .group = title },
#define COMMAND(name) { .command = &command_##name },
#include "cli/commands.def"
#undef COMMAND
#undef COMMAND_GROUP
};

/* `brief`: without topics, to fit a screen. */
static void print_overview(bool brief)
{
	struct text t = TEXT_EMPTY;

	text_add(&t, "gpuproof benchmarks GPUs from an INI file, checks the results and writes an "
		     "HTML report.\n\n"
		     "usage: gpuproof COMMAND [ARGUMENTS]\n\n");
	for (size_t i = 0; i < ARRAY_SIZE(overview_rows); i++) {
		const struct overview_row *row = &overview_rows[i];

		if (row->group)
			text_addf(&t, "%s\n", row->group);
		else
			text_addf(&t, "  %-12s  %s\n", row->command->name, row->command->summary);
	}
	if (!brief) {
		text_add(&t, "\nTopics, for gpuproof help TOPIC:\n\n");
		for (const struct embedded_file *topic = embedded_topics; topic->name; topic++) {
			char *name = topic_name(topic), *summary = topic_summary(topic);

			text_addf(&t, "  %-12s  %s\n", name, summary);
			free(name);
			free(summary);
		}
	}
	text_addf(&t,
		  "\n%sTo search all texts: gpuproof help WORD\n"
		  "Start with: gpuproof doctor, then gpuproof run quick. Next: gpuproof help "
		  "tour\n",
		  brief ? "Topics: gpuproof help. " : "");
	help_print_folded(t.data);
	text_release(&t);
}

static int help_report_unknown(const char *name)
{
	const char *names[64];
	char *owned[64];
	struct error err = ERROR_NONE;
	size_t n = 0, topics = 0;
	struct hint hint;

	for (; commands[n] && n < 32; n++)
		names[n] = commands[n]->name;
	for (; embedded_topics[topics].name && n + 1 < ARRAY_SIZE(names); topics++)
		names[n++] = owned[topics] = topic_name(&embedded_topics[topics]);
	names[n] = NULL;
	hint = hint_for(name, names);
	for (size_t i = 0; i < topics; i++)
		free(owned[i]);
	error_set(&err, STATUS_USAGE, "no help text contains '%s'%s; see gpuproof help", name,
		  hint.text);
	return command_fail(&err);
}

/* A screen: usage, and the first clause of each option. */
static void explain_briefly(const struct command *command)
{
	struct text usage = TEXT_EMPTY;

	usage_forms(command, "usage: ", &usage);
	usage_option_lines(command, HELP_WIDTH, &usage);
	printf("%s\n\n", command->summary);
	help_print_folded(usage.data);
	printf("\nMore: gpuproof help %s\n", command->name);
	text_release(&usage);
}

static void explain_command(const struct command *command)
{
	struct text usage = TEXT_EMPTY;

	usage_forms(command, "usage: ", &usage);
	usage_details(command, &usage);
	printf("%s\n\n", command->summary);
	help_print_folded(usage.data);
	text_release(&usage);
}

/* Every command and topic once, each after a line with its name, for searching. */
static void help_explain_all(void)
{
	print_overview(false);
	for (const struct command *const *c = commands; *c; c++) {
		printf("\n---- %s: ", (*c)->name);
		explain_command(*c);
	}
	for (const struct embedded_file *topic = embedded_topics; topic->name; topic++) {
		char *name = topic_name(topic);

		printf("\n---- topic %s\n\n", name);
		help_print_folded((const char *)topic->data);
		free(name);
	}
}

static int help_print_matches(const char *word)
{
	struct text found = TEXT_EMPTY;
	bool any = help_search(word, &found);

	if (any)
		fputs(found.data, stdout);
	text_release(&found);
	return any ? EXIT_ACCEPTED : help_report_unknown(word);
}

/*
 * If a command and a topic have the same name, the topic follows the command. Searches for other
 * names.
 */
static int help_explain_name(const char *name, bool brief)
{
	const struct embedded_file *topic = topic_find(name);
	bool found = false;

	if (strcmp(name, "all") == 0) {
		help_explain_all();
		return EXIT_ACCEPTED;
	}
	for (const struct command *const *c = commands; *c; c++)
		if (strcmp((*c)->name, name) == 0) {
			(brief ? explain_briefly : explain_command)(*c);
			found = true;
		}
	if (!topic || (brief && found))
		return found ? EXIT_ACCEPTED : help_print_matches(name);
	if (found)
		putchar('\n');
	help_print_folded((const char *)topic->data);
	return EXIT_ACCEPTED;
}

struct help_arguments {
	bool manual, brief;
};

static const struct option_row rows[] = {
	{ .name = "brief",
	  FLAG_AT(help_arguments, brief),
	  .help = "usage and one line per option, like COMMAND -h" },
	{ .name = "man", FLAG_AT(help_arguments, manual), .help = "print the manual page as roff" },
	{ 0 },
};

static int help_run(int argc, char **argv)
{
	struct help_arguments a = { 0 };
	struct options o;
	int code = options_parse(&o, &command_help, argc, argv, &a);
	struct text words = TEXT_EMPTY;
	char *name;

	/* "bus bandwidth" from two arguments. */
	for (int i = 0; i < o.operand_count; i++)
		text_addf(&words, "%s%s", i ? " " : "", o.operands[i]);
	name = text_detach(&words);
	if (code == EXIT_ACCEPTED && a.manual) {
		struct text page = TEXT_EMPTY;

		manual_page(&page);
		fputs(page.data, stdout);
		text_release(&page);
		code = EXIT_ACCEPTED;
	} else if (code == EXIT_ACCEPTED && o.operand_count)
		code = help_explain_name(name, a.brief);
	else if (code == EXIT_ACCEPTED)
		print_overview(a.brief);
	free(name);
	options_end(&o);
	return code;
}

const struct command command_help = {
	.name = "help",
	.summary = "explain a command, a topic or a word",
	.forms = { "help [COMMAND]   also COMMAND --help; COMMAND -h is short", "help TOPIC",
		   "help WORD   its meaning, and the texts that contain it",
		   "help all   every text", "help --man" },
	.options = rows,
	.words = words_subjects,
	.run = help_run,
};
