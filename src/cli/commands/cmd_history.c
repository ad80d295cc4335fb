/* gpuproof history: what earlier nights measured, and what changed. */
#include <stdio.h>

#include "base/file.h"
#include "cli/command.h"
#include "cli/commands/history_actions.h"
#include "cli/input/history_file.h"
#include "cli/input/page_options.h"
#include "cli/output/print_fleet.h"
#include "cli/output/print_node.h"
#include "cli/output/print_trend.h"
#include "cli/output/show_history.h"
#include "history/fleet/fleet.h"
#include "report/cohort/cohort_page.h"
#include "report/template/template.h"
#include "report/trend/trend_page.h"

extern const struct command command_history;

enum fail_on { FAIL_ON_NOTHING, FAIL_ON_CHANGE, FAIL_ON_WARNING };
/* By enum triage; a decision has one. */
static const char *const triage_states[] = { "open",    "fixed",   "expected", "false-alarm",
					     "tracked", "wontfix", NULL };
static const char *const fail_on[] = { "change", "warning", NULL };

struct history_arguments *history_arguments_of(const struct action_call *call)
{
	struct history_arguments *a = call->arguments;

	a->db = history_file(a->db);
	a->trend.filter.nights = (size_t)a->nights;
	return a;
}

int history_finish(const struct error *err)
{
	return err->status == STATUS_OK ? EXIT_ACCEPTED : command_fail(err);
}

/* A filter that matches no series must not be answered with "quiet". */
static void refuse_no_match(const struct history_filter *f, size_t series, struct error *err)
{
	if (series || (!f->metric && !f->case_id && !f->series))
		return;
	error_set(err, STATUS_USAGE,
		  "no series is what --case, --metric or --series say%s; gpuproof history trend "
		  "--all lists them",
		  f->all_metrics || f->metric || f->series
			  ? ""
			  : " (--all-metrics: not only each suite's main figure)");
}

static int show(const struct action_call *call)
{
	struct history_arguments *a = history_arguments_of(call);
	struct error err = ERROR_NONE;
	struct store *history;
	size_t shown = 0;

	if (history_file_open(&history, a->db, STORE_READ, &err) != STATUS_OK)
		return command_fail(&err);
	if (show_history(history, &a->trend.filter, &shown, &err) == STATUS_OK)
		refuse_no_match(&a->trend.filter, shown, &err);
	store_close(history);
	return history_finish(&err);
}

static int gate(const struct history_arguments *a, const struct trend_summary *summary)
{
	bool failed = a->fail_on != FAIL_ON_NOTHING && summary->worse;

	failed = failed || (a->fail_on == FAIL_ON_WARNING && summary->warnings);
	return failed ? EXIT_GATE_FAILED : EXIT_ACCEPTED;
}

static int trend(const struct action_call *call)
{
	struct history_arguments *a = history_arguments_of(call);
	struct error err = ERROR_NONE;
	struct store *history;
	struct trend_summary summary = { 0 };

	if (history_file_open(&history, a->db, STORE_READ, &err) == STATUS_OK)
		print_trend(history, &a->trend, &summary, &err);
	store_close(history);
	refuse_no_match(&a->trend.filter, summary.series, &err);
	if (err.status != STATUS_OK)
		return command_fail(&err);
	return gate(a, &summary);
}

static int page(const struct action_call *call)
{
	struct history_arguments *a = history_arguments_of(call);
	struct error err = ERROR_NONE;
	struct store *history = NULL;
	struct trend_summary summary = { 0 };

	page_options_layout(&a->page, a->layout);
	if (!a->page.output)
		a->page.output = "trend.html";
	if (history_file_open(&history, a->db, STORE_READ, &err) == STATUS_OK)
		report_trend_write(history, &a->trend.filter, &a->page, &summary, &err);
	store_close(history);
	refuse_no_match(&a->trend.filter, summary.series, &err);
	if (err.status != STATUS_OK)
		return command_fail(&err);
	if (!report_on_stdout(&a->page))
		puts(a->page.output);
	return gate(a, &summary);
}

/* A host or a device without a word, and a fleet that could not be compared, are no good news. */
static int fleet_gate(const struct history_arguments *a, const struct fleet *f)
{
	bool failed = a->fail_on != FAIL_ON_NOTHING && (f->open || !f->compared);

	failed = failed || (a->fail_on == FAIL_ON_WARNING &&
			    (f->silent_hosts || f->gone_count || f->too_few));
	return failed ? EXIT_GATE_FAILED : EXIT_ACCEPTED;
}

/* Reads and judges for `fleet` and `node`, which may write a page. fleet_release() in any case. */
static enum status read_fleet(struct history_arguments *a, struct fleet *f, struct error *err)
{
	struct store *history = NULL;

