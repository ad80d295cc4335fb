/*
 * A thread that reads a device's condition (backend_telemetry_quick), or calls its owner to read
 * something else, at an interval while it is switched on, and sleeps otherwise. Every call takes a
 * NULL poller and does nothing, so that its owner need not know whether there is one.
 */
#ifndef GPUPROOF_MEASURE_TELEMETRY_POLLER_H
#define GPUPROOF_MEASURE_TELEMETRY_POLLER_H

#include <stdbool.h>

#include "device/backend.h"

struct telemetry_poller;

struct telemetry_poller_options {
	double first_seconds;    /* from switching on to the first reading */
	double interval_seconds; /* from the end of a reading to the next one */
	/*
	 * Takes one reading, on the poller's thread, which holds the poller's lock. Failed readings
	 * are not passed on.
	 */
	void (*add)(void *context, const struct telemetry *reading);
	/* In place of `add`, with the lock held too: `look` reads what it needs by itself. */
	void (*look)(void *context);
	void *context;
};

/*
 * Switched off. NULL when the interval is 0, the backend has no quick telemetry for `add`, or no
 * thread can be started. The device must stay open until telemetry_poller_close().
 */
struct telemetry_poller *telemetry_poller_open(struct device *device,
					       const struct telemetry_poller_options *options);
/* Waits for the thread: no reading is in progress when it returns. */
void telemetry_poller_close(struct telemetry_poller *poller);

/* Guard what `add` writes while the poller is on. */
void telemetry_poller_lock(struct telemetry_poller *poller);
void telemetry_poller_unlock(struct telemetry_poller *poller);

/*
 * Without the lock. A reading in progress is dropped: it belongs to the time before. While the
 * poller is off, `add` is not called, and what it writes needs no lock.
 */
void telemetry_poller_switch(struct telemetry_poller *poller, bool on);

#endif
