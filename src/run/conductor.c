/*
 * The run as a whole: which cases are left, who carries them out, what is kept. Processes and pipes
 * are supervise.c's business, the file journal.c's.
 */
#include "run/conductor.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "measure/activity.h"
#include "measure/processes/signals.h"
#include "measure/run.h"
#include "measure/yardstick.h"
#include "plan/suite.h"
#include "run/header.h"
#include "run/journal.h"
#include "run/progress.h"
#include "run/supervise.h"
#include "run/workers/describe.h"

#define START_SECONDS 120.0 /* opening eight GPUs without persistence mode takes most of a minute */
#define LOG_NAME "worker.log"
/*
 * Workers in a row that may hang before the rest of their suite is given up: each costs a case's
 * whole time limit.
 */
#define HANGS_IN_A_ROW 8

struct conductor {
	const struct plan *plan;
	const struct conduct_options *options;
	struct journal journal;
	struct control *control;
	double run_began; /* host clock; earlier by the time that a resumed run had taken */
	struct progress progress;
	struct case_result *cases; /* by index in the plan */
	bool *done;                /* has a result */
	bool *partial;             /* interrupted: kept, but not done */
	int log;
	bool signals_installed; /* signals */
	struct losses lost;
	struct yardstick yardstick;
	double status_due; /* host clock: when the next status.json is written */
	bool status_failed;
};

static void conductor_count_status(struct run_status *status, enum case_status as)
{
	status->ok += as == CASE_OK;
	status->skipped += as == CASE_SKIPPED;
	status->failed += as == CASE_FAILED;
	status->errors += as == CASE_ERROR;
}

/* A status that cannot be written is no reason to lose the run. */
static void conductor_write_status(struct conductor *k)
{
	struct run_status *s = k->options->status;
	struct progress *p = &k->progress;
	struct error err = ERROR_NONE;
	double now = clock_seconds();

	if (!s || now < k->status_due)
		return;
	k->status_due = now + STATUS_SECONDS;
	s->seconds = now - k->run_began;
	s->seconds_left = progress_left(p, now);
	snprintf(s->current.id, sizeof(s->current.id), "%s", p->current ? p->current->id : "");
	memcpy(s->current.part, p->part, sizeof(s->current.part));
	s->current.seconds = p->current ? now - p->current_began : (double)NAN;
	s->current.samples = p->samples;
	s->current.median = p->median;
	s->current.half_width = p->half_width;
	if (run_status_write(s, k->options->status_directory, &err) != STATUS_OK &&
	    !k->status_failed) {
		k->status_failed = true;
		progress_note(p,
			      "cannot write the status of the run, so `gpuproof watch` will not be "
			      "updated: %s",
			      err.message);
	}
}

static void conductor_ticked(void *context)
{
	struct conductor *k = context;

	progress_tick(&k->progress, k->control->activity.part);
	conductor_write_status(k);
}

static void conductor_case_started(void *context, size_t index)
{
	struct conductor *k = context;

	if (k->options->watch)
		k->options->watch(k->options->watch_context, k->plan->cases[index].id, false);
	progress_started(&k->progress, &k->plan->cases[index]);
}

static void conductor_progressed(void *context, size_t samples, double median, double half_width)
{
	struct conductor *k = context;

	progress_sampled(&k->progress, samples, median, half_width);
}

static void conductor_stopping(void *context)
{
	struct conductor *k = context;

	progress_note(&k->progress, "stopping within %g s. Press Ctrl-C again to stop now",
		      SUPERVISE_STOP_SECONDS);
}

static enum status conductor_settled(void *context, size_t index, bool partial,
				     struct case_result *c, const struct message *sent,
				     struct error *err)
{
	struct conductor *k = context;

