#include "cli/run/run_events.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/input.h"
#include "base/memory.h"
#include "cli/input/population_file.h"
#include "measure/processes/signals.h"
#include "result/status/run_status.h"
#include "run/journal.h"

/* Maximum pending output for a reader; beyond it the stream ends, and the run continues. */
#define WAITING_MOST ((size_t)4 << 20)
/* Time that the end of the stream waits for a slow reader. */
#define END_SECONDS 2.0

/* Writes as much as possible without blocking. A full disk or a closed pipe ends the stream. */
static void run_events_flush(struct run_events *e)
{
	size_t done = 0;

	if (e->fd < 0 && !e->failure.message[0]) {
		/* A FIFO may have a reader by now. */
		e->fd = open(e->path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
		if (e->fd < 0 && errno != ENXIO)
			error_errno(&e->failure, "%s", e->path);
	}
	while (e->fd >= 0 && done < e->lines.length && !e->failure.message[0]) {
		ssize_t written = write(e->fd, e->lines.data + done, e->lines.length - done);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0 && errno == EAGAIN)
			break;
		if (written < 0)
			error_errno(&e->failure, "%s", e->path);
		else
			done += (size_t)written;
	}
	if (done) {
		memmove(e->lines.data, e->lines.data + done, e->lines.length - done);
		e->lines.length -= done;
	}
	if (e->lines.length > WAITING_MOST && !e->failure.message[0])
		error_set(&e->failure, STATUS_IO,
			  "%s: no process reads the events; %zu MiB are waiting", e->path,
			  WAITING_MOST >> 20);
	if (e->failure.message[0])
		text_release(&e->lines);
}

/* Starts the stream; further launches of the run continue it. */
static void run_events_begin(void *context, const struct result *header)
{
	struct run_events *e = context;

	e->stream->result = header;
	if (!e->begun)
		ocp_begin(e->stream, header);
	e->begun = true;
	run_events_flush(e);
}

/* The first metric: metrics derived from several cases may be added at the end of the run. */
static uint64_t run_events_mark_of(const struct case_result *c)
{
	uint64_t hash = text_hash(TEXT_HASH_START, c->id, strlen(c->id));

	hash = text_hash(hash, &c->status, sizeof(c->status));
	if (c->metric_count)
		hash = text_hash(hash, &c->metrics[0].value, sizeof(c->metrics[0].value));
	return hash;
}

static void run_events_settle(void *context, const struct case_result *c)
{
	struct run_events *e = context;

	ARRAY_GROW(e->told, e->told_count, e->told_capacity);
	e->told[e->told_count++] = run_events_mark_of(c);
	ocp_case(e->stream, c);
	run_events_flush(e);
}

