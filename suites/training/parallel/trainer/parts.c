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
};

static enum status parts_start_collective(void *state, enum part_collective collective, void *whole,
					  void *share, uint64_t count, struct error *err)
{
	static const enum span_kind spans[] = { [PARTS_SUM] = SPAN_ALL_REDUCE,
						[PARTS_GATHER] = SPAN_ALL_GATHER,
						[PARTS_SCATTER] = SPAN_REDUCE_SCATTER };
	struct parts *p = state;
	bool apart = p->stream != STREAM_COMPUTE;
	uint64_t each = count / (uint64_t)p->trainer->network.partition.parts;
	const struct step_collective c = { .kind = spans[collective],
					   .stream = p->stream,
					   .communicator = p->communicator,
					   .to = collective == PARTS_SCATTER ? share : whole,
					   .from = collective == PARTS_GATHER ? share : whole,
					   .count = collective == PARTS_SUM ? count : each,
					   .reduction = REDUCE_SUM,
					   .ready = apart ? p->ready : NULL,
					   .done = apart ? p->done : NULL };

	return trainer_does(p->trainer, STEP_COMMUNICATE) ? timeline_collective(p->trainer, &c, err)
							  : err->status;
}

static enum status wait_done(void *state, struct error *err)
{
	struct parts *p = state;

	if (!trainer_does(p->trainer, STEP_COMMUNICATE) || p->stream == STREAM_COMPUTE)
		return err->status;
	return trainer_wait(p->trainer, p->done, err);
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
	if (team_open_events(t->team, &p->ready, 1, err) == STATUS_OK)
		team_open_events(t->team, &p->done, 1, err);
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
