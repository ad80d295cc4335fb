/* gpuproof history: values of earlier nights, and changes. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/input.h"
#include "base/memory.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/input/page_options.h"
#include "cli/output/print.h"
#include "cli/output/table.h"
#include "history/fleet/fleet.h"
#include "history/history.h"
#include "history/triage.h"
#include "report/cohort/cohort_page.h"
#include "report/template/template.h"
#include "report/trend/trend_page.h"

enum fail_on { FAIL_ON_NOTHING, FAIL_ON_CHANGE, FAIL_ON_WARNING };
/* By enum triage; a decision has one of these states. */
static const char *const triage_states[] = { "open",    "fixed",   "expected", "false-alarm",
					     "tracked", "wontfix", NULL };
static const char *const fail_on[] = { "change", "warning", NULL };

struct history_arguments {
	const char *db;
	struct trend_options trend;
	struct report_options page;
	int fail_on, layout; /* enum fail_on; enum layout */
	bool acknowledge;
	int64_t before, keep; /* prune; 0: not given */
	int64_t nights;
	struct result_paths paths; /* results to add */
	/* of a decision; state: enum triage, 0: not given; until: 0: not given */
	const char *node, *device, *by, *ticket;
	int state;
	int64_t until;
};

/* Completes path and filter, and opens the history. */
static enum status cmd_history_open(struct call *call, enum store_mode mode)
{
	struct history_arguments *a = call->arguments;

	a->db = cli_command_history_file(a->db);
	a->trend.filter.nights = (size_t)a->nights;
	a->page.separate_css = a->layout == LAYOUT_DIRECTORY;
	return cli_command_open_history(call, a->db, mode);
}

struct showing {
	struct history_notes notes;
	struct history_places places;
	size_t shown; /* series */
};

static void cmd_history_show_series(void *context, const struct history_series *s)
{
	struct output_table table = TABLE_EMPTY;
	struct showing *showing = context;
	char *machine = history_machine_words(&showing->places, s->machine);

	showing->shown++;
	printf("series %" PRId64 ": %s %s, %s (%s)\n", s->id, s->case_id, s->metric, s->model,
	       machine);
	free(machine);
	TABLE_ROW(&table, "NIGHT", "VALUE", "INTERVAL", "EPOCH");
	for (size_t i = 0; i < s->count; i++) {
		const struct history_point *p = &s->points[i];
		char date[16], value[48], low[48], high[48], interval[100] = "", epoch[24];

		history_date(p->day, date);
		snprintf(epoch, sizeof(epoch), "%" PRId64, p->epoch);
		if (p->low == p->low && p->high == p->high)
			snprintf(interval, sizeof(interval), "%s to %s",
				 units_format(p->low, s->unit, low, sizeof(low)),
				 units_format(p->high, s->unit, high, sizeof(high)));
		TABLE_ROW(&table, date,
			  p->value == p->value
				  ? units_format(p->value, s->unit, value, sizeof(value))
				  : "not measured",
			  interval, epoch);
	}
	table_finish(&table, stdout);
	print_trend_notes(&showing->notes, s->id);
	putchar('\n');
}

static enum status cmd_history_show_all(struct store *history, const struct history_filter *f,
					size_t *shown, struct error *err)
{
	struct showing showing = { 0 };

	if (store_notes(history, &showing.notes, err) == STATUS_OK &&
	    store_nights_places(history, &showing.places, err) == STATUS_OK) {
		if (f->metric || f->case_id || f->series)
			store_each_series(history, f, cmd_history_show_series, &showing, err);
		else {
			struct output_table table = TABLE_EMPTY;
			struct history_nights nights;

			if (store_nights(history, &nights, err) == STATUS_OK) {
				TABLE_ROW(&table, "STARTED", "RUN", "HOST", "STATE", "VERDICT",
					  "LABEL");
				for (const struct history_night *n = nights.items;
				     n < nights.items + nights.count; n++)
					TABLE_ROW(&table, n->started, n->run_id, n->host, n->state,
						  *n->verdict ? n->verdict : "not judged",
						  n->label);
				table_finish(&table, stdout);
				print_trend_notes(&showing.notes, 0);
			}
			history_nights_release(&nights);
		}
	}
	*shown = showing.shown;
	history_notes_release(&showing.notes);
	history_places_release(&showing.places);
	return err->status;
}

