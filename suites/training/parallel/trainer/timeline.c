#include "suites/training/parallel/trainer/timeline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/*
 * Maximum commands in a device's queue while its gate is closed; a longer step starts immediately.
 */
#define GATED_COMMANDS 256
#define GATE_TIMEOUT_SECONDS 10.0
/* Maximum open spans of one stream. */
#define NESTED 4

struct recorded_span {
	struct event *start, *end;
	enum team_stream stream;
	enum span_kind kind;
	uint64_t index;
};

struct timeline {
	struct recorded_span *spans;
	size_t count, capacity;
	size_t open[STREAM_COUNT][NESTED], depth[STREAM_COUNT];
	struct event *base;
	struct error err; /* the first */
};

/* One span in seconds after the base event, as sent between ranks. */
struct timed_span {
	float start, end;
	uint16_t stream, kind;
	uint32_t index;
};

static const char *const kind_names[] = {
#define X(symbol, name, computes) name,
	SPAN_KINDS(X)
#undef X
};
static const bool kind_computes[] = {
#define X(symbol, name, computes) computes,
	SPAN_KINDS(X)
#undef X
};

/* A pipeline has a stream for each edge and direction; all other modes communicate on one. */
static const char *timeline_stream_name(const struct trainer *t, unsigned stream)
{
	static const char *const names[STREAM_COUNT] = {
		[STREAM_COMPUTE] = "compute",
		[STREAM_PREVIOUS] = "previous stage",
		[STREAM_NEXT] = "next stage",
		[STREAM_PREVIOUS_GRADIENTS] = "gradients to previous stage",
		[STREAM_DATA] = "other replicas",
		[STREAM_NEXT_GRADIENTS] = "gradients from next stage",
	};

	return stream == STREAM_PREVIOUS && !t->mode->microbatched ? "communication"
								   : names[stream];
}

void timeline_begin(struct trainer *t, enum team_stream stream, enum span_kind kind, uint64_t index)
{
	struct timeline *line = t->timeline;
	struct recorded_span span = { .stream = stream, .kind = kind, .index = index };

	if (!line || line->err.status != STATUS_OK)
		return;
	if (backend_event_create(t->team->device, &span.start, &line->err) == STATUS_OK &&
	    backend_event_create(t->team->device, &span.end, &line->err) == STATUS_OK)
		backend_event_record(span.start, t->team->streams[stream], &line->err);
	ARRAY_GROW(line->spans, line->count, line->capacity);
	if (line->depth[stream] < NESTED)
		line->open[stream][line->depth[stream]] = line->count;
	line->depth[stream]++;
	line->spans[line->count++] = span;
}

void timeline_end(struct trainer *t, enum team_stream stream)
{
	struct timeline *line = t->timeline;
	size_t depth;

	if (!line || line->err.status != STATUS_OK)
		return;
	depth = line->depth[stream] ? --line->depth[stream] : NESTED;
	if (depth >= NESTED)
		error_set(&line->err, STATUS_INTERNAL, "recorded operations of a stream overlap");
	else
		backend_event_record(line->spans[line->open[stream][depth]].end,
				     t->team->streams[stream], &line->err);
}

enum status timeline_collective(struct trainer *t, const struct step_collective *c,
				struct error *err)
{
	struct stream *stream = t->team->streams[c->stream];
	enum precision precision = setup_storage(t->setup);

	if (c->ready)
		rank_team_follow(trainer_stream(t), c->ready, stream, err);
	if (err->status != STATUS_OK)
		return err->status;
	timeline_begin(t, c->stream, c->kind, c->index);
	if (c->kind == SPAN_ALL_REDUCE)
		backend_all_reduce(c->communicator, stream, c->to, c->from, c->count, precision,
				   c->reduction, err);
	else if (c->kind == SPAN_ALL_GATHER)
		backend_all_gather(c->communicator, stream, c->to, c->from, c->count, precision,
				   err);
	else
		backend_reduce_scatter(c->communicator, stream, c->to, c->from, c->count, precision,
				       c->reduction, err);
	timeline_end(t, c->stream);
	return c->done && err->status == STATUS_OK ? backend_event_record(c->done, stream, err)
						   : err->status;
}

static enum status trainer_timeline_set_base(struct trainer *t, struct timeline *line,
					     struct error *err)
{
	struct stream *compute = trainer_stream(t);

