/* One rank's training: its part of the model, split as the setup's mode says. */
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
	void *state;               /* the mode's own */
	struct parts *parts;       /* of a transformer's blocks: trainer/parts.h; NULL: whole */
	struct timeline *timeline; /* NULL unless this step is recorded: timeline.h */
	struct event *layer_done;  /* hybrid: gradients that may leave, and those that are back */
	/* of a step, in addition to the mode's: for transports made of copies */
	unsigned copy_commands;
	bool scale_known;        /* a dynamic loss scale was set once */
	uint64_t scale_interval; /* good steps before a dynamic loss scale doubles; 0: never */
};

/* The compute stream. */
static inline struct stream *trainer_stream(const struct trainer *trainer)
{
	return trainer->team->streams[STREAM_COMPUTE];
}

/*
 * Collective. Allocates everything and runs every kernel and product once before the first
 * collective, because loading a kernel or allocating while another rank's collective spins can
 * dead-lock; then fills in fresh data. Whatever the outcome, trainer_close() releases it.
 */
enum status trainer_open(struct trainer *trainer, const struct setup *setup, struct rank_team *team,
			 struct error *err);
void trainer_close(struct trainer *trainer);

/* Fresh data: as after trainer_open(). Collective. */
enum status trainer_reset(struct trainer *trainer, struct error *err);
/* Carries out `parts` of one step and waits. Collective. */
enum status trainer_step(struct trainer *trainer, unsigned parts, struct error *err);
/*
 * Enqueues, between steps, a small sum that no rank's compute stream passes before all ranks have
 * come here. Nothing for one rank alone.
 */
enum status trainer_align(struct trainer *trainer, struct error *err);
/* The mean loss of the last step over the whole batch, the same on every rank. Collective. */
enum status trainer_loss(struct trainer *trainer, double *loss, struct error *err);

/*
 * For modes: the optimizer's part of a step, on the compute stream, after all gradients are
 * complete. Nothing without STEP_UPDATE. Who updates span by span calls scaler_decide() first.
 */
enum status trainer_update(struct trainer *trainer, unsigned parts, struct error *err);

/*
 * Factor for the gradients of `rows` rows, so that sums over the step have the loss
 * scale.
 */
double trainer_gradient_scale(const struct trainer *trainer, uint64_t rows);

#endif