/* A filter that matches no series must not look like "no change". */
static void cmd_history_refuse_no_match(const struct history_filter *f, size_t series,
					struct error *err)
{
	if (series || (!f->metric && !f->case_id && !f->series))
		return;
	error_set(err, STATUS_USAGE,
		  "no series matches --case, --metric or --series%s; gpuproof history trend --all "
		  "lists the series",
		  f->all_metrics || f->metric || f->series
			  ? ""
			  : " among the main metrics of the suites (--all-metrics: among all)");
}

static int cmd_history_show(struct call *call)
{
	struct history_arguments *a = call->arguments;
	size_t shown = 0;

	if (cmd_history_open(call, STORE_READ) == STATUS_OK &&
	    cmd_history_show_all(call->history, &a->trend.filter, &shown, &call->err) == STATUS_OK)
		cmd_history_refuse_no_match(&a->trend.filter, shown, &call->err);
	return EXIT_ACCEPTED;
}

static int cmd_history_gate_code(const struct history_arguments *a,
				 const struct trend_summary *summary)
{
	bool failed = a->fail_on != FAIL_ON_NOTHING && summary->worse;

	failed = failed || (a->fail_on == FAIL_ON_WARNING && summary->warnings);
	return failed ? EXIT_GATE_FAILED : EXIT_ACCEPTED;
}

static int cmd_history_trend_action(struct call *call)
{
	struct history_arguments *a = call->arguments;
	struct trend_summary summary = { 0 };

	if (cmd_history_open(call, STORE_READ) == STATUS_OK)
		print_trend(call->history, &a->trend, &summary, &call->err);
	cmd_history_refuse_no_match(&a->trend.filter, summary.series, &call->err);
	return cmd_history_gate_code(a, &summary);
}

static int cmd_history_page_action(struct call *call)
{
	struct history_arguments *a = call->arguments;
	struct trend_summary summary = { 0 };

	if (!a->page.output)
		a->page.output = "trend.html";
	if (cmd_history_open(call, STORE_READ) == STATUS_OK)
		trend_page_write(call->history, &a->trend.filter, &a->page, &summary, &call->err);
	cmd_history_refuse_no_match(&a->trend.filter, summary.series, &call->err);
	if (call->err.status == STATUS_OK && !html_report_on_stdout(&a->page))
		puts(a->page.output);
	return cmd_history_gate_code(a, &summary);
}

/*
 * Reads and judges the fleet for `fleet` and `node`, which may write a page. Call
 * fleet_collect_release() in any case.
 */
static enum status cmd_history_read_fleet(struct call *call, struct fleet *f)
{
	struct history_arguments *a = call->arguments;

	if (cmd_history_open(call, STORE_READ) == STATUS_OK &&
	    fleet_collect_read(f, call->history, &a->trend.filter, &call->err) == STATUS_OK)
		cmd_history_refuse_no_match(&a->trend.filter, f->member_count, &call->err);
	return call->err.status;
}

static bool cmd_history_prints(const struct history_arguments *a, const struct error *err)
{
	return err->status == STATUS_OK && !(a->page.output && html_report_on_stdout(&a->page));
}

