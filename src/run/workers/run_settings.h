/* The [run] section, as the conductor and its workers need it. */
#ifndef GPUPROOF_RUN_WORKERS_RUN_SETTINGS_H
#define GPUPROOF_RUN_WORKERS_RUN_SETTINGS_H

#include "device/backend.h"
#include "plan/config.h"

struct run_settings {
	const char *backend; /* for backends_open() */
	struct backend_options backend_options;
	int64_t seed;
	double telemetry_seconds; /* interval of telemetry_window.h; 0: none */
	const char *label, *tags;
};

struct run_settings run_settings_from(const struct config *config);

#endif
