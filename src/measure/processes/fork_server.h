/*
 * Fork server: starts processes that have not touched a device yet, for suites that need them. Each
 * process opens one device, runs one function and exits. Only such a process shows what a driver
 * allocates on first use, and what happens when memory runs out.
 *
 * A process that has used a GPU cannot fork a usable child. The worker therefore forks the fork
 * server before it opens a device. The fork server never opens a device itself and forks the others
 * on request.
 */
#ifndef GPUPROOF_MEASURE_PROCESSES_FORK_SERVER_H
#define GPUPROOF_MEASURE_PROCESSES_FORK_SERVER_H

#include "device/backend.h"

struct fork_server;

/* Size limits of arguments and result. Both are plain data without pointers. */
#define FORK_SERVER_ARGUMENTS 2048
#define FORK_SERVER_RESULT 65536

/*
 * Runs in the fresh process; `result` is zero at the start. `device` is NULL if the task has
 * nothing_open.
 */
typedef enum status fork_server_fn(struct device *device, const void *arguments, void *result,
				   struct error *err);

/* NULL and an error if no process can be started. `backends`, `options`: as for backends_open(). */
struct fork_server *fork_server_open(const char *backends, const struct backend_options *options,
				     struct error *err);
void fork_server_close(struct fork_server *fork_server);
/*
 * The options given to fork_server_open(), for a task that opens a backend itself; zero for NULL.
 */
struct backend_options fork_server_options(const struct fork_server *fork_server);

struct fork_server_task {
	const struct device_info *device; /* device to open */
	fork_server_fn *run;              /* a function of this program */
	const void *arguments;
	size_t arguments_size, result_size;
	double seconds;    /* time limit, after which the process is killed */
	bool nothing_open; /* opens neither backend nor device, because opening is the task */
};

/*
 * Runs `task` and waits. `result` receives what it wrote, even after a failure. STATUS_TIMEOUT: it
 * was killed; STATUS_DEVICE: it died, with the signal in the message.
 */
enum status fork_server_run(struct fork_server *fork_server, const struct fork_server_task *task,
			    void *result, struct error *err);

#endif