/* A silent host or device, or a fleet that could not be compared, must not pass the gate. */
static int cmd_history_fleet_action(struct call *call)
{
	struct history_arguments *a = call->arguments;
	struct fleet f = { 0 };
	bool failed;

	if (cmd_history_read_fleet(call, &f) == STATUS_OK && a->page.output)
		cohort_page_write(&f, &a->page, &call->err);
	if (cmd_history_prints(a, &call->err))
		print_fleet(&f, a->trend.json);
	failed = a->fail_on != FAIL_ON_NOTHING && (f.open || !f.compared);
	failed = failed ||
		 (a->fail_on == FAIL_ON_WARNING && (f.silent_hosts || f.gone_count || f.too_few));
	fleet_collect_release(&f);
	return failed ? EXIT_GATE_FAILED : EXIT_ACCEPTED;
}

/* A fleet that could not be judged must not pass the gate either. */
static int cmd_history_node_action(struct call *call)
{
	struct history_arguments *a = call->arguments;
	struct fleet_subject subject = { 0 };
	struct fleet f = { 0 };
	size_t open = 0;
	bool failed;

	if (cmd_history_read_fleet(call, &f) == STATUS_OK &&
	    fleet_find_subject(&f, call->operands[0], &subject, &call->err) == STATUS_OK &&
	    a->page.output)
		node_page_write(&f, &subject, &a->page, &call->err);
	if (cmd_history_prints(a, &call->err))
		print_fleet_node(&f, &subject, a->trend.json);
	for (size_t i = 0; i < f.finding_count && call->err.status == STATUS_OK; i++)
		open += !f.findings[i].decision &&
			fleet_finding_is_about(&f, &f.findings[i], &subject);
	failed = a->fail_on != FAIL_ON_NOTHING && (open || !f.compared);
	fleet_collect_release(&f);
	return failed ? EXIT_GATE_FAILED : EXIT_ACCEPTED;
}

/* Nights per transaction: writers wait for each other while one is open. */
#define NIGHTS_AT_ONCE 256
#define MOST_TOLD 40 /* maximum results listed by name; of more only the number */

/* Nights that were read and wait for their transaction. */
struct batch {
	struct store_night nights[NIGHTS_AT_ONCE];
	char *paths[NIGHTS_AT_ONCE];
	size_t count;
};

/* Reports that a night was rejected, and why. */
static void cmd_history_complain(const struct error *refusal)
{
	fprintf(stderr, "gpuproof: not added: %s\n", refusal->message);
}

static enum status cmd_history_night_batch_flush(struct history_arguments *a, struct store *store,
						 struct batch *batch, struct history_tally *tally,
						 struct error *err)
{
	bool open =
		store && err->status == STATUS_OK && sqlite_store_begin(store, err) == STATUS_OK;

	for (size_t i = 0; i < batch->count; i++) {
		const struct history_tally before = *tally;

		if (err->status == STATUS_OK &&
		    history_tally(store, &batch->nights[i], batch->paths[i], tally, err) ==
			    STATUS_OK &&
		    a->paths.count <= MOST_TOLD && tally->refused == before.refused)
			fprintf(stderr, "gpuproof: %s is %s%s%s\n", batch->paths[i],
				tally->present > before.present ? "in " : "now in ", a->db,
				tally->present > before.present ? " already"
				: tally->replaced > before.replaced
					? ", replacing an earlier version of its run"
					: "");
		store_night_release(&batch->nights[i]);
		free(batch->paths[i]);
	}
	batch->count = 0;
	return open ? sqlite_store_end(store, true, err) : err->status;
}

/* An unreadable result does not prevent the others from being added. */
static enum status cmd_history_add_path(struct history_arguments *a, struct store *store,
					const char *path, struct batch *batch,
					struct history_tally *tally, struct error *err)
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
			cmd_history_night_batch_flush(a, store, batch, tally, err);
	}
	result_list_release(&results);
	if (a->paths.count > 1 && err->status == STATUS_USAGE) {
		tally->refused++;
		cmd_history_complain(err);
		error_clear(err);
	}
	return err->status;
}

static int cmd_history_tell_tally(const struct history_arguments *a, const struct history_tally *t,
				  bool several, const struct error *err)
{
	if (several && err->status == STATUS_OK)
		fprintf(stderr,
			"gpuproof: %s: %zu added, %zu replaced, %zu already stored, %zu "
			"rejected\n",
			a->db, t->added, t->replaced, t->present, t->refused);
	return t->refused ? EXIT_USAGE : EXIT_ACCEPTED;
}

