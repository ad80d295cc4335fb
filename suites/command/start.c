#include "suites/command/start.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash/sha256.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "measure/processes/child.h"
#include "measure/processes/program.h"
#include "measure/run.h"
#include "result/json/json_find.h"
#include "suites/command/patterns.h"

enum status command_start_check_json(const char *text, struct error *err)
{
	return json_find_check(text, err);
}

enum source command_start_source(const struct section *section)
{
	if (*section_text(section, "regex"))
		return SOURCE_REGEX;
	return *section_text(section, "json") ? SOURCE_JSON : SOURCE_TIME;
}

const char *command_start_unit(const struct section *section, double *factor)
{
	struct error err = ERROR_NONE;
	const char *unit = "s";

	*factor = 1;
	/* The wall time is in seconds, whatever unit was requested. */
	if (command_start_source(section) != SOURCE_TIME)
		units_parse_unit(section_text(section, "unit"), &unit, factor, &err);
	return unit;
}

/* Verification of one start: its exit code and its output. */
/* File systems store time in ticks of up to 10 ms, some in coarser ones. */
#define FILE_TICK_SECONDS 0.02

/* A regular file written by this start; one of an earlier start does not count. */
static enum status command_start_expect_hash_output(const struct starts *s, struct timespec began,
						    char digest[SHA256_DIGITS + 1],
						    struct error *err)
{
	char *path = *s->output == '/' ? xstrdup(s->output)
				       : xasprintf("%s/%s", s->directory, s->output);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat about;
	struct sha256 hash;
	char piece[65536];
	ssize_t got;

	if (fd < 0 || fstat(fd, &about) != 0)
		error_errno(err, "output %.200s", path);
	else if (!S_ISREG(about.st_mode))
		error_set(err, STATUS_MISMATCH, "output %.200s is not a regular file", path);
	else if (((double)(began.tv_sec - about.st_mtim.tv_sec) +
		  1e-9 * (double)(began.tv_nsec - about.st_mtim.tv_nsec)) > FILE_TICK_SECONDS)
		error_set(err, STATUS_MISMATCH,
			  "the program did not write output %.200s in this start", path);
	else {
		sha256_begin(&hash);
		while ((got = read(fd, piece, sizeof(piece))) > 0)
			sha256_add(&hash, piece, (size_t)got);
		sha256_end(&hash, digest);
		if (got < 0)
			error_errno(err, "output");
	}
	if (fd >= 0)
		close(fd);
	free(path);
	return err->status;
}

static enum status command_start_expect_sha256(const struct starts *s,
					       const struct program_end *end, struct timespec began,
					       struct error *err)
{
	const char *wanted = section_text(s->run->c->section, "sha256");
	char digest[SHA256_DIGITS + 1] = "";
	struct sha256 hash;

	if (!*wanted)
		return STATUS_OK;
	if (*s->output) {
		if (command_start_expect_hash_output(s, began, digest, err) != STATUS_OK)
			return err->status;
	} else if (end->output.bytes > end->output.kept.length) {
		return error_set(err, STATUS_MISMATCH,
				 "standard output is too long to compute its SHA-256");
	} else {
		sha256_begin(&hash);
		sha256_add(&hash, end->output.kept.data, end->output.kept.length);
		sha256_end(&hash, digest);
	}
	if (strcmp(digest, wanted) != 0)
		return error_set(err, STATUS_MISMATCH, "the SHA-256 of %.200s is %s; expected %s",
				 *s->output ? s->output : "standard output", digest, wanted);
	return STATUS_OK;
}

/*
 * Verifies a start that began at `began` against the expectations of its section. STATUS_MISMATCH:
 * another exit code or output; STATUS_IO: killed by a signal or a timeout.
 */
static enum status command_start_expect_end(const struct starts *s, const struct program_end *end,
					    struct timespec began, struct error *err)
{
	const char *text = end->output.kept.data ? end->output.kept.data : "";
	int64_t wanted = section_integer(s->run->c->section, "exit_code");
	char how[96], limit[32];

