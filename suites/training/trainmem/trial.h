/*
 * One trial of the search for the largest step that fits: a process that allocates and computes two
 * steps or fails, and then shows that the device still works.
 */
#ifndef GPUPROOF_TRAINMEM_TRIAL_H
#define GPUPROOF_TRAINMEM_TRIAL_H

#include "measure/processes/fork_server.h"
#include "suites/training/trainmem/memory_account.h"

/* Method of emulating a smaller card. */
enum limit_by {
	LIMIT_BY_ALLOCATOR, /* gpuproof's allocator refuses memory beyond the card's size */
	LIMIT_BY_FILLER     /* a memory filler occupies the rest, so that the device refuses */
};

struct trial_request {
	struct setup setup;
	struct training_options options; /* limit and reserve are determined here */
	struct memory_view before;       /* read before the process started */
	uint64_t capacity;               /* of the emulated card; 0: the device's own */
	uint64_t reserve;                /* always left free (except with LIMIT_BY_FILLER) */
	enum limit_by limit_by;
	bool only_look; /* determines the budget without a trial */
};

struct trial {
	uint64_t context; /* including libraries and their workspace, by the source */
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
 * A fork_server_fn: converts struct trial_request to struct trial. A step that does not fit is not
 * an error.
 */
enum status trial_of_step(struct device *device, const void *request, void *trial,
			  struct error *err);

/*
 * Seconds after which a process that runs `steps` steps is killed: `least` plus four times the
 * expected duration of the steps. A large batch on a slow or loaded device is not a hang.
 */
double trial_limit(double least, int steps, double step_seconds);

#endif