static int cmd_history_add_results(struct call *call)
{
	struct history_arguments *a = call->arguments;
	struct history_tally tally = { .complain = cmd_history_complain };
	struct error *err = &call->err;
	struct batch *batch = xcalloc(1, sizeof(*batch));

	for (int i = 0; i < call->count && err->status == STATUS_OK; i++)
		result_list_paths_add(&a->paths, call->operands[i], err);
	if (err->status == STATUS_OK)
		cmd_history_open(call, STORE_CREATE);
	for (size_t i = 0; i < a->paths.count && err->status == STATUS_OK; i++)
		cmd_history_add_path(a, call->history, a->paths.items[i], batch, &tally, err);
	cmd_history_night_batch_flush(a, call->history, batch, &tally, err);
	free(batch);
	return cmd_history_tell_tally(a, &tally, a->paths.count > 1, err);
}

static int cmd_history_merge_nights(struct call *call)
{
	struct history_arguments *a = call->arguments;
	struct history_tally tally = { .complain = cmd_history_complain };
	struct error *err = &call->err;

	for (int i = 0; i < call->count; i++)
		input_note(call->operands[i]);
	if (input_refuse_output(cli_command_history_file(a->db), err) == STATUS_OK)
		cmd_history_open(call, STORE_CREATE);
	for (int i = 0; i < call->count && err->status == STATUS_OK; i++) {
		struct store *from;

		if (sqlite_store_open(&from, call->operands[i], STORE_READ, err) == STATUS_OK)
			history_merge(call->history, from, call->operands[i], &tally, err);
		sqlite_store_close(from);
	}
	return cmd_history_tell_tally(a, &tally, true, err);
}

static int cmd_history_acknowledge(struct call *call)
{
	struct history_arguments *a = call->arguments;
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

	if (cmd_history_open(call, STORE_WRITE) == STATUS_OK)
		triage_decide(call->history, &decision, &call->err);
	return EXIT_ACCEPTED;
}

static int cmd_history_annotate_day(struct call *call)
{
	struct history_arguments *a = call->arguments;
	int64_t day;

	if (!history_day(call->operands[0], &day))
		error_set(&call->err, STATUS_USAGE, "invalid date '%.40s'; write it as 2026-11-20",
			  call->operands[0]);
	else if (cmd_history_open(call, STORE_WRITE) == STATUS_OK)
		history_annotate(call->history, day, a->trend.filter.series, a->acknowledge,
				 call->operands[1], &call->err);
	return EXIT_ACCEPTED;
}

static int cmd_history_prune_nights(struct call *call)
{
	struct history_arguments *a = call->arguments;
	struct history_nights nights = { 0 };
	size_t removed = 0;
	int64_t last, today;
	char now[32];

	if (!a->before == !a->keep)
		return cli_command_usage(call->command, "prune needs --before DATE or --keep DAYS");
	if (cmd_history_open(call, STORE_WRITE) == STATUS_OK &&
	    store_nights(call->history, &nights, &call->err) == STATUS_OK && nights.count) {
		last = nights.items[nights.count - 1].day;
		clock_iso8601(now, sizeof(now));
		/* A night dated into the future by a wrong clock must not make all others old. */
		if (history_day(now, &today) && today < last)
			last = today;
		store_nights_prune(call->history, a->keep ? last - a->keep + 1 : a->before,
				   &removed, &call->err);
	}
	history_nights_release(&nights);
	if (call->err.status == STATUS_OK)
		printf("%zu run%s removed\n", removed, text_plural(removed));
	return EXIT_ACCEPTED;
}

static enum status cmd_history_take_day(void *day, const char *name, const char *value,
					struct error *err)
{
	if (history_day(value, day))
		return STATUS_OK;
	return error_set(err, STATUS_USAGE, "--%s: invalid date '%.40s'; write it as 2026-11-20",
			 name, value);
}

