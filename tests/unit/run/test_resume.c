/*
 * A run can be stopped, killed, or run out of disk at any moment; what was finished stays, --resume
 * does the rest.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <cmocka.h>

#include "conduct_rig.h"
#include "run/supervise.h"

#define KILLS 20

/*
 * Starts conduct() in a process of its own, the leader of its group; what it prints goes to
 * DIR/stderr.
 */
static pid_t start(struct rig *rig, bool resume, off_t file_limit)
{
	char *path = rig_path(rig, "stderr");
	struct conduct_options options = { .directory = rig->directory,
					   .resume = resume,
					   .command = "",
					   .stopped_by = &rig->stopped_by };
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		struct rlimit limit = { (rlim_t)file_limit, (rlim_t)file_limit };
		int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
		enum status status;

		setpgid(0, 0);
		dup2(fd, STDERR_FILENO);
		signal(SIGINT, SIG_DFL); /* a test in the background may have it ignored */
		if (file_limit)
			setrlimit(RLIMIT_FSIZE, &limit);
		status = conduct(&rig->plan, &rig->probe, &options, &rig->result, &rig->err);
		fprintf(stderr, "%s\n", rig->err.message);
		_exit(rig->stopped_by ? 100 + rig->stopped_by : (int)status);
	}
	setpgid(pid, pid);
	free(path);
	return pid;
}

/* The exit code; -1 when a signal ended it. */
static int wait_for(pid_t pid)
{
	int wait_status;

	assert_int_equal(waitpid(pid, &wait_status, 0), pid);
	return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
}

/* Every process that a killed conductor left is gone soon. */
static void no_orphans(void)
{
	double end = clock_seconds() + 5;

	while (waitpid(-1, NULL, WNOHANG) >= 0) {
		assert_true(clock_seconds() < end);
		clock_sleep(1e-3);
	}
}

static char *read_file(const struct rig *rig, const char *name)
{
	char *path = rig_path(rig, name), block[65536];
	FILE *file = fopen(path, "r");
	struct text text = TEXT_EMPTY;
	size_t n;

	while (file && (n = fread(block, 1, sizeof(block), file)) > 0)
		text_add_bytes(&text, block, n);
	if (file)
		fclose(file);
	free(path);
	return text_detach(&text);
}

static void write_file(const struct rig *rig, const char *name, const char *content)
{
	char *path = rig_path(rig, name);
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fputs(content, file) < 0, 0);
	fclose(file);
	free(path);
}

static off_t size_of(const struct rig *rig, const char *name)
{
	char *path = rig_path(rig, name);
	struct stat info = { 0 };

	if (stat(path, &info) != 0)
		info.st_size = 0;
	free(path);
	return info.st_size;
}

/* nonce[number] of every whole line of the journal; no case is there twice. Returns how many. */
static int read_nonces(const struct rig *rig, double *nonce)
{
	char *journal = read_file(rig, "run.jsonl"), *at = journal, *stop;
	int count = 0;

	for (int i = 0; i < MOST_STEPS; i++)
		nonce[i] = NAN;
	for (; (stop = strchr(at, '\n')); at = stop + 1) {
		struct error err = ERROR_NONE;
		struct message message;
		struct case_result c;
		int number;

		if (!worker_message_parse(at, (size_t)(stop - at), &message) ||
		    message.kind != MESSAGE_CASE)
			continue;
		assert_int_equal(case_result_from_json(&c, message.json, message.json_length, &err),
				 STATUS_OK);
		number = (int)case_parameter(&c, "case")->number;
		assert_true(isnan(nonce[number]));
		nonce[number] = case_metric(&c, "steps.nonce")->value;
		case_result_release(&c);
		count++;
	}
	free(journal);
	return count;
}

/* A case that was told to be finished is in the journal. */
static void told_is_kept(const struct rig *rig, const double *nonce)
{
	char *told = read_file(rig, "stderr");

	for (char *at = told; (at = strstr(at, "OK steps/")); at++)
		assert_false(isnan(nonce[atoi(at + 9)]));
	free(told);
}

