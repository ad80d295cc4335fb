/* gpuproof history: what earlier nights measured, and what changed. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "cli/actions.h"
#include "cli/command.h"
#include "cli/input/history_file.h"
#include "cli/input/page_options.h"
#include "cli/input/result_list.h"
#include "cli/output/print_fleet.h"
#include "cli/output/print_trend.h"
#include "cli/output/show_history.h"
#include "history/exchange/exchange.h"
#include "history/fleet/fleet.h"
#include "history/triage.h"
#include "report/cohort/cohort_page.h"
#include "report/template/template.h"
#include "report/trend/trend_page.h"

extern const struct command command_history;

struct history_arguments {
	const char *db;
	struct trend_options trend;
	struct report_options page;
	int fail_on, layout; /* enum fail_on; enum layout */
	bool acknowledge;
	int64_t before, keep; /* -1: not given */
	int64_t nights;
	bool spool;
	struct result_paths paths; /* of the results to add */
	/* of a decision; state: enum triage, 0: not given; until: 0: not given */
	const char *node, *device, *by, *ticket;
	int state;
	int64_t until;
};

enum fail_on { FAIL_ON_NOTHING, FAIL_ON_CHANGE, FAIL_ON_WARNING };
/* By enum triage; a decision has one. */
static const char *const triage_states[] = { "open",    "fixed",   "expected", "false-alarm",
					     "tracked", "wontfix", NULL };
static const char *const fail_on[] = { "change", "warning", NULL };

static struct history_arguments *arguments_of(const struct action_call *call)
{
	struct history_arguments *a = call->arguments;

	a->db = history_file(a->db);
	a->trend.filter.nights = (size_t)a->nights;
	return a;
}

static int finish(const struct error *err)
{
	return err->status == STATUS_OK ? EXIT_ACCEPTED : command_fail(err);
}

/*
 * Nights of many results are added a few hundred at a time: writers wait for each other while a
 * transaction is open.
 */
#define NIGHTS_AT_ONCE 256
#define MOST_TOLD 40 /* results by name; of more only how many */

static void complain(const struct error *refusal)
{
	fprintf(stderr, "gpuproof: %s\n", refusal->message);
}

/* Nights that were read and wait for their transaction. */
struct batch {
	struct store_night nights[NIGHTS_AT_ONCE];
	char *paths[NIGHTS_AT_ONCE];
	size_t count;
};

static void tell(const struct history_arguments *a, const char *path,
		 const struct history_tally *before, const struct history_tally *after)
{
	if (a->paths.count > MOST_TOLD || after->refused > before->refused)
		return;
	fprintf(stderr, "gpuproof: %s is %s%s%s%s\n", path,
		after->present > before->present ? "in " : "now in ", a->db,
		a->spool ? ".spool" : "",
		after->present > before->present     ? " already"
		: after->replaced > before->replaced ? ", in place of an earlier version of its run"
						     : "");
}

static enum status add_night(struct history_arguments *a, struct store *store,
			     const struct store_night *night, const char *path,
			     struct history_tally *tally, struct error *err)
{
	const struct history_tally before = *tally;

	if (!a->spool)
		history_tally(store, night, path, tally, err);
	else if (spool_drop(a->db, night, err) == STATUS_OK)
		tally->added++;
	if (err->status == STATUS_OK)
		tell(a, path, &before, tally);
	return err->status;
}

static enum status flush(struct history_arguments *a, struct store *store, struct batch *batch,
			 struct history_tally *tally, struct error *err)
{
	bool open = store && err->status == STATUS_OK && store_begin(store, err) == STATUS_OK;

	for (size_t i = 0; i < batch->count; i++) {
		if (err->status == STATUS_OK)
			add_night(a, store, &batch->nights[i], batch->paths[i], tally, err);
		store_night_release(&batch->nights[i]);
		free(batch->paths[i]);
	}
	batch->count = 0;
	return open ? store_end(store, true, err) : err->status;
}

/* One result that cannot be read does not keep the others out. */
static enum status add_path(struct history_arguments *a, struct store *store, const char *path,
			    struct batch *batch, struct history_tally *tally, struct error *err)
{
	struct result_list results = { 0 };

