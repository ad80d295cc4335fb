/*
 * How each device of cases that last (a soak) has fared so far: one row per device, for terminals
 * and for DIR/status.json.
 */
#ifndef GPUPROOF_RESULT_STATUS_SOAK_ROWS_H
#define GPUPROOF_RESULT_STATUS_SOAK_ROWS_H

#include "base/text.h"
#include "result/result.h"

/* Unknown values are NaN. */
struct soak_row {
	char device[64];
	double rate_share;  /* latest rate / that of the first slice; of the load that lost most */
	double power_watts; /* mean */
	double temperature_celsius; /* highest */
	double sm_clock_hz;         /* mean */
	double throttled;           /* share of readings */
	double verified_bytes;
	uint64_t wrong; /* 8-byte words */
	/* Private: what the means are made of. */
	double power_sum, power_count, clock_sum, clock_count, throttled_sum, throttled_count;
	struct soak_load {
		char name[128]; /* the case's point without its slice */
		double first, latest;
	} * loads;
	size_t load_count, load_capacity;
};

struct soak_rows {
	struct soak_row *items;
	size_t count, capacity;
};

/* Adds a finished case; one without a watch changes nothing. */
void soak_rows_add(struct soak_rows *rows, const struct case_result *c);
void soak_rows_release(struct soak_rows *rows);

/* A head and a line per row; nothing without rows. None is wider than 80 columns. */
void soak_rows_print(const struct soak_rows *rows, struct text *out);

#endif
