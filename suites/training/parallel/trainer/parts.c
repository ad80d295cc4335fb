#include "suites/training/parallel/trainer/parts.h"

#include <stdlib.h>

#include "base/memory.h"
#include "kernels/training/training.h"
#include "suites/training/models/model.h"
#include "suites/training/parallel/trainer/timeline.h"

struct parts {
	struct part_links links;
	struct trainer *trainer;
	struct communicator *communicator;
	enum team_stream stream;
	struct event *ready, *done;
	bool communicates; /* in this step */
};

static enum status parts_run_collective(struct parts *p, enum part_collective collective,
					void *whole, void *share, uint64_t count, struct error *err)
{
	static const enum span_kind spans[] = { [PARTS_SUM] = SPAN_ALL_REDUCE,
						[PARTS_GATHER] = SPAN_ALL_GATHER,
						[PARTS_SCATTER] = SPAN_REDUCE_SCATTER };
	struct stream *stream = p->trainer->team->streams[p->stream];
	enum precision precision = setup_storage(p->trainer->setup);
	uint64_t each = count / (uint64_t)p->trainer->network.partition.parts;

	timeline_begin(p->trainer, p->stream, spans[collective], 0);
	if (collective == PARTS_SUM)
		backend_all_reduce(p->communicator, stream, whole, whole, count, precision,
				   REDUCE_SUM, err);
	else if (collective == PARTS_GATHER)
		backend_all_gather(p->communicator, stream, whole, share, each, precision, err);
	else
		backend_reduce_scatter(p->communicator, stream, share, whole, each, precision,
				       REDUCE_SUM, err);
	timeline_end(p->trainer, p->stream);
	return err->status;
}

static enum status parts_start_collective(void *state, enum part_collective collective, void *whole,
					  void *share, uint64_t count, struct error *err)
{
	struct parts *p = state;
	struct stream *stream = p->trainer->team->streams[p->stream];

	if (!p->communicates || err->status != STATUS_OK)
		return err->status;
	if (p->stream == STREAM_COMPUTE)
		return parts_run_collective(p, collective, whole, share, count, err);
	if (backend_event_record(p->ready, trainer_stream(p->trainer), err) != STATUS_OK ||
	    backend_stream_wait(stream, p->ready, err) != STATUS_OK ||
	    parts_run_collective(p, collective, whole, share, count, err) != STATUS_OK)
		return err->status;
	return backend_event_record(p->done, stream, err);
}

static enum status wait_done(void *state, struct error *err)
{
	struct parts *p = state;

	if (!p->communicates || p->stream == STREAM_COMPUTE || err->status != STATUS_OK)
		return err->status;
	return backend_stream_wait(trainer_stream(p->trainer), p->done, err);
}

enum status parts_open(struct trainer *t, struct communicator *communicator,
		       enum team_stream stream, struct error *err)
{
	struct parts *p = t->parts = xcalloc(1, sizeof(*p));

	*p = (struct parts){ .links = { p, parts_start_collective, wait_done },
			     .trainer = t,
			     .communicator = communicator,
			     .stream = stream };
	t->network.links = &p->links;
	if (backend_event_create(t->team->device, &p->ready, err) == STATUS_OK)
		backend_event_create(t->team->device, &p->done, err);
	return world_agree(t->team->world, err->status, err);
}

void parts_close(struct trainer *t)
{
	if (!t->parts)
		return;
	backend_event_destroy(t->parts->ready);
	backend_event_destroy(t->parts->done);
	free(t->parts);
	t->parts = NULL;
	t->network.links = NULL;
}

void parts_begin(struct trainer *t, unsigned parts)
{
	t->network.idle = !(parts & STEP_COMPUTE);
	if (t->parts)
		t->parts->communicates = parts & STEP_COMMUNICATE;
}

/*
 * A block has two sums in forward, one of which recomputation repeats, and two in backward. With
 * sequence parallelism, rows are gathered before each product and scattered after it, which sends
 * as much as a sum, and gathered once more for the gradients of the weights. The embedding's
 * outputs and the gradient of the head's input are sums, and the loss gathers a row's statistics.
 */
double parts_sent_bytes(const struct setup *setup, size_t layer, int parts)
{
	bool sequence = setup->mode->sequence, again = setup_recomputes_blocks(setup);
	double halves = 0, statistics = 0, t = parts;

	switch (setup_layer_kind(setup, layer)) {
	case LAYER_EMBEDDING:
		halves = 2;
		break;
	case LAYER_BLOCK:
		halves = sequence ? (again ? 13 : 10) : (again ? 10 : 8);
		break;
	case LAYER_HEAD:
		halves = sequence ? 3 : 2;
		statistics = sizeof(struct softmax_statistics);
		break;
	default:
		break;
	}
	return halves * (t - 1) / t * (double)setup->transformer.hidden *
		       (double)precision_bytes(setup->precision) +
	       (t - 1) * statistics;
}
