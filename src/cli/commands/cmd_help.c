/* gpuproof help: the overview; help on a command, topic or word; the manual page. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "cli/command.h"
#include "cli/fold.h"
#include "cli/options.h"
#include "cli/usage.h"
#include "cli/words.h"
#include "plan/ini/hint.h"
#include "plan/schema.h"
#include "result/host/build.h"

#define MANUAL_WIDTH 72 /* man indents by 7 */

/*
 * Appends text as roff: no escapes, no line that starts with a request, ASCII quotes and hyphens as
 * typed.
 */
static void cmd_help_roff_add_plain(struct text *out, const char *s, size_t length)
{
	bool line_start = true;

	for (size_t i = 0; i < length; i++) {
		if (line_start && (s[i] == '.' || s[i] == '\''))
			text_add(out, "\\&");
		if (s[i] == '\\')
			text_add(out, "\\e");
		else if (s[i] == '-')
			text_add(out, "\\-");
		else if (s[i] == '\'')
			text_add(out, "\\(aq");
		else
			text_add_char(out, s[i]);
		line_start = s[i] == '\n';
	}
}

static void cmd_help_add_verbatim(struct text *out, const char *s)
{
	struct text folded = TEXT_EMPTY;

	text_add(out, ".nf\n");
	fold_text(&folded, s, MANUAL_WIDTH);
	cmd_help_roff_add_plain(out, folded.data, strlen(folded.data));
	text_add(out, text_ends_with(folded.data, "\n") ? ".fi\n" : "\n.fi\n");
	text_release(&folded);
}

static void cmd_help_roff_add_heading(struct text *out, const char *request, const char *name)
{
	text_addf(out, "%s \"", request);
	for (; *name; name++)
		text_add_char(out, *name == '-' ? ' ' : *name);
	text_add(out, "\"\n");
}

static void cmd_help_manual_page(struct text *out)
{
	text_addf(out, ".TH GPUPROOF 1 \"\" \"gpuproof %s\" \"User Commands\"\n", build_version());
	text_add(out, ".SH NAME\ngpuproof \\- benchmark GPUs, check the results, publish them\n.SH "
		      "SYNOPSIS\n.B gpuproof\n.I COMMAND\n[\\fIARGUMENTS\\fR]\n.SH "
		      "DESCRIPTION\ngpuproof benchmarks GPUs from an INI file, verifies every "
		      "result, checks the numbers against limits and writes an HTML "
		      "report.\nWithout a GPU the same suites measure the CPU.\n.SH COMMANDS\n");
	for (const struct command *const *c = commands; *c; c++) {
		struct text usage = TEXT_EMPTY;
		char *summary = usage_summary(*c);

		usage_forms(*c, "", &usage);
		usage_details(*c, &usage);
		cmd_help_roff_add_heading(out, ".SS", (*c)->name);
		cmd_help_roff_add_plain(out, summary, strlen(summary));
		text_add(out, "\n.PP\n");
		cmd_help_add_verbatim(out, usage.data);
		text_release(&usage);
		free(summary);
	}
	for (const struct embedded_file *topic = embedded_topics; topic->name; topic++) {
		char *name = usage_topic_name(topic), *summary = usage_topic_summary(topic);

		for (char *c = name; *c; c++)
			*c = (char)toupper((unsigned char)*c);
		cmd_help_roff_add_heading(out, ".SH", name);
		cmd_help_roff_add_plain(out, summary, strlen(summary));
		text_add(out, ".\n.PP\n");
		cmd_help_add_verbatim(out, usage_topic_body(topic));
		free(name);
		free(summary);
	}
	text_add(out, ".SH EXAMPLES\n");
	cmd_help_add_verbatim(
		out, "gpuproof doctor                       what can be measured, what is "
		     "missing\ngpuproof run quick -o quick           a page in seconds: "
		     "quick/report.html\ngpuproof run acceptance --check       accepted or "
		     "rejected, by the GPU model's limits\ngpuproof compare monday tuesday "
		     "--fail-on regression\ngpuproof history add monday tuesday && gpuproof "
		     "history trend\n");
	text_add(out, ".SH SEE ALSO\n.BR nvidia\\-smi (1)\n");
}

#define GLOSSARY "glossary"
#define LINE_WIDTH ((size_t)HELP_WIDTH - 6)

/* Position in `text` where a word starts with `word`; NULL: none. */
static const char *help_find_word(const char *text, const char *word)
{
	size_t length = strlen(word);

	for (const char *s = text; *s; s++)
		if ((s == text || !isalnum((unsigned char)s[-1])) &&
		    strncasecmp(s, word, length) == 0)
			return s;
	return NULL;
}

