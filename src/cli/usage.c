#include "cli/usage.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "export/export.h"

#define HEAD_WIDTH 25       /* column of the explanations, moved right by a longer option */
#define FORMATS "FORMATS\n" /* a line that stands for the export formats */

extern const struct embedded_file embedded_commands[];

static const struct embedded_file *usage_file_of(const struct embedded_file *table,
						 const char *name)
{
	char *file = xasprintf("%s.txt", name);
	const struct embedded_file *found = embedded_find(table, file);

	free(file);
	return found;
}

const struct embedded_file *usage_topic_find(const char *name)
{
	return usage_file_of(embedded_topics, name);
}

char *usage_topic_summary(const struct embedded_file *topic)
{
	const char *text = (const char *)topic->data;

	return xstrndup(text, strcspn(text, "\n"));
}

const char *usage_topic_body(const struct embedded_file *topic)
{
	const char *text = (const char *)topic->data;

	text += strcspn(text, "\n");
	return text + strspn(text, "\n");
}

char *usage_topic_name(const struct embedded_file *topic)
{
	return xstrndup(topic->name, strcspn(topic->name, "."));
}

char *usage_summary(const struct command *command)
{
	return usage_topic_summary(usage_file_of(embedded_commands, command->name));
}

/* The forms, and *rest after them. */
static const char *usage_body(const struct command *command, const char **rest)
{
	const char *forms = usage_topic_body(usage_file_of(embedded_commands, command->name)),
		   *end = strstr(forms, "\n\n");

	*rest = end ? end + 1 : forms + strlen(forms);
	return forms;
}

void usage_forms(const struct command *command, const char *first, struct text *out)
{
	const char *rest, *forms = usage_body(command, &rest);

	for (const char *form = forms; form < rest; form += strcspn(form, "\n") + 1)
		text_addf(out, "%*sgpuproof %.*s\n", (int)strlen(first), form == forms ? first : "",
			  (int)strcspn(form, "\n"), form);
}

char *usage_operands(const struct command *command, const char *action)
{
	char *start = xasprintf("%s %s ", command->name, action), *operands;
	const char *rest, *form = strstr(usage_body(command, &rest), start), *end;

	form += strlen(start);
	end = strstr(form, "  ");
	if (!end || end > form + strcspn(form, "\n"))
		end = form + strcspn(form, "\n");
	operands = xstrndup(form, (size_t)(end - form));
	free(start);
	return operands;
}

char *usage_explanation(const struct command *command, const struct option_row *row)
{
	char *start = xasprintf("\n--%s: ", row->name), *explanation;
	const char *line =
		strstr((const char *)usage_file_of(embedded_commands, command->name)->data, start);

	if (!line)
		line = strstr((const char *)usage_file_of(embedded_commands, "shared")->data,
			      start);
	line += strlen(start);
	explanation = xstrndup(line, strcspn(line, "\n"));
	free(start);
	return explanation;
}

/* "  -o, --output FILE" */
static void usage_add_head(const struct option_row *row, struct text *head)
{
	if (row->letter)
		text_addf(head, "  -%c, --%s", row->letter, row->name);
	else
		text_addf(head, "      --%s", row->name);
	if (row->fallback)
		text_addf(head, "[=%s]", row->value);
	else if (row->value)
		text_addf(head, " %s", row->value);
	for (const char *const *choice = row->choices; choice && *choice; choice++)
		text_addf(head, "%s%s", choice == row->choices ? " " : "|", *choice);
}

void usage_option_lines(const struct command *command, bool brief, struct text *out)
{
	if (command->options)
		text_add(out, "\n");
	for (const struct option_row *row = command->options; row && row->name; row++) {
		struct text head = TEXT_EMPTY;
		char *explanation = usage_explanation(command, row);

		/* The first clause. */
		for (char *c = explanation; brief && *c; c++)
			if ((strchr(".;:", *c) && c[1] == ' ') || text_starts_with(c, " (")) {
				*c = '\0';
				break;
			}
		usage_add_head(row, &head);
		text_addf(out, "%-*s  %s%s%s\n", HEAD_WIDTH, head.data,
			  row->actions && !brief ? row->actions : "",
			  row->actions && !brief ? ": " : "", explanation);
		text_release(&head);
		free(explanation);
	}
}

void usage_details(const struct command *command, struct text *out)
{
	const char *rest, *notes, *formats;

	usage_body(command, &rest);
	notes = strstr(rest, "\n--");
	formats = strstr(rest, FORMATS);
	if (formats) {
		text_add_bytes(out, rest, (size_t)(formats - rest));
		for (const struct export_format *f = export_formats; f->name; f++)
			text_addf(out, "  %s\n        %s\n", f->name, f->help);
		rest = formats + strlen(FORMATS);
	}
	text_add_bytes(out, rest, notes ? (size_t)(notes - rest) : strlen(rest));
	usage_option_lines(command, false, out);
	while (notes && text_starts_with(notes, "\n--"))
		notes = strchr(notes + 1, '\n');
	text_add(out, notes && notes[1] ? notes + 1 : "");
}
