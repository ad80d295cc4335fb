/*
 * Memory account of one training step, measured in a process of its own: our own classes and the
 * reading of the memory accounting source, phase by phase.
 */
#ifndef GPUPROOF_TRAINMEM_MEMORY_ACCOUNT_H
#define GPUPROOF_TRAINMEM_MEMORY_ACCOUNT_H

#include "measure/processes/fork_server.h"
#include "suites/training/trainmem/training.h"

/* Sources of a process' memory use (struct memory_view), in order of preference. */
enum memory_source {
	MEMORY_SOURCE_PROCESS,
	MEMORY_SOURCE_DEVICE,
	MEMORY_SOURCE_RUNTIME,
	MEMORY_SOURCE_COUNT
};
/* "the process' memory by NVML", ...; of `device`: the host's names differ. */
const char *memory_source_name(enum memory_source source, const struct device_info *device);

struct memory_account_request {
	struct setup setup;
	struct training_options options;
	struct memory_view before; /* read before the process began */
	int steps;                 /* at least 3; the third is looked at */
};

struct memory_account {
	enum memory_source source;
	uint64_t opened;    /* by the source: when the device is open and nothing has run */
	uint64_t context;   /* by the source: in use without tensors, less the workspace */
	uint64_t workspace; /* of the GEMM library */
	struct memory_view views[PHASE_COUNT]; /* at the end of each phase of the third step */
	uint64_t measured[PHASE_COUNT];        /* the source's readings of them */
	uint64_t reserved[PHASE_COUNT];        /* taken from the device by the policy */
	uint64_t pieces[PHASE_COUNT];          /* number of allocations of `reserved` */
	uint64_t unit;              /* in which the driver hands out memory; 0: unknown */
	uint64_t live[PHASE_COUNT]; /* by class, all */
	struct heap_peak peak, phase_peak[PHASE_COUNT];
	uint64_t class_peak[MEMORY_CLASS_COUNT];
	uint64_t reserved_peak;
	uint64_t inference_peak;          /* forward only */
	uint64_t gradients_after;         /* of the parameters, still there after the step */
	uint64_t reserved_after_trim;     /* after inference and giving back what is cached */
	uint64_t takes, device_calls;     /* of the third step */
	uint64_t host_bytes, moved_bytes; /* of offloading */
	int64_t leaked, source_grew;      /* from the end of the second step to that of the last */
	double first_loss, last_loss;
};

/* A fork_server_fn: struct memory_account_request to struct memory_account. */
enum status memory_account_step(struct device *device, const void *request, void *account,
				struct error *err);

/*
 * Device memory of a process that has loaded all that a step of `setup` needs but holds no
 * tensor: carries out one and lets go of it. Other shapes need other kernels of the libraries.
 * *free_bytes: what the device has free then.
 */
enum status memory_account_context(struct device *device, const struct setup *setup,
				   enum memory_source *source, const struct memory_view *before,
				   uint64_t *bytes, uint64_t *free_bytes, struct error *err);

#endif
