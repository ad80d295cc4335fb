/*
 * State of a run after a call of its backend fails: no finished case is lost, every planned case is
 * accounted for, nothing that failed passes, and the exit code says so. Runs tests/faults/quick.ini
 * with the backend `fake`, one planted fault a run, at calls spread over the run.
 *
 * usage: test_faults
 *            a few of each kind: the test
 *        test_faults PART DEED CLOCK FIRST STRIDE [LAST]
 *            call FIRST, FIRST + STRIDE, ... to the run's last (ci/fault-sweep)
 *
 * PART: whole, or a suite: that suite and a short one after it, which must run whatever befell the
 * first; parts: each suite so, one after the other. They make the same calls as the whole in a
 * third of the time. DEED: fail (one call), error (that and all later ones of its process),
 * segfault, abort, exit, hang. CLOCK: scripted, or host: the host backend's own.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "fake/script.h"
#include "result/result.h"

#define LONGEST_SECONDS 240 /* of a run, on a busy machine */

/*
 * Calls whose failure costs no case: what they tell is unknown then, or there is another way (a
 * transport that cannot be
 * used: the case says which one was), or the case was measured and reported before; and those whose
 * error is not reported ("unheeded:"): they wait before memory is given back.
 */
static const char *const harmless[] = { "telemetry",   "device_memory",
					"memory_free", "device_synchronize",
					"peer_access", "transport_usable",
					NULL };

struct outcome {
	int code;             /* of gpuproof; -1: it did not end */
	struct result result; /* as far as there is one */
	bool has_result;
	size_t journal_lines;
};

/* In memory: fifty cases a run, each fsynced. */
static char folder[] = "/dev/shm/gpuproof_faults.XXXXXX";
static struct script_calls *calls;
static const char *sweeping; /* the part */
static unsigned failures, runs;

/* The last section of quick.ini, a short one, is after every other. */
#define FOLLOWER "peak"
static const char *const parts[] = { "alloc",  "transfer", "selftest",   "launch",
				     "stream", "matmul",   "collective", "parallel" };

static char *in_folder(const char *name)
{
	return xasprintf("%s/%s", folder, name);
}

static void map_calls(void)
{
	char *path = in_folder("calls");
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);

	if (fd < 0 || ftruncate(fd, sizeof(*calls)) != 0)
		abort();
	calls = mmap(NULL, sizeof(*calls), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (calls == MAP_FAILED)
		abort();
	close(fd);
	free(path);
}

static char *read_text(const char *path)
{
	char *text = xcalloc(1, 65536);
	FILE *file = fopen(path, "r");

	if (!file || fread(text, 1, 65535, file) == 0)
		abort();
	fclose(file);
	return text;
}

/*
 * run.ini in the folder: of the sections [suite ...] of quick.ini those of `part` and the follower,
 * or all.
 */
static void write_config(const char *part)
{
	char *path = in_folder("run.ini"), *text = read_text(TESTS_DIR "/faults/quick.ini"),
	     *at = text;
	FILE *file = fopen(path, "w");
	bool wanted = true, found = strcmp(part, "whole") == 0;

	for (char *line; file && (line = strsep(&at, "\n"));) {
		char suite[32];

		if (sscanf(line, "[suite %31[a-z]]", suite) == 1) {
			wanted = strcmp(part, "whole") == 0 || strcmp(suite, part) == 0 ||
				 strcmp(suite, FOLLOWER) == 0;
			found = found || strcmp(suite, part) == 0;
		}
		if (wanted)
			fprintf(file, "%s\n", line);
	}
	if (!file || fclose(file) != 0 || !found) {
		printf("FAILED: there is no part %s\n", part);
		exit(1);
	}
	free(text);
	free(path);
}

