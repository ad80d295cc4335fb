/* gpuproof evidence: packs a result and its evidence into an archive for a supplier. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/input.h"
#include "base/memory.h"
#include "cli/command.h"
#include "cli/commands/doctor.h"
#include "cli/input/result_limits.h"
#include "cli/options.h"
#include "export/evidence.h"
#include "report/acceptance/acceptance.h"
#include "result/host/kernel_log.h"
#include "run/journal.h"

#define MOST_FILE_BYTES ((size_t)1 << 30)
#define HOST_NAME 256

struct evidence_arguments {
	const char *output;
};

static const struct option_row rows[] = {
	TEXT_ROW('o', "output", "FILE", evidence_arguments, output, .file = OPTION_FILE_WRITTEN),
	{ 0 },
};

static enum status cmd_evidence_add_read(struct evidence *evidence, const char *name,
					 const char *path, struct error *err)
{
	struct text text = TEXT_EMPTY;

	if (input_read_file(path, name, MOST_FILE_BYTES, &text, err) == STATUS_OK)
		evidence_add(evidence, name, text.data, text.length);
	text_release(&text);
	return err->status;
}

static void cmd_evidence_add_kernel_log(struct evidence *evidence, const struct result *result,
					struct text *summary)
{
	const char **pci = xcalloc(result->device_count + 1, sizeof(*pci));
	struct text lines = TEXT_EMPTY;
	const char *from;

	for (size_t i = 0; i < result->device_count; i++)
		pci[i] = result->devices[i].pci;
	from = kernel_log_read("", pci, result->device_count, &lines);
	if (from) {
		evidence_add(evidence, "kernel.log", lines.data, lines.length);
		text_addf(summary,
			  "\nkernel.log: lines of %s about GPUs and their driver, read when this "
			  "archive was made%s\n",
			  from, lines.length ? "." : ". There were none.");
	} else {
		text_add(summary, "\nNo kernel.log: reading the kernel log needs root. Run "
				  "gpuproof evidence as root to include it.\n");
	}
	text_release(&lines);
	free(pci);
}

/* Adds facts that can only be collected on the measured machine. */
static void cmd_evidence_add_machine(struct evidence *evidence, const struct result *result,
				     struct text *summary)
{
	const char *measured = result_fact(result, "hostname");
	char here[HOST_NAME] = "";
	char *doctor;

	if (gethostname(here, sizeof(here) - 1) != 0 || !measured || strcmp(here, measured) != 0) {
		text_addf(summary,
			  "\nNo doctor.txt and no kernel.log: this archive was made on %s, but the "
			  "result was measured on %s.\n",
			  *here ? here : "another machine", measured ? measured : "elsewhere");
		return;
	}
	doctor = cmd_doctor_report();
	evidence_add(evidence, "doctor.txt", doctor, strlen(doctor));
	free(doctor);
	cmd_evidence_add_kernel_log(evidence, result, summary);
}

/* Adds the result, the journal of the run if it is next to the result, and the acceptance page. */
static void cmd_evidence_collect(struct evidence *evidence, const struct result_list *results,
				 struct error *err)
{
	const struct acceptance acceptance = { .result = &results->items[0] };
	const struct report_options options = { 0 };
	const char *path = results->paths[0], *slash = strrchr(path, '/');
	char *journal = xasprintf("%.*s" JOURNAL_NAME, slash ? (int)(slash - path) + 1 : 0, path);
	struct text summary = TEXT_EMPTY, html = TEXT_EMPTY;
	char *harmless;

	evidence_add_summary(acceptance.result, &summary);
	cmd_evidence_add_read(evidence, "result.json", path, err);
	if (err->status == STATUS_OK && access(journal, F_OK) == 0)
		cmd_evidence_add_read(evidence, JOURNAL_NAME, journal, err);
	else
		text_addf(&summary, "\nNo %s: the result has no journal next to it.\n",
			  JOURNAL_NAME);
	if (err->status == STATUS_OK &&
	    acceptance_render(&acceptance, &options, &html, err) == STATUS_OK) {
		evidence_add(evidence, "acceptance.html", html.data, html.length);
		cmd_evidence_add_machine(evidence, acceptance.result, &summary);
		harmless = text_harmless(summary.data);
		evidence_add(evidence, "summary.txt", harmless, strlen(harmless));
		free(harmless);
	}
	text_release(&summary);
	text_release(&html);
	free(journal);
}

static int cmd_evidence_run(struct call *call)
{
	const struct evidence_arguments *a = call->arguments;
	const struct result_judging judging = { 0 };
	struct error *err = &call->err;
	struct evidence evidence;
	struct text archive = TEXT_EMPTY;

	if (!a->output || !*a->output)
		return cli_command_usage(call->command,
					 "no name for the archive; use -o FILE.tar.gz");
	if (result_list_add(&call->results, call->operands[0], err) != STATUS_OK)
		return EXIT_USAGE;
	if (input_refuse_output(a->output, err) != STATUS_OK ||
	    result_limits_judging_apply(&judging, &call->results.items[0]) != STATUS_OK)
		return EXIT_USAGE;
	evidence_begin(&evidence, &call->results.items[0]);
	cmd_evidence_collect(&evidence, &call->results, err);
	if (err->status == STATUS_OK && evidence_pack(&evidence, &archive, err) == STATUS_OK &&
	    file_publish(a->output, archive.data, archive.length, err) == STATUS_OK)
		printf("%s\n", a->output);
	evidence_release(&evidence);
	text_release(&archive);
	return EXIT_ACCEPTED;
}

const struct command command_evidence = {
	.name = "evidence",
	.options = rows,
	.arguments = sizeof(struct evidence_arguments),
	.least = 1,
	.most = 1,
	.wrong_count = "expected one RESULT",
	.run = cmd_evidence_run,
};
