#include "cli/run/run_events.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"

/* Writes the lines so far; a disk that is full ends the stream, and not the run. */
static void flush(struct run_events *e)
{
	const char *at = e->lines.data;
	size_t left = e->lines.length;

	while (left && !e->failure.message[0]) {
		ssize_t written = write(e->fd, at, left);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0) {
			error_errno(&e->failure, "%s", e->path);
			break;
		}
		at += written;
		left -= (size_t)written;
	}
	text_release(&e->lines);
}

/* Begins the stream; further launches of the run continue it. */
static void begin(void *context, const struct result *header)
{
	struct run_events *e = context;

	e->stream->result = header;
	if (!e->begun)
		ocp_begin(e->stream, header);
	e->begun = true;
	flush(e);
}

/* The first figure: others may follow from cases of the whole run at its end. */
static uint64_t mark_of(const struct case_result *c)
{
	uint64_t hash = text_hash(TEXT_HASH_START, c->id, strlen(c->id));

	hash = text_hash(hash, &c->status, sizeof(c->status));
	if (c->metric_count)
		hash = text_hash(hash, &c->metrics[0].value, sizeof(c->metrics[0].value));
	return hash;
}

static void settle(void *context, const struct case_result *c)
{
	struct run_events *e = context;

	ARRAY_GROW(e->told, e->told_count, e->told_capacity);
	e->told[e->told_count++] = mark_of(c);
	ocp_case(e->stream, c);
	flush(e);
}

static int by_mark(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

void run_events_rest(struct run_events *e, const struct result *result)
{
	size_t count = e->told_count;

	if (!e->stream)
		return;
	begin(e, result);
	if (count)
		qsort(e->told, count, sizeof(*e->told), by_mark);
	for (size_t i = 0; i < result->case_count; i++) {
		uint64_t mark = mark_of(&result->cases[i]);

		if (!count || !bsearch(&mark, e->told, count, sizeof(mark), by_mark)) {
			ocp_case(e->stream, &result->cases[i]);
			flush(e);
		}
	}
}

enum status run_events_open(struct run_events *e, const char *path, struct error *err)
{
	*e = (struct run_events){ .path = path, .fd = -1 };
	if (!path)
		return STATUS_OK;
	e->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (e->fd < 0)
		return error_errno(err, "%s", path);
	e->stream = xcalloc(1, sizeof(*e->stream));
	*e->stream = (struct ocp_stream){ .out = &e->lines, .live = true };
	/* `e` stays where it is until run_events_close(). */
	e->hooks = (struct conduct_events){ .context = e, .began = begin, .settled = settle };
	return STATUS_OK;
}

void run_events_finish(struct run_events *e, const struct result *result)
{
	if (!e->stream)
		return;
	if (!e->begun) {
		begin(e, result);
		for (size_t i = 0; i < result->case_count; i++)
			settle(e, &result->cases[i]);
	}
	ocp_end(e->stream, result);
	flush(e);
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
		return error_set(err, e->failure.status, "%s: the events end early",
				 e->failure.message);
	return STATUS_OK;
}
