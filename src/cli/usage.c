#include "cli/usage.h"

#include <string.h>

#include "cli/actions.h"

#define HEAD_WIDTH 25 /* column of the explanations, moved right by a longer option */

void usage_forms(const struct command *command, const char *first, struct text *out)
{
	for (const char *const *form = command->forms; *form; form++)
		text_addf(out, "%*sgpuproof %s\n", (int)strlen(first),
			  form == command->forms ? first : "", *form);
	for (const struct action *a = command->actions; !command->forms[0] && a->name; a++)
		text_addf(out, "%*sgpuproof %s %s%s%s\n", (int)strlen(first),
			  a == command->actions ? first : "", command->name, a->name,
			  a->form ? " " : "", a->form ? a->form : "");
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
	else if (row->choices) {
		for (const char *const *choice = row->choices; *choice; choice++)
			text_addf(head, "%s%s", choice == row->choices ? " " : "|", *choice);
	}
}

void usage_details(const struct command *command, struct text *out)
{
	if (command->about)
		text_addf(out, "\n%s\n", command->about);
	if (command->options)
		text_add(out, "\n");
	for (const struct option_row *row = command->options; row && row->name; row++) {
		struct text head = TEXT_EMPTY;

		usage_add_head(row, &head);
		text_addf(out, "%-*s  %s%s%s\n", HEAD_WIDTH, head.data,
			  row->actions ? row->actions : "", row->actions ? ": " : "", row->help);
		text_release(&head);
	}
	if (command->notes)
		text_addf(out, "\n%s\n", command->notes);
}

/* Bytes of the first clause of `help`, or of the words of it that fit into `room`. */
static size_t clause_length(const char *help, size_t room)
{
	size_t length = 0, end = strlen(help);

	for (size_t i = 0; i < end && end == strlen(help); i++)
		if (strchr(".;:", help[i]) && help[i + 1] == ' ')
			end = i;
	if (end <= room)
		return end;
	for (size_t i = 0; i <= room; i++)
		if (help[i] == ' ')
			length = i;
	return length;
}

void usage_option_lines(const struct command *command, size_t width, struct text *out)
{
	if (command->options)
		text_add(out, "\n");
	for (const struct option_row *row = command->options; row && row->name; row++) {
		struct text head = TEXT_EMPTY;
		size_t column;

		usage_add_head(row, &head);
		column = 2 + (head.length > HEAD_WIDTH ? head.length : HEAD_WIDTH);
		if (column + 20 > width)
			text_addf(out, "%s\n", head.data);
		else
			text_addf(out, "%-*s  %.*s\n", HEAD_WIDTH, head.data,
				  (int)clause_length(row->help, width - column), row->help);
		text_release(&head);
	}
}
