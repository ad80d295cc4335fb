/*
 * State of a device before and after a case. Link counters are slow to read (backend.h), so they
 * are read only from time to time: all devices together take a few percent of a worker's time.
 */
#ifndef GPUPROOF_MEASURE_TELEMETRY_CONDITION_H
#define GPUPROOF_MEASURE_TELEMETRY_CONDITION_H

#include "device/backend.h"
#include "result/result.h"

/* Latest reading of a device's links; one per device. Zeroed: none yet. */
struct link_watch {
	bool read;
	int64_t errors; /* error count at the latest reading */
};

/* Time of the next reading of any device's links, host clock; 0: now. */
struct link_poll {
	double next;
};

/* Stores the state in result->before. `device` NULL: unknown. */
void condition_before(struct device *device, struct case_result *result);
/* Stores the state in result->after, and the differences in result->during. */
void condition_after(struct device *device, struct link_watch *watch, struct link_poll *poll,
		     struct case_result *result);

#endif
