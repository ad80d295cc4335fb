#include "suites/parallel/modes/pipeline/stage.h"

#include "suites/models/backward_schedule.h"
#include "suites/parallel/trainer/timeline.h"

static enum layer_split split_of(const struct trainer *t, size_t l)
{
	return setup_layer_split(t->setup, l, t->network.partition.parts);
}

/* Adds up the parts' summands of rows x columns in place. All that follows needs the sum. */
static enum status add_parts(struct trainer *t, void *summands, uint64_t rows, uint64_t columns,
			     unsigned parts, struct error *err)
{
	if (!(parts & STEP_COMMUNICATE))
		return STATUS_OK;
	timeline_begin(t, STREAM_COMPUTE, SPAN_ALL_REDUCE, 0);
	backend_all_reduce(t->team->tensor, trainer_stream(t), summands, summands, rows * columns,
			   setup_storage(t->setup), REDUCE_SUM, err);
	timeline_end(t, STREAM_COMPUTE);
	return err->status;
}

static enum status forward_layer(struct trainer *t, size_t l, uint64_t row, uint64_t rows,
				 unsigned parts, struct error *err)
{
	struct stream *stream = trainer_stream(t);
	struct network *n = &t->network;
	bool computes = parts & STEP_COMPUTE;

	/* Computes and communicates inside, as parts_begin() was told. */
	if (n->local.layer[l].kind != LAYER_LINEAR)
		return network_forward(n, stream, l, row, rows, err);
	if (split_of(t, l) != ROW_PARALLEL)
		return computes ? network_forward(n, stream, l, row, rows, err) : STATUS_OK;
	if (computes && network_forward_gemm(n, stream, l, row, rows, err) != STATUS_OK)
		return err->status;
	if (add_parts(t, network_activation(n, l + 1, row), rows, n->local.layer[l].out, parts,
		      err) != STATUS_OK)
		return err->status;
	return computes ? network_activate(n, stream, l, row, rows, err) : STATUS_OK;
}

enum status stage_forward(struct trainer *t, uint64_t row, uint64_t rows, unsigned parts,
			  struct error *err)
{
	for (size_t l = t->network.partition.first; l < t->network.partition.last; l++)
		if (forward_layer(t, l, row, rows, parts, err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

/* The buffer with the gradient of activations[l]. */
static void *gradient_of(const struct trainer *t, const struct micro *m, size_t l)
{
	const struct network *n = &t->network;

	if (l == n->partition.first)
		return m->dx;
	if (l < n->partition.last)
		return network_row(n, l, n->transient[backward_transient_buffer(n, l)],
				   m->row % n->step_rows);
	return m->dy ? m->dy : network_activation(n, t->setup->layers, m->row);
}

static enum status input_gradient(struct trainer *t, const struct micro *m, size_t l,
				  struct error *err)
{
	struct stream *stream = trainer_stream(t);
	struct network *n = &t->network;
	void *dy = gradient_of(t, m, l + 1), *dx = gradient_of(t, m, l);
	bool computes = m->parts & STEP_COMPUTE || n->local.layer[l].kind != LAYER_LINEAR;

	if (computes && network_output_gradient(n, stream, l, m->row, m->rows, dy, m->turn > 0,
						err) != STATUS_OK)
		return err->status;
	if (!dx)
		return STATUS_OK;
	if (computes && network_input_gradient(n, stream, l, m->rows, dy, dx, err) != STATUS_OK)
		return err->status;
	return split_of(t, l) == COLUMN_PARALLEL
		       ? add_parts(t, dx, m->rows, n->local.layer[l].in, m->parts, err)
		       : STATUS_OK;
}

enum status stage_input_gradients(struct trainer *t, const struct micro *m, size_t first,
				  size_t last, struct error *err)
{
	for (size_t l = last; l-- > first;) {
		for (size_t r = segments_recompute_from(&t->network.segments, l); r < l; r++)
			if (forward_layer(t, r, m->row, m->rows, m->parts, err) != STATUS_OK)
				return err->status;
		if (input_gradient(t, m, l, err) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

/* The layer's gradients are complete here: those of all replicas are added up after them. */
static enum status add_replicas(struct trainer *t, size_t l, unsigned parts, struct error *err)
{
	struct stream *stream = t->team->streams[STREAM_DATA];
	const struct model_layer *layer = &t->network.local.layer[l];
	void *gradients = network_element(&t->network, t->network.gradients, layer->weight);

	if (!t->team->data || !(parts & STEP_COMMUNICATE))
		return STATUS_OK;
	if (backend_event_record(t->layer_done, trainer_stream(t), err) != STATUS_OK ||
	    backend_stream_wait(stream, t->layer_done, err) != STATUS_OK)
		return err->status;
	timeline_begin(t, STREAM_DATA, SPAN_ALL_REDUCE, l);
	backend_all_reduce(t->team->data, stream, gradients, gradients, layer->end - layer->weight,
			   setup_storage(t->setup), REDUCE_SUM, err);
	timeline_end(t, STREAM_DATA);
	return err->status;
}

enum status stage_weight_gradients(struct trainer *t, const struct micro *m, size_t first,
				   size_t last, struct error *err)
{
	bool complete = m->turn + 1 == t->setup->microbatches;
	/* The step's first product writes the gradients, the others add to them. */
	bool adds = m->since > 0;

	for (size_t l = last; l-- > first;) {
		if (m->parts & STEP_COMPUTE &&
		    network_weight_gradient(&t->network, trainer_stream(t), l, m->row, m->rows,
					    gradient_of(t, m, l + 1), adds, err) != STATUS_OK)
			return err->status;
		if (complete && add_replicas(t, l, m->parts, err) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

enum status stage_finish(struct trainer *t, unsigned parts, struct error *err)
{
	if (!t->team->data || !(parts & STEP_COMMUNICATE))
		return STATUS_OK;
	if (backend_event_record(t->layer_done, t->team->streams[STREAM_DATA], err) != STATUS_OK)
		return err->status;
	return backend_stream_wait(trainer_stream(t), t->layer_done, err);
}
