/* The check `energy` of the suite `selftest`. */
#ifndef GPUPROOF_SUITES_SELFTEST_CHECKS_H
#define GPUPROOF_SUITES_SELFTEST_CHECKS_H

#include "measure/run.h"

struct selftest {
	struct run *run;
	struct device *device;
	struct stream *stream;
};

/* STATUS_UNSUPPORTED also if work adds less power than the uncertainty of the readings. */
enum status selftest_energy(struct selftest *t, struct error *err);
/* Device memory and time of selftest_energy(). */
uint64_t selftest_energy_bytes(void);
double selftest_energy_seconds(const struct section *section);

#endif