static void kept_is_unchanged(const double *before, const double *after)
{
	for (int i = 0; i < MOST_STEPS; i++)
		if (!isnan(before[i]))
			assert_true(before[i] == after[i]);
}

static void killed_at_any_moment(void **state)
{
	struct rig rig;
	int kills = 0;

	(void)state;
	srand(20261120);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	while (kills < KILLS) {
		double before[MOST_STEPS], after[MOST_STEPS];
		int code;

		rig_begin(&rig, RIG_STEPS "1..30\n");
		work_microseconds = 3000;
		read_nonces(&rig, before);
		do {
			char *journal = read_file(&rig, "run.jsonl");
			bool begun = strchr(journal, '\n');
			pid_t pid = start(&rig, begun, 0);

			free(journal);
			clock_sleep(1e-3 * (rand() % 150));
			kill(pid, SIGKILL);
			code = wait_for(pid);
			no_orphans();
			kills += code == -1;
			read_nonces(&rig, after);
			told_is_kept(&rig, after);
			kept_is_unchanged(before, after);
			memcpy(before, after, sizeof(before));
		} while (code == -1 && kills < 10 * KILLS);
		assert_int_equal(code == -1 ? STATUS_OK : code, STATUS_OK);
		assert_int_equal(rig_conduct(&rig, true), STATUS_OK);
		assert_int_equal(rig.result.case_count, 30);
		for (int i = 1; i <= 30; i++)
			assert_true(isnan(before[i]) ||
				    before[i] == rig_value(&rig, i, "steps.nonce"));
		rig_end(&rig);
	}
}

/* A finished run of `count` cases. */
static void finished_run(struct rig *rig, const char *text, double *nonce)
{
	rig_begin(rig, text);
	assert_int_equal(rig_conduct(rig, false), STATUS_OK);
	read_nonces(rig, nonce);
}

static void a_torn_last_line_is_cut_away(void **state)
{
	double before[MOST_STEPS], after[MOST_STEPS];
	struct rig rig;
	char *path, *id;

	(void)state;
	finished_run(&rig, RIG_STEPS "1..5\n", before);
	id = xstrdup(rig.result.run_id);
	path = rig_path(&rig, "run.jsonl");
	assert_int_equal(truncate(path, size_of(&rig, "run.jsonl") - 10), 0);
	assert_int_equal(rig_conduct(&rig, true), STATUS_OK);
	assert_int_equal(read_nonces(&rig, after), 5);
	assert_true(after[5] != before[5]);
	before[5] = NAN;
	kept_is_unchanged(before, after);
	assert_string_equal(rig.result.run_id, id);
	assert_string_equal(rig.result.state, "complete");
	free(path);
	free(id);
	rig_end(&rig);
}

static void a_damaged_line_is_done_again(void **state)
{
	double before[MOST_STEPS];
	struct rig rig;
	char *journal, *line;

	(void)state;
	finished_run(&rig, RIG_STEPS "1..4\n", before);
	journal = read_file(&rig, "run.jsonl");
	line = strstr(journal, "steps/2@host:0");
	assert_non_null(line);
	*strchr(line, ':') = '#';
	*strchr(line, ',') = '\x01';
	write_file(&rig, "run.jsonl", journal);
	assert_int_equal(rig_conduct(&rig, true), STATUS_OK);
	assert_int_equal(rig.result.case_count, 4);
	assert_true(rig_value(&rig, 2, "steps.nonce") != before[2]);
	assert_true(rig_value(&rig, 3, "steps.nonce") == before[3]);
	free(journal);
	rig_end(&rig);
}

/* How many lost workers the cases of the result tell of. */
static size_t told_losses(const struct rig *rig)
{
	size_t n = 0;

	for (size_t i = 0; i < rig->result.case_count; i++)
		n += rig->result.cases[i].lost_count;
	return n;
}

