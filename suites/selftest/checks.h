/* Checks of the suite `selftest`. Adding one: a function here, a row in suites/selftest.c. */
#ifndef GPUPROOF_SUITES_SELFTEST_CHECKS_H
#define GPUPROOF_SUITES_SELFTEST_CHECKS_H

#include "measure/run.h"

struct selftest {
	struct run *run;
	struct device *device;
	struct stream *stream;
};

/* A check records its metrics and returns STATUS_MISMATCH if the harness cannot be trusted. */
enum status selftest_clock(struct selftest *t, struct error *err);
enum status selftest_empty(struct selftest *t, struct error *err);
enum status selftest_slowdown(struct selftest *t, struct error *err);
enum status selftest_corruption(struct selftest *t, struct error *err);
enum status selftest_telemetry(struct selftest *t, struct error *err);
/* STATUS_UNSUPPORTED also if work adds less power than the uncertainty of the readings. */
enum status selftest_energy(struct selftest *t, struct error *err);

/* Device memory of selftest_corruption(). */
uint64_t selftest_corruption_bytes(void);
/* Device memory and time of selftest_energy(). */
uint64_t selftest_energy_bytes(void);
double selftest_energy_seconds(const struct section *section);

/* A kernel that is busy for `seconds` on the stream. */
struct spinning {
	struct selftest *t;
	double seconds;
};
enum status selftest_spin(void *spinning, unsigned batch, struct error *err);

#endif
