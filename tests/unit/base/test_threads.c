/* Threads of the program leave every signal to the thread that started them. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/parallel.h"

static void *blocked_signals(void *mask)
{
	pthread_sigmask(SIG_BLOCK, NULL, mask);
	return NULL;
}

static void a_thread_starts_with_signals_blocked(void **state)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGALRM };
	sigset_t one, before, after, of_thread;
	pthread_t thread;

	(void)state;
	sigemptyset(&one);
	sigaddset(&one, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &one, NULL);
	pthread_sigmask(SIG_BLOCK, NULL, &before);
	assert_int_equal(parallel_thread_start(&thread, blocked_signals, &of_thread), 0);
	pthread_join(thread, NULL);
	pthread_sigmask(SIG_BLOCK, NULL, &after);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		assert_int_equal(sigismember(&of_thread, signals[i]), 1);
		assert_int_equal(sigismember(&after, signals[i]), sigismember(&before, signals[i]));
	}
	assert_int_equal(sigismember(&after, SIGUSR2), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_starts_with_signals_blocked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