/* Appends the command that shows `text`, and the first line of `text` that contains `word`. */
static void cmd_help_search_text(const char *shown_by, const char *text, const char *word,
				 struct text *out)
{
	const char *hit = help_find_word(text, word), *begin = hit;
	size_t length, fits = 0;
	char *line;

	if (!hit)
		return;
	while (begin > text && begin[-1] != '\n')
		begin--;
	line = text_trimmed(begin, strcspn(begin, "\n"));
	length = strlen(line);
	for (size_t i = 0; i < length && i < LINE_WIDTH - strlen(" ..."); i++)
		if (line[i] == ' ')
			fits = i;
	text_addf(out, "  gpuproof %s\n      ", shown_by);
	if (length <= LINE_WIDTH)
		text_addf(out, "%s\n", line);
	else
		text_addf(out, "%.*s ...\n", (int)fits, line);
	free(line);
}

/* Searches the text of `gpuproof help NAME`. */
static void cmd_help_search_page(const char *name, const char *text, const char *word,
				 struct text *out)
{
	struct text folded = TEXT_EMPTY;
	char *shown_by = xasprintf("help %s", name);

	fold_text(&folded, text, LINE_WIDTH);
	cmd_help_search_text(shown_by, folded.data, word, out);
	text_release(&folded);
	free(shown_by);
}

/* Searches a row of a table, a key or a metric. */
static bool cmd_help_search_row(const char *shown_by, const char *name, const char *help,
				const char *word, struct text *out)
{
	char *line = xasprintf("%s: %s", name, help);
	size_t before = out->length;

	cmd_help_search_text(shown_by, line, word, out);
	free(line);
	return out->length > before;
}

/* Searches the keys of a section, up to the first with `word` in its name or help. */
static void cmd_help_search_keys(const char *section, const struct key *keys, const char *word,
				 struct text *out)
{
	char *shown_by = xasprintf("config keys %s", section);

	while (keys && keys->name &&
	       !cmd_help_search_row(shown_by, keys->name, keys->help, word, out))
		keys++;
	free(shown_by);
}

/*
 * The glossary's line of `word`, with the meaning after two or more blanks; *length: of the line.
 */
static const char *cmd_help_glossary_line(const char *word, size_t *length)
{
	const struct embedded_file *topic = usage_topic_find(GLOSSARY);
	size_t n = strlen(word);

	for (const char *s = usage_topic_body(topic); *s; s += *length + (s[*length] == '\n')) {
		*length = strcspn(s, "\n");
		if (strncasecmp(s, word, n) == 0 && s[n] == ' ' && s[n + 1] == ' ')
			return s;
	}
	return NULL;
}

static bool cmd_help_add_meaning(const char *word, struct text *out)
{
	size_t length, n = strlen(word);
	const char *line = cmd_help_glossary_line(word, &length);
	char *singular =
		xstrndup(word, n > 1 && tolower((unsigned char)word[n - 1]) == 's' ? n - 1 : n);

	if (!line)
		line = cmd_help_glossary_line(singular, &length);
	if (line) {
		text_add(out, "\n"); /* fold_text() joins only lines after the first empty one */
		text_add_bytes(out, line, length);
		text_add(out, "\n");
	}
	free(singular);
	return line != NULL;
}

/*
 * Appends the glossary's line of `word` (ignoring case and plural), then, for each text with
 * `word`, the command that shows it and its first line with the word. Returns false if no text
 * contains the word.
 */
static bool help_search(const char *word, struct text *out)
{
	struct text places = TEXT_EMPTY, meaning = TEXT_EMPTY, folded = TEXT_EMPTY;
	bool found = cmd_help_add_meaning(word, &meaning), in_metrics = false;

	for (const struct command *const *c = commands; *c; c++) {
		struct text text = TEXT_EMPTY;
		char *summary = usage_summary(*c);

		text_addf(&text, "%s\n\n", summary);
		usage_forms(*c, "", &text);
		usage_details(*c, &text);
		cmd_help_search_page((*c)->name, text.data, word, &places);
		text_release(&text);
		free(summary);
	}
	for (const struct embedded_file *topic = embedded_topics; topic->name; topic++) {
		char *name = usage_topic_name(topic);

		/* The glossary's line is the meaning. */
		if (strcmp(name, GLOSSARY) != 0)
			cmd_help_search_page(name, (const char *)topic->data, word, &places);
		free(name);
	}
	cmd_help_search_keys("run", run_keys, word, &places);
	cmd_help_search_keys("limit", limit_keys, word, &places);
	cmd_help_search_keys("fleet", fleet_keys, word, &places);
	cmd_help_search_keys("report", report_keys, word, &places);
	for (const struct suite *const *s = suites; *s; s++)
		cmd_help_search_keys((*s)->name, (*s)->keys, word, &places);
	for (const struct suite *const *s = suites; *s && !in_metrics; s++)
		for (const struct metric *m = (*s)->metrics; m->name && !in_metrics; m++)
			in_metrics = cmd_help_search_row("list metrics", m->name, m->help, word,
							 &places);
	found |= places.length > 0;
	if (meaning.length) {
		fold_text(&folded, meaning.data, HELP_WIDTH);
		text_addf(out, "%s\n", folded.data + 1);
	}
	if (places.length)
		text_addf(out, "These texts contain '%s':\n\n%s", word, places.data);
	text_release(&places);
	text_release(&meaning);
	text_release(&folded);
	return found;
}

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