	page_options_layout(&a->page, a->layout);
	if (history_file_open(&history, a->db, STORE_READ, err) == STATUS_OK &&
	    fleet_read(f, history, &a->trend.filter, err) == STATUS_OK)
		refuse_no_match(&a->trend.filter, f->member_count, err);
	store_close(history);
	return err->status;
}

static bool prints(const struct history_arguments *a, const struct error *err)
{
	return err->status == STATUS_OK && !(a->page.output && report_on_stdout(&a->page));
}

static int fleet(const struct action_call *call)
{
	struct history_arguments *a = history_arguments_of(call);
	struct error err = ERROR_NONE;
	struct fleet f = { 0 };
	int code;

	if (read_fleet(a, &f, &err) == STATUS_OK && a->page.output)
		report_cohorts_write(&f, &a->page, &err);
	if (prints(a, &err))
		print_fleet(&f, a->trend.json);
	code = err.status == STATUS_OK ? fleet_gate(a, &f) : command_fail(&err);
	fleet_release(&f);
	return code;
}

/* A fleet that could not be judged is no good news either. */
static int node_gate(const struct history_arguments *a, const struct fleet *f,
		     const struct fleet_subject *subject)
{
	size_t open = 0;

	for (size_t i = 0; i < f->finding_count; i++)
		open += !f->findings[i].decision &&
			fleet_finding_is_about(f, &f->findings[i], subject);
	return a->fail_on != FAIL_ON_NOTHING && (open || !f->compared) ? EXIT_GATE_FAILED
								       : EXIT_ACCEPTED;
}

static int node(const struct action_call *call)
{
	struct history_arguments *a = history_arguments_of(call);
	struct error err = ERROR_NONE;
	struct fleet_subject subject = { 0 };
	struct fleet f = { 0 };
	int code;

	if (read_fleet(a, &f, &err) == STATUS_OK &&
	    fleet_find_subject(&f, call->operands[0], &subject, &err) == STATUS_OK &&
	    a->page.output)
		report_node_write(&f, &subject, &a->page, &err);
	if (prints(a, &err))
		print_node(&f, &subject, a->trend.json);
	code = err.status == STATUS_OK ? node_gate(a, &f, &subject) : command_fail(&err);
	fleet_release(&f);
	return code;
}

static enum status take_day(void *day, const char *name, const char *value, struct error *err)
{
	if (history_day(value, day))
		return STATUS_OK;
	return error_set(err, STATUS_USAGE, "--%s: '%.40s' is no date like 2026-11-20", name,
			 value);
}

static const struct option_row rows[] = {
	HISTORY_OPTION(history_arguments),
	{ .name = "case",
	  TEXT_AT(history_arguments, trend.filter.case_id),
	  .value = "TEXT",
	  .actions = "show, trend, report, fleet, node, acknowledge",
	  .help = "series whose case holds the text" },
	{ .name = "metric",
	  TEXT_AT(history_arguments, trend.filter.metric),
	  .value = "TEXT",
	  .actions = "show, trend, report, fleet, node, acknowledge",
	  .help = "series whose metric holds the text" },
	{ .name = "tag",
	  TEXT_AT(history_arguments, trend.filter.tag),
	  .value = "WORD",
	  .actions = "show, trend, report, fleet, node",
	  .help = "nights whose run has this word in [run] tags" },
	{ .name = "series",
	  COUNT_AT(history_arguments, trend.filter.series),
	  .value = "N",
	  .actions = "show, trend, report, annotate, acknowledge",
	  .help = "one, by the number that trend shows; annotate: only about this one" },
	{ .name = "node",
	  TEXT_AT(history_arguments, node),
	  .value = "HOST",
	  .actions = "acknowledge",
	  .help = "what is about this node or its devices" },
	{ .name = "device",
	  TEXT_AT(history_arguments, device),
	  .value = "ID",
	  .actions = "acknowledge",
	  .help = "what is about this device: a UUID, a serial number or HOST/cuda:3" },
	{ .name = "state",
	  CHOICE_AT(history_arguments, state),
	  .choices = triage_states,
	  .actions = "acknowledge",
	  .help = "fixed: open again if it is still there after three nights; expected (the "
		  "default), wontfix, false-alarm, tracked: closed; open: takes earlier decisions "
		  "back" },
	{ .name = "by",
	  TEXT_AT(history_arguments, by),
	  .value = "WHO",
	  .actions = "acknowledge",
	  .help = "who decides" },
	{ .name = "ticket",
	  TEXT_AT(history_arguments, ticket),
	  .value = "URL",
	  .actions = "acknowledge",
	  .help = "where it is tracked" },
	{ .name = "until",
	  .type = OPTION_CALL,
	  OPTION_AT(history_arguments, until),
	  .take = take_day,
	  .value = "DATE",
	  .actions = "acknowledge",
	  .help = "the last day that the decision holds; open again after it" },
	{ .name = "nights",
	  COUNT_AT(history_arguments, nights),
	  .value = "N",
	  .actions = "show, trend, report, fleet, node",
	  .help = "look at the last N nights only; fleet, node: at their levels (default: 7)" },
	{ .name = "all-metrics",
	  FLAG_AT(history_arguments, trend.filter.all_metrics),
	  .actions = "show, trend, report, fleet, node",
	  .help = "not only each suite's main figure" },
	{ .name = "all",
	  .letter = 'a',
	  FLAG_AT(history_arguments, trend.all),
	  .actions = "trend",
	  .help = "also series that did not change" },
	{ .name = "fail-on",
	  CHOICE_AT(history_arguments, fail_on),
	  .choices = fail_on,
	  .actions = "trend, report, fleet, node",
	  .help = "change: exit code 1 when there is a new change for the worse, in fleet an open "
		  "finding; warning: for a WARNING, in fleet also a silent node or device" },
	{ .name = "acknowledge",
	  FLAG_AT(history_arguments, acknowledge),
	  .actions = "annotate",
	  .help = "the note explains a change up to five days away: it is no longer new" },
	{ .name = "spool",
	  FLAG_AT(history_arguments, spool),
	  .actions = "add",
	  .help = "leave the nights in FILE.spool, one file each, without a lock; the next reader "
		  "takes them in" },
	{ .name = "before",
	  .type = OPTION_CALL,
	  OPTION_AT(history_arguments, before),
	  .take = take_day,
	  .value = "DATE",
	  .actions = "prune",
	  .help = "the nights before this day" },
	{ .name = "keep",
	  COUNT_AT(history_arguments, keep),
	  .value = "DAYS",
	  .actions = "prune",
	  .help = "all nights but those of the last DAYS days" },
	{ .name = "json",
	  FLAG_AT(history_arguments, trend.json),
	  .actions = "trend, fleet, node",
	  .help = "the same as JSON" },
	{ .name = "output",
	  .letter = 'o',
	  TEXT_AT(history_arguments, page.output),
	  .value = "FILE",
	  .file = OPTION_FILE_WRITTEN,
	  .actions = "report, fleet, node, export",
	  .help = "the page (report: trend.html by default) or the export; -: standard output" },
	PAGE_OPTIONS(history_arguments, page, .actions = "report, fleet, node"),
	{ 0 },
};

