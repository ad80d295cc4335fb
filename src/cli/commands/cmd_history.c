/* gpuproof history: values of earlier nights, and changes. */
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
/* By enum triage; a decision has one of these states. */
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

/* A filter that matches no series must not look like "no change". */
static void history_refuse_no_match(const struct history_filter *f, size_t series,
				    struct error *err)
{
	if (series || (!f->metric && !f->case_id && !f->series))
		return;
	error_set(err, STATUS_USAGE,
		  "no series matches --case, --metric or --series%s; gpuproof history trend --all "
		  "lists them",
		  f->all_metrics || f->metric || f->series
			  ? ""
			  : " (--all-metrics: not only each suite's main figure)");
}

static int history_show(const struct action_call *call)
{
	struct history_arguments *a = history_arguments_of(call);
	struct error err = ERROR_NONE;
	struct store *history;
	size_t shown = 0;

	if (store_open(&history, a->db, STORE_READ, &err) != STATUS_OK)
		return command_fail(&err);
	if (show_history(history, &a->trend.filter, &shown, &err) == STATUS_OK)
		history_refuse_no_match(&a->trend.filter, shown, &err);
	store_close(history);
	return history_finish(&err);
}

static int history_gate_code(const struct history_arguments *a, const struct trend_summary *summary)
{
	bool failed = a->fail_on != FAIL_ON_NOTHING && summary->worse;

	failed = failed || (a->fail_on == FAIL_ON_WARNING && summary->warnings);
	return failed ? EXIT_GATE_FAILED : EXIT_ACCEPTED;
}

static int history_trend_action(const struct action_call *call)
{
	struct history_arguments *a = history_arguments_of(call);
	struct error err = ERROR_NONE;
	struct store *history;
	struct trend_summary summary = { 0 };

	if (store_open(&history, a->db, STORE_READ, &err) == STATUS_OK)
		print_trend(history, &a->trend, &summary, &err);
	store_close(history);
	history_refuse_no_match(&a->trend.filter, summary.series, &err);
	if (err.status != STATUS_OK)
		return command_fail(&err);
	return history_gate_code(a, &summary);
}

static int history_page_action(const struct action_call *call)
{
	struct history_arguments *a = history_arguments_of(call);
	struct error err = ERROR_NONE;
	struct store *history = NULL;
	struct trend_summary summary = { 0 };

	page_options_layout(&a->page, a->layout);
	if (!a->page.output)
		a->page.output = "trend.html";
	if (store_open(&history, a->db, STORE_READ, &err) == STATUS_OK)
		report_trend_write(history, &a->trend.filter, &a->page, &summary, &err);
	store_close(history);
	history_refuse_no_match(&a->trend.filter, summary.series, &err);
	if (err.status != STATUS_OK)
		return command_fail(&err);
	if (!report_on_stdout(&a->page))
		puts(a->page.output);
	return history_gate_code(a, &summary);
}

/* A silent host or device, or a fleet that could not be compared, must not pass the gate. */
static int history_fleet_gate(const struct history_arguments *a, const struct fleet *f)
{
	bool failed = a->fail_on != FAIL_ON_NOTHING && (f->open || !f->compared);

	failed = failed || (a->fail_on == FAIL_ON_WARNING &&
			    (f->silent_hosts || f->gone_count || f->too_few));
	return failed ? EXIT_GATE_FAILED : EXIT_ACCEPTED;
}

/*
 * Reads and judges the fleet for `fleet` and `node`, which may write a page. Call fleet_release()
 * in any case.
 */
static enum status history_read_fleet(struct history_arguments *a, struct fleet *f,
				      struct error *err)
{
	struct store *history = NULL;

	page_options_layout(&a->page, a->layout);
	if (store_open(&history, a->db, STORE_READ, err) == STATUS_OK &&
	    fleet_read(f, history, &a->trend.filter, err) == STATUS_OK)
		history_refuse_no_match(&a->trend.filter, f->member_count, err);
	store_close(history);
	return err->status;
}

static bool history_prints(const struct history_arguments *a, const struct error *err)
{
	return err->status == STATUS_OK && !(a->page.output && report_on_stdout(&a->page));
}

