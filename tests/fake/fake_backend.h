/* The figures that tests expect from the fake backend. */
#ifndef GPUPROOF_TESTS_FAKE_BACKEND_H
#define GPUPROOF_TESTS_FAKE_BACKEND_H

#include "device/backend.h"

#define FAKE_LATENCY 1e-6     /* s, of every operation */
#define FAKE_BANDWIDTH 100e9  /* B/s */
#define FAKE_THROUGHPUT 10e12 /* FLOP/s */

extern const struct backend gpuproof_backend __attribute__((visibility("default")));

#endif
