#include "cli/fold.h"

#include <stdbool.h>
#include <string.h>

/* An explanation that starts further right continues at this column. */
#define HANG_MOST 40

struct line {
	const char *text;
	size_t length, indent;
	size_t gap; /* start of the text after two or more blanks; 0: none */
};

static struct line fold_line_at(const char *text)
{
	struct line l = { .text = text, .length = strcspn(text, "\n") };

	while (l.indent < l.length && text[l.indent] == ' ')
		l.indent++;
	for (size_t i = l.indent; i + 2 < l.length; i++)
		if (text[i] == ' ' && text[i + 1] == ' ') {
			l.gap = i + strspn(text + i, " ");
			break;
		}
	if (l.gap >= l.length)
		l.gap = 0;
	return l;
}

/*
 * Detects rows such as " -o, --output FILE the page" and " run.jsonl every case", whose
 * continuation is further right.
 */
static bool fold_is_row(const struct line *l)
{
	return l->gap || l->text[l->indent] == '-';
}

/* Words of a block: those of its first line from the gap on, and all of its other lines. */
static void fold_block(struct text *out, const struct line *first, size_t lines, size_t width)
{
	size_t column = first->gap ? first->gap : first->indent;
	/* Continuation lines are indented like the second line. */
	size_t hang = lines > 1 ? fold_line_at(first->text + first->length + 1).indent : column;
	const char *at = first->text + column, *end = first->text;
	bool begins = true;

	if (hang > HANG_MOST || (lines == 1 && !first->gap && fold_is_row(first)))
		hang = first->indent + 4;
	for (size_t i = 0; i < lines; i++)
		end += strcspn(end, "\n") + (i + 1 < lines);
	text_add_bytes(out, first->text, column);
	for (at += strspn(at, " \n"); at < end; at += strspn(at, " \n")) {
		size_t word = strcspn(at, " \n");

		if (!begins && column + 1 + word > width) {
			text_addf(out, "\n%*s", (int)hang, "");
			column = hang;
			begins = true;
		}
		text_add(out, begins ? "" : " ");
		text_add_bytes(out, at, word);
		column += word + !begins;
		begins = false;
		at += word;
	}
	text_add_char(out, '\n');
}

/* Number of lines in the block that starts with `first`; *longest: length of its longest line. */
static size_t fold_block_of(const struct line *first, bool forms, size_t width, size_t *longest)
{
	struct line last = *first;
	size_t count = 1;

	*longest = first->length;
	while (!forms && last.length > 0 && last.text[last.length]) {
		struct line next = fold_line_at(last.text + last.length + 1);
		size_t word = strcspn(next.text + next.indent, " \n");

		/* A line continues the block if its first word did not fit into the last one. */
		if (next.length == 0 || next.gap || last.length + 1 + word <= width ||
		    (fold_is_row(first) ? next.indent <= first->indent + 2
					: next.indent != first->indent))
			break;
		*longest = next.length > *longest ? next.length : *longest;
		last = next;
		count++;
	}
	return count;
}

void fold_text(struct text *out, const char *text, size_t width)
{
	bool forms = true;

	while (*text) {
		struct line first = fold_line_at(text);
		size_t longest, lines = fold_block_of(&first, forms, width, &longest);
		const char *end = text;

		forms = forms && first.length > 0;
		for (size_t i = 0; i < lines; i++)
			end += strcspn(end, "\n") + (end[strcspn(end, "\n")] == '\n');
		if (longest > width)
			fold_block(out, &first, lines, width);
		else
			text_add_bytes(out, text, (size_t)(end - text));
		text = end;
	}
}