static const struct overview_row overview_rows[] = {
#define COMMAND_GROUP(title) { .group = title },
#define COMMAND(name) { .command = &command_##name },
#include "cli/commands.def"
#undef COMMAND
#undef COMMAND_GROUP
};

/* `brief`: without topics, to fit a screen. */
static void cmd_help_print_overview(bool brief)
{
	struct text t = TEXT_EMPTY;

	text_add(&t, "gpuproof benchmarks GPUs from an INI file, checks the results and writes an "
		     "HTML report.\n\n"
		     "usage: gpuproof COMMAND [ARGUMENTS]\n\n");
	for (size_t i = 0; i < ARRAY_SIZE(overview_rows); i++) {
		const struct overview_row *row = &overview_rows[i];

		char *summary = row->group ? NULL : usage_summary(row->command);

		if (row->group)
			text_addf(&t, "%s\n", row->group);
		else
			text_addf(&t, "  %-12s  %s\n", row->command->name, summary);
		free(summary);
	}
	if (!brief) {
		text_add(&t, "\nTopics, for gpuproof help TOPIC:\n\n");
		for (const struct embedded_file *topic = embedded_topics; topic->name; topic++) {
			char *name = usage_topic_name(topic), *summary = usage_topic_summary(topic);

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

/* `brief`: a screen with usage and the first clause of each option. */
static void cmd_help_explain_command(const struct command *command, bool brief)
{
	struct text usage = TEXT_EMPTY;
	char *summary = usage_summary(command);

	usage_forms(command, "usage: ", &usage);
	if (brief)
		usage_option_lines(command, true, &usage);
	else
		usage_details(command, &usage);
	printf("%s\n\n", summary);
	help_print_folded(usage.data);
	if (brief)
		printf("\nMore: gpuproof help %s\n", command->name);
	text_release(&usage);
	free(summary);
}

/*
 * If a command and a topic have the same name, the topic follows the command. Searches for other
 * names.
 */
static void help_explain_name(const char *name, bool brief, struct error *err)
{
	const struct embedded_file *topic = usage_topic_find(name);
	const struct command *command = cli_command_named(name);
	struct text found = TEXT_EMPTY, names = TEXT_EMPTY;

	if (command)
		cmd_help_explain_command(command, brief);
	if (topic && !(brief && command)) {
		if (command)
			putchar('\n');
		help_print_folded((const char *)topic->data);
	} else if (!command && help_search(name, &found)) {
		fputs(found.data, stdout);
	} else if (!command) {
		for (const struct command *const *c = commands; *c; c++)
			hint_add(&names, (*c)->name);
		for (topic = embedded_topics; topic->name; topic++)
			text_addf(&names, ", %.*s", (int)strcspn(topic->name, "."), topic->name);
		error_set(err, STATUS_USAGE, "no help text contains '%s'%s; see gpuproof help",
			  name, hint_in(name, &names).text);
	}
	text_release(&names);
	text_release(&found);
}

struct help_arguments {
	bool manual, brief;
};

static const struct option_row rows[] = {
	FLAG_ROW(0, "brief", help_arguments, brief),
	FLAG_ROW(0, "man", help_arguments, manual),
	{ 0 },
};

static int help_run(struct call *call)
{
	const struct help_arguments *a = call->arguments;
	struct text words = TEXT_EMPTY, page = TEXT_EMPTY;

	text_add(&words, "");
	/* "bus bandwidth" from two arguments. */
	for (int i = 0; i < call->count; i++)
		text_addf(&words, "%s%s", i ? " " : "", call->operands[i]);
	if (a->manual) {
		cmd_help_manual_page(&page);
		fputs(page.data, stdout);
	} else if (call->count) {
		help_explain_name(words.data, a->brief, &call->err);
	} else {
		cmd_help_print_overview(a->brief);
	}
	text_release(&words);
	text_release(&page);
	return EXIT_ACCEPTED;
}

const struct command command_help = {
	.name = "help",
	.options = rows,
	.arguments = sizeof(struct help_arguments),
	.most = ANY_NUMBER,
	.words = cli_words_subjects,
	.run = help_run,
};