/* The journal up to the line that begins with `text`, which stays. */
static void cut_after(const struct rig *rig, const char *text)
{
	char *journal = read_file(rig, "run.jsonl"), *path = rig_path(rig, "run.jsonl");
	char *at = strstr(journal, text);

	assert_non_null(at);
	assert_int_equal(truncate(path, strchr(at, '\n') + 1 - journal), 0);
	free(journal);
	free(path);
}

static void a_worker_lost_after_the_last_case_is_not_forgotten(void **state)
{
	double nonce[MOST_STEPS];
	struct rig rig;
	char *path;

	(void)state;
	dies_letting_go = true;
	finished_run(&rig, RIG_STEPS "1..3\n", nonce);
	assert_int_equal(told_losses(&rig), 1);
	assert_int_equal(rig_case(&rig, 3)->lost_count, 1);
	/* The conductor dies before it has written a result. */
	path = rig_path(&rig, "result.json");
	assert_int_equal(unlink(path), 0);
	dies_letting_go = false;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(rig_conduct(&rig, true), STATUS_OK);
		assert_int_equal(told_losses(&rig), 1);
		assert_non_null(strstr(rig_case(&rig, 3)->lost[0].reason, "signal 9"));
		assert_string_equal(rig_case(&rig, 3)->lost[0].devices[0], "host:0");
		assert_non_null(strstr(rig_case(&rig, 3)->notes, "A worker process died"));
	}
	free(path);
	rig_end(&rig);
}

static void a_lost_worker_is_told_of_once(void **state)
{
	struct rig rig;

	(void)state;
	rig_begin(&rig, RIG_STEPS "1..2\n[suite ranks]\ncases = 3..4\n");
	dies_letting_go = true;
	assert_int_equal(rig_conduct(&rig, false), STATUS_OK);
	assert_int_equal(told_losses(&rig), 1);
	assert_int_equal(rig_case(&rig, 3)->lost_count, 1);
	dies_letting_go = false;
	assert_int_equal(rig_conduct(&rig, true), STATUS_OK);
	assert_int_equal(told_losses(&rig), 1);
	/* The conductor died before the next case was done, which then tells of it. */
	cut_after(&rig, "{\"lost\":");
	assert_int_equal(rig_conduct(&rig, true), STATUS_OK);
	assert_int_equal(rig.result.case_count, 4);
	assert_int_equal(told_losses(&rig), 1);
	assert_int_equal(rig_case(&rig, 3)->lost_count, 1);
	rig_end(&rig);
}

/*
 * The journal has a case byte by byte as its worker sent it, and lost workers only on lines of
 * their own.
 */
static void the_journal_has_what_the_worker_sent(void **state)
{
	char *journal, *sent, *lost;
	struct rig rig;

	(void)state;
	rig_begin(&rig, RIG_STEPS "1..3\n");
	deeds[1] = DO_OTHER_SPELLING;
	for (int resume = 0; resume < 2; resume++) {
		assert_int_equal(rig_conduct(&rig, resume), STATUS_OK);
		journal = read_file(&rig, "run.jsonl");
		sent = strstr(journal, "\n{\"case\":{" UNKNOWN_MEMBER ",");
		lost = strstr(journal, "\n{\"lost\":");
		assert_non_null(sent);
		assert_non_null(lost);
		assert_true(sent < lost);
		assert_null(strstr(journal, "lost_workers"));
		assert_int_equal(told_losses(&rig), 1);
		assert_int_equal(rig_case(&rig, 2)->lost_count, 1);
		assert_non_null(strstr(rig_case(&rig, 2)->lost[0].reason, "exited with code 0"));
		free(journal);
	}
	rig_end(&rig);
}

