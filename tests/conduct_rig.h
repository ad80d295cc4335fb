/*
 * What tests of the conductor need: suites whose cases crash, hang or lie on demand, a plan made of them, a folder to
 * run in. Workers are forked, so they see what the test has put into `deeds`.
 */
#ifndef GPUPROOF_TESTS_CONDUCT_RIG_H
#define GPUPROOF_TESTS_CONDUCT_RIG_H

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "run/conductor.h"
#include "run/workers/message.h"
#include "measure/run.h"
#include "plan/schema.h"

enum deed {
	DO_WORK,
	DO_SEGFAULT,
	DO_ABORT,
	DO_EXIT,
	DO_EXIT_ZERO,
	DO_HANG,
	DO_MISMATCH,
	DO_UNSUPPORTED,
	DO_DEVICE_ERROR,
	DO_GARBAGE,
	DO_TORN_LINE,
	DO_OTHER_CASE,
	DO_NONSENSE, /* an interval that the value is outside of */
	DO_LAST_WORDS,
	DO_SAMPLE_FOR_LONG,
	DO_SET_UP_FOR_LONG, /* parts of 20 ms, without an end */
	DO_WANT_MEMORY,
	DO_KILL,
	DO_STRAND /* of two ranks: rank 1 fails, rank 0 waits for it without an end */
};

#define MOST_STEPS 64
static enum deed deeds[MOST_STEPS]; /* by case number */
static unsigned work_microseconds;

