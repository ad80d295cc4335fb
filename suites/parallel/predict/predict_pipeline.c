#include "suites/parallel/predict/predict_work.h"

#include <math.h>

#include "suites/parallel/modes/pipeline/schedule.h"
#include "suites/parallel/predict/predict_blocks.h"
#include "suites/parallel/ranks/grid.h"

/* Work of a stage from the begin of its last backward. */
struct finish {
	double replicas; /* of adding up gradients after the last backward */
	double update;
};

/* Sums over the parts of a layer, which all else waits for. */
static double sums_of(const struct work *w, const struct rank_partition *partition, size_t l,
		      double rows, bool forward)
{
	enum layer_split split = setup_layer_split(w->setup, l, partition->parts);
	double columns = (double)(forward ? w->setup->widths[l + 1] : w->setup->widths[l]);
	bool sums;

	if (setup_layer_kind(w->setup, l) != LAYER_LINEAR)
		return blocks_sums(w, l, forward) * blocks_sum_time(w, l, rows, forward);
	sums = forward ? split == ROW_PARALLEL : split == COLUMN_PARALLEL && l > 0;

	return sums ? work_collective(w, "all_reduce", partition->parts, rows * columns) : 0;
}

static void stage_open(struct schedule_stage *stage, struct finish *finish, const struct setup *s,
		       int index, struct curves *curves)
{
	struct grid grid = grid_of(s);
	struct work w;
	struct rank_partition partition;
	double rows, shared = (double)setup_wgrad_microbatches(s);

	work_open(&w, s, grid_rank(s, (struct grid_place){ .stage = index }), curves);
	partition = w.partition;
	rows = (double)setup_microbatch_rows(s);
	stage->dgrad_first = setup_dgrad_first(s) && partition.first > 0;
	for (size_t l = partition.first; l < partition.last; l++) {
		const struct model_layer *layer = &w.model.layer[l];

		stage->forward +=
			work_forward(&w, l, rows) + sums_of(&w, &partition, l, rows, true);
		stage->inputs += work_outputs_back(&w, l, rows) + work_inputs_back(&w, l, rows) +
				 sums_of(&w, &partition, l, rows, false);
		stage->weights += work_weights_back(&w, l, shared * rows);
		stage->adding += work_adding(&w, l);
		if (grid.data > 1)
			finish->replicas += work_collective(&w, "all_reduce", grid.data,
							    (double)(layer->end - layer->weight));
	}
	if (partition.last == s->layers)
		stage->forward += work_loss(&w, rows);
	else
		stage->send =
			2 * work_stream_wait(&w, "send_recv", 2) +
			curves_message(curves, rows *
						       (double)partition_width(s, &partition,
									       partition.last) *
						       (double)precision_bytes(s->precision));
	/* Events after what is sent, and after the last use of what was received. */
	stage->forward += partition.last < s->layers ? work_event_record(&w) : 0;
	stage->inputs += index > 0 ? work_event_record(&w) : 0;
	stage->weights += 2 * shared * work_event_record(&w);
	finish->update = work_update_begin(&w) + work_update(&w, (double)w.model.elements);
}

/* Layer by layer after its last backward: overlapped except for the layer that comes last. */
static double end_of(const struct schedule_stage *stage, const struct finish *finish)
{
	double concurrent = stage->weights + (stage->dgrad_first ? 0 : stage->inputs),
	       hidden = fmin(finish->replicas, concurrent) / 2;

	return stage->last + finish->replicas - hidden + finish->update;
}

double predict_pipeline(const struct setup *setup, struct curves *curves)
{
	struct finish finish[SETUP_MAX_LAYERS] = { { 0 } };
	struct schedule k;
	double last = 0;

	schedule_open(&k, setup);
	for (int i = 0; i < k.stages; i++)
		stage_open(&k.stage[i], &finish[i], setup, i, curves);
	schedule_carry_out(&k);
	/* NaN stays NaN. */
	for (int i = 0; i < k.stages; i++)
		last = end_of(&k.stage[i], &finish[i]) <= last ? last
							       : end_of(&k.stage[i], &finish[i]);
	return last;
}
