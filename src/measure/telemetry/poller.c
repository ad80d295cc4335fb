#include "measure/telemetry/poller.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/memory.h"
#include "base/parallel.h"

struct telemetry_poller {
	struct device *device;
	struct telemetry_poller_options options;
	pthread_t thread;
	pthread_mutex_t lock; /* guards all members below, and what options.add writes */
	pthread_cond_t changed;
	bool on, close;
	unsigned turn; /* counts starts and stops; drops readings that began before the last one */
};

/* Sleeps unlocked for `seconds` (true), or until the poller is switched or closed. */
static bool telemetry_poller_sleep_for(struct telemetry_poller *p, double seconds)
{
	unsigned turn = p->turn;
	struct timespec until;
	int timed_out = 0;
	double end;

	clock_gettime(CLOCK_MONOTONIC, &until);
	end = (double)until.tv_sec + 1e-9 * (double)until.tv_nsec + seconds;
	until.tv_sec = (time_t)end;
	until.tv_nsec = (long)((end - floor(end)) * 1e9);
	while (!timed_out && !p->close && p->turn == turn)
		timed_out = pthread_cond_timedwait(&p->changed, &p->lock, &until);
	return !p->close && p->turn == turn;
}

/* Reads the device unlocked, or calls `look` locked. */
static void poller_take_reading(struct telemetry_poller *p)
{
	struct error ignored = ERROR_NONE;
	unsigned turn = p->turn;
	struct telemetry reading;
	enum status status;

	if (p->options.look) {
		p->options.look(p->options.context);
		return;
	}
	pthread_mutex_unlock(&p->lock);
	status = backend_telemetry_quick(p->device, &reading, &ignored);
	pthread_mutex_lock(&p->lock);
	if (status == STATUS_OK && !p->close && p->turn == turn)
		p->options.add(p->options.context, &reading);
}

static void *poll_device(void *context)
{
	struct telemetry_poller *p = context;
	unsigned read_in = 0; /* turn of the latest reading */

	pthread_mutex_lock(&p->lock);
	while (!p->close) {
		if (!p->on) {
			pthread_cond_wait(&p->changed, &p->lock);
			continue;
		}
		if (telemetry_poller_sleep_for(p, read_in == p->turn ? p->options.interval_seconds
								     : p->options.first_seconds)) {
			read_in = p->turn;
			poller_take_reading(p);
		}
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static void poller_release(struct telemetry_poller *p)
{
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

struct telemetry_poller *telemetry_poller_open(struct device *device,
					       const struct telemetry_poller_options *options)
{
	struct telemetry_poller *p;
	pthread_condattr_t attributes;

	if (!device || !(options->interval_seconds > 0) ||
	    (!options->look && !device->backend->telemetry_quick))
		return NULL;
	p = xcalloc(1, sizeof(*p));
	p->device = device;
	p->options = *options;
	pthread_mutex_init(&p->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&p->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	if (parallel_thread_start(&p->thread, poll_device, p) == 0)
		return p;
	poller_release(p);
	return NULL;
}

void telemetry_poller_close(struct telemetry_poller *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->close = true;
	pthread_cond_signal(&p->changed);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);
	poller_release(p);
}

void telemetry_poller_lock(struct telemetry_poller *p)
{
	if (p)
		pthread_mutex_lock(&p->lock);
}

void telemetry_poller_unlock(struct telemetry_poller *p)
{
	if (p)
		pthread_mutex_unlock(&p->lock);
}

void telemetry_poller_switch(struct telemetry_poller *p, bool on)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->on = on;
	p->turn++;
	pthread_cond_signal(&p->changed);
	pthread_mutex_unlock(&p->lock);
}