/* Earlier versions wrote lost workers into the next case's line as well. */
static void an_older_journal_reports_a_lost_worker_once(void **state)
{
	static const char begin[] = "{\"case\":{";
	struct text older = TEXT_EMPTY;
	char *journal, *lost, *next, *stop;
	struct rig rig;

	(void)state;
	rig_begin(&rig, RIG_STEPS "1..3\n");
	deeds[1] = DO_OTHER_SPELLING;
	assert_int_equal(rig_conduct(&rig, false), STATUS_OK);
	journal = read_file(&rig, "run.jsonl");
	lost = strstr(journal, "{\"lost\":");
	assert_non_null(lost);
	stop = strchr(lost, '\n');
	next = stop + 1;
	assert_int_equal(strncmp(next, begin, strlen(begin)), 0);
	text_add_bytes(&older, journal, (size_t)(next - journal));
	text_add(&older, "{\"case\":{\"lost_workers\":[");
	text_add_bytes(&older, lost + strlen("{\"lost\":"),
		       (size_t)(stop - 1 - lost) - strlen("{\"lost\":"));
	text_addf(&older, "],%s", next + strlen(begin));
	write_file(&rig, "run.jsonl", older.data);
	assert_int_equal(rig_conduct(&rig, true), STATUS_OK);
	assert_int_equal(rig.result.case_count, 3);
	assert_int_equal(told_losses(&rig), 1);
	assert_int_equal(rig_case(&rig, 2)->lost_count, 1);
	text_release(&older);
	free(journal);
	rig_end(&rig);
}

static void rename_host(struct rig *rig)
{
	for (size_t i = 0; i < rig->probe.fact_count; i++)
		if (strcmp(rig->probe.facts[i].name, "hostname") == 0) {
			free(rig->probe.facts[i].value);
			rig->probe.facts[i].value = xstrdup("another.example");
			return;
		}
	fail_msg("the host has no name");
}

/*
 * A CPU has no UUID: cases of two hosts must not be mixed. A GPU is known by its own, wherever it
 * is.
 */
static void another_host_is_refused(void **state)
{
	struct rig rig;

	(void)state;
	for (int uuid = 0; uuid < 2; uuid++) {
		rig_begin(&rig, RIG_STEPS "1..4\n");
		for (size_t i = 0; uuid && i < rig.plan.device_count; i++)
			strcpy(rig.plan.devices[i].uuid, "GPU-1");
		assert_int_equal(rig_conduct(&rig, false), STATUS_OK);
		rename_host(&rig);
		assert_int_equal(rig_conduct(&rig, true), uuid ? STATUS_OK : STATUS_USAGE);
		if (!uuid) {
			assert_non_null(strstr(rig.err.message, ": the run began on host "));
			assert_non_null(
				strstr(rig.err.message, ", but this host is another.example; "));
		}
		rig_end(&rig);
	}
}

static void write_bytes(const struct rig *rig, const char *start, size_t zeros)
{
	char *path = rig_path(rig, "run.jsonl");
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(start, file);
	for (size_t i = 0; i < zeros; i++)
		fputc('\0', file);
	fclose(file);
	free(path);
}