	if (end->timed_out)
		return error_set(err, STATUS_IO,
				 "killed with its child processes after timeout = %s",
				 units_duration(s->program.timeout_seconds, limit, sizeof(limit)));
	if (WIFSIGNALED(end->wait_status))
		return error_set(err, STATUS_IO, "%s",
				 child_ending(end->wait_status, how, sizeof(how)));
	if (WEXITSTATUS(end->wait_status) != wanted)
		return error_set(err, STATUS_MISMATCH, "%s; expected %lld",
				 child_ending(end->wait_status, how, sizeof(how)),
				 (long long)wanted);
	if (*s->expect && !pattern_matches(s->expect, text))
		return error_set(err, STATUS_MISMATCH,
				 "standard output does not match expect "
				 "= %.200s",
				 s->expect);
	return command_start_expect_sha256(s, end, began, err);
}

/* Stores the output of a failed start next to the result. */
#define FOLDER "outputs"
/* Bytes kept from the start and from the end of a stream. */
#define PART_BYTES ((size_t)512 << 10)
#define LAST_WORDS 200

/* "outputs/command_1MiB_cuda_0.stdout", from a case's id. */
static char *command_start_keep_name_of(const char *id, const char *stream)
{
	char *name = xasprintf("%s/%.200s.%s", FOLDER, id, stream);

	for (char *p = name + strlen(FOLDER) + 1; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("._-", *p))
			*p = '_';
	return name;
}

/* False: the stream is empty, or cannot be stored. */
static bool command_start_keep_stream(const char *folder, const char *name,
				      const struct program_stream *stream)
{
	size_t kept = stream->kept.length, first = kept < 2 * PART_BYTES ? kept : PART_BYTES;
	char *path = xasprintf("%s/%s", folder, name);
	int fd =
		kept ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666) : -1;
	struct text text = TEXT_EMPTY;
	bool stored;

	text_add_bytes(&text, stream->kept.data, first);
	if (first < kept || kept < stream->bytes)
		text_addf(&text,
			  "\n[%zu bytes of output; this file has the first %zu and the last %zu of "
			  "the %zu that gpuproof kept]\n",
			  stream->bytes, first, kept > first ? PART_BYTES : 0, kept);
	if (first < kept)
		text_add_bytes(&text, stream->kept.data + kept - PART_BYTES, PART_BYTES);
	stored = fd >= 0 && file_write_all(fd, text.data, text.length);
	if (fd >= 0)
		close(fd);
	text_release(&text);
	free(path);
	return stored;
}

/*
 * Appends the last words of a start to the reason in `err`, and the names of the files in the run's
 * folder that contain its two streams, at most 1 MiB each.
 */
static void command_start_keep_output(const struct run *run, const struct program_end *end,
				      struct error *err)
{
	char *output = command_start_keep_name_of(run->c->id, "stdout"),
	     *errors = command_start_keep_name_of(run->c->id, "stderr");
	char *folder = run->folder ? xasprintf("%s/%s", run->folder, FOLDER) : NULL;
	const struct text *last = end->errors.kept.length ? &end->errors.kept : &end->output.kept;
	size_t start, stop = last->length;
	struct text more = TEXT_EMPTY;
	char *words;

	while (stop && isspace((unsigned char)last->data[stop - 1]))
		stop--;
	for (start = stop; start && last->data[start - 1] != '\n' && stop - start < LAST_WORDS;)
		start--;
	words = text_trimmed(last->data ? last->data + start : "", stop - start);
	for (char *p = words; *p; p++)
		if ((unsigned char)*p < ' ')
			*p = ' ';
	if (*words)
		text_addf(&more, "; last output: %s", words);
	if (folder && (end->output.kept.length || end->errors.kept.length))
		mkdir(folder, 0777);
	if (folder && command_start_keep_stream(run->folder, output, &end->output))
		text_addf(&more, "; %s", output);
	if (folder && command_start_keep_stream(run->folder, errors, &end->errors))
		text_addf(&more, "; %s", errors);
	if (more.data) {
		struct error longer = ERROR_NONE;

		error_set(&longer, err->status, "%.700s%s", err->message, more.data);
		*err = longer;
	}
	text_release(&more);
	free(words);
	free(folder);
	free(output);
	free(errors);
}