static int history_fleet_action(const struct action_call *call)
{
	struct history_arguments *a = history_arguments_of(call);
	struct error err = ERROR_NONE;
	struct fleet f = { 0 };
	int code;

	if (history_read_fleet(a, &f, &err) == STATUS_OK && a->page.output)
		report_cohorts_write(&f, &a->page, &err);
	if (history_prints(a, &err))
		print_fleet(&f, a->trend.json);
	code = err.status == STATUS_OK ? history_fleet_gate(a, &f) : command_fail(&err);
	fleet_release(&f);
	return code;
}

/* A fleet that could not be judged must not pass the gate either. */
static int history_node_gate(const struct history_arguments *a, const struct fleet *f,
			     const struct fleet_subject *subject)
{
	size_t open = 0;

	for (size_t i = 0; i < f->finding_count; i++)
		open += !f->findings[i].decision &&
			fleet_finding_is_about(f, &f->findings[i], subject);
	return a->fail_on != FAIL_ON_NOTHING && (open || !f->compared) ? EXIT_GATE_FAILED
								       : EXIT_ACCEPTED;
}

static int history_node_action(const struct action_call *call)
{
	struct history_arguments *a = history_arguments_of(call);
	struct error err = ERROR_NONE;
	struct fleet_subject subject = { 0 };
	struct fleet f = { 0 };
	int code;

	if (history_read_fleet(a, &f, &err) == STATUS_OK &&
	    fleet_find_subject(&f, call->operands[0], &subject, &err) == STATUS_OK &&
	    a->page.output)
		report_node_write(&f, &subject, &a->page, &err);
	if (history_prints(a, &err))
		print_node(&f, &subject, a->trend.json);
	code = err.status == STATUS_OK ? history_node_gate(a, &f, &subject) : command_fail(&err);
	fleet_release(&f);
	return code;
}

static enum status history_take_day(void *day, const char *name, const char *value,
				    struct error *err)
{
	if (history_day(value, day))
		return STATUS_OK;
	return error_set(err, STATUS_USAGE, "--%s: invalid date '%.40s'; write it as 2026-11-20",
			 name, value);
}