/* A first line that a power cut left half: --resume says to start anew, and that can be done. */
static void a_torn_beginning_is_started_anew(void **state)
{
	static const struct {
		const char *start;
		size_t zeros;
		bool torn;
	} rows[] = {
		{ "", 0, true },         { "", 9000, true },
		{ "{\"jour", 0, true },  { "{\"journal\":1,\"plan\":\"0123", 8000, true },
		{ "hello\n", 0, false }, { "{\"journal\":1,\"plan\":\"0123\n", 0, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		double before[MOST_STEPS];
		struct rig rig;

		finished_run(&rig, RIG_STEPS "1..2\n", before);
		write_bytes(&rig, rows[i].start, rows[i].zeros);
		assert_int_equal(rig_conduct(&rig, true), STATUS_USAGE);
		assert_non_null(strstr(rig.err.message, rows[i].torn
								? "start a new run"
								: "is not the journal of a run"));
		assert_int_equal(rig_conduct(&rig, false), rows[i].torn ? STATUS_OK : STATUS_USAGE);
		if (!rows[i].torn)
			assert_non_null(strstr(rig.err.message, "is not the journal of a run"));
		rig_end(&rig);
	}
}

/* Neither waits for who might write into it. */
static void a_pipe_is_no_journal(void **state)
{
	double before[MOST_STEPS];
	struct rig rig;
	char *path;

	(void)state;
	finished_run(&rig, RIG_STEPS "1..2\n", before);
	path = rig_path(&rig, "run.jsonl");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	for (int resume = 0; resume < 2; resume++) {
		assert_int_equal(rig_conduct(&rig, resume), STATUS_USAGE);
		assert_non_null(strstr(rig.err.message, "run.jsonl is not a regular file"));
	}
	free(path);
	rig_end(&rig);
}

static void another_plan_is_refused(void **state)
{
	double before[MOST_STEPS];
	struct rig rig;

	(void)state;
	finished_run(&rig, RIG_STEPS "1..4\n", before);
	rig_unplan(&rig);
	rig_plan(&rig, RIG_STEPS "1..5\n");
	assert_int_equal(rig_conduct(&rig, true), STATUS_USAGE);
	assert_non_null(strstr(rig.err.message,
			       "the cases have changed since the run began: 4 at its start"));
	rig_unplan(&rig);
	rig_plan(&rig, RIG_STEPS "1..4\n");
	strcpy(rig.plan.devices[1].name, "Other CPU");
	assert_int_equal(rig_conduct(&rig, true), STATUS_USAGE);
	assert_non_null(strstr(rig.err.message, "the devices have changed"));
	assert_non_null(strstr(rig.err.message, "host:1 Other CPU"));
	rig_end(&rig);
}

static void a_directory_holds_one_run(void **state)
{
	double before[MOST_STEPS], after[MOST_STEPS];
	struct rig rig;
	char *journal;

	(void)state;
	finished_run(&rig, RIG_STEPS "1..2\n", before);
	assert_int_equal(rig_conduct(&rig, false), STATUS_USAGE);
	assert_non_null(strstr(rig.err.message, "already contains a run"));
	read_nonces(&rig, after);
	kept_is_unchanged(before, after);
	/*
	 * A file of another program is left alone, a first line torn by a kill is not worth
	 * keeping.
	 */
	write_file(&rig, "run.jsonl", "my notes\n");
	assert_int_equal(rig_conduct(&rig, false), STATUS_USAGE);
	journal = read_file(&rig, "run.jsonl");
	assert_string_equal(journal, "my notes\n");
	free(journal);
	write_file(&rig, "run.jsonl", "{\"journal\":1,\"plan\":\"0123");
	assert_int_equal(rig_conduct(&rig, true), STATUS_USAGE);
	assert_int_equal(rig_conduct(&rig, false), STATUS_OK);
	rig_end(&rig);
}

static void wait_for_text(const struct rig *rig, const char *name, const char *text)
{
	double end = clock_seconds() + 20;
	bool found = false;

	while (!found) {
		char *content = read_file(rig, name);

		found = strstr(content, text) != NULL;
		free(content);
		assert_true(clock_seconds() < end);
		clock_sleep(2e-3);
	}
}

static void two_runs_in_one_directory(void **state)
{
	struct rig rig;
	char expected[64];
	pid_t pid;

	(void)state;
	rig_begin(&rig, RIG_STEPS "1..60\n");
	work_microseconds = 50000;
	pid = start(&rig, false, 0);
	wait_for_text(&rig, "stderr", "OK steps/1@");
	snprintf(expected, sizeof(expected), "another gpuproof (process %d) runs", (int)pid);
	assert_int_equal(rig_conduct(&rig, true), STATUS_IO);
	assert_non_null(strstr(rig.err.message, expected));
	assert_int_equal(rig_conduct(&rig, false), STATUS_IO);
	assert_non_null(strstr(rig.err.message, expected));
	kill(pid, SIGKILL);
	wait_for(pid);
	no_orphans();
	rig_end(&rig);
}

static void a_full_disk_ends_the_run_and_loses_nothing(void **state)
{
	double before[MOST_STEPS], after[MOST_STEPS];
	struct rig rig;
	off_t whole;
	char *journal;

	(void)state;
	finished_run(&rig, RIG_STEPS "1..30\n", before);
	whole = size_of(&rig, "run.jsonl");
	rig_end(&rig);

	rig_begin(&rig, RIG_STEPS "1..30\n");
	assert_int_equal(wait_for(start(&rig, false, whole - 9000)), STATUS_IO);
	wait_for_text(&rig, "stderr", "run.jsonl: File too large");
	assert_true(read_nonces(&rig, before) > 3);
	told_is_kept(&rig, before);
	journal = read_file(&rig, "run.jsonl");
	assert_int_equal(journal[strlen(journal) - 1], '\n');
	free(journal);
	assert_int_equal(rig_conduct(&rig, true), STATUS_OK);
	assert_int_equal(read_nonces(&rig, after), 30);
	kept_is_unchanged(before, after);
	rig_end(&rig);
}

#define SAMPLING "min_samples = 1000000\nmax_samples = 1000000\nmax_time = 60s\n"

/* Ctrl-C reaches the whole process group; the workers leave it to the conductor. */
static void a_stop_keeps_the_partial_case(void **state)
{
	static const int signals[] = { SIGINT, SIGTERM };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		const struct case_result *partial;
		struct rig rig;
		char *path;
		pid_t pid;
		double sent;

		deeds[2] = DO_SAMPLE_FOR_LONG;
		rig_begin(&rig, "[run]\nbackend = host\ncase_limit = 60s\n[suite steps]\ncases = "
				"1..3\n" SAMPLING);
		nap_mark = rig_path(&rig, "sampled");
		pid = start(&rig, false, 0);
		while (access(nap_mark, F_OK) != 0)
			clock_sleep(0.01);
		sent = clock_seconds();
		kill(-pid, signals[i]);
		assert_int_equal(wait_for(pid), 100 + signals[i]);
		assert_true(clock_seconds() - sent < 5);
		path = rig_path(&rig, "result.json");
		assert_int_equal(result_read(&rig.result, path, &rig.err), STATUS_OK);
		assert_string_equal(rig.result.state, "interrupted");
		assert_int_equal(rig.result.planned, 3);
		assert_int_equal(rig.result.case_count, 2);
		partial = rig_case(&rig, 2);
		assert_non_null(partial);
		assert_true(case_series(partial, "steps.time")->count > 5);
		assert_int_equal(case_series(partial, "steps.time")->stop, STOP_INTERRUPTED);
		assert_int_equal(partial->status, CASE_SKIPPED);
		assert_non_null(strstr(partial->reason, "interrupted after "));
		/* It counts as begun, not as done. */
		deeds[2] = DO_WORK;
		assert_int_equal(rig_conduct(&rig, true), STATUS_OK);
		assert_int_equal(rig.result.case_count, 3);
		assert_string_equal(case_status_name(rig_case(&rig, 2)->status), "OK");
		assert_string_equal(rig.result.state, "complete");
		free(path);
		free(nap_mark);
		nap_mark = NULL;
		rig_end(&rig);
	}
}