	result_list_add(&results, path, err);
	for (size_t i = 0; i < results.count && err->status == STATUS_OK; i++) {
		struct store_night *night = &batch->nights[batch->count];

		if (night_of_result(&results.items[i], night, err) != STATUS_OK) {
			error_prefix(err, "%s", results.paths[i]);
			break;
		}
		batch->paths[batch->count++] = xstrdup(results.paths[i]);
		if (batch->count == NIGHTS_AT_ONCE)
			flush(a, store, batch, tally, err);
	}
	result_list_release(&results);
	if (a->paths.count > 1 && err->status == STATUS_USAGE) {
		tally->refused++;
		complain(err);
		error_clear(err);
	}
	return err->status;
}

static int tell_tally(const struct history_arguments *a, const struct history_tally *t,
		      bool several)
{
	if (several)
		fprintf(stderr,
			"gpuproof: %s%s: %zu added, %zu replaced, %zu there already, %zu refused\n",
			a->db, a->spool ? ".spool" : "", t->added, t->replaced, t->present,
			t->refused);
	return t->refused ? EXIT_USAGE : EXIT_ACCEPTED;
}

static int add(const struct action_call *call)
{
	struct history_arguments *a = arguments_of(call);
	struct history_tally tally = { .complain = complain };
	struct error err = ERROR_NONE;
	struct store *store = NULL;
	struct batch *batch;

	for (int i = 0; i < call->count && err.status == STATUS_OK; i++)
		result_paths_add(&a->paths, call->operands[i], &err);
	if (err.status == STATUS_OK && !a->spool)
		history_file_open(&store, a->db, STORE_CREATE, &err);
	batch = xcalloc(1, sizeof(*batch));
	for (size_t i = 0; i < a->paths.count && err.status == STATUS_OK; i++)
		add_path(a, store, a->paths.items[i], batch, &tally, &err);
	flush(a, store, batch, &tally, &err);
	store_close(store);
	free(batch);
	return err.status == STATUS_OK ? tell_tally(a, &tally, a->paths.count > 1)
				       : command_fail(&err);
}

static int export_nights(const struct action_call *call)
{
	struct history_arguments *a = arguments_of(call);
	const char *output = a->page.output && !report_on_stdout(&a->page) ? a->page.output : NULL;
	struct error err = ERROR_NONE;
	struct store *store = NULL;
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);

	if (file_refuse_input(output, a->db, &err) == STATUS_OK &&
	    history_file_open(&store, a->db, STORE_READ, &err) == STATUS_OK)
		history_export(store, out, &err);
	store_close(store);
	fclose(out);
	if (err.status == STATUS_OK)
		file_write(output ? output : "/dev/stdout", text, length, &err);
	free(text);
	return finish(&err);
}

static enum status take_one(struct store *store, const char *path, bool merge,
			    struct history_tally *tally, struct error *err)
{
	struct store *from;

	if (!merge)
		return history_import(store, path, tally, err);
	if (history_file_open(&from, path, STORE_READ, err) == STATUS_OK)
		history_merge(store, from, path, tally, err);
	store_close(from);
	return err->status;
}

/* Nights of exports, or of other histories. */
static int take(const struct action_call *call, bool merge)
{
	struct history_arguments *a = arguments_of(call);
	struct history_tally tally = { .complain = complain };
	struct error err = ERROR_NONE;
	struct store *store = NULL;

	for (int i = 0; i < call->count && err.status == STATUS_OK; i++)
		file_refuse_input(a->db, call->operands[i], &err);
	if (err.status == STATUS_OK)
		history_file_open(&store, a->db, STORE_CREATE, &err);
	for (int i = 0; i < call->count && err.status == STATUS_OK; i++)
		take_one(store, call->operands[i], merge, &tally, &err);
	store_close(store);
	return err.status == STATUS_OK ? tell_tally(a, &tally, true) : command_fail(&err);
}

static int import_nights(const struct action_call *call)
{
	return take(call, false);
}

static int merge(const struct action_call *call)
{
	return take(call, true);
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
	struct history_arguments *a = arguments_of(call);
	struct error err = ERROR_NONE;
	struct store *history;
	size_t shown = 0;

	if (history_file_open(&history, a->db, STORE_READ, &err) != STATUS_OK)
		return command_fail(&err);
	if (show_history(history, &a->trend.filter, &shown, &err) == STATUS_OK)
		refuse_no_match(&a->trend.filter, shown, &err);
	store_close(history);
	return finish(&err);
}

