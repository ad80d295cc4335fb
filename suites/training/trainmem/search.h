/*
 * The largest batch, or the widest model, whose training step fits: predicted from a plan of the
 * step, then tried in separate processes until the largest that fits and the smallest that does not
 * are close together.
 */
#ifndef GPUPROOF_TRAINMEM_SEARCH_H
#define GPUPROOF_TRAINMEM_SEARCH_H

#include "measure/run.h"
#include "suites/training/trainmem/trial.h"

enum search_for { SEARCH_BATCH, SEARCH_WIDTH };

struct search_options {
	enum search_for what;
	struct training_options training;
	uint64_t capacity, reserve;
	enum limit_by limit_by;
	/* largest relative gap between the largest that fits and the smallest that does not */
	double tolerance;
	uint64_t most;          /* maximum batch or width */
	double process_seconds; /* maximum for one trial */
};

/* Maximum trials of a search. */
#define SEARCH_TRIALS 20

struct search {
	enum search_for what;
	struct setup setup; /* the largest that fits */
	uint64_t found;     /* its batch or width; 0: none fits */
	uint64_t predicted; /* prediction before the trials */
	/* the smallest that does not fit; 0: the search reached its upper end */
	uint64_t fails;
	/* number of processes; the first determines the budget without a trial */
	int trials, failures;
	struct trial largest, failed; /* the last that fitted, and the last that did not */
	uint64_t context, budget;
	double seconds;
	uint64_t halved; /* result of halving from a power of two */
	int halvings;    /* number of trials for it */
};

enum status search_largest(struct run *run, const struct setup *setup,
			   const struct search_options *options, struct search *out,
			   struct error *err);

/* Runs one trial in a separate process; request->before must be set. */
enum status search_trial(struct run *run, struct trial_request *request, double process_seconds,
			 struct trial *trial, struct error *err);

#endif
