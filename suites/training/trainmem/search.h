/*
 * The largest batch, or the widest model, whose training step fits: predicted from a plan of the
 * step, then tried in separate processes until the largest that fits and the smallest that does not
 * are close together. A trial allocates and computes two steps or fails, and then shows that the
 * device still works.
 */
#ifndef GPUPROOF_TRAINMEM_SEARCH_H
#define GPUPROOF_TRAINMEM_SEARCH_H

#include "measure/processes/fork_server.h"
#include "suites/training/trainmem/measure.h"
#include "suites/training/trainmem/memory_account.h"

/*
 * A process of a search, or of a step's memory account, is killed after this time plus four times
 * the expected duration of its steps.
 */
#define PROCESS_SECONDS 60

/* Method of emulating a smaller card. */
enum limit_by {
	LIMIT_BY_ALLOCATOR, /* gpuproof's allocator refuses memory beyond the card's size */
	LIMIT_BY_FILLER     /* a memory filler occupies the rest, so that the device refuses */
};

struct trial_request {
	struct setup setup;
	struct training_options options; /* the limit is determined here */
	struct memory_view before;       /* read before the process started */
	uint64_t capacity;               /* of the emulated card; 0: the device's own */
	uint64_t reserve;                /* always left free (except with LIMIT_BY_FILLER) */
	enum limit_by limit_by;
	bool only_look; /* determines the budget without a trial */
};

/* A request with the memory that the case's section states; `only_look` is set. */
enum status search_trial_request(const struct trainmem_case *c, struct trial_request *out,
				 struct error *err);

struct trial {
	uint64_t context; /* with libraries and their workspace, as read from the memory_source */
	uint64_t budget;  /* for tensors */
	uint64_t filled;  /* bytes of the memory filler */
	bool fits;
	enum phase phase; /* phase of the failure */
	char reason[256]; /* of the failure */
	/*
	 * At that time: the refused request, the memory taken from the device, and its part in use.
	 */
	uint64_t refused, taken, in_use[MEMORY_CLASS_COUNT];
	struct heap_peak peak; /* of the step that fitted */
	/* memory allocated, filled by a kernel and checked after a failure */
	bool works_afterwards;
	double first_loss, last_loss;
	double seconds; /* of the trial, without the start of the process */
};

/*
 * Runs one trial in a separate process. A step that does not fit is not an error; a device that no
 * longer works is.
 */
enum status search_trial(struct run *run, struct trial_request *request, struct trial *trial,
			 struct error *err);

/* A fork_server_fn that does it: converts struct trial_request to struct trial. */
enum status search_trial_of_step(struct device *device, const void *request, void *result,
				 struct error *err);

/*
 * Seconds after which a process that runs `steps` steps is killed: `least` plus four times the
 * expected duration of the steps. A large batch on a slow or loaded device is not a hang.
 */
double search_trial_limit(double least, int steps, double step_seconds);

enum search_for { SEARCH_BATCH, SEARCH_WIDTH };

struct search {
	enum search_for what;
	struct setup setup; /* the largest that fits */
	uint64_t found;     /* its batch or width; 0: none fits */
	uint64_t predicted; /* prediction before the trials */
	/* the smallest that does not fit; 0: the search reached its upper end */
	uint64_t fails;
	int trials;                   /* processes; the first determines the budget */
	struct trial largest, failed; /* the last that fitted, and the last that did not */
	uint64_t context, budget;
	double seconds;
};

/* Looks for the largest up to `most`, a batch or a width. */
enum status search_largest(const struct trainmem_case *c, enum search_for what, uint64_t most,
			   struct search *out, struct error *err);

#endif
