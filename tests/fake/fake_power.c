/* Power of the fake devices: watts=, and busy_watts= from an operation to the wait for it. */
#include "fake_device.h"

#include <math.h>
#include <pthread.h>

#include "base/clock.h"

static struct power {
	double since, worked;   /* s: begin of the work in progress, or 0; all work before */
	double rested;          /* when the work before ended */
	bool seen;              /* the work in progress */
	double read_at, joules; /* the latest reading of power */
	bool read;
} powers[64];
/* A thread of the conductor's telemetry reads while the driving thread works. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct power *power_of(const struct device *device)
{
	return &powers[device->info.index % 64];
}

void fake_power_work(const struct device *device)
{
	struct power *p = power_of(device);

	pthread_mutex_lock(&lock);
	if (p->since == 0) {
		p->since = clock_seconds();
		p->seen = script_now()->blind == 0 || p->since - p->rested < script_now()->blind;
	}
	pthread_mutex_unlock(&lock);
}

void fake_power_rest(const struct device *device)
{
	struct power *p = power_of(device);

	pthread_mutex_lock(&lock);
	if (p->since > 0) {
		p->rested = clock_seconds();
		p->worked += p->seen ? p->rested - p->since : 0;
	}
	p->since = 0;
	pthread_mutex_unlock(&lock);
}

static double joules(const struct power *p, double now)
{
	const struct script *s = script_now();
	double more = s->busy_watts > 0 ? s->busy_watts - s->watts : 0;
	double current = p->since > 0 && p->seen ? now - p->since : 0;

	return s->watts * now + more * (p->worked + current);
}

double fake_power_joules(const struct device *device)
{
	double value;

	pthread_mutex_lock(&lock);
	value = joules(power_of(device), clock_seconds());
	pthread_mutex_unlock(&lock);
	return value;
}

double fake_power_watts(const struct device *device)
{
	struct power *p = power_of(device);
	double now = clock_seconds(), all, mean;

	if (!(script_now()->power > 0))
		return NAN;
	pthread_mutex_lock(&lock);
	all = joules(p, now);
	mean = p->read && now > p->read_at ? (all - p->joules) / (now - p->read_at)
					   : script_now()->watts;
	p->read_at = now;
	p->joules = all;
	p->read = true;
	pthread_mutex_unlock(&lock);
	return script_now()->power * mean;
}
