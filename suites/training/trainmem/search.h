/*
 * The largest batch, or the widest model, whose training step fits: predicted from a plan of the
 * step, then tried in processes of their own until the largest that fits and the smallest that does
 * not are close together.
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
	double tolerance;       /* largest gap between what fits and what does not, relative */
	uint64_t most;          /* of the batch or width */
	double process_seconds; /* most for one trial */
};

/* Trials after which a search is given up. */
#define SEARCH_TRIALS 20

struct search {
	enum search_for what;
	struct setup setup; /* the largest that fits */
	uint64_t found;     /* its batch or width; 0: none fits */
	uint64_t predicted; /* before any trial of it */
	/* the smallest that does not fit; 0: the end of the search was reached */
	uint64_t fails;
	int trials, failures;         /* processes; the first finds the budget and tries nothing */
	struct trial largest, failed; /* the last that fitted, the last that did not */
	uint64_t context, budget;
	double seconds;
	uint64_t halved; /* from a power of two down by halves: what that finds */
	int halvings;    /* and in how many trials */
};

enum status search_largest(struct run *run, const struct setup *setup,
			   const struct search_options *options, struct search *out,
			   struct error *err);

/* One trial in a process of its own; request->before is filled in. */
enum status search_trial(struct run *run, struct trial_request *request, double process_seconds,
			 struct trial *trial, struct error *err);

#endif
