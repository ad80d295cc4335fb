#include "measure/processes/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"

static const int caught[] = { SIGINT, SIGTERM, SIGHUP, SIGCHLD };
static const int ignored[] = { SIGPIPE, SIGXFSZ };

static struct sigaction before_caught[ARRAY_SIZE(caught)], before_ignored[ARRAY_SIZE(ignored)];
static int ends[2] = { -1, -1 };
static volatile sig_atomic_t stops, last_stop;
static volatile sig_atomic_t attended, unattended_stops;
static int depth;                  /* of signals_begin() */
static struct timespec stopped_at; /* written by the handler only, which nothing interrupts */

/* One stop request may arrive twice: timeout(1) signals the process and then its whole group. */
#define ECHO_SECONDS 0.25

static void on_signal(int number)
{
	static const char note[] = "gpuproof: stopping as soon as the results are written. Press "
				   "Ctrl-C again to stop now.\n";
	int saved = errno;
	struct timespec now;
	double since;

	clock_gettime(CLOCK_MONOTONIC, &now);
	since = (double)(now.tv_sec - stopped_at.tv_sec) +
		1e-9 * (double)(now.tv_nsec - stopped_at.tv_nsec);
	if (number != SIGCHLD && (number != last_stop || since >= ECHO_SECONDS)) {
		stopped_at = now;
		stops = stops + 1;
		last_stop = number;
		unattended_stops = unattended_stops + !attended;
		if (!attended && unattended_stops > 1) {
			signal(number, SIG_DFL);
			raise(number); /* takes effect when the handler returns */
		} else if (!attended && write(STDERR_FILENO, note, sizeof(note) - 1) < 0) {
			errno = 0; /* not reported */
		}
	}
	/* A full pipe is readable already. */
	if (write(ends[1], "", 1) < 0)
		errno = 0;
	errno = saved;
}

enum status signals_begin(struct error *err)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	if (depth > 0) {
		depth++;
		return STATUS_OK;
	}
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
		return error_errno(err, "pipe");
	depth = 1;
	stops = last_stop = attended = unattended_stops = 0;
	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < ARRAY_SIZE(caught); i++)
		sigaddset(&action.sa_mask, caught[i]);
	for (size_t i = 0; i < ARRAY_SIZE(caught); i++) {
		sigaction(caught[i], NULL, &before_caught[i]);
		/* Keeps signals that the parent has ignored (nohup, a shell's background job). */
		if (caught[i] == SIGCHLD || before_caught[i].sa_handler != SIG_IGN)
			sigaction(caught[i], &action, NULL);
	}
	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		sigaction(ignored[i], &ignore, &before_ignored[i]);
	return STATUS_OK;
}

void signals_end(void)
{
	if (depth == 0 || --depth > 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(caught); i++)
		sigaction(caught[i], &before_caught[i], NULL);
	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		sigaction(ignored[i], &before_ignored[i], NULL);
	close(ends[0]);
	close(ends[1]);
	ends[0] = ends[1] = -1;
}

void signals_attend(bool now)
{
	attended = now;
}

int signals_fd(void)
{
	return ends[0];
}

void signals_drain(void)
{
	char bytes[64];

	while (read(ends[0], bytes, sizeof(bytes)) > 0)
		;
}

int signals_stops(void)
{
	return stops;
}

int signals_last_stop(void)
{
	return last_stop;
}

void signals_in_child(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(caught); i++)
		signal(caught[i], caught[i] == SIGCHLD ? SIG_DFL : SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	if (ends[0] >= 0) {
		close(ends[0]);
		close(ends[1]);
		ends[0] = ends[1] = -1;
	}
}
