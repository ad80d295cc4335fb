/* Training on one rank: its part of the model, divided by the setup's mode. */
#ifndef GPUPROOF_SUITES_TRAINING_PARALLEL_TRAINER_TRAINER_H
#define GPUPROOF_SUITES_TRAINING_PARALLEL_TRAINER_TRAINER_H

#include "suites/training/models/mode.h"
#include "suites/training/models/network.h"
#include "suites/training/parallel/ranks/team.h"

struct timeline;
struct parts;

struct trainer {
	const struct setup *setup;
	const struct mode *mode;
	struct rank_team *team;
	struct arena arena;
	struct network network;
	unsigned step; /* enum step_part: what the step that is being enqueued does */
	void *state;   /* owned by the mode */
	/* for divided blocks of a transformer: struct parts below; NULL: whole blocks */
	struct parts *parts;
	struct timeline *timeline; /* NULL unless this step is recorded: timeline.h */
	/* hybrid: gradients ready to be reduced, and reduced gradients */
	struct event *layer_done;
	/* per step, in addition to the mode's: for copy transports */
	unsigned copy_commands;
	bool scale_known;        /* a dynamic loss scale has been set */
	uint64_t scale_interval; /* good steps before a dynamic loss scale doubles; 0: never */
};

/* The compute stream. */
static inline struct stream *trainer_stream(const struct trainer *trainer)
{
	return trainer->team->streams[STREAM_COMPUTE];
}

static inline bool trainer_does(const struct trainer *trainer, enum step_part part)
{
	return trainer->step & part;
}

/*
 * Collective. Allocates all memory, and runs every kernel and product once before the first
 * collective, because loading a kernel or allocating can deadlock while another rank's collective
 * spins; then fills in fresh data. trainer_close() must follow in any case.
 */
enum status trainer_open(struct trainer *trainer, const struct setup *setup, struct rank_team *team,
			 struct error *err);
void trainer_close(struct trainer *trainer);

/* Resets the data to the state after trainer_open(). Collective. */
enum status trainer_reset(struct trainer *trainer, struct error *err);
/* Enqueues `parts` of one step (enum step_part), asynchronously. */
enum status trainer_enqueue(struct trainer *trainer, unsigned parts, struct error *err);
/* The same, and waits. Collective. */
enum status trainer_step(struct trainer *trainer, unsigned parts, struct error *err);
/*
 * Enqueues a small sum between steps, which no rank's compute stream passes before all ranks have
 * enqueued it. Nothing for a single rank.
 */
enum status trainer_align(struct trainer *trainer, struct error *err);
/* Mean loss of the last step over the whole batch, the same on every rank. Collective. */
enum status trainer_loss(struct trainer *trainer, double *loss, struct error *err);

/*
 * For modes: enqueues the optimizer's part of a step on the compute stream, after all gradients are
 * complete. Nothing without STEP_UPDATE. Modes that update range by range first call
 * trainer_decide_scale().
 */
enum status trainer_update(struct trainer *trainer, struct error *err);
/*
 * For use by modes: makes the compute stream wait for an event, or record it. Does nothing after an
 * error.
 */
enum status trainer_wait(struct trainer *trainer, struct event *event, struct error *err);
enum status trainer_record(struct trainer *trainer, struct event *event, struct error *err);

/*
 * Factor for the gradients of `rows` rows, so that sums over the step are multiplied by the loss
 * scale.
 */
double trainer_gradient_scale(const struct trainer *trainer, uint64_t rows);

/*
 * Collectives inside a transformer's blocks, among the ranks that divide the layers (struct
 * part_links).
 */

/*
 * Opens collectives over `communicator` on `stream`: STREAM_COMPUTE, or a stream that nothing else
 * uses, so that products that need no sum run at the same time. Close with trainer_parts_close(),
 * also after a failure.
 */
enum status trainer_parts_open(struct trainer *trainer, struct communicator *communicator,
			       enum team_stream stream, struct error *err);
void trainer_parts_close(struct trainer *trainer);

/*
 * By formula (rings): bytes that a rank of `parts` sends per token in forward and backward of a
 * transformer's layer.
 */
double trainer_parts_sent_bytes(const struct setup *setup, size_t layer, int parts);

/*
 * The loss scale on the device (kernels/training/loss_scale.h) in a step of several ranks: either
 * all ranks skip a step, or none. Without setup->dynamic_scale these calls do nothing.
 */

/* As in PyTorch: good steps before the scale doubles. */
#define SCALER_INTERVAL 2000

/*
 * Enqueued on the compute stream after the rank's gradients are complete: checks for an overflow on
 * every rank and decides about this step. The optimizers that follow obey the decision.
 */
enum status trainer_decide_scale(struct trainer *trainer, struct error *err);

/*
 * Runs steps until one is not skipped, so that the following steps start with a suitable scale.
 * Collective.
 */
enum status trainer_settle_scale(struct trainer *trainer, struct error *err);

/* Scale of the gradients of a step before its update. Waits. */
enum status trainer_scale(struct trainer *trainer, double *scale, struct error *err);
/* Number of applied and skipped steps since the last reset; zero without a dynamic scale. Waits. */
enum status trainer_scale_counts(struct trainer *trainer, uint64_t *applied, uint64_t *skipped,
				 struct error *err);

#endif