/* The worker's way to the conductor: the only pipe it can write to but for its output. */
static int find_pipe(void)
{
	for (int fd = 3; fd < 256; fd++) {
		struct stat info;

		if (fstat(fd, &info) == 0 && S_ISFIFO(info.st_mode) &&
		    (fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY)
			return fd;
	}
	abort();
}

static void tell(const char *text)
{
	if (!write_all(find_pipe(), text, strlen(text)))
		abort();
}

static enum status nap(void *state, unsigned batch, struct error *err)
{
	(void)state;
	(void)err;
	clock_sleep(2e-3 * batch);
	return STATUS_OK;
}

static enum status sample_for_long(struct run *run, struct error *err)
{
	struct workload workload = { .launch = nap, .clock = CLOCK_HOST, .max_batch = 1 };
	const struct series *series;
	enum status status = run_sample(run, &workload, "steps.time", &series, err);

	if (status == STATUS_OK)
		run_duration(run, "steps.time", series);
	return status;
}

static enum status set_up_for_long(struct run *run, struct error *err)
{
	while (phases_next(run->phases, run->world, "endless set-up", err) == STATUS_OK)
		clock_sleep(0.02);
	return err->status;
}

static enum status act(enum deed deed, struct run *run, struct error *err)
{
	switch (deed) {
	case DO_SEGFAULT:
		signal(SIGSEGV, SIG_DFL); /* a sanitizer would make an exit code of it */
		raise(SIGSEGV);
		break;
	case DO_ABORT:
		abort();
	case DO_KILL:
		raise(SIGKILL);
		break;
	case DO_EXIT:
		_exit(3);
	case DO_EXIT_ZERO:
		_exit(0);
	case DO_HANG:
		for (;;)
			pause();
	case DO_MISMATCH:
		return error_set(err, STATUS_MISMATCH, "wrong result at 5: expected 1, got 2");
	case DO_UNSUPPORTED:
		return error_set(err, STATUS_UNSUPPORTED, "no such precision");
	case DO_DEVICE_ERROR:
	case DO_STRAND:
		return error_set(err, STATUS_DEVICE, "cudaFoo: cudaErrorIllegalAddress");
	case DO_GARBAGE:
		tell("\x01 what is this?\n");
		break;
	case DO_TORN_LINE:
		tell("{\"case\":{\"suite\":\"steps\",\"id\":\"st");
		_exit(0);
	case DO_OTHER_CASE:
		tell("{\"start\":0}\n");
		break;
	case DO_NONSENSE:
		run->result->metrics[1].high = run->result->metrics[1].value / 2;
		break;
	case DO_LAST_WORDS:
		fprintf(stderr, "library: assertion failed\n");
		abort();
	case DO_SAMPLE_FOR_LONG:
		return sample_for_long(run, err);
	case DO_SET_UP_FOR_LONG:
		return set_up_for_long(run, err);
	case DO_WANT_MEMORY:
	case DO_WORK:
		break;
	}
	return STATUS_OK;
}

/* How often a suite of this process was told to let go of what it keeps. */
static unsigned releases;
static bool dies_letting_go; /* a worker, when it has done its last case */

static void steps_release(void)
{
	if (dies_letting_go)
		raise(SIGKILL);
	releases++;
}

/* The same of suites with several ranks, of all processes together. A test that wants to know maps it. */
static _Atomic unsigned *ranks_releases;

static void ranks_release(void)
{
	if (ranks_releases)
		(*ranks_releases)++;
}

static enum status steps_run(struct run *run, struct error *err)
{
	run_value(run, "steps.releases", releases);
	run_value(run, "steps.process", (double)getpid());
	run_value(run, "steps.nonce", clock_seconds());
	if (work_microseconds)
		usleep(work_microseconds);
	return act(deeds[case_integer(run->c, "cases")], run, err);
}

/* Rank 1 acts, rank 0 waits for it. */
static enum status ranks_run(struct run *run, struct error *err)
{
	enum status status = STATUS_OK;

	if (run->world->rank == 0 && deeds[case_integer(run->c, "cases")] == DO_STRAND)
		act(DO_HANG, run, err);
	if (run->world->rank == 1 || deeds[case_integer(run->c, "cases")] == DO_SET_UP_FOR_LONG)
		status = act(deeds[case_integer(run->c, "cases")], run, err);
	status = world_agree(run->world, status, err);
	run_value(run, "steps.process", world_sum(run->world, 1));
	run_value(run, "steps.first_rank", (double)getpid());
	return status;
}

static enum status steps_expand(struct plan *plan, struct plan_case *point, struct error *err)
{
	size_t device = 0;

	if (case_integer(point, "cases") == 60)
		return plan_add_skipped(plan, point, &device, 1, "sixty is too many", err);
	return plan_add(plan, point, &device, 1, err);
}

static enum status ranks_expand(struct plan *plan, struct plan_case *point, struct error *err)
{
	static const size_t both[] = { 0, 1 };

	return plan_add(plan, point, both, 2, err);
}

static enum status wide_expand(struct plan *plan, struct plan_case *point, struct error *err)
{
	static const size_t three[] = { 0, 1, 2 };

	return plan_add(plan, point, three, 3, err);
}

static const struct key steps_keys[] = { { .name = "cases",
					   .type = KEY_INTEGER,
					   .list = true,
					   .fallback = "1..4",
					   .min = 1,
					   .max = MOST_STEPS - 1,
					   .help = "which",
					   .parameter = "case" },
					 { 0 } };
static const char *const steps_axes[] = { "cases", NULL };
static const struct metric steps_metrics[] = { { "steps.process", "1", BETTER_NONE, 1,
						 "who did it" },
					       { "steps.nonce", "s", BETTER_NONE, 0, "when" },
					       { "steps.releases", "1", BETTER_NONE, 0,
						 "before this case" },
					       { "steps.company", "1", BETTER_NONE, 0,
						 "cases carried out together" },
					       { "steps.first_rank", "1", BETTER_NONE, 0,
						 "rank 0's process" },
					       { "steps.time", "s", BETTER_LOWER, 0, "of a nap" },
					       { 0 } };
static const struct suite suite_steps = {
	.name = "steps",
	.summary = "cases one after the other",
	.keys = steps_keys,
	.axes = steps_axes,
	.metrics = steps_metrics,
	.expand = steps_expand,
	.run = steps_run,
	.release = steps_release,
};
/* The same under another name. */
static const struct suite suite_others = {
	.name = "others",
	.summary = "other cases one after the other",
	.keys = steps_keys,
	.axes = steps_axes,
	.metrics = steps_metrics,
	.expand = steps_expand,
	.run = steps_run,
	.release = steps_release,
};
static const struct suite suite_ranks = {
	.name = "ranks",
	.summary = "two ranks",
	.keys = steps_keys,
	.axes = steps_axes,
	.metrics = steps_metrics,
	.processes = SUITE_PROCESS_PER_DEVICE,
	.expand = ranks_expand,
	.run = ranks_run,
	.release = ranks_release,
};
static const struct suite suite_more_ranks = {
	.name = "more_ranks",
	.summary = "two ranks again",
	.keys = steps_keys,
	.axes = steps_axes,
	.metrics = steps_metrics,
	.processes = SUITE_PROCESS_PER_DEVICE,
	.expand = ranks_expand,
	.run = ranks_run,
};
static const struct suite suite_wide = {
	.name = "wide",
	.summary = "three ranks",
	.keys = steps_keys,
	.axes = steps_axes,
	.metrics = steps_metrics,
	.processes = SUITE_PROCESS_PER_DEVICE,
	.expand = wide_expand,
	.run = ranks_run,
};
/* Cases on one device each, by turns over all there are, which may be carried out together. */
static enum status pairs_expand(struct plan *plan, struct plan_case *point, struct error *err)
{
	size_t device = (size_t)case_integer(point, "cases") % plan->device_count;

	return plan_add(plan, point, &device, 1, err);
}

static bool pairs_join(const struct plan_case *const *company, size_t count,
		       const struct plan_case *other)
{
	for (size_t i = 0; i < count; i++)
		if (company[i]->devices[0] == other->devices[0])
			return false;
	return case_integer(other, "cases") != 50; /* it wants to be alone */
}

static enum status pairs_run(struct run *run, struct error *err)
{
	run_value(run, "steps.company", 1);
	return act(deeds[case_integer(run->c, "cases")], run, err);
}

static void pairs_run_company(struct run *const *runs, size_t count, struct error *errs)
{
	for (size_t i = 0; i < count; i++) {
		run_value(runs[i], "steps.company", (double)count);
		act(deeds[case_integer(runs[i]->c, "cases")], runs[i], &errs[i]);
	}
}

static const struct suite suite_pairs = {
	.name = "pairs",
	.summary = "cases that need not wait for each other",
	.keys = steps_keys,
	.axes = steps_axes,
	.metrics = steps_metrics,
	.expand = pairs_expand,
	.run = pairs_run,
	.joins = pairs_join,
	.run_company = pairs_run_company,
};
static const struct suite *const rig_suites[] = { &suite_steps, &suite_ranks, &suite_others,
						  &suite_more_ranks, &suite_pairs, &suite_wide, NULL };
static const struct schema rig_schema = { .suites = rig_suites, .sampling = sampling_keys };

struct rig {
	char directory[64];
	struct config config;
	struct probe probe;
	struct plan plan;
	struct result result;
	struct error err;
	int stopped_by;
	double start_seconds;
};

#define RIG_STEPS                                                                                  \
	"[run]\nbackend = host\nhost_devices = 2\ncase_limit = 1s\n[suite steps]\ncases = "
#define RIG_RANKS                                                                                  \
	"[run]\nbackend = host\nhost_devices = 2\ncase_limit = 1s\n[suite ranks]\ncases = "

/* A case that is to hang meets a limit as short as the test says; no other one meets any, however busy the machine is. */
static void rig_lengthen_limits(struct rig *rig)
{
	for (size_t i = 0; i < ARRAY_SIZE(deeds); i++)
		if (deeds[i] == DO_HANG || deeds[i] == DO_STRAND)
			return;
	for (size_t i = 0; i < rig->plan.case_count; i++)
		rig->plan.cases[i].limit_seconds += 60;
}

/* Probes and plans `text`; aborts on any error in it. */
static void rig_plan(struct rig *rig, const char *text)
{
	struct text errors = TEXT_EMPTY;
	struct error err = ERROR_NONE;

	if (config_parse_with(&rig->config, &rig_schema, "rig.ini", text, strlen(text), NULL, 0,
			      &errors) != STATUS_OK ||
	    probe_devices(&rig->probe, &rig->config, &err) != STATUS_OK ||
	    plan_build(&rig->plan, &rig->config, rig->probe.devices, rig->probe.device_count,
		       &err) != STATUS_OK) {
		fprintf(stderr, "%s%s\n", errors.data ? errors.data : "", err.message);
		abort();
	}
	text_release(&errors);
	/* Later than the plan looks: memory can be gone by the time the case runs. */
	for (size_t i = 0; i < rig->plan.case_count; i++)
		if (deeds[case_integer(&rig->plan.cases[i], "cases")] == DO_WANT_MEMORY)
			rig->plan.cases[i].device_bytes = UINT64_C(1) << 60;
	rig_lengthen_limits(rig);
}

static void rig_begin(struct rig *rig, const char *text)
{
	*rig = (struct rig){ .directory = "/tmp/gpuproof-test-XXXXXX" };
	if (!mkdtemp(rig->directory))
		abort();
	rig_plan(rig, text);
}

static void rig_unplan(struct rig *rig)
{
	plan_release(&rig->plan);
	probe_release(&rig->probe);
	config_release(&rig->config);
	result_release(&rig->result);
	memset(&rig->result, 0, sizeof(rig->result));
	error_clear(&rig->err);
}

static void rig_end(struct rig *rig)
{
	DIR *directory = opendir(rig->directory);
	const struct dirent *entry;

	rig_unplan(rig);
	/* A killed conductor may leave a temporary file of any name. */
	while (directory && (entry = readdir(directory)))
		unlinkat(dirfd(directory), entry->d_name, 0);
	if (directory)
		closedir(directory);
	rmdir(rig->directory);
	memset(deeds, 0, sizeof(deeds));
	work_microseconds = 0;
	dies_letting_go = false;
}

static enum status rig_conduct(struct rig *rig, bool resume)
{
	struct conduct_options options = { .directory = rig->directory,
					   .resume = resume,
					   .quiet = true,
					   .command = "gpuproof run rig.ini",
					   .stopped_by = &rig->stopped_by,
					   .start_seconds = rig->start_seconds };

	result_release(&rig->result);
	error_clear(&rig->err);
	return conduct(&rig->plan, &rig->probe, &options, &rig->result, &rig->err);
}

/* The case whose number is `number`; NULL when it is not in the result. */
static inline const struct case_result *rig_case(const struct rig *rig, int number)
{
	for (size_t i = 0; i < rig->result.case_count; i++)
		if (case_parameter(&rig->result.cases[i], "case")->number == number)
			return &rig->result.cases[i];
	return NULL;
}

static inline double rig_value(const struct rig *rig, int number, const char *metric)
{
	const struct case_result *c = rig_case(rig, number);
	const struct metric_value *value = c ? case_metric(c, metric) : NULL;

	return value ? value->value : NAN;
}

static inline char *rig_path(const struct rig *rig, const char *name)
{
	return xasprintf("%s/%s", rig->directory, name);
}

#endif