/* One stop; what the case in flight, number 2, has become of it. */
static const struct case_result *stop_once(struct rig *rig, double *seconds)
{
	char *path = rig_path(rig, "result.json");
	pid_t pid = start(rig, false, 0);
	double sent;

	wait_for_text(rig, "stderr", "OK ranks/1@");
	clock_sleep(0.1);
	sent = clock_seconds();
	kill(-pid, SIGINT);
	clock_sleep(0.02);
	kill(pid, SIGINT); /* the same request again, as timeout(1) sends it */
	assert_int_equal(wait_for(pid), 100 + SIGINT);
	*seconds = clock_seconds() - sent;
	no_orphans();
	assert_int_equal(result_read(&rig->result, path, &rig->err), STATUS_OK);
	assert_string_equal(rig->result.state, "interrupted");
	assert_int_equal(rig->result.case_count, 2);
	assert_int_equal(rig_case(rig, 2)->status, CASE_SKIPPED);
	free(path);
	return rig_case(rig, 2);
}

static const char three_ranks[] =
	"[run]\nbackend = host\nhost_devices = 2\ncase_limit = 60s\n[suite ranks]\ncases = 1..3\n";

/* Long before the first sample: ranks agree between the parts of a set-up that they stop. */
static void a_stop_ends_a_set_up(void **state)
{
	const struct case_result *partial;
	struct rig rig;
	double seconds;

	(void)state;
	deeds[2] = DO_SET_UP_FOR_LONG;
	rig_begin(&rig, three_ranks);
	partial = stop_once(&rig, &seconds);
	assert_true(seconds < SUPERVISE_STOP_SECONDS);
	assert_string_equal(partial->reason, "interrupted before endless set-up");
	assert_true(partial->phase_count >= 2);
	assert_string_equal(partial->phases[0].name, "opening the device");
	assert_string_equal(partial->phases[2].name, "endless set-up");
	assert_true(partial->phases[2].seconds > 0.05 && partial->phases[2].seconds < seconds + 1);
	rig_end(&rig);
}