static const struct option_row rows[] = {
	TEXT_ROW('d', "db", "FILE", history_arguments, db, .file = OPTION_FILE_KEPT),
	TEXT_ROW(0, "case", "TEXT", history_arguments, trend.filter.case_id,
		 .actions = "show, trend, report, fleet, node, acknowledge"),
	TEXT_ROW(0, "metric", "TEXT", history_arguments, trend.filter.metric,
		 .actions = "show, trend, report, fleet, node, acknowledge"),
	TEXT_ROW(0, "tag", "WORD", history_arguments, trend.filter.tag,
		 .actions = "show, trend, report, fleet, node"),
	COUNT_ROW("series", "N", history_arguments, trend.filter.series,
		  .actions = "show, trend, report, annotate, acknowledge"),
	TEXT_ROW(0, "node", "HOST", history_arguments, node, .actions = "acknowledge"),
	TEXT_ROW(0, "device", "ID", history_arguments, device, .actions = "acknowledge"),
	CHOICE_ROW("state", triage_states, history_arguments, state, .actions = "acknowledge"),
	TEXT_ROW(0, "by", "WHO", history_arguments, by, .actions = "acknowledge"),
	TEXT_ROW(0, "ticket", "URL", history_arguments, ticket, .actions = "acknowledge"),
	CALL_ROW("until", "DATE", cmd_history_take_day, history_arguments, until,
		 .actions = "acknowledge"),
	COUNT_ROW("nights", "N", history_arguments, nights,
		  .actions = "show, trend, report, fleet, node"),
	FLAG_ROW(0, "all-metrics", history_arguments, trend.filter.all_metrics,
		 .actions = "show, trend, report, fleet, node"),
	FLAG_ROW('a', "all", history_arguments, trend.all, .actions = "trend"),
	CHOICE_ROW("fail-on", fail_on, history_arguments, fail_on,
		   .actions = "trend, report, fleet, node"),
	FLAG_ROW(0, "acknowledge", history_arguments, acknowledge, .actions = "annotate"),
	CALL_ROW("before", "DATE", cmd_history_take_day, history_arguments, before,
		 .actions = "prune"),
	COUNT_ROW("keep", "DAYS", history_arguments, keep, .actions = "prune"),
	FLAG_ROW(0, "json", history_arguments, trend.json, .actions = "trend, fleet, node"),
	TEXT_ROW('o', "output", "FILE", history_arguments, page.output, .file = OPTION_FILE_WRITTEN,
		 .actions = "report, fleet, node"),
	PAGE_ROWS(history_arguments, page, .actions = "report, fleet, node"),
	{ 0 },
};

static const struct action actions[] = {
	{ .name = "add", .least = 1, .most = ANY_NUMBER, .run = cmd_history_add_results },
	{ .name = "trend", .run = cmd_history_trend_action },
	{ .name = "report", .run = cmd_history_page_action },
	{ .name = "fleet", .run = cmd_history_fleet_action },
	{ .name = "node", .least = 1, .most = 1, .run = cmd_history_node_action },
	{ .name = "show", .run = cmd_history_show },
	{ .name = "annotate", .least = 2, .most = 2, .run = cmd_history_annotate_day },
	{ .name = "acknowledge", .least = 1, .most = 1, .run = cmd_history_acknowledge },
	{ .name = "prune", .run = cmd_history_prune_nights },
	{ .name = "merge", .least = 1, .most = ANY_NUMBER, .run = cmd_history_merge_nights },
	{ 0 },
};

static int cmd_history_end(struct call *call, int code)
{
	result_list_paths_release(&((struct history_arguments *)call->arguments)->paths);
	return code;
}

const struct command command_history = {
	.name = "history",
	.actions = actions,
	.options = rows,
	.arguments = sizeof(struct history_arguments),
	.end = cmd_history_end,
};