static int run_events_by_mark(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

void run_events_rest(struct run_events *e, const struct result *result)
{
	size_t count = e->told_count;

	if (!e->stream)
		return;
	run_events_begin(e, result);
	if (count)
		qsort(e->told, count, sizeof(*e->told), run_events_by_mark);
	for (size_t i = 0; i < result->case_count; i++) {
		uint64_t mark = run_events_mark_of(&result->cases[i]);

		if (!count || !bsearch(&mark, e->told, count, sizeof(mark), run_events_by_mark)) {
			ocp_case(e->stream, &result->cases[i]);
			run_events_flush(e);
		}
	}
}

/* Files that a run writes into its folder. */
static bool run_events_owns_file(const char *name)
{
	static const char *const names[] = { JOURNAL_NAME,   STATUS_NAME,       "result.json",
					     "summary.json", "worker.log",      "agents.log",
					     "report.html",  "acceptance.html", "fleet.html",
					     "compare.html", "report.css",      "groups.jsonl",
					     "confirm.json", "confirm.txt" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/*
 * The subfolders of a run contain only its own files, and some do not exist yet. In the folder
 * itself, other file names are free. Follows a symbolic link.
 */
static enum status run_events_refuse_inside(const char *path, const char *directory,
					    struct error *err)
{
	const char *slash = strrchr(path, '/');
	char *parent = slash ? xstrndup(path, (size_t)(slash - path + 1)) : xstrdup(".");
	char *folder = realpath(parent, NULL), *own = realpath(directory, NULL);
	char *real = realpath(path, NULL);
	size_t length = own ? strlen(own) : 0;
	bool refused;

	if (!real && folder)
		real = xasprintf("%s/%s", folder, slash ? slash + 1 : path);
	refused = real && own && strncmp(real, own, length) == 0 && real[length] == '/' &&
		  (strchr(real + length + 1, '/') || run_events_owns_file(real + length + 1));
	free(parent);
	free(folder);
	free(real);
	free(own);
	if (!refused)
		return STATUS_OK;
	return error_set(err, STATUS_USAGE,
			 "--events %.300s: the run writes its own files there; name another file",
			 path);
}

/* File of --events; nftw() has no context argument. */
static struct stat events_file;

/* True for a hard link to the events' file. */
static int run_events_is_own_file(const char *path, const struct stat *about, int type,
				  struct FTW *at)
{
	return type == FTW_F && (at->level > 1 || run_events_owns_file(path + at->base)) &&
	       about->st_dev == events_file.st_dev && about->st_ino == events_file.st_ino;
}

enum status run_events_open(struct run_events *e, const char *path, const char *directory,
			    struct error *err)
{
	*e = (struct run_events){ .path = path, .fd = -1 };
	if (!path)
		return STATUS_OK;
	input_note(population_file(NULL));
	if (input_refuse_output(path, err) != STATUS_OK ||
	    run_events_refuse_inside(path, directory, err) != STATUS_OK)
		return err->status;
	if (stat(path, &events_file) == 0 &&
	    nftw(directory, run_events_is_own_file, 16, FTW_PHYS) == 1)
		return error_set(err, STATUS_USAGE,
				 "the output '%.300s' is also a file of the run in '%.300s'; name "
				 "another file",
				 path, directory);
	e->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_CLOEXEC, 0666);
	/* A FIFO without a reader: it may come during the run. */
	if (e->fd < 0 && errno != ENXIO)
		return error_errno(err, "%s", path);
	e->stream = xcalloc(1, sizeof(*e->stream));
	*e->stream = (struct ocp_stream){ .out = &e->lines, .live = true };
	/* `e` must not move until run_events_close(). */
	e->hooks = (struct conduct_events){ .context = e,
					    .began = run_events_begin,
					    .settled = run_events_settle };
	return STATUS_OK;
}

void run_events_finish(struct run_events *e, const struct result *result)
{
	double until;
	size_t left;

	if (!e->stream)
		return;
	if (!e->begun) {
		run_events_begin(e, result);
		for (size_t i = 0; i < result->case_count; i++)
			run_events_settle(e, &result->cases[i]);
	}
	ocp_end(e->stream, result);
	run_events_flush(e);
	/* Waits for a slow reader; not for one that stopped or never came, nor after a signal. */
	until = clock_seconds() + END_SECONDS;
	while ((left = e->lines.length) > 0) {
		struct pollfd it = { .fd = e->fd, .events = POLLOUT };

		if (e->fd < 0 || signals_stops() || clock_seconds() > until) {
			error_set(&e->failure, STATUS_IO, "%s: no process reads the events",
				  e->path);
			text_release(&e->lines);
			return;
		}
		poll(&it, 1, 100);
		run_events_flush(e);
		if (e->lines.length < left)
			until = clock_seconds() + END_SECONDS;
	}
}

enum status run_events_close(struct run_events *e, struct error *err)
{
	if (e->fd >= 0 && close(e->fd) != 0 && !e->failure.message[0])
		error_errno(&e->failure, "%s", e->path);
	e->fd = -1;
	free(e->stream);
	free(e->told);
	e->stream = NULL;
	e->told = NULL;
	text_release(&e->lines);
	if (e->failure.message[0])
		return error_set(err, e->failure.status, "the events are incomplete: %s",
				 e->failure.message);
	return STATUS_OK;
}
