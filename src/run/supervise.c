#include "run/supervise.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/units.h"
#include "measure/processes/child.h"
#include "measure/processes/signals.h"
#include "measure/watchdog.h"
#include "result/result_check.h"
#include "run/workers/describe.h"
#include "run/workers/message.h"

#define TICK_SECONDS 0.25
#define KILL_SECONDS 10.0
/* Time for the other ranks to reach world_agree() after one has failed. */
#define PENDING_FAILURE_SECONDS 3.0
/* A case is some thousand samples of some twenty bytes. */
#define LONGEST_LINE (256u << 20)

struct supervised {
	const struct supervisor *s;
	const size_t *cases;
	size_t case_count;
	struct worker_outcome *outcome;
	struct worker_team team;
	struct text input; /* received through the pipe, but not yet a complete line */
	bool in_flight, ready;
	double waited;                  /* seconds since the last message that counts */
	struct watchdog watchdog;       /* of the case in flight, once its devices are open */
	double failure_pending_seconds; /* since a rank failed, until all reach world_agree() */
	double case_began;
	bool input_corrupt; /* a line was malformed: later ones are not read */
	bool abandoned;     /* the user wants no result any more */
	bool stop_told;
	double stopping;   /* seconds since then */
	bool overdue;      /* killed for not having stopped in time */
	enum case_end end; /* of the case in flight, should it die with the team */
	struct error *err; /* why the run cannot continue */
};

static size_t supervise_case_in_flight(const struct supervised *s)
{
	return s->cases[s->outcome->settled];
}

static void supervise_broken_line(struct supervised *s, const char *line, size_t length)
{
	char reason[128];
	int shown = length > 60 ? 60 : (int)length;
	int at = snprintf(reason, sizeof(reason), "worker sent a malformed line: ");

	for (int i = 0; i < shown; i++)
		reason[at + i] = line[i] < ' ' || line[i] > '~' ? '?' : line[i];
	reason[at + shown] = '\0';
	s->input_corrupt = true;
	text_reset(&s->input);
	worker_team_kill(&s->team, reason, -1);
}

static void supervise_settle_in_flight(struct supervised *s, bool partial, struct case_result *c,
				       const struct message *sent)
{
	size_t index = supervise_case_in_flight(s);

	s->in_flight = false;
	s->waited = 0;
	s->outcome->settled++;
	if (s->s->settled(s->s->context, index, partial, c, sent, s->err) != STATUS_OK)
		worker_team_kill(&s->team, NULL, -1);
}

/*
 * Replaces a case that readers would reject by an error, because it would make the whole result
 * unreadable. True: replaced.
 */
static bool supervise_refuse_nonsense(const struct supervised *s, struct case_result *c)
{
	const struct plan *plan = s->s->plan;
	struct error err = ERROR_NONE;
	char *reason;

	if (case_result_check(c, &err) == STATUS_OK)
		return false;
	reason = xasprintf("invalid result from the worker: %s", err.message);
	case_result_release(c);
	describe_case(plan, &plan->cases[supervise_case_in_flight(s)], c);
	describe_outcome(c, CASE_ERROR, CASE_END_REFUSED, reason);
	free(reason);
	return true;
}

static bool supervise_take_case(struct supervised *s, const struct message *message)
{
	struct error err = ERROR_NONE;
	struct case_result c;
	bool refused;

	if (case_result_from_json(&c, message->json, message->json_length, &err) != STATUS_OK)
		return false;
	if (strcmp(c.id, s->s->plan->cases[supervise_case_in_flight(s)].id) != 0) {
		case_result_release(&c);
		return false;
	}
	refused = supervise_refuse_nonsense(s, &c);
	supervise_settle_in_flight(s, message->kind == MESSAGE_PARTIAL, &c,
				   refused ? NULL : message);
	return true;
}

