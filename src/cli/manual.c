#include "cli/manual.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/fold.h"
#include "cli/topics.h"
#include "cli/usage.h"
#include "result/host/build.h"

#define MANUAL_WIDTH 72 /* man indents by 7 */

/*
 * Appends text as roff: no escapes, no line that starts with a request, ASCII quotes and hyphens as
 * typed.
 */
static void roff_add_plain(struct text *out, const char *s, size_t length)
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

static void roff_add_folded(struct text *out, const char *s)
{
	struct text folded = TEXT_EMPTY;

	fold_text(&folded, s, MANUAL_WIDTH);
	roff_add_plain(out, folded.data, strlen(folded.data));
	if (!text_ends_with(folded.data, "\n"))
		text_add_char(out, '\n');
	text_release(&folded);
}

static void add_verbatim(struct text *out, const char *s)
{
	text_add(out, ".nf\n");
	roff_add_folded(out, s);
	text_add(out, ".fi\n");
}

static void roff_add_heading(struct text *out, const char *request, const char *name)
{
	text_addf(out, "%s \"", request);
	for (; *name; name++)
		text_add_char(out, *name == '-' ? ' ' : *name);
	text_add(out, "\"\n");
}

void manual_page(struct text *out)
{
	text_addf(out, ".TH GPUPROOF 1 \"\" \"gpuproof %s\" \"User Commands\"\n", build_version());
	text_add(out, ".SH NAME\ngpuproof \\- benchmark GPUs, check the results, publish them\n.SH "
		      "SYNOPSIS\n.B gpuproof\n.I COMMAND\n[\\fIARGUMENTS\\fR]\n.SH "
		      "DESCRIPTION\ngpuproof benchmarks GPUs from an INI file, verifies every "
		      "result, checks the numbers against limits and writes an HTML "
		      "report.\nWithout a GPU the same suites measure the CPU.\n.SH COMMANDS\n");
	for (const struct command *const *c = commands; *c; c++) {
		struct text usage = TEXT_EMPTY;

		usage_forms(*c, "", &usage);
		usage_details(*c, &usage);
		roff_add_heading(out, ".SS", (*c)->name);
		roff_add_plain(out, (*c)->summary, strlen((*c)->summary));
		text_add(out, "\n.PP\n");
		add_verbatim(out, usage.data);
		text_release(&usage);
	}
	for (const struct embedded_file *topic = embedded_topics; topic->name; topic++) {
		char *name = topic_name(topic), *summary = topic_summary(topic);

		for (char *c = name; *c; c++)
			*c = (char)toupper((unsigned char)*c);
		roff_add_heading(out, ".SH", name);
		roff_add_plain(out, summary, strlen(summary));
		text_add(out, ".\n.PP\n");
		add_verbatim(out, topic_body(topic));
		free(name);
		free(summary);
	}
	text_add(out, ".SH EXAMPLES\n");
	add_verbatim(out, "gpuproof doctor                       what can be measured, what is "
			  "missing\ngpuproof run quick -o quick           a page in seconds: "
			  "quick/report.html\ngpuproof run acceptance --check       accepted or "
			  "rejected, by the GPU model's limits\ngpuproof compare monday tuesday "
			  "--fail-on regression\ngpuproof history add monday tuesday && gpuproof "
			  "history trend\n");
	text_add(out, ".SH SEE ALSO\n.BR nvidia\\-smi (1)\n");
}
