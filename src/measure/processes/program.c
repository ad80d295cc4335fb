#include "measure/processes/program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"

/* Grace period between the request to end and SIGKILL. */
#define GRACE_SECONDS 2.0
/* Interval for checking stop flag and deadline, and without pidfd also the program. */
#define LOOK_MS 20
#define LOOK_WITHOUT_PIDFD_MS 1

struct program_guard {
	int pipe; /* to the guard: process group to kill if this process dies; 0: none */
	pid_t pid;
};

/* The guard process: kills the last reported group when the pipe has no writer left. */
static _Noreturn void program_watch_over(int pipe)
{
	pid_t group = 0, told;
	ssize_t got;

	dup2(pipe, STDIN_FILENO);
	/* The pipes to the conductor must close when the worker exits. */
	for (int fd = STDIN_FILENO + 1; fd < 1024; fd++)
		close(fd);
	while ((got = read(STDIN_FILENO, &told, sizeof(told))) != 0) {
		if (got == (ssize_t)sizeof(told))
			group = told;
		else if (got > 0 || errno != EINTR)
			break;
	}
	if (group > 0)
		kill(-group, SIGKILL);
	_exit(0);
}

enum status program_guard_open(struct program_guard **out, struct error *err)
{
	int ends[2];
	pid_t pid;

	*out = NULL;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return error_errno(err, "pipe");
	pid = fork();
	if (pid == 0) {
		close(ends[1]);
		/* A stop request reaches the program only through the process that started it. */
		setpgid(0, 0);
		program_watch_over(ends[0]);
	}
	close(ends[0]);
	if (pid < 0) {
		close(ends[1]);
		return error_errno(err, "fork");
	}
	*out = xcalloc(1, sizeof(**out));
	**out = (struct program_guard){ .pipe = ends[1], .pid = pid };
	return STATUS_OK;
}

void program_guard_close(struct program_guard *guard)
{
	if (!guard)
		return;
	close(guard->pipe);
	TEMP_FAILURE_RETRY(waitpid(guard->pid, NULL, 0));
	free(guard);
}

static enum status program_guard_send_group(const struct program_guard *guard, pid_t group,
					    struct error *err)
{
	if (write(guard->pipe, &group, sizeof(group)) == (ssize_t)sizeof(group))
		return STATUS_OK;
	return error_errno(err, "the process that guards the program");
}

/* A running program. */
struct flight {
	const struct program *program;
	pid_t pid;
	int pidfd;                /* -1: not supported by this kernel */
	int streams[2];           /* read ends; -1: at end of file */
	double started, ended_by; /* host clock; ended_by 0: it was not asked to end */
	bool forced;
};

/*
 * Runs in the child of vfork(), which shares the parent's memory: only system calls, and writes to
 * *failed.
 */
static void program_exec(const struct program *p, const int outputs[2], int input,
			 volatile int *failed)
{
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (setpgid(0, 0) == 0 && dup2(input, STDIN_FILENO) >= 0 &&
	    dup2(outputs[0], STDOUT_FILENO) >= 0 && dup2(outputs[1], STDERR_FILENO) >= 0 &&
	    chdir(p->directory) == 0)
		execvpe(p->arguments[0], p->arguments, p->environment);
	*failed = errno;
	_exit(127);
}

static enum status program_start(struct flight *f, const int outputs[2], struct error *err)
{
	const struct program *p = f->program;
	int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
	volatile int failed = 0;

	f->started = clock_seconds();
	/* vfork() instead of fork(): a process that drives a GPU has large mappings to copy. */
	f->pid = vfork();
	if (f->pid == 0)
		program_exec(p, outputs, input, &failed);
	if (f->pid < 0)
		failed = errno;
	if (input >= 0)
		close(input);
	if (!failed)
		return STATUS_OK;
	if (f->pid > 0)
		waitpid(f->pid, NULL, 0);
	f->pid = 0;
	return error_set(err, STATUS_IO, "cannot start '%.200s' in '%.200s': %s", p->arguments[0],
			 p->directory, strerror(failed));
}

