/*
 * A device's condition before and after a case. Counters of links are slow to read (backend.h), so
 * they are read now and then: the readings of all devices together take a few per cent of a
 * worker's time.
 */
#ifndef GPUPROOF_MEASURE_TELEMETRY_CONDITION_H
#define GPUPROOF_MEASURE_TELEMETRY_CONDITION_H

#include "device/backend.h"
#include "result/result.h"

/* Latest reading of a device's links; one for each device. Zeroed: none yet. */
struct link_watch {
	bool read;
	int64_t errors; /* at the latest reading */
};

/* When the links of any device are read next, on the host's clock; 0: at once. */
struct link_poll {
	double next;
};

/* Into result->before. `device` NULL: unknown. */
void condition_before(struct device *device, struct case_result *result);
/* Into result->after, and the differences into result->during. */
void condition_after(struct device *device, struct link_watch *watch, struct link_poll *poll,
		     struct case_result *result);

#endif