static const struct option_row rows[] = {
	HISTORY_OPTION(history_arguments),
	{ .name = "case",
	  TEXT_AT(history_arguments, trend.filter.case_id),
	  .value = "TEXT",
	  .actions = "show, trend, report, fleet, node, acknowledge",
	  .help = "only series whose case contains the text" },
	{ .name = "metric",
	  TEXT_AT(history_arguments, trend.filter.metric),
	  .value = "TEXT",
	  .actions = "show, trend, report, fleet, node, acknowledge",
	  .help = "only series whose metric contains the text" },
	{ .name = "tag",
	  TEXT_AT(history_arguments, trend.filter.tag),
	  .value = "WORD",
	  .actions = "show, trend, report, fleet, node",
	  .help = "only nights with this word in [run] tags" },
	{ .name = "series",
	  COUNT_AT(history_arguments, trend.filter.series),
	  .value = "N",
	  .actions = "show, trend, report, annotate, acknowledge",
	  .help = "only the series with this number in trend; annotate: a note on this series "
		  "only" },
	{ .name = "node",
	  TEXT_AT(history_arguments, node),
	  .value = "HOST",
	  .actions = "acknowledge",
	  .help = "changes of this node or its devices" },
	{ .name = "device",
	  TEXT_AT(history_arguments, device),
	  .value = "ID",
	  .actions = "acknowledge",
	  .help = "changes of this device: a UUID, a serial number or HOST/cuda:3" },
	{ .name = "state",
	  CHOICE_AT(history_arguments, state),
	  .choices = triage_states,
	  .actions = "acknowledge",
	  .help = "expected (the default), wontfix, false-alarm and tracked close the change; "
		  "fixed closes it unless it is still there after three nights; open withdraws "
		  "earlier decisions" },
	{ .name = "by",
	  TEXT_AT(history_arguments, by),
	  .value = "WHO",
	  .actions = "acknowledge",
	  .help = "name of the person who decides" },
	{ .name = "ticket",
	  TEXT_AT(history_arguments, ticket),
	  .value = "URL",
	  .actions = "acknowledge",
	  .help = "address of the ticket" },
	{ .name = "until",
	  .type = OPTION_CALL,
	  OPTION_AT(history_arguments, until),
	  .take = history_take_day,
	  .value = "DATE",
	  .actions = "acknowledge",
	  .help = "last day of the decision; the change is open again after it" },
	{ .name = "nights",
	  COUNT_AT(history_arguments, nights),
	  .value = "N",
	  .actions = "show, trend, report, fleet, node",
	  .help = "only the last N nights; fleet, node: compare their levels (default: 7)" },
	{ .name = "all-metrics",
	  FLAG_AT(history_arguments, trend.filter.all_metrics),
	  .actions = "show, trend, report, fleet, node",
	  .help = "all metrics, not only the main one of each suite" },
	{ .name = "all",
	  .letter = 'a',
	  FLAG_AT(history_arguments, trend.all),
	  .actions = "trend",
	  .help = "also print unchanged series" },
	{ .name = "fail-on",
	  CHOICE_AT(history_arguments, fail_on),
	  .choices = fail_on,
	  .actions = "trend, report, fleet, node",
	  .help = "change: exit 1 on a new regression, in fleet on an open finding; warning: also "
		  "on a WARNING, in fleet on a silent node or device" },
	{ .name = "acknowledge",
	  FLAG_AT(history_arguments, acknowledge),
	  .actions = "annotate",
	  .help = "the note explains a change within five days, which is then no longer new" },
	{ .name = "before",
	  .type = OPTION_CALL,
	  OPTION_AT(history_arguments, before),
	  .take = history_take_day,
	  .value = "DATE",
	  .actions = "prune",
	  .help = "remove the nights before this day" },
	{ .name = "keep",
	  COUNT_AT(history_arguments, keep),
	  .value = "DAYS",
	  .actions = "prune",
	  .help = "remove nights older than DAYS days" },
	{ .name = "json",
	  FLAG_AT(history_arguments, trend.json),
	  .actions = "trend, fleet, node",
	  .help = "print JSON" },
	{ .name = "output",
	  .letter = 'o',
	  TEXT_AT(history_arguments, page.output),
	  .value = "FILE",
	  .file = OPTION_FILE_WRITTEN,
	  .actions = "report, fleet, node",
	  .help = "page to write (report: trend.html by default); -: standard output" },
	PAGE_OPTIONS(history_arguments, page, .actions = "report, fleet, node"),
	{ 0 },
};

static const struct action actions[] = {
	{ .name = "add",
	  .form = "RESULT...      add results, or directories of results. A run is added once; a "
		  "resumed run replaces its first part",
	  .least = 1,
	  .most = ANY_NUMBER,
	  .run = history_add_results },
	{ .name = "trend",
	  .form = "             print new changes, warnings and missed nights",
	  .run = history_trend_action },
	{ .name = "report",
	  .form = "[-o FILE]   write the trend as an HTML page",
	  .run = history_page_action },
	{ .name = "fleet",
	  .form = "[-o FILE]    compare nodes: slow nodes, since when, and silent nodes; -o: write "
		  "a page",
	  .run = history_fleet_action },
	{ .name = "node",
	  .form = "NAME [-o FILE]   show one node (or GPU: serial number, UUID, HOST/cuda:3) night "
		  "by night next to the others; -o: write a page",
	  .least = 1,
	  .most = 1,
	  .run = history_node_action },
	{ .name = "show",
	  .form = "              list the nights; with --case, --metric or --series their values",
	  .run = history_show },
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
	{ .name = "merge",
	  .form = "HISTORY...   add the nights of other histories",
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
	.summary = "store nightly results and find changes",
	.about = "A series is a metric of a case on a device. Where hardware, driver or config "
		 "change, statistics start anew, and the levels on both sides are compared. A "
		 "change of 10 % or more is reported after one night. A change of 1 % or more is "
		 "confirmed after about five nights, if its odds exceed 164 to 1 (gpuproof help "
		 "verdicts). Two of three nights outside the band give an early WARNING.",
	.actions = actions,
	.options = rows,
	.run = history_run,
};
