/*
 * Processes that have not touched a device yet, for a suite that needs some: each carries out one
 * function on one device that is opened in it, and ends. What a device's driver takes when it is
 * first used, and what happens when memory runs out, can only be seen in such a process.
 *
 * A process that has used a GPU cannot fork a useful one. So the worker forks the nursery before it
 * opens anything, and the nursery, which never opens a device itself, forks the others when asked.
 */
#ifndef GPUPROOF_RUN_PROCESSES_FORK_SERVER_H
#define GPUPROOF_RUN_PROCESSES_FORK_SERVER_H

#include "device/backend.h"

struct nursery;

/* Most bytes of arguments, and of a result. Both are plain data without pointers. */
#define NURSERY_ARGUMENTS 2048
#define NURSERY_RESULT 65536

/*
 * Carries out its work in the fresh process; `result` is zero when it begins. `device` is NULL where the task
 * asked for nothing to be open.
 */
typedef enum status nursery_fn(struct device *device, const void *arguments, void *result,
			       struct error *err);

/* NULL and an error where no process can be started. `backends`, `options`: as for backends_open(). */
struct nursery *nursery_open(const char *backends, const struct backend_options *options,
			     struct error *err);
void nursery_close(struct nursery *nursery);
/* As given to nursery_open(), for a task that opens a backend itself; zero for NULL. */
struct backend_options nursery_options(const struct nursery *nursery);

struct nursery_task {
	const struct device_info *device; /* which to open */
	nursery_fn *run;                  /* a function of this program */
	const void *arguments;
	size_t arguments_size, result_size;
	double seconds; /* the process is killed after this */
	bool nothing_open; /* neither a backend nor the device: opening them is the work */
};

/*
 * Runs `task` and waits. `result` gets what it had written, also when it failed. STATUS_TIMEOUT: it
 * had to be killed; STATUS_DEVICE: it died, by which signal is in the message.
 */
enum status nursery_run(struct nursery *nursery, const struct nursery_task *task, void *result,
			struct error *err);

#endif