/* Bytes kept of each stream; more is not a benchmark's report. */
#define MOST_OUTPUT ((size_t)4 << 20)
#define MOST_FIGURES 10000

/* The texts were checked, so there is no error. */
static void command_start_split_filled(const struct plan_case *c, const char *key,
				       const struct device_info *device, struct words *out)
{
	struct error err = ERROR_NONE;

	command_patterns_words_split(section_text(c->section, key), out, &err);
	for (size_t i = 0; i < out->count; i++) {
		char *word = command_patterns_placeholders_fill(out->items[i], c, device,
								ESCAPE_NOTHING);

		free(out->items[i]);
		out->items[i] = word;
	}
}

void command_start_words(const struct plan_case *c, const struct device_info *device,
			 struct words *out)
{
	command_start_split_filled(c, "command", device, out);
}

/* Sets "NAME=value" in the environment, replacing an existing value. Takes ownership. */
static void command_start_set_variable(struct words *environment, char *assignment)
{
	size_t length = strcspn(assignment, "=") + 1;

	for (size_t i = 0; i < environment->count; i++)
		if (strncmp(environment->items[i], assignment, length) == 0) {
			free(environment->items[i]);
			environment->items[i] = assignment;
			return;
		}
	command_patterns_words_add(environment, assignment);
}

/* Makes the case's GPU the only one that CUDA shows the program. */
static void command_start_show_device(struct words *environment, const struct plan_case *c,
				      const struct device_info *device)
{
	const char *by = section_text(c->section, "cuda_visible_devices");
	char *index;
	const char *list;

	if (device_is_host(device) || strcmp(by, "inherit") == 0)
		return;
	/*
	 * The unmodified entry at `index` of CUDA_VISIBLE_DEVICES, which CUDA numbered; the caller
	 * frees it.
	 */
	list = getenv("CUDA_VISIBLE_DEVICES");
	for (int i = 0; list && *list && i < device->index; i++) {
		list = strchr(list, ',');
		list = list ? list + 1 : NULL;
	}
	index = list && *list ? xstrndup(list, strcspn(list, ",")) : xasprintf("%d", device->index);
	command_start_set_variable(environment,
				   xasprintf("CUDA_VISIBLE_DEVICES=%s",
					     strcmp(by, "uuid") == 0 && *device->uuid ? device->uuid
										      : index));
	free(index);
}

static char *command_start_fill_key(const struct plan_case *c, const char *key,
				    const struct device_info *device, enum escape escape)
{
	return command_patterns_placeholders_fill(section_text(c->section, key), c, device, escape);
}

enum status command_start_open(struct starts *s, struct run *run, struct error *err)
{
	const struct plan_case *c = run->c;
	const struct device_info *device = &run->devices[0]->info;
	struct words own;

	*s = (struct starts){ .run = run, .source = command_start_source(c->section) };
	command_start_words(c, device, &s->arguments);
	for (char **variable = environ; *variable; variable++)
		command_patterns_words_add(&s->environment, xstrdup(*variable));
	command_start_show_device(&s->environment, c, device);
	command_start_split_filled(c, "environment", device, &own);
	for (size_t i = 0; i < own.count; i++)
		command_start_set_variable(&s->environment, xstrdup(own.items[i]));
	command_patterns_words_release(&own);
	s->directory = command_start_fill_key(c, "directory", device, ESCAPE_NOTHING);
	s->output = command_start_fill_key(c, "output", device, ESCAPE_NOTHING);
	s->expect = command_start_fill_key(c, "expect", device, ESCAPE_REGEX);
	s->pattern = s->source == SOURCE_JSON
			     ? command_start_fill_key(c, "json", device, ESCAPE_NOTHING)
			     : command_start_fill_key(c, "regex", device, ESCAPE_REGEX);
	s->all = strcmp(section_text(c->section, "matches"), "all") == 0;
	command_start_unit(c->section, &s->factor);
	s->program = (struct program){ .arguments = s->arguments.items,
				       .environment = s->environment.items,
				       .directory = s->directory,
				       .timeout_seconds = section_real(c->section, "timeout"),
				       .stop = run->sampler.stop,
				       .most_output = MOST_OUTPUT };
	return program_guard_open(&s->guard, err);
}