static int run_program(const char *output, const char *limit)
{
	double end = clock_seconds() + LONGEST_SECONDS;
	int status;
	char *config = in_folder("run.ini");
	pid_t pid = fork();

	if (pid == 0) {
		int nothing = open("/dev/null", O_RDWR);

		dup2(nothing, STDOUT_FILENO);
		dup2(nothing, STDERR_FILENO);
		execl(BUILD_DIR "/gpuproof", "gpuproof", "run", config, "-o", output, "--set",
		      limit, "--no-report", "--quiet", (char *)NULL);
		_exit(127);
	}
	free(config);
	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (clock_seconds() > end) {
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			return -1;
		}
		clock_sleep(1e-3);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The header and the cases; lost workers have lines of their own. */
static size_t count_lines(const char *path)
{
	FILE *file = fopen(path, "r");
	size_t lines = 0, size = 0;
	char *line = NULL;

	while (file && getline(&line, &size, file) > 0)
		lines += strncmp(line, "{\"lost\":", 8) != 0;
	if (file)
		fclose(file);
	free(line);
	return lines;
}

static void remove_run(const char *output)
{
	static const char *const names[] = { "result.json", "run.jsonl", "worker.log" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char *path = xasprintf("%s/%s", output, names[i]);

		unlink(path);
		free(path);
	}
	rmdir(output);
}

/* One run with `fault` ("segfault@17"; "": none). Release the result. */
static struct outcome run_with(const char *fault, const char *clock_word)
{
	struct outcome out = { 0 };
	char *output = in_folder("run"), *path = xasprintf("%s/result.json", output);
	char *journal = xasprintf("%s/run.jsonl", output);
	char *script = xasprintf("devices=2 calls=%s/calls clock=%s %s", folder, clock_word, fault);
	struct error err = ERROR_NONE;

	memset(calls, 0, sizeof(*calls));
	setenv("GPUPROOF_FAKE", script, 1);
	/* Only a hang shall reach it; elsewhere a busy machine must not. */
	out.code = run_program(output, strncmp(fault, "hang", 4) == 0 ? "run.case_limit=3s"
								      : "run.case_limit=60s");
	out.has_result = result_read(&out.result, path, &err) == STATUS_OK;
	out.journal_lines = count_lines(journal);
	remove_run(output);
	runs++;
	free(output);
	free(path);
	free(journal);
	free(script);
	return out;
}

static void complain(const char *fault, const char *what, const char *detail)
{
	failures++;
	printf("FAILED: %s, %s (%s): %s %s\n", sweeping, fault, calls->failed_call, what, detail);
}

static bool is_harmless(const char *operation)
{
	if (strncmp(operation, "unheeded:", 9) == 0)
		return true;
	for (size_t i = 0; harmless[i]; i++)
		if (strcmp(harmless[i], operation) == 0)
			return true;
	return false;
}

/* While the devices are listed nothing has begun: the run says so and leaves no result. */
static void judge_probe(const struct outcome *out, const char *fault)
{
	if (strcmp(calls->failed_call, "open") != 0 &&
	    strcmp(calls->failed_call, "device_info") != 0)
		complain(fault, "there is no result", "");
	if (out->code != 3)
		complain(fault, "exit code", out->code == 0 ? "0" : "other than 3");
}

/*
 * One device could not be described: all that is asked for of the others is there, and the run says
 * that it is not all.
 */
static void judge_lost(const struct outcome *out, const char *fault)
{
	const struct result *r = &out->result;

	if (strcmp(calls->failed_call, "device_info") != 0 || r->device_count != 1)
		complain(fault, "a device is gone", "");
	if (r->case_count != r->planned || out->journal_lines != r->case_count + 1)
		complain(fault, "the result is not complete", r->state);
	if (result_lost_devices(r) != 1 || !strstr(r->preflight[0].text, "fake:"))
		complain(fault, "the result does not say which device is missing", "");
	if (out->code != 4)
		complain(fault, "a run without a device passes", "");
}

/* A loss without a case is done again, and a case says so. */
static bool is_told(const struct result *r)
{
	for (size_t i = 0; i < r->case_count; i++)
		if (r->cases[i].lost_count && strstr(r->cases[i].notes, "A worker process died") &&
		    r->cases[i].lost[0].device_count)
			return true;
	return false;
}

static void judge_cases(const struct outcome *out, const struct result *sound, const char *fault)
{
	const struct result *r = &out->result;
	char others[1024] = "";
	size_t changed = 0;

	for (size_t i = 0; i < r->case_count; i++) {
		const struct case_result *now = &r->cases[i], *then = &sound->cases[i];

		if (strcmp(now->id, then->id) != 0)
			complain(fault, "another case:", now->id);
		if (now->status == then->status)
			continue;
		if (changed++)
			snprintf(others + strlen(others), sizeof(others) - strlen(others),
				 "; %.80s: %.120s", now->id, now->reason);
		if (now->status != CASE_ERROR)
			complain(fault, case_status_name(now->status), now->id);
		if (!now->reason[0])
			complain(fault, "no reason", now->id);
	}
	/*
	 * A permanent failure may take the next case with it, when it failed after the end of one.
	 */
	if (changed > (strncmp(fault, "error", 5) == 0 ? 2 : 1))
		complain(fault, "more cases than one were lost", others);
	if (changed == 0 && strncmp(fault, "segfault", 8) != 0 &&
	    !is_harmless(calls->failed_call) && !is_told(r))
		complain(fault, "nothing came of it", "");
	if (out->code != (changed || is_told(r) ? 4 : 0))
		complain(fault, "the exit code is wrong", "");
}

static void judge(const struct outcome *out, const struct result *sound, const char *fault)
{
	const struct result *r = &out->result;

	if (out->code < 0) {
		complain(fault, "gpuproof hung or was killed", "");
		return;
	}
	if (!out->has_result) {
		judge_probe(out, fault);
		return;
	}
	if (r->device_count != sound->device_count) {
		judge_lost(out, fault);
		return;
	}
	if (strcmp(r->state, "complete") != 0 || r->planned != sound->planned ||
	    r->case_count != sound->case_count)
		complain(fault, "the result is not complete", r->state);
	else
		judge_cases(out, sound, fault);
	if (out->journal_lines != sound->case_count + 1)
		complain(fault, "the journal has other cases", "");
}

/* The run without a fault, which the others are held against; returns its calls. */
static uint64_t run_soundly(struct outcome *sound, const char *clock_word)
{
	*sound = run_with("", clock_word);
	if (sound->code != 0 || !sound->has_result || calls->count < 100) {
		printf("FAILED: the run without a fault: code %d\n", sound->code);
		exit(1);
	}
	return calls->count;
}

static void sweep(const char *part, const char *deed, const char *clock_word, uint64_t first,
		  uint64_t stride, uint64_t last)
{
	struct outcome sound;
	unsigned earlier = runs, failed = failures;
	uint64_t count;

	sweeping = part;
	write_config(part);
	count = run_soundly(&sound, clock_word);
	for (uint64_t n = first; n <= count && n <= last; n += stride) {
		char *fault = xasprintf("%s@%llu", deed, (unsigned long long)n);
		struct outcome out = run_with(fault, clock_word);

		/* Sampling by the real clock stops when it likes: the last calls may not come. */
		if (calls->failed_call[0])
			judge(&out, &sound.result, fault);
		result_release(&out.result);
		free(fault);
	}
	printf("%s, %s, clock %s: %u runs of %llu calls, %u failures\n", part, deed, clock_word,
	       runs - earlier, (unsigned long long)count, failures - failed);
	result_release(&sound.result);
}

/* Workers that die while they open their devices, before any case: no case is lost, and neither the
 * result nor the exit code is silent about them. */
static void die_while_opening(void)
{
	unsigned told = 0;

	sweeping = "collective";
	write_config(sweeping);
	for (unsigned n = 3; n < 12; n++) {
		char *fault = xasprintf("segfault@%u", n);
		struct outcome out = run_with(fault, "scripted");

		if (out.has_result && is_told(&out.result)) {
			told++;
			if (out.code != 4)
				complain(fault, "the exit code is wrong", "");
		}
		result_release(&out.result);
		free(fault);
	}
	if (!told)
		complain("segfault while opening", "it was not reported", "");
}

static void sweep_as_told(int argc, char **argv)
{
	uint64_t first = strtoull(argv[4], NULL, 10), stride = strtoull(argv[5], NULL, 10);
	uint64_t last = argc > 6 ? strtoull(argv[6], NULL, 10) : UINT64_MAX;

	if (strcmp(argv[1], "parts") != 0)
		sweep(argv[1], argv[2], argv[3], first, stride, last);
	else
		for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
			sweep(parts[i], argv[2], argv[3], first, stride, last);
}

int main(int argc, char **argv)
{
	char *path;

	if (!mkdtemp(folder) && !mkdtemp(strcpy(folder, "/tmp/gpuproof_faults.XXXXXX")))
		return 1;
	/* Threads that spin for each other take the time of those who work. */
	setenv("OMP_NUM_THREADS", "1", 1);
	setenv("OMP_WAIT_POLICY", "passive", 1);
	setenv("GPUPROOF_BACKENDS", BUILD_DIR "/tests/backends", 1);
	map_calls();
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc >= 6) {
		sweep_as_told(argc, argv);
	} else {
		sweep("whole", "fail", "scripted", 3, 1, 3); /* a device cannot be described */
		sweep("whole", "fail", "scripted", 5, 997, UINT64_MAX);
		sweep("transfer", "fail", "scripted", 11, 47, 110); /* memory, when some is kept */
		sweep("whole", "segfault", "host", 1301, 1999, UINT64_MAX);
		sweep("parallel", "error", "scripted", 907, 1999, UINT64_MAX);
		die_while_opening();
	}
	for (size_t i = 0; i < 2; i++) {
		path = in_folder(i ? "calls" : "run.ini");
		unlink(path);
		free(path);
	}
	rmdir(folder);
	return failures ? 1 : 0;
}