static int gate(const struct history_arguments *a, const struct trend_summary *summary)
{
	bool failed = a->fail_on != FAIL_ON_NOTHING && summary->worse;

	failed = failed || (a->fail_on == FAIL_ON_WARNING && summary->warnings);
	return failed ? EXIT_GATE_FAILED : EXIT_ACCEPTED;
}

static int trend(const struct action_call *call)
{
	struct history_arguments *a = arguments_of(call);
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
	struct history_arguments *a = arguments_of(call);
	struct error err = ERROR_NONE;
	struct store *history = NULL;
	struct trend_summary summary = { 0 };

	page_options_layout(&a->page, a->layout);
	if (!a->page.output)
		a->page.output = "trend.html";
	if (file_refuse_input(a->page.output, a->db, &err) == STATUS_OK &&
	    template_refuse_output(a->page.template_dir, a->page.output, &err) == STATUS_OK &&
	    history_file_open(&history, a->db, STORE_READ, &err) == STATUS_OK)
		report_trend_write(history, &a->trend.filter, &a->page, &summary, &err);
	store_close(history);
	refuse_no_match(&a->trend.filter, summary.series, &err);
	if (err.status != STATUS_OK)
		return command_fail(&err);
	page_options_note(&a->page);
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

static int fleet(const struct action_call *call)
{
	struct history_arguments *a = arguments_of(call);
	struct error err = ERROR_NONE;
	struct store *history = NULL;
	struct fleet f = { 0 };
	int code;

	page_options_layout(&a->page, a->layout);
	if ((!a->page.output ||
	     (file_refuse_input(a->page.output, a->db, &err) == STATUS_OK &&
	      template_refuse_output(a->page.template_dir, a->page.output, &err) == STATUS_OK)) &&
	    history_file_open(&history, a->db, STORE_READ, &err) == STATUS_OK &&
	    fleet_read(&f, history, &a->trend.filter, &err) == STATUS_OK) {
		refuse_no_match(&a->trend.filter, f.member_count, &err);
		if (err.status == STATUS_OK && a->page.output)
			report_cohorts_write(&f, &a->page, &err);
		if (err.status == STATUS_OK && !(a->page.output && report_on_stdout(&a->page)))
			print_fleet(&f, a->trend.json);
	}
	code = err.status == STATUS_OK ? fleet_gate(a, &f) : command_fail(&err);
	store_close(history);
	fleet_release(&f);
	return code;
}

static int acknowledge(const struct action_call *call)
{
	struct history_arguments *a = arguments_of(call);
	struct error err = ERROR_NONE;
	struct store *history = NULL;

	const struct history_note decision = {
		.text = (char *)call->operands[0],
		.state = (enum triage)(a->state ? a->state : TRIAGE_EXPECTED),
		.by = (char *)a->by,
		.ticket = (char *)a->ticket,
		.until = a->until,
		.host = (char *)a->node,
		.machine = (char *)a->device,
		.series = a->trend.filter.series,
		.case_id = (char *)a->trend.filter.case_id,
		.metric = (char *)a->trend.filter.metric,
	};

	if (history_file_open(&history, a->db, STORE_WRITE, &err) == STATUS_OK)
		triage_decide(history, &decision, &err);
	store_close(history);
	return finish(&err);
}

static int annotate(const struct action_call *call)
{
	struct history_arguments *a = arguments_of(call);
	struct error err = ERROR_NONE;
	struct store *history = NULL;
	int64_t day;

	if (!history_day(call->operands[0], &day))
		error_set(&err, STATUS_USAGE, "'%.40s' is no date like 2026-11-20",
			  call->operands[0]);
	else if (history_file_open(&history, a->db, STORE_WRITE, &err) == STATUS_OK)
		history_annotate(history, day, a->trend.filter.series, a->acknowledge,
				 call->operands[1], &err);
	store_close(history);
	return finish(&err);
}

/* One night that a wrong clock dated into the future must not make all others old. */
static int64_t last_day(const struct history_nights *nights)
{
	int64_t last = nights->items[nights->count - 1].day, today;
	char now[32];

	clock_iso8601(now, sizeof(now));
	return history_day(now, &today) && today < last ? today : last;
}

static int prune(const struct action_call *call)
{
	struct history_arguments *a = arguments_of(call);
	struct error err = ERROR_NONE;
	struct store *history = NULL;
	struct history_nights nights = { 0 };
	size_t removed = 0;

	if ((a->before < 0) == (a->keep < 0))
		return command_usage(&command_history, "prune --before DATE or --keep DAYS");
	if (history_file_open(&history, a->db, STORE_WRITE, &err) == STATUS_OK &&
	    store_nights(history, &nights, &err) == STATUS_OK && nights.count) {
		if (a->keep >= 0)
			a->before = last_day(&nights) - a->keep + 1;
		store_prune(history, a->before, &removed, &err);
	}
	history_nights_release(&nights);
	store_close(history);
	if (err.status == STATUS_OK)
		printf("%zu night%s removed\n", removed, removed == 1 ? "" : "s");
	return finish(&err);
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
	  .actions = "show, trend, report, fleet, acknowledge",
	  .help = "series whose case holds the text" },
	{ .name = "metric",
	  TEXT_AT(history_arguments, trend.filter.metric),
	  .value = "TEXT",
	  .actions = "show, trend, report, fleet, acknowledge",
	  .help = "series whose metric holds the text" },
	{ .name = "tag",
	  TEXT_AT(history_arguments, trend.filter.tag),
	  .value = "WORD",
	  .actions = "show, trend, report, fleet",
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
	  .actions = "show, trend, report, fleet",
	  .help = "look at the last N nights only; fleet: at their levels (default: 7)" },
	{ .name = "all-metrics",
	  FLAG_AT(history_arguments, trend.filter.all_metrics),
	  .actions = "show, trend, report, fleet",
	  .help = "not only each suite's main figure" },
	{ .name = "all",
	  .letter = 'a',
	  FLAG_AT(history_arguments, trend.all),
	  .actions = "trend",
	  .help = "also series that did not change" },
	{ .name = "fail-on",
	  CHOICE_AT(history_arguments, fail_on),
	  .choices = fail_on,
	  .actions = "trend, report, fleet",
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
	  .actions = "trend, fleet",
	  .help = "the same as JSON" },
	{ .name = "output",
	  .letter = 'o',
	  TEXT_AT(history_arguments, page.output),
	  .value = "FILE",
	  .actions = "report, fleet, export",
	  .help = "the page (report: trend.html by default) or the export; -: standard output" },
	PAGE_OPTIONS(history_arguments, page, .actions = "report, fleet"),
	{ 0 },
};

