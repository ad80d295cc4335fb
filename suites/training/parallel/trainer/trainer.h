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
	/* for divided blocks of a transformer: trainer/parts.h; NULL: whole blocks */
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
 * complete. Nothing without STEP_UPDATE. Modes that update range by range call scaler_decide()
 * first.
 */
enum status trainer_update(struct trainer *trainer, struct error *err);
/* For modes: the compute stream waits for an event, or records it; nothing after an error. */
enum status trainer_wait(struct trainer *trainer, struct event *event, struct error *err);
enum status trainer_record(struct trainer *trainer, struct event *event, struct error *err);

/*
 * Factor for the gradients of `rows` rows, so that sums over the step are multiplied by the loss
 * scale.
 */
double trainer_gradient_scale(const struct trainer *trainer, uint64_t rows);

#endif
