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
#include "cli/input/limits_pool.h"
#include "cli/input/population_file.h"
#include "cli/input/result_list.h"
#include "cli/options.h"
#include "export/evidence.h"
#include "judge/judge.h"
#include "report/acceptance/acceptance.h"
#include "result/host/kernel_log.h"
#include "run/journal.h"

extern const struct command command_evidence;

#define MOST_FILE_BYTES ((size_t)1 << 30)
#define HOST_NAME 256

struct evidence_arguments {
	const char *output;
	struct result_list results; /* one */
};

static const struct option_row rows[] = {
	{ .name = "output",
	  .letter = 'o',
	  TEXT_AT(evidence_arguments, output),
	  .value = "FILE",
	  .file = OPTION_FILE_WRITTEN,
	  .help = "archive to write, such as n017.tar.gz; required" },
	{ 0 },
};

/* Uses the stored verdict, or else judges as `check` does. */
static enum status evidence_judge(struct result *result)
{
	struct judge_input input = { .results = result, .count = 1 };
	struct verdicts verdicts = { 0 };
	struct limits_pool pool = { 0 };
	struct population population;
	enum status status = STATUS_OK;

	if (result->judgement)
		return STATUS_OK;
	input.limits = limits_pool_find(&pool, NULL, result);
	if (!input.limits || population_open(&population, NULL) != STATUS_OK) {
		status = STATUS_USAGE;
	} else {
		input.population = &population;
		judge_results(&input, &verdicts);
		verdicts_finish(&verdicts);
		result_judge(result, &verdicts);
		population_release(&population);
	}
	verdicts_release(&verdicts);
	limits_pool_release(&pool);
	return status;
}

static enum status evidence_add_read(struct evidence *evidence, const char *name, const char *path,
				     struct error *err)
{
	struct text text = TEXT_EMPTY;

	if (input_read_file(path, name, MOST_FILE_BYTES, &text, err) == STATUS_OK)
		evidence_add(evidence, name, text.data, text.length);
	text_release(&text);
	return err->status;
}

/* Adds the journal of the run, if it is next to the result. */
static enum status evidence_add_journal(struct evidence *evidence, const char *result,
					struct text *summary, struct error *err)
{
	const char *slash = strrchr(result, '/');
	char *path = xasprintf("%.*s" JOURNAL_NAME, slash ? (int)(slash - result) + 1 : 0, result);

	if (access(path, F_OK) == 0)
		evidence_add_read(evidence, JOURNAL_NAME, path, err);
	else
		text_addf(summary, "\nNo %s: the result has no journal next to it.\n",
			  JOURNAL_NAME);
	free(path);
	return err->status;
}

static enum status evidence_add_page(struct evidence *evidence, const struct result *result,
				     struct error *err)
{
	const struct acceptance acceptance = { .result = result };
	const struct report_options options = { 0 };
	struct text html = TEXT_EMPTY;

	if (acceptance_render(&acceptance, &options, &html, err) == STATUS_OK)
		evidence_add(evidence, "acceptance.html", html.data, html.length);
	text_release(&html);
	return err->status;
}

static void evidence_add_kernel_log(struct evidence *evidence, const struct result *result,
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
			  "\nkernel.log: lines about GPUs and their driver in %s when this archive "
			  "was made%s\n",
			  from, lines.length ? "." : "; there are none.");
	} else {
		text_add(summary, "\nNo kernel.log: reading the kernel log needs root. Run "
				  "gpuproof evidence as root to include it.\n");
	}
	text_release(&lines);
	free(pci);
}

/* Adds facts that can only be collected on the measured machine. */
static void evidence_add_machine(struct evidence *evidence, const struct result *result,
				 struct text *summary)
{
	const char *measured = result_fact(result, "hostname");
	char here[HOST_NAME] = "";
	char *doctor;

