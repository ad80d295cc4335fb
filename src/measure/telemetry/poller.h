/*
 * Poller thread: at an interval, while it is switched on, reads the device's state
 * (backend_telemetry_quick) or calls its owner; otherwise it sleeps. Every function accepts a NULL
 * poller and does nothing, so that the owner need not check.
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
	 * Receives a reading, on the poller thread, with the lock held. Failed readings are not
	 * passed on.
	 */
	void (*add)(void *context, const struct telemetry *reading);
	/* Alternative to `add`, also with the lock held: `look` does its own reading. */
	void (*look)(void *context);
	void *context;
};

/*
 * Opens a poller, switched off. NULL if the interval is 0, the backend has no quick telemetry for
 * `add`, or no thread can be started. The device must stay open until telemetry_poller_close().
 */
struct telemetry_poller *telemetry_poller_open(struct device *device,
					       const struct telemetry_poller_options *options);
/* Joins the thread: no reading is in progress after the return. */
void telemetry_poller_close(struct telemetry_poller *poller);

/* Lock that guards what `add` writes while the poller is on. */
void telemetry_poller_lock(struct telemetry_poller *poller);
void telemetry_poller_unlock(struct telemetry_poller *poller);

/*
 * Call without the lock. Drops a reading in progress, because it began before this call. While the
 * poller is off, `add` is not called and its data need no lock.
 */
void telemetry_poller_switch(struct telemetry_poller *poller, bool on);

#endif