void command_start_close(struct starts *s)
{
	program_guard_close(s->guard);
	command_patterns_words_release(&s->arguments);
	command_patterns_words_release(&s->environment);
	free(s->directory);
	free(s->output);
	free(s->expect);
	free(s->pattern);
}

/* Extracts the values from its output, in the program's unit. */
static enum status command_start_find_figures(const struct starts *s, const struct program_end *end,
					      double **figures, size_t *count, struct error *err)
{
	const char *text = end->output.kept.data ? end->output.kept.data : "";
	const char *key = s->source == SOURCE_JSON ? "json" : "regex";

	*figures = NULL;
	*count = 0;
	if (end->output.bytes > MOST_OUTPUT)
		return error_set(err, STATUS_USAGE,
				 "standard output has %zu bytes; gpuproof searches at most %zu",
				 end->output.bytes, MOST_OUTPUT);
	if (s->source == SOURCE_JSON)
		json_find_numbers(text, end->output.kept.length, s->pattern, figures, count, err);
	else
		pattern_numbers(s->pattern, text, figures, count, err);
	if (err->status != STATUS_OK)
		return error_prefix(err, "standard output, %s", key);
	if (*count == 0)
		return error_set(err, STATUS_USAGE,
				 "%s = %.200s finds no value in standard "
				 "output",
				 key, s->pattern);
	if (*count > 1 && !s->all)
		return error_set(err, STATUS_USAGE,
				 "%s = %.200s finds %zu values in standard output; set matches "
				 "= all to take each as a sample",
				 key, s->pattern, *count);
	return *count <= MOST_FIGURES
		       ? STATUS_OK
		       : error_set(err, STATUS_USAGE,
				   "standard output contains %zu values; gpuproof reads at most %d",
				   *count, MOST_FIGURES);
}

static enum status command_start_report_figures(const struct starts *s,
						const struct program_end *end, struct reported *out,
						struct error *err)
{
	double *figures = NULL;
	size_t count = 0;

	if (s->source == SOURCE_TIME) {
		reported_add(out, end->seconds);
		return STATUS_OK;
	}
	command_start_find_figures(s, end, &figures, &count, err);
	for (size_t i = 0; i < count && err->status == STATUS_OK; i++) {
		if (figures[i] < 0)
			error_set(err, STATUS_USAGE, "the program reports the negative value %g",
				  figures[i]);
		reported_add(out, figures[i] * s->factor);
	}
	free(figures);
	return err->status;
}

enum status command_start_report(void *starts, struct reported *out, struct error *err)
{
	struct starts *s = starts;
	struct program_end end;
	struct timespec began;
	enum status status;

	clock_gettime(CLOCK_REALTIME, &began);
	status = program_run(&s->program, s->guard, &end, err);
	/* A text ends at its first NUL. */
	for (size_t i = 0; i < end.output.kept.length; i++)
		if (!end.output.kept.data[i])
			end.output.kept.data[i] = '?';
	if (status == STATUS_OK)
		status = command_start_expect_end(s, &end, began, err);
	if (status == STATUS_OK)
		status = command_start_report_figures(s, &end, out, err);
	s->count += status == STATUS_OK;
	if (status != STATUS_OK && status != STATUS_INTERRUPTED) {
		error_prefix(err, "start %zu of '%.100s'", s->count + 1, s->arguments.items[0]);
		command_start_keep_output(s->run, &end, err);
	}
	program_end_release(&end);
	return status;
}

char *command_start_verified(const struct starts *s)
{
	const struct section *section = s->run->c->section;
	struct text text = TEXT_EMPTY;

	/* Texts of the section may contain what an anonymised result must not show. */
	text_addf(&text, "exit code %lld", (long long)section_integer(section, "exit_code"));
	if (*s->expect)
		text_add(&text, ", output as expected");
	if (*section_text(section, "sha256"))
		text_addf(&text, ", SHA-256 of %s",
			  *s->output ? "the output file" : "standard output");
	text_addf(&text, ", of %zu start%s", s->count, text_plural(s->count));
	return text_detach(&text);
}
