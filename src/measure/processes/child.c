#include "measure/processes/child.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "measure/processes/signals.h"

#ifdef GPUPROOF_COVERAGE
void __gcov_dump(void);
#endif

pid_t child_fork(int output, struct error *err)
{
	pid_t parent = getpid();
	pid_t pid;
	int fd, nothing;

	fflush(NULL); /* otherwise the child would print it again */
	pid = fork();
	if (pid < 0)
		error_errno(err, "fork");
	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1); /* the parent died before prctl() */
	signals_in_child();
	nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (nothing >= 0)
		dup2(nothing, STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	close(nothing);
	/* Output right before a crash must not remain in a buffer. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	/*
	 * Under memory pressure the kernel should kill the worker, not the conductor that holds the
	 * results.
	 */
	fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		if (write(fd, "500", 3) != 3)
			fputs("gpuproof: cannot set oom_score_adj\n", stderr);
		close(fd);
	}
	return 0;
}

noreturn void child_exit(int code)
{
	fflush(NULL);
#ifdef GPUPROOF_COVERAGE
	__gcov_dump(); /* _exit() would not write the coverage data */
#endif
	_exit(code);
}

int child_wait(pid_t pid, double seconds, int *wait_status)
{
	double end = clock_seconds() + seconds;
	pid_t got;

	while ((got = waitpid(pid, wait_status, WNOHANG)) == 0 && clock_seconds() < end)
		clock_sleep(1e-3);
	return got == pid;
}

char *child_ending(int wait_status, char *out, size_t size)
{
	if (WIFSIGNALED(wait_status)) {
		int number = WTERMSIG(wait_status);

		snprintf(out, size, "killed by signal %d (%s)", number, strsignal(number));
	} else {
		snprintf(out, size, "exited with code %d", WEXITSTATUS(wait_status));
	}
	return out;
}

char *child_last_words(int output, off_t from, char *out, size_t size)
{
	char tail[2048];
	off_t end = lseek(output, 0, SEEK_END);
	off_t start = end - (off_t)sizeof(tail) > from ? end - (off_t)sizeof(tail) : from;
	ssize_t got = end > start ? pread(output, tail, (size_t)(end - start), start) : 0;
	const char *at;
	size_t length = got > 0 ? (size_t)got : 0, used = 0;

	while (length && (tail[length - 1] == '\n' || tail[length - 1] == ' '))
		length--;
	at = tail + length;
	/* At most the last three lines. */
	for (int lines = 0; at > tail; at--)
		if (at[-1] == '\n' && ++lines == 3)
			break;
	if ((size_t)(tail + length - at) >= size)
		at = tail + length - size + 1;
	for (; at < tail + length && used + 4 < size; at++) {
		if (*at == '\n')
			used += (size_t)snprintf(out + used, size - used, " | ");
		else
			out[used++] = (unsigned char)*at < ' ' ? ' ' : *at;
	}
	out[used] = '\0';
	return out;
}