/* A case that does not come to an end is ended; it is interrupted and done again later. */
static void a_stop_ends_what_hangs(void **state)
{
	struct rig rig;
	double seconds;

	(void)state;
	deeds[2] = DO_HANG;
	rig_begin(&rig, three_ranks);
	assert_string_equal(stop_once(&rig, &seconds)->reason, "interrupted; killed after 5 s");
	assert_true(seconds > SUPERVISE_STOP_SECONDS - 1 && seconds < SUPERVISE_STOP_SECONDS + 4);
	deeds[2] = DO_WORK;
	assert_int_equal(rig_conduct(&rig, true), STATUS_OK);
	assert_int_equal(rig.result.case_count, 3);
	assert_int_equal(rig_case(&rig, 2)->status, CASE_OK);
	assert_string_equal(rig.result.state, "complete");
	rig_end(&rig);
}

static void a_second_stop_ends_at_once(void **state)
{
	struct rig rig;
	pid_t pid;
	double sent;
	char *path;

	(void)state;
	deeds[2] = DO_HANG;
	rig_begin(&rig, "[run]\nbackend = host\ncase_limit = 60s\n[suite steps]\ncases = 1..3\n");
	pid = start(&rig, false, 0);
	wait_for_text(&rig, "stderr", "OK steps/1@");
	kill(-pid, SIGINT);
	wait_for_text(&rig, "stderr", "Press Ctrl-C again to stop now");
	clock_sleep(0.3); /* less would be the same request */
	sent = clock_seconds();
	kill(-pid, SIGINT);
	assert_int_equal(wait_for(pid), 100 + SIGINT);
	assert_true(clock_seconds() - sent < 5);
	no_orphans();
	path = rig_path(&rig, "result.json");
	assert_int_equal(result_read(&rig.result, path, &rig.err), STATUS_OK);
	assert_int_equal(rig.result.case_count, 1);
	free(path);
	rig_end(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(killed_at_any_moment),
		cmocka_unit_test(a_torn_last_line_is_cut_away),
		cmocka_unit_test(a_damaged_line_is_done_again),
		cmocka_unit_test(a_worker_lost_after_the_last_case_is_not_forgotten),
		cmocka_unit_test(a_lost_worker_is_told_of_once),
		cmocka_unit_test(the_journal_has_what_the_worker_sent),
		cmocka_unit_test(an_older_journal_reports_a_lost_worker_once),
		cmocka_unit_test(a_pipe_is_no_journal),
		cmocka_unit_test(another_plan_is_refused),
		cmocka_unit_test(another_host_is_refused),
		cmocka_unit_test(a_torn_beginning_is_started_anew),
		cmocka_unit_test(a_directory_holds_one_run),
		cmocka_unit_test(two_runs_in_one_directory),
		cmocka_unit_test(a_full_disk_ends_the_run_and_loses_nothing),
		cmocka_unit_test(a_stop_keeps_the_partial_case),
		cmocka_unit_test(a_stop_ends_a_set_up),
		cmocka_unit_test(a_stop_ends_what_hangs),
		cmocka_unit_test(a_second_stop_ends_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
