/* One device computes the whole step: what every split is compared with. */
#include "suites/parallel/data_parallel.h"

static const char *single_refusal(const struct setup *setup)
{
	return setup->ranks == 1 ? NULL : "one device only";
}

static void single_share(const struct setup *setup, int rank, struct share *share,
			 uint64_t *step_rows)
{
	(void)rank;
	*share = (struct share){ .last = setup->layers, .rows = setup->batch, .parts = 1 };
	*step_rows = setup->batch;
}

static enum status single_enqueue(struct trainer *t, unsigned parts, struct error *err)
{
	struct stream *stream = t->team->streams[STREAM_COMPUTE];
	uint64_t rows = t->setup->batch;

	if (parts & STEP_COMPUTE &&
	    (network_forward_all(&t->network, stream, 0, rows, err) != STATUS_OK ||
	     network_loss(&t->network, stream, 0, rows, trainer_gradient_scale(t, rows), err) !=
		     STATUS_OK ||
	     network_backward_all(&t->network, stream, 0, rows, NULL, NULL, false, err) !=
		     STATUS_OK))
		return err->status;
	return parts & STEP_UPDATE ? network_update(&t->network, stream, err) : STATUS_OK;
}

static unsigned single_commands(const struct trainer *t)
{
	return network_commands(&t->network, 1);
}

const struct mode mode_single = {
	.name = "single",
	.summary = "one device computes the whole step",
	.replicated = true,
	.refusal = single_refusal,
	.share = single_share,
	.enqueue = single_enqueue,
	.commands = single_commands,
	.wire_bytes = mode_nothing,
	.bubble = mode_nothing,
};
