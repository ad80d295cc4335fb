/*
 * Data x tensor x pipeline parallelism together: every replica of the model is a 1F1B pipeline, every stage of it is
 * shared by ranks that have parts of its layers, and the replicas add up their gradients.
 *
 * A stage may begin between the layers of a pair: then the parts of the activations between them cross the edge, each
 * to the rank with the same part. The sums over parts are on the compute stream, since all that follows needs them;
 * the gradients of the last micro-batch leave layer by layer while the layers before are computed.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "suites/parallel/grid.h"
#include "suites/parallel/pipeline.h"
#include "suites/parallel/timeline.h"

static struct stream *compute_stream(const struct trainer *t)
{
	return t->team->streams[STREAM_COMPUTE];
}

static enum cut cut_of(const struct trainer *t, size_t l)
{
	return setup_cut(t->setup, l, t->network.share.parts);
}

/* Adds up the parts' summands of rows x columns in place. */
static enum status add_parts(struct trainer *t, void *summands, uint64_t rows, uint64_t columns,
			     unsigned parts, struct error *err)
{
	if (!(parts & STEP_COMMUNICATE))
		return STATUS_OK;
	timeline_begin(t, STREAM_COMPUTE, SPAN_ALL_REDUCE, 0);
	backend_all_reduce(t->team->tensor, compute_stream(t), summands, summands, rows * columns,
			   setup_storage(t->setup), REDUCE_SUM, err);
	timeline_end(t, STREAM_COMPUTE);
	return err->status;
}

static enum status forward_layer(struct trainer *t, size_t l, uint64_t row, uint64_t rows,
				 unsigned parts, struct error *err)
{
	struct stream *stream = compute_stream(t);
	struct network *n = &t->network;
	bool computes = parts & STEP_COMPUTE;

	if (cut_of(t, l) != CUT_ROWS)
		return computes ? network_forward(n, stream, l, row, rows, err) : STATUS_OK;
	if (computes && network_product(n, stream, l, row, rows, err) != STATUS_OK)
		return err->status;
	if (add_parts(t, network_activation(n, l + 1, row), rows, n->local.layer[l].out, parts,
		      err) != STATUS_OK)
		return err->status;
	return computes ? network_activate(n, stream, l, row, rows, err) : STATUS_OK;
}