/* False when the message makes no sense now. */
static bool supervise_session_take_message(struct supervised *s, const struct message *message)
{
	if (message->kind == MESSAGE_START) {
		if (s->in_flight || s->outcome->settled == s->case_count ||
		    message->index != supervise_case_in_flight(s))
			return false;
		s->in_flight = true;
		s->ready = false;
		s->waited = 0;
		s->case_began = clock_seconds();
		if (s->s->started)
			s->s->started(s->s->context, message->index);
		return true;
	}
	if (!s->in_flight)
		return false;
	if (message->kind == MESSAGE_READY) {
		s->ready = true;
		s->waited = 0;
		s->watchdog = (struct watchdog){ 0 };
		return message->index == supervise_case_in_flight(s);
	}
	if (message->kind == MESSAGE_PROGRESS) {
		if (s->s->progressed)
			s->s->progressed(s->s->context, message->samples, message->median,
					 message->half_width);
		return true;
	}
	return message->kind != MESSAGE_LOST && supervise_take_case(s, message);
}

static void supervise_take_messages(struct supervised *s)
{
	size_t done = 0;
	const char *stop;

	while (!s->input_corrupt && s->err->status == STATUS_OK && done < s->input.length &&
	       (stop = memchr(s->input.data + done, '\n', s->input.length - done))) {
		const char *line = s->input.data + done;
		size_t length = (size_t)(stop - line);
		struct message message;

		if (!worker_message_parse(line, length, &message) ||
		    !supervise_session_take_message(s, &message)) {
			supervise_broken_line(s, line, length);
			return;
		}
		done += length + 1;
	}
	memmove(s->input.data, s->input.data + done, s->input.length - done);
	s->input.length -= done;
}

static void supervise_listen_to_pipe(struct supervised *s)
{
	char block[65536];
	ssize_t n;

	while ((n = read(s->team.pipe, block, sizeof(block))) > 0 || (n < 0 && errno == EINTR)) {
		if (n < 0)
			continue;
		if (s->input_corrupt)
			continue;
		text_add_bytes(&s->input, block, (size_t)n);
		if (memchr(block, '\n', (size_t)n))
			supervise_take_messages(s);
		else if (s->input.length > LONGEST_LINE)
			break;
	}
	if (s->input.length > LONGEST_LINE)
		supervise_broken_line(s, s->input.data, s->input.length);
}

/*
 * CPU time is a sign of life of devices that are made of the CPU; a process that waits for a GPU
 * spins, too.
 */
static double supervise_lively_cpu_seconds(const struct supervised *s)
{
	const struct plan_case *c = &s->s->plan->cases[supervise_case_in_flight(s)];

	for (size_t i = 0; i < c->device_count; i++)
		if (!(s->s->plan->devices[c->devices[i]].capabilities & DEVICE_SHARES_HOST_MEMORY))
			return 0;
	return worker_team_cpu_seconds(&s->team);
}

static void supervise_enforce_case_limit(struct supervised *s)
{
	const struct activity *activity = &s->s->control->activity;
	const struct plan *plan = s->s->plan;
	double limit = plan->cases[supervise_case_in_flight(s)].limit_seconds;
	bool given = section_real(config_section(plan->config, "run", ""), "case_limit") > 0;
	enum watchdog_verdict verdict = watchdog_judge(&s->watchdog, limit, given);
	char reason[384];

	if (verdict == WATCHDOG_GO_ON)
		return;
	watchdog_explain(&s->watchdog, verdict, limit, activity, reason, sizeof(reason));
	s->outcome->hung = true;
	worker_team_kill(&s->team, reason, -1);
}

static void supervise_enforce_limits(struct supervised *s)
{
	double limit = s->s->start_seconds;
	char reason[160], shown[32];

	if (s->team.killed || (s->s->part && s->s->part->first != 0))
		return;
	if (s->in_flight && s->ready) {
		supervise_enforce_case_limit(s);
		return;
	}
	if (s->waited <= limit)
		return;
	snprintf(reason, sizeof(reason), "hung: %s within %s (killed)",
		 s->in_flight ? "the devices were not opened" : "the worker started no case",
		 units_format(limit, "s", shown, sizeof(shown)));
	s->outcome->hung = true;
	/* After the last case no result is lost, so there is no reason to report. */
	worker_team_kill(&s->team, s->outcome->settled < s->case_count ? reason : NULL, -1);
}

