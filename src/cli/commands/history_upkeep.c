/* gpuproof history acknowledge, annotate, prune: decisions, notes, and removal of old nights. */
#include <stdio.h>

#include "base/clock.h"
#include "cli/command.h"
#include "cli/commands/history_actions.h"
#include "cli/input/history_file.h"

extern const struct command command_history;

int history_acknowledge(const struct action_call *call)
{
	struct history_arguments *a = history_arguments_of(call);
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

	if (store_open(&history, a->db, STORE_WRITE, &err) == STATUS_OK)
		triage_decide(history, &decision, &err);
	store_close(history);
	return history_finish(&err);
}

int history_annotate_day(const struct action_call *call)
{
	struct history_arguments *a = history_arguments_of(call);
	struct error err = ERROR_NONE;
	struct store *history = NULL;
	int64_t day;

	if (!history_day(call->operands[0], &day))
		error_set(&err, STATUS_USAGE, "invalid date '%.40s'; write it as 2026-11-20",
			  call->operands[0]);
	else if (store_open(&history, a->db, STORE_WRITE, &err) == STATUS_OK)
		history_annotate(history, day, a->trend.filter.series, a->acknowledge,
				 call->operands[1], &err);
	store_close(history);
	return history_finish(&err);
}

/* A night dated into the future by a wrong clock must not make all others old. */
static int64_t history_upkeep_last_day(const struct history_nights *nights)
{
	int64_t last = nights->items[nights->count - 1].day, today;
	char now[32];

	clock_iso8601(now, sizeof(now));
	return history_day(now, &today) && today < last ? today : last;
}

/* First day that --before or --keep preserves. */
static int64_t history_upkeep_first_day_kept(const struct history_arguments *a,
					     const struct history_nights *nights)
{
	return a->keep >= 0 ? history_upkeep_last_day(nights) - a->keep + 1 : a->before;
}

int history_prune_nights(const struct action_call *call)
{
	struct history_arguments *a = history_arguments_of(call);
	struct error err = ERROR_NONE;
	struct store *history = NULL;
	struct history_nights nights = { 0 };
	size_t removed = 0;

	if ((a->before < 0) == (a->keep < 0))
		return command_usage(&command_history, "prune needs --before DATE or --keep DAYS");
	if (store_open(&history, a->db, STORE_WRITE, &err) == STATUS_OK &&
	    store_nights(history, &nights, &err) == STATUS_OK && nights.count)
		store_prune(history, history_upkeep_first_day_kept(a, &nights), &removed, &err);
	history_nights_release(&nights);
	store_close(history);
	if (err.status == STATUS_OK)
		printf("%zu night%s removed\n", removed, removed == 1 ? "" : "s");
	return history_finish(&err);
}