	if (gethostname(here, sizeof(here) - 1) != 0 || !measured || strcmp(here, measured) != 0) {
		text_addf(summary,
			  "\nNo doctor.txt and kernel.log: this archive was created on %s, but "
			  "the result was measured on %s.\n",
			  *here ? here : "another machine", measured ? measured : "elsewhere");
		return;
	}
	doctor = doctor_report();
	evidence_add(evidence, "doctor.txt", doctor, strlen(doctor));
	free(doctor);
	evidence_add_kernel_log(evidence, result, summary);
}

static enum status evidence_collect(const struct evidence_arguments *a, struct evidence *evidence,
				    struct error *err)
{
	const struct result *result = &a->results.items[0];
	struct text summary = TEXT_EMPTY;
	char *harmless;

	evidence_add_summary(result, &summary);
	if (evidence_add_read(evidence, "result.json", a->results.paths[0], err) == STATUS_OK &&
	    evidence_add_journal(evidence, a->results.paths[0], &summary, err) == STATUS_OK &&
	    evidence_add_page(evidence, result, err) == STATUS_OK) {
		evidence_add_machine(evidence, result, &summary);
		harmless = text_harmless(summary.data);
		evidence_add(evidence, "summary.txt", harmless, strlen(harmless));
		free(harmless);
	}
	text_release(&summary);
	return err->status;
}

static int evidence_write(struct evidence_arguments *a)
{
	struct error err = ERROR_NONE;
	struct evidence evidence;
	struct text archive = TEXT_EMPTY;

	if (input_refuse_output(a->output, &err) != STATUS_OK)
		return command_fail(&err);
	if (evidence_judge(&a->results.items[0]) != STATUS_OK)
		return EXIT_USAGE;
	evidence_begin(&evidence, &a->results.items[0]);
	if (evidence_collect(a, &evidence, &err) == STATUS_OK &&
	    evidence_pack(&evidence, &archive, &err) == STATUS_OK &&
	    file_publish(a->output, archive.data, archive.length, &err) == STATUS_OK)
		printf("%s\n", a->output);
	evidence_release(&evidence);
	text_release(&archive);
	return err.status == STATUS_OK ? EXIT_ACCEPTED : command_fail(&err);
}

static int evidence_take_operands(struct evidence_arguments *a, const struct options *o)
{
	struct error err = ERROR_NONE;

	if (o->operand_count != 1)
		return command_usage(&command_evidence, "expected one RESULT");
	if (!a->output || !*a->output)
		return command_usage(&command_evidence, "no archive named; use -o FILE.tar.gz");
	if (result_list_add(&a->results, o->operands[0], &err) != STATUS_OK)
		return command_fail(&err);
	if (a->results.count != 1 || text_starts_with(o->operands[0], "baseline:"))
		return command_usage(&command_evidence, "'%.80s' is not the result of one run",
				     o->operands[0]);
	return EXIT_ACCEPTED;
}

static int evidence_run(int argc, char **argv)
{
	struct evidence_arguments a = { 0 };
	struct options o;
	int code = options_parse(&o, &command_evidence, argc, argv, &a);

	if (code == EXIT_ACCEPTED)
		code = evidence_take_operands(&a, &o);
	if (code == EXIT_ACCEPTED)
		code = evidence_write(&a);
	result_list_release(&a.results);
	options_end(&o);
	return code;
}

const struct command command_evidence = {
	.name = "evidence",
	.summary = "pack a result and its evidence into an archive for a supplier",
	.forms = { "evidence RESULT -o FILE.tar.gz   RESULT: a result.json or a run directory" },
	.about = "The archive contains result.json, the journal of the run (run.jsonl), the "
		 "acceptance page and SHA256SUMS. summary.txt has the serial numbers, the verdict "
		 "and the remedies. On the machine that was measured, the findings of gpuproof "
		 "doctor are added. So are the lines of the kernel log about GPUs, such as Xid "
		 "errors, which usually need root.\n\nA result without a judgement is judged as "
		 "check judges it. After unpacking, sha256sum -c SHA256SUMS verifies the files.",
	.options = rows,
	.notes = "Exit code: 0 the archive was written, whatever the verdict; 2 RESULT is no "
		 "result; 3 a file cannot be read or written.",
	.run = evidence_run,
};
