/*
 * Processes that have not touched a device yet, for a suite that needs some: each carries out one
 * function on one device that is opened in it, and ends. What a device's driver takes when it is
 * first used, and what happens when memory runs out, can only be seen in such a process.
 *
 * A process that has used a GPU cannot fork a useful one. So the worker forks the fork server
 * before it opens anything, and the fork server, which never opens a device itself, forks the
 * others when asked.
 */
#ifndef GPUPROOF_MEASURE_PROCESSES_FORK_SERVER_H
#define GPUPROOF_MEASURE_PROCESSES_FORK_SERVER_H

#include "device/backend.h"

struct fork_server;

/* Most bytes of arguments, and of a result. Both are plain data without pointers. */
#define FORK_SERVER_ARGUMENTS 2048
#define FORK_SERVER_RESULT 65536

/*
 * Carries out its work in the fresh process; `result` is zero when it begins. `device` is NULL
 * where the task asked for nothing to be open.
 */
typedef enum status fork_server_fn(struct device *device, const void *arguments, void *result,
				   struct error *err);

/*
 * NULL and an error where no process can be started. `backends`, `options`: as for backends_open().
 */
struct fork_server *fork_server_open(const char *backends, const struct backend_options *options,
				     struct error *err);
void fork_server_close(struct fork_server *fork_server);
/* As given to fork_server_open(), for a task that opens a backend itself; zero for NULL. */
struct backend_options fork_server_options(const struct fork_server *fork_server);

struct fork_server_task {
	const struct device_info *device; /* which to open */
	fork_server_fn *run;              /* a function of this program */
	const void *arguments;
	size_t arguments_size, result_size;
	double seconds;    /* the process is killed after this */
	bool nothing_open; /* neither a backend nor the device: opening them is the work */
};

/*
 * Runs `task` and waits. `result` gets what it had written, also when it failed. STATUS_TIMEOUT: it
 * had to be killed; STATUS_DEVICE: it died, by which signal is in the message.
 */
enum status fork_server_run(struct fork_server *fork_server, const struct fork_server_task *task,
			    void *result, struct error *err);

#endif