static void program_read_output(const struct flight *f, struct program_stream *stream, int *fd)
{
	char piece[65536];
	ssize_t got = read(*fd, piece, sizeof(piece));
	size_t room = f->program->most_output - stream->kept.length;

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		close(*fd);
		*fd = -1;
		return;
	}
	stream->bytes += (size_t)got;
	text_add_bytes(&stream->kept, piece, (size_t)got < room ? (size_t)got : room);
}

static bool program_has_ended(struct flight *f, struct program_end *end)
{
	siginfo_t info = { .si_pid = 0 };

	/* Does not reap the program: its PID must not be reused before the group is killed. */
	if (waitid(P_PID, (id_t)f->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
	    info.si_pid != f->pid)
		return false;
	end->seconds = clock_seconds() - f->started;
	return true;
}

static bool program_is_stopped(const struct flight *f)
{
	return f->program->stop && *f->program->stop;
}

static void program_look_after(struct flight *f, struct program_end *end)
{
	struct program_stream *const streams[2] = { &end->output, &end->errors };

	while (!program_has_ended(f, end)) {
		struct pollfd fds[3] = { { .fd = f->streams[0], .events = POLLIN },
					 { .fd = f->streams[1], .events = POLLIN },
					 { .fd = f->pidfd, .events = POLLIN } };

		poll(fds, 3, f->pidfd >= 0 ? LOOK_MS : LOOK_WITHOUT_PIDFD_MS);
		for (int i = 0; i < 2; i++)
			if (fds[i].revents)
				program_read_output(f, streams[i], &f->streams[i]);
		end->timed_out = end->timed_out ||
				 clock_seconds() - f->started > f->program->timeout_seconds;
		if (end->timed_out || program_is_stopped(f)) {
			double now = clock_seconds();

			/* First asks the group to end; later kills it. */
			if (!(f->ended_by > 0)) {
				kill(-f->pid, SIGTERM);
				f->ended_by = now + GRACE_SECONDS;
			} else if (now >= f->ended_by && !f->forced) {
				kill(-f->pid, SIGKILL);
				f->forced = true;
			}
		}
	}
	kill(-f->pid, SIGKILL); /* kills the processes it left */
	/* Reads what is in the pipes; processes left by the program would keep them open. */
	for (int i = 0; i < 2; i++) {
		size_t before = SIZE_MAX;

		while (f->streams[i] >= 0 && before != streams[i]->bytes) {
			before = streams[i]->bytes;
			program_read_output(f, streams[i], &f->streams[i]);
		}
	}
	TEMP_FAILURE_RETRY(waitpid(f->pid, &end->wait_status, 0));
}

static void program_close_pipe(const int ends[2])
{
	for (int i = 0; i < 2; i++)
		if (ends[i] >= 0)
			close(ends[i]);
}

enum status program_run(const struct program *program, struct program_guard *guard,
			struct program_end *end, struct error *err)
{
	struct flight f = { .program = program, .streams = { -1, -1 }, .pidfd = -1 };
	int outputs[2] = { -1, -1 }, ends[2];
	enum status status = STATUS_OK;

	*end = (struct program_end){ .wait_status = 0 };
	for (int i = 0; i < 2 && status == STATUS_OK; i++) {
		if (pipe2(ends, O_CLOEXEC) != 0) {
			status = error_errno(err, "pipe");
			continue;
		}
		f.streams[i] = ends[0];
		outputs[i] = ends[1];
		if (fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0)
			status = error_errno(err, "pipe");
	}
	if (status == STATUS_OK)
		status = program_start(&f, outputs, err);
	program_close_pipe(outputs);
	if (status == STATUS_OK) {
		/* Reported after the start: until then only the program itself would be killed. */
		program_guard_send_group(guard, f.pid, err);
		f.pidfd = (int)syscall(SYS_pidfd_open, f.pid, 0);
		program_look_after(&f, end);
		program_guard_send_group(guard, 0, err);
		status = err->status;
	}
	if (f.pidfd >= 0)
		close(f.pidfd);
	program_close_pipe(f.streams);
	if (status == STATUS_OK && program_is_stopped(&f) && f.ended_by > 0)
		status = error_set(err, STATUS_INTERRUPTED, "interrupted");
	return status;
}

void program_end_release(struct program_end *end)
{
	text_release(&end->output.kept);
	text_release(&end->errors.kept);
}