static void supervise_handle_signals(struct supervised *s)
{
	signals_drain();
	if (signals_stops() >= 1 && !s->stop_told) {
		s->stop_told = true;
		s->s->control->stop = 1;
		if (s->s->stopping)
			s->s->stopping(s->s->context);
	}
	if (signals_stops() >= 2 && !s->abandoned) {
		s->abandoned = true;
		worker_team_kill(&s->team, NULL, -1);
	}
}

/*
 * Waits for something to happen. The time that passed counts, but not the time in which we were
 * stopped ourselves.
 */
static void supervise_wait_a_tick(struct supervised *s)
{
	struct pollfd fds[] = { { .fd = s->team.pipe, .events = POLLIN },
				{ .fd = signals_fd(), .events = POLLIN } };
	double start = clock_seconds(), passed;
	struct error said = ERROR_NONE;

	poll(fds, 2, (int)(1e3 * TICK_SECONDS));
	if (fds[0].revents & POLLHUP && !(fds[0].revents & POLLIN))
		clock_sleep(1e-3); /* closed, but the process is not gone yet: don't spin on it */
	passed = fmin(clock_seconds() - start, 4 * TICK_SECONDS);
	s->waited += passed;
	if (s->in_flight && s->ready)
		watchdog_tick(&s->watchdog, passed, &s->s->control->activity,
			      supervise_lively_cpu_seconds(s));
	/* The other ranks would hang until the time limit, and the reason would be lost. */
	s->failure_pending_seconds = worker_team_pending_failure(&s->team, &said)
					     ? s->failure_pending_seconds + passed
					     : 0;
	if (s->failure_pending_seconds > PENDING_FAILURE_SECONDS && !s->team.killed) {
		s->end = case_end_of_status(said.status);
		worker_team_kill(&s->team, said.message, said.rank - 1);
	}
	/* A case that does not end in time (endless set-up, hung device) loses its samples. */
	s->stopping += s->stop_told ? passed : 0;
	if (s->stopping > SUPERVISE_STOP_SECONDS && !s->team.killed) {
		s->overdue = true;
		worker_team_kill(&s->team, NULL, -1);
	}
}

static bool supervise_workers_unkillable(const struct supervised *s)
{
	return s->team.killed && clock_seconds() - s->team.killed_at > KILL_SECONDS;
}

static void supervise_event_loop(struct supervised *s)
{
	supervise_handle_signals(s); /* a stop may have come between two workers */
	while (worker_team_reap(&s->team) > 0 && !supervise_workers_unkillable(s)) {
		supervise_wait_a_tick(s);
		supervise_listen_to_pipe(s);
		supervise_handle_signals(s);
		supervise_enforce_limits(s);
		if (s->s->ticked)
			s->s->ticked(s->s->context);
	}
	supervise_listen_to_pipe(s); /* read the messages that it sent before it died */
}

/* How the case in flight ended that died with the team. */
static enum case_end supervise_team_end(const struct supervised *s)
{
	return s->outcome->hung ? CASE_END_HUNG : s->team.missed_peer ? CASE_END_LOST : s->end;
}

/*
 * The case in flight has died with its worker: by itself, or because it did not stop when it was
 * asked to.
 */
static void supervise_record_in_flight_case(struct supervised *s)
{
	const struct plan_case *c = &s->s->plan->cases[supervise_case_in_flight(s)];
	struct case_result result;
	char ended[64];

	snprintf(ended, sizeof(ended), "interrupted; killed after %g s", SUPERVISE_STOP_SECONDS);
	if (!s->team.reason[0])
		snprintf(s->team.reason, sizeof(s->team.reason), "%s",
			 s->overdue ? ended : "the worker exited without a result");
	describe_case(s->s->plan, c, &result);
	describe_outcome(&result, s->overdue ? CASE_SKIPPED : CASE_ERROR,
			 s->overdue ? CASE_END_INTERRUPTED : supervise_team_end(s),
			 s->overdue ? ended : s->team.reason);
	if (!s->overdue)
		case_result_set_fault(&result, worker_processes(c) > 1 ? s->team.failed_rank : -1);
	result.started_seconds = s->case_began - s->s->run_began;
	result.seconds = clock_seconds() - s->case_began;
	supervise_settle_in_flight(s, s->overdue, &result, NULL);
}