	if (trainer_align(t, err) != STATUS_OK)
		return err->status;
	if (backend_event_record(line->base, compute, err) != STATUS_OK)
		return err->status;
	/* A stream that waits for nothing in this step would start before the others. */
	for (int i = STREAM_COMPUTE + 1; i < STREAM_COUNT; i++)
		if (backend_stream_wait(t->team->streams[i], line->base, err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

static enum status timeline_enqueue_step(struct trainer *t, struct timeline *line,
					 struct error *err)
{
	struct world *world = t->team->world;
	struct stream *compute = trainer_stream(t);
	bool gated = world_max(world, t->mode->commands(t)) <= GATED_COMMANDS;
	enum status status = STATUS_OK;

	if (gated)
		status = backend_gate_close(compute, GATE_TIMEOUT_SECONDS, err);
	if (status == STATUS_OK)
		status = trainer_timeline_set_base(t, line, err);
	t->timeline = line;
	if (status == STATUS_OK)
		status = trainer_enqueue(t, STEP_ALL, err);
	t->timeline = NULL;
	if (status == STATUS_OK && line->err.status != STATUS_OK)
		status = error_set(err, line->err.status, "%s", line->err.message);
	status = world_agree(world, status, err);
	if (gated)
		backend_gate_open(compute, err);
	if (status == STATUS_OK)
		status = rank_team_synchronize(t->team, err);
	return world_agree(world, status, err);
}

static enum status timeline_read_spans(const struct timeline *line, struct timed_span *out,
				       struct error *err)
{
	for (size_t i = 0; i < line->count; i++) {
		const struct recorded_span *r = &line->spans[i];
		double start, end;

		if (backend_event_elapsed(line->base, r->start, &start, err) != STATUS_OK ||
		    backend_event_elapsed(line->base, r->end, &end, err) != STATUS_OK)
			return err->status;
		out[i] = (struct timed_span){ (float)start, (float)end, (uint16_t)r->stream,
					      (uint16_t)r->kind, (uint32_t)r->index };
	}
	return STATUS_OK;
}

/* Rounded to nanoseconds: more digits are meaningless. */
static void timeline_add_span_end(struct timeline_row *row, double value)
{
	row->spans = xrealloc(row->spans, row->span_count + 1, sizeof(*row->spans));
	row->spans[row->span_count++] = round(value * 1e9) / 1e9;
}

/* The row of this rank, stream and operation; created if missing. */
static struct timeline_row *timeline_row_of(struct case_result *c, int rank, const char *stream,
					    const char *operation)
{
	struct timeline_row *row;

	for (size_t i = 0; i < c->timeline_count; i++) {
		row = &c->timeline[i];
		if (row->rank == rank && strcmp(row->stream, stream) == 0 &&
		    strcmp(row->operation, operation) == 0)
			return row;
	}
	c->timeline = xrealloc(c->timeline, c->timeline_count + 1, sizeof(*c->timeline));
	row = &c->timeline[c->timeline_count++];
	*row = (struct timeline_row){ .rank = rank,
				      .stream = xstrdup(stream),
				      .operation = xstrdup(operation) };
	return row;
}

/* Computation time of the compute stream, without the sums over ranks during it. */
static double timeline_computing_seconds(const struct timed_span *spans, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++) {
		double seconds = (double)(spans[i].end - spans[i].start);
		bool inside = false;

		if (spans[i].stream != STREAM_COMPUTE)
			continue;
		for (size_t k = 0; k < i && !kind_computes[spans[i].kind] && !inside; k++)
			inside = spans[k].stream == STREAM_COMPUTE &&
				 kind_computes[spans[k].kind] && spans[i].start >= spans[k].start &&
				 spans[i].end <= spans[k].end;
		sum += kind_computes[spans[i].kind] ? seconds : inside ? -seconds : 0;
	}
	return sum;
}

/* Sends every rank's spans to every rank, a few at a time. */
static void timeline_share_spans(struct run *run, struct trainer *t, const struct timed_span *mine,
				 size_t own, struct timeline_totals *totals)
{
	struct world *world = t->team->world;
	double first = INFINITY, last = 0;

	for (int rank = 0; rank < world->size; rank++) {
		const size_t most = WORLD_MAX_BYTES / sizeof(*mine);
		size_t count = own;
		struct timed_span *spans;

		world_broadcast(world, rank, &count, sizeof(count));
		spans = xcalloc(count + 1, sizeof(*spans));
		for (size_t at = 0; at < count; at += most) {
			size_t piece = count - at < most ? count - at : most;

			if (world->rank == rank)
				memcpy(spans + at, mine + at, piece * sizeof(*mine));
			world_broadcast(world, rank, spans + at, piece * sizeof(*mine));
		}
		for (size_t i = 0; i < count; i++) {
			struct timeline_row *row =
				timeline_row_of(run->result, rank,
						timeline_stream_name(t, spans[i].stream),
						kind_names[spans[i].kind]);

			timeline_add_span_end(row, spans[i].index);
			timeline_add_span_end(row, (double)spans[i].start);
			timeline_add_span_end(row, (double)spans[i].end);
		}
		totals->computing[rank] = timeline_computing_seconds(spans, count);
		for (size_t i = 0; i < count; i++) {
			first = fmin(first, (double)spans[i].start);
			last = fmax(last, (double)spans[i].end);
		}
		free(spans);
	}
	totals->step = last > first ? last - first : 0;
}

enum status timeline_record(struct run *run, struct trainer *t, struct timeline_totals *totals,
			    struct error *err)
{
	struct timeline line = { .err = ERROR_NONE };
	struct timed_span *spans = NULL;
	enum status status = backend_event_create(t->team->device, &line.base, err);

	status = world_agree(t->team->world, status, err);
	if (status == STATUS_OK)
		status = timeline_enqueue_step(t, &line, err);
	if (status == STATUS_OK) {
		spans = xcalloc(line.count + 1, sizeof(*spans));
		status = world_agree(t->team->world, timeline_read_spans(&line, spans, err), err);
	}
	if (status == STATUS_OK)
		timeline_share_spans(run, t, spans, line.count, totals);
	free(spans);
	for (size_t i = 0; i < line.count; i++) {
		backend_event_destroy(line.spans[i].start);
		backend_event_destroy(line.spans[i].end);
	}
	backend_event_destroy(line.base);
	free(line.spans);
	return status;
}
