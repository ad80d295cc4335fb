#include "measure/processes/fork_server.h"

#include <errno.h>
#include <signal.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/units.h"
#include "measure/processes/child.h"
#include "measure/processes/process_title.h"

/* State shared by the three kinds of process. */
struct fork_server_shared {
	struct error err;
	bool done;
	alignas(max_align_t) char arguments[FORK_SERVER_ARGUMENTS];
	alignas(max_align_t) char result[FORK_SERVER_RESULT];
};

struct request {
	struct device_info device;
	fork_server_fn *run;
	double seconds;
	bool nothing_open;
};

struct reply {
	bool started, in_time;
	int wait_status;
};

struct fork_server {
	pid_t pid;
	int link; /* socket to the fork server; in the fork server, to the worker */
	struct fork_server_shared *shared;
	char *backends;
	struct backend_options options;
};

static enum status fork_server_open_and_run(const struct fork_server *n, const struct request *r,
					    struct error *err)
{
	struct backend_list list;
	const struct backend *backend = NULL;
	struct device *device = NULL;
	enum status status;

	if (r->nothing_open)
		return r->run(NULL, n->shared->arguments, n->shared->result, err);
	backends_open(&list, n->backends, &n->options);
	for (size_t i = 0; i < list.count; i++)
		if (strcmp(list.backends[i]->name, r->device.backend) == 0 &&
		    strcmp(list.backends[i]->module, r->device.module) == 0)
			backend = list.backends[i];
	if (!backend)
		return error_set(err, STATUS_DEVICE, "cannot reopen backend %s%s%s",
				 r->device.backend, list.missing_count ? ": " : "",
				 list.missing_count ? list.missing[0] : "");
	if (backend->device_open(r->device.index, &device, err) != STATUS_OK)
		return err->status;
	status = r->run(device, n->shared->arguments, n->shared->result, err);
	/* A device broken by an error may hang on closing; the process exits anyway. */
	if (status == STATUS_OK) {
		backend->device_close(device);
		backends_close(&list);
	}
	return status;
}

static void fork_server_serve(const struct fork_server *n, const struct request *r,
			      struct reply *reply)
{
	struct error err = ERROR_NONE;
	pid_t pid = child_fork(STDERR_FILENO, &err);

	*reply = (struct reply){ .started = pid > 0 };
	if (pid == 0) {
		process_title("fresh process on %s:%d", r->device.backend, r->device.index);
		close(n->link);
		err.status = fork_server_open_and_run(n, r, &err);
		n->shared->err = err;
		n->shared->done = true;
		child_exit(0);
	}
	if (pid < 0)
		return;
	reply->in_time = child_wait(pid, r->seconds, &reply->wait_status);
	if (!reply->in_time) {
		kill(pid, SIGKILL);
		waitpid(pid, &reply->wait_status, 0);
	}
}

/* Receives all or fails: the messages are small and of equal size. */
static bool fork_server_receive_all(int link, void *data, size_t size)
{
	return TEMP_FAILURE_RETRY(recv(link, data, size, MSG_WAITALL)) == (ssize_t)size;
}

static bool fork_server_send_all(int link, const void *data, size_t size)
{
	return TEMP_FAILURE_RETRY(send(link, data, size, MSG_NOSIGNAL)) == (ssize_t)size;
}

static enum status fork_server_start(struct fork_server *n, struct error *err)
{
	int ends[2];

	n->shared = mmap(NULL, sizeof(*n->shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (n->shared == MAP_FAILED) {
		n->shared = NULL;
		return error_errno(err, "mmap");
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return error_errno(err, "socketpair");
	n->pid = child_fork(STDERR_FILENO, err);
	n->link = n->pid == 0 ? ends[1] : ends[0];
	close(n->pid == 0 ? ends[0] : ends[1]);
	if (n->pid == 0) {
		struct request request;
		struct reply reply;

		process_title("fork server");
		while (fork_server_receive_all(n->link, &request, sizeof(request))) {
			fork_server_serve(n, &request, &reply);
			if (!fork_server_send_all(n->link, &reply, sizeof(reply)))
				break;
		}
		child_exit(0);
	}
	return n->pid > 0 ? STATUS_OK : err->status;
}

struct fork_server *fork_server_open(const char *backends, const struct backend_options *options,
				     struct error *err)
{
	struct fork_server *n = xcalloc(1, sizeof(*n));

	n->link = -1;
	n->backends = xstrdup(backends);
	n->options = *options;
	if (fork_server_start(n, err) == STATUS_OK)
		return n;
	fork_server_close(n);
	return NULL;
}

void fork_server_close(struct fork_server *n)
{
	if (!n)
		return;
	if (n->link >= 0)
		close(n->link); /* the fork server reads end-of-file and exits */
	if (n->pid > 0)
		waitpid(n->pid, NULL, 0);
	if (n->shared)
		munmap(n->shared, sizeof(*n->shared));
	free(n->backends);
	free(n);
}

struct backend_options fork_server_options(const struct fork_server *n)
{
	return n ? n->options : (struct backend_options){ 0 };
}

enum status fork_server_run(struct fork_server *n, const struct fork_server_task *task,
			    void *result, struct error *err)
{
	struct request request = { .device = *task->device,
				   .run = task->run,
				   .seconds = task->seconds,
				   .nothing_open = task->nothing_open };
	struct reply reply;
	char ending[128];

	if (!n)
		return error_set(err, STATUS_UNSUPPORTED,
				 "this program cannot start fresh processes");
	if (task->arguments_size > FORK_SERVER_ARGUMENTS || task->result_size > FORK_SERVER_RESULT)
		return error_set(err, STATUS_INTERNAL,
				 "the task has too much data for a fresh process");
	memset(n->shared, 0, sizeof(*n->shared));
	memcpy(n->shared->arguments, task->arguments, task->arguments_size);
	if (!fork_server_send_all(n->link, &request, sizeof(request)) ||
	    !fork_server_receive_all(n->link, &reply, sizeof(reply)))
		return error_set(err, STATUS_IO, "the fork server has ended");
	memcpy(result, n->shared->result, task->result_size);
	if (!reply.started)
		return error_set(err, STATUS_IO, "the fork server cannot start a process");
	if (!reply.in_time)
		return error_set(err, STATUS_TIMEOUT, "a fresh process was killed after %g s",
				 task->seconds);
	if (!n->shared->done)
		return error_set(err, STATUS_DEVICE, "a fresh process ended: %s",
				 child_ending(reply.wait_status, ending, sizeof(ending)));
	if (n->shared->err.status != STATUS_OK)
		*err = n->shared->err;
	return n->shared->err.status;
}