	if (journal_append(&k->journal, partial, c, sent, err) != STATUS_OK) {
		case_result_release(c);
		return err->status;
	}
	/* Workers that were lost before this case; the journal has them on lines of their own. */
	journal_losses_attach(&k->lost, c);
	k->cases[index] = *c;
	k->done[index] = !partial;
	k->partial[index] = partial;
	if (k->options->watch && !partial)
		k->options->watch(k->options->watch_context, c->id, true);
	progress_settled(&k->progress, &k->plan->cases[index], c);
	if (k->options->status) {
		conductor_count_status(k->options->status, c->status);
		soak_rows_add(&k->options->status->devices, c);
	}
	if (k->options->events.settled)
		k->options->events.settled(k->options->events.context, &k->cases[index]);
	return STATUS_OK;
}

static enum status conductor_settle_unrun(struct conductor *k, size_t index,
					  enum case_status status, const char *reason,
					  struct error *err)
{
	struct case_result c;

	describe_case(k->plan, &k->plan->cases[index], &c);
	describe_outcome(&c, status, status == CASE_ERROR ? CASE_END_CRASHED : CASE_END_UNSUPPORTED,
			 reason);
	c.started_seconds = clock_seconds() - k->run_began;
	return conductor_settled(k, index, false, &c, NULL, err);
}

static bool conductor_leaves(const struct conductor *k, size_t index)
{
	return k->options->last_stage && k->plan->cases[index].stage > k->options->last_stage;
}

/*
 * Collects what is left to do and can be done by the team of the first case left, from wherever in
 * the plan it is: starting a team (contexts, communicators) takes longer than many a case. Returns
 * how many there are.
 */
static size_t conductor_next_team_cases(const struct conductor *k, size_t *cases)
{
	const struct plan *plan = k->plan;
	const struct plan_case *largest = NULL;
	size_t count = 0;

	for (size_t i = 0; i < plan->case_count; i++) {
		const struct plan_case *c = &plan->cases[i];

		if (k->done[i] || conductor_leaves(k, i) ||
		    (largest && !worker_team_serves(largest, c)))
			continue;
		largest = largest ? worker_team_larger(largest, c) : c;
		cases[count++] = i;
	}
	return count;
}

/* Gives up the first consecutive `cases` from one suite; `*count` receives their number. */
static enum status conductor_give_up_suite(struct conductor *k, const size_t *cases, size_t *count,
					   const char *reason, struct error *err)
{
	const struct plan_case *all = k->plan->cases;
	enum status status = STATUS_OK;
	size_t n = 0;
	char *text =
		xasprintf("not attempted, because workers of this suite keep dying: %s", reason);

	for (; n < *count && all[cases[n]].suite == all[cases[0]].suite && status == STATUS_OK; n++)
		status = conductor_settle_unrun(k, cases[n], CASE_ERROR, text, err);
	*count = n;
	free(text);
	return status;
}

/* In the journal at once: after the last case no other one would report it. */
static enum status conductor_take_loss(struct conductor *k, struct lost_worker *lost, bool repeated,
				       struct error *err)
{
	enum status status;

	if (!lost->reason)
		return STATUS_OK;
	fprintf(stderr, "gpuproof: a worker died%s: %s\n",
		repeated ? ", and its work is repeated" : " after its last case", lost->reason);
	status = journal_append_lost(&k->journal, lost, err);
	journal_losses_add(&k->lost, lost);
	return status;
}

/* Workers one after the other until all `cases` are settled or a stop is asked for. */
static enum status conductor_run_workers(struct conductor *k, const size_t *cases, size_t count,
					 struct error *err)
{
	const struct supervisor supervisor = {
		.plan = k->plan,
		.control = k->control,
		.run_began = k->run_began,
		.log = k->log,
		.context = k,
		.start_seconds =
			k->options->start_seconds > 0 ? k->options->start_seconds : START_SECONDS,
		.started = conductor_case_started,
		.progressed = conductor_progressed,
		.ticked = conductor_ticked,
		.settled = conductor_settled,
		.stopping = conductor_stopping,
	};
	int idle = 0, hangs = 0;

