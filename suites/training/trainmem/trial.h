/*
 * One trial of the search for the largest step that fits: a process that allocates, computes two
 * steps or fails at it, and shows that the device works afterwards.
 */
#ifndef GPUPROOF_TRAINMEM_TRIAL_H
#define GPUPROOF_TRAINMEM_TRIAL_H

#include "measure/processes/fork_server.h"
#include "suites/training/trainmem/memory_account.h"

/* Method of emulating a smaller card. */
enum limit_by {
	LIMIT_BY_ALLOCATOR, /* our allocator refuses what a card of this size has not */
	LIMIT_BY_FILLER     /* a memory filler takes the rest, so that the device refuses */
};

struct trial_request {
	struct setup setup;
	struct training_options options; /* limit and reserve are found here */
	struct memory_view before;       /* read before the process began */
	uint64_t capacity;               /* of the emulated card; 0: the device's own */
	uint64_t reserve;                /* always left free (except with LIMIT_BY_FILLER) */
	enum limit_by limit_by;
	bool only_look; /* finds the budget, tries nothing */
};

struct trial {
	uint64_t context; /* with libraries and their workspace, by the source */
	uint64_t budget;  /* for tensors */
	uint64_t filled;  /* bytes of the memory filler */
	bool fits;
	enum phase phase; /* where it failed */
	char reason[256]; /* of the failure */
	/* Then: what was refused, what was taken from the device, and what of it was in use. */
	uint64_t refused, taken, in_use[MEMORY_CLASS_COUNT];
	struct heap_peak peak; /* of what fitted */
	/* memory allocated, filled by a kernel and checked, after a failure */
	bool works_afterwards;
	double first_loss, last_loss;
	double seconds; /* of the trial without what the process needs to start */
};

/* A fork_server_fn: struct trial_request to struct trial. That a step does not fit is no error. */
enum status trial_of_step(struct device *device, const void *request, void *trial,
			  struct error *err);

/*
 * Seconds after which a process that carries out `steps` steps is killed: `least`, and four times
 * as long as the steps are expected to take. A large batch on a slow or loaded device is no hang.
 */
double trial_limit(double least, int steps, double step_seconds);

#endif
