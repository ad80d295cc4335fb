/*
 * State of each device during long cases (a soak): one row per device, for terminals and for
 * DIR/status.json.
 */
#ifndef GPUPROOF_RESULT_STATUS_SOAK_ROWS_H
#define GPUPROOF_RESULT_STATUS_SOAK_ROWS_H

#include "base/text.h"
#include "result/result.h"

/* Unknown values are NaN. */
struct soak_row {
	char device[64];
	double rate_share;  /* latest rate / rate of the first slice, for the load that lost most */
	double power_watts; /* mean */
	double temperature_celsius; /* highest */
	double sm_clock_hz;         /* mean */
	double throttled;           /* share of readings with throttling */
	double verified_bytes;
	uint64_t wrong; /* 8-byte words */
	/* Private: sums and counts of the means. */
	double power_sum, power_count, clock_sum, clock_count, throttled_sum, throttled_count;
	struct soak_load {
		char name[128]; /* point of the case without its slice */
		double first, latest;
	} * loads;
	size_t load_count, load_capacity;
};

struct soak_rows {
	struct soak_row *items;
	size_t count, capacity;
};

/* Adds a finished case; a case without a watch changes nothing. */
void soak_rows_add(struct soak_rows *rows, const struct case_result *c);
void soak_rows_release(struct soak_rows *rows);

/* Prints a header and a line per row; nothing without rows. At most 80 columns wide. */
void soak_rows_print(const struct soak_rows *rows, struct text *out);

#endif