static const struct action actions[] = {
	{ .name = "add",
	  .form = "RESULT...      or folders of results; adding the same run twice has no effect; "
		  "a resumed one replaces its first part",
	  .least = 1,
	  .most = ANY_NUMBER,
	  .run = add },
	{ .name = "trend", .form = "             what changed, is new, was missed", .run = trend },
	{ .name = "report", .form = "[-o FILE]   the same as an HTML page", .run = page },
	{ .name = "fleet",
	  .form = "[-o FILE]    node against node: which is slow, since when, or silent; -o: a "
		  "page",
	  .run = fleet },
	{ .name = "show",
	  .form = "              the nights; with --case, --metric or --series the values",
	  .run = show },
	{ .name = "annotate",
	  .form = "DATE TEXT [--acknowledge]",
	  .least = 2,
	  .most = 2,
	  .run = annotate },
	{ .name = "acknowledge",
	  .form = "REASON --series N | --node HOST | --device ID | --case TEXT | --metric TEXT",
	  .least = 1,
	  .most = 1,
	  .run = acknowledge },
	{ .name = "prune", .form = "--before DATE | --keep DAYS", .run = prune },
	{ .name = "export",
	  .form = "[-o FILE]   all nights and notes as lines of JSON",
	  .run = export_nights },
	{ .name = "import",
	  .form = "FILE...     adds the nights of exports",
	  .least = 1,
	  .most = ANY_NUMBER,
	  .run = import_nights },
	{ .name = "merge",
	  .form = "HISTORY...   adds the nights of other histories",
	  .least = 1,
	  .most = ANY_NUMBER,
	  .run = merge },
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