	k->control->groups_banned = false;
	while (count > 0 && !signals_stops()) {
		struct worker_outcome outcome;
		size_t given_up;

		if (supervise(&supervisor, cases, count, &outcome, err) != STATUS_OK) {
			lost_worker_release(&outcome.lost);
			return err->status;
		}
		cases += outcome.settled;
		count -= outcome.settled;
		if (conductor_take_loss(k, &outcome.lost, count > 0, err) != STATUS_OK)
			return err->status;
		idle = outcome.settled ? 0 : idle + 1;
		hangs = outcome.hung && outcome.settled <= 1 ? hangs + 1 : 0;
		if (!count || signals_stops() || (idle < 2 && hangs < HANGS_IN_A_ROW))
			continue;
		given_up = count;
		if (conductor_give_up_suite(k, cases, &given_up,
					    outcome.reason[0]
						    ? outcome.reason
						    : "they exit without an error message",
					    err) != STATUS_OK)
			return err->status;
		cases += given_up;
		count -= given_up;
		idle = hangs = 0;
	}
	return STATUS_OK;
}

static enum status conductor_settle_skipped(struct conductor *k, struct error *err)
{
	for (size_t i = 0; i < k->plan->case_count; i++) {
		const char *reason = k->plan->cases[i].skip_reason;

		if (reason && !k->done[i] && !conductor_leaves(k, i) &&
		    conductor_settle_unrun(k, i, CASE_SKIPPED, reason, err) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

static enum status conductor_open_journal(struct conductor *k, const struct probe *probe,
					  struct result *result, struct error *err)
{
	const struct conduct_options *options = k->options;
	struct error unread = ERROR_NONE;
	struct result header = { 0 };

	/* Errors of the journal itself are left to journal_resume(). */
	if (options->resume &&
	    journal_read_header(options->directory, &header, &unread) == STATUS_OK &&
	    run_header_same_host(&header, probe, err) != STATUS_OK)
		error_prefix(err, "cannot resume %s", options->directory);
	result_release(&header);
	if (err->status != STATUS_OK)
		return err->status;
	if (options->resume)
		return journal_resume(&k->journal, options->directory, k->plan, result, k->cases,
				      k->done, &k->lost, err);
	run_header_fill(result, k->plan, probe, options->command);
	return journal_create(&k->journal, options->directory, result, k->plan, err);
}

static enum status conductor_open_rest(struct conductor *k, struct error *err)
{
	char *path = xasprintf("%s/%s", k->options->directory, LOG_NAME);
	double earlier = 0;

	k->log = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (k->log < 0)
		error_errno(err, "%s", path);
	free(path);
	if (k->log < 0)
		return err->status;
	if (worker_team_control_open(&k->control, err) != STATUS_OK)
		return err->status;
	snprintf(k->control->folder, sizeof(k->control->folder), "%s", k->options->directory);
	/* A resumed run continues the clock of the earlier one. */
	for (size_t i = 0; i < k->plan->case_count; i++)
		if (k->done[i])
			earlier = fmax(earlier, k->cases[i].started_seconds + k->cases[i].seconds);
	k->run_began = clock_seconds() - earlier;
	k->signals_installed = signals_begin(err) == STATUS_OK;
	return k->signals_installed ? STATUS_OK : err->status;
}

static void conductor_close_all(struct conductor *k)
{
	if (k->signals_installed)
		signals_end();
	journal_close(&k->journal);
	if (k->log >= 0) {
		/* An empty log says nothing. */
		if (lseek(k->log, 0, SEEK_END) == 0) {
			char *path = xasprintf("%s/%s", k->options->directory, LOG_NAME);

			unlink(path);
			free(path);
		}
		close(k->log);
	}
	worker_team_control_close(k->control);
	journal_losses_release(&k->lost);
	free(k->cases);
	free(k->done);
	free(k->partial);
}

static void conductor_tell_beginning(const struct conductor *k, const struct result *header)
{
	const struct conduct_events *events = &k->options->events;

	if (events->began)
		events->began(events->context, header);
	for (size_t i = 0; events->settled && i < k->plan->case_count; i++)
		if (k->done[i])
			events->settled(events->context, &k->cases[i]);
}

/* Moves the cases into the result, in the plan's order. */
static void conductor_collect_cases(struct conductor *k, struct result *result, enum status status)
{
	static const char *const states[] = { "complete", "interrupted", "incomplete" };
	int state = status == STATUS_OK ? 0 : status == STATUS_INTERRUPTED ? 1 : 2;
	char now[32];

	for (size_t i = 0; i < k->plan->case_count; i++)
		if (k->done[i] || k->partial[i])
			*result_add_case(result) = k->cases[i];
	/* Lost after the last case of all. */
	if (result->case_count)
		journal_losses_attach(&k->lost, &result->cases[result->case_count - 1]);
	clock_iso8601(now, sizeof(now));
	free(result->finished);
	/* Someone may have set the clock back meanwhile. */
	result->finished = xstrdup(strcmp(now, result->started) < 0 ? result->started : now);
	free(result->state);
	result->state = xstrdup(states[state]);
	result->seconds = k->control ? clock_seconds() - k->run_began : 0;
	yardstick_store(&k->yardstick, result);
}

/* Adds metrics that need several cases of a run. */
static void conductor_derive_metrics(const struct conductor *k, struct result *result)
{
	size_t at = 0;

	for (size_t i = 0; i < k->plan->case_count; i++) {
		const struct plan_case *c = &k->plan->cases[i];
		struct run run = { .c = c };

		if (!k->done[i] && !k->partial[i])
			continue;
		run.result = &result->cases[at++];
		if (c->suite->derive && run.result->status == CASE_OK)
			c->suite->derive(&run, result);
	}
}

static void conductor_begin_measuring(struct conductor *k, const struct result *header)
{
	struct run_status *s = k->options->status;
	const char *hostname = result_fact(header, "hostname");

	progress_begin(&k->progress, k->plan, k->done, k->options->quiet);
	if (s) {
		run_status_begin(s, header);
		snprintf(s->hostname, sizeof(s->hostname), "%s", hostname ? hostname : "");
		s->planned = k->plan->case_count;
		s->ok = s->skipped = s->failed = s->errors = 0;
		soak_rows_release(&s->devices);
		for (size_t i = 0; i < k->plan->case_count; i++)
			if (k->done[i]) {
				conductor_count_status(s, k->cases[i].status);
				soak_rows_add(&s->devices, &k->cases[i]);
			}
	}
	conductor_write_status(k);
	signals_attend(true);
	yardstick_take(&k->yardstick);
}

enum status conduct(const struct plan *plan, const struct probe *probe,
		    const struct conduct_options *options, struct result *result, struct error *err)
{
	struct conductor k = {
		.plan = plan, .options = options, .journal = { .fd = -1 }, .log = -1
	};
	size_t *cases = xcalloc(plan->case_count, sizeof(*cases)), count;
	struct error write_error = ERROR_NONE;
	enum status status;

	memset(result, 0, sizeof(*result));
	k.cases = xcalloc(plan->case_count, sizeof(*k.cases));
	k.done = xcalloc(plan->case_count, sizeof(*k.done));
	k.partial = xcalloc(plan->case_count, sizeof(*k.partial));
	status = conductor_open_journal(&k, probe, result, err);
	if (status == STATUS_OK) {
		if (!options->goes_on)
			conductor_tell_beginning(&k, result);
		status = conductor_open_rest(&k, err);
		if (status == STATUS_OK) {
			conductor_begin_measuring(&k, result);
			status = conductor_settle_skipped(&k, err);
			while (status == STATUS_OK && !signals_stops() &&
			       (count = conductor_next_team_cases(&k, cases)) > 0)
				status = conductor_run_workers(&k, cases, count, err);
			if (status == STATUS_OK && signals_stops())
				status = error_set(err, STATUS_INTERRUPTED, "interrupted");
			yardstick_take(&k.yardstick);
			signals_attend(false);
			progress_end(&k.progress);
		}
		if (options->stopped_by)
			*options->stopped_by = signals_last_stop();
		conductor_collect_cases(&k, result, status);
		conductor_derive_metrics(&k, result);
		if (result_write_to(result, options->directory, &write_error) != STATUS_OK &&
		    status == STATUS_OK)
			status = error_set(err, write_error.status, "%s", write_error.message);
	} else {
		result_release(result); /* nothing was begun */
	}
	conductor_close_all(&k);
	free(cases);
	return status;
}