static enum status forward(struct trainer *t, uint64_t row, uint64_t rows, unsigned parts,
			   struct error *err)
{
	for (size_t l = t->network.share.first; l < t->network.share.last; l++)
		if (forward_layer(t, l, row, rows, parts, err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

static enum status backward_layer(struct trainer *t, size_t l, uint64_t row, uint64_t rows,
				  void *dy, void *dx, bool accumulate, unsigned parts,
				  struct error *err)
{
	struct network *n = &t->network;

	for (size_t again = segments_again(&n->segments, l); again < l; again++)
		if (forward_layer(t, again, row, rows, parts, err) != STATUS_OK)
			return err->status;
	if (parts & STEP_COMPUTE && network_backward(n, compute_stream(t), l, row, rows, dy, dx,
						     accumulate, err) != STATUS_OK)
		return err->status;
	return dx && cut_of(t, l) == CUT_COLUMNS
		       ? add_parts(t, dx, rows, n->local.layer[l].in, parts, err)
		       : STATUS_OK;
}

/* The layer's gradients are complete here: those of all replicas are added up behind them. */
static enum status add_replicas(struct trainer *t, size_t l, unsigned parts, struct error *err)
{
	struct stream *stream = t->team->streams[STREAM_DATA];
	const struct model_layer *layer = &t->network.local.layer[l];
	void *gradients = network_element(&t->network, t->network.gradients, layer->weight);

	if (!t->team->data || !(parts & STEP_COMMUNICATE))
		return STATUS_OK;
	if (backend_event_record(t->layer_done, compute_stream(t), err) != STATUS_OK ||
	    backend_stream_wait(stream, t->layer_done, err) != STATUS_OK)
		return err->status;
	timeline_begin(t, STREAM_DATA, SPAN_ALL_REDUCE, l);
	backend_all_reduce(t->team->data, stream, gradients, gradients, layer->end - layer->weight,
			   setup_storage(t->setup), REDUCE_SUM, err);
	timeline_end(t, STREAM_DATA);
	return err->status;
}

static enum status backward(struct trainer *t, uint64_t turn, uint64_t row, uint64_t rows, void *dy,
			    void *dx, unsigned parts, struct error *err)
{
	struct network *n = &t->network;
	void *gradient = dy ? dy : network_activation(n, t->setup->layers, row);
	bool last = turn + 1 == t->setup->microbatches;

	for (size_t l = n->share.last; l-- > n->share.first;) {
		void *to = l > n->share.first ? n->transient[l % 2] : dx;

		if (backward_layer(t, l, row, rows, gradient, to, turn > 0, parts, err) !=
			    STATUS_OK ||
		    (last && add_replicas(t, l, parts, err) != STATUS_OK))
			return err->status;
		gradient = to;
	}
	return STATUS_OK;
}

/* The update needs the sums. */
static enum status finish(struct trainer *t, unsigned parts, struct error *err)
{
	if (!t->team->data || !(parts & STEP_COMMUNICATE))
		return STATUS_OK;
	if (backend_event_record(t->layer_done, t->team->streams[STREAM_DATA], err) != STATUS_OK)
		return err->status;
	return backend_stream_wait(compute_stream(t), t->layer_done, err);
}

static const struct pipeline_work work = { forward, backward, finish };

static void hybrid_share(const struct setup *setup, int rank, struct share *share,
			 uint64_t *step_rows)
{
	pipeline_share(setup, rank, pipeline_warmup_plain, share, step_rows);
}

static enum status hybrid_open(struct trainer *t, struct error *err)
{
	t->network.others_recompute = true;
	if (team_open_grid(t->team, t->setup, err) != STATUS_OK ||
	    world_agree(t->team->world, backend_event_create(t->team->device, &t->layer_done, err),
			err) != STATUS_OK)
		return err->status;
	return pipeline_open(t, pipeline_warmup_plain, &work, err);
}

static void hybrid_close(struct trainer *t)
{
	backend_event_destroy(t->layer_done);
	t->layer_done = NULL;
	pipeline_close(t);
}

static unsigned hybrid_commands(const struct trainer *t)
{
	uint64_t layers = t->network.share.last - t->network.share.first;

	return pipeline_commands(t) + (unsigned)(layers * (2 * t->setup->microbatches + 3));
}

/* Both directions of both edges, the sums over parts, and the sum over replicas (as rings). */
static double wire_bytes_of(const struct setup *setup, int rank)
{
	struct grid grid = grid_of(setup);
	struct share share;
	struct holding holding;
	uint64_t step_rows;
	double columns = 0, sums = 0, t = grid.tensor, n = grid.data;
	double bytes = (double)precision_bytes(setup->precision);

	holding_of(setup, rank, &share, &step_rows, &holding);
	if (share.first > 0)
		columns += (double)share_width(setup, &share, share.first);
	if (share.last < setup->layers)
		columns += (double)share_width(setup, &share, share.last);
	for (size_t l = share.first; l < share.last; l++) {
		enum cut cut = setup_cut(setup, l, share.parts);

		if (cut == CUT_ROWS)
			sums += (double)setup->widths[l + 1];
		else if (cut == CUT_COLUMNS && l > 0)
			sums += (double)setup->widths[l];
	}
	return bytes * ((double)share.rows * (columns + 2 * (t - 1) / t * sums) +
			2 * (n - 1) / n * (double)holding.elements);
}

static double hybrid_wire_bytes(const struct setup *setup)
{
	double most = 0;

	for (int rank = 0; rank < setup->ranks; rank++) {
		double bytes = wire_bytes_of(setup, rank);

		most = bytes > most ? bytes : most;
	}
	return most;
}

const struct mode mode_hybrid = {
	.name = "hybrid",
	.summary = "data x tensor x pipeline: replicas of 1F1B pipelines of parts of layers",
	.microbatched = true,
	.gridded = true,
	.recomputes = true,
	.refusal = pipeline_refusal,
	.share = hybrid_share,
	.open = hybrid_open,
	.close = hybrid_close,
	.enqueue = pipeline_enqueue,
	.commands = hybrid_commands,
	.wire_bytes = hybrid_wire_bytes,
	.bubble = pipeline_bubble,
};
