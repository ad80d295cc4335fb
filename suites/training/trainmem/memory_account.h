/*
 * Memory account of one training step, measured in a separate process: gpuproof's classes, and the
 * reading of the memory source after the forward pass.
 */
#ifndef GPUPROOF_TRAINMEM_MEMORY_ACCOUNT_H
#define GPUPROOF_TRAINMEM_MEMORY_ACCOUNT_H

#include "measure/processes/fork_server.h"
#include "suites/training/trainmem/training.h"

/* Sources of a process's memory use (struct memory_view), in order of preference. */
enum memory_source {
	MEMORY_SOURCE_PROCESS,
	MEMORY_SOURCE_DEVICE,
	MEMORY_SOURCE_RUNTIME,
	MEMORY_SOURCE_COUNT
};
/* "the process' memory by NVML", ...; depends on `device`: the host's names differ. */
const char *memory_account_source_name(enum memory_source source, const struct device_info *device);

struct memory_account_request {
	struct setup setup;
	struct training_options options;
	struct memory_view before; /* read before the process started */
	int steps;                 /* at least 3; the third is recorded */
};

struct memory_account {
	enum memory_source source;
	uint64_t context;   /* by the source: memory in use without tensors, minus the workspace */
	uint64_t workspace; /* of the GEMM library */
	/* At the end of the third step's forward pass: */
	struct memory_view view;
	uint64_t measured;                              /* the source's reading of it */
	uint64_t reserved;                              /* from the device, by the policy */
	uint64_t live;                                  /* total over all classes */
	struct heap_peak peak, phase_peak[PHASE_COUNT]; /* of the third step */
	uint64_t reserved_peak;
	uint64_t inference_peak; /* forward only */
	/* gradients of the parameters, still allocated after the step */
	uint64_t gradients_after;
	uint64_t reserved_after_trim;     /* after inference and returning cached memory */
	uint64_t takes, device_calls;     /* of the third step */
	uint64_t host_bytes, moved_bytes; /* of offloading */
	/* from the end of the second step to the end of the last */
	int64_t leaked, source_grew;
	double first_loss, last_loss;
};

/* A fork_server_fn: converts struct memory_account_request to struct memory_account. */
enum status memory_account_step(struct device *device, const void *request, void *account,
				struct error *err);

/*
 * Device memory of a process that has loaded everything a step of `setup` needs but holds no
 * tensor: runs one step and frees its memory. Other shapes need other kernels of the libraries.
 * *free_bytes: free memory of the device at that time.
 */
enum status memory_account_context(struct device *device, const struct setup *setup,
				   enum memory_source *source, const struct memory_view *before,
				   uint64_t *bytes, uint64_t *free_bytes, struct error *err);

#endif