static void supervise_add_lost_device(struct supervised *s, size_t plan_device)
{
	struct lost_worker *lost = &s->outcome->lost;
	const char *id = s->s->plan->devices[plan_device].id;

	for (size_t i = 0; i < lost->device_count; i++)
		if (strcmp(lost->devices[i], id) == 0)
			return;
	lost->devices = xrealloc(lost->devices, lost->device_count + 1, sizeof(*lost->devices));
	lost->devices[lost->device_count++] = xstrdup(id);
}

/*
 * The device of the rank that went first; of one process those of the cases that it had, or was
 * about to begin.
 */
static void supervise_record_loss(struct supervised *s)
{
	size_t settled = s->outcome->settled, group_size = 1;
	const struct plan_case *largest = &s->s->plan->cases[s->cases[0]];

	s->outcome->lost.reason = xstrdup(s->team.reason);
	for (size_t i = 1; i < s->case_count; i++)
		largest = worker_team_larger(largest, &s->s->plan->cases[s->cases[i]]);
	if (s->team.size > 1 && s->team.failed_rank >= 0) {
		supervise_add_lost_device(s, largest->devices[s->team.failed_rank]);
		return;
	}
	if (s->team.size > 1) {
		for (int rank = 0; rank < s->team.size; rank++)
			supervise_add_lost_device(s, largest->devices[rank]);
		return;
	}
	if (s->in_flight)
		group_size = s->s->control->in_flight;
	if (settled == s->case_count)
		settled--;
	for (size_t i = settled; i < settled + group_size && i < s->case_count; i++) {
		const struct plan_case *c = &s->s->plan->cases[s->cases[i]];

		for (size_t d = 0; d < c->device_count; d++)
			supervise_add_lost_device(s, c->devices[d]);
	}
}

enum status supervise(const struct supervisor *supervisor, const size_t *cases, size_t case_count,
		      struct worker_outcome *outcome, struct error *err)
{
	struct supervised s = { .s = supervisor,
				.end = CASE_END_CRASHED,
				.cases = cases,
				.case_count = case_count,
				.outcome = outcome,
				.err = err };
	struct assignment assignment = { .plan = supervisor->plan,
					 .control = supervisor->control,
					 .run_began = supervisor->run_began,
					 .cases = cases,
					 .case_count = case_count,
					 .networks = supervisor->part ? supervisor->part->networks
								      : -1 };
	bool told = false; /* by the case that it was lost with */

	*outcome = (struct worker_outcome){ 0 };
	if (worker_team_start(&s.team, &assignment, supervisor->log, supervisor->part, err) !=
	    STATUS_OK)
		worker_team_kill(&s.team, NULL, -1);
	if (s.team.own_rank >= 0) {
		worker_run(&assignment);
		child_exit(WORKER_FINISHED);
	}
	supervise_event_loop(&s);
	if (s.in_flight && !s.abandoned && err->status == STATUS_OK) {
		/* The case at fault in a concurrent group is unknown: repeat each alone. */
		if (supervisor->control->in_flight > 1 && !s.overdue) {
			supervisor->control->groups_banned = true;
		} else {
			supervise_record_in_flight_case(&s);
			told = true;
		}
	}
	if (supervise_workers_unkillable(&s) && s.team.alive > 0)
		fprintf(stderr,
			"gpuproof: %d process(es) cannot be killed, and may be stuck in a driver. "
			"The run continues without them\n",
			s.team.alive);
	memcpy(outcome->reason, s.team.reason, sizeof(outcome->reason));
	outcome->failed_rank = s.team.failed_rank;
	outcome->end = supervise_team_end(&s);
	/* A failure that a case reports is no loss, nor an end that the user asked for. */
	if (!supervisor->part && s.team.reason[0] && !told && !s.overdue && !signals_stops())
		supervise_record_loss(&s);
	text_release(&s.input);
	worker_team_release(&s.team);
	return err->status;
}
