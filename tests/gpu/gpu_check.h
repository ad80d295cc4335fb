/*
 * Checks of the CUDA backend on real GPUs. A check answers STATUS_OK, STATUS_UNSUPPORTED (shown
 * as SKIP with the reason) or a failure, and may leave a line of detail.
 *
 * Adding a check: a function in one of the check_*.c files, a row in that file's table.
 */
#ifndef GPUPROOF_TESTS_GPU_GPU_CHECK_H
#define GPUPROOF_TESTS_GPU_GPU_CHECK_H

#include "base/memory.h"
#include "device/backend.h"

/* From the command line; the same in all processes. */
struct check_settings {
	const char *backend; /* "cuda", or one of its modules */
	struct backend_options options;
	const char *only;     /* checks whose names hold this; "": all */
	const char *coverage; /* file for coverage_write(); NULL: none */
};
extern struct check_settings settings;

struct check_context {
	struct device *device;
	struct device **devices; /* all of them, opened */
	int device_count;
	struct stream *stream;
	char detail[256];
};

struct check {
	const char *name;
	enum status (*run)(struct check_context *context, struct error *err);
};

/* Each ends with { 0 }. */
extern const struct check memory_checks[], allocator_checks[], stream_checks[];
/* Not among the others: with --only rate alone. */
extern const struct check rate_checks[];
/* The same, of a process that has all devices open, while no other process uses the driver. */
extern const struct check node_checks[];

/*
 * One rank per GPU, in processes of their own; the caller has not touched CUDA. 0 when all
 * passed.
 */
int collective_check(int devices);

/*
 * coverage.c: which way of which kernel was launched in a check that passed. coverage_note() after
 * each check; coverage_write() at the end: lines "kernel <tab> path <tab> right", or why it is not
 * taken on this device. Returns the number of ways that should have been launched and were not,
 * were wrong, or should not have been launched.
 */
void coverage_note(struct device *device, bool passed);
int coverage_write(const struct device_info *info, const char *file);

/* Prints one row of the table; returns 1 for a failure. */
int check_report(const char *check, const char *device, enum status status, const char *detail);

/* Returns from the calling check when a step fails, leaving memory to the end of the process. */
#define STEP(call)                          \
	do {                                \
		enum status step_ = (call); \
		if (step_ != STATUS_OK)     \
			return step_;       \
	} while (0)

/* FILL_BITS of `seed` into device-writable memory. */
enum status gpu_fill(struct stream *stream, void *memory, size_t bytes, uint64_t seed,
		     struct error *err);
/*
 * STATUS_MISMATCH unless `bytes` of device-readable memory hold FILL_BITS of `seed`.
 * Synchronises.
 */
enum status gpu_expect(struct stream *stream, const void *memory, size_t bytes, uint64_t seed,
		       struct error *err);
/* The same, read by the host. */
enum status host_expect(const void *memory, size_t bytes, uint64_t seed, struct error *err);

#endif