static const struct action actions[] = {
	{ .name = "add",
	  .form = "RESULT...      or folders of results; adding the same run twice has no effect; "
		  "a resumed one replaces its first part",
	  .least = 1,
	  .most = ANY_NUMBER,
	  .run = history_add_results },
	{ .name = "trend", .form = "             what changed, is new, was missed", .run = trend },
	{ .name = "report", .form = "[-o FILE]   the same as an HTML page", .run = page },
	{ .name = "fleet",
	  .form = "[-o FILE]    node against node: which is slow, since when, or silent; -o: a "
		  "page",
	  .run = fleet },
	{ .name = "node",
	  .form = "NAME [-o FILE]   a node (or a GPU: serial number, UUID, HOST/cuda:3) night by "
		  "night next to the others; -o: a page",
	  .least = 1,
	  .most = 1,
	  .run = node },
	{ .name = "show",
	  .form = "              the nights; with --case, --metric or --series the values",
	  .run = show },
	{ .name = "annotate",
	  .form = "DATE TEXT [--acknowledge]",
	  .least = 2,
	  .most = 2,
	  .run = history_annotate_day },
	{ .name = "acknowledge",
	  .form = "REASON --series N | --node HOST | --device ID | --case TEXT | --metric TEXT",
	  .least = 1,
	  .most = 1,
	  .run = history_acknowledge },
	{ .name = "prune", .form = "--before DATE | --keep DAYS", .run = history_prune_nights },
	{ .name = "export",
	  .form = "[-o FILE]   all nights and notes as lines of JSON",
	  .run = history_export_nights },
	{ .name = "import",
	  .form = "FILE...     adds the nights of exports",
	  .least = 1,
	  .most = ANY_NUMBER,
	  .run = history_import_nights },
	{ .name = "merge",
	  .form = "HISTORY...   adds the nights of other histories",
	  .least = 1,
	  .most = ANY_NUMBER,
	  .run = history_merge_nights },
	{ 0 },
};

static int history_run(int argc, char **argv)
{
	struct history_arguments a = { .before = -1, .keep = -1 };
	int code = command_act(&command_history, argc, argv, &a);

	result_paths_release(&a.paths);
	return code;
}

const struct command command_history = {
	.name = "history",
	.summary = "keep every night's figures and see what changed",
	.about =
		"A series is a metric of a case on a device; it starts anew when hardware, driver "
		"or config change.\n"
		"A change is confirmed after about five nights (1 % or more, odds over 164 to 1 "
		"that\n"
		"it is one, also where nights resemble the ones before; more for over 25 series);\n"
		"two of three nights beyond the band give a WARNING at once.",
	.actions = actions,
	.options = rows,
	.run = history_run,
};
