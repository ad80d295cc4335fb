#include "base/clock.h"

#include <errno.h>
#include <math.h>
#include <time.h>

static double clock_seconds_on(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double clock_seconds(void)
{
	return clock_seconds_on(CLOCK_MONOTONIC);
}

double clock_unix_seconds(void)
{
	return clock_seconds_on(CLOCK_REALTIME);
}

void clock_sleep(double seconds)
{
	struct timespec t = { .tv_sec = (time_t)seconds };

	t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
	while (nanosleep(&t, &t) == -1 && errno == EINTR)
		;
}

void clock_iso8601(char *out, size_t size)
{
	time_t now = time(NULL);
	struct tm utc;

	gmtime_r(&now, &utc);
	strftime(out, size, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

double clock_parse_iso8601(const char *text)
{
	struct tm utc = { 0 };
	const char *end = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &utc);

	return end && !*end ? (double)timegm(&utc) : (double)NAN;
}
